"""The ids of many pictures, as Arrow keeps them: each becomes a text when it is asked for.

As a tuple of texts they take a hundred bytes a picture of every process, and seconds to make of ten million. Here they
are the bytes of the snapshot's file, which is mapped.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import index
from typing import Any, SupportsIndex, overload

import numpy as np
from jaxtyping import Int, Shaped

AT_ONCE = 65_536
"""Ids that become texts together when all are asked for, one after the other."""


class PackedIds(Sequence[str]):
    """The ids of a column of texts, by row."""

    def __init__(self, column: Any) -> None:
        self._pieces: list[tuple[np.ndarray, memoryview]] = []
        for texts in column.chunks:
            _, ends, content = texts.buffers()
            kind = np.int64 if "large" in str(texts.type) else np.int32
            ends_p = np.frombuffer(ends or b"", kind)[texts.offset : texts.offset + len(texts) + 1]
            if len(texts):
                self._pieces.append((ends_p, memoryview(content or b"")))
        self._first = np.cumsum([0, *(len(ends_p) - 1 for ends_p, _ in self._pieces)]).tolist()

    def __len__(self) -> int:
        return int(self._first[-1])

    @overload
    def __getitem__(self, row: SupportsIndex) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> tuple[str, ...]: ...

    def __getitem__(self, row: SupportsIndex | slice) -> str | tuple[str, ...]:
        if isinstance(row, slice):
            first, end, step = row.indices(len(self))
            return tuple(self._read(first, end)) if step == 1 else tuple(self[at] for at in range(first, end, step))
        asked = index(row)
        at = asked + len(self) if asked < 0 else asked
        if not 0 <= at < len(self):
            raise IndexError(f"row {asked} of {len(self)} pictures")
        piece = bisect_right(self._first, at) - 1
        (ends_p, content), own = self._pieces[piece], at - self._first[piece]
        return str(content[ends_p[own] : ends_p[own + 1]], "utf-8")

    def __iter__(self) -> Iterator[str]:
        return self._read(0, len(self))

    def __eq__(self, other: object) -> bool:
        """Whether these are the same ids in the same order, as those of a tuple or list may be."""
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(one == same for one, same in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3]))
        return f"PackedIds({shown}{', ...' if len(self) > 3 else ''})"

    def __reduce__(self) -> tuple[type[tuple[str, ...]], tuple[list[str]]]:
        return tuple, (list(self),)  # another process has no part of the file that is mapped here

    def take(self, rows_k: Int[np.ndarray, " k"]) -> list[str]:
        """The ids of some rows, in their order; several times as fast as one by one."""
        found, piece_k = [""] * len(rows_k), np.searchsorted(self._first, rows_k, side="right") - 1
        for number in np.unique(piece_k).tolist():
            ends_p, content = self._pieces[number]
            places = np.flatnonzero(piece_k == number)
            own_k = rows_k[places] - self._first[number]
            for place, start, end in zip(
                places.tolist(), ends_p[own_k].tolist(), ends_p[own_k + 1].tolist(), strict=True
            ):
                found[place] = str(content[start:end], "utf-8")
        return found

    def encode(self) -> Shaped[np.ndarray, " n"]:
        """All as an array of bytes. Those of one length, in one piece, are the bytes of the file, and not copied."""
        parts = [_encode_piece(ends_p, content) for ends_p, content in self._pieces]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, "S1"), *parts])

    def _read(self, first: int, end: int) -> Iterator[str]:
        """The ids of these rows, some at a time."""
        for number, (ends_p, content) in enumerate(self._pieces):
            begin = self._first[number]
            for start in range(max(first - begin, 0), min(end - begin, len(ends_p) - 1), AT_ONCE):
                ends = ends_p[start : min(start + AT_ONCE, end - begin, len(ends_p) - 1) + 1].tolist()
                text = bytes(content[ends[0] : ends[-1]])
                for one, other in pairwise(ends):
                    yield str(text[one - ends[0] : other - ends[0]], "utf-8")


def take_ids(ids: Sequence[str], rows_k: Int[np.ndarray, " k"]) -> list[str]:
    """The ids of some rows, in their order."""
    return ids.take(rows_k) if isinstance(ids, PackedIds) else [ids[row] for row in rows_k.tolist()]


def _encode_piece(ends_p: np.ndarray, content: memoryview) -> Shaped[np.ndarray, " p"]:
    """The texts of one piece as an array of bytes."""
    widths_p = np.diff(ends_p)
    width = int(widths_p.max())
    if width > 0 and width == widths_p.min():
        return np.frombuffer(content, f"S{width}", len(widths_p), int(ends_p[0]))
    # Texts stand one after the other, so that their bytes fill the rows of a table, each up to the text's end.
    letters, table_pw = np.frombuffer(content, np.uint8), np.zeros((len(widths_p), max(width, 1)), np.uint8)
    for start in range(0, len(widths_p), AT_ONCE):
        block = slice(start, min(start + AT_ONCE, len(widths_p)))
        is_text_bw = np.arange(table_pw.shape[1]) < widths_p[block, None]
        table_pw[block][is_text_bw] = letters[ends_p[block.start] : ends_p[block.stop]]
    return table_pw.view(f"S{table_pw.shape[1]}")[:, 0]
