"""What is in pictures that nobody has described, in a few words: for alternative texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from viewfinder.errors import BadInput
from viewfinder.server.redaction import to_unicode
from viewfinder.wording.product_columns import squeeze_name

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.store.snapshot import Snapshot

GROUPS = ("people", "animal", "activity", "place")
"""Groups of tags that say what a picture shows; colours and the light say less."""

NAMES = frozenset({"title", "name", "productname", "productdisplayname"})
"""Columns of a catalogue that say what a picture shows."""

MIN_CHANCE = 0.4
"""What is less likely is left unsaid: a wrong word is worse than a file's name."""


def list_seen(library: Library, pictures: Sequence[str]) -> dict[str, list[str]]:
    """What is in each picture: its name in the catalogue, what a machine wrote about it, or what is seen in it.

    Pictures of which nothing is known are left out.
    """
    try:
        gallery = library.gallery()
    except BadInput:  # nothing was added yet
        return {}
    snapshot = gallery.snapshot
    rows = [row for row in snapshot.rows_of(pictures) if row is not None]
    if not rows:
        return {}
    tags = gallery.tags.attributes(snapshot.matrix_nd[np.asarray(rows)], at_least=MIN_CHANCE)
    told = {
        row: _read_written(snapshot, row)
        or [found[group][0] for group in _choose_groups(snapshot, row) if group in found]
        for row, found in zip(rows, tags, strict=True)
    }
    return {snapshot.ids[row]: words for row, words in told.items() if words}


def _choose_groups(snapshot: Snapshot, row: int) -> tuple[str, ...]:
    """What is told of a product is no photograph's: that it rides a bicycle, say."""
    from viewfinder.server.pictures.sold import LABELS, find_product

    return GROUPS if find_product(snapshot, row) is None else tuple(sorted(LABELS))


def _read_written(snapshot: Snapshot, row: int) -> list[str]:
    """What the catalogue, or else a machine, says that a picture shows; [] if neither does."""
    named = [values[0] for name, values in snapshot.attributes(row).items() if squeeze_name(name) in NAMES and values]
    described = [fact.values[0] for fact in snapshot.known(row) if fact.name == "caption" and fact.values]
    return [to_unicode(text) for text in (*named, *described)][:1]
