"""Small copies of pictures for many clients at once: each is made once, by a few decoders, apart from searching."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from viewfinder.errors import LibraryError, PictureError
from viewfinder.pictures.thumbnails import (
    PLACEHOLDER,
    THUMBNAILS,
    choose_size,
    load_thumbnail,
    read_thumbnail,
    thumbnail_path,
)
from viewfinder.server.access.limits import ThreadPool
from viewfinder.server.pictures.library import current_snapshot, find_picture, picture_changed, picture_gone
from viewfinder.store.places import find_bucket

if TYPE_CHECKING:
    from viewfinder.library import Library


@dataclass(frozen=True)
class PictureSource:
    """The files of a picture, looked for when needed, of which any will do for its copies, and where those are kept.

    `longest` is the longer side of the picture in pixels, `pixel_hash` that of its data ("" where it is not known).
    """

    picture: str
    find_files: Callable[[], Iterable[Path]]
    longest: int
    cache: Path
    pixel_hash: str = ""


class Thumbnails:
    """Copies of the library's pictures and of uploads; `at_once` are made at the same time."""

    def __init__(self, library: Library, *, at_once: int = 2) -> None:
        self._library = library
        self._cache = library.folder / THUMBNAILS
        self._making: dict[Path, asyncio.Task[bytes]] = {}
        self.aside = ThreadPool(at_once)
        """Threads for all that reads pictures' files: a screen full of new ones must not keep a search waiting."""
        self.looking = ThreadPool(1)
        """For looking closely (`viewfinder.search.grounding`), which takes all cores: one picture after another."""

    def find_copy(self, picture_id: str, size: int) -> bytes | PictureSource:
        """A copy of a picture of the library, if it was made before; else the source to make it from.

        Raises:
            Problem: 404, there is no such picture.
        """
        find_picture(self._library, picture_id)
        with suppress(OSError):
            return read_thumbnail(thumbnail_path(self._cache, picture_id, size))
        source = self.make_source(picture_id)
        return self.read_copy(source, size) or source

    def make_source(self, picture_id: str) -> PictureSource:
        """The source of copies of a picture of the library.

        Raises:
            Problem: 404, there is no such picture.
        """
        gallery, row = find_picture(self._library, picture_id)
        facts = gallery.snapshot.facts(row)
        find_files = partial(gallery.snapshot.files_there, row)
        longest = max(facts["width"], facts["height"])
        return PictureSource(picture_id, find_files, longest, self._cache, gallery.snapshot.pixel_hash(row))

    def read_copy(self, source: PictureSource, size: int) -> bytes | None:
        """A copy, if it was made before; else None."""
        with suppress(OSError):
            return read_thumbnail(_find_place(source, size))
        return None

    async def make_copy(self, source: PictureSource, size: int) -> bytes:
        """Makes a copy; requests for it in the meantime get the same one.

        Raises:
            Problem: 410, none of the picture's files is there any more.
            PictureError: they are other pictures by now, or cannot be read.
        """
        place = _find_place(source, size)
        if place not in self._making:
            making = asyncio.create_task(self.aside.run(_fetch_or_make, source, choose_size(size, source.longest)))
            self._making[place] = making
            making.add_done_callback(lambda _: self._making.pop(place))
        return await asyncio.shield(self._making[place])  # a client that leaves does not cancel it for the others

    def read_placeholders(self, picture_ids: Sequence[str]) -> dict[str, str]:
        """Tiny copies as data: URLs, by picture; pictures that have none yet are left out."""
        snapshot = current_snapshot(self._library)
        if snapshot is None:
            return {}
        found = {}
        for picture_id in dict.fromkeys(picture_ids):
            if snapshot.row_of(picture_id) is not None:
                with suppress(OSError):
                    content = read_thumbnail(thumbnail_path(self._cache, picture_id, PLACEHOLDER))
                    found[picture_id] = f"data:image/webp;base64,{base64.b64encode(content).decode('ascii')}"
        return found

    def close(self) -> None:
        """Waits for the copies being made; cancels the others."""
        self.aside.close()
        self.looking.close()


def _find_place(source: PictureSource, size: int) -> Path:
    return thumbnail_path(source.cache, source.picture, choose_size(size, source.longest))


def _fetch_or_make(source: PictureSource, longest: int) -> bytes:
    """The copy; for a library in a bucket the one made first, which all then share."""
    bucket = find_bucket(source.cache.parent)
    if bucket is None:
        return _load_any(source, longest)
    place = thumbnail_path(source.cache, source.picture, longest)
    name = place.relative_to(bucket.folder).as_posix()
    with suppress(OSError, LibraryError):
        if bucket.fetch(name):
            return read_thumbnail(place)
    content = _load_any(source, longest)
    with suppress(OSError, LibraryError):  # the next process makes it again
        bucket.push(name)
    return content


def _load_any(source: PictureSource, longest: int) -> bytes:
    """The copy from the first file that still is the picture."""
    there: list[Path] = []
    for file in source.find_files():
        if file.is_file():
            there.append(file)
            with suppress(PictureError):
                return load_thumbnail(file, source.picture, source.cache, longest=longest, pixel_hash=source.pixel_hash)
    if not there:
        raise picture_gone(source.picture)
    raise picture_changed(there[0])
