"""What benchmarks of trained systems share: verbs on one processor, ranks of runs, intervals, paired differences."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from viewfinder.evaluation import read_run
from viewfinder.metrics import permutation_test, seeded_interval
from viewfinder.training.weights import read_weights


def run(*command: str, log: Path | None = None) -> None:
    """A verb of the command line, on one processor."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
    with (log or Path(os.devnull)).open("a") as told:
        subprocess.run(
            [str(Path(sys.executable).with_name("viewfinder")), *command],
            check=True,
            env=environment,
            stdout=told,
            stderr=told,
        )


def is_measured(folder: Path) -> bool:
    """Whether `evaluate` has written its results here."""
    return (folder / "results.json").is_file()


def ranks_of(folder: Path) -> Float[np.ndarray, "s t"]:
    """The 0-based ranks of all talks after all turns in a run of one task, ties halved."""
    [task] = read_run(folder).tasks
    return np.asarray((task.ranks.best_st + task.ranks.worst_st) / 2)


def parameters(file: Path, fixed: Sequence[str] = ("_mean", "_deviation")) -> int:
    """Numbers that were trained: without those, by the ends of their names, that were measured of the data."""
    arrays = read_weights(file).arrays
    return int(sum(array.size for name, array in arrays.items() if not name.endswith(tuple(fixed))))


def minutes(folder: Path) -> float:
    """How long the trainings in a folder took by the clock."""
    seconds = 0.0
    for log in folder.glob("**/log.jsonl"):
        lines = log.read_text(encoding="utf-8").splitlines()
        seconds += json.loads(lines[-1])["seconds"] if lines else 0.0
    return seconds / 60


def measured(values_es: Float[np.ndarray, "e s"]) -> dict[str, float]:
    """Mean and 95 % interval over seeds and talks."""
    return {name: round(float(value), 4) for name, value in asdict(seeded_interval(values_es)).items()}


def compared(better_es: Float[np.ndarray, "e s"], than_es: Float[np.ndarray, "e s"]) -> dict[str, Any]:
    """How much more the first has, paired by seed and talk; of the seeds that both have."""
    seeds = min(len(better_es), len(than_es))
    values = [better_es[:seeds], than_es[:seeds]]
    p_value = permutation_test(values[0].mean(axis=0), values[1].mean(axis=0))
    return {"seeds": seeds, "difference": measured(values[0] - values[1]), "p_value": round(p_value, 5)}
