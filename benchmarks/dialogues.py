"""ChatIR: dialogue encoders, their training and masking, and questioners; writes results/dialogues.json.

    python benchmarks/dialogues.py DATA --model M.gguf      # DATA: fashion-products/; rows that are kept are skipped

Training uses the dialogues of two worlds (8,000 and 13,000 scenes of product photos); testing searches all 6,000 scenes
of a third. Test dialogues are in other words than those learnt from (contextual language). "heard" rows are the
dialogues that come with that world; in "asked" rows a questioner asks and the oracle answers, after the same captions.
Whatever is trained has three seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from jaxtyping import Float
from machine import described
from rows import (
    SEEDS,
    UNTRAINED,
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


Job = tuple[str, int, Callable[[], None]]
"""A row, a seed, and what makes it."""


@dataclass(frozen=True)
class Training:
    """One way of training a dialogue encoder; `heard` rows by its name measure it on the world's own dialogues.

    `start`: the row whose weights of the same seed it goes on from.
    """

    name: str
    preset: str = "lab"
    settings: tuple[str, ...] = ()
    seeds: tuple[int, ...] = SEEDS
    data: tuple[str, ...] = LEARNT_FROM
    epochs: int = 8
    start: str = ""


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


FURTHER = ("training.learning_rate=1e-4",)
"""How a training goes on from weights that find something."""

TRAININGS = (
    Training("dialogues"),
    Training("captions only", settings=("rounds=0",)),
    *(Training(f"mask {mask}", settings=(f"mask={mask}",)) for mask in ("none", "questions", "answers", "rounds")),
    Training("mask tokens", settings=("mask=tokens",)),
    Training("picture side learnt too", "modern"),
    # The surrogate has no gradient where nothing is found yet: both losses continue from the weights of "dialogues".
    Training("published loss", settings=("loss.kind=surrogate", *FURTHER), start="dialogues"),
    Training("dialogues, as long as with the surrogate", settings=FURTHER, start="dialogues"),
    Training("a third of the scenes", data=("scenes",), epochs=16),
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
    """Where everything lies."""

    work: Path
    data: Path
    model: Path | None

    @property
    def questions(self) -> Path:
        """The trained questions."""
        return self.work / "questions" / "questions.safetensors"

    def world(self, name: str) -> Path:
        """A world's folder."""
        return self.work / name

    def features(self, name: str) -> Path:
        """The vectors of its pictures."""
        return self.work / "features" / name

    def run(self, name: str, seed: int) -> Path:
        """A training, or the talks of a questioner."""
        return self.work / "runs" / f"{name.replace(' ', '-').replace(',', '')}-{seed}"

    def make(self) -> None:
        """Worlds, vectors and trained questions, as far as they are not there."""
        for name, (count, seed) in WORLDS.items():
            if not (self.world(name) / "world.json").is_file():
                run(
                    "world", str(self.world(name)), "--kind", "scenes", "--count", str(count), "--seed", str(seed),
                    "--language", "contextual", "--sprites", str(self.data / "fashion-products"),
                )  # fmt: skip
            run("features", str(self.world(name)), "--no-regions", "--out", str(self.features(name)))
        search_all(self.world(SEARCHED))
        if not self.questions.is_file():
            sets = [part for name in LEARNT_FROM for part in ("--data", str(self.world(name)))]
            out = ("--out", str(self.questions.parent), "--features", str(self.work / "features"))
            run("train", "questions", *sets, *out, log=self.questions.with_suffix(".log"))


def main() -> None:
    """Make the data, train, evaluate, write one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/chatir"), help="worlds, vectors and runs")
    parser.add_argument("--model", type=Path, help="the language model of llm and plugir; without it they are left out")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", choices=("heard", "asked", "none"))
    parser.add_argument("--rows", nargs="*", help="do these only; the file has all that are done")
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS, help="likewise")
    given = parser.parse_args()
    place = Place(given.work, given.data.resolve(), given.model)
    place.make()
    for part, jobs in jobs_of(place).items():
        chosen = [
            (name, job) for name, seed, job in jobs if seed in given.seeds and (not given.rows or name in given.rows)
        ]
        with ThreadPoolExecutor(given.processes) as pool:
            for done in [pool.submit(job) for _, job in chosen if given.only in (None, part)]:
                done.result()
    write_results("dialogues", results(place), by_row=["heard", "asked"])


def jobs_of(place: Place) -> dict[str, list[Job]]:
    """What there is to do, row by row."""
    heard: list[Job] = [(name, 0, partial(plain, name, place)) for name in PLAIN]
    heard += [(row.name, seed, partial(hear, row, seed, place)) for row in TRAININGS for seed in row.seeds]
    able = [row for row in ASKINGS if place.model or "{model}" not in row.questioner]
    asked: list[Job] = [(row.name, seed, partial(ask, row, seed, place)) for row in able for seed in row.seeds]
    parts = {"heard": heard, "asked": asked}
    return {
        part: [job for job in jobs if not is_kept("dialogues", "talks", f"{part}: {job[0]}", job[1])]
        for part, jobs in parts.items()
    }


def search_all(world: Path) -> None:
    """All pictures of a world are searched, those it names for learning as well: nothing learns from it."""
    pools = [read_pool(file)[0] for file in sorted((world / "ChatIR_Protocol").glob("*.json"))]
    write_pool(world / "ChatIR_Protocol" / "Search_Space_test.json", sorted({one for pool in pools for one in pool}))


def hear(row: Training, seed: int, place: Place) -> None:
    """Train a row and measure it on the dialogues of the other world, as far as that is not done."""
    out = place.run(row.name, seed)
    if is_measured(out / "test"):
        return
    weights = train(row, seed, place)
    evaluate("chatir", out / "test", place, "--checkpoint", str(weights), *learnt_from(row, place))
    keep(f"heard: {row.name}", seed, out, weights)
    print(f"{row.name}, seed {seed}: {minutes(out):.1f} minutes", flush=True)


def train(row: Training, seed: int, place: Place) -> Path:
    """The weights of a row, trained (and before them those it goes on from), or gone on with, as far as needed."""
    out = place.run(row.name, seed)
    sets = [part for name in row.data for part in ("--data", str(place.world(name)))]
    features = place.work / "features" if len(row.data) > 1 else place.features(row.data[0])
    start = [str(train(base, seed, place)) for base in TRAININGS if base.name == row.start]
    out.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{out}.lock"):  # rows that go on from the same weights wait for them
        run(
            "train", "chatir", *sets, "--features", str(features), "--preset", row.preset, "--seed", str(seed),
            "--resume", "--out", str(out), "--set", f"training.epochs={row.epochs}",
            *(("--start", *start) if start else ()), *(part for one in row.settings for part in ("--set", one)),
            log=out.with_suffix(".log"),
        )  # fmt: skip
    return out / "best.safetensors"


def learnt_from(row: Training, place: Place) -> list[str]:
    """The worlds that a row is trained on, for `evaluate` to count what the test says in the same words."""
    return [part for name in row.data for part in ("--learnt-from", str(place.world(name)))]


def plain(name: str, place: Place) -> None:
    """An encoder that was not trained on talks."""
    if not is_measured(place.run(name, 0) / "test"):
        evaluate(PLAIN[name], place.run(name, 0) / "test", place)
        keep(f"heard: {name}", 0, place.run(name, 0), None)


def ask(row: Asking, seed: int, place: Place) -> None:
    """Talks of a questioner with the oracle."""
    out = place.run(f"asked by {row.name}", seed)
    if is_measured(out / "test"):
        return
    heard = place.world(SEARCHED) / "dialogues" / "world_test.json"
    asks = row.questioner.format(questions=place.questions, model=place.model, heard=heard)
    [trained] = [one for one in TRAININGS if one.name == row.trained]
    weights = train(trained, seed, place)
    talking = ("--user", "oracle", "--questioner", asks, "--limit", str(row.talks), *learnt_from(trained, place))
    evaluate("chatir", out / "test", place, "--checkpoint", str(weights), *talking)
    keep(f"asked: {row.name}", seed, out, weights)
    print(f"asked by {row.name}, seed {seed}", flush=True)


def evaluate(system: str, out: Path, place: Place, *options: str) -> None:
    """Measure on the world that is searched."""
    run(
        "evaluate", system, "--data", str(place.world(SEARCHED)), "--features", str(place.features(SEARCHED)),
        "--protocol", "chatir", "--split", "test", *options, "--out", str(out), log=out.parent.with_suffix(".log"),
    )  # fmt: skip


def keep(name: str, seed: int, out: Path, weights: Path | None) -> None:
    """Keeps the ranks of a row: "heard: ..." of recorded dialogues, "asked: ..." of those of a questioner."""
    [task] = read_run(out / "test").tasks
    command = f"python benchmarks/dialogues.py DATA --rows '{name.partition(': ')[2]}'"
    flags = ["own data", *overlap_flags([task])]
    facts = facts_of(command, [weights] if weights else [], flags, [weights.parent] if weights else [])
    found = kept_row({seed if weights else UNTRAINED: [task]})
    write_ranks("dialogues", "talks", name, found, gallery=task.ranks.gallery_size, facts=facts)


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
        "asked": {name: {**figures(tasks), **asked_figures(tasks)} for name, tasks in asked.items() if tasks},
        "machine": described(),
    }  # fmt: skip


def tasks_of(place: Place, name: str, seeds: tuple[int, ...]) -> list[TaskResult]:
    """The measured task of every seed that is done."""
    folders = [place.run(name, seed) / "test" for seed in seeds]
    return [read_run(folder).tasks[0] for folder in folders if is_measured(folder)]


def ranks_of(task: TaskResult) -> dict[str, Float[np.ndarray, " t"]]:
    """The ranks of each talk's picture after every round, ties halved."""
    ranks_st = (task.ranks.best_st + task.ranks.worst_st) / 2
    return dict(zip(task.dialogue_ids, ranks_st, strict=True))


def figures(tasks: list[TaskResult]) -> dict[str, Any]:
    """What is shown of a row: cumulative Hits@10, R@10, and the mean and median rank from 1, by round."""
    ranks_est = np.stack([np.stack(list(ranks_of(task).values())) for task in tasks])
    best_est = np.minimum.accumulate(ranks_est, axis=2)
    last = ranks_est.shape[2] - 1
    return {
        "seeds": len(tasks),
        "talks": ranks_est.shape[1],
        "Hits@10": {str(at): measured((best_est[:, :, min(at, last)] < 10).astype(np.float64)) for at in ROUNDS},
        "R@10": {str(at): measured((ranks_est[:, :, min(at, last)] < 10).astype(np.float64)) for at in ROUNDS},
        "mean rank": {str(at): round(float(ranks_est[:, :, min(at, last)].mean()) + 1, 1) for at in ROUNDS},
        "median rank": {str(at): float(np.median(ranks_est[:, :, min(at, last)])) + 1 for at in ROUNDS},
    }


def asked_figures(tasks: list[TaskResult]) -> dict[str, Any]:
    """How varied the questions were, what became of them, and how long they took."""
    values = {name: np.concatenate([task.asked[name] for task in tasks]) for name in ASKED_FIGURES}
    times = [task.times for task in tasks if task.times]
    return {
        **{name: round(float(np.nanmean(found_s)), 3) for name, found_s in values.items()},
        **{name: round(float(np.mean([time[name] for time in times])), 1) for name in ("median_ms", "p95_ms") if times},
    }


def cost(row: Training, place: Place) -> dict[str, Any]:
    """How large the trained network is, and how long its trainings took."""
    weights = place.run(row.name, 0) / "best.safetensors"
    fixed = ("_mean", "_deviation", "components")
    return {
        "parameters": parameters(weights, fixed) if weights.is_file() else 0,
        "minutes": [round(minutes(place.run(row.name, seed)), 1) for seed in row.seeds],
    }


if __name__ == "__main__":
    main()
