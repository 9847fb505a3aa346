"""Vectors that somebody else computed, joined into arrays: all of them, whatever happens on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from viewfinder.encoders.features import Features
from viewfinder.encoders.features.compute import MAX_PICTURES, PictureVectors
from viewfinder.encoders.features.precomputed import collect_stored_vectors
from viewfinder.encoders.features.store import PictureFile
from viewfinder.errors import BadInput, EncoderMismatch


@dataclass
class Files:
    """Files that hold the number of their picture; `read` notes which were read, and can be cut off."""

    bad: frozenset[int] = frozenset()
    dies_at: int = -1
    read: list[int] = field(default_factory=list)

    def __call__(self, source: PictureFile) -> PictureVectors:
        number = int(source.key)
        if number == self.dies_at:
            raise KeyboardInterrupt
        self.read.append(number)
        if number in self.bad:
            raise BadInput(f"{number}: damaged")
        value = np.float32(number)
        return PictureVectors(np.full(3, value), np.full((2, 4), value), np.full((2, 4), value / 2))


def sources(count: int) -> list[PictureFile]:
    return [PictureFile(f"{number:03}", 10, number) for number in range(count)]


def joined(folder: Path, count: int, files: Files, version: str = "d-1", part: str = "") -> Features:
    return collect_stored_vectors(folder, version, sources(count), files, out=folder / "out", part=part)


def arrays(found: Features) -> Iterator[np.ndarray]:
    assert found.regions_nre is not None
    assert found.boxes_nr4 is not None
    yield from (found.raw_nd, found.regions_nre, found.boxes_nr4)


def test_rows_are_the_pictures_in_order(tmp_path: Path) -> None:
    found = joined(tmp_path, 5, Files())
    raw_nd, regions_nre, boxes_nr4 = arrays(found)
    assert found.keys == ("000", "001", "002", "003", "004")
    assert raw_nd[:, 0].tolist() == regions_nre[:, 1, 3].tolist() == [0, 1, 2, 3, 4]
    assert boxes_nr4[4, 0, 0] == 2
    assert [array.dtype.name for array in arrays(found)] == ["float32", "float16", "float32"]
    assert all(isinstance(array, np.memmap) for array in arrays(found))


def test_a_second_call_reads_nothing(tmp_path: Path) -> None:
    joined(tmp_path, 5, Files())
    again = Files()
    assert len(joined(tmp_path, 5, again)) == 5
    assert again.read == []
    assert not (tmp_path / "out" / "work").exists()


def test_what_cannot_be_read_is_left_out_with_the_reason(tmp_path: Path) -> None:
    found = joined(tmp_path, 4, Files(bad=frozenset({0, 2})))
    assert found.keys == ("001", "003")
    assert found.raw_nd[:, 0].tolist() == [1, 3]
    assert [bad.reason for bad in found.dropped] == ["0: damaged", "2: damaged"]


@pytest.mark.parametrize("bad", [frozenset[int](), frozenset({1, MAX_PICTURES, MAX_PICTURES + 1})])
def test_an_interrupted_call_goes_on_where_it_was(tmp_path: Path, bad: frozenset[int]) -> None:
    count = 2 * MAX_PICTURES + 10
    (tmp_path / "whole").mkdir()
    whole = joined(tmp_path / "whole", count, Files(bad))
    with pytest.raises(KeyboardInterrupt):
        joined(tmp_path, count, Files(bad, dies_at=MAX_PICTURES + 5))
    rest = Files(bad)
    resumed = joined(tmp_path, count, rest)
    assert rest.read == list(range(MAX_PICTURES, count))
    assert resumed.keys == whole.keys
    assert all(np.array_equal(a, b) for a, b in zip(arrays(resumed), arrays(whole), strict=True))


@pytest.mark.parametrize("harm", [lambda text: text[:-20], lambda text: text + '["half a li'])
def test_a_journal_that_was_cut_short_costs_a_file_and_no_row(tmp_path: Path, harm: Callable[[str], str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        joined(tmp_path, MAX_PICTURES + 9, Files(dies_at=MAX_PICTURES + 5))
    journal = tmp_path / "out" / "work" / "journal.jsonl"
    journal.write_text(harm(journal.read_text()))
    found = joined(tmp_path, MAX_PICTURES + 9, Files())
    assert found.raw_nd[:, 0].tolist() == list(range(MAX_PICTURES + 9))


def test_rows_that_the_journal_does_not_know_are_written_again(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        joined(tmp_path, MAX_PICTURES + 9, Files(dies_at=MAX_PICTURES + 5))
    with (tmp_path / "out" / "work" / "regions.npy").open("ab") as stream:
        stream.write(b"half a row")
    found = joined(tmp_path, MAX_PICTURES + 9, Files())
    assert found.regions_nre is not None
    assert found.regions_nre[:, 0, 0].tolist() == list(range(MAX_PICTURES + 9))


def test_a_call_that_died_while_it_finished_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(file: Path, content: object, lasting: bool) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("viewfinder.encoders.features.store.write_file", dies)
        with pytest.raises(KeyboardInterrupt):
            joined(tmp_path, 5, Files())
    files = Files()
    assert joined(tmp_path, 5, files).raw_nd[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert files.read == []


def test_a_picture_that_comes_after_a_call_died_while_it_finished_costs_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("viewfinder.encoders.features.store.write_file", lambda file, content, lasting: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            joined(tmp_path, 5, Files())
    assert joined(tmp_path, 6, Files()).raw_nd[:, 0].tolist() == [0, 1, 2, 3, 4, 5]


def test_vectors_of_another_shape_are_refused(tmp_path: Path) -> None:
    def read(source: PictureFile) -> PictureVectors:
        width = 3 if int(source.key) < MAX_PICTURES else 4
        return PictureVectors(np.zeros(width, np.float32))

    with pytest.raises(BadInput, match=r"vectors of shapes \(3,\) and \(4,\); delete .* and repeat"):
        collect_stored_vectors(tmp_path, "d-1", sources(MAX_PICTURES + 1), read, out=tmp_path / "out")


def test_a_file_that_changed_is_read_again_and_the_old_arrays_go(tmp_path: Path) -> None:
    joined(tmp_path, 3, Files())
    changed = [*sources(2), PictureFile("002", 11, 2)]
    files = Files()
    collect_stored_vectors(tmp_path, "d-1", changed, files, out=tmp_path / "out")
    assert files.read == [0, 1, 2]
    assert len(list((tmp_path / "out").glob("*.npy"))) == 3


def test_numbers_beyond_half_precision_become_its_largest(tmp_path: Path) -> None:
    def read(source: PictureFile) -> PictureVectors:
        return PictureVectors(np.zeros(1, np.float32), np.full((1, 1), 1e6, np.float32), np.zeros((1, 4), np.float32))

    found = collect_stored_vectors(tmp_path, "d-1", sources(1), read, out=tmp_path / "out")
    assert found.regions_nre is not None
    assert found.regions_nre[0, 0, 0] == np.finfo(np.float16).max


def test_parts_of_a_data_set_have_arrays_of_their_own(tmp_path: Path) -> None:
    test, val = (joined(tmp_path, count, Files(), part=part) for part, count in (("test", 2), ("val", 3)))
    assert (len(test), len(val)) == (2, 3)
    assert test.folder != val.folder


def test_where_nothing_can_be_read_the_first_reason_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none of 2 pictures has vectors; 0: damaged"):
        joined(tmp_path, 2, Files(bad=frozenset({0, 1})))


def test_vectors_of_another_version_are_not_taken_for_these(tmp_path: Path) -> None:
    joined(tmp_path, 2, Files())
    with pytest.raises(EncoderMismatch, match=r"features of d-1, not d-2"):
        joined(tmp_path, 2, Files(), version="d-2")
