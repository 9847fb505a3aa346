"""Vectors in half precision are read as float32, and products are those of the same numbers in float32."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from viewfinder.search.kernels import dot_scores
from viewfinder.search.parts import contrast_scores
from viewfinder.store import half_rows
from viewfinder.store.growing_arrays import find_rows_file, map_rows, save_rows
from viewfinder.store.half_rows import (
    CONVERTED_AT_ONCE,
    HALF_FROM,
    HALF_PRODUCTS,
    HALF_TO_SINGLE,
    MIN_CONVERTED,
    SHARED_OUT,
    HalfRows,
    as_vectors,
    find_kept_type,
    take_rows,
    to_single,
)

EVERY_HALF = np.arange(2**16, dtype=np.uint16).view(np.float16)


def some_rows(count: int, width: int = 8) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((count, width)).astype(np.float16)


def test_the_conversion_is_one_cast() -> None:
    spelt = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 13]>
        half_to_single (float16[numbers] half) => (float[numbers] single) { single = Cast <to = 1> (half) }
    """)
    assert onnx.load(HALF_TO_SINGLE) == spelt


def test_products_are_a_cast_and_a_matrix_product_of_each_block() -> None:
    spelt = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 13]>
        half_products (float16[blocks, rows, d] half, float[d, m] query) => (float[blocks, rows, m] products) {
            products = Scan <num_scan_inputs = 1, body = block (float16[rows, d] some) => (float[rows, m] found) {
                single = Cast <to = 1> (some)
                found = MatMul (single, query)
            }> (half)
        }
    """)
    assert onnx.load(HALF_PRODUCTS) == spelt


def test_every_number_in_half_precision_is_converted_as_numpy_does() -> None:
    assert len(EVERY_HALF) >= MIN_CONVERTED
    np.testing.assert_array_equal(to_single(EVERY_HALF), EVERY_HALF.astype(np.float32))


def test_whatever_is_taken_is_float32() -> None:
    half_nd = some_rows(4)
    rows = HalfRows(half_nd)
    assert (len(rows), rows.shape) == (4, (4, 8))
    for taken, same in (
        (rows[1], half_nd[1]),
        (rows[1:3], half_nd[1:3]),
        (rows[np.array([3, 0])], half_nd[[3, 0]]),
        (np.asarray(rows), half_nd),
        (np.concatenate(list(rows.blocks())), half_nd),
    ):
        assert taken.dtype == np.float32
        np.testing.assert_array_equal(taken, same.astype(np.float32))


def test_a_slice_is_taken_in_half_precision_and_other_rows_are_not() -> None:
    rows = HalfRows(some_rows(4))
    part = take_rows(rows, slice(1, 3))
    assert isinstance(part, HalfRows)
    assert np.shares_memory(part.half_nd, rows.half_nd)
    assert isinstance(take_rows(rows, np.array([1])), np.ndarray)
    assert isinstance(take_rows(rows[:], slice(1, 3)), np.ndarray)


def test_only_rows_in_half_precision_are_wrapped() -> None:
    assert isinstance(as_vectors(some_rows(2)), HalfRows)
    assert isinstance(as_vectors(some_rows(2).astype(np.float32)), np.ndarray)


def test_half_precision_is_kept_where_an_index_can_be_made_and_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    for is_there, size, kept in (
        (True, HALF_FROM, np.float16),
        (True, HALF_FROM - 1, np.float32),
        (False, HALF_FROM, np.float32),
    ):
        monkeypatch.setattr(half_rows, "find_spec", lambda name, is_there=is_there: name if is_there else None)
        assert find_kept_type(size) == kept


@pytest.mark.parametrize("count", [0, 1, CONVERTED_AT_ONCE, CONVERTED_AT_ONCE + 3, SHARED_OUT + CONVERTED_AT_ONCE + 1])
def test_products_are_those_of_the_same_numbers_in_float32(count: int) -> None:
    rows, query_md = HalfRows(some_rows(count)), some_rows(3).astype(np.float32)
    np.testing.assert_allclose(dot_scores(rows, query_md[0]), rows[:] @ query_md[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dot_scores(rows, query_md), query_md @ rows[:].T, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("count", [0, 70, 8192 + 70])
def test_words_against_their_rivals_are_those_of_float32(count: int) -> None:
    rows, rivals_rd = HalfRows(some_rows(count)), some_rows(3).astype(np.float32)
    expected_n = contrast_scores(rows[:], rivals_rd[0], rivals_rd)
    np.testing.assert_allclose(contrast_scores(rows, rivals_rd[0], rivals_rd), expected_n, rtol=1e-5, atol=1e-6)


@pytest.fixture
def rows_of_file(tmp_path: Path) -> HalfRows:
    """Rows whose file is mapped, with another row behind them, as that of a later state has."""
    half_nd = some_rows(4001)
    save_rows(tmp_path / "rows", half_nd)
    return HalfRows(map_rows(tmp_path / "rows")[:4000], find_rows_file(tmp_path / "rows"))


def test_rows_that_are_read_from_their_file_are_those_that_are_mapped(
    rows_of_file: HalfRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(half_rows, "MAX_READ", 1000)
    mapped_nd = rows_of_file.half_nd.astype(np.float32)
    rng = np.random.default_rng(0)
    many_k = rng.choice(4000, 300, replace=False)
    for rows in (
        *(many_k, many_k[:50], many_k[::-1], np.sort(many_k), np.array([1, 1, 0]), np.array([3999])),  # few, and known
        *(np.empty(0, np.int64), np.arange(4000), np.array([-1, 2]), np.arange(4000) % 7 == 0, slice(5, 9)),
    ):
        np.testing.assert_array_equal(rows_of_file[rows], mapped_nd[rows])
    np.testing.assert_array_equal(rows_of_file[7], mapped_nd[7])
    with pytest.raises(IndexError):
        rows_of_file[np.array([4000])]


def test_what_is_taken_of_rows_that_were_read_before_may_be_changed(rows_of_file: HalfRows) -> None:
    rows_k = np.arange(0, 4000, 10)
    taken_kd = rows_of_file[rows_k]
    taken_kd[:] = 0
    np.testing.assert_array_equal(rows_of_file[rows_k], rows_of_file.half_nd[rows_k].astype(np.float32))


def test_few_rows_are_read_without_mapping_what_lies_around_them(tmp_path: Path) -> None:
    save_rows(tmp_path / "rows", np.zeros((65_536, 256), np.float16))
    code = f"""
from pathlib import Path
import numpy as np, psutil
from viewfinder.store.growing_arrays import find_rows_file, map_rows
from viewfinder.store.half_rows import HalfRows

def count_mapped():
    return psutil.Process().memory_info().shared

stem, rows_k = Path({str(tmp_path / "rows")!r}), np.arange(0, 65_536, 64)
rows = HalfRows(map_rows(stem), find_rows_file(stem))
rows[rows_k]
before = count_mapped()
rows[rows_k + 1]
after = count_mapped()
rows.half_nd[rows_k].sum()
print(after - before, count_mapped() - after)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    read, mapped = map(int, done.stdout.split())
    assert 10 * read < mapped


@pytest.mark.parametrize("is_large", [True, False])
def test_what_a_scan_has_mapped_is_given_back_if_it_is_much(
    rows_of_file: HalfRows, monkeypatch: pytest.MonkeyPatch, is_large: bool
) -> None:
    released = list[int]()
    monkeypatch.setattr(half_rows, "release_rows", lambda rows: released.append(len(rows)))
    monkeypatch.setattr(half_rows, "MAX_MAPPED", rows_of_file.half_nd.nbytes - is_large)
    rows_of_file.products(np.ones(8, np.float32))
    list(rows_of_file.blocks())
    rows_of_file[np.arange(4000) % 2 == 0]
    rows_of_file[np.arange(4000)[::2]]
    assert released == [4000, 4000, 4000] * is_large  # the last were read from the file
