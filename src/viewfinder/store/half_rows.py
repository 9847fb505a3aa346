"""Vectors in half precision, as the tables hold them: of a large collection they take half of the memory and the disk.

Whatever is taken of them is float32, and all that is computed of them is computed in float32: a collection has the same
scores either way. numpy converts half precision one number at a time, which takes six times as long as the products of
a scan; ONNX Runtime does so with the processor's own instruction. A scan converts and multiplies so few rows at once
that they stay in the processor's cache, all of them in a few calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Float16, Float32, Int

from viewfinder.processors import share_out

HALF_FROM = 1_000_000
"""Collections of this many pictures are kept in half precision: an index finds the pictures of a turn, which are few. A
scan of all, as for a rank or a page far down, takes no longer than in float32."""

CONVERTED_AT_ONCE = 1024
"""Rows that a scan converts at once: they stay in the processor's cache."""

SHARED_OUT = 65_536
"""Rows whose products one thread computes."""

BLOCK = 8192
"""Rows that are handed out at once."""

MIN_CONVERTED = 16_384
"""Numbers that ONNX Runtime is asked to convert: numpy has fewer done before it is called."""

HALF_TO_SINGLE = Path(__file__).with_name("half_to_single.onnx")
HALF_PRODUCTS = Path(__file__).with_name("half_products.onnx")
"""One node, and one node for each block of rows, which tests/store/test_half_rows.py spells out."""


class HalfRows:
    """Rows in half precision that are read as float32.

    Attributes:
        half_nd: the rows as they are kept.
    """

    def __init__(self, half_nd: Float16[np.ndarray, "n d"]) -> None:
        self.half_nd = half_nd

    def __len__(self) -> int:
        return len(self.half_nd)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many rows there are, and how wide they are."""
        return self.half_nd.shape

    def __getitem__(self, rows: Any) -> Float32[np.ndarray, ...]:
        """Rows in float32, copied; `part` copies nothing."""
        return to_single(self.half_nd[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """All rows in float32."""
        return np.asarray(to_single(self.half_nd), dtype)

    def part(self, rows: slice | Int[np.ndarray, " k"]) -> HalfRows:
        """Some rows, still in half precision; those of a slice are not copied."""
        return HalfRows(self.half_nd[rows])

    def blocks(self) -> Iterator[Float32[np.ndarray, "b d"]]:
        """All rows in float32, some after others."""
        return (self[start : start + BLOCK] for start in range(0, len(self), BLOCK))

    def products(self, query: Float32[np.ndarray, ...]) -> Float32[np.ndarray, ...]:
        """The products of all rows with one vector (d), or with the columns of a matrix (d m)."""
        found = np.empty((len(self), *query.shape[1:]), np.float32)

        query_dm = query[:, None] if query.ndim == 1 else query
        found_nm = found.reshape(len(self), query_dm.shape[1])

        def multiply(part: slice) -> None:
            whole = part.start + (part.stop - part.start) // CONVERTED_AT_ONCE * CONVERTED_AT_ONCE
            for some in (slice(part.start, whole), slice(whole, part.stop)):
                if some.start < some.stop:
                    _multiply(self.half_nd[some], query_dm, found_nm[some])

        starts = range(0, len(self), SHARED_OUT)
        share_out(multiply, [slice(start, min(start + SHARED_OUT, len(self))) for start in starts])
        return found


Vectors: TypeAlias = Float32[np.ndarray, "n d"] | HalfRows
"""One vector a picture."""


def as_vectors(rows_nd: Float[np.ndarray, "n d"]) -> Float32[np.ndarray, "n d"] | HalfRows:
    """Rows as they are kept: of a large collection in half precision."""
    if rows_nd.dtype == np.float16:
        return HalfRows(rows_nd)
    return np.asarray(rows_nd, np.float32)


def find_kept_type(size: int) -> Any:
    """The type in which the vectors of so many pictures are kept; where no index can be made, every turn scans."""
    return np.float16 if size >= HALF_FROM and find_spec("faiss") is not None else np.float32


def take_rows(
    vectors_nd: Float[np.ndarray, "n d"] | HalfRows, rows: Int[np.ndarray, " k"] | slice
) -> Float[np.ndarray, "k d"] | HalfRows:
    """Some rows; of those in half precision a slice stays in it."""
    return vectors_nd.part(rows) if isinstance(vectors_nd, HalfRows) and isinstance(rows, slice) else vectors_nd[rows]


def to_single(half: Float16[np.ndarray, "*k d"]) -> Float32[np.ndarray, "*k d"]:
    """The same numbers in float32."""
    if half.size < MIN_CONVERTED:
        return half.astype(np.float32)
    single = np.empty(half.shape, np.float32)
    _convert(half, single)
    return single


def _convert(half: Float16[np.ndarray, "*k d"], single: Float32[np.ndarray, "*k d"]) -> None:
    """Writes the same numbers in float32 into an array that is contiguous."""
    half = np.ascontiguousarray(half)
    if not half.size:
        return
    binding = _converter().io_binding()
    binding.bind_input("half", "cpu", 0, np.float16, (half.size,), half.ctypes.data)
    binding.bind_output("single", "cpu", 0, np.float32, (half.size,), single.ctypes.data)
    _converter().run_with_iobinding(binding)


def _multiply(
    half_bd: Float16[np.ndarray, "b d"], query_dm: Float32[np.ndarray, "d m"], found_bm: Float32[np.ndarray, "b m"]
) -> None:
    """Writes products into an array that is contiguous; of at most `CONVERTED_AT_ONCE` rows, or of whole blocks."""
    half_bd, rows = np.ascontiguousarray(half_bd), min(len(half_bd), CONVERTED_AT_ONCE)
    blocks = len(half_bd) // rows
    binding = _multiplier().io_binding()
    binding.bind_input("half", "cpu", 0, np.float16, (blocks, rows, half_bd.shape[1]), half_bd.ctypes.data)
    binding.bind_cpu_input("query", query_dm)
    shape = (blocks, rows, query_dm.shape[1])
    binding.bind_output("products", "cpu", 0, np.float32, shape, found_bm.ctypes.data)
    _multiplier().run_with_iobinding(binding)


@cache
def _multiplier() -> Any:
    """ONNX Runtime for products."""
    from viewfinder.encoders.onnx import inference_session  # as `_converter`

    return inference_session(HALF_PRODUCTS, threads=1)


@cache
def _converter() -> Any:
    """ONNX Runtime for the conversion."""
    from viewfinder.encoders.onnx import inference_session  # slow to load, and small collections do without

    return inference_session(HALF_TO_SINGLE, threads=1)
