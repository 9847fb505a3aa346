"""What the page shows of a picture besides the picture: name, size, caption. Fifty of them go into every turn."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from viewfinder.gallery import Match
from viewfinder.server.discreet import readable
from viewfinder.server.schemas.sessions import Card, Hit
from viewfinder.stores import Snapshot


def hit(snapshot: Snapshot, rank: int, row: int, score: float, match: Match, why: dict[str, Any] | None = None) -> Hit:
    """The picture of a row as a result."""
    return Hit(**_known(snapshot, row), rank=rank, score=score, match=match, why=why)


def card(snapshot: Snapshot, row: int) -> Card:
    """The picture of a row, where nothing was asked for."""
    return Card(**_known(snapshot, row))


def _known(snapshot: Snapshot, row: int) -> dict[str, Any]:
    """Of its files only the last name of the first goes out."""
    width, height = snapshot.size(row)
    caption = next(iter(snapshot.captions(row)), None)
    return {
        "id": snapshot.ids[row],
        "name": readable(PurePath(snapshot.paths(row)[0]).name),
        "caption": None if caption is None else readable(caption),
        "width": width,
        "height": height,
    }
