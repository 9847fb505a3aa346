"""Fashion IQ: attributes, captioners, dialogue retrievers, one-turn compositions; writes results/fashioniq.json.

    python benchmarks/fashioniq.py DATA      # holds fashion-products/; rows whose ranks are kept are not done again

Learnt is from a catalogue over all product photos (three kinds, four references a training picture), measured on its
test split, each kind a gallery of its own. Test captions are in other words than those learnt from, and modifications
of several turns lean on the turns before (contextual language). What learns has three seeds or six. In `talks` a
simulated user says how the wanted picture differs from the one shown, five times: the captioner with attributes of the
same seed (beam 5), and the oracle, who knows the truth.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from machine import described
from rows import (
    MORE,
    SEEDS,
    UNTRAINED,
    KeptRow,
    facts_of,
    is_kept,
    is_measured,
    kept_row,
    measured,
    minutes,
    overlap_flags,
    run,
    write_ranks,
    write_results,
)

from viewfinder.evaluation import read_run
from viewfinder.evaluation.results import TaskResult
from viewfinder.retrievers.fashioniq.retriever import SHIPPED
from viewfinder.weights import read_weights

ONE = (0,)
KINDS = ("tshirts", "shirts", "casual-shoes")
TURNS = (1, 3, 5)
PAIRS = 4
"""References of a training picture."""

WITH_ATTRIBUTES = "transformer + attributes"
SPEAKERS = {"captioner": WITH_ATTRIBUTES, "RNN captioner": "RNN", "oracle": ""}
"""Users: the captioner that speaks; none, where the truth does."""


@dataclass(frozen=True)
class Captioner:
    """A relative captioner: how it is trained."""

    name: str
    preset: str = "lab"
    settings: tuple[str, ...] = ()
    seeds: tuple[int, ...] = SEEDS


@dataclass(frozen=True)
class Retriever:
    """A retriever: how it is trained, with which captioner in the loop, and who talks to it.

    `apart`: a network for each kind (published), else one for all.
    """

    name: str
    preset: str = "lab"
    settings: tuple[str, ...] = ()
    simulator: str = WITH_ATTRIBUTES
    apart: bool = True
    seeds: tuple[int, ...] = SEEDS
    speakers: tuple[str, ...] = ("captioner", "oracle")


CAPTIONERS = (
    Captioner(WITH_ATTRIBUTES),
    Captioner("transformer", settings=("model.attributes=0",), seeds=MORE),
    Captioner("RNN", "rnn-lab", seeds=MORE),
)

RETRIEVERS = (
    Retriever(WITH_ATTRIBUTES),
    Retriever("transformer", settings=("model.attributes=0",), speakers=tuple(SPEAKERS)),
    Retriever("RNN", "rnn-lab", speakers=tuple(SPEAKERS)),
    Retriever("modern", "modern", apart=False),
)

BOX = "in the box"
PLAIN = "composer, nothing trained"
IN_THE_BOX = tuple(Retriever(name, "", apart=False, seeds=ONE) for name in (BOX, PLAIN))

VARIANTS = (
    Retriever("modern, a network for each kind", "modern", speakers=("captioner",)),
    Retriever(
        "RNN, policy improved",
        "rnn-lab",
        ("policy.epochs=1", "policy.temperature=20.0"),
        speakers=("captioner",),
    ),
)

COMPOSITIONS = {
    "A image + attributes + text, gated": ("image", "text", "attributes"),
    "B image + text, gated": ("image", "text"),
    "C image + text": ("image", "text"),
    "D text": ("text",),
    "E image": ("image",),
    "F attributes": ("attributes",),
}


@dataclass(frozen=True)
class Place:
    """Where everything lies."""

    work: Path
    data: Path

    @property
    def world(self) -> Path:
        """The catalogue."""
        return self.work / "products"

    @property
    def features(self) -> Path:
        """The vectors of its pictures."""
        return self.work / "features"

    def run(self, part: str, name: str, seed: int) -> Path:
        """A row of a part, by its seed."""
        plain = "".join(letter for letter in name.replace(" ", "-") if letter.isalnum() or letter == "-")
        return self.work / "runs" / part / f"{plain}-{seed}"

    def captioner(self, name: str, seed: int) -> Path:
        """The weights of a captioner."""
        return self.run("captioners", name, seed) / "best.safetensors"

    def make(self) -> None:
        """The catalogue and its vectors, as far as they are not there."""
        if not (self.world / "report.json").is_file():
            run(
                "world", str(self.world), "--kind", "catalogue", "--count", "0", "--seed", "1", "--pairs", str(PAIRS),
                "--language", "contextual", "--sprites", str(self.data / "fashion-products"),
            )  # fmt: skip
        run("features", str(self.world), "--out", str(self.features))


def main() -> None:
    """Make the data, train, evaluate, write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/fashioniq"), help="the catalogue, vectors and runs")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=tuple(PARTS), help="parts to do")
    parser.add_argument("--rows", nargs="*", help="do these only; the file has all that are done")
    parser.add_argument("--seeds", type=int, nargs="*", default=MORE, help="likewise")
    given = parser.parse_args()
    place = Place(given.work, given.data.resolve())
    place.make()
    for part in given.only:
        jobs = PARTS[part](place)
        chosen = [job for name, seed, job in jobs if seed in given.seeds and (not given.rows or name in given.rows)]
        with ThreadPoolExecutor(given.processes) as pool:
            for done in [pool.submit(job) for job in chosen]:
                done.result()
    parts = ("captioners", "single", *(f"talks/{speaker}" for speaker in SPEAKERS))
    write_results("fashioniq", results(place), by_row=parts)


# -- what there is to do

Job = tuple[str, int, Callable[[], None]]
"""A row, a seed, and what makes it."""


def captioner_jobs(place: Place) -> list[Job]:
    """Table 4, row by row."""
    return [
        (row.name, seed, partial(caption, row, seed, place))
        for row in CAPTIONERS
        for seed in row.seeds
        if not is_kept("fashioniq", "captions", row.name, seed)
    ]


def retriever_jobs(place: Place) -> list[Job]:
    """The main chain, then its variants."""
    return [
        (row.name, seed, partial(retrieve, row, seed, place))
        for row in (*RETRIEVERS, *VARIANTS)
        for seed in row.seeds
        if not all(is_kept("fashioniq", f"talks, {speaker}", row.name, seed) for speaker in row.speakers)
    ]


def single_jobs(place: Place) -> list[Job]:
    """Table 5."""
    return [
        (name, seed, partial(compose, name, seed, place))
        for name in COMPOSITIONS
        for seed in SEEDS
        if not is_kept("fashioniq", "one turn", name, seed)
    ]


def box_jobs(place: Place) -> list[Job]:
    """What is in the box, on pictures that it has not seen."""
    jobs: list[Job] = [
        (BOX, 0, partial(talk, "fashioniq", BOX, place)),
        (PLAIN, 0, partial(talk, "composer", PLAIN, place)),
    ]
    return [job for job in jobs if not is_kept("fashioniq", "talks, oracle", job[0], UNTRAINED)]


PARTS: dict[str, Callable[[Place], list[Job]]] = {
    "captioners": captioner_jobs,
    "retrievers": retriever_jobs,
    "single": single_jobs,
    "box": box_jobs,
}


def caption(row: Captioner, seed: int, place: Place) -> None:
    """Train a captioner, and let it caption the test pairs."""
    out = place.run("captioners", row.name, seed)
    if is_measured(out / "test"):
        return
    weights = train_captioner(row.name, seed, place)
    evaluate("captioner", out / "test", place, "--checkpoint", str(weights))
    values_p = sentences([out], "CIDEr-D")[0]
    found = KeptRow(tuple(map(str, range(len(values_p)))), (seed,), values_p[None, :, None].astype(np.float32))
    facts = facts_of(
        command("captioners", row.name), [weights], ["own data", *overlap_flags(read_run(out / "test").tasks)], [out]
    )
    write_ranks("fashioniq", "captions", row.name, found, gallery=len(values_p), facts=facts)


def train_captioner(name: str, seed: int, place: Place) -> Path:
    """The weights of a captioner, trained or gone on with as far as needed."""
    [row] = [row for row in CAPTIONERS if row.name == name]
    out = place.run("captioners", name, seed)
    train("captioner", out, place, seed, row.preset, row.settings)
    return out / "best.safetensors"


def retrieve(row: Retriever, seed: int, place: Place) -> None:
    """Train a retriever for every kind or for all, and let the users talk to it."""
    out = place.run("retrievers", row.name, seed)
    for captioner in {row.simulator, *filter(None, map(SPEAKERS.get, row.speakers))}:
        train_captioner(captioner, seed, place)
    settings = (*row.settings, f"simulator='{place.captioner(row.simulator, seed)}'")
    for kind in KINDS if row.apart else ("",):
        weights = out / kind / "best.safetensors"
        if not weights.is_file() or not (out / kind / "trained").is_file():
            one = (f"kinds=['{kind}']",) if kind else ()
            train("fashioniq", out / kind, place, seed, row.preset, (*settings, *one))
            (out / kind / "trained").touch()
        for speaker in row.speakers:
            test = out / kind / speaker.replace(" ", "-")
            if not is_measured(test):
                speaks = SPEAKERS[speaker]
                talks = ("--user", "captioner", "--manner", f"model={place.captioner(speaks, seed)}") if speaks else ()
                words = f"{kind} dialogue".strip() if speaks else kind
                chosen = ("--task", words) if words else ()
                evaluate("fashioniq", test, place, "--checkpoint", str(weights), *talks, *chosen)
    for speaker in row.speakers:
        of_kinds = [out / kind / "best.safetensors" for kind in (KINDS if row.apart else ("",))]
        keep("retrievers", row.name, f"talks, {speaker}", talk_tasks(row, speaker, seed, place), {seed: of_kinds})


def command(part: str, name: str) -> str:
    """What measures a row of a part."""
    return f"python benchmarks/fashioniq.py DATA --only {part} --rows '{name}'"


def keep(part: str, name: str, test: str, tasks: Sequence[TaskResult], weights: Mapping[int, Sequence[Path]]) -> None:
    """Keeps the ranks of a row on the dialogues of all kinds, or in one turn in the galleries of their split."""
    words = "split gallery" if test == "one turn" else "dialogue"
    [(seed, files)] = weights.items()
    chosen = [task for task in tasks if words in task.title]
    facts = facts_of(command(part, name), files, ["own data", *overlap_flags(chosen)])
    facts["weights"] = ["+".join(facts["weights"])] if files else []
    gallery = sum(task.ranks.gallery_size for task in chosen)
    write_ranks("fashioniq", test, name, kept_row({seed: chosen}), gallery=gallery, facts=facts)


def compose(name: str, seed: int, place: Place) -> None:
    """Train a row of table 5, one network for all kinds, and measure it in one turn."""
    out = place.run("single", name, seed)
    if is_measured(out / "test"):
        return
    modalities = COMPOSITIONS[name]
    settings = [f"model.modalities={list(modalities)}", f"model.gate={str('gated' in name).lower()}"]
    if "attributes" in modalities:
        train_captioner(WITH_ATTRIBUTES, seed, place)
        attributes = place.captioner(WITH_ATTRIBUTES, seed).parent / "attributes" / "best.safetensors"
        settings.append(f"attribute_file='{attributes}'")
    train("fashioniq", out, place, seed, "single", settings)
    evaluate("fashioniq", out / "test", place, "--checkpoint", str(out / "best.safetensors"), "--task", "gallery")
    keep("single", name, "one turn", single_tasks(name, seed, place), {seed: [out / "best.safetensors"]})


def talk(system: str, name: str, place: Place) -> None:
    """Both users talk to a system as it is in the box."""
    out = place.run("retrievers", name, 0)
    for speaker, talks in (("captioner", ("--user", "captioner")), ("oracle", ())):
        if not is_measured(out / speaker):
            evaluate(system, out / speaker, place, *talks, "--task", "dialogue")
            keep("box", name, f"talks, {speaker}", list(read_run(out / speaker).tasks), {UNTRAINED: []})


def train(system: str, out: Path, place: Place, seed: int, preset: str, settings: Sequence[str]) -> None:
    """As far as it is not done."""
    run(
        "train", system, "--data", str(place.world), "--features", str(place.features), "--preset", preset,
        "--seed", str(seed), "--out", str(out), "--resume", *(part for one in settings for part in ("--set", one)),
        log=out.with_suffix(".log"),
    )  # fmt: skip


def evaluate(system: str, out: Path, place: Place, *options: str) -> None:
    """On the test split, by Fashion IQ's protocol; dialogues end when the wanted picture is shown."""
    # Several rows show nothing twice: a user who talked on would make them rule out what they have found.
    protocol = () if system == "captioner" else ("--protocol", "fashioniq", "--manner", "goes_on=false")
    run(
        "evaluate", system, "--data", str(place.world), "--features", str(place.features), "--split", "test",
        *protocol, *options, "--out", str(out), log=out.with_suffix(".log"),
    )  # fmt: skip


# -- what came of it

Values = dict[str, Float[np.ndarray, " t"]]
"""Talks (or pairs) by kind and id, and what each comes to."""


def results(place: Place) -> dict[str, Any]:
    """All that is measured so far."""
    retrievers = (*RETRIEVERS, *VARIANTS, *IN_THE_BOX)
    rows = {
        speaker: {row.name: retriever_row(row, speaker, place) for row in retrievers if speaker in row.speakers}
        for speaker in SPEAKERS
    }
    single = {name: [single_tasks(name, seed, place) for seed in SEEDS] for name in COMPOSITIONS}
    single |= {
        f"{row.name}, first turn": [talk_tasks(row, "oracle", s, place) for s in row.seeds] for row in RETRIEVERS
    }
    return {
        "data": f"Product photos of {len(KINDS)} kinds, {PAIRS} references a training picture; contextual language",
        "captioners": found({row.name: captioner_row(row, place) for row in CAPTIONERS}),
        "talks": {speaker: found(of_speaker) for speaker, of_speaker in rows.items()},
        "single": found({name: single_row(by_seed) for name, by_seed in single.items()}),
        "machine": described(),
    }


def found(rows: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Those that are measured."""
    return {name: row for name, row in rows.items() if row}


def captioner_row(row: Captioner, place: Place) -> dict[str, Any]:
    """BLEU-4, ROUGE-L and CIDEr-D x 100 over all kinds, each seed's mean; and what it cost."""
    folders = [place.run("captioners", row.name, seed) for seed in row.seeds]
    done = [folder for folder in folders if is_measured(folder / "test")]
    if not done:
        return {}
    return {
        "seeds": len(done),
        "BLEU-4": [bleu_4(folder) for folder in done],
        **{name: measured(sentences(done, name)) for name in ("ROUGE-L", "CIDEr-D")},
        "parameters": trained_numbers(done[0] / "best.safetensors"),
        "minutes": [round(minutes(folder), 1) for folder in done],
    }


def bleu_4(folder: Path) -> float:
    """Of all test captions of a captioner."""
    whole = read_run(folder / "test").tasks[0]
    [figure] = [figure for figure in whole.figures if figure.name.metric == "BLEU-4"]
    return round(figure.measure.interval.mean, 4)


def trained_numbers(file: Path) -> int:
    """How many numbers were trained: without what was measured of the data, and the layer that tells attributes."""
    arrays = read_weights(file).arrays.items()
    measured_ones = ("mean", "deviation", "components")
    return int(
        sum(a.size for name, a in arrays if not name.startswith("attributes.") and not name.endswith(measured_ones))
    )


def sentences(folders: Sequence[Path], metric: str) -> Float[np.ndarray, "e s"]:
    """A figure of every caption, 0 to 1 (CIDEr-D: 0 to 10)."""
    return np.array(
        [
            [json.loads(line)[metric] for line in (folder / "test" / "captions.jsonl").read_text().splitlines()]
            for folder in folders
        ]
    )


def talk_tasks(row: Retriever, speaker: str, seed: int, place: Place) -> list[TaskResult]:
    """What was measured of a retriever with a user, of one seed; nothing unless it is done for all kinds."""
    kinds = KINDS if row.apart else ("",)
    folders = [place.run("retrievers", row.name, seed) / kind / speaker.replace(" ", "-") for kind in kinds]
    if not all(map(is_measured, folders)):
        return []
    return [task for folder in folders for task in read_run(folder).tasks]


def single_tasks(name: str, seed: int, place: Place) -> list[TaskResult]:
    """What was measured of a row of table 5, of one seed."""
    folder = place.run("single", name, seed) / "test"
    return list(read_run(folder).tasks) if is_measured(folder) else []


def values(tasks: Sequence[TaskResult], words: str, metric: str) -> Values:
    """What every talk of the tasks with these words in their title comes to after each turn, over all kinds."""
    known: Values = {}
    for task in tasks:
        if words in task.title:
            ranks_st = (task.ranks.best_st + task.ranks.worst_st) / 2
            if metric == "P":
                counted_st = 1 - ranks_st / task.ranks.gallery_size
            else:
                counted_st = (ranks_st < int(metric.removeprefix("R@"))).astype(np.float64)
            known |= {f"{task.title}: {talk}": one for talk, one in zip(task.dialogue_ids, counted_st, strict=True)}
    return known


def over_seeds(by_seed: Sequence[Sequence[TaskResult]], words: str, metric: str) -> Float[np.ndarray, "e s t"]:
    """The same of several seeds, talks in one order."""
    found_e = [values(tasks, words, metric) for tasks in by_seed if tasks]
    return np.array([[one[talk] for talk in sorted(one)] for one in found_e])


def retriever_row(row: Retriever, speaker: str, place: Place) -> dict[str, Any]:
    """P, R@10 and R@50 after turns 1, 3 and 5, over all kinds and by kind; and what it cost."""
    by_seed = [tasks for seed in row.seeds if (tasks := talk_tasks(row, speaker, seed, place))]
    if not by_seed:
        return {}
    folder = place.run("retrievers", row.name, row.seeds[0])
    weights = next(iter(sorted(folder.glob("**/best.safetensors"))), SHIPPED if row.name == BOX else None)
    return {
        "seeds": len(by_seed),
        **{metric: turns_of(over_seeds(by_seed, "dialogue", metric)) for metric in ("P", "R@10", "R@50")},
        "by kind": {
            kind: {m: turns_of(over_seeds(by_seed, f", {kind}, dialogue", m)) for m in ("P", "R@10")} for kind in KINDS
        },
        "parameters": trained_numbers(weights) if weights else 0,
        "minutes": [round(minutes(place.run("retrievers", row.name, seed)), 1) for seed in row.seeds],
    }


def turns_of(values_est: Float[np.ndarray, "e s t"]) -> dict[str, dict[str, float]]:
    """Mean and interval after the turns of the protocol."""
    return {str(turn): measured(values_est[:, :, turn - 1]) for turn in TURNS}


def single_row(by_seed: Sequence[Sequence[TaskResult]]) -> dict[str, Any]:
    """R@10 and R@50 of one turn in both galleries."""
    done = [tasks for tasks in by_seed if tasks]
    if not done:
        return {}
    galleries = [name for name in ("split", "union") if values(done[0], f"{name} gallery", "R@10")]
    return {
        "seeds": len(done),
        **{
            f"{metric}, {name}": measured(over_seeds(done, f"{name} gallery", metric)[:, :, 0])
            for name in galleries
            for metric in ("R@10", "R@50")
        },
    }


if __name__ == "__main__":
    main()
