"""Arrays on disk that grow by rows and that states of a library share: written rows are never overwritten.

    NAME.rows    the numbers, row after row
    NAME.json    their kind and width, and of every piece that was written its rows and the CRC-32 of its bytes; sealed

A later state hard-links the file, appends its own rows and writes a list of its own; a process that mapped the
earlier one still sees the rows of the earlier list.
"""

from __future__ import annotations

import itertools
import json
import mmap
import os
import shutil
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
from jaxtyping import Shaped

from viewfinder.store.checked_files import NOTED_FROM, copy_note, note_checked, was_checked
from viewfinder.store.checksums import checksum_file, map_sealed, release, seal
from viewfinder.whole_files import replace_file, write_file

RESERVED_AT_ONCE = 1 << 20
"""Bytes that are written at once to reserve a file, where the system cannot do so by itself."""

ArrayRows = Shaped[np.ndarray, "n *row"]

_verified: set[tuple[int, int, int, int]] = set()
"""Pieces that this process has checked: file, its time of change, where the piece begins, checksum."""


def save_rows(stem: Path, rows: ArrayRows) -> None:
    """Writes an array, in place of one that others may have mapped or linked. Raises OSError."""
    with replace_file(find_rows_file(stem)) as file, file.open("wb") as stream:
        piece = _write_piece(stream, rows)
    _write_list(stem, {"dtype": rows.dtype.str, "row": list(rows.shape[1:]), "pieces": [piece]})


def fill_rows(stem: Path, shape: tuple[int, ...], dtype: Any, fill: Callable[[ArrayRows], None]) -> None:
    """Writes an array that `fill` fills where it is mapped, in any order: it need not fit into memory.

    Raises OSError, and what `fill` raises.
    """
    with replace_file(find_rows_file(stem)) as file:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        with file.open("wb") as stream:
            _reserve(stream, size)
        if size:
            mapped = np.memmap(file, dtype, "r+", shape=shape)
            fill(mapped.view(np.ndarray))
            mapped.flush()
        piece = [shape[0], size, checksum_file(file)]
    _note_pieces(find_rows_file(stem), [piece])
    _write_list(stem, {"dtype": np.dtype(dtype).str, "row": list(shape[1:]), "pieces": [piece]})


def _reserve(stream: IO[bytes], size: int) -> None:
    """Makes an empty file so long, on the disk: where it is full, a write to what is mapped would kill the process."""
    if size and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(stream.fileno(), 0, size)
        return
    for start in range(0, size, RESERVED_AT_ONCE):
        stream.write(bytes(min(RESERVED_AT_ONCE, size - start)))


def link_rows(before: Path, stem: Path) -> None:
    """Makes an array that starts as another one, by a link or, where that is impossible, a copy. Raises OSError."""
    try:
        os.link(find_rows_file(before), find_rows_file(stem))
    except OSError:
        shutil.copyfile(find_rows_file(before), find_rows_file(stem))
    copy_note(find_rows_file(before), find_rows_file(stem))
    shutil.copyfile(_list_file(before), _list_file(stem))


def extend_rows(stem: Path, rows: ArrayRows) -> None:
    """Appends rows to an array; only one caller may do so. Raises OSError; ValueError: damaged, other rows."""
    known = _read_list(stem)
    if known["dtype"] != rows.dtype.str or known["row"] != list(rows.shape[1:]):
        raise ValueError(
            f"{find_rows_file(stem)}: rows of {known['dtype']} {known['row']}, not {rows.dtype} {rows.shape}"
        )
    end = sum(size for _, size, _ in known["pieces"])
    if find_rows_file(stem).stat().st_size != end:  # another state appended rows: the file is now its own
        _copy_beginning(find_rows_file(stem), end)
    before = _list_marks(find_rows_file(stem), known["pieces"])
    was_noted = was_checked(find_rows_file(stem), _list_checksums(known["pieces"]), lambda: True)
    with find_rows_file(stem).open("ab") as stream:
        known["pieces"].append(_write_piece(stream, rows))
    # What was checked before is what it was, though the file was changed since: not all of it is read again.
    after = _list_marks(find_rows_file(stem), known["pieces"])
    _verified.update(now for was, now in zip(before, after, strict=False) if was in _verified)
    if was_noted:
        _note_pieces(find_rows_file(stem), known["pieces"])
    _write_list(stem, known)


def map_rows(stem: Path) -> ArrayRows:
    """The array, mapped. Raises OSError; ValueError: a file was changed since, or cut short."""
    known = _read_list(stem)
    count = sum(rows for rows, _, _ in known["pieces"])
    shape, dtype = (count, *known["row"]), np.dtype(known["dtype"])
    if not count or not all(known["row"]):
        return np.zeros(shape, dtype)
    if find_rows_file(stem).stat().st_size < sum(size for _, size, _ in known["pieces"]):
        raise ValueError(f"{find_rows_file(stem)}: cut short")
    mapped = np.memmap(find_rows_file(stem), dtype, "r", shape=shape)
    if _verify_pieces(find_rows_file(stem), known["pieces"]) and isinstance(mapped.base, mmap.mmap):
        release(mapped.base)
    return np.asarray(mapped.view(np.ndarray))


def release_rows(rows: np.ndarray) -> None:
    """Gives back the memory of a large mapped array; it is read again where it is needed. Others are left alone."""
    base: Any = rows
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap):
        release(base)


def count_rows(stem: Path) -> list[int]:
    """The number of rows of each piece. Raises OSError, ValueError."""
    return [rows for rows, _, _ in _read_list(stem)["pieces"]]


def read_type(stem: Path) -> np.dtype[Any]:
    """The type of an array's numbers. Raises OSError, ValueError."""
    kind: np.dtype[Any] = np.dtype(_read_list(stem)["dtype"])
    return kind


def _verify_pieces(file: Path, pieces: list[list[int]]) -> bool:
    """Compares the checksums of pieces that were not compared before; returns whether there were any.

    Where another process has compared them all, that is done later (`checked_files`).
    """
    marks = _list_marks(file, pieces)
    unknown = [number for number, mark in enumerate(marks) if mark not in _verified]

    def are_whole(numbers: Iterable[int] = range(len(pieces))) -> bool:
        for number in numbers:
            _, size, checksum = pieces[number]
            if checksum_file(file, size, marks[number][2]) != checksum:
                return False
            _verified.add(marks[number])
        return True

    if not unknown or was_checked(file, _list_checksums(pieces), are_whole):
        return False
    if not are_whole(unknown):
        raise ValueError(f"{file}: damaged")
    _note_pieces(file, pieces)
    return True


def _note_pieces(file: Path, pieces: list[list[int]]) -> None:
    """Notes that pieces are as they were written, if they are all of a large file."""
    size = sum(size for _, size, _ in pieces)
    if size >= NOTED_FROM and file.stat().st_size == size:
        note_checked(file, _list_checksums(pieces))


def _list_checksums(pieces: list[list[int]]) -> list[int]:
    return [number for _, size, checksum in pieces for number in (size, checksum)]


def _list_marks(file: Path, pieces: list[list[int]]) -> list[tuple[int, int, int, int]]:
    """What pieces are remembered by once they were checked."""
    status, begins = file.stat(), [0, *itertools.accumulate(size for _, size, _ in pieces)]
    checksums = (checksum for _, _, checksum in pieces)
    return [(status.st_ino, status.st_mtime_ns, *mark) for mark in zip(begins, checksums, strict=False)]


def _write_piece(stream: Any, rows: ArrayRows) -> list[int]:
    content = np.ascontiguousarray(rows).data.cast("B") if rows.size else memoryview(b"")
    stream.write(content)
    return [len(rows), len(content), zlib.crc32(content)]


def _copy_beginning(file: Path, end: int) -> None:
    """A separate file with the first bytes of one that others share."""
    with file.open("rb") as source, replace_file(file) as beside, beside.open("wb") as copy:
        left = end
        while piece := source.read(min(left, 1 << 22)):
            copy.write(piece)
            left -= len(piece)
        if left:
            raise ValueError(f"{file}: cut short")


def _read_list(stem: Path) -> dict[str, Any]:
    return dict(json.loads(bytes(map_sealed(_list_file(stem)))))


def _write_list(stem: Path, known: dict[str, Any]) -> None:
    write_file(_list_file(stem), seal(json.dumps(known).encode()))


def find_rows_file(stem: Path) -> Path:
    """The file in which the rows of an array lie, one after the other."""
    return stem.with_name(f"{stem.name}.rows")


def _list_file(stem: Path) -> Path:
    return stem.with_name(f"{stem.name}.json")
