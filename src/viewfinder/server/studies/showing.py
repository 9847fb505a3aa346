"""A trial as its participant sees it: nothing of it tells the retriever, a file, a score or where the target stands."""

from __future__ import annotations

from viewfinder.index import Snapshot
from viewfinder.server.database import TrialRow
from viewfinder.server.schemas.studies import Asked, SeenPicture, StudyPlan, Trial
from viewfinder.server.studies.rules import TrialProgress


def show_trial(plan: StudyPlan, row: TrialRow, course: TrialProgress, snapshot: Snapshot, now: float) -> Trial:
    """The trial at the moment `now`."""
    left = seconds_left(plan, row, course, now)
    in_view = row.started is not None and (plan.target == "shown" or left is not None)
    asked = course.question if course.rounds < plan.rounds else None
    return Trial(
        id=row.id,
        number=row.number,
        task=plan.task,
        started=row.started is not None,
        target=next(iter(_pictures((row.target,), snapshot)), None) if in_view else None,
        seconds_left=left,
        rounds_left=plan.rounds - course.rounds,
        said=course.said(),
        results=None if course.results is None else _pictures(course.results, snapshot),
        question=None if asked is None else Asked(text=asked.text, choices=list(asked.choices)),
    )


def seconds_left(plan: StudyPlan, row: TrialRow, course: TrialProgress, now: float) -> float | None:
    """For how long a picture to remember is still in view; None: it is not, or need not be remembered.

    The first turn ends the time to look: what comes after is from memory.
    """
    if plan.target == "shown" or row.started is None or course.rounds:
        return None
    left = row.started + plan.seconds - now
    return left if left > 0 else None


def _pictures(ids: tuple[str, ...], snapshot: Snapshot) -> list[SeenPicture]:
    """These pictures; what has left the library meanwhile is left out."""
    rows = ((picture, snapshot.row_of(picture)) for picture in ids)
    facts = ((picture, snapshot.facts(row)) for picture, row in rows if row is not None)
    return [SeenPicture(id=picture, width=known["width"], height=known["height"]) for picture, known in facts]
