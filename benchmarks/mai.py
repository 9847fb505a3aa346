"""MAI: its parts one by one, memories, losses, rollback, noise, baselines; writes results/mai.json.

    python benchmarks/mai.py DATA      # holds fashion-products/; rows whose ranks are kept are not done again

Learnt is from transactions over all product photos (rollback and combination), measured on their test split, every turn
against all pictures with their captions. Modifications do not say again what stays (contextual language): without a
memory of the turns before they cannot be understood. One epoch each, three seeds each
(six, where three left a large difference undecided; tables are of the first three, claims of all). Needs the catalogue
and the vectors that fashioniq.py makes.

What was trained with captions is measured without them, too: captions are written from the catalogue, as modifications
are, so that a network that reads both has an easy task. All 1,607 test dialogues of each setting count.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from machine import described
from rows import UNTRAINED as NO_SEED
from rows import (
    facts_of,
    is_kept,
    is_measured,
    kept_row,
    measured,
    minutes,
    overlap_flags,
    parameters,
    run,
    write_ranks,
    write_results,
)
from safetensors import safe_open
from safetensors.numpy import save_file

from viewfinder.evaluation import read_run
from viewfinder.evaluation.figures import metric_values
from viewfinder.evaluation.replay import RankTable
from viewfinder.retrievers.mai.numpy_network import NOTHING_CARRIED, numpy_update_memory
from viewfinder.retrievers.mai.settings import Model
from viewfinder.training.presets import build_settings
from viewfinder.training.weights import read_weights

SEEDS = (0, 1, 2)
MORE = (*SEEDS, 3, 4, 5)
"""Of rows behind a claim whose interval over three seeds was more than 2 points from 0, and which was yet undecided."""
ONE = (0,)
SOURCES = ("rollback", "combination")
BARE = tuple(f"{source}, no captions" for source in SOURCES)
METRICS = ("R@1", "R@5", "R@10", "R@20")
MEAN = "mean R@1,5,10,20"
TALKS = 1755
"""Of a task at most: all."""

LANGUAGE = "contextual"
"""Rows without one were measured in explicit language, on 300 dialogues of each setting."""

LAST = 2
"""The last of three turns: what the paper counts."""

Settings = tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A training: how, with which seeds, and whether it is also measured without captions."""

    name: str
    settings: Settings = ()
    preset: str = "lab"
    seeds: tuple[int, ...] = SEEDS
    bare: bool = False
    system: str = "mai"

    @property
    def trained(self) -> bool:
        """Whether there is anything to train."""
        return bool(self.preset)


BASE: Settings = ("model.stages='one'", "model.memory='ntm'", "model.captions=false", "loss.terms=['query_target']")
PLAIN: Settings = ("loss.terms=['query_target']",)
NTM: Settings = ("model.memory='ntm'",)
TERMS = {
    "query and target": "query_target",
    "target and modification": "modification_target",
    "modification and caption": "modification_caption",
    "caption and query": "query_caption",
}
NOISES = {"mixing": "mixing", "N(0, 1)": "normal", "U(-1, 1)": "uniform", "N(0, 1) x U(-1, 1)": "product"}
MEMORIES = ("none", "concatenation", "lstm", "gru")
TREATMENTS = ("replace", "blend", "random", "ignore")
WITHOUT, GOES_BACK = "pictures without captions", "goes back by:"

WHOLE = Row("MAI", seeds=MORE, bare=True)
CHAIN = (
    Row("base", BASE),
    Row("base + MIO", (*BASE, "model.memory='mio'")),
    Row("base + TSA", (*PLAIN, *NTM), seeds=MORE, bare=True),
    Row("base + TSA + CCL", NTM, seeds=MORE, bare=True),
    WHOLE,
)

BASELINES = (
    Row("SPRC", (*BASE, "model.stages='sprc'"), seeds=MORE),
    # Told what MAI is told: a stage that reads the caption before its own two.
    Row("SPRC, with captions", (*NTM, *PLAIN, "model.stages='sprc'"), seeds=MORE),
    Row("Combiner", preset="lab", system="combiner"),
)


def short(name: str, *settings: str, seeds: tuple[int, ...] = SEEDS) -> Row:
    """A row of a grid."""
    return Row(name, settings, seeds=seeds)


def without(term: str) -> str:
    """The setting that leaves out a term of the loss."""
    return f"loss.terms={[one for one in TERMS.values() if one != term]}"


MEMORY = tuple(short(f"base, memory {kind}", *BASE, f"model.memory='{kind}'") for kind in MEMORIES)
CCL = (*(short(f"TSA + CCL without {name}", *NTM, without(term)) for name, term in TERMS.items()),)
NOISE = (
    *(short(f"base, {name}", *BASE, f"loss.noise='{kind}'") for name, kind in NOISES.items()),
    *(
        short(f"TSA + CCL, {name}", *NTM, f"loss.noise='{kind}'")
        for name, kind in NOISES.items()
        if kind in {"normal", "product"}  # the others are left out for their time
    ),
)
OPTIONS = (
    short("base + TSA + MIO", *PLAIN),
    short("MAI, no captions at all", "model.captions=false", seeds=MORE),
    short("base in two stages, no captions", *BASE, "model.stages='two'"),
)  # fmt: skip
UNTRAINED = tuple(
    Row(f"{name}, nothing trained", preset="", seeds=ONE, system=name) for name in ("composer", "clip-ti")
)
BOX = Row("in the box", preset="", seeds=ONE, bare=True)

EVERY = (*CHAIN, *BASELINES, *MEMORY, *CCL, *NOISE, *OPTIONS)
IN_SESSIONS = ("MAI", "MAI, no captions at all", "base", "SPRC", "Combiner", "composer, nothing trained")
"""Rows that are also measured on MT Fashion IQ."""


@dataclass(frozen=True)
class Line:
    """What a line of a table is of: the runs of a row, by their folders."""

    row: Row
    tests: tuple[str, ...] = SOURCES


LINES = {
    **{row.name: Line(row) for row in (*EVERY, *UNTRAINED, BOX)},
    **{f"{row.name}, {WITHOUT}": Line(row, BARE) for row in (*EVERY, BOX) if row.bare},
    **{f"rollback: {kind}": Line(WHOLE, (f"rollback, {kind}",)) for kind in TREATMENTS[1:]},
    "rollback: replace": Line(WHOLE, SOURCES[:1]),
}
TABLES = {
    "parts": (*(row.name for row in CHAIN[:4]), "base + TSA + MIO", "MAI"),
    "others": ("MAI", "in the box", *(row.name for row in (*BASELINES, *UNTRAINED))),
    "captions": (
        "base",
        *(name for name, line in LINES.items() if line.tests == BARE),
        "MAI, no captions at all",
        "base in two stages, no captions",
        *(row.name for row in UNTRAINED),
    ),
    "memories": (*(row.name for row in MEMORY), "base", "base + MIO"),
    "losses": ("base + TSA + CCL", *(row.name for row in CCL), "base + TSA"),
    "noise": ("base", *(row.name for row in NOISE[:4]), "base + TSA + CCL", *(row.name for row in NOISE[4:])),
    "rollback": tuple(f"rollback: {kind}" for kind in TREATMENTS),
    "options": ("MAI", *(row.name for row in OPTIONS[1:])),
}
PAPER = {
    "base": 0.5319, "base + MIO": 0.5560, "base + TSA": 0.6248, "base + TSA + MIO": 0.6469, "base + TSA + CCL": 0.6557,
    "MAI": 0.6664, "SPRC": 0.5801, "base, memory none": 0.5004, "base, memory concatenation": 0.5056,
    "base, memory lstm": 0.5208, "base, memory gru": 0.5180, "TSA + CCL without query and target": 0.6354,
    "TSA + CCL without target and modification": 0.6439, "TSA + CCL without modification and caption": 0.6451,
    "TSA + CCL without caption and query": 0.6490, "base, mixing": 0.4987, "base, N(0, 1)": 0.5217,
    "base, U(-1, 1)": 0.5209, "base, N(0, 1) x U(-1, 1)": 0.5488, "TSA + CCL, N(0, 1)": 0.6523,
    "TSA + CCL, U(-1, 1)": 0.6530, "TSA + CCL, N(0, 1) x U(-1, 1)": 0.6566, "rollback: replace": 0.5994,
    "rollback: blend": 0.5780, "rollback: random": 0.5362, "rollback: ignore": 0.4959,
}  # fmt: skip
"""What the paper has in its tables 2, 3, 5, 6, 8 and 9: the mean of R@1, R@5, R@10 and R@20 on FashionMT.

Its tables 3 and 8 give the base 50.04, which table 5 gives to no memory at all; ours has the memory NTM: 53.19 there.
"""

PAPER_IN = {("noise", "base"): 0.5004}
"""A table whose other rows are to be read beside another figure of the paper's (table 8)."""


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

    def run(self, name: str, seed: int) -> Path:
        """A row by its seed."""
        plain = "".join(letter for letter in name.replace(" ", "-") if letter.isalnum() or letter == "-")
        return self.work / "runs" / "mai" / f"{plain}-{seed}"

    def weights(self, name: str, seed: int) -> Path:
        """The trained weights of a row."""
        return self.run(name, seed) / "best.safetensors"


def main() -> None:
    """Train, evaluate, write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/fashioniq"), help="the catalogue, vectors and runs")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=("train", "evaluate"), help="stages to do")
    parser.add_argument("--rows", nargs="*", help="do these only; the file has all that are done")
    parser.add_argument("--seeds", type=int, nargs="*", default=MORE, help="likewise")
    given = parser.parse_args()
    place = Place(given.work, given.data.resolve())
    chosen = [
        (row, seed)
        for row in (*EVERY, *UNTRAINED, BOX)
        for seed in row.seeds
        if seed in given.seeds and (not given.rows or row.name in given.rows)
        if not all(is_kept("mai", test, name, seed) for test, name in tests_of(row))
    ]
    for stage in given.only:
        jobs = [partial(STAGES[stage], row, seed, place) for row, seed in chosen if row.trained or stage != "train"]
        with ThreadPoolExecutor(given.processes) as pool:
            for done in [pool.submit(job) for job in jobs]:
                done.result()
    if "train" not in given.only or len(given.only) > 1:
        parts = ("sessions", *(f"tables/{title}" for title in TABLES))
        write_results("mai", results(place), by_row=parts)


def tests_of(row: Row) -> list[tuple[str, str]]:
    """The tests of a row, and by what name `keep` keeps each."""
    tests = [(source, row.name) for source in SOURCES]
    tests += [(source, f"{row.name}, {WITHOUT}") for source in SOURCES if row.bare]
    tests += [("sessions", row.name)] if row.name in IN_SESSIONS else []
    return tests + [("rollback", f"{row.name}, {GOES_BACK} {kind}") for kind in TREATMENTS[1:] if row == WHOLE]


def train(row: Row, seed: int, place: Place) -> None:
    """As far as it is not done."""
    out = place.run(row.name, seed)
    if (out / "trained").is_file():
        return
    run(
        "train", row.system, "--data", str(place.world), "--features", str(place.features), "--preset", row.preset,
        "--seed", str(seed), "--out", str(out), "--resume",
        *(part for one in row.settings for part in ("--set", one)), log=out.with_suffix(".log"),
    )  # fmt: skip
    (out / "trained").touch()


def evaluate(row: Row, seed: int, place: Place) -> None:
    """On the test split, each setting by itself; what is not trained yet waits."""
    folder, weights = place.run(row.name, seed), place.weights(row.name, seed)
    if row.trained and not (folder / "trained").is_file():
        return
    for test in SOURCES:
        measure(row, weights, folder / test, place, "--task", test)
    if row.bare:
        for source, test in zip(SOURCES, BARE, strict=True):
            measure(row, weights, folder / test, place, "--task", source, "--no-captions")
    if row.name in IN_SESSIONS:
        measure(row, weights, folder / "sessions", place, "--task", "sessions")
    for kind in TREATMENTS[1:] if row == WHOLE else ():
        out = folder / f"rollback, {kind}"
        treated = out.with_suffix(".safetensors")
        write_treated(weights, kind, treated)
        measure(row, treated, out, place, "--task", "rollback")


def measure(row: Row, weights: Path, out: Path, place: Place, *options: str) -> None:
    """A run of a row, unless it is there."""
    if not is_measured(out):
        checkpoint = ("--checkpoint", str(weights)) if row.trained else ()
        run(
            "evaluate", row.system, "--data", str(place.world), "--features", str(place.features), "--protocol", "mai",
            "--split", "test", "--limit", str(TALKS), *checkpoint, *options, "--out", str(out),
            log=out.with_suffix(".log"),
        )  # fmt: skip
        keep(row, weights, out)


def reads_captions(row: Row) -> bool:
    """Whether a row reads pictures with their captions; those in the loss alone do not count."""
    return row.system == "mai" and row.trained and "model.captions=false" not in row.settings


def keep(row: Row, weights: Path, out: Path) -> None:
    """Keeps the ranks of a run; of pictures without captions, and of other ways to go back, as rows of their own."""
    test, bare, _ = out.name.partition(", no captions")
    source, _, treatment = test.partition(", ")
    name = f"{row.name}, {WITHOUT}" if bare else row.name
    name = f"{name}, {GOES_BACK} {treatment}" if treatment else name
    tasks, seed = read_run(out).tasks, int(out.parent.name.rpartition("-")[2]) if row.trained else NO_SEED
    whole = [task for task in tasks if source != "sessions" or ", all, " in task.title]
    flags = ["own data", *(["reads captions"] if reads_captions(row) and not bare else []), *overlap_flags(whole)]
    facts = facts_of(
        f"python benchmarks/mai.py DATA --rows '{row.name}'", [weights] * row.trained, flags, [out.parent] * row.trained
    )
    gallery = sum(task.ranks.gallery_size for task in whole)
    write_ranks("mai", source, name, kept_row({seed: whole}), gallery=gallery, facts=facts)


def write_treated(weights: Path, kind: str, out: Path) -> None:
    """The weights with a card that says another treatment of the picture when a turn goes back (table 9)."""
    with safe_open(str(weights), framework="np") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dict
        metadata = file.metadata()
    record = json.loads(metadata["record"])
    record["settings"]["model"]["rollback"] = kind
    save_file(arrays, str(out), metadata={**metadata, "record": json.dumps(record)})


STAGES: dict[str, Callable[[Row, int, Place], None]] = {"train": train, "evaluate": evaluate}


# -- what came of it


def results(place: Place) -> dict[str, Any]:
    """All that is measured so far."""
    return {
        "data": "Transactions of three turns over product photos, whose modifications lean on the turns before "
        "(contextual language), one epoch of 19,356",
        "tables": {title: table(names, place, SEEDS) for title, names in TABLES.items()},
        "sessions": {name: found for name in IN_SESSIONS if (found := sessions_of(LINES[name].row, place))},
        "machine": described(),
    }


def table(names: Iterable[str], place: Place, seeds: Sequence[int]) -> dict[str, dict[str, Any]]:
    """The lines that are measured."""
    return {name: found for name in names if (found := line_of(name, place, seeds))}


def line_of(name: str, place: Place, seeds: Sequence[int]) -> dict[str, Any]:
    """What a line found, in the last turn and in the mean of all turns; and what its row cost."""
    line = LINES[name]
    folders = folders_of(line, place, seeds)
    if not folders:
        return {}
    both_est = found(folders, line.tests, MEAN)
    return {
        "seeds": len(folders),
        "language": LANGUAGE,
        **{source: source_of(folders, test) for source, test in zip(SOURCES, line.tests, strict=False)},
        "last turn": measured(both_est[..., LAST]),
        "every turn": measured(both_est.mean(axis=2)),
        "by turn": [rounded(both_es) for both_es in np.moveaxis(both_est, 2, 0)],
        **({"paper": PAPER[name]} if name in PAPER else {}),
        **(cost_of(line.row, folders) if line.row.trained else {}),
    }


def paper_of(title: str, name: str) -> float | None:
    """What the paper has for a line of a table, if it has it."""
    return PAPER_IN.get((title, name), PAPER.get(name))


def source_of(folders: Sequence[Path], test: str) -> dict[str, dict[str, float]]:
    """R@1, R@5, R@10, R@20 and their mean of one setting, in the last turn and in the mean of all turns."""
    by_metric = {metric: found(folders, [test], metric) for metric in (*METRICS, MEAN)}
    return {
        "last turn": {metric: rounded(values_est[..., LAST]) for metric, values_est in by_metric.items()},
        "every turn": {metric: rounded(values_est) for metric, values_est in by_metric.items()},
    }


def folders_of(line: Line, place: Place, seeds: Sequence[int] = SEEDS) -> list[Path]:
    """The folders of the row's seeds for which all of the line is measured."""
    folders = [place.run(line.row.name, seed) for seed in line.row.seeds if seed in seeds]
    return [folder for folder in folders if all(is_measured(folder / test) for test in line.tests)]


def found(folders: Sequence[Path], tests: Sequence[str], metric: str) -> Float[np.ndarray, "e s t"]:
    """A figure of every talk after every turn, by seed; talks of several tests one after the other."""

    return np.array(
        [np.concatenate([metric_values(metric, ranks_of(folder / test)) for test in tests]) for folder in folders]
    )


@cache
def ranks_of(folder: Path) -> RankTable:
    """The ranks of a run of one task."""
    [task] = read_run(folder).tasks
    return task.ranks


def rounded(values: Float[np.ndarray, "*n"]) -> float:
    """The mean."""
    return round(float(values.mean()), 4)


def cost_of(row: Row, folders: Sequence[Path]) -> dict[str, Any]:
    """Minutes of each seed, trained numbers, and of MAI's networks bytes that are carried after turns 1, 3 and 10."""
    weights = folders[0] / "best.safetensors"
    cost = {
        "minutes": [round(minutes(folder), 1) for folder in folders],
        "parameters": parameters(weights, ("mean", "deviation", "components", "probe")),
    }
    return cost | memory_of(weights) if row.system == "mai" else cost


def memory_of(file: Path) -> dict[str, Any]:
    """How large a network's memory is: its trained numbers in bytes, and what it carries as a talk goes on."""
    weights = read_weights(file)
    settings = build_settings(Model, weights.card.settings["model"])
    carried, sizes, rng = NOTHING_CARRIED, [], np.random.default_rng(0)
    for _ in range(10):
        count = settings.tokens
        if settings.memory == "concatenation":
            count += len(carried[0]) if carried else 0
        tokens_qh = rng.standard_normal((count, settings.width), dtype=np.float32)
        carried = numpy_update_memory(weights.arrays, settings, carried, tokens_qh)
        sizes.append(sum(part.nbytes for part in carried))
    own = sum(array.nbytes for name, array in weights.arrays.items() if name.startswith("memory."))
    return {"memory": {"carried bytes": {str(turn): sizes[turn - 1] for turn in (1, 3, 10)}, "weights bytes": own}}


def sessions_of(row: Row, place: Place) -> dict[str, Any]:
    """R@5, R@8 and their mean on MT Fashion IQ, of each gallery."""
    folders = folders_of(Line(row, ("sessions",)), place)
    if not folders:
        return {}
    runs = [read_run(folder / "sessions").tasks for folder in folders]
    rows: dict[str, Any] = {"seeds": len(folders), "language": LANGUAGE}
    for tasks in zip(*runs, strict=True):
        last = {m: np.array([last_turn(m, task.ranks) for task in tasks]) for m in ("R@5", "R@8", "mean R@5,8")}
        kind = tasks[0].title.split(", ")[2]
        rows[kind] = {**{m: rounded(last[m]) for m in ("R@5", "R@8")}, "mean": measured(last["mean R@5,8"])}
    return rows


def last_turn(metric: str, ranks: RankTable) -> Float[np.ndarray, " s"]:
    """A figure of every talk after its last turn, as talks are of different lengths."""
    found_st = metric_values(metric, ranks)
    last_s = (~np.isnan(found_st)).sum(axis=1) - 1
    return np.asarray(found_st[np.arange(len(found_st)), last_s])


if __name__ == "__main__":
    main()
