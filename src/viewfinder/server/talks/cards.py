"""What the page shows of a picture besides the picture: name, size, caption. Fifty of them go into every turn."""

from __future__ import annotations

import os
from typing import Any

from viewfinder.index import Snapshot, results
from viewfinder.server.discreet import to_unicode
from viewfinder.server.schemas.sessions import Card, Hit


def make_hit(snapshot: Snapshot, found: results.Hit, why: dict[str, Any] | None = None) -> Hit:
    """A result, as it goes out."""
    known = _known(snapshot, snapshot.row_of(found.id), found.path)
    return Hit(**known, rank=found.rank, score=found.score, match=found.match, why=why)


def make_card(snapshot: Snapshot, row: int) -> Card:
    """The picture of a row, where nothing was asked for."""
    return Card(**_known(snapshot, row, snapshot.paths(row)[0]))


def _known(snapshot: Snapshot, row: int | None, path: str) -> dict[str, Any]:
    """Of its file only the last name goes out."""
    assert row is not None, "a result is of the snapshot that it was found in"
    width, height = snapshot.size(row)
    caption = next(iter(snapshot.captions(row)), None)
    return {
        "id": snapshot.ids[row],
        "name": to_unicode(os.path.basename(path)),  # noqa: PTH119 (pathlib takes ten times as long)
        "caption": None if caption is None else to_unicode(caption),
        "width": width,
        "height": height,
    }
