"""Pictures as a ZIP, piece by piece: at no time is more of it in memory than a piece and the list of its members.

Nothing is compressed, as pictures are already. Where the files are certain (there, and as they were when they were
added), the size of the archive is known before it is made. Where they have to be fetched or looked into first, it is
not; then each is looked into just before it is sent. What is missing is told in a text at the end.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING
from unicodedata import normalize

from viewfinder.errors import ViewfinderError
from viewfinder.server.pictures.library import find_original, hash_file
from viewfinder.server.problems import Problem
from viewfinder.server.redaction import hide_paths, to_unicode
from viewfinder.store.objects import parse_url
from viewfinder.store.places import find_bucket

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.store.rows import PictureRow
    from viewfinder.store.snapshot import Snapshot

LEFT_OUT = "NOT IN THIS ARCHIVE.txt"

BATCH = 200
"""Pictures whose facts are read at a time."""

MAX_LOOKED_BYTES = 256 << 20
"""Bytes of files with another time than when they were added that are read before an archive is begun."""

MAX_NAME_BYTES = 200
"""Bytes of a member's name; most file systems take 255."""

_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]')
_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Characters without a shape of their own: some turn "gpj.exe" into what looks like a picture."""
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
"""What Windows takes for devices, whatever stands after the dot."""


def make_safe(name: str) -> str:
    """A name that every system takes, and nothing takes for a path.

    >>> make_safe("../../etc/passwd"), make_safe("CON.jpg"), make_safe(" .. "), make_safe("a:b.jpg. ")
    ('.._.._etc_passwd', '_CON.jpg', 'picture', 'a_b.jpg')
    """
    plain = _UNSAFE.sub("_", _HIDDEN.sub("", normalize("NFC", to_unicode(name)))).strip().rstrip(" .") or "picture"
    plain = f"_{plain}" if _DEVICES.fullmatch(plain) else plain
    if len(plain.encode()) <= MAX_NAME_BYTES:
        return plain
    stem, dot, ending = plain.rpartition(".")
    ending = dot + ending if stem and len(ending) < 10 else ""
    room = MAX_NAME_BYTES - len(ending.encode())
    return plain.encode()[:room].decode(errors="ignore").rstrip(" .") + ending


class Names:
    """Gives out names, each once, whatever the capitals: unpacked, no member takes the place of another."""

    def __init__(self) -> None:
        self._taken = {LEFT_OUT.casefold()}
        self._next: dict[str, int] = {}

    def take(self, name: str) -> str:
        """The name, made safe, with a number if it was given out before."""
        safe = make_safe(name)
        place = PurePath(safe)
        found, key = safe, safe.casefold()
        while found.casefold() in self._taken:
            self._next[key] = number = self._next.get(key, 1) + 1
            found = f"{place.stem} ({number}){place.suffix}"
        self._taken.add(found.casefold())
        return found


def read_records(snapshot: Snapshot | None, pictures: Sequence[str]) -> Iterator[PictureRow | None]:
    """What the library knows of pictures, a few at a time; None for one that it does not have."""
    for start in range(0, len(pictures), BATCH):
        rows = (
            [None] * len(pictures[start : start + BATCH])
            if snapshot is None
            else snapshot.rows_of(pictures[start : start + BATCH])
        )
        there = [row for row in rows if row is not None]
        records = iter(snapshot.records(there) if snapshot is not None and there else ())
        yield from (None if row is None else next(records) for row in rows)


def name_picture(record: PictureRow | None) -> str:
    """The last name of a picture's first file."""
    return "picture" if record is None or not record.files else PurePath(record.files[0].path).name


@dataclass(frozen=True)
class Member:
    """A picture of an archive, and its file; None: it has yet to be found."""

    picture: str
    name: str
    path: str | None


@dataclass(frozen=True)
class Lost:
    """A picture that cannot be in the archive, and why."""

    name: str
    why: str


NOT_THERE = "no file of it is there any more"


def plan_archive(library: Library, snapshot: Snapshot | None, pictures: Sequence[str]) -> list[Member | Lost]:
    """What an archive of these pictures would hold, by what the library knows and the files look like from outside."""
    names, fetches = Names(), find_bucket(library.folder) is not None
    looked_at, plan = MAX_LOOKED_BYTES, list[Member | Lost]()
    for picture, record in zip(pictures, read_records(snapshot, pictures), strict=True):
        if record is None:
            plan.append(Lost(picture, "it is not in the library any more"))
            continue
        name, found, maybe = names.take(name_picture(record)), None, fetches
        for file in record.files:
            try:
                status = Path(file.path).stat()
            except (OSError, ValueError):
                maybe = maybe or parse_url(file.path) is not None
                continue
            maybe = True
            is_same = (status.st_size, status.st_mtime_ns) == (file.size, file.mtime_ns)
            if not is_same and status.st_size == file.size and status.st_size <= looked_at:  # copied, or touched
                looked_at -= status.st_size
                is_same = _is_content(Path(file.path), picture, status)
            if is_same:
                found = file.path
                break
        plan.append(Member(picture, name, found) if maybe else Lost(name, NOT_THERE))
    return plan


def _is_content(path: Path, picture: str, status: os.stat_result) -> bool:
    """Whether a file is the very one that was added, whatever its time says."""
    try:
        return hash_file(path, status.st_size, status.st_mtime_ns, status.st_ino) == picture
    except OSError:
        return False


def stream_archive(library: Library, plan: Sequence[Member | Lost]) -> tuple[Iterator[bytes], int | None]:
    """The archive in pieces, and its size in bytes; None where that is known only at the end."""
    from zipstream import ZipStream

    if any(isinstance(member, Member) and member.path is None for member in plan):
        return _look_and_stream(library, plan), None
    archive, lost = ZipStream(sized=True), []
    for member in plan:
        if isinstance(member, Lost):
            lost.append(member)
            continue
        try:
            archive.add_path(member.path, member.name, recurse=False)
        except (OSError, ValueError, OverflowError):  # gone since, or its time is none
            lost.append(Lost(member.name, NOT_THERE))
    if lost:
        archive.add(tell_lost(lost), LEFT_OUT)
    return iter(archive), len(archive)


def _look_and_stream(library: Library, plan: Sequence[Member | Lost]) -> Iterator[bytes]:
    from zipstream import ZipStream

    archive, lost = ZipStream(), []
    for member in plan:
        if isinstance(member, Lost):
            lost.append(member)
            continue
        try:
            path = member.path or find_original(library, member.picture).path
            archive.add_path(path, member.name, recurse=False)
        except (Problem, ViewfinderError) as error:
            lost.append(Lost(member.name, to_unicode(hide_paths(str(error)))))
        except (OSError, ValueError, OverflowError):
            lost.append(Lost(member.name, NOT_THERE))
        else:
            yield from archive.all_files()
    if lost:
        archive.add(tell_lost(lost), LEFT_OUT)
    yield from archive.finalize()


def tell_lost(lost: Sequence[Lost]) -> str:
    """What the text in an archive says of the pictures that are not in it."""
    return "".join(["These pictures are not in this archive:\r\n", *(f"{it.name}: {it.why}\r\n" for it in lost)])
