"""Region vectors in the store of record: a table of their own, because they are large and few systems read them.

    <library>/tables/regions.<raw version>.lance    id and float16 vector of r * e numbers, a row a picture
              tables/regions.filled                 which version of which table was the last whole filling
              filling.lock                          held by the one process that fills

The table is filled on first need (`viewfinder.index.region_vectors`) and never complete: pictures may come at any time, and each
commit is an acknowledgement. Filling does not wait for the lock of `Store`, so that a talk can begin while another
process adds pictures for an hour; Lance lets rows be added beside deletions and compactions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from filelock import FileLock
from jaxtyping import Float, Float16

from viewfinder.index.names import to_file_name
from viewfinder.index.tables import TABLES, Tables, check_ids, hold_lock
from viewfinder.index.vectors import VectorReader, to_half_precision, vectors_schema, vectors_to_arrow

PREFIX = "regions."
FILLED = f"{PREFIX}filled"
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


def list_region_tables(tables: Tables) -> list[str]:
    """Names of all tables of regions that can be opened."""
    names = sorted(path.stem for path in (tables.folder / TABLES).glob(f"{PREFIX}*.lance"))
    return [name for name in names if tables.has(name)]


def read_filled_mark(folder: Path) -> str:
    """Changes with every `announce`; 0.02 ms."""
    try:
        return (folder / TABLES / FILLED).read_text(encoding="utf-8")
    except OSError:
        return "0"
