"""A run on disk: what was measured, of what, when, and every rank behind it.

results.json    figures with intervals, and everything that names them: system, data, encoder, seeds, date
ranks.npz       the ranks of every talk and turn, so that runs can be compared talk by talk
dialogues.json  where a questioner asked: what, and what was answered, in ChatIR's form (dialogues-2.json: next task)
report.html     the same for people, with plots and example talks

Times are in results.json too, apart from the figures: only they differ between two runs of one plan.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np
from jaxtyping import Float

from viewfinder.data.dialogues import Dialogue, write_dialogues
from viewfinder.errors import BadInput
from viewfinder.evaluation.figures import Figure, metric_values
from viewfinder.evaluation.replay import RankTable
from viewfinder.evaluation.task import Task
from viewfinder.metrics import Measure, Ties

SCHEMA, VERSION = "viewfinder/results", 1
RESULTS, RANKS, DIALOGUES = "results.json", "ranks.npz", "dialogues.json"

CHECKPOINT = "checkpoint"
"""The option of a run that says which weights its system had."""


@dataclass(frozen=True)
class Provenance:
    """What a run is a run of."""

    system: str
    data: str
    encoder: str
    user: str
    questioner: str
    seed: int
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What tells the run from others on the same data: system and its weights, user, and what asks."""
        weights = self.options.get(CHECKPOINT)
        system = f"{self.system} ({weights})" if weights else self.system
        return " + ".join(part for part in (system, self.user, self.questioner) if part)


@dataclass(frozen=True, eq=False)
class TaskResult:
    """One task of a run: its figures, and the ranks behind them with the ids of their talks.

    Where a questioner asked: `asked` has one value a talk of each figure on that, `times` how long a question took to
    choose, and `dialogues` what was said (written with a run, not read with it).
    """

    title: str
    figures: tuple[Figure, ...]
    talk_ids: tuple[str, ...]
    settings: tuple[str, ...]
    ranks: RankTable
    left_out: tuple[str, ...] = ()
    asked: Mapping[str, Float[np.ndarray, " s"]] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)
    dialogues: tuple[Dialogue, ...] = ()

    def values_st(self, figure: Figure) -> Float[np.ndarray, "s t"]:
        """What a figure is the mean of: one value a talk and turn, or a talk."""
        if (asked_s := self.asked.get(figure.name.metric)) is not None:
            return asked_s[:, None]
        return metric_values(figure.name.metric, self.ranks, cast(Ties, figure.name.ties))


@dataclass(frozen=True, eq=False)
class Run:
    """A run as it was written; `skipped` says which tasks of the data were not possible, and why."""

    folder: Path
    provenance: Provenance
    machine: dict[str, str]
    tasks: tuple[TaskResult, ...]
    skipped: tuple[str, ...] = ()


def task_result(task: Task, table: RankTable, figures: Sequence[Figure]) -> TaskResult:
    """A task's outcome in the form in which it is kept."""
    return TaskResult(
        title=task.title,
        figures=tuple(figures),
        talk_ids=tuple(talk.id for talk in task.talks),
        settings=tuple(talk.setting for talk in task.talks),
        ranks=table,
        left_out=tuple(str(report) for report in task.reports if report.dropped),
    )


def describe_machine() -> dict[str, str]:
    """Where and when a run was made."""
    return {
        "processor": f"{platform.machine()}, {os.cpu_count()} cores",
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("viewfinder", "numpy", "onnxruntime")},
    }


def write_run(run: Run) -> None:
    """Writes a run into its folder; the results come last, so that a folder with results is a whole run.

    Raises:
        BadInput: the folder cannot be written.
    """
    arrays: dict[str, Any] = {}
    for number, task in enumerate(run.tasks):
        arrays[f"best_{number}"], arrays[f"worst_{number}"] = task.ranks.best_st, task.ranks.worst_st
        arrays[f"ids_{number}"], arrays[f"settings_{number}"] = np.array(task.talk_ids), np.array(task.settings)
        if task.ranks.subset_best_st is not None and task.ranks.subset_worst_st is not None:
            arrays[f"subset_best_{number}"] = task.ranks.subset_best_st
            arrays[f"subset_worst_{number}"] = task.ranks.subset_worst_st
        arrays |= {f"asked_{number}_{metric}": values_s for metric, values_s in task.asked.items()}
    record = {
        "schema": SCHEMA,
        "version": VERSION,
        **asdict(run.provenance),
        "machine": run.machine,
        "skipped": list(run.skipped),
        "tasks": [_task_record(task) for task in run.tasks],
    }
    try:
        run.folder.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(run.folder / RANKS, **arrays)
        _write_talks(run)
        (run.folder / RESULTS).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{run.folder}: cannot be written ({error.strerror}); choose another --out") from error


def _write_talks(run: Run) -> None:
    """What was asked in each task that has questions, the first of them without a number; those of a run before go."""
    if (run.folder / RESULTS).is_file():
        for old in (run.folder / DIALOGUES, *run.folder.glob("dialogues-[0-9]*.json")):
            old.unlink(missing_ok=True)
    for number, task in enumerate((task for task in run.tasks if task.dialogues), start=1):
        name = DIALOGUES if number == 1 else f"dialogues-{number}.json"
        write_dialogues(run.folder / name, task.dialogues)


def _task_record(task: TaskResult) -> dict[str, Any]:
    return {
        "title": task.title,
        "gallery": task.ranks.gallery_size,
        "talks": len(task.talk_ids),
        "left_out": list(task.left_out),
        **({"times": dict(task.times)} if task.times else {}),
        "figures": [
            {**figure.measure.to_json(), "turn": figure.turn, "setting": figure.setting} for figure in task.figures
        ],
    }


def read_run(folder: Path) -> Run:
    """A run that `write_run` wrote.

    Raises:
        BadInput: there is none, or its files are damaged or of a later version.
    """
    file = folder / RESULTS
    if not file.is_file():
        raise BadInput(f"{folder}: no {RESULTS} here; name a folder that `viewfinder evaluate --out` wrote")
    try:
        record = dict(json.loads(file.read_text(encoding="utf-8")))
        if record.get("schema") != SCHEMA or record.get("version") != VERSION:
            raise BadInput(f"{file}: schema {record.get('schema')!r}, version {record.get('version')!r} is not ours")
        with np.load(folder / RANKS) as arrays:
            tasks = tuple(_task(record["tasks"][number], number, arrays) for number in range(len(record["tasks"])))
        provenance = Provenance(**{name: record[name] for name in Provenance.__dataclass_fields__})
        return Run(folder, provenance, record["machine"], tasks, tuple(record["skipped"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{folder}: this run is damaged ({error}); evaluate again") from error


def _task(record: dict[str, Any], number: int, arrays: Any) -> TaskResult:
    ranks = RankTable(
        arrays[f"best_{number}"],
        arrays[f"worst_{number}"],
        record["gallery"],
        arrays.get(f"subset_best_{number}"),
        arrays.get(f"subset_worst_{number}"),
    )
    figures = []
    for figure in record["figures"]:
        turn, setting = figure.pop("turn"), figure.pop("setting")
        figures.append(Figure(Measure.from_json(figure), turn, setting))
    ids, settings = (tuple(map(str, arrays[f"{name}_{number}"])) for name in ("ids", "settings"))
    start = f"asked_{number}_"
    asked = {name.removeprefix(start): arrays[name] for name in arrays if name.startswith(start)}
    left_out, times = tuple(record["left_out"]), record.get("times", {})
    return TaskResult(record["title"], tuple(figures), ids, settings, ranks, left_out, asked, times)
