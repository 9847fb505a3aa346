"""Scores where a picture is many vectors: where raw vectors come from, what a system makes of them, how it compares.

Axes: `n` pictures, `r` regions of a picture, `e` and `g` numbers of a raw region and of a raw global vector, `m` parts
of a query, `f` = n * r rows of a flat matrix.

What a predictor sees in pictures: their likeliest attributes.

Axes: `n` pictures, `c` attributes of one, best first; the last axis has the number of a label and its chance.

Region vectors in the store of record: a table of their own, because they are large and few systems read them.

    <library>/tables/regions.<raw version>.lance    id and float16 vector of r * e numbers, a row a picture
              tables/regions.filled                 which version of which table was the last whole filling
              filling.lock                          held by the one process that fills

The table is filled on first need (`viewfinder.index.raw_vectors`) and never complete: pictures may come at any time, and each
commit is an acknowledgement. Filling does not wait for the lock of `Store`, so that a talk can begin while another
process adds pictures for an hour; Lance lets rows be added beside deletions and compactions.

Region vectors, made from the pictures' files when a retriever first needs them.

Every batch is one commit: after kill -9 everything acknowledged is there, and the next filling makes the rest. Other
processes may add pictures meanwhile; of two that want to fill, one waits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from filelock import FileLock
from jaxtyping import Bool, Float, Float16, Float32

from viewfinder.conversation import PictureId
from viewfinder.encoders.base import Encoder
from viewfinder.errors import EncoderMismatch, LibraryBusy, LibraryError
from viewfinder.index.late_interaction import (
    tile_batches,
)
from viewfinder.index.names import to_file_name
from viewfinder.index.snapshot import Snapshot
from viewfinder.index.store import Store
from viewfinder.index.tables import (
    FILLED,
    PREFIX,
    TABLES,
    Tables,
    VectorReader,
    check_ids,
    hold_lock,
    read_filled_mark,
    to_half_precision,
    vectors_schema,
    vectors_to_arrow,
)
from viewfinder.pictures import BadFile, DecodedFile, Decoders, Outcome
from viewfinder.pictures.pacing import pace_batches
from viewfinder.retrievers import Predictor, RegionSpace, SentenceEncoder
from viewfinder.retrievers.base import RawPictures


@runtime_checkable
class RawVectors(Protocol):
    """Where raw vectors of pictures come from: a library's tables, the cached features of a data set.

    `raw_version` says which numbers they are; a data set's own detector gives others than the encoder.
    """

    @property
    def raw_version(self) -> str:
        """Which numbers these are; a system works on those it was trained on."""
        ...

    def batches(
        self, ids: Sequence[str], *, regions: bool
    ) -> Iterable[tuple[Float[np.ndarray, "b g"], Float16[np.ndarray, "b r e"] | None]]:
        """Raw global vectors of these pictures and their regions (None unless asked for), in their order.

        Zeros where a picture has none.
        """
        ...


@runtime_checkable
class Boxed(Protocol):
    """Raw vectors whose regions are not those of the encoder, and that know where they lie."""

    def boxes(self, picture_id: str) -> Float[np.ndarray, "_boxes 4"]:
        """Boxes (x0, y0, x1, y1) of a picture's regions, as shares of its width and height; none if not known."""
        ...


def check_fits(space: RegionSpace, raw: RawVectors | None) -> RawVectors:
    """The raw vectors, if this is the kind that the space is made from.

    Raises:
        LibraryError: there are none.
        EncoderMismatch: they are others.
    """
    if raw is None:
        raise LibraryError(f"{space.name} reads raw vectors ({space.raw_version}) of these pictures: there are none")
    check_version(space, raw.raw_version)
    return raw


def check_version(space: RegionSpace, found: str) -> None:
    """Refuses raw vectors that the space is not made from.

    Raises:
        EncoderMismatch: they are of another version.
    """
    if found != space.raw_version:
        raise EncoderMismatch(
            f"{space.name} was trained on {space.raw_version}, and these pictures have {found}: "
            "open a library made with that encoder, or train on vectors of this one"
        )


def build_block(
    ids: Sequence[str],
    space: RegionSpace,
    raw: RawVectors,
    captions: Iterable[str] = (),
    sentences: SentenceEncoder | None = None,
) -> Float32[np.ndarray, "f d"]:
    """All pictures in a space, as `region_major` lays them out; raw vectors pass by in batches.

    `captions`, one a picture, and what reads them: for a space that `reads_captions`.
    """
    waiting = iter(captions)
    batches = (
        space.project(RawPictures(global_bg, regions_bre, tuple(islice(waiting, len(global_bg))), sentences))
        for global_bg, regions_bre in raw.batches(ids, regions=space.reads_regions)
    )
    return tile_batches(batches, len(ids), space.regions, space.width)


def name_raw_vectors(
    raw_1g: Float[np.ndarray, "1 g"], regions_1re: Float[np.ndarray, "1 r e"] | None
) -> dict[str, Float[np.ndarray, ...]]:
    """The raw vectors of one picture, by the names that retrievers know them by: "raw", and "raw regions" if read."""
    whole: dict[str, Float[np.ndarray, ...]] = {"raw": np.asarray(raw_1g[0], np.float32)}
    return whole if regions_1re is None else whole | {"raw regions": regions_1re[0]}


def predict_all_attributes(
    ids: Sequence[str], predictor: Predictor, raw: RawVectors | None, count: int
) -> Float32[np.ndarray, "n c 2"]:
    """The likeliest attributes of all these pictures; raw vectors pass by in batches.

    Raises:
        LibraryError: there are no raw vectors.
    """
    if raw is None:
        raise LibraryError("attributes are predicted from raw vectors, and of these pictures there are none")
    batches = raw.batches(ids, regions=False)
    found = [best_labels(predictor, np.asarray(raw_bg, np.float32), count) for raw_bg, _ in batches]
    return np.concatenate([np.zeros((0, min(count, len(predictor.labels)), 2), np.float32), *found])


def best_labels(predictor: Predictor, raw_ng: Float[np.ndarray, "n g"], count: int) -> Float32[np.ndarray, "n c 2"]:
    """The likeliest labels of every picture with their chances."""
    best_nc = predictor.top(raw_ng, count)
    return np.stack([best_nc, np.take_along_axis(predictor.scores(raw_ng), best_nc, axis=1)], axis=-1, dtype=np.float32)


def predict_attributes(predictor: Predictor, raw_ng: Float[np.ndarray, "n g"], count: int) -> list[dict[str, float]]:
    """The likeliest attributes of pictures and their chances, best first."""
    return [name_labels(best_c2, predictor.labels) for best_c2 in best_labels(predictor, raw_ng, count)]


def name_labels(best_c2: Float[np.ndarray, "c 2"], labels: Sequence[str]) -> dict[str, float]:
    """Numbers of labels and chances as words and chances."""
    return {labels[int(label)]: float(chance) for label, chance in best_c2.tolist()}


SHAPE = b"regions"
"""Where the schema of a table says how many regions a picture has."""


class RegionTable:
    """Region vectors under one version of raw vectors. Cheap to make; Lance is imported when it is asked."""

    def __init__(self, folder: Path, raw_version: str) -> None:
        self.folder = folder
        self._tables = Tables(folder)
        self._name = f"{PREFIX}{to_file_name(raw_version)}"
        self._lock = FileLock(folder / "filling.lock")
        self._reader = VectorReader(self._tables, self._name)

    def ids(self) -> Set[str]:
        """The pictures that have regions (and perhaps some that are pictures no more)."""
        return self._reader.ids() if self._tables.has(self._name) else frozenset()

    def shape(self) -> tuple[int, int] | None:
        """Regions of a picture and numbers of a region, None before the first are there."""
        with self._tables.guarded():
            if not self._tables.has(self._name):
                return None
            schema = self._tables.open(self._name).schema
            regions = int(schema.metadata[SHAPE])
            return regions, schema.field("vector").type.list_size // regions

    def read(self, ids: Sequence[str]) -> Float16[np.ndarray, "n r e"]:
        """Regions of these pictures in their order, zeros where one has none: 92 kB a picture of the starter.

        Raises:
            ValueError: there is nothing here yet (`shape` is None).
        """
        shape = self.shape()
        if shape is None:
            raise ValueError(f"{self._name} holds nothing yet")
        return self._reader.read(ids).reshape(len(ids), *shape)

    @contextmanager
    def filling(self, timeout: float) -> Iterator[None]:
        """Holds the right to add; may be nested.

        Raises:
            LibraryBusy: another process fills, and still does after `timeout` seconds.
        """
        with hold_lock(self._lock, self.folder, timeout, f"reading regions of pictures for {self.folder}"):
            yield

    def add(self, ids: Sequence[str], regions_nre: Float[np.ndarray, "n r e"]) -> None:
        """Regions of pictures that have none yet, acknowledged when this returns. For those who hold `filling`.

        Raises:
            ValueError: an id twice, or another shape than before.
            DiskFull, LibraryError: nothing of this batch is acknowledged.
        """
        check_ids(ids)
        pictures, regions, width = regions_nre.shape
        schema = vectors_schema(regions * width).with_metadata({SHAPE: str(regions)})
        known = self.shape()
        if known not in (None, (regions, width)):
            raise ValueError(f"regions of shape {(regions, width)}, but {known} were expected")
        rows = vectors_to_arrow(ids, to_half_precision(regions_nre.reshape(pictures, regions * width)), regions * width)
        with self._tables.guarded():
            self._tables.make(self._name, schema)
            self._tables.open(self._name).add(rows)

    def announce(self) -> None:
        """Tells readers that a filling is done: what they derived from fewer regions is made again."""
        if not self._tables.has(self._name):
            return
        with self._tables.guarded():
            mark = f"{self._name}-{self._tables.open(self._name).version}"
            if mark != read_filled_mark(self.folder):
                scratch = self.folder / TABLES / f"{FILLED}.new-{os.getpid()}"
                scratch.write_text(mark, encoding="utf-8")
                scratch.replace(self.folder / TABLES / FILLED)


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
        return RegionTable(self._store.folder, self.raw_version)

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
