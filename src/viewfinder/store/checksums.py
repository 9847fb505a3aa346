"""Checksums of a library's files, checked when a file is first read: damage on disk is reported, not searched.

What we write ourselves is sealed: its last bytes are a mark and the CRC-32 of all before them, which numpy and Arrow
ignore. Lance's files are written once under names of their own, and never changed; those of a table are listed in

    <table>.lance/_checksums    one line per file: its CRC-32, its size, its path, and the CRC-32 of the line

A file that is not listed (written by an earlier viewfinder, or by one that was killed) is accepted as it is and listed
by the next write. Checking runs at two GB a second on one core, so large files that were compared are noted in

    <table>.lance/_checked      one line per file: inode, size, time of change, CRC-32, path, and the CRC-32 of the line

and the next process takes them as they are, and reads them in the background (`checked_files`).
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from viewfinder.store.checked_files import NOTED_FROM, Mark, mark_status, note_checked, read_later, was_checked
from viewfinder.whole_files import write_file

SEAL = b"\nvf1:"
"""Precedes the checksum of a sealed file."""

SEAL_BYTES = len(SEAL) + 4
LARGE = 64 << 20
"""Files of at least this many bytes give back their memory once they are checked."""

CHECKSUM_LIST = "_checksums"
CHECKED_LIST = "_checked"
LANCE_FOLDERS = ("_versions", "data", "_deletions", "_indices", "_transactions")
"""Folders of a table in which Lance writes each file once; hints, which it replaces, have that word in their names."""

_verified: dict[Path, tuple[Mark, int]] = {}
_trusted: dict[Path, tuple[Mark, int]] = {}
"""Files of tables, as they were and with their checksums: what this process compared, and what another one did."""

_doubted: set[Path] = set()
"""Files of tables that were noted, and are not as they were written."""


def seal_file(file: Path) -> None:
    """Appends the checksum to a complete file."""
    checksum = checksum_file(file)
    with file.open("ab") as stream:
        stream.write(SEAL + checksum.to_bytes(4, "big"))
    note_checked(file, [checksum])


def seal(content: bytes) -> bytes:
    """The content of a sealed file."""
    return content + SEAL + zlib.crc32(content).to_bytes(4, "big")


def map_sealed(file: Path) -> memoryview:
    """The content of a sealed file, mapped. Raises OSError; ValueError: it is not sealed, or was changed since.

    A large one is read later if it was checked before (`checked_files`).
    """
    with file.open("rb") as stream:
        if os.fstat(stream.fileno()).st_size <= SEAL_BYTES:
            raise ValueError(f"{file}: cut short")
        mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    whole = memoryview(mapped)
    content, mark = whole[:-SEAL_BYTES], bytes(whole[-SEAL_BYTES:])
    checksum = int.from_bytes(mark[len(SEAL) :], "big")
    if mark[: len(SEAL)] != SEAL:
        raise ValueError(f"{file}: damaged")

    def is_whole() -> bool:
        return checksum_file(file, len(content)) == checksum

    if was_checked(file, [checksum], is_whole):
        return content
    if zlib.crc32(content) != checksum:
        raise ValueError(f"{file}: damaged")
    release(mapped)
    if len(whole) >= NOTED_FROM:
        note_checked(file, [checksum])
    return content


def release(mapped: mmap.mmap) -> None:
    """All of a large file was read once, to compare its checksum: it need not stay in this process's memory."""
    if len(mapped) > LARGE and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def checksum_file(file: Path, size: int | None = None, start: int = 0) -> int:
    """The CRC-32 of a file from `start` on, or of so many bytes of it."""
    found, left = 0, size
    with file.open("rb") as stream:
        stream.seek(start)
        while piece := stream.read(1 << 20 if left is None else min(left, 1 << 20)):
            found = zlib.crc32(piece, found)
            left = None if left is None else left - len(piece)
    return found


def record_checksums(table: Path) -> None:
    """Lists the files of a table's folder that are not listed yet; the caller holds it for writing."""
    listed = _read_list(table)[0]
    if new := sorted(_list_files(table) - listed.keys()):
        found = {path: (mark_status((table / path).stat()), checksum_file(table / path)) for path in new}
        lines = [_format_line(path, checksum, mark[1]) for path, (mark, checksum) in found.items()]
        with (table / CHECKSUM_LIST).open("ab") as stream:
            stream.write("".join(lines).encode())
        _note_compared(table, found)


def forget_checksums(table: Path, paths: Iterable[str] = ()) -> None:
    """Removes these files, and those that no longer exist, from the list of a table."""
    listed, left = _read_list(table)[0], _list_files(table).difference(paths)
    lines = [_format_line(path, *listed[path]) for path in sorted(listed.keys() & left)]
    write_file(table / CHECKSUM_LIST, "".join(lines))
    if (table / CHECKED_LIST).exists():
        _keep_notes(table, left)


def list_versions(table: Path) -> list[str]:
    """Names of a table's manifests, as they are listed: also of those that are gone, unless they were cleared away."""
    return [path.rpartition("/")[2] for path in _read_list(table)[0] if path.startswith("_versions/")]


def find_damage(table: Path, *, everything: bool = False) -> list[str]:
    """The files of a table, by their paths in it, that are not as they were written; a missing newest version is one.

    Checks only what reading the newest version may need, and believes what is noted of large files, unless `everything`
    is asked for. A file is checked once, and again when its size or time of change differs.
    """
    listed, bad_lines = _read_list(table)
    versions = sorted(path for path in listed if path.startswith("_versions/"))  # Lance's names: the newest first
    there = sorted(path for path in _list_files(table, ("_versions",)))
    newest = there[:1]
    damaged = [versions[0]] if versions and (not there or versions[0] < there[0]) else []
    if everything:
        damaged += [CHECKSUM_LIST] if bad_lines else []
    noted: dict[str, tuple[Mark, int]] | None = {} if everything else None
    compared: dict[str, tuple[Mark, int]] = {}
    for path, (checksum, size) in listed.items():
        if not everything and path.startswith(("_versions/", "_transactions/")) and path not in newest:
            continue
        file = table / path
        try:
            found = mark_status(file.stat()), checksum
            if _verified.get(file) == found or (not everything and _trusted.get(file) == found):
                continue
            noted = _read_notes(table) if noted is None else noted
            if found[0][1] == size and noted.get(path) == found and file not in _doubted:
                _trusted[file] = found
                read_later(file, found[0], [checksum], partial(_is_whole, table, path, found))
            elif found[0][1] != size or checksum_file(file) != checksum:
                damaged.append(path)
            else:
                _verified[file] = compared[path] = found
        except FileNotFoundError:  # it belongs to a version that was cleared away; if not, Lance reports it missing
            continue
    _note_compared(table, compared)
    return damaged


def _is_whole(table: Path, path: str, found: tuple[Mark, int]) -> bool:
    """Compares a file that was believed to be whole; if it is not, nobody believes it any more."""
    if checksum_file(table / path) == found[1]:
        _verified[table / path] = found
        return True
    _trusted.pop(table / path, None)
    _doubted.add(table / path)
    with suppress(OSError):  # a folder that cannot be written to: this process knows
        _keep_notes(table, _read_notes(table).keys() - {path})
    return False


def _note_compared(table: Path, found: Mapping[str, tuple[Mark, int]]) -> None:
    """Notes the large ones of these files of a table."""
    lines = [_format_note(path, *one) for path, one in found.items() if one[0][1] >= NOTED_FROM]
    if lines:
        with suppress(OSError):  # a folder that cannot be written to: they are read each time
            with (table / CHECKED_LIST).open("ab") as stream:
                stream.write("".join(lines).encode())
            (table / CHECKED_LIST).chmod((table / CHECKSUM_LIST).stat().st_mode & 0o777)  # whoever may read these


def _keep_notes(table: Path, paths: Iterable[str]) -> None:
    noted = _read_notes(table)
    write_file(table / CHECKED_LIST, "".join(_format_note(path, *noted[path]) for path in sorted(noted.keys() & paths)))


def _read_notes(table: Path) -> dict[str, tuple[Mark, int]]:
    noted = {}
    with suppress(OSError):  # not to be read: nothing is noted
        for said in _read_lines(table / CHECKED_LIST)[0]:
            inode, size, changed, checksum, path = said.split(" ", 4)
            noted[path] = (int(inode), int(size), int(changed)), int(checksum, 16)
    return noted


def _format_note(path: str, mark: Mark, checksum: int) -> str:
    return _close_line(f"{mark[0]} {mark[1]} {mark[2]} {checksum:08x} {path}")


def _format_line(path: str, checksum: int, size: int) -> str:
    return _close_line(f"{checksum:08x} {size} {path}")


def _close_line(said: str) -> str:
    return f"{said} {zlib.crc32(said.encode()):08x}\n"


def _read_list(table: Path) -> tuple[dict[str, tuple[int, int]], int]:
    """Checksum and size by path, and how many lines are invalid (the last may have been cut short)."""
    lines, bad = _read_lines(table / CHECKSUM_LIST)
    listed = {}
    for said in lines:
        checksum, size, path = said.split(" ", 2)
        listed[path] = int(checksum, 16), int(size)
    return listed, bad


def _read_lines(file: Path) -> tuple[list[str], int]:
    """The lines of a list, and how many are invalid; none if there is no such file."""
    try:
        lines = file.read_bytes().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return [], 0
    parts = [line.rpartition(" ") for line in lines]
    whole = [said for said, _, mark in parts if mark == f"{zlib.crc32(said.encode()):08x}"]
    return whole, len(lines) - len(whole)


def _list_files(table: Path, folders: tuple[str, ...] = LANCE_FOLDERS) -> set[str]:
    """Paths of Lance's files, except those that it replaces."""
    found = (path for folder in folders for path in _walk_files(table, folder))
    return {path for path in found if not path.endswith(("_hint.json", ".tmp"))}


def _walk_files(table: Path, folder: str) -> Iterator[str]:
    try:
        entries = list(os.scandir(table / folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        if entry.is_dir():
            yield from _walk_files(table, f"{folder}/{entry.name}")
        elif not entry.name.startswith("."):
            yield f"{folder}/{entry.name}"
