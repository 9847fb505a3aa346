"""A run on disk: what was measured, of what, when, and every rank behind it.

results.json    figures with intervals, and everything that identifies them: system, data, encoder, seeds, date
ranks.npz       the ranks of every dialogue and turn, so that runs can be compared dialogue by dialogue
dialogues.json  where a questioner asked: what, and what was answered, in ChatIR's form (dialogues-2.json: next task)
report.html     the same for people, with plots and example dialogues

Times are in results.json too, separate from the figures: only they differ between two runs of one plan. What is not a
search has one value per dialogue (or picture) for each figure, and no ranks. Two runs are compared on the same
dialogues, figure by figure, with the probability that a difference is chance alone.
"""

from __future__ import annotations

import errno
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, cast

import numpy as np
from jaxtyping import Float

from viewfinder.data.dialogues import Dialogue, write_dialogues
from viewfinder.data.files import write_jsonl
from viewfinder.encoders import Encoder
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation.figures import Figure, mean_figures, metric_values, values_per_dialogue
from viewfinder.evaluation.overlap import Overlap
from viewfinder.evaluation.plan import Plan, Task, Thing, questioner_label, weights_label
from viewfinder.evaluation.replay import RankTable
from viewfinder.metrics import Interval, Measure, MeasureName, Ties, difference_interval, permutation_test

SCHEMA, VERSION = "viewfinder/results", 1
RESULT_FILE, RANK_FILE, DIALOGUE_FILE = "results.json", "ranks.npz", "dialogues.json"

CHECKPOINT = "checkpoint"
"""The option of a run that says which weights its system had."""


@dataclass(frozen=True)
class Provenance:
    """The system, data, encoder, user and seed of a run."""

    system: str
    data: str
    encoder: str
    user: str
    questioner: str
    seed: int
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """A name that tells the run from others on the same data: system and its weights, user and questioner."""
        weights = self.options.get(CHECKPOINT)
        system = f"{self.system} ({weights})" if weights else self.system
        return " + ".join(part for part in (system, self.user, self.questioner) if part)


@dataclass(frozen=True, eq=False)
class TaskResult:
    """One task of a run: its figures, and the ranks behind them with the ids of their dialogues.

    Where a questioner asked: `asked` has one value per dialogue for each figure on that, `times` how long choosing a
    question took, and `dialogues` what was said (written with a run, not read with it).
    """

    title: str
    figures: tuple[Figure, ...]
    dialogue_ids: tuple[str, ...]
    settings: tuple[str, ...]
    ranks: RankTable
    left_out: tuple[str, ...] = ()
    asked: Mapping[str, Float[np.ndarray, " s"]] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)
    dialogues: tuple[Dialogue, ...] = ()
    overlap: Overlap | None = None  # None: not counted


@dataclass(frozen=True, eq=False)
class Run:
    """A run as it was written; `skipped` says which tasks of the data were not possible, and why."""

    folder: Path
    provenance: Provenance
    machine: dict[str, str]
    tasks: tuple[TaskResult, ...]
    skipped: tuple[str, ...] = ()


def make_task_result(task: Task, table: RankTable, figures: Sequence[Figure]) -> TaskResult:
    """A task's outcome in the form in which it is stored."""
    ids = tuple(dialogue.id for dialogue in task.dialogues)
    settings = tuple(dialogue.setting for dialogue in task.dialogues)
    return TaskResult(task.title, tuple(figures), ids, settings, table, task.left_out)


def describe_machine() -> dict[str, str]:
    """The machine, date and versions of a run."""
    return {
        "processor": f"{platform.machine()}, {os.cpu_count()} cores",
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("viewfinder", "numpy", "onnxruntime")},
    }


def check_writable(folder: Path) -> None:
    """Checks that a run can be written into a folder, before the work and without making it; raises as `write_run`."""
    nearest = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if not nearest.is_dir():
        raise _explain_unwritable(folder, os.strerror(errno.ENOTDIR))
    if not os.access(nearest, os.W_OK):
        raise _explain_unwritable(folder, os.strerror(errno.EACCES))


def _explain_unwritable(place: Path, reason: str | None) -> BadInput:
    return BadInput(f"{place}: cannot be written ({reason}); choose another --out")


def write_run(run: Run) -> None:
    """Writes a run into its folder; the results come last, so that a folder with results is a complete run.

    Raises:
        BadInput: the folder cannot be written.
    """
    arrays: dict[str, Any] = {}
    for number, task in enumerate(run.tasks):
        ranks = task.ranks
        named = {"best": ranks.best_st, "worst": ranks.worst_st}
        named |= {"ids": np.array(task.dialogue_ids), "settings": np.array(task.settings)}
        more = {"subset_best": ranks.subset_best_st, "subset_worst": ranks.subset_worst_st}
        more |= {"truth_best": ranks.truth_best_stg, "truth_worst": ranks.truth_worst_stg}
        named |= {name: some for name, some in more.items() if some is not None}
        arrays |= {f"{name}_{number}": values for name, values in named.items()}
        arrays |= {f"asked_{number}_{metric}": values_s for metric, values_s in task.asked.items()}
    record = {
        "schema": SCHEMA,
        "version": VERSION,
        **asdict(run.provenance),
        "machine": run.machine,
        "skipped": list(run.skipped),
        "tasks": [
            {
                "title": task.title,
                "gallery": task.ranks.gallery_size,
                "talks": len(task.dialogue_ids),
                "left_out": list(task.left_out),
                **({} if task.overlap is None else {"overlap": asdict(task.overlap)}),
                **({"times": dict(task.times)} if task.times else {}),
                "figures": [
                    {**figure.measure.to_json(), "turn": figure.turn, "setting": figure.setting}
                    for figure in task.figures
                ],
            }
            for task in run.tasks
        ],
    }
    try:
        run.folder.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(run.folder / RANK_FILE, **arrays)
        if (run.folder / RESULT_FILE).is_file():  # delete what was asked in an earlier run
            for old in (run.folder / DIALOGUE_FILE, *run.folder.glob("dialogues-[0-9]*.json")):
                old.unlink(missing_ok=True)
        for number, task in enumerate((task for task in run.tasks if task.dialogues), start=1):
            name = DIALOGUE_FILE if number == 1 else f"dialogues-{number}.json"
            write_dialogues(run.folder / name, task.dialogues)
        (run.folder / RESULT_FILE).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise _explain_unwritable(run.folder, error.strerror) from error


def read_run(folder: Path) -> Run:
    """A run that `write_run` wrote.

    Raises:
        BadInput: there is none, or its files are damaged or of a later version.
    """
    file = folder / RESULT_FILE
    if not file.is_file():
        raise BadInput(f"{folder}: no {RESULT_FILE} here; name a folder that `viewfinder evaluate --out` wrote")
    try:
        record = dict(json.loads(file.read_text(encoding="utf-8")))
        if record.get("schema") != SCHEMA or record.get("version") != VERSION:
            raise BadInput(f"{file}: schema {record.get('schema')!r}, version {record.get('version')!r} is not ours")
        with np.load(folder / RANK_FILE) as arrays:
            tasks = tuple(_read_task(record["tasks"][number], number, arrays) for number in range(len(record["tasks"])))
        provenance = Provenance(**{name: record[name] for name in Provenance.__dataclass_fields__})
        return Run(folder, provenance, record["machine"], tasks, tuple(record["skipped"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{folder}: this run is damaged ({error}); evaluate again") from error


def _read_task(record: dict[str, Any], number: int, arrays: Any) -> TaskResult:
    more = (arrays.get(f"{what}_{bound}_{number}") for what in ("subset", "truth") for bound in ("best", "worst"))
    ranks = RankTable(arrays[f"best_{number}"], arrays[f"worst_{number}"], record["gallery"], *more)
    figures = []
    for figure in record["figures"]:
        turn, setting = figure.pop("turn"), figure.pop("setting")
        figures.append(Figure(Measure.from_json(figure), turn, setting))
    ids, settings = (tuple(map(str, arrays[f"{name}_{number}"])) for name in ("ids", "settings"))
    start = f"asked_{number}_"
    asked = {name.removeprefix(start): arrays[name] for name in arrays if name.startswith(start)}
    left_out, times = tuple(record["left_out"]), record.get("times", {})
    overlap = Overlap(**record["overlap"]) if "overlap" in record else None
    return TaskResult(record["title"], tuple(figures), ids, settings, ranks, left_out, asked, times, overlap=overlap)


# -- what is not a search


def make_measured_result(
    title: str, values: Mapping[str, Float[np.ndarray, " s"]], ids: Sequence[str], *, of: str, split: str,
    pictures: int, at: str, caption: str = "none", seed: int = 0, left_out: tuple[str, ...] = (),
    overlap: Overlap | None = None,
) -> TaskResult:  # fmt: skip
    """A task whose figures are means of values, one for each id; NaN: it has none.

    `of` says what they were measured on ("test, 10,000 questions"), `at` what one value is of ("one picture").
    """
    name = MeasureName(metric="any", at=at, gallery=of, split=split, caption=caption, ties="none")
    figures, nothing_s0 = tuple(mean_figures(values, name, seed)), np.empty((len(ids), 0))
    table = RankTable(nothing_s0, nothing_s0, pictures)
    return TaskResult(title, figures, tuple(ids), ("",) * len(ids), table, left_out, asked=values, overlap=overlap)


def make_run(
    plan: Plan, encoder: Encoder, out: Path, tasks: Iterable[TaskResult], skipped: Sequence[str] = (), *,
    simulated: bool = False,
) -> Run:  # fmt: skip
    """The run that a plan resulted in, here and today; `simulated`: a user may have talked."""
    provenance = describe_provenance(plan, encoder, simulated=simulated)
    return Run(out, provenance, describe_machine(), tuple(tasks), tuple(skipped))


def describe_provenance(plan: Plan, encoder: Encoder, *, simulated: bool = False) -> Provenance:
    """The provenance of a run of this plan. Options are named where they differ from the default."""
    options = {
        CHECKPOINT: plan.checkpoint and weights_label(plan.checkpoint),
        "limit": plan.limit,
        "catalogue": plan.catalogue and plan.catalogue.name,
        "pool": plan.pool and plan.pool.name,
        "captions": None if plan.captions else "no",
        **plan.options,
    }
    user, questioner = (plan.user_name, questioner_label(plan.questioner)) if simulated else ("", "")
    given = {name: str(value) for name, value in options.items() if value is not None}
    return Provenance(plan.system_name, plan.data.resolve().name, encoder.version, user, questioner, plan.seed, given)


def check_options(plan: Plan, known: Sequence[str], protocol: str) -> None:
    """Refuses a plan with options (--manner) that the protocol does not know."""
    for name in plan.options:
        if name not in known:
            raise UnknownName(f"{protocol} has no manner {name!r}; there are: {', '.join(known)}")


@dataclass(frozen=True, eq=False)
class MeasuredRun(Generic[Thing]):
    """A run, each thing behind its figures, and the name of the file in which these are kept.

    `names` are names of fields in the file where they differ; `files` says where pictures are, for a page.
    """

    run: Run
    things: tuple[Thing, ...]
    file: str
    names: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


def write_measured_run(measured: MeasuredRun[Any]) -> Path:
    """Writes a run like any other, and beside it a JSON line for each thing behind it; returns their file."""
    write_run(measured.run)
    file = measured.run.folder / measured.file
    records = (
        {measured.names.get(name, name): value for name, value in asdict(thing).items()} for thing in measured.things
    )
    try:
        write_jsonl(file, records)
    except OSError as error:
        raise _explain_unwritable(file, error.strerror) from error
    return file


# -- runs side by side


@dataclass(frozen=True)
class Difference:
    """One figure of a run beside the first run's: the difference on the dialogues that both have, and its p-value."""

    run: str
    mean: float
    difference: Interval
    p_value: float


@dataclass(frozen=True)
class ComparedFigure:
    """One figure in all runs; `others` follow the order of the runs."""

    title: str
    metric: str
    at: str
    dialogues: int
    first: float
    others: tuple[Difference, ...]


def compare_runs(runs: Sequence[Run]) -> list[ComparedFigure]:
    """Every figure that all runs have, each run against the first on the dialogues they share."""
    if len(runs) < 2:
        raise BadInput("compare needs at least two runs: name their folders")
    rows = [row for task in runs[0].tasks for row in _compare_task(task, runs)]
    if not rows:
        names = ", ".join(str(run.folder) for run in runs)
        raise BadInput(f"{names}: these runs have no figure in common; evaluate the systems on the same data")
    return rows


def _compare_task(task: TaskResult, runs: Sequence[Run]) -> list[ComparedFigure]:
    by_title = [{other.title: other for other in run.tasks} for run in runs[1:]]
    if not all(task.title in titled for titled in by_title):
        return []
    others = [titled[task.title] for titled in by_title]
    known = [frozenset(other.dialogue_ids) for other in others]
    shared = [dialogue for dialogue in task.dialogue_ids if all(dialogue in ids for ids in known)]
    rows = []
    for figure in task.figures:
        metric = figure.name.metric
        if not shared or metric.startswith(("median", "BLEU")):
            continue  # no value per dialogue: medians are compared by the ranks themselves, captions by ROUGE-L
        if metric in task.asked and any(metric not in other.asked for other in others):
            continue  # nothing was asked in the other run
        own_s = _values_of_shared(task, figure, figure.setting, shared)
        others_s = [_values_of_shared(other, figure, "", shared) for other in others]
        known_s = ~np.isnan(own_s)
        if any(np.isnan(own_s + other_s).all() for other_s in (own_s, *others_s)):
            continue  # none of the shared dialogues has this setting, or was asked anything
        compared = []
        for run, other_s in zip(runs[1:], others_s, strict=True):
            both_s = known_s & ~np.isnan(other_s)
            pair = other_s[both_s], own_s[both_s]
            mean, interval, p_value = float(pair[0].mean()), difference_interval(*pair), permutation_test(*pair)
            compared.append(Difference(run.provenance.label, mean, interval, p_value))
        first = float(own_s[known_s].mean())
        rows.append(ComparedFigure(task.title, metric, figure.name.at, int(known_s.sum()), first, tuple(compared)))
    return rows


def _values_of_shared(task: TaskResult, figure: Figure, setting: str, shared: Sequence[str]) -> Float[np.ndarray, " s"]:
    """The values that a figure is the mean of: one for each of these dialogues."""
    row_of = {dialogue: row for row, dialogue in enumerate(task.dialogue_ids)}
    if (asked_s := task.asked.get(figure.name.metric)) is not None:
        values_st = asked_s[:, None]
    else:
        values_st = metric_values(figure.name.metric, task.ranks, cast(Ties, figure.name.ties))
    values_s = values_per_dialogue(values_st, figure.turn, setting, task.settings)
    return values_s[[row_of[dialogue] for dialogue in shared]]
