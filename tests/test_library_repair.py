"""A repair may be interrupted at any moment; rows come back from the right snapshot; what is lost is said."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import viewfinder.library
from viewfinder import whole_files
from viewfinder.errors import DamagedLibrary, NotALibrary
from viewfinder.library import Library
from viewfinder.store import repair, repair_journal, tables
from viewfinder.store.regions import StoredVectors
from viewfinder.store.rows import PictureRow
from viewfinder.store.server_database import find_database_damage, set_database_aside
from viewfinder.store.snapshot_files import GENERATION
from viewfinder.store.spaces import build_space
from viewfinder.testing import ColourEncoder, load_colour_encoder, tiny_pictures

RAW, SHARED = "vectors.colours-raw-1", "vectors.colours-raw-1-1-1-1"


@pytest.fixture(autouse=True)
def colours_for_an_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with two snapshots, of before its captions and of now; nobody changes it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        home = tmp_path_factory.mktemp("repair") / "library"
        library = Library.open(home)
        drawn = tiny_pictures(home.parent / "pictures", 6)
        library.add(home.parent / "pictures", workers=1)
        said = "".join(f"{picture.path.name},said of it\n" for picture in drawn)
        (home.parent / "said.csv").write_text("file,caption\n" + said)
        library.add(captions=home.parent / "said.csv")
        library.gallery()
        assert len(snapshots(home)) == 2
    return home


@pytest.fixture
def home(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "library"))


def snapshots(home: Path) -> list[Path]:
    """The later one first."""
    return sorted((home / "snapshots").glob("*-*"), key=lambda each: each.stat().st_mtime_ns, reverse=True)


def flip(home: Path, table: str) -> None:
    """One byte of each data file of a table."""
    for file in (home / f"tables/{table}.lance/data").iterdir():
        content = bytearray(file.read_bytes())
        content[len(content) // 3] ^= 16
        file.write_bytes(content)


def rows(home: Path) -> list[PictureRow]:
    return Library.open(home, create=False).store.rows()


def test_a_repair_of_a_relative_path_mends_all(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rows(home)
    (home / "server").mkdir()
    with closing(sqlite3.connect(home / "server/server.sqlite3")) as database:
        database.execute("CREATE TABLE said (words)")
    flip(home, "pictures")
    monkeypatch.chdir(home.parent)
    report = Library.repair(Path(home.name))
    assert report.lost == []
    assert rows(Path(home.name)) == before


class KilledError(BaseException):
    """In the place of a signal."""


def repair_until(home: Path, moment: int, patch: pytest.MonkeyPatch) -> bool:
    """Repairs until the n-th step that is to be on the disk; whether it ended before. Nothing is cleared.

    All files of the copied tables are one step.
    """
    count = [0]
    sync, remove = whole_files.sync, repair_journal._remove_folder

    def die_at_the_moment(path: Path) -> None:
        count[0] += path == home / "repair/tables" or "tables" not in path.parts
        if count[0] > moment:
            patch.setattr(repair_journal, "_remove_folder", lambda folder: None)  # the dead tidy nothing up
            raise KilledError
        sync(path)

    for module in (repair_journal, whole_files):
        patch.setattr(module, "sync", die_at_the_moment)
    try:
        Library.repair(home)
    except KilledError:
        return False
    finally:
        for module in (repair_journal, whole_files):
            patch.setattr(module, "sync", sync)
        patch.setattr(repair_journal, "_remove_folder", remove)
    return True


def test_a_repair_that_was_killed_goes_on_and_tells_all(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rows(home)
    flip(home, "pictures")
    flip(home, SHARED)
    seen, moment, ended = set[tuple[str, ...]](), 0, False
    while not ended:
        ended = repair_until(home, moment, monkeypatch)
        moment += 1
        if not ended:
            left = [home / "tables", *(home / "repair").iterdir()]
            seen.add(tuple(sorted(each.name for each in left if each.exists() and each.suffix != ".lock")))
            with suppress(DamagedLibrary):  # it says so, or is whole
                assert rows(home) == before
    # Before anything is changed, between the two renames, and after them.
    assert seen >= {("tables", "tables"), ("before", "report.json", "tables")}
    assert rows(home) == before
    assert Library.open(home).verify() == []
    assert not (home / "repair").exists()


def test_a_half_repaired_library_says_to_repair_it_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rows(home)
    opened = Library.open(home)
    flip(home, "pictures")
    monkeypatch.setattr(repair, "_repair_vectors", lambda *_: (_ for _ in ()).throw(KilledError))
    with pytest.raises(KilledError):
        Library.repair(home)
    monkeypatch.undo()
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    for use in (lambda: Library.open(home), lambda: opened.find("red"), lambda: opened.add(home.parent)):
        with pytest.raises(DamagedLibrary, match=r"half repaired.*`viewfinder repair"):
            use()
    report = Library.repair(home)
    assert any("pictures.lance/data" in file for file in report.damaged), "the first attempt had found it"
    assert report.mended == ["6 pictures' files, captions and catalogue rows, from a snapshot"]
    assert report.lost == []
    assert rows(home) == before


def test_a_repair_without_room_leaves_the_library_as_it_was(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flip(home, "pictures")
    there = {file: file.read_bytes() for file in (home / "tables").rglob("*") if file.is_file()}

    def is_full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(repair_journal, "sync", is_full)
    with pytest.raises(viewfinder.errors.DiskFull):
        Library.repair(home)
    assert {file: file.read_bytes() for file in (home / "tables").rglob("*") if file.is_file()} == there
    assert not (home / "repair/tables").exists()


# -- snapshots


@pytest.mark.parametrize("names_state", [True, False])
def test_the_later_snapshot_counts_whatever_the_times_of_files_are(home: Path, names_state: bool) -> None:
    before = rows(home)
    later, earlier = snapshots(home)
    os.utime(later, (0, 0))  # `cp -r` keeps no times
    if not names_state:  # as earlier versions wrote them
        (later / GENERATION).unlink()
        (earlier / GENERATION).unlink()
    flip(home, "pictures")
    assert Library.repair(home).lost == []
    assert rows(home) == before


def test_captions_that_only_a_later_snapshot_knew_are_said_to_be_lost(home: Path) -> None:
    later, _ = snapshots(home)
    shutil.rmtree(later)
    flip(home, "pictures")
    [lost] = Library.repair(home).lost
    assert lost.startswith("what was changed of 6 of these pictures after that snapshot was made, if anything was")
    assert [row.captions for row in rows(home)] == [()] * 6


def test_rows_come_back_although_their_vectors_are_damaged_too(home: Path) -> None:
    before = rows(home)
    for table in ("pictures", RAW, SHARED):
        flip(home, table)
    assert Library.repair(home).lost == []
    assert rows(home) == before
    assert Library.open(home).verify() == []


def test_a_table_that_went_back_a_version_takes_the_last_one_from_its_snapshot(home: Path) -> None:
    before = rows(home)
    min((home / "tables/pictures.lance/_versions").glob("*.manifest")).unlink()
    assert Library.repair(home).lost == []
    assert rows(home) == before


def test_a_space_that_is_listed_and_has_no_table_is_made_again(home: Path) -> None:
    found = {hit.id: pytest.approx(hit.score, abs=1e-3) for hit in Library.open(home).find("red")}
    shutil.rmtree(home / f"tables/{SHARED}.lance")
    assert Library.repair(home).lost == []
    assert {hit.id: hit.score for hit in Library.open(home).find("red")} == found


# -- what verify says


def test_vectors_without_a_picture_are_said_and_cleared(home: Path) -> None:
    library = Library.open(home)
    lost = library.store.ids()[0]
    library.store._tables.delete_where("pictures", "id", [lost])
    shutil.rmtree(home / "snapshots")
    with library.store.writing():
        assert len(library.verify()) == 1, "the same process may look while it writes"
    [said] = Library.open(home).verify()
    assert said.startswith(f"no picture for 1 vectors (the first: {lost})")
    [line] = Library.repair(home).lost
    assert line.startswith("what 1 vectors were made from")
    assert Library.open(home).verify() == []


def test_a_picture_that_only_its_vector_and_a_snapshot_know_comes_back(home: Path) -> None:
    before = rows(home)
    Library.open(home).store._tables.delete_where("pictures", "id", [before[0].id])
    report = Library.repair(home)
    assert report.mended == ["1 pictures' files, captions and catalogue rows, from a snapshot"]
    assert len(report.lost) == 1, "whether it was changed since cannot be known"
    assert rows(home) == before


def test_a_library_of_an_earlier_head_is_in_order_before_its_space_is_renewed(home: Path) -> None:
    library = Library.open(home)
    old = ColourEncoder(channels=(0.5, 1.0, 1.0))
    build_space(library.store, old)
    library._save_settings(replace(library.settings, space=old.version))
    library.store._tables.delete_where("spaces", "space", [library.encoder.version])
    library.store._tables.connection.drop_table(SHARED)
    library.store._tables.record()
    again = Library.open(home)
    assert again.verify() == []
    assert len(again.find("red", n=9)) == 6
    assert again.verify() == []


# -- a server's database


def test_no_earlier_database_that_lies_aside_is_overwritten_and_its_log_stays_with_it(tmp_path: Path) -> None:
    server = tmp_path / "server"
    server.mkdir()
    file = server / "server.sqlite3"
    for number in range(2):
        file.write_bytes(b"no database %d\n" % number * 100)
        Path(f"{file}-wal").write_bytes(b"log %d" % number)
        Path(f"{file}.lock").touch()
        assert "the server's database" in find_database_damage(tmp_path)
        set_database_aside(tmp_path)
        assert find_database_damage(tmp_path) == ""
    aside = {
        each.name.removeprefix("server.sqlite3"): each.read_bytes()[:14]
        for each in server.iterdir()
        if "-shm" not in each.name
    }
    assert aside == {
        ".damaged": b"no database 0\n", "-wal.damaged": b"log 0", ".damaged-2": b"no database 1\n",
        "-wal.damaged-2": b"log 1",
    }  # fmt: skip


def test_a_database_whose_log_a_killed_repair_left_gets_it_back(tmp_path: Path) -> None:
    file = tmp_path / "server/server.sqlite3"
    file.parent.mkdir()
    Path(f"{file}.damaged").write_bytes(b"no database")
    Path(f"{file}-wal").write_bytes(b"its log")
    Path(f"{file}.lock").touch()
    set_database_aside(tmp_path)
    assert sorted(each.name for each in file.parent.iterdir()) == [
        "server.sqlite3-wal.damaged",
        "server.sqlite3.damaged",
    ]


# -- moved away


def test_a_library_that_is_moved_away_while_regions_are_made_is_not_begun_anew(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "FIRST_BATCH", 2)
    monkeypatch.setattr(tables, "MAX_BATCH", 2)
    library = Library.open(home)
    snapshot, raw = library.gallery().snapshot, library.gallery().raw
    assert isinstance(raw, StoredVectors)

    def move_away(done: int, total: int) -> None:
        if done == 2:
            home.rename(home.parent / "elsewhere")

    with pytest.raises(NotALibrary, match=r"holds no library: check the path"):
        raw.fill(snapshot, move_away)
    with pytest.raises(NotALibrary), library.store.writing():
        pass
    snapshot.derived("of-a-library-that-is-away", lambda it: it.matrix_nd[:, 0])
    assert not home.exists()
    (home.parent / "elsewhere").rename(home)
    assert Library.open(home).verify() == []
