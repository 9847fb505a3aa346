"""Results of what is not a search: one value a talk (or a picture) and figure, and no ranks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from jaxtyping import Float

from viewfinder.data.files import write_jsonl
from viewfinder.encoders import Encoder
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation.asked import questioner_label
from viewfinder.evaluation.figures import Figure
from viewfinder.evaluation.plan import Plan
from viewfinder.evaluation.replay import RankTable
from viewfinder.evaluation.results import CHECKPOINT, Provenance, Run, TaskResult, write_run
from viewfinder.evaluation.systems import weights_label
from viewfinder.metrics import Measure, MeasureName, bootstrap_interval

Thing = TypeVar("Thing")


def result_of_values(
    title: str,
    values: Mapping[str, Float[np.ndarray, " s"]],
    ids: Sequence[str],
    *,
    of: str,
    split: str,
    pictures: int,
    at: str,
    seed: int = 0,
    left_out: tuple[str, ...] = (),
) -> TaskResult:
    """A task whose figures are means of values, a value for each id; NaN: it has none.

    `of` says what they were measured on ("test, 10,000 questions"), `at` what one value is of ("one picture").
    """
    figures = []
    for metric, values_s in values.items():
        known_s = values_s[~np.isnan(values_s)]
        if known_s.size:
            name = MeasureName(metric=metric, at=at, gallery=of, split=split, caption="none", ties="none")
            figures.append(Figure(Measure(name, bootstrap_interval(known_s, seed=seed), len(known_s)), None))
    nothing_s0 = np.empty((len(ids), 0))
    return TaskResult(
        title=title,
        figures=tuple(figures),
        talk_ids=tuple(ids),
        settings=("",) * len(ids),
        ranks=RankTable(nothing_s0, nothing_s0, pictures),
        left_out=left_out,
        asked=values,
    )


def provenance_of(plan: Plan, encoder: Encoder, *, simulated: bool = False) -> Provenance:
    """What a run says of its plan; `simulated`: a user may talk. Options are named where they are not as usual."""
    options = {
        CHECKPOINT: plan.checkpoint and weights_label(plan.checkpoint),
        "limit": plan.limit,
        "catalogue": plan.catalogue and plan.catalogue.name,
        "pool": plan.pool and plan.pool.name,
        "captions": None if plan.captions else "no",
        **plan.manners,
    }
    return Provenance(
        system=plan.system,
        data=plan.data.resolve().name,
        encoder=encoder.version,
        user=(plan.user or "") if simulated else "",
        questioner=questioner_label(plan.questioner or "") if simulated else "",
        seed=plan.seed,
        options={name: str(value) for name, value in options.items() if value is not None},
    )


def check_options(plan: Plan, known: Iterable[str], protocol: str) -> None:
    """Raises:
    UnknownName: the plan has a manner that the protocol does not know.
    """
    names = tuple(known)
    for name in plan.manners:
        if name not in names:
            raise UnknownName(f"{protocol} has no manner {name!r}; there are: {', '.join(names)}")


def pick_evenly(things: Sequence[Thing], limit: int | None) -> list[Thing]:
    """So many of them at most, taken evenly."""
    if limit is None or limit >= len(things):
        return list(things)
    return [things[at] for at in np.linspace(0, len(things) - 1, limit).round().astype(int)]


@dataclass(frozen=True, eq=False)
class MeasuredRun(Generic[Thing]):
    """A run, each thing behind its figures, and the name of the file in which these are kept."""

    run: Run
    things: tuple[Thing, ...]
    file: str


def write_measured_run(measured: MeasuredRun[Any]) -> Path:
    """Writes a run as others are, and beside it a JSON line for each thing behind it; gives their file.

    Raises:
        BadInput: the folder cannot be written.
    """
    write_run(measured.run)
    return write_details(measured.run.folder / measured.file, map(asdict, measured.things))


def write_details(file: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    """Writes what is behind the figures of a run, a JSON line each.

    Raises:
        BadInput: the folder cannot be written.
    """
    try:
        write_jsonl(file, records)
    except OSError as error:
        raise BadInput(f"{file}: cannot be written ({error.strerror}); choose another --out") from error
    return file
