"""Pictures that meet conditions, where nothing is looked for: by the day they were taken, the newest first."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from viewfinder.search.hits import Hit, PicturePath
from viewfinder.store.snapshot import Snapshot


def order_by_date(snapshot: Snapshot, where: Mapping[str, str]) -> list[int]:
    """The rows of pictures that meet all conditions, the newest first; those without a date last, by id.

    Raises UnknownName: no such column, or nothing meets a condition.
    """
    rows_n = snapshot.rows_by_date
    rows: list[int] = rows_n[snapshot.where(where)[rows_n]].tolist()
    return rows


def list_hits(snapshot: Snapshot, rows: Sequence[int], start: int = 0) -> list[Hit]:
    """Rows as results that count on from `start`; nothing was compared, so all match, and the reason is the date."""
    found = zip(rows, snapshot.paths_of(rows), snapshot.moments(rows), strict=True)
    return [
        Hit(
            start + at,
            snapshot.ids[row],
            PicturePath(next((path for path in paths if os.path.exists(path)), paths[0])),  # noqa: PTH110
            score=0.0,
            match="likely",
            why={"captured": moment or None},
        )
        for at, (row, paths, moment) in enumerate(found, start=1)
    ]
