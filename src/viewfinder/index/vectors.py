"""How vectors lie in an Arrow table, and how they are read from it."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np
from jaxtyping import Float, Float16

from viewfinder.index.tables import Tables


def vectors_schema(width: int) -> Any:
    """The Arrow schema of a table of vectors of this width."""
    import pyarrow as pa

    return pa.schema([("id", pa.string()), ("vector", pa.list_(pa.float16(), width))])


def vectors_to_arrow(ids: Sequence[str], matrix_nd: Float[np.ndarray, "n d"], width: int) -> Any:
    """Ids and vectors (n d) as an Arrow table, in half precision.

    Raises:
        ValueError: another number of vectors than of ids, or another width.
    """
    import pyarrow as pa

    if matrix_nd.shape != (len(ids), width):
        raise ValueError(f"vectors of shape {matrix_nd.shape}, but {len(ids)} pictures of width {width} were expected")
    flat = pa.array(np.ascontiguousarray(matrix_nd, dtype=np.float16).reshape(-1))
    vectors = pa.FixedSizeListArray.from_arrays(flat, width)
    return pa.Table.from_arrays([pa.array(list(ids), pa.string()), vectors], schema=vectors_schema(width))


def to_half_precision(matrix_nd: Float[np.ndarray, "n d"]) -> Float16[np.ndarray, "n d"]:
    """In half precision; what is too large for it becomes the largest number it has, 65,504."""
    most = float(np.finfo(np.float16).max)
    return np.asarray(np.clip(matrix_nd, -most, most), np.float16)


def sort_vectors(table: Any, width: int, known: set[str]) -> tuple[list[str], Float16[np.ndarray, "n d"]]:
    """Ids and vectors of the known pictures, in id order."""
    ids = table["id"].to_pylist()
    matrix_nd = _matrix(table, width)
    order = sorted((row for row, name in enumerate(ids) if name in known), key=ids.__getitem__)
    return [ids[row] for row in order], matrix_nd[order]


class VectorReader:
    """Vectors of one table by id, in any order, a few at a time; always those of its newest version.

    Where the rows lie is looked up once a version (some 0.1 s for 10,000 pictures), so it is worth keeping a reader.
    """

    def __init__(self, tables: Tables, name: str) -> None:
        self._tables, self._name = tables, name
        self._seen: tuple[Any, dict[str, int]] | None = None

    def ids(self) -> Set[str]:
        """The pictures that have a vector here (and perhaps some that are pictures no more)."""
        with self._tables.guarded():
            _, places = self._newest()
        return places.keys()

    def read(self, ids: Sequence[str]) -> Float16[np.ndarray, "n d"]:
        """Vectors of these pictures in the order asked for; zeros where one has none."""
        with self._tables.guarded():
            table, places = self._newest()
            width = table.schema.field("vector").type.list_size
            found_nd = np.zeros((len(ids), width), np.float16)
            known = [row for row, name in enumerate(ids) if name in places]
            if known:
                taken = table.take_row_ids(sorted({places[ids[row]] for row in known})).to_arrow()
                at = {name: row for row, name in enumerate(taken["id"].to_pylist())}  # Lance promises no order
                found_nd[known] = _matrix(taken, width)[[at[ids[row]] for row in known]]
            return found_nd

    def _newest(self) -> tuple[Any, dict[str, int]]:
        """The table's newest version, and where in it the pictures' rows lie."""
        table = self._tables.open(self._name)
        if self._seen is None or self._seen[0].version != table.version:
            found = table.search().select(["id"]).with_row_id(True).limit(None).to_arrow()
            self._seen = table, dict(zip(found["id"].to_pylist(), found["_rowid"].to_pylist(), strict=True))
        return self._seen


def _matrix(table: Any, width: int) -> Float16[np.ndarray, "n d"]:
    chunks = [chunk.flatten().to_numpy() for chunk in table["vector"].chunks]
    return np.concatenate([np.empty(0, np.float16), *chunks]).reshape(-1, width)
