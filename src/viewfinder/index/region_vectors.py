"""Region vectors, made from the pictures' files when a retriever first needs them.

Every batch is one commit: after kill -9 everything acknowledged is there, and the next filling makes the rest. Other
processes may add pictures meanwhile; of two that want to fill, one waits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Float16

from viewfinder.conversation import PictureId
from viewfinder.encoders.base import Encoder
from viewfinder.errors import LibraryBusy
from viewfinder.index.lance import Store
from viewfinder.index.region_table import RegionTable
from viewfinder.index.snapshot import Snapshot
from viewfinder.index.vectors import VectorReader
from viewfinder.pictures import BadFile, DecodedFile, Decoders, Outcome
from viewfinder.pictures.pacing import pace_batches

READ = 256
"""Pictures whose vectors are read at once: 24 MB of regions of the starter."""

LOOK_S = 0.5
"""How often one who waits for another filling looks how far it is."""

Progress = Callable[[int, int], None]
"""Told after each batch: pictures done, pictures to do."""


@dataclass(frozen=True)
class FillReport:
    """What a filling did: how many pictures got regions, and a file of each that could not, with the reason."""

    made: int = 0
    left_out: tuple[BadFile, ...] = ()


def fill_regions(
    table: RegionTable,
    encoder: Encoder,
    files: Mapping[PictureId, Sequence[str]],
    *,
    workers: int | None = None,
    progress: Progress = lambda done, total: None,
) -> FillReport:
    """Makes the regions of those of these pictures that have none, from the first of their files that serves.

    A picture is left out if all its files are gone, unreadable or another picture by now.

    Raises:
        DiskFull, LibraryError: what was acknowledged is kept.
    """
    there = {picture: [path for path in paths if os.path.lexists(path)] for picture, paths in files.items()}
    gone = [BadFile(Path((*files[picture], "")[0]), 0, 0, "gone") for picture, paths in there.items() if not paths]
    wanted = {picture: [Path(path) for path in paths] for picture, paths in there.items() if paths}
    if not wanted:
        return FillReport(0, tuple(gone))
    with ExitStack() as stack:
        _await_turn(stack, table, wanted, progress)
        done = table.ids()
        run = _Run(table, encoder, {picture: paths for picture, paths in wanted.items() if picture not in done})
        filled = run.run(workers or os.cpu_count() or 1, progress)
        table.announce()
    return FillReport(filled.made, (*gone, *filled.left_out))


def _await_turn(
    stack: ExitStack, table: RegionTable, wanted: Mapping[PictureId, Sequence[Path]], progress: Progress
) -> None:
    """Enters `filling` once nobody else fills, and tells meanwhile how far the other is."""
    while True:
        try:
            stack.enter_context(table.filling(LOOK_S))
            return
        except LibraryBusy:
            progress(len(wanted.keys() & table.ids()), len(wanted))


class _Run:
    """One filling, by the one who may."""

    def __init__(self, table: RegionTable, encoder: Encoder, files: Mapping[PictureId, Sequence[Path]]) -> None:
        self._table, self._encoder, self._files = table, encoder, files
        self._made = 0
        self._bad: dict[PictureId, BadFile] = {}

    def run(self, workers: int, progress: Progress) -> FillReport:
        """All pictures by their first files, then those that failed by their second, and so on."""
        progress(0, len(self._files))
        todo, copy = [(picture, paths[0]) for picture, paths in self._files.items()], 0
        while todo:
            with Decoders(min(workers, len(todo)), fit=self._encoder.fit) as decoders:
                outcomes = zip([picture for picture, _ in todo], decoders.decode(path for _, path in todo), strict=True)
                for batch in pace_batches(outcomes):
                    self._take(batch)
                    progress(self._made + len(self._bad), len(self._files))
            copy += 1
            todo = [(picture, self._files[picture][copy]) for picture in self._bad if copy < len(self._files[picture])]
        return FillReport(self._made, tuple(self._bad.values()))

    def _take(self, batch: Sequence[tuple[PictureId, Outcome]]) -> None:
        """One batch: what can be read gets its regions in one commit."""
        good: dict[PictureId, DecodedFile] = {}
        for picture, outcome in batch:
            self._bad.pop(picture, None)
            if isinstance(outcome, DecodedFile) and outcome.id == picture:
                good[picture] = outcome
            else:
                reason = outcome.reason if isinstance(outcome, BadFile) else "another picture by now"
                self._bad[picture] = BadFile(outcome.path, outcome.size, outcome.mtime_ns, reason)
        if good:
            regions_brd = self._encoder.pictures([read.pixels for read in good.values()], regions=True).regions_brd
            assert regions_brd is not None, "every encoder gives regions when asked"
            self._table.add(list(good), regions_brd)
            self._made += len(good)


class StoredVectors:
    """Raw vectors out of a library's tables (`gallery.RawVectors`); regions that are missing are made first."""

    def __init__(self, store: Store, encoder: Encoder) -> None:
        self._store, self._encoder = store, encoder

    @property
    def raw_version(self) -> str:
        """The encoder's."""
        return self._encoder.raw_version

    def has_regions(self, snapshot: Snapshot) -> Bool[np.ndarray, " n"]:
        """Which pictures have regions; noted beside the snapshot, so that a talk begins without Lance (2 s)."""

        def look(snapshot: Snapshot) -> Bool[np.ndarray, " n"]:
            known = self._table.ids()
            return np.fromiter((picture in known for picture in snapshot.ids), bool, len(snapshot))

        return snapshot.derived(f"with-regions-{self.raw_version}", look)

    def fill(self, snapshot: Snapshot, progress: Progress | None = None) -> FillReport:
        """Regions for all of these pictures; if any were made, the next snapshot knows."""
        rows = np.flatnonzero(~self.has_regions(snapshot)).tolist()
        files = {snapshot.ids[row]: snapshot.paths(row) for row in rows}
        return fill_regions(self._table, self._encoder, files, progress=progress or (lambda done, total: None))

    def batches(
        self, ids: Sequence[str], *, regions: bool
    ) -> Iterator[tuple[Float[np.ndarray, "b g"], Float16[np.ndarray, "b r e"] | None]]:
        """Raw global vectors and regions of these pictures, in their order; zeros where a picture has none."""
        if regions:
            self._make_missing(ids)
        for start in range(0, len(ids), READ):
            some = ids[start : start + READ]
            yield np.asarray(self._global.read(some), np.float32), self._regions(some) if regions else None

    @cached_property
    def _table(self) -> RegionTable:
        return self._store.regions(self.raw_version)

    @cached_property
    def _global(self) -> VectorReader:
        return self._store.reader(self.raw_version)

    def _make_missing(self, ids: Sequence[str]) -> None:
        missing = set(ids) - self._table.ids()
        if missing:
            files = {row.id: [file.path for file in row.files] for row in self._store.rows() if row.id in missing}
            fill_regions(self._table, self._encoder, files)

    def _regions(self, ids: Sequence[str]) -> Float16[np.ndarray, "b r e"]:
        if self._table.shape() is not None:
            return self._table.read(ids)
        blank = self._encoder.pictures([np.zeros((1, 1, 3), np.uint8)], regions=True)  # no file at all can be read
        assert blank.regions_brd is not None, "every encoder gives regions when asked"
        return np.zeros((len(ids), *blank.regions_brd.shape[1:]), np.float16)
