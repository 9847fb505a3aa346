"""The indexes of parts of a library, in an actor that searches some: read, and made beside the turns where due.

A part's index lies beside that of a whole library (`search/index_files.py`), under a name that says which part of how
many it is; every actor that sees the folder can read it, so that one in another's place begins where that one was. It
is made in a process of its own on the actor's machine, which ends with the actor. Until it is there, and where it
cannot be made, the part is scanned.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viewfinder.search.gallery import Gallery
from viewfinder.search.index_files import IndexedPart, index_file, is_due, read_index, renew_index, serves
from viewfinder.whole_files import mark_file

if TYPE_CHECKING:  # few parts are so large that they have one
    from viewfinder.search.approximate import ApproximateIndex
    from viewfinder.search.indexed_pictures import IndexedPictures

_LOG = logging.getLogger("viewfinder.cluster")


def name_part(number: int, count: int) -> str:
    """The name of a part, of so many.

    >>> name_part(0, 4)
    'part-1-of-4'
    """
    return f"part-{number + 1}-of-{count}"


class PartIndexes:
    """The indexes that an actor has read, of one library; for all of its threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._read: dict[Path, tuple[tuple[int, int], ApproximateIndex | None]] = {}
        self._being_made: dict[Path, list[Callable[[], None]]] = {}

    def find(self, gallery: Gallery, part: IndexedPart) -> IndexedPictures | None:
        """The index over a part as its file is now; None: there is none that still serves it."""
        indexed = self._find_any(gallery, part)
        return indexed if serves(indexed) else None

    def find_or_make(
        self, gallery: Gallery, part: IndexedPart, make: Callable[[], None], made: Callable[[], None]
    ) -> IndexedPictures | None:
        """As `find`; where an index is due, `make` is called in a thread unless it is being made, and then `made`."""
        indexed = self._find_any(gallery, part)
        if is_due(indexed):
            self._make_soon(index_file(self._folder, gallery.snapshot.space, part.name), make, made)
        return indexed if serves(indexed) else None

    def _find_any(self, gallery: Gallery, part: IndexedPart) -> IndexedPictures | None:
        from viewfinder.search.indexed_pictures import IndexedPictures

        space = gallery.snapshot.space
        file = index_file(self._folder, space, part.name)
        with self._lock:  # one thread reads it, the others wait
            mark = mark_file(file)
            known = self._read.get(file)
            if known is None or known[0] != mark:
                width = gallery.snapshot.matrix_nd.shape[1]
                known = self._read[file] = mark, read_index(self._folder, space, width, part=part.name)
        return None if known[1] is None else IndexedPictures(known[1], part.ids)

    def _make_soon(self, file: Path, make: Callable[[], None], made: Callable[[], None]) -> None:
        def work() -> None:
            try:
                make()
            except Exception as error:  # a full disk, no faiss, too little memory: the part is scanned
                _LOG.warning("the index %s could not be made: %s", file.name, error)
            with self._lock:
                waiting = self._being_made.pop(file)
            for call in waiting:
                call()

        with self._lock:
            is_being_made = file in self._being_made
            self._being_made.setdefault(file, []).append(made)  # a newer snapshot waits for it, too
        if not is_being_made:
            threading.Thread(target=work, name="index", daemon=True).start()


def make_beside(ray: Any, make: Callable[..., None], *given: Any) -> None:
    """Calls a function in a process of its own on this actor's machine, at low priority, and waits for its end; it ends
    with the actor."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    beside = ray.remote(num_cpus=0, max_calls=1, max_retries=0, scheduling_strategy=here)(_yield_to_others)
    ray.get(beside.remote(make, *given))


def _yield_to_others(make: Callable[..., None], *given: Any) -> None:
    with suppress(AttributeError, OSError):  # not everywhere
        os.nice(10)
    make(*given)


def make_index(folder: Path, gallery: Gallery, part: IndexedPart) -> None:
    """Makes or grows the index of a part, after any other process that is doing so."""
    renew_index(folder, gallery, part=part, waits=True)
