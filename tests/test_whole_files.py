"""A file is replaced as a whole, or stays as it was."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from viewfinder.whole_files import mark_file, replace_file, write_file


def test_a_file_has_its_old_content_until_the_new_one_is_complete(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_file(file, "old\r\n")
    with replace_file(file) as beside:
        beside.write_bytes(b"new")
        assert file.read_bytes() == b"old\r\n"
        assert beside.name.startswith(".file.") and beside.name.endswith(".part")
    assert [it.read_bytes() for it in tmp_path.iterdir()] == [b"new"]


def test_a_file_that_could_not_be_written_stays_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_file(file, b"old")
    with pytest.raises(OSError, match="full"), replace_file(file) as beside:
        beside.write_bytes(b"ne")
        raise OSError("full")
    with pytest.raises(FileNotFoundError), replace_file(file):
        pass  # nothing was written
    assert [it.read_bytes() for it in tmp_path.iterdir()] == [b"old"]


def test_a_lasting_file_is_on_the_disk_before_and_after_it_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, file, fsync = list[str](), tmp_path / "file", os.fsync

    def note_sync(handle: int) -> None:
        status = os.fstat(handle)
        steps.append(f"{'folder' if stat.S_ISDIR(status.st_mode) else status.st_size}, {file.exists()}")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", note_sync)
    write_file(file, b"12345", lasting=True)
    assert steps == ["5, False", "folder, True"]
    write_file(file, b"")
    assert len(steps) == 2


def test_the_mark_of_a_file_changes_when_it_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert mark_file(file) == mark_file(file / "inside") == (0, 0)
    write_file(file, "a")
    first = mark_file(file)
    write_file(file, "a")
    assert mark_file(file) not in (first, (0, 0))
