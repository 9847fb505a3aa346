"""How the vectors of a space lie in an Arrow table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Float16


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


def sorted_vectors(table: Any, width: int, known: set[str]) -> tuple[list[str], Float16[np.ndarray, "n d"]]:
    """Ids and vectors of the known pictures, in id order."""
    ids = table["id"].to_pylist()
    chunks = [chunk.flatten().to_numpy() for chunk in table["vector"].chunks]
    matrix_nd = np.concatenate([np.empty(0, np.float16), *chunks]).reshape(-1, width)
    order = sorted((row for row, name in enumerate(ids) if name in known), key=ids.__getitem__)
    return [ids[row] for row in order], matrix_nd[order]
