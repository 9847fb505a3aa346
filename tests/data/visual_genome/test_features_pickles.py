import os
import pickle
import subprocess
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.data.visual_genome.features import PickledVocabulary, read_pickle
from viewfinder.errors import BadInput

PROTOCOLS = pytest.mark.parametrize("protocol", range(6))

VALUE = {
    "region_boxes": np.arange(8, dtype=np.float32).reshape(2, 4),
    "columns_first": np.asfortranarray(np.arange(6, dtype=np.int64).reshape(2, 3)),
    "big_endian": np.array([1, 2], dtype=">i4"),
    "words": np.array(["kite", "é"]),
    "flags": np.array([True, False]),
    "none": np.zeros((0, 3), dtype=np.float16),
    "scalar": np.float32(0.5),
    "list": [1, 2.5, "é", None, True, (b"\xff", b""), {3: "x"}],
}


class Vocabulary:
    """As published code has it; pickled under the name of this test module."""

    def __init__(self) -> None:
        self.word2idx = {"<pad>": 0, "kite": 1}
        self.idx2word = {0: "<pad>", 1: "kite"}
        self.idx = 2


class Runs:
    """Runs a command when it is unpickled."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (self.command,)


def written(folder: Path, data: bytes) -> Path:
    file = folder / "value.npy"
    file.write_bytes(data)
    return file


def assert_same(found: Any, expected: Any) -> None:
    assert set(found) == set(expected)
    assert found["list"] == expected["list"]
    for key in expected.keys() - {"list"}:
        np.testing.assert_array_equal(found[key], expected[key])
        assert found[key].dtype.newbyteorder("=") == expected[key].dtype.newbyteorder("="), key


@PROTOCOLS
def test_arrays_and_plain_values_come_back_as_they_were(tmp_path: Path, protocol: int) -> None:
    assert_same(read_pickle(written(tmp_path, pickle.dumps(VALUE, protocol))), VALUE)


@PROTOCOLS
def test_the_module_names_of_numpy_1_are_known(tmp_path: Path, protocol: int) -> None:
    numbers = np.arange(6, dtype=np.float32)
    now = pickle.dumps(numbers, protocol)
    then = now.replace(b"cnumpy._core", b"cnumpy.core")
    for module in (b"numpy._core.multiarray", b"numpy._core.numeric"):  # from protocol 4 with their lengths
        then = then.replace(bytes([len(module)]) + module, bytes([len(module) - 1]) + module.replace(b"_", b"", 1))
    if protocol >= 4:  # the frame is one byte shorter
        then = then[:3] + (int.from_bytes(now[3:11], "little") - 1).to_bytes(8, "little") + then[11:]
    assert b"numpy.core" in then
    np.testing.assert_array_equal(read_pickle(written(tmp_path, then)), numbers)


def test_an_array_written_by_python_2_is_read(tmp_path: Path) -> None:
    # pickle.dumps({'f': numpy.arange(2, dtype='i4')}, 2) of Python 2.7: the numbers are a `str` there.
    raw = b"\x00\x00\x00\x00\x01\x00\x00\x00"
    data = (
        b"\x80\x02}U\x01fcnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01K\x02\x85cnumpy\ndtype\nU\x02i4K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        b"\x89U\x08" + raw + b"tbs."
    )
    np.testing.assert_array_equal(read_pickle(written(tmp_path, data))["f"], [0, 1])


@PROTOCOLS
def test_a_vocabulary_of_any_module_is_read_without_its_code(tmp_path: Path, protocol: int) -> None:
    data = pickle.dumps(Vocabulary(), protocol).replace(
        Vocabulary.__module__.encode(), b"v" * len(Vocabulary.__module__)
    )
    found = read_pickle(written(tmp_path, data))
    assert type(found) is PickledVocabulary
    assert found.word2idx == {"<pad>": 0, "kite": 1}
    assert found.idx2word == {0: "<pad>", 1: "kite"}


@PROTOCOLS
def test_a_command_is_refused_by_name_and_not_run(tmp_path: Path, protocol: int) -> None:
    trace = tmp_path / "trace"
    file = written(tmp_path, pickle.dumps({"region_boxes": Runs(f"touch {trace}")}, protocol))
    with pytest.raises(BadInput, match=r"value\.npy: this pickle holds (posix|nt)\.system"):
        read_pickle(file)
    assert not trace.exists()


@pytest.mark.parametrize(
    "value",
    [
        OrderedDict(a=1),
        {1, 2, Path()},
        subprocess.Popen,
        eval,
        np.array([object, None], dtype=object),
        np.zeros(2, dtype=[("x", "f4")]),
        np.array(["2026-01-01"], dtype="M8[D]"),
        np.ma.array([1.0]),
        np.random.default_rng(0),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("protocol", [2, 5])
def test_what_is_not_plain_data_is_refused(tmp_path: Path, value: object, protocol: int) -> None:
    with pytest.raises(BadInput, match="which is not plain data"):
        read_pickle(written(tmp_path, pickle.dumps(value, protocol)))


@PROTOCOLS
def test_a_truncated_pickle_is_named(tmp_path: Path, protocol: int) -> None:
    whole = pickle.dumps(VALUE, protocol)
    for length in range(0, len(whole) - 1, 7):
        with pytest.raises(BadInput, match=r"value\.npy: (damaged pickle|this pickle holds)"):
            read_pickle(written(tmp_path, whole[:length]))


@settings(max_examples=300)
@given(position=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_a_flipped_byte_gives_a_value_or_one_clear_line(
    tmp_path_factory: pytest.TempPathFactory, position: int, byte: int
) -> None:
    data = bytearray(pickle.dumps(VALUE, position % 6))
    data[position % len(data)] = byte
    file = written(tmp_path_factory.mktemp("flipped"), bytes(data))
    try:
        read_pickle(file)
    except BadInput as error:
        assert str(error).startswith(f"{file}: ")
        assert "\n" not in str(error)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"absent\.npy: no such file"):
        read_pickle(tmp_path / "absent.npy")


def test_a_real_npy_file_is_a_damaged_pickle(tmp_path: Path) -> None:
    np.save(tmp_path / "real.npy", np.zeros(3))
    with pytest.raises(BadInput, match=r"real\.npy: damaged pickle"):
        read_pickle(tmp_path / "real.npy")
