"""Large files that were checked are used at once and read again in the background; damage is still noticed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from viewfinder.library import Library
from viewfinder.store import checked_files, checksums, growing_arrays
from viewfinder.store.checked_files import check_waiting, list_damaged, was_checked
from viewfinder.store.checksums import find_damage, forget_checksums, map_sealed, record_checksums, seal_file
from viewfinder.store.growing_arrays import extend_rows, link_rows, map_rows, save_rows
from viewfinder.testing import load_colour_encoder, tiny_pictures


@pytest.fixture(autouse=True)
def notes_of_small_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The background reads when a test says so, and nothing is remembered from other tests."""
    for module in (checked_files, checksums, growing_arrays):
        monkeypatch.setattr(module, "NOTED_FROM", 1)
    monkeypatch.setattr(checked_files, "_start_reading", lambda: None)
    forget()
    yield
    checked_files._waiting.clear()
    forget()
    checked_files._damaged.clear()


def forget() -> None:
    """As a process that has just been started."""
    checked_files._checked.clear()
    checked_files._asked.clear()
    growing_arrays._verified.clear()
    checksums._verified.clear()
    checksums._trusted.clear()
    checksums._doubted.clear()


def damage(file: Path, place: int = 0) -> None:
    """As a disk does: another byte, and the same time."""
    status, content = file.stat(), bytearray(file.read_bytes())
    content[place] ^= 16
    with file.open("r+b") as stream:
        stream.write(content)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    save_rows(tmp_path / "rows", ROWS)
    map_rows(tmp_path / "rows")
    forget()
    return tmp_path / "rows"


def count_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    read: list[int] = []
    real = checksums.checksum_file

    def note(file: Path, size: int | None = None, start: int = 0) -> int:
        read.append(size or 0)
        return real(file, size, start)

    monkeypatch.setattr(growing_arrays, "checksum_file", note)
    return read


def test_the_next_process_reads_nothing_before_and_all_of_it_after(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = count_read(monkeypatch)
    np.testing.assert_array_equal(map_rows(rows), ROWS)
    assert read == []
    check_waiting()
    assert read == [24] and list_damaged() == []
    map_rows(rows)
    check_waiting()
    assert read == [24]


def test_damage_that_changed_no_time_is_found_in_the_background_and_then_by_whoever_opens(rows: Path) -> None:
    damage(rows.with_name("rows.rows"))
    map_rows(rows)
    check_waiting()
    assert list_damaged() == [rows.with_name("rows.rows")]
    for _ in range(2):
        with pytest.raises(ValueError, match="damaged"):
            map_rows(rows)


def test_a_file_with_another_time_size_or_list_is_read_at_once(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, file = count_read(monkeypatch), rows.with_name("rows.rows")
    os.utime(file, ns=(1, 1))
    map_rows(rows)
    assert read == [24]
    forget()
    file.with_name("copy").write_bytes(file.read_bytes())
    file.with_name("copy").replace(file)
    map_rows(rows)
    assert read == [24, 24]
    save_rows(rows, ROWS[:2])
    map_rows(rows)
    assert read == [24, 24, 16]


def test_a_note_is_for_those_who_may_read_the_file(rows: Path) -> None:
    file = rows.with_name("rows.rows")
    file.chmod(0o600)
    os.utime(file, ns=(1, 1))
    map_rows(rows)
    assert rows.with_name("rows.rows.checked").stat().st_mode & 0o777 == 0o600


def test_a_note_that_cannot_be_read_is_none(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = count_read(monkeypatch)
    for content in (b"", b"{", b"[1]", b'{"file": 3, "checksums": [1]}'):
        rows.with_name("rows.rows.checked").write_bytes(content)
        map_rows(rows)
        forget()
    assert read == [24] * 4


def test_what_grows_is_known_as_far_as_it_was(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = count_read(monkeypatch)
    link_rows(rows, rows.with_name("grown"))
    extend_rows(rows.with_name("grown"), ROWS[:1])
    forget()
    assert map_rows(rows.with_name("grown")).tolist() == [[0, 1], [2, 3], [4, 5], [0, 1]]
    assert read == []
    check_waiting()
    assert read == [24, 8]


def test_a_sealed_file_is_known_to_be_whole_by_whoever_sealed_it(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    seal_file(file)
    forget()
    assert bytes(map_sealed(file)) == b"content"
    damage(file)
    assert bytes(map_sealed(file)) == bytes([ord("c") ^ 16]) + b"ontent"  # until it is read
    check_waiting()
    with pytest.raises(ValueError, match="damaged"):
        map_sealed(file)


def test_a_small_file_has_no_note(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows.with_name("rows.rows.checked").unlink()
    monkeypatch.setattr(checked_files, "NOTED_FROM", 25)
    map_rows(rows)
    assert not rows.with_name("rows.rows.checked").exists()
    forget()
    assert not was_checked(rows.with_name("rows.rows"), [], lambda: True)


def test_a_library_that_is_open_is_opened_anew_when_its_snapshot_is_found_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viewfinder.library.load_encoder", load_colour_encoder)
    tiny_pictures(tmp_path / "pictures", 6)
    library = Library.open(tmp_path / "library")
    library.add(tmp_path / "pictures", workers=1)
    before = [(hit.path, hit.score) for hit in library.find("red", n=3)]
    folder = library.gallery().snapshot.folder
    assert folder is not None
    forget()
    damage(folder / "matrix.rows", 3)
    other = Library.open(tmp_path / "library")
    damaged = other.gallery()
    assert other.gallery() is damaged
    check_waiting()
    assert damaged.snapshot.is_damaged
    assert [(hit.path, hit.score) for hit in other.find("red", n=3)] == before
    assert other.gallery() is not damaged and not other.gallery().snapshot.is_damaged


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """As Lance leaves it: a version, and a file with rows."""
    for name in ("_versions/1.manifest", "data/a.lance"):
        (tmp_path / "table" / name).parent.mkdir(parents=True)
        (tmp_path / "table" / name).write_text(name)
    record_checksums(tmp_path / "table")
    return tmp_path / "table"


def note_files_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    read: list[str] = []
    real = checksums.checksum_file

    def note(file: Path) -> int:
        read.append(file.name)
        return real(file)

    monkeypatch.setattr(checksums, "checksum_file", note)
    return read


def test_a_table_is_read_after_it_is_used_by_all_processes_but_the_first(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = note_files_read(monkeypatch)
    assert find_damage(table) == read == []  # who wrote it has noted it
    check_waiting()
    assert (sorted(read), list_damaged()) == (["1.manifest", "a.lance"], [])
    find_damage(table)
    check_waiting()
    assert len(read) == 2
    (table / "_checked").unlink()  # of an earlier viewfinder
    forget()
    assert (find_damage(table), len(read)) == ([], 4)
    forget()
    assert (find_damage(table), len(read)) == ([], 4)


def test_damage_to_a_table_that_changed_no_time_is_found_in_the_background_and_then_by_whoever_opens_it(
    table: Path,
) -> None:
    damage(table / "data/a.lance")
    assert find_damage(table) == []
    check_waiting()
    assert list_damaged() == [table / "data/a.lance"]
    assert find_damage(table) == ["data/a.lance"]
    forget()
    assert find_damage(table) == ["data/a.lance"]


def test_damage_to_a_table_is_remembered_where_its_note_stays(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("a disk that may only be read")

    monkeypatch.setattr(checksums, "write_file", refuse)
    damage(table / "data/a.lance")
    assert find_damage(table) == []
    check_waiting()
    assert (list_damaged(), find_damage(table)) == ([table / "data/a.lance"], ["data/a.lance"])


def test_verifying_believes_no_note(table: Path) -> None:
    damage(table / "data/a.lance")
    assert find_damage(table) == []
    assert find_damage(table, everything=True) == ["data/a.lance"]


@pytest.mark.parametrize("changed", ["time", "copy"])
def test_a_file_of_a_table_with_another_time_or_inode_is_read_at_once(
    changed: str, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, file = note_files_read(monkeypatch), table / "data/a.lance"
    if changed == "time":
        os.utime(file, ns=(1, 1))
    else:
        shutil.copy2(file, table / "copy")
        (table / "copy").replace(file)
    assert (find_damage(table), read) == ([], ["a.lance"])


def test_notes_of_files_that_lance_cleared_away_go_with_their_lines(table: Path) -> None:
    (table / "data/a.lance").unlink()
    forget_checksums(table)
    assert [line.split(" ")[4] for line in (table / "_checked").read_text().splitlines()] == ["_versions/1.manifest"]


def test_a_table_that_cannot_be_written_to_is_read_each_time(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (table / "_checked").unlink()
    (table / "_checked").mkdir()  # root may write everywhere
    read = note_files_read(monkeypatch)
    for count in (2, 4):
        forget()
        assert (find_damage(table), len(read)) == ([], count)


def test_a_line_of_notes_that_was_cut_short_or_changed_counts_for_nothing(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = (table / "_checked").read_text()
    (table / "_checked").write_text(notes.replace("a.lance", "b.lance")[:-3])
    read = note_files_read(monkeypatch)
    assert (find_damage(table), read) == ([], ["a.lance"])
