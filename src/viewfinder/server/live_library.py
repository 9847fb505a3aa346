"""A library being served: turns see the pictures as of a moment ago and never wait for a snapshot.

While pictures come in, every batch changes the state of the tables. Making a snapshot of many takes seconds; a separate
process does it, and the next turn maps the result; of some thousands it is made here. The same holds for the index of a
large collection: until it is there, turns scan all pictures. If a cluster searches, it is told of new pictures before
turns see them, and its actors have the indexes.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from viewfinder.encoders.tags import TagVectors
from viewfinder.errors import BadInput, ViewfinderError
from viewfinder.library import Library
from viewfinder.search.gallery import Gallery
from viewfinder.search.index_files import is_due, pays
from viewfinder.search.turn_scores import warm_scores
from viewfinder.session.evidence import warm_gallery
from viewfinder.store.settings import Settings
from viewfinder.store.snapshot import Snapshot, read_generation
from viewfinder.store.snapshot_files import GROWS_FROM, load_built_snapshot

if TYPE_CHECKING:
    from viewfinder.cluster import ActorShards
    from viewfinder.search.indexed_pictures import IndexedPictures

CHECK_S = 0.5
"""How often the tables are checked; a check takes 0.1 ms."""

MIN_PAUSE_S, MAX_PAUSE_S = 1.0, 5.0
"""The shortest and the longest pause after a snapshot before another is made."""

PAUSE_SHARE = 3.0
"""The pause, as a multiple of the time that a snapshot took: they should not occupy a core while pictures come in."""

MAX_MADE_HERE = GROWS_FROM
"""Up to this many pictures a snapshot takes a fraction of the second or two in which another process would start."""

INDEX = "index"
"""Makes `COMMAND` build the index instead of a snapshot."""

COMMAND = (sys.executable, "-m", "viewfinder.server.live_library")

_LOG = logging.getLogger("viewfinder.server")


class LiveLibrary(Library):
    """`gallery` gives the newest pictures that have a snapshot; `start` begins to keep it up to date.

    `shards`: the actors of a cluster that search them instead of this process.
    """

    def __init__(self, folder: Path, settings: Settings, shards: ActorShards | None = None) -> None:
        super().__init__(folder, settings)
        self._shards = shards
        self._served: Gallery | None = None
        self._first = threading.Lock()
        self._ending = threading.Event()
        self._look_now = threading.Event()
        self._rests_until = 0.0
        self._has_read_words = False
        self._keeper: threading.Thread | None = None
        self._maker: subprocess.Popen[str] | None = None
        self._indexer_process: subprocess.Popen[bytes] | None = None
        self._indexed_for: tuple[str, tuple[int, int] | None] | None = None
        self.unseen = ""
        """Why the last check for changes of the library failed, "" if it did not."""

    def gallery(self) -> Gallery:
        """The newest pictures that have a snapshot.

        Raises:
            BadInput: there are no pictures yet.
        """
        if self._served is None:
            with self._first:
                if self._served is None:
                    self._served = self._prepare(super().gallery())
        return self._served

    @property
    def served(self) -> Gallery | None:
        """What `gallery` would give at once; None while there is nothing yet."""
        return self._served

    def start(self) -> None:
        """Keeps the gallery fresh, in a thread."""
        self._ending.clear()
        self._keeper = threading.Thread(target=self._keep_fresh, name="snapshots", daemon=True)
        self._keeper.start()

    def stop(self) -> None:
        """Stops the thread, and a snapshot being made."""
        self._ending.set()
        self._look_now.set()
        if self._maker is not None:
            self._maker.terminate()
        if self._keeper is not None:
            self._keeper.join()
            self._keeper = None
        if self._indexer_process is not None:
            self._indexer_process.terminate()
            self._end_indexer(self._indexer_process)

    def look_now(self) -> None:
        """Checks now: the tables have changed."""
        self._look_now.set()

    def _keep_fresh(self) -> None:
        while not self._ending.is_set():
            try:
                self._refresh()
                self._refresh_index()
                self.unseen = ""
            except ViewfinderError as error:  # moved away, damaged, or a store out of reach: reported once
                if self.unseen != (told := str(error)):
                    _LOG.warning("the pictures could not be looked at again: %s", told)
                self.unseen = told
            except Exception as error:  # the next check may find things in order again
                _LOG.exception("the pictures could not be looked at again")
                self.unseen = str(error)
            if self._look_now.wait(CHECK_S):
                self._look_now.clear()
                self._rests_until = 0.0

    def _refresh(self) -> None:
        """Serves the present pictures, if they are not served yet and there is a snapshot or it is time for one."""
        if self._served is None:
            try:
                self.gallery()  # so that the first search need not wait
            except BadInput:  # no pictures yet
                self._read_words_early()
            return
        self._refresh_settings()
        space = self.space
        if space is None:
            return
        as_before = self._is_newest(self._served.snapshot)
        if as_before and self._served.encoder is self.encoder:  # `tune` may change what scores mean, but no vector
            return
        began = time.monotonic()
        snapshot = load_built_snapshot(self.folder, read_generation(self.folder, space))
        is_to_be_made = snapshot is None  # else another process that serves the library may have made it
        if is_to_be_made:
            if began < self._rests_until:
                return
            is_large = self._shards is not None or len(self._served) > MAX_MADE_HERE
            if is_large and (mark := self._make_snapshot()):
                snapshot = load_built_snapshot(self.folder, mark)
        if not self._ending.is_set():
            self._served = self._prepare(super().gallery() if snapshot is None else self.gallery_of(snapshot))
        if is_to_be_made:
            now = time.monotonic()
            self._rests_until = now + min(max(MIN_PAUSE_S, PAUSE_SHARE * (now - began)), MAX_PAUSE_S)

    def _read_words_early(self) -> None:
        """Has the encoder read the words that the first pictures are labelled with, while there are none.

        It takes a second or more, by which the first of them would be found later.
        """
        if not self._has_read_words:
            self._has_read_words = True
            with suppress(ViewfinderError):  # it is told once there are pictures
                TagVectors.of(self.encoder.words)

    def _prepare(self, gallery: Gallery) -> Gallery:
        """Warms a gallery, so that its first turn need not wait. Raises ViewfinderError: no actor can search it."""
        if self._shards is not None:
            self._shards.serve(warm_scores(gallery), self.settings)
        return warm_gallery(gallery)

    def _find_index(self, snapshot: Snapshot) -> IndexedPictures | None:
        """The index of a snapshot, if it has one; none if a cluster searches, whose actors have one of each part."""
        return None if self._shards is not None else super()._find_index(snapshot)

    def _refresh_index(self) -> None:
        """Takes over a new index, made by any process; starts building it if it is due, once a generation."""
        served, process = self._served, self._indexer_process
        if process is not None and process.poll() is not None:
            self._end_indexer(process)
        if served is None or self._shards is not None or not pays(len(served)):
            return
        if self._index.was_replaced(served.snapshot):
            served.indexed = self._find_index(served.snapshot)
            warm_gallery(served)
        # The file counts as well: one that was damaged meanwhile is made anew, though no picture has come.
        made_for = served.snapshot.generation, self._index.mark
        if (
            is_due(served.indexed)
            and made_for != self._indexed_for
            and self._indexer_process is None
            and not self._ending.is_set()
        ):
            self._indexed_for = made_for
            self._indexer_process = subprocess.Popen(
                [*COMMAND, str(self.folder), INDEX], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
            )

    def _end_indexer(self, process: subprocess.Popen[bytes]) -> None:
        process.communicate()  # which closes its stdin and waits
        self._indexer_process = None

    def _index_soon(self, gallery: Gallery) -> None:
        """Does nothing: `start` has a separate process do it."""

    def _make_snapshot(self) -> str | None:
        """Makes a snapshot in a separate process, at low priority; returns its generation, or None on failure."""
        ending, lifeline = os.pipe()  # the lifeline closes when this process ends, however that happens
        try:
            self._maker = subprocess.Popen(
                [*COMMAND, str(self.folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=ending, text=True
            )
            said, complaint = self._maker.communicate()
        finally:
            os.close(ending)
            os.close(lifeline)
        if self._maker.returncode and not self._ending.is_set():
            _LOG.warning("a snapshot could not be made: %s", complaint.strip().rpartition("\n")[2])
        return said.strip() or None


def main() -> None:
    """Makes the snapshot of a library and prints its generation, or makes the index; ends when stdin does."""
    os.nice(10)
    threading.Thread(target=_end_with_server, daemon=True).start()
    try:
        if INDEX in sys.argv[2:]:
            Library.open(Path(sys.argv[1]), create=False).build_index()
            return
        sys.stdout.write(warm_gallery(Library.open(Path(sys.argv[1]), create=False).gallery()).snapshot.generation)
    except (ViewfinderError, OSError) as error:
        sys.exit(str(error))


def _end_with_server() -> None:
    os.read(0, 1)  # not through `sys.stdin`: its lock would be held when the interpreter ends
    os._exit(1)


if __name__ == "__main__":
    main()
