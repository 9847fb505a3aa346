"""Vectors in half precision, as the tables hold them: of a large collection they take half of the memory and the disk.

Whatever is taken of them is float32, and all that is computed of them is computed in float32: a collection has the same
scores either way. numpy converts half precision one number at a time, which takes six times as long as the products of
a scan; ONNX Runtime does so with the processor's own instruction. A scan converts and multiplies so few rows at once
that they stay in the processor's cache, all of them in a few calls.

The file of all rows is mapped, and a scan reads it so. The few rows of a turn are read by themselves: around each that
is touched where it is mapped, a Linux of 2026 maps 2 MB, so that a process would soon hold the whole file.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import repeat
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Float16, Float32, Int, Shaped

from viewfinder.processors import share_out
from viewfinder.store.growing_arrays import release_rows

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

MIN_KEPT, MAX_READ = 256, 4096
"""Rows from which those that are read together are kept, as a turn's are and a page's are not; and up to which rows are
read: of more, what is mapped is quicker, six times a row."""

MAX_MAPPED = 1 << 30
"""Bytes of rows that stay mapped after a scan: those of two million pictures. More are given back to the system, in
whose memory of files they are found again."""

HALF_TO_SINGLE = Path(__file__).with_name("half_to_single.onnx")
HALF_PRODUCTS = Path(__file__).with_name("half_products.onnx")
"""One node, and one node for each block of rows, which tests/store/test_half_rows.py spells out."""


class HalfRows:
    """Rows in half precision that are read as float32.

    Attributes:
        half_nd: the rows as they are kept.
    """

    def __init__(self, half_nd: Float16[np.ndarray, "n d"], file: Path | None = None) -> None:
        """`file`: where the rows lie, from its first byte on, if they are mapped. Raises OSError: it is not there."""
        self.half_nd = half_nd
        self._descriptor: int | None = None
        self._read_last = (np.empty(0, np.int64), half_nd[:0])
        if file is not None and hasattr(os, "pread"):  # Windows has none
            self._descriptor = os.open(file, os.O_RDONLY)
            weakref.finalize(self, os.close, self._descriptor)

    def __reduce__(self) -> tuple[type[HalfRows], tuple[np.ndarray]]:
        return HalfRows, (self.half_nd,)  # another process has no file open

    def __len__(self) -> int:
        return len(self.half_nd)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many rows there are, and how wide they are."""
        return self.half_nd.shape

    def __getitem__(self, rows: Any) -> Float32[np.ndarray, ...]:
        """Rows in float32, copied; `part` copies nothing. Raises OSError: their file was cut short."""
        if isinstance(rows, int | np.integer):
            return np.asarray(self[np.array([rows])][0])
        if not isinstance(rows, np.ndarray):
            return to_single(self.half_nd[rows])
        if self._descriptor is not None and self._are_few(rows):
            return to_single(self._read(self._descriptor, rows))
        taken = to_single(self.half_nd[rows])
        self._release()
        return taken

    def _are_few(self, rows_k: Shaped[np.ndarray, " k"]) -> bool:
        """Whether these are few rows by their numbers, none of them counted from the end."""
        are_numbers = rows_k.dtype.kind == "i" and rows_k.ndim == 1
        is_few = are_numbers and 0 < len(rows_k) <= MAX_READ
        return is_few and bool(rows_k.min() >= 0 and rows_k.max() < len(self))

    def _read(self, descriptor: int, rows_k: Int[np.ndarray, " k"]) -> Float16[np.ndarray, "k d"]:
        """Rows from the file, unless they are among those that were read last: a turn and its question ask for the same
        ones several times."""
        known_s, half_sd = self._read_last
        place_k = np.searchsorted(known_s, rows_k)
        place_k[place_k == len(known_s)] = 0
        if len(known_s) and (known_s[place_k] == rows_k).all():
            return np.asarray(half_sd[place_k])
        if len(rows_k) < MIN_KEPT:
            return _read_rows(descriptor, rows_k, self.half_nd)
        rows_s = np.sort(rows_k)
        half_sd = _read_rows(descriptor, rows_s, self.half_nd)
        self._read_last = (rows_s, half_sd)
        return half_sd if (rows_s == rows_k).all() else np.asarray(half_sd[np.searchsorted(rows_s, rows_k)])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """All rows in float32."""
        return np.asarray(to_single(self.half_nd), dtype)

    def part(self, rows: slice | Int[np.ndarray, " k"]) -> HalfRows:
        """Some rows, still in half precision; those of a slice are not copied."""
        return HalfRows(self.half_nd[rows])

    def blocks(self) -> Iterator[Float32[np.ndarray, "b d"]]:
        """All rows in float32, some after others."""
        for start in range(0, len(self), BLOCK):
            yield self[start : start + BLOCK]
        self._release()

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
        self._release()
        return found

    def _release(self) -> None:
        """Gives back what a scan has mapped, if it is much."""
        if self.half_nd.nbytes > MAX_MAPPED:
            release_rows(self.half_nd)


Vectors: TypeAlias = Float32[np.ndarray, "n d"] | HalfRows
"""One vector a picture."""


def as_vectors(rows_nd: Float[np.ndarray, "n d"], file: Path | None = None) -> Float32[np.ndarray, "n d"] | HalfRows:
    """Rows as they are kept: of a large collection in half precision. `file` as of `HalfRows`."""
    if rows_nd.dtype == np.float16:
        return HalfRows(rows_nd, file)
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


def _read_rows(
    descriptor: int, rows_k: Int[np.ndarray, " k"], half_nd: Float16[np.ndarray, "n d"]
) -> Float16[np.ndarray, "k d"]:
    """Rows of an array from its file. Raises OSError: it was cut short."""
    width, size = half_nd.shape[1], half_nd.shape[1] * half_nd.itemsize
    content = b"".join(map(os.pread, repeat(descriptor), repeat(size), (rows_k * size).tolist()))
    if len(content) != len(rows_k) * size:
        raise OSError("the file of a snapshot's vectors was cut short since it was opened")
    return np.frombuffer(content, half_nd.dtype).reshape(len(rows_k), width)


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
