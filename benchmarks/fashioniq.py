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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from machine import describe_host
from rows import (
    MORE,
    SEEDS,
    UNTRAINED,
    KeptRow,
    estimate_mean,
    facts_of,
    is_kept,
    is_measured,
    keep_tasks,
    minutes,
    overlap_flags,
    parameters,
    run,
    write_ranks,
    write_results,
)
from trainings import BEST, Job, Row, Runner, add_run_options, evaluate_system, make_world, run_jobs

from viewfinder.evaluation import read_run
from viewfinder.evaluation.results import TaskResult
from viewfinder.retrievers.fashioniq.retriever import SHIPPED

ONE = (0,)
KINDS = ("tshirts", "shirts", "casual-shoes")
TURNS = (1, 3, 5)
PAIRS = 4
"""References of a training picture."""

FIXED = ("*mean", "*deviation", "*components", "attributes.*")
"""Numbers of a network that were measured of the data, and the layer that predicts attributes."""

WITH_ATTRIBUTES = "transformer + attributes"
SPEAKERS = {"captioner": WITH_ATTRIBUTES, "RNN captioner": "RNN", "oracle": ""}
"""Users: the captioner that speaks; none, where the truth does."""


@dataclass(frozen=True)
class TalkingRow(Row):
    """A retriever: `simulator` is the captioner in its training, `speakers` are the users who talk to it.

    `apart`: a network for each kind (published), else one for all.
    """

    simulator: str = WITH_ATTRIBUTES
    apart: bool = True
    speakers: tuple[str, ...] = ("captioner", "oracle")

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that have a network of their own; "" is one for all."""
        return KINDS if self.apart else ("",)


CAPTIONERS = (
    Row(WITH_ATTRIBUTES, "captioner"),
    Row("transformer", "captioner", settings=("model.attributes=0",), seeds=MORE),
    Row("RNN", "captioner", "rnn-lab", seeds=MORE),
)

RETRIEVERS = (
    TalkingRow(WITH_ATTRIBUTES, "fashioniq"),
    TalkingRow("transformer", "fashioniq", settings=("model.attributes=0",), speakers=tuple(SPEAKERS)),
    TalkingRow("RNN", "fashioniq", "rnn-lab", speakers=tuple(SPEAKERS)),
    TalkingRow("modern", "fashioniq", "modern", apart=False),
)

BOX = "in the box"
IN_THE_BOX = (
    TalkingRow(BOX, "fashioniq", "", apart=False, seeds=ONE),
    TalkingRow("composer, nothing trained", "composer", "", apart=False, seeds=ONE),
)

POLICY = ("policy.epochs=1", "policy.temperature=20.0")
VARIANTS = (
    TalkingRow("modern, a network for each kind", "fashioniq", "modern", speakers=("captioner",)),
    TalkingRow("RNN, policy improved", "fashioniq", "rnn-lab", POLICY, speakers=("captioner",)),
)

COMPOSITIONS = {
    "A image + attributes + text, gated": ("image", "text", "attributes"),
    "B image + text, gated": ("image", "text"),
    "C image + text": ("image", "text"),
    "D text": ("text",),
    "E image": ("image",),
    "F attributes": ("attributes",),
}


SINGLE = tuple(
    Row(name, "fashioniq", "single", (f"model.modalities={list(read)}", f"model.gate={str('gated' in name).lower()}"))
    for name, read in COMPOSITIONS.items()
)


@dataclass(frozen=True)
class Place:
    """The folder of everything that is made."""

    work: Path

    @property
    def world(self) -> Path:
        """The catalogue."""
        return self.work / "products"

    @property
    def features(self) -> Path:
        """The vectors of its pictures."""
        return self.work / "features"

    def runner(self, part: str) -> Runner:
        """The runner of a part: "captioners", "retrievers" or "single"."""
        return Runner({}, self.work / "runs" / part, (self.world,), self.features)

    def run(self, part: str, name: str, seed: int) -> Path:
        """The folder of a row of a part."""
        return self.runner(part).folder(name, seed)

    def captioner(self, name: str, seed: int) -> Path:
        """The weights of a captioner, trained as far as that is not done."""
        [row] = [row for row in CAPTIONERS if row.name == name]
        weights = self.runner("captioners").train(row, seed)
        assert weights is not None
        return weights


def main() -> None:
    """Make the data, train, evaluate, write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_run_options(parser, "runs/fashioniq", tuple(PARTS))
    given = parser.parse_args()
    place = Place(given.work)
    make_world(place.world, given.data.resolve() / "fashion-products", "catalogue", 0, 1, "--pairs", str(PAIRS))
    run("features", place.world, "--out", place.features)
    for part in given.only:
        rows, measure, tests = PARTS[part]
        jobs: list[Job] = [
            (row.name, seed, partial(measure, row, seed, place))
            for row in rows
            for seed in row.seeds
            if not all(is_kept("fashioniq", test, row.name, seed) for test in tests(row))
        ]
        run_jobs(jobs, given)
    parts = ("captioners", "single", *(f"talks/{speaker}" for speaker in SPEAKERS))
    write_results("fashioniq", results(place), by_row=parts)


def measure_captioner(row: Row, seed: int, place: Place) -> None:
    """Trains a captioner, and lets it caption the test pairs."""
    out = place.run("captioners", row.name, seed)
    if is_measured(out / "test"):
        return
    weights = place.captioner(row.name, seed)
    evaluate_system("captioner", out / "test", place.world, place.features, weights=weights)
    values_p = sentences([out], "CIDEr-D")[0]
    found = KeptRow(tuple(map(str, range(len(values_p)))), (seed,), values_p[None, :, None].astype(np.float32))
    flags = ["own data", *overlap_flags(read_run(out / "test").tasks)]
    facts = facts_of(command("captioners", row.name), [weights], flags, [out])
    write_ranks("fashioniq", "captions", row.name, found, gallery=len(values_p), facts=facts)


def measure_retriever(row: TalkingRow, seed: int, place: Place) -> None:
    """Trains a retriever, kind by kind or for all, and lets the users talk to it."""
    out, trained = place.run("retrievers", row.name, seed), list[Path]()
    for kind in row.kinds:
        settings = (f"simulator='{place.captioner(row.simulator, seed)}'", *([f"kinds=['{kind}']"] if kind else []))
        weights = place.runner("retrievers").train(row, seed, *settings, out=out / kind)
        assert weights is not None
        trained.append(weights)
        for speaker in row.speakers:
            name = SPEAKERS[speaker]
            user = ("--user", "captioner", "--manner", f"model={place.captioner(name, seed)}") if name else ()
            words = f"{kind} dialogue".strip() if name else kind
            options = (*user, *(("--task", words) if words else ()))
            talk(row.system, out / kind / speaker.replace(" ", "-"), place, *options, weights=weights)
    for speaker in row.speakers:
        tasks = choose_tasks(talk_tasks(row, speaker, seed, place), "dialogue")
        about = command("retrievers", row.name)
        keep_tasks("fashioniq", f"talks, {speaker}", row.name, seed, tasks, about, weights=trained)


def measure_composition(row: Row, seed: int, place: Place) -> None:
    """Trains a row of table 5, one network for all kinds, and measures it in one turn."""
    out = place.run("single", row.name, seed)
    if is_measured(out / "test"):
        return
    settings = []
    if "attributes" in COMPOSITIONS[row.name]:
        attributes = place.captioner(WITH_ATTRIBUTES, seed).parent / "attributes" / BEST
        settings.append(f"attribute_file='{attributes}'")
    weights = place.runner("single").train(row, seed, *settings)
    assert weights is not None
    talk("fashioniq", out / "test", place, "--task", "gallery", weights=weights)
    tasks = choose_tasks(single_tasks(row.name, seed, place), "split gallery")
    keep_tasks("fashioniq", "one turn", row.name, seed, tasks, command("single", row.name), weights=[weights])


def measure_shipped(row: TalkingRow, seed: int, place: Place) -> None:
    """Lets both users talk to a system as it is shipped, about pictures that it has not seen."""
    out = place.run("retrievers", row.name, seed)
    for speaker, user in (("captioner", ("--user", "captioner")), ("oracle", ())):
        if talk(row.system, out / speaker, place, *user, "--task", "dialogue"):
            tasks = choose_tasks(read_run(out / speaker).tasks, "dialogue")
            keep_tasks("fashioniq", f"talks, {speaker}", row.name, UNTRAINED, tasks, command("box", row.name))


def talk(system: str, out: Path, place: Place, *options: str, weights: Path | None = None) -> bool:
    """Measures a retriever by Fashion IQ's protocol unless that is done; returns whether it was left to do.

    Dialogues end when the wanted picture is shown.
    """
    if is_measured(out):
        return False
    # Several rows show nothing twice: a user who talked on would make them rule out what they have found.
    protocol = ("--protocol", "fashioniq", "--manner", "goes_on=false")
    evaluate_system(system, out, place.world, place.features, *protocol, *options, weights=weights)
    return True


def command(part: str, name: str) -> str:
    """The command line that measures a row of a part."""
    return f"python benchmarks/fashioniq.py DATA --only {part} --rows '{name}'"


def choose_tasks(tasks: Sequence[TaskResult], words: str) -> list[TaskResult]:
    """The tasks with these words in their titles."""
    return [task for task in tasks if words in task.title]


PARTS: dict[str, tuple[tuple[Any, ...], Callable[[Any, int, Place], None], Callable[[Any], Sequence[str]]]] = {
    "captioners": (CAPTIONERS, measure_captioner, lambda row: ["captions"]),
    "retrievers": ((*RETRIEVERS, *VARIANTS), measure_retriever, lambda row: [f"talks, {one}" for one in row.speakers]),
    "single": (SINGLE, measure_composition, lambda row: ["one turn"]),
    "box": (IN_THE_BOX, measure_shipped, lambda row: ["talks, oracle"]),
}
"""The rows of each part, the function that measures one, and the tests that it is kept in."""


# -- what came of it


def results(place: Place) -> dict[str, Any]:
    """All that is measured so far."""
    retrievers = (*RETRIEVERS, *VARIANTS, *IN_THE_BOX)
    single = {row.name: [single_tasks(row.name, seed, place) for seed in SEEDS] for row in SINGLE}
    single |= {
        f"{row.name}, first turn": [talk_tasks(row, "oracle", s, place) for s in row.seeds] for row in RETRIEVERS
    }
    return {
        "data": f"Product photos of {len(KINDS)} kinds, {PAIRS} references a training picture; contextual language",
        "captioners": {row.name: found for row in CAPTIONERS if (found := captioner_row(row, place))},
        "talks": {
            speaker: {
                row.name: found
                for row in retrievers
                if speaker in row.speakers and (found := retriever_row(row, speaker, place))
            }
            for speaker in SPEAKERS
        },
        "single": {name: found for name, by_seed in single.items() if (found := single_row(by_seed))},
        "machine": describe_host(),
    }


def captioner_row(row: Row, place: Place) -> dict[str, Any]:
    """BLEU-4, ROUGE-L and CIDEr-D x 100 over all kinds, each seed's mean; and what it cost."""
    folders = [place.run("captioners", row.name, seed) for seed in row.seeds]
    done = [folder for folder in folders if is_measured(folder / "test")]
    if not done:
        return {}
    return {
        "seeds": len(done),
        "BLEU-4": [bleu_4(folder) for folder in done],
        **{name: estimate_mean(sentences(done, name)) for name in ("ROUGE-L", "CIDEr-D")},
        "parameters": parameters(done[0] / BEST, FIXED),
        "minutes": [round(minutes(folder), 1) for folder in done],
    }


def bleu_4(folder: Path) -> float:
    """The BLEU-4 of all test captions of a captioner."""
    whole = read_run(folder / "test").tasks[0]
    [figure] = [figure for figure in whole.figures if figure.name.metric == "BLEU-4"]
    return round(figure.measure.interval.mean, 4)


def sentences(folders: Sequence[Path], metric: str) -> Float[np.ndarray, "e s"]:
    """A figure of every caption, 0 to 1 (CIDEr-D: 0 to 10)."""
    return np.array(
        [
            [json.loads(line)[metric] for line in (folder / "test" / "captions.jsonl").read_text().splitlines()]
            for folder in folders
        ]
    )


def talk_tasks(row: TalkingRow, speaker: str, seed: int, place: Place) -> list[TaskResult]:
    """The measured tasks of a retriever with a user, of one seed; none unless all kinds are done."""
    out = place.run("retrievers", row.name, seed)
    folders = [out / kind / speaker.replace(" ", "-") for kind in row.kinds]
    if not all(map(is_measured, folders)):
        return []
    return [task for folder in folders for task in read_run(folder).tasks]


def single_tasks(name: str, seed: int, place: Place) -> list[TaskResult]:
    """The measured tasks of a row of table 5, of one seed."""
    folder = place.run("single", name, seed) / "test"
    return list(read_run(folder).tasks) if is_measured(folder) else []


def values_by_turn(by_seed: Sequence[Sequence[TaskResult]], words: str, metric: str) -> Float[np.ndarray, "e s t"]:
    """A metric of every talk of the tasks with these words in their title, by seed and turn."""
    return np.array(
        [np.concatenate([count_values(task, metric) for task in choose_tasks(tasks, words)]) for tasks in by_seed]
    )


def count_values(task: TaskResult, metric: str) -> Float[np.ndarray, "s t"]:
    """P or R@k of every talk of a task after each turn."""
    ranks_st = (task.ranks.best_st + task.ranks.worst_st) / 2
    if metric == "P":
        return np.asarray(1 - ranks_st / task.ranks.gallery_size)
    return np.asarray(ranks_st < int(metric.removeprefix("R@")), np.float64)


def retriever_row(row: TalkingRow, speaker: str, place: Place) -> dict[str, Any]:
    """P, R@10 and R@50 after turns 1, 3 and 5, over all kinds and by kind; and what it cost."""
    by_seed = [tasks for seed in row.seeds if (tasks := talk_tasks(row, speaker, seed, place))]
    if not by_seed:
        return {}
    folder = place.run("retrievers", row.name, row.seeds[0])
    weights = next(iter(sorted(folder.glob(f"**/{BEST}"))), SHIPPED if row.name == BOX else None)
    return {
        "seeds": len(by_seed),
        **{metric: turns_of(values_by_turn(by_seed, "dialogue", metric)) for metric in ("P", "R@10", "R@50")},
        "by kind": {
            kind: {m: turns_of(values_by_turn(by_seed, f", {kind}, dialogue", m)) for m in ("P", "R@10")}
            for kind in KINDS
        },
        "parameters": parameters(weights, FIXED) if weights else 0,
        "minutes": [round(minutes(place.run("retrievers", row.name, seed)), 1) for seed in row.seeds],
    }


def turns_of(values_est: Float[np.ndarray, "e s t"]) -> dict[str, dict[str, float]]:
    """Mean and interval after the turns of the protocol."""
    return {str(turn): estimate_mean(values_est[:, :, turn - 1]) for turn in TURNS}


def single_row(by_seed: Sequence[Sequence[TaskResult]]) -> dict[str, Any]:
    """R@10 and R@50 of one turn in both galleries."""
    done = [tasks for tasks in by_seed if tasks]
    if not done:
        return {}
    galleries = [name for name in ("split", "union") if choose_tasks(done[0], f"{name} gallery")]
    return {
        "seeds": len(done),
        **{
            f"{metric}, {name}": estimate_mean(values_by_turn(done, f"{name} gallery", metric)[:, :, 0])
            for name in galleries
            for metric in ("R@10", "R@50")
        },
    }


if __name__ == "__main__":
    main()
