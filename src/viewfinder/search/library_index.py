"""The index of a library in a process that searches it: read again when its file was replaced, built when it is due."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from viewfinder.search.gallery import Gallery
from viewfinder.search.index_files import index_file, is_due, pays, read_index, renew_index, serves
from viewfinder.store.snapshot import Snapshot
from viewfinder.whole_files import mark_file

if TYPE_CHECKING:  # few collections are so large that they have one
    from viewfinder.search.approximate import ApproximateIndex
    from viewfinder.search.indexed_pictures import IndexedPictures


class LibraryIndex:
    """The index of the library in `folder`.

    Attributes:
        mark: the file that was read last (`mark_file`); None before the first.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark: tuple[int, int] | None = None
        self._index: ApproximateIndex | None = None
        self._builder: threading.Thread | None = None

    def find(self, snapshot: Snapshot) -> IndexedPictures | None:
        """The index over a snapshot, if an index pays and there is one that still serves it."""
        if not pays(len(snapshot)):
            return None
        from viewfinder.search.indexed_pictures import IndexedPictures

        if (mark := self._mark(snapshot)) != self.mark:
            self._index = read_index(self.folder, snapshot.space, snapshot.matrix_nd.shape[1])
            self.mark = mark  # last: a thread that sees the new mark takes the new index
        indexed = None if self._index is None else IndexedPictures(self._index, snapshot.ids)
        return indexed if serves(indexed) else None

    def was_replaced(self, snapshot: Snapshot) -> bool:
        """Whether another file than that read last is there now."""
        return self._mark(snapshot) != self.mark

    def build(self, gallery: Gallery, report: Callable[[str], None]) -> bool:
        """Makes or grows the index over a gallery, if that is due; returns whether it was."""
        if not _is_due(gallery) or (index := renew_index(self.folder, gallery, report)) is None:
            return False
        snapshot = gallery.snapshot
        mark = self._mark(snapshot)
        # Mapped as others read it, and not as it was made: that takes 300 bytes a picture of this process alone.
        self._index = read_index(self.folder, snapshot.space, snapshot.matrix_nd.shape[1]) or index
        self.mark = mark
        return True

    def build_soon(self, gallery: Gallery, build: Callable[[], object]) -> None:
        """Calls `build` in the background if the index of a gallery is due, and not being made."""

        def build_quietly() -> None:
            # Closed or removed meanwhile, a full disk, too little memory: searches keep scanning.
            with suppress(Exception):
                build()

        if _is_due(gallery) and (self._builder is None or not self._builder.is_alive()):
            self._builder = threading.Thread(target=build_quietly, name="index", daemon=True)
            self._builder.start()

    def _mark(self, snapshot: Snapshot) -> tuple[int, int]:
        return mark_file(index_file(self.folder, snapshot.space))


def _is_due(gallery: Gallery) -> bool:
    return pays(len(gallery)) and is_due(gallery.indexed)
