"""ChatIR: dialogue encoders, their training and masking, and questioners; writes results/dialogues.json.

    python benchmarks/dialogues.py DATA --model M.gguf      # DATA: fashion-products/; rows that are kept are skipped

Training uses the dialogues of two worlds (8,000 and 13,000 scenes of product photos); testing searches all 6,000 scenes
of a third. Test dialogues are in other words than those learnt from (contextual language). "heard" rows are the
dialogues that come with that world; in "asked" rows a questioner asks and the oracle answers, after the same captions.
Whatever is trained has three seeds.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe_host
from rows import (
    SEEDS,
    UNTRAINED,
    estimate_mean,
    is_kept,
    is_measured,
    keep_tasks,
    minutes,
    parameters,
    run,
    write_results,
)
from trainings import BEST, Job, Row, Runner, add_run_options, evaluate_system, make_world, repeat_option, run_jobs

from viewfinder.data.dialogues import read_pool, write_pool
from viewfinder.evaluation import read_run
from viewfinder.evaluation.results import TaskResult

ONE = (0,)
ROUNDS = (0, 1, 2, 3, 5, 7, 10)
WORLDS = {"scenes": (8000, 5), "scenes-train": (13000, 12), "scenes-test": (6000, 11)}
"""How many scenes, and the seed."""

LEARNT_FROM = ("scenes", "scenes-train")
SEARCHED = "scenes-test"
ASKED_FIGURES = ("repeated questions", "unique tokens", "don't know", "by another")


@dataclass(frozen=True)
class Asking:
    """A questioner in talks with the oracle; the network of a training, by its name, looks for the picture.

    In `questioner`, {questions} stands for the trained questions, {model} for the language model, {heard} for the
    world's own dialogues. A language model is slow, and so has fewer talks.
    """

    name: str
    questioner: str
    talks: int = 300
    seeds: tuple[int, ...] = SEEDS
    trained: str = "dialogues"


EPOCHS = ("training.epochs=8",)
FURTHER = (*EPOCHS, "training.learning_rate=1e-4")
"""How a training goes on from weights that find something."""

WEIGHTS = ("dialogues", "")
"""Weights from which both losses continue: the surrogate has no gradient where nothing is found yet."""

FEWER = Row("a third of the scenes", "chatir", settings=("training.epochs=16",))
TRAININGS = (
    Row("dialogues", "chatir", settings=EPOCHS),
    Row("captions only", "chatir", settings=(*EPOCHS, "rounds=0")),
    *(
        Row(f"mask {mask}", "chatir", settings=(*EPOCHS, f"mask={mask}"))
        for mask in ("none", "questions", "answers", "rounds", "tokens")
    ),
    Row("picture side learnt too", "chatir", "modern", EPOCHS),
    Row("published loss", "chatir", settings=(*FURTHER, "loss.kind=surrogate"), start=WEIGHTS),
    Row("dialogues, as long as with the surrogate", "chatir", settings=FURTHER, start=WEIGHTS),
    FEWER,
)
PLAIN = {"plain encoder, caption": "clip-caption", "plain encoder, whole talk": "clip-t"}

ASKINGS = (
    Asking("information_gain", "information_gain={questions}"),
    Asking("information_gain, as in the box", "information_gain"),
    Asking("recorded", "recorded={heard}"),
    Asking("pool", "pool={questions}"),
    Asking("pool that may repeat", "pool={questions}?repeat"),
    Asking("unanswered", "unanswered={questions}"),
    Asking("llm", "llm={model}", talks=12, seeds=ONE),
    Asking("plugir", "plugir={model}", talks=6, seeds=ONE),
)


@dataclass(frozen=True)
class Place:
    """The folder of everything that is made, and the language model."""

    work: Path
    model: Path | None

    @property
    def questions(self) -> Path:
        """The trained questions."""
        return self.work / "questions" / "questions.safetensors"

    def features(self, name: str) -> Path:
        """The vectors of a world's pictures."""
        return self.work / "features" / name

    def learnt_from(self, row: Row) -> tuple[Path, ...]:
        """The worlds that a row is trained on."""
        return tuple(self.work / name for name in (LEARNT_FROM[:1] if row == FEWER else LEARNT_FROM))

    def runner(self, row: Row) -> Runner:
        """The runner of a row, on its worlds."""
        features = self.features(LEARNT_FROM[0]) if row == FEWER else self.work / "features"
        return Runner({one.name: one for one in TRAININGS}, self.work / "runs", self.learnt_from(row), features)

    def folder(self, name: str, seed: int) -> Path:
        """The folder of a training, or of a questioner's talks."""
        return self.runner(TRAININGS[0]).folder(name, seed)

    def make(self, data: Path) -> None:
        """Makes worlds, vectors and trained questions, as far as they are not there."""
        for name, (count, seed) in WORLDS.items():
            make_world(self.work / name, data / "fashion-products", "scenes", count, seed)
            run("features", self.work / name, "--no-regions", "--out", self.features(name))
        search_all(self.work / SEARCHED)
        if not self.questions.is_file():
            sets = repeat_option("--data", self.learnt_from(TRAININGS[0]))
            out = ("--out", self.questions.parent, "--features", self.work / "features")
            run("train", "questions", *sets, *out, log=self.questions.with_suffix(".log"))


def main() -> None:
    """Make the data, train, evaluate, write one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_run_options(parser, "runs/chatir", ("heard", "asked", "none"))
    parser.add_argument("--model", type=Path, help="the language model of llm and plugir; without it they are left out")
    given = parser.parse_args()
    place = Place(given.work, given.model)
    place.make(given.data.resolve())
    for part, jobs in list_jobs(place).items():
        run_jobs(jobs if part in given.only else [], given)
    write_results("dialogues", results(place), by_row=["heard", "asked"])


def list_jobs(place: Place) -> dict[str, list[Job]]:
    """The work that is left, row by row."""
    heard: list[Job] = [(name, 0, partial(hear_plain, name, place)) for name in PLAIN]
    heard += [(row.name, seed, partial(hear, row, seed, place)) for row in TRAININGS for seed in row.seeds]
    able = [row for row in ASKINGS if place.model or "{model}" not in row.questioner]
    asked: list[Job] = [(row.name, seed, partial(ask, row, seed, place)) for row in able for seed in row.seeds]
    parts = {"heard": heard, "asked": asked}
    return {
        part: [job for job in jobs if not is_kept("dialogues", "talks", f"{part}: {job[0]}", job[1])]
        for part, jobs in parts.items()
    }


def search_all(world: Path) -> None:
    """Lets all pictures of a world be searched, also those that it names for learning: nothing learns from it."""
    pools = [read_pool(file)[0] for file in sorted((world / "ChatIR_Protocol").glob("*.json"))]
    write_pool(world / "ChatIR_Protocol" / "Search_Space_test.json", sorted({one for pool in pools for one in pool}))


def hear(row: Row, seed: int, place: Place) -> None:
    """Trains a row and measures it on the dialogues of the searched world."""
    weights = place.runner(row).train(row, seed)
    measure(
        "heard", row.name, seed, place, row.system, weights, *repeat_option("--learnt-from", place.learnt_from(row))
    )


def hear_plain(name: str, place: Place) -> None:
    """Measures an encoder that was not trained on talks."""
    measure("heard", name, 0, place, PLAIN[name], None)


def ask(row: Asking, seed: int, place: Place) -> None:
    """Lets a questioner talk with the oracle."""
    heard = place.work / SEARCHED / "dialogues" / "world_test.json"
    asks = row.questioner.format(questions=place.questions, model=place.model, heard=heard)
    [trained] = [one for one in TRAININGS if one.name == row.trained]
    weights = place.runner(trained).train(trained, seed)
    options = ("--user", "oracle", "--questioner", asks, "--limit", row.talks)
    learnt = repeat_option("--learnt-from", place.learnt_from(trained))
    measure("asked", row.name, seed, place, trained.system, weights, *options, *learnt)


def measure(part: str, name: str, seed: int, place: Place, system: str, weights: Path | None, *options: object) -> None:
    """Measures a row on the world that is searched and keeps its ranks, unless that is done."""
    out = place.folder(name if part == "heard" else f"asked by {name}", seed)
    if is_measured(out / "test"):
        return
    world, features = place.work / SEARCHED, place.features(SEARCHED)
    evaluate_system(system, out / "test", world, features, "--protocol", "chatir", *options, weights=weights)
    keep_tasks(
        "dialogues", "talks", f"{part}: {name}", seed if weights else UNTRAINED, read_run(out / "test").tasks,
        f"python benchmarks/dialogues.py DATA --rows '{name}'", weights=[weights] if weights else [],
        training=weights.parent if weights else None,
    )  # fmt: skip
    print(f"{part}: {name}, seed {seed}", flush=True)


def results(place: Place) -> dict[str, Any]:
    """All that is measured so far."""
    heard = {row.name: tasks_of(place, row.name, row.seeds) for row in TRAININGS}
    heard |= {name: tasks_of(place, name, ONE) for name in PLAIN}
    asked = {row.name: tasks_of(place, f"asked by {row.name}", row.seeds) for row in ASKINGS}
    return {
        "data": f"{WORLDS[SEARCHED][0]:,} scenes of product photos, all of which are searched; learnt from "
        f"{sum(WORLDS[name][0] for name in LEARNT_FROM):,} others",
        "heard": {
            row.name: {**figures(heard[row.name]), **cost(row, place)} for row in TRAININGS if heard[row.name]
        } | {name: figures(heard[name]) for name in PLAIN if heard[name]},
        "asked": {name: {**figures(tasks), **question_figures(tasks)} for name, tasks in asked.items() if tasks},
        "machine": describe_host(),
    }  # fmt: skip


def tasks_of(place: Place, name: str, seeds: tuple[int, ...]) -> list[TaskResult]:
    """The measured task of every seed that is done."""
    folders = [place.folder(name, seed) / "test" for seed in seeds]
    return [read_run(folder).tasks[0] for folder in folders if is_measured(folder)]


def figures(tasks: list[TaskResult]) -> dict[str, Any]:
    """The figures of a row: cumulative Hits@10, R@10, and the mean and median rank from 1, by round; ties halved."""
    ranks_est = np.stack([(task.ranks.best_st + task.ranks.worst_st) / 2 for task in tasks])
    best_est = np.minimum.accumulate(ranks_est, axis=2)
    last = ranks_est.shape[2] - 1
    return {
        "seeds": len(tasks),
        "talks": ranks_est.shape[1],
        "Hits@10": {str(at): estimate_mean((best_est[:, :, min(at, last)] < 10).astype(np.float64)) for at in ROUNDS},
        "R@10": {str(at): estimate_mean((ranks_est[:, :, min(at, last)] < 10).astype(np.float64)) for at in ROUNDS},
        "mean rank": {str(at): round(float(ranks_est[:, :, min(at, last)].mean()) + 1, 1) for at in ROUNDS},
        "median rank": {str(at): float(np.median(ranks_est[:, :, min(at, last)])) + 1 for at in ROUNDS},
    }


def question_figures(tasks: list[TaskResult]) -> dict[str, Any]:
    """How varied the questions were, what became of them, and how long they took."""
    values = {name: np.concatenate([task.asked[name] for task in tasks]) for name in ASKED_FIGURES}
    times = [task.times for task in tasks if task.times]
    return {
        **{name: round(float(np.nanmean(found_s)), 3) for name, found_s in values.items()},
        **{name: round(float(np.mean([time[name] for time in times])), 1) for name in ("median_ms", "p95_ms") if times},
    }


def cost(row: Row, place: Place) -> dict[str, Any]:
    """How large the trained network is, and how long its trainings took."""
    weights = place.folder(row.name, 0) / BEST
    fixed = ("*_mean", "*_deviation", "*components")
    return {
        "parameters": parameters(weights, fixed) if weights.is_file() else 0,
        "minutes": [round(minutes(place.folder(row.name, seed)), 1) for seed in row.seeds],
    }


if __name__ == "__main__":
    main()
