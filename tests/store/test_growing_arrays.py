"""Arrays that grow by rows: what is filled in place is as what is saved at once."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from viewfinder.store import checksums
from viewfinder.store.growing_arrays import extend_rows, fill_rows, map_rows, release_rows, save_rows


def test_rows_that_are_filled_where_they_lie_are_as_if_they_were_saved(tmp_path: Path) -> None:
    def fill(rows_nd: np.ndarray) -> None:
        rows_nd[1] = (3, 4)
        rows_nd[0] = (1, 2)

    fill_rows(tmp_path / "filled", (2, 2), np.float32, fill)
    save_rows(tmp_path / "saved", np.array([(1, 2), (3, 4)], np.float32))
    assert map_rows(tmp_path / "filled").tolist() == [[1, 2], [3, 4]]
    assert (tmp_path / "filled.json").read_bytes() == (tmp_path / "saved.json").read_bytes()
    fill_rows(tmp_path / "none", (0, 2), np.float32, fill)
    assert map_rows(tmp_path / "none").shape == (0, 2)


def test_rows_that_the_disk_has_no_room_for_are_refused_before_any_is_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(OSError, match="No space left"):
        fill_rows(tmp_path / "rows", (2, 2), np.float32, lambda rows_nd: pytest.fail("it was filled"))
    assert list(tmp_path.iterdir()) == []


def test_rows_are_reserved_where_the_system_cannot_do_so_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "posix_fallocate")
    monkeypatch.setattr("viewfinder.store.growing_arrays.RESERVED_AT_ONCE", 7)
    fill_rows(tmp_path / "rows", (2, 2), np.float32, lambda rows_nd: rows_nd.fill(5))
    assert map_rows(tmp_path / "rows").tolist() == [[5, 5], [5, 5]]


def test_memory_that_is_given_back_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksums, "LARGE", 0)
    save_rows(tmp_path / "rows", np.arange(4096, dtype=np.float32).reshape(-1, 4))
    mapped = map_rows(tmp_path / "rows")
    release_rows(mapped)
    release_rows(mapped[5:])
    release_rows(np.ones((2, 2)))  # not mapped
    assert mapped[3].tolist() == [12, 13, 14, 15] and mapped[1023, 3] == 4095


def test_what_was_checked_is_not_read_again_when_rows_are_appended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_rows(tmp_path / "rows", np.ones((3, 2), np.float32))
    map_rows(tmp_path / "rows")
    extend_rows(tmp_path / "rows", np.zeros((2, 2), np.float32))
    read: list[int] = []

    def note(content: bytes, before: int = 0) -> int:
        read.append(len(content))
        return crc32(content, before)

    monkeypatch.setattr("zlib.crc32", note)
    assert map_rows(tmp_path / "rows").tolist() == [[1, 1]] * 3 + [[0, 0]] * 2
    assert 24 not in read and 16 in read  # 3 rows of 8 bytes were known, 2 were not
