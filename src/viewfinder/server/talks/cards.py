"""What the page shows of a picture besides the picture: name, size, caption. Fast: fifty of them go into every turn."""

from __future__ import annotations

import threading
from pathlib import PurePath
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from viewfinder.gallery import Match
from viewfinder.server.discreet import readable
from viewfinder.server.schemas.sessions import Card, Hit
from viewfinder.stores import Snapshot
from viewfinder.stores.rows import unpack_text


class Cards:
    """Cards of one snapshot, read from its Arrow columns without making rows of them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._ids = snapshot.ids
        self._width_n, self._height_n = (snapshot.table[name].to_numpy() for name in ("width", "height"))
        self._files, files = _lists(snapshot.table["files"])
        self._paths = files.field("path")
        self._captions, self._caption_texts = _lists(snapshot.table["captions"])

    def hit(self, rank: int, row: int, score: float, match: Match, why: dict[str, Any] | None = None) -> Hit:
        """The picture of a row as a result; of its files only the last name of the first goes out."""
        return Hit(**self._known(row), rank=rank, score=score, match=match, why=why)

    def picture(self, row: int) -> Card:
        """The picture of a row, as it is shown where nothing was asked for."""
        return Card(**self._known(row))

    def _known(self, row: int) -> dict[str, Any]:
        name = _first(self._files, self._paths, row)
        return {
            "id": self._ids[row],
            "name": PurePath(name or "").name,
            "caption": _first(self._captions, self._caption_texts, row),
            "width": int(self._width_n[row]),
            "height": int(self._height_n[row]),
        }


_LOCK = threading.Lock()
_CARDS: WeakKeyDictionary[Snapshot, Cards] = WeakKeyDictionary()


def cards_of(snapshot: Snapshot) -> Cards:
    """The cards of a snapshot, made once."""
    with _LOCK:
        if snapshot not in _CARDS:
            _CARDS[snapshot] = Cards(snapshot)
        return _CARDS[snapshot]


def _lists(column: Any) -> tuple[np.ndarray, Any]:
    """A column of lists as offsets and one long array."""
    lists = column.combine_chunks()
    lists = lists.chunk(0) if hasattr(lists, "num_chunks") else lists
    return lists.offsets.to_numpy(), lists.values


def _first(offsets: np.ndarray, texts: Any, row: int) -> str | None:
    """The first text of a row's list; bytes that are not unicode become question marks."""
    start, end = offsets[row], offsets[row + 1]
    if start == end:
        return None
    return readable(unpack_text(texts[int(start)].as_py()))
