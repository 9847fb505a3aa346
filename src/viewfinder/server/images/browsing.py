"""Looking around: pictures that nobody asked for, a page at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from viewfinder.server.live_library import current_gallery
from viewfinder.server.problems import Problem
from viewfinder.server.schemas.pictures import Browsed, BrowseIn
from viewfinder.server.talks import cards

if TYPE_CHECKING:
    from viewfinder.library import Library


def browse_pictures(library: Library, given: BrowseIn) -> Browsed:
    """Pictures that meet the filters, by id: ids are hashes of the content, so neighbours have nothing in common.

    Raises:
        UnknownName: no such column or value.
    """
    try:
        snapshot = current_gallery(library).snapshot
    except Problem:  # there are none yet: nothing to look at is no failure of who looks around
        return Browsed(pictures=[], total=0, next=None)
    rows = np.flatnonzero(snapshot.where(given.where))
    start = int(given.cursor or 0)
    shown = rows[start : start + given.n].tolist()
    return Browsed(
        pictures=[cards.make_card(snapshot, row) for row in shown],
        total=len(rows),
        next=str(start + given.n) if start + given.n < len(rows) else None,
    )
