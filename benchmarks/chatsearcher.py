"""ChatSearcher: its queue, language model, mixture and baselines; writes results/chatsearcher.json.

    python benchmarks/chatsearcher.py train    DATA [--rows NAME ...] [--seeds S ...]   # skips what is trained
    python benchmarks/chatsearcher.py evaluate DATA [--rows NAME ...] [--seeds S ...]   # skips what is measured
    python benchmarks/chatsearcher.py speed    DATA
    python benchmarks/chatsearcher.py write    DATA

Trainings run in order of importance, one at a time (for two processors, start two with different rows or seeds); rows
that begin with stages of another row wait for it. Training uses scenes of product photos with their dialogues, edited
scenes, and the photos of Flickr8k and COCO that are at hand; testing uses their test splits and product photos, which
no training here saw (zero-shot). Needs the worlds and vectors that chatir.py and fashioniq.py make; and, in --work,
edits (`viewfinder world edits --kind edits --count 1500`) and queries of CIRR's form (`viewfinder world cirr --kind
catalogue --count 0`), both with --sprites DATA/fashion-products.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from chat_tests import CAPTIONED, MeasuredRow, Place, measure
from jaxtyping import Float
from machine import describe_host
from measuring import read_figures, write_json
from rows import MORE, SEEDS, UNTRAINED, estimate_mean, is_measured, minutes, parameters, write_results
from talking_speed import talking_speed
from trainings import BEST, Row, Runner, Stage, add_run_options, run_jobs

from viewfinder.evaluation import Run, read_run
from viewfinder.evaluation.figures import LAST_TURN, metric_values, values_per_dialogue

TASKS = ("tChat", "iChat", "mChat")
METRICS = ("R@1", "R@5", "R@10")
MEAN = "mean R@1,5,10"
SYSTEM = "chatsearcher"

ALWAYS = ("chat",)
SEARCHES = ("chat", "cirr")
ALIGNED = tuple(f"captions, {data}" for data in CAPTIONED)
"""Tests of the weights after stage 1 (of what has no stages: of the system as it is)."""
GROUNDED = ("grounding, scenes, boxes", "grounding, scenes, windows", "grounding, coco, boxes")
TALKS = ("last turn", "cirr", "visual", "decision")

Settings = tuple[str, ...]


@dataclass(frozen=True)
class ChatRow(Row):
    """A training: `tests` are of its last weights, `aligned` says that those after stage 1 are measured as well."""

    tests: tuple[str, ...] = ALWAYS
    aligned: bool = False

    @property
    def has_training(self) -> bool:
        """Whether it has a training of its own."""
        return bool(self.preset) and self.same_as is None


def chat_row(
    name: str, settings: Settings = (), preset: str = "lab", *, seeds: tuple[int, ...] = (0,),
    start: Stage | None = None, same_as: Stage | None = None, tests: tuple[str, ...] = ALWAYS, aligned: bool = False,
    system: str = SYSTEM,
) -> ChatRow:  # fmt: skip
    """A row of ChatSearcher itself, unless another system is named."""
    return ChatRow(name, system, preset, settings, seeds, start, same_as, tests, aligned)


LESSONS = 15_000
"""Lessons of the second stage, equal for all mixtures: otherwise more kinds would mean more steps."""

EQUAL = f"instruction.lessons={LESSONS}"


def mixture(*kinds: str) -> Settings:
    """The settings of a mixture for the second stage: the preset's shares of these kinds, as many lessons for all."""
    shares = {kind: 0.3 if kind == "visual" else 1.0 for kind in kinds}
    return (f"instruction.mixture={{ {', '.join(f'{kind} = {share}' for kind, share in shares.items())} }}", EQUAL)


BASE = chat_row("ChatSearcher", seeds=MORE, tests=(*ALWAYS, *TALKS, *GROUNDED), aligned=True)
READ, SHOWN = (BASE.name, "language"), (BASE.name, "alignment")
"""Stages of it that others begin after: the language model that has read texts, and stage 1."""

IN_BATCH = chat_row("in-batch negatives", ("loss.negatives='batch'",), seeds=SEEDS, start=READ, aligned=True)
FROZEN = chat_row(
    "frozen language model", ("alignment.trains='frozen'", "instruction.trains='frozen'"),
    seeds=SEEDS, start=READ, aligned=True, tests=(*ALWAYS, "visual"),
)  # fmt: skip
FROMAGE = chat_row("FROMAGe, captions alone", preset="fromage", seeds=SEEDS, aligned=True)
INSTRUCTED = chat_row(
    "FROMAGe, with talks", ("loss.negatives='symmetric'", "instruction.trains='projectors'"),
    seeds=SEEDS, start=(FROMAGE.name, "alignment"), tests=(*ALWAYS, "visual"),
)  # fmt: skip
MIXTURES = (
    chat_row(
        "whole mixture", mixture("tchat", "ichat", "mchat", "visual", "edits"), seeds=MORE, start=SHOWN,
        tests=(*SEARCHES, "visual"),
    ),
    chat_row("talks alone", mixture("tchat", "ichat", "mchat"), seeds=MORE, start=SHOWN, tests=(*SEARCHES, "visual")),
    chat_row(
        "talks and questions", mixture("tchat", "ichat", "mchat", "visual"), seeds=SEEDS, start=SHOWN,
        tests=(*SEARCHES, "visual"),
    ),
    chat_row(
        "talks of words alone, questions, edits", mixture("tchat", "visual", "edits"), seeds=SEEDS, start=SHOWN,
        tests=(*SEARCHES, "visual"),
    ),
    chat_row("stage 1 alone", same_as=SHOWN, seeds=SEEDS, tests=SEARCHES),
    chat_row("stage 2 alone", ("alignment=none",), start=READ, tests=SEARCHES),
)  # fmt: skip
SIZES = (250, 4000)
"""Sizes of the queue besides 1,000; one smaller than the pictures of a batch is the batch."""
QUEUES = tuple(chat_row(f"queue of {size}", (f"loss.queue={size}",), seeds=SEEDS, aligned=True) for size in SIZES)
CLIP = tuple(
    chat_row(name, preset="", tests=SEARCHES, aligned=True, system=name) for name in ("clip-t", "clip-i", "clip-ti")
)
BESIDE = (
    chat_row("random", preset="", tests=SEARCHES, aligned=True, system="random"), *CLIP,
    chat_row("composer", preset="", tests=SEARCHES, aligned=True, system="composer"),
)  # fmt: skip
BOX = chat_row("in the box", preset="", tests=BASE.tests, system=SYSTEM)

ROWS = {row.name: row for row in (BASE, IN_BATCH, FROZEN, FROMAGE, INSTRUCTED, *MIXTURES, *QUEUES, *BESIDE, BOX)}
ORDER: tuple[tuple[ChatRow, int], ...] = (
    (BASE, 0), (FROMAGE, 0), (BASE, 1), (BASE, 2), (IN_BATCH, 0), (FROZEN, 0),
    *((row, 0) for row in (*MIXTURES, INSTRUCTED, *QUEUES) if row.has_training),
    *(
        (row, seed)
        for seed in SEEDS[1:]
        for row in (IN_BATCH, FROZEN, FROMAGE, INSTRUCTED, *MIXTURES, *QUEUES)
        if row.has_training and seed in row.seeds
    ),
    *((row, seed) for seed in MORE[len(SEEDS) :] for row in (BASE, *MIXTURES) if seed in row.seeds),
)  # fmt: skip
"""Trainings, the most important first."""

PAPER = {
    "random": (.02, .1, .2, .01, .05, .1, .01, .05, .1),
    "clip-i": (None, None, None, 9.65, 20.96, 28.05, 9.65, 20.96, 28.05),
    "clip-t": (15.84, 34.46, 45.10, 14.15, 30.60, 39.56, 12.69, 27.19, 35.80),
    "clip-ti": (None, None, None, 12.33, 26.81, 35.15, 13.18, 28.56, 37.07),
    FROMAGE.name: (15.94, 36.76, 48.60, 12.56, 29.65, 39.65, 14.36, 32.58, 42.80),
    BASE.name: (27.38, 52.48, 63.50, 35.54, 61.16, 71.57, 37.90, 64.22, 74.06),
}  # fmt: skip
"""The paper's table of its three tasks: R@1, R@5 and R@10 of each, in per cent."""
PAPER_AVERAGE = {"talks alone": 53.09, "talks and questions": 53.52, "talks of words alone, questions, edits": 49.23}
"""The paper's averages of mixtures (its second has LLaVA's, the third also InstructPix2Pix)."""


def main() -> None:
    """Do one of the things."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=("train", "evaluate", "speed", "write"))
    add_run_options(parser, "runs/chatsearcher", processes=1)
    parser.add_argument("--tests", nargs="*", help="these only, of evaluate")
    parser.add_argument("--scenes", type=Path, default=Path("runs/chatir/scenes"))
    parser.add_argument("--products", type=Path, default=Path("runs/fashioniq/products"))
    given = parser.parse_args()
    if unknown := [name for name in given.rows or () if name not in ROWS]:
        parser.error(f"no rows are called {', '.join(unknown)}; there are: {', '.join(ROWS)}")
    place = place_of(given)
    others = ((row, seed) for row in ROWS.values() if not row.has_training for seed in row.seeds)
    if given.do in ("train", "evaluate"):
        measure_it = partial(measure_row, place=place, only=given.tests)
        work: Callable[..., object] = runner_of(place).train if given.do == "train" else measure_it
        run_jobs([(row.name, seed, partial(work, row, seed)) for row, seed in (*ORDER, *others)], given)
    elif given.do == "speed":
        found = talking_speed(folder_of(BASE, 0, place) / BEST, place)
        write_json(place.work / "speed.json", found)
    else:
        write_results(
            "chatsearcher", results(place), by_row=("chat", "captions", "cirr", "visual", "decision", "grounding")
        )


def place_of(given: argparse.Namespace) -> Place:
    """The folders of all data sets and runs."""
    data = given.data.resolve()
    folders = {"scenes": given.scenes, "products": given.products, "flickr8k": data / "flickr8k", "coco": data / "coco"}
    return Place(given.work, {**folders, "edits": given.work / "edits", "cirr": given.work / "cirr"})


LEARNT = ("scenes", "flickr8k", "coco", "edits")


def runner_of(place: Place) -> Runner:
    """The runner of all rows."""
    return Runner(ROWS, place.work / "runs", tuple(place.folders[name] for name in LEARNT), place.features)


def folder_of(row: Row, seed: int, place: Place) -> Path:
    """The folder of a row, by its seed."""
    return runner_of(place).folder(row.name, seed)


def measure_row(row: ChatRow, seed: int, place: Place, only: Sequence[str] | None = None) -> None:
    """Does all tests of a row for which its weights are there."""
    folder = folder_of(row, seed, place)
    for aligned, tests in ((False, row.tests), (True, ALIGNED if row.aligned else ())):
        weights = runner_of(place).weights(row, seed)
        if aligned and weights is not None:
            weights = folder / "alignment" / BEST
        if weights is None or weights.is_file():
            job = MeasuredRow(row.system, weights, folder, place, row.name, seed if row.preset else UNTRAINED)
            for test in tests:
                if not only or test in only:
                    measure(job, test)


# -- results


def results(place: Place) -> dict[str, Any]:
    """All that is measured so far."""
    speed = place.work / "speed.json"
    trained = [folder_of(row, seed, place) for row, seed in ORDER]
    return {
        "data": describe_data(place),
        "chat": {name: found for name, row in ROWS.items() if (found := chat_of(row, place))},
        "captions": {name: found for name, row in ROWS.items() if (found := captions_of(row, place))},
        "cirr": {name: found for name, row in ROWS.items() if (found := cirr_of(row, place))},
        "visual": {name: found for name, row in ROWS.items() if (found := told_of(row, "visual", place))},
        "decision": {name: found for name, row in ROWS.items() if (found := told_of(row, "decision", place))},
        "grounding": {test: told for test in GROUNDED if (told := told_of(BASE, test, place))},
        "speed": read_figures(speed),
        "minutes of training": round(sum(map(minutes, trained))),
        "machine": describe_host(),
    }


def describe_data(place: Place) -> str:
    """How many dialogues of each task there are, and pictures to search in."""
    folders = [folder for row in ROWS.values() for folder in folders_with(row, "chat", place)]
    tasks = run_in(folders[0] / "chat").tasks if folders else ()
    talks = " / ".join(dict.fromkeys(f"{len(task.dialogue_ids):,}" for task in tasks))
    pictures = " / ".join(dict.fromkeys(f"{task.ranks.gallery_size:,}" for task in tasks))
    return f"{talks} test dialogues of each task about scenes of product photos, {pictures} pictures to search in"


def folders_with(row: Row, test: str, place: Place) -> list[Path]:
    """The folders of the row's seeds in which a test is done."""
    folders = [folder_of(row, seed, place) for seed in row.seeds]
    return [folder for folder in folders if is_measured(folder / test)]


def chat_of(row: ChatRow, place: Place) -> dict[str, Any]:
    """The figures of each task, the average as the paper has it, and the cost of training."""
    folders = folders_with(row, "chat", place)
    if not folders:
        return {}
    counted = [task for task in TASKS if not (task == "tChat" and row.name in ("clip-i", "clip-ti"))]
    by_task = {task: {m: found(folders, "chat", m, task) for m in (*METRICS, MEAN)} for task in counted}
    average_es = np.concatenate([values[MEAN] for values in by_task.values()], axis=1)
    return {
        "seeds": len(folders),
        **{task: {m: rounded(values[m]) for m in METRICS} for task, values in by_task.items()},
        **{f"{task}, mean": estimate_mean(values[MEAN]) for task, values in by_task.items()},
        "average": estimate_mean(average_es),
        **paper_of(row.name, counted),
        **(cost_of(row, folders) if row.has_training else {}),
    }


def paper_of(name: str, counted: Sequence[str]) -> dict[str, Any]:
    """The paper's figures of a row."""
    if name in PAPER:
        values = [value for value in PAPER[name] if value is not None]
        return {"paper": {"values": PAPER[name], "average": round(sum(values) / len(values), 2), "of": len(values)}}
    return {"paper": {"average": PAPER_AVERAGE[name], "of": 3 * len(counted)}} if name in PAPER_AVERAGE else {}


def cost_of(row: Row, folders: Sequence[Path]) -> dict[str, Any]:
    """Minutes of each seed (without stages of another row that it began after), and trained numbers."""
    fixed = ("*mean", "*deviation", "*components", "*frequencies", "*vectors")
    return {
        "minutes": [round(minutes(folder), 1) for folder in folders],
        "parameters": parameters(folders[0] / BEST, fixed),
        "begins after": " of ".join(reversed(row.start)) if row.start else "",
    }


def captions_of(row: Row, place: Place) -> dict[str, Any]:
    """Text to image after stage 1, by data set."""
    rows: dict[str, Any] = {}
    for data, test in zip(CAPTIONED, ALIGNED, strict=True):
        if folders := folders_with(row, test, place):
            rows[data] = {m: rounded(found(folders, test, m)) for m in METRICS}
            rows[data] |= {
                "mean": estimate_mean(found(folders, test, MEAN)),
                "seeds": len(folders),
                **gallery(folders, test),
            }
    return rows


def cirr_of(row: Row, place: Place) -> dict[str, Any]:
    """CIRR's figures."""
    if not (folders := folders_with(row, "cirr", place)):
        return {}
    metrics = ("R@1", "R@5", "R@10", "R@50", "R_subset@1", "R_subset@2", "R_subset@3")
    values = {metric: found(folders, "cirr", metric) for metric in metrics}
    return {
        "seeds": len(folders), **{metric: rounded(value) for metric, value in values.items()},
        "R@10, interval": estimate_mean(values["R@10"]), "R_subset@1, interval": estimate_mean(values["R_subset@1"]),
        **gallery(folders, "cirr"),
    }  # fmt: skip


def gallery(folders: Sequence[Path], test: str) -> dict[str, int]:
    """Talks and pictures of a test of one task."""
    [task] = run_in(folders[0] / test).tasks
    return {"talks": len(task.dialogue_ids), "pictures": task.ranks.gallery_size}


def told_of(row: Row, test: str, place: Place) -> dict[str, Any]:
    """A test whose figures are values of their own: each with its interval over seeds and pictures (or talks)."""
    if not (folders := folders_with(row, test, place)):
        return {}
    runs = [run_in(folder / test).tasks[0] for folder in folders]
    names = [name for name in runs[0].asked if all(name in one.asked for one in runs)]
    values = {name: np.array([one.asked[name] for one in runs]) for name in names}
    return {"seeds": len(folders), "of": runs[0].figures[0].name.gallery} | {
        name: estimate_mean(known_es)
        for name, value_es in values.items()
        if (known_es := value_es[:, ~np.isnan(value_es).any(axis=0)]).size
    }


def found(folders: Sequence[Path], test: str, metric: str, task: str = "") -> Float[np.ndarray, "e s"]:
    """A figure of every talk of a task after its last turn, by seed."""
    results = [one for folder in folders for one in run_in(folder / test).tasks if task in one.title]
    return np.array(
        [values_per_dialogue(metric_values(metric, one.ranks), LAST_TURN, "", one.settings) for one in results]
    )


@cache
def run_in(folder: Path) -> Run:
    """A run, read once."""
    return read_run(folder)


def rounded(values: Float[np.ndarray, "*n"]) -> float:
    """The mean."""
    return round(float(values.mean()), 4)


if __name__ == "__main__":
    main()
