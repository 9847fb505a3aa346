"""Vectors that the user brings: four kinds of file, checked against their names."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from safetensors.numpy import save_file

from viewfinder.encoders.features import read_vectors
from viewfinder.errors import BadInput

VECTORS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], np.float16)
NAMES = ("a.jpg", "b.jpg", "é.jpg")


def _write(folder: Path, suffix: str, *, vectors_nd: np.ndarray = VECTORS, names: object = NAMES) -> Path:
    file = folder / f"vectors{suffix}"
    match suffix:
        case ".npy":
            np.save(file, vectors_nd)
        case ".npz":
            np.savez(file, vectors=vectors_nd)
        case _:
            save_file({"vectors": vectors_nd}, file)
    file.with_name(f"{file.name}.json").write_text(json.dumps(names))
    return file


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
def test_vectors_come_with_the_names_beside_them(tmp_path: Path, suffix: str) -> None:
    keys, vectors_nd = read_vectors(_write(tmp_path, suffix))
    assert keys == NAMES
    assert vectors_nd.dtype == np.float16
    np.testing.assert_array_equal(vectors_nd, VECTORS)
    assert isinstance(vectors_nd, np.memmap) == (suffix == ".npy")


def test_an_npz_may_hold_its_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", vectors=VECTORS, keys=np.array(NAMES))
    assert read_vectors(tmp_path / "v.npz")[0] == NAMES


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
def test_a_truncated_file_is_named(tmp_path: Path, suffix: str) -> None:
    file = _write(tmp_path, suffix)
    file.write_bytes(file.read_bytes()[:-2])
    with pytest.raises(BadInput, match=rf"vectors\{suffix}: damaged"):
        read_vectors(file)


@pytest.mark.parametrize(
    ("vectors_nd", "why"),
    [
        (VECTORS[:2], "2 vectors, but 3 keys"),
        (VECTORS[0], r"floats \(n d\) are needed, not float16 \(2,\)"),
        (np.zeros((3, 0), np.float32), r"floats \(n d\) are needed"),
        (np.ones((3, 2), np.int64), "not int64"),
        (np.array([[1, 2], [np.inf, 1], [0, np.nan]], np.float32), "that of 'b.jpg' is not finite"),
    ],
)
def test_vectors_that_cannot_be_right_are_refused(tmp_path: Path, vectors_nd: np.ndarray, why: str) -> None:
    file = _write(tmp_path, ".npy", vectors_nd=vectors_nd)
    with pytest.raises(BadInput, match=why):
        read_vectors(file)


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["a", "b", "a"], "keys: 'a' is there 2 times"),
        ({"a": 0}, "a JSON list of the pictures' names is needed"),
        ([1, 2, 3], "a JSON list of the pictures' names is needed"),
        ([], "3 vectors, but 0 keys"),
    ],
)
def test_names_that_cannot_be_right_are_refused(tmp_path: Path, names: object, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        read_vectors(_write(tmp_path, ".npz", names=names))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"v\.npy: no such file"):
        read_vectors(tmp_path / "v.npy")
    (tmp_path / "v.pkl").write_bytes(b"")
    with pytest.raises(BadInput, match=r"\.npy, \.npz, \.parquet or \.safetensors is needed, not \.pkl"):
        read_vectors(tmp_path / "v.pkl")
    np.savez(tmp_path / "v.npz", other=VECTORS)
    with pytest.raises(BadInput, match="there is no array `vectors` in it"):
        read_vectors(tmp_path / "v.npz")
    file = _write(tmp_path, ".npy")
    file.with_name("vectors.npy.json").write_text("[")
    with pytest.raises(BadInput, match=r"vectors\.npy\.json: damaged"):
        read_vectors(file)
    file.with_name("vectors.npy.json").unlink()
    with pytest.raises(BadInput, match=r"vectors\.npy\.json: no such file; a JSON list"):
        read_vectors(file)


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(BadInput, match="damaged, or pickled"):
        read_vectors(tmp_path / "v.npy")


def _write_parquet(folder: Path, **columns: object) -> Path:
    parquet.write_table(pa.table(columns), folder / "v.parquet", row_group_size=2)
    return folder / "v.parquet"


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 2), pa.list_(pa.float16(), 2)])
def test_a_parquet_file_has_a_row_a_picture(tmp_path: Path, kind: pa.DataType) -> None:
    rows = pa.array(VECTORS.tolist() if kind.value_type == pa.float32() else list(VECTORS), kind)
    keys, vectors_nd = read_vectors(_write_parquet(tmp_path, key=list(NAMES), vector=rows, width=[1, 2, 3]))
    assert keys == NAMES
    np.testing.assert_allclose(vectors_nd, VECTORS, atol=1e-3)


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        (
            {"key": ["a"], "embedding": [[1.0]]},
            "v.parquet: there is no column `vector` in it; key and vector are needed",
        ),
        ({"key": ["a", "b"], "vector": [[1.0], [1.0, 2.0]]}, "vector: lists of one length are needed, not of 1, 2"),
        ({"key": ["a", "b"], "vector": [[1.0], None]}, "vector: lists of one length are needed, not of 1, None"),
        ({"key": ["a"], "vector": ["1.0"]}, "vector: lists of floats are needed, not string"),
        ({"key": ["a"], "vector": [["1.0"]]}, r"floats \(n d\) are needed, not object"),
        ({"key": ["a", "a"], "vector": [[1.0], [2.0]]}, "keys: 'a' is there 2 times"),
    ],
)
def test_a_parquet_file_that_cannot_be_right_is_refused(tmp_path: Path, columns: dict[str, object], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        read_vectors(_write_parquet(tmp_path, **columns))
