"""Trains and measures the rows of a table; shared by the benchmarks of systems (drilldown.py, fashioniq.py, mai.py).

A benchmark declares its rows as data. A `Runner` trains each by `viewfinder train`, after the row whose weights it
builds on. Finished trainings are skipped, so an interrupted benchmark is simply started again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from rows import MORE, SEEDS, run

BEST = "best.safetensors"
"""The file of a training's weights."""

DONE = "trained"
"""A file that says that a training has ended."""

Stage = tuple[str, str]
"""A row, and the stage of its training whose weights are meant."""

Job = tuple[str, int, Callable[[], object]]
"""The name of a row, its seed, and the work that measures it."""


@dataclass(frozen=True)
class Row:
    """A row of a table: a system, and how it is trained.

    Attributes:
        preset: "" if nothing is trained.
        seeds: those of its trainings.
        start: the weights that its training continues.
        same_as: the weights that it measures, if it has no training of its own.
    """

    name: str
    system: str
    preset: str = "lab"
    settings: tuple[str, ...] = ()
    seeds: tuple[int, ...] = SEEDS
    start: Stage | None = None
    same_as: Stage | None = None


@dataclass(frozen=True)
class Runner:
    """Trains rows on some data sets; `features` holds the vectors of the one, or a folder for each of several."""

    rows: Mapping[str, Row]
    runs: Path
    data: tuple[Path, ...]
    features: Path

    def folder(self, name: str, seed: int) -> Path:
        """The folder of a training."""
        plain = "".join(letter for letter in name.replace(" ", "-") if letter.isalnum() or letter in "-_")
        return self.runs / f"{plain}-{seed}"

    def weights(self, row: Row, seed: int) -> Path | None:
        """The file of the weights that a row measures; None if nothing is trained."""
        if not row.preset:
            return None
        return self._stage(row.same_as, seed) if row.same_as else self.folder(row.name, seed) / BEST

    def is_trained(self, row: Row, seed: int) -> bool:
        """Whether the weights that a row measures are ready, if it needs any."""
        base = row.same_as[0] if row.same_as else row.name
        return not row.preset or (self.folder(base, seed) / DONE).is_file()

    def train(self, row: Row, seed: int, *settings: str, out: Path | None = None) -> Path | None:
        """Trains a row, and first the row that it builds on, unless it is done; returns the weights that it measures.

        Args:
            settings: further ones, besides those of the row.
            out: the folder of the training, in place of the usual one.
        """
        base = row.same_as or row.start
        if base:
            self.train(self.rows[base[0]], seed)
        if not row.preset or row.same_as:
            return self.weights(row, seed)
        out = out or self.folder(row.name, seed)
        out.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{out}.lock"):  # rows that build on the same weights wait for them
            if not (out / DONE).is_file():
                train_system(
                    row.system, out, self.data, self.features, preset=row.preset, seed=seed,
                    settings=(*row.settings, *settings), start=self._stage(base, seed) if base else None,
                )  # fmt: skip
                (out / DONE).touch()
        return out / BEST

    def _stage(self, stage: Stage, seed: int) -> Path:
        return self.folder(stage[0], seed) / stage[1] / BEST


def train_system(
    system: str, out: Path, data: Sequence[Path], features: Path, *, preset: str, seed: int,
    settings: Sequence[str] = (), start: Path | None = None,
) -> None:  # fmt: skip
    """Trains a system into a folder, or resumes its training there; `start` names weights that it continues."""
    run(
        "train", system, *repeat_option("--data", data), "--features", features, "--preset", preset, "--seed", seed,
        "--out", out, "--resume", *repeat_option("--set", settings), *(("--start", start) if start else ()),
        log=out.with_suffix(".log"),
    )  # fmt: skip


def evaluate_system(
    system: str, out: Path, data: Path, features: Path, *options: object, weights: Path | None = None
) -> None:
    """Writes a run of a system on the test split into a folder; without weights, those that are shipped are used."""
    checkpoint = ("--checkpoint", weights) if weights else ()
    run(
        "evaluate", system, "--data", data, "--features", features, "--split", "test", *checkpoint, *options,
        "--out", out, log=out.with_suffix(".log"),
    )  # fmt: skip


def make_world(folder: Path, sprites: Path, kind: str, count: int, seed: int, *options: str) -> None:
    """Makes a world of product photographs in contextual language, unless it is there."""
    last = "report.json" if kind == "catalogue" else "world.json"
    if not (folder / last).is_file():
        run(
            "world", folder, "--kind", kind, "--count", count, "--seed", seed, "--language", "contextual",
            "--sprites", sprites, *options,
        )  # fmt: skip


def repeat_option(name: str, values: Iterable[object]) -> list[object]:
    """An option of a command line for each value.

    >>> repeat_option("--set", ["a=1", "b=2"])
    ['--set', 'a=1', '--set', 'b=2']
    """
    return [part for value in values for part in (name, value)]


def add_run_options(
    parser: argparse.ArgumentParser, work: str, parts: Sequence[str] = (), *, processes: int = 2
) -> None:
    """Adds the arguments that say what to measure, and where; `parts` are those that `--only` chooses from."""
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path(work), help="made data, vectors and trainings")
    parser.add_argument("--rows", nargs="*", help="measure these only; the result file keeps all others")
    parser.add_argument("--seeds", type=int, nargs="*", default=MORE, help="likewise")
    parser.add_argument("--processes", type=int, default=processes, help="jobs at a time, each on one core")
    if parts:
        parser.add_argument("--only", nargs="*", choices=parts, default=parts, help="parts to do")


def run_jobs(jobs: Iterable[Job], given: argparse.Namespace) -> None:
    """Does the jobs of the rows and seeds that the command line asks for."""
    chosen = [work for name, seed, work in jobs if seed in given.seeds and (not given.rows or name in given.rows)]
    with ThreadPoolExecutor(given.processes) as pool:
        for done in [pool.submit(work) for work in chosen]:
            done.result()
