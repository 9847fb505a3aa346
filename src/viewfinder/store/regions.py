"""Raw vectors of pictures, from which trained systems make their own: their sources, and regions when needed.

    <library>/tables/regions.<raw version>.lance    id and float16 vector of r * e numbers, one row per picture
              tables/regions.filled                 which version of which table was the last complete filling
              filling.lock                          held by the one process that fills

The table of regions is filled when a retriever first needs them. It is never final: pictures may be added at any time,
and each batch is one commit, which survives a crash. Filling does not wait for the lock of `Store`, so a conversation
can begin while another process adds pictures for an hour; Lance allows adding rows during deletions and compactions. If
two processes want to fill, one waits.

Axes: `n` pictures, `b` of a batch, `r` regions of a picture, `e` and `g` numbers of a raw region and of a raw global
vector, `c` labels of a picture, `f` = n * r rows of a flat matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property
from pathlib import Path

import numpy as np
from filelock import FileLock
from jaxtyping import Bool, Float, Float16, Int64

from viewfinder.conversation import PictureId
from viewfinder.encoders.base import Encoder, Pixels, to_file_name
from viewfinder.encoders.vectors import say_no_vector
from viewfinder.errors import LibraryBusy
from viewfinder.pictures import DecodedFile
from viewfinder.plugins import refuse_reply
from viewfinder.processors import count_processors
from viewfinder.store.reading_again import find_places, read_again
from viewfinder.store.reports import FillReport, Progress
from viewfinder.store.snapshot import Snapshot, read_filled_mark
from viewfinder.store.store import Store
from viewfinder.store.tables import (
    FILLED,
    PICTURES,
    REGIONS_PREFIX,
    TABLES,
    Tables,
    VectorReader,
    check_ids,
    explain_missing,
    hold_lock,
    private_files,
    vectors_schema,
    vectors_to_arrow,
)
from viewfinder.whole_files import write_file

SHAPE = b"regions"
"""The key in a table's schema for the number of regions per picture."""


class RegionTable:
    """Region vectors of one version of raw vectors. Cheap to make; Lance is imported on first use."""

    def __init__(self, folder: Path, raw_version: str) -> None:
        self.folder = folder
        self._tables = Tables(folder)
        self._name = f"{REGIONS_PREFIX}{to_file_name(raw_version)}"
        self._lock = FileLock(folder / "filling.lock")
        self._reader = VectorReader(self._tables, self._name)

    def ids(self) -> Set[str]:
        """The pictures that have regions (and perhaps some that no longer exist)."""
        return self._reader.ids() if self._tables.has(self._name) else frozenset()

    def shape(self) -> tuple[int, int] | None:
        """Regions per picture and numbers per region; None before the first are stored."""
        with self._tables.translating_errors():
            if not self._tables.has(self._name):
                return None
            schema = self._tables.connection.open_table(self._name).schema
            regions = int(schema.metadata[SHAPE])
            return regions, schema.field("vector").type.list_size // regions

    def read(self, ids: Sequence[str]) -> Float16[np.ndarray, "n r e"]:
        """Regions in the order asked for, zeros where there are none. Raises ValueError: nothing is stored yet."""
        shape = self.shape()
        if shape is None:
            raise ValueError(f"{self._name} holds nothing yet")
        return self._reader.read(ids).reshape(len(ids), *shape)

    def filling(self, timeout: float) -> AbstractContextManager[None]:
        """Holds the right to add; may be nested. Raises LibraryBusy: another process still fills after `timeout` s."""
        return hold_lock(self._lock, self.folder, timeout, f"reading regions of pictures for {self.folder}")

    def add(self, ids: Sequence[str], regions_nre: Float[np.ndarray, "n r e"]) -> None:
        """Adds regions of pictures that have none yet, acknowledged when this returns; the caller holds `filling`.

        Raises ValueError: an id twice, or another shape than before; NotALibrary: the library was moved away; else
        DiskFull, LibraryError.
        """
        check_ids(ids)
        pictures, regions, width = regions_nre.shape
        schema = vectors_schema(regions * width).with_metadata({SHAPE: str(regions)})
        known = self.shape()
        if known not in (None, (regions, width)):
            raise ValueError(f"regions of shape {(regions, width)}, but {known} were expected")
        most = float(np.finfo(np.float16).max)  # larger numbers become this
        flat_nv = np.clip(regions_nre.reshape(pictures, regions * width), -most, most)
        rows = vectors_to_arrow(ids, flat_nv, regions * width)
        if not self._tables.has(PICTURES):  # moved away meanwhile: it must not be begun anew in its old place
            raise explain_missing(self.folder)
        with self._tables.translating_errors(), private_files(self.folder):
            self._tables.make(self._name, schema)
            self._tables.change(self._name).add(rows)
            self._tables.record()

    def announce(self) -> None:
        """Tells readers that a filling is done: they remake what they derived from fewer regions."""
        if not self._tables.has(self._name):
            return
        with self._tables.translating_errors(), private_files(self.folder):
            mark = f"{self._name}-{self._tables.connection.open_table(self._name).version}"
            if mark != read_filled_mark(self.folder):
                write_file(self.folder / TABLES / FILLED, mark)
                if self._tables.bucket is not None:
                    self._tables.bucket.push(f"{TABLES}/{FILLED}")


MAX_READ = 256
"""Pictures whose vectors are read at once: 24 MB of the starter's regions."""

PROGRESS_EVERY_S = 0.5
"""The pause between two looks at the progress of another process that fills."""


def fill_regions(
    table: RegionTable,
    encoder: Encoder,
    files: Mapping[PictureId, Sequence[str]],
    *,
    pixel_hashes: Mapping[PictureId, str] | None = None,
    workers: int | None = None,
    progress: Progress = lambda done, total: None,
) -> FillReport:
    """Makes regions for those of these pictures that have none, from the first usable file of each.

    With their `pixel_hashes` also of files whose metadata were edited. A picture is left out if all its files are gone,
    unreadable, or another picture by now.
    """
    wanted, gone = find_places(table.folder, files)
    if not wanted:
        return FillReport(0, tuple(gone))
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(table.filling(PROGRESS_EVERY_S))
                break
            except LibraryBusy:  # another process fills: how far is it?
                progress(len(wanted.keys() & table.ids()), len(wanted))
        done = table.ids()
        missing = {picture: paths for picture, paths in wanted.items() if picture not in done}
        hashes = pixel_hashes or {}
        filled = _fill_missing(table, encoder, missing, hashes, workers or count_processors(), progress)
        table.announce()
    return FillReport(filled.made, (*gone, *filled.left_out))


def _fill_missing(
    table: RegionTable,
    encoder: Encoder,
    files: Mapping[PictureId, Sequence[Path]],
    pixel_hashes: Mapping[PictureId, str],
    workers: int,
    progress: Progress,
) -> FillReport:
    def keep(good: Mapping[PictureId, DecodedFile]) -> Mapping[PictureId, str]:
        names = list(good)
        regions_bre = _encode_regions(encoder, [read.pixels for read in good.values()])
        unusable = _find_unusable_regions(encoder, names, regions_bre)
        if kept := [row for row, picture in enumerate(names) if picture not in unusable]:
            table.add([names[row] for row in kept], regions_bre[kept])
        return unusable

    return read_again(files, keep, fit=encoder.fit, pixel_hashes=pixel_hashes, workers=workers, progress=progress)


def _encode_regions(encoder: Encoder, pixels: Sequence[Pixels]) -> Float[np.ndarray, "b r e"]:
    regions_bre = encoder.pictures(pixels, regions=True).regions_brd
    if regions_bre is None or np.ndim(regions_bre) != 3 or len(regions_bre) != len(pixels):
        given = "nothing" if regions_bre is None else f"an array of shape {np.shape(regions_bre)}"
        raise refuse_reply(
            "encoder", encoder, f"regions of {len(pixels)} pictures are needed, a matrix each, and it gave {given}"
        )
    return regions_bre


def _find_unusable_regions(
    encoder: Encoder, pictures: Sequence[PictureId], regions_bre: Float[np.ndarray, "b r e"]
) -> dict[PictureId, str]:
    """The pictures whose regions say nothing: a number is not finite, or all are zero as of a picture without any."""
    flat_bv = np.asarray(regions_bre).reshape(len(pictures), -1)
    is_finite_b = np.isfinite(flat_bv).all(axis=1)
    found = {}
    for row in np.flatnonzero(~(is_finite_b & (flat_bv != 0).any(axis=1))).tolist():
        why = "all regions' are zero" if is_finite_b[row] else "a region's is not finite"
        found[pictures[row]] = say_no_vector(encoder, why)
    return found


class StoredVectors:
    """Raw vectors from a library's tables (`gallery.RawVectors`); missing regions are made first."""

    def __init__(self, store: Store, raw_version: str, load_encoder: Callable[[], Encoder]) -> None:
        """`load_encoder`: gives the encoder of these vectors, when regions are to be made."""
        self._store, self._load_encoder = store, load_encoder
        self.raw_version = raw_version
        self._table = RegionTable(store.folder, self.raw_version)

    def is_of_all(self, snapshot: Snapshot) -> bool:
        """Whether all of these pictures have raw vectors; kept beside the snapshot."""

        def count_lacking(snapshot: Snapshot) -> Int64[np.ndarray, " one"]:
            there = self._store.ids_with_vectors(self.raw_version)
            return np.array([sum(picture not in there for picture in snapshot.ids)], np.int64)

        return not snapshot.derived(f"lacking-{self.raw_version}", count_lacking)[0]

    def has_regions(self, snapshot: Snapshot) -> Bool[np.ndarray, " n"]:
        """Whether pictures have regions; kept beside the snapshot, so that conversations begin without Lance (2 s)."""

        def find_filled(snapshot: Snapshot) -> Bool[np.ndarray, " n"]:
            known = self._table.ids()
            return np.fromiter((picture in known for picture in snapshot.ids), bool, len(snapshot))

        return snapshot.derived(f"with-regions-{self.raw_version}", find_filled, by_row=True)

    def fill(self, snapshot: Snapshot, progress: Progress | None = None) -> FillReport:
        """Makes regions for all of these pictures; if any were made, the next snapshot knows."""
        rows = np.flatnonzero(~self.has_regions(snapshot)).tolist()
        files = {snapshot.ids[row]: snapshot.paths(row) for row in rows}
        return fill_regions(
            self._table, self._load_encoder(), files, progress=progress or (lambda done, total: None),
            pixel_hashes={snapshot.ids[row]: snapshot.pixel_hash(row) for row in rows},
        )  # fmt: skip

    def batches(
        self, ids: Sequence[str], *, regions: bool
    ) -> Iterator[tuple[Float[np.ndarray, "b g"], Float16[np.ndarray, "b r e"] | None]]:
        """Raw global vectors and regions of these pictures, in the order given; zeros where a picture has none."""
        shape: tuple[int, ...] | None = None
        if regions and (missing := set(ids) - self._table.ids()):
            lacking = [row for row in self._store.rows() if row.id in missing]
            files = {row.id: [file.path for file in row.files] for row in lacking}
            pixel_hashes = {row.id: row.pixels or "" for row in lacking}
            fill_regions(self._table, self._load_encoder(), files, pixel_hashes=pixel_hashes)
            if self._table.shape() is None:  # no file could be read
                shape = _encode_regions(self._load_encoder(), [np.zeros((1, 1, 3), np.uint8)]).shape[1:]
        for some in (ids[start : start + MAX_READ] for start in range(0, len(ids), MAX_READ)):
            whole_bg = np.asarray(self._global.read(some), np.float32)
            if not regions:
                yield whole_bg, None
            else:
                yield whole_bg, self._table.read(some) if shape is None else np.zeros((len(some), *shape), np.float16)

    @cached_property
    def _global(self) -> VectorReader:
        return self._store.reader(self.raw_version)
