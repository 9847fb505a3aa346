"""Damage of a library's files is said or healed, never searched; `repair` makes it whole and says what is lost."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import viewfinder.library
from viewfinder.errors import DamagedLibrary, LibraryError, NotALibrary, ViewfinderError
from viewfinder.library import Library
from viewfinder.store.checksums import find_damage, map_sealed, record_checksums, seal_file
from viewfinder.store.regions import RegionTable
from viewfinder.testing import load_colour_encoder, tiny_pictures

RAW, SHARED = "vectors.colours-raw-1", "vectors.colours-raw-1-1-1-1"


@pytest.fixture(autouse=True)
def colours_for_an_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of two batches, captions, a failure and a warm snapshot; nobody changes it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        home = tmp_path_factory.mktemp("damage") / "library"
        library = Library.open(home)
        for part, count in (("first", 3), ("second", 6)):
            tiny_pictures(home.parent / part, count)
            library.add(home.parent / part, workers=1)
        (home.parent / "first/bad.jpg").write_bytes(b"nothing")
        names = [row.files[0].path for row in library.store.rows()]
        (home.parent / "said.csv").write_text("file,caption\n" + "".join(f"{name},said of it\n" for name in names))
        library.add(home.parent / "first", captions=home.parent / "said.csv", workers=1)
        look(home)
    return home


@pytest.fixture
def home(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "library"))


def look(home: Path) -> dict[str, Any]:
    """All that a library says of itself; an error of ours in place of what it raises for."""
    found: dict[str, Any] = {}
    questions: dict[str, Callable[[Library], Any]] = {
        "find": lambda library: {hit.path: pytest.approx(hit.score, abs=1e-3) for hit in library.find("red", n=20)},
        "where": lambda library: [hit.path for hit in library.find("red", n=20, where={"format": "PNG"})],
        "status": lambda library: {**library.status(), "library": ""},
        "failures": lambda library: library.failures(),
        "verify": lambda library: library.verify(),
    }
    for name, ask in questions.items():
        try:
            found[name] = ask(Library.open(home, create=False))
        except ViewfinderError as error:
            found[name] = error
    return found


def files_of(home: Path) -> list[str]:
    return sorted(str(file.relative_to(home)) for file in home.rglob("*") if file.is_file() and file.stat().st_size)


def flip(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 16
    file.write_bytes(content)


def check_damage(home: Path, whole: dict[str, Any], what: str) -> bool:
    """Whether it was said: each answer is the one of before, or an error that names `repair`."""
    now = look(home)
    said = bool(now["verify"])
    for name, answer in now.items():
        if isinstance(answer, ViewfinderError):
            assert "`viewfinder repair" in str(answer), f"{what}: {name}: {answer}"
            said = True
        elif name != "verify":
            assert answer == whole[name] or now["verify"], f"{what}: {name}"
    return said


@pytest.mark.parametrize("times", [pytest.param(1, marks=pytest.mark.slow), pytest.param(8, marks=pytest.mark.long)])
def test_no_flipped_byte_and_no_missing_file_goes_unseen(whole: Path, home: Path, times: int) -> None:
    before = look(home)
    assert before["verify"] == []
    chance, kinds = random.Random(times), dict[str, str]()
    for name in files_of(whole):  # one file of a kind in the short run
        kinds.setdefault(name if times > 1 else f"{Path(name).parent.name} {Path(name).suffix} {name[:22]}", name)
    damaged = 0
    for number, name in enumerate(kinds.values()):
        places = (None, *(chance.randrange((whole / name).stat().st_size) for _ in range(times)))
        # In the short run a kind of file is missing, and the next has a flipped byte.
        for place in places if times > 1 else places[number % 2 :][:1]:
            shutil.rmtree(home)
            shutil.copytree(whole, home)
            if place is None:
                (home / name).unlink()
            else:
                flip(home / name, place)
            if check_damage(home, before, f"{name} at {place}"):
                damaged += 1
                Library.repair(home)
                after = look(home)
                assert after["verify"] == [], f"{name} at {place}"
                assert after["find"] == before["find"], f"{name} at {place}"
    assert len(kinds) >= 20
    assert damaged >= 10


def damage(home: Path, table: str, *, every: bool = False) -> None:
    files = sorted((home / f"tables/{table}.lance/data").iterdir(), key=lambda file: file.stat().st_mtime_ns)
    for file in files if every else files[:1]:
        flip(file, file.stat().st_size // 3)


def test_a_damaged_space_is_made_again_from_raw_vectors(home: Path) -> None:
    before = look(home)
    damage(home, SHARED, every=True)
    shutil.rmtree(home / "snapshots")
    with pytest.raises(
        DamagedLibrary, match=r"vectors\..* is not as it was written\): mend it with `viewfinder repair"
    ):
        Library.open(home).find("red")
    report = Library.repair(home)
    assert report.lost == []
    assert "the space colours-raw-1-1-1-1, from raw vectors" in report.mended
    assert look(home) == before


def test_damaged_raw_vectors_come_back_from_the_files_and_those_of_missing_files_are_lost(home: Path) -> None:
    damage(home, RAW, every=True)
    pictures = Library.open(home).store.rows()
    gone = Path(pictures[0].files[0].path)
    kept = gone.read_bytes()
    gone.unlink()
    try:
        report = Library.repair(home)
        assert f"vectors of {len(pictures) - 1} pictures, from their files" in report.mended
        [vectors, *_] = report.lost
        assert vectors.startswith("vectors of 1 pictures whose files are gone: `viewfinder prune`")
        library = Library.open(home)
        assert library.prune() == [pictures[0].id]
        assert library.verify() == []
        assert len(library.find("red", n=20)) == len(pictures) - 1
    finally:
        gone.write_bytes(kept)


def test_a_picture_that_lost_its_raw_vector_is_read_again_by_add(home: Path, whole: Path) -> None:
    before = look(home)
    library = Library.open(home)
    lost = library.store.ids()[0]
    library.store._tables.delete_where(RAW, "id", [lost])
    assert library.verify() == [f"no vector in colours-raw-1: {lost}"]
    report = library.add(whole.parent / "first", whole.parent / "second", workers=1)
    assert report.added == 0
    assert look(home) == before


def test_rows_of_damaged_tables_come_back_from_a_snapshot(home: Path) -> None:
    before = look(home)
    damage(home, "pictures", every=True)
    with pytest.raises(DamagedLibrary, match=r"tables/pictures.lance/data/"):
        Library.open(home).status()
    assert Library.repair(home).lost == []
    after = look(home)
    assert after == before
    assert after["status"]["with_captions"] > 0


def test_rows_that_no_snapshot_knows_are_lost_and_said(home: Path, whole: Path) -> None:
    pictures = look(home)["status"]["pictures"]
    shutil.rmtree(home / "tables/pictures.lance")
    shutil.rmtree(home / "snapshots")
    with pytest.raises(DamagedLibrary, match=r"pictures.lance is missing"):
        Library.open(home).status()
    [lost] = Library.repair(home).lost
    assert lost.startswith(f"files, captions and catalogue rows of {pictures} pictures: `viewfinder add` their folders")
    Library.open(home).add(whole.parent / "first", whole.parent / "second", workers=1)
    assert look(home)["status"]["pictures"] == pictures
    assert Library.open(home).verify() == []


@pytest.mark.parametrize("copy", [True, False])
def test_settings_come_back_from_their_copy_or_from_the_tables(home: Path, copy: bool) -> None:
    before = look(home)
    (home / "library.json").write_text((home / "library.json").read_text().replace("starter", "stbrter"))
    with pytest.raises(
        NotALibrary, match=r"it was changed since it was written; `viewfinder repair .*` makes it again"
    ):
        Library.open(home)
    (home / "library.json").unlink()
    with pytest.raises(DamagedLibrary, match=r"library.json is missing\): mend it with"):
        Library.open(home)
    if not copy:
        (home / "tables/library.json").unlink()
        with pytest.raises(ViewfinderError, match="name it with --encoder"):
            Library.repair(home)
    report = Library.repair(home, encoder=None if copy else "starter")
    assert report.mended[0] == ("library.json, from its copy" if copy else "library.json, from the tables")
    assert report.lost == []
    assert look(home) == before


def test_a_damaged_head_is_said_and_the_shipped_one_takes_its_place(home: Path) -> None:
    before, library = look(home), Library.open(home)
    (home / "heads").mkdir()
    head = home / "heads/tuned.json"
    head.write_text("[0.5, 1.0, 1.0]")
    (home / "heads/tuned.crc32").write_text("00000000\n")
    library.switch(library.encoder.version, "heads/tuned.json")
    with pytest.raises(DamagedLibrary, match=r"heads/tuned.json is missing, or not as it was written"):
        Library.open(home).find("red")
    assert Library.open(home).verify() == ["damaged: heads/tuned.json"]
    [lost] = Library.repair(home).lost
    assert lost.startswith("the tuned head heads/tuned.json: the shipped one is used")
    assert look(home)["find"] == before["find"]


def test_a_library_in_order_is_left_as_it_is(home: Path) -> None:
    before = look(home)
    report = Library.repair(home)
    assert (report.damaged, report.mended, report.lost) == ([], [], [])
    assert look(home) == before
    with pytest.raises(NotALibrary, match="nothing that is left of one"):
        Library.repair(home.parent / "elsewhere")


@pytest.mark.parametrize("damage", ["none", "gone", "emptied", "other bytes"])
def test_repair_moves_a_damaged_database_of_a_server_away_and_says_so(home: Path, damage: str) -> None:
    file = home / "server/server.sqlite3"
    file.parent.mkdir()
    log = Path(f"{file}-wal")
    Path(f"{file}.lock").touch()
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE said (words)")
    if damage == "gone":
        file.unlink()
    elif damage == "other bytes":
        file.write_bytes(b"these are no conversations\n" * 100)
    elif damage == "emptied":
        file.write_bytes(b"")
        log.write_bytes(b"what was said last")
    told = [line for line in Library.open(home).verify() if "database" in line]
    assert len(told) == (damage != "none")
    assert log.exists() is (damage == "emptied")  # to look deletes nothing
    lost = Library.repair(home).lost
    assert Path(f"{log}.damaged").exists() is (damage == "emptied")
    assert file.exists() is (damage == "none")
    assert Path(f"{file}.lock").exists() is (damage == "none")
    assert [line for line in lost if "database" not in line] == []
    assert len(lost) == (damage != "none")


def test_regions_that_are_no_table_any_more_are_told_in_one_line(home: Path) -> None:
    ids = [row.id for row in Library.open(home).store.rows()]
    RegionTable(home, "colours-raw-1").add(ids, np.ones((len(ids), 4, 8), np.float16))
    for file in (home / "tables/regions.colours-raw-1.lance/data").iterdir():
        file.write_bytes(bytes(file.stat().st_size))
    with pytest.raises(LibraryError, match="viewfinder repair") as told:
        Library.open(home).status()
    assert "\n" not in str(told.value)


def test_a_list_of_failures_that_went_back_is_told_as_such(home: Path) -> None:
    min((home / "tables/failures.lance/_versions").glob("*.manifest")).unlink()
    assert any("list of failures" in line for line in Library.repair(home).mended)


# -- checksums


def test_a_sealed_file_that_was_changed_or_cut_short_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "it"
    file.write_bytes(b"content")
    seal_file(file)
    assert bytes(map_sealed(file)) == b"content"
    whole = file.read_bytes()
    for place in range(len(whole)):
        flip(file, place)
        with pytest.raises(ValueError, match="damaged"):
            map_sealed(file)
        file.write_bytes(whole)
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"damaged|cut short"):
            map_sealed(file)


def test_files_of_a_table_are_listed_once_and_compared_when_they_change(tmp_path: Path) -> None:
    for name in ("_versions/2.manifest", "_versions/1.manifest", "data/a.lance", "_transactions/t.txn"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert find_damage(tmp_path) == []  # of a table that nobody listed nothing is known
    record_checksums(tmp_path)
    listed = (tmp_path / "_checksums").read_text()
    record_checksums(tmp_path)
    assert (tmp_path / "_checksums").read_text() == listed
    assert len(listed.splitlines()) == 4
    (tmp_path / "_transactions/t.txn").write_text("other")
    assert find_damage(tmp_path) == []
    assert find_damage(tmp_path, everything=True) == ["_transactions/t.txn"]
    flip(tmp_path / "data/a.lance", 0)
    assert find_damage(tmp_path) == ["data/a.lance"]
    (tmp_path / "_versions/1.manifest").unlink()  # Lance counts down: this was the newest
    assert find_damage(tmp_path) == ["_versions/1.manifest", "data/a.lance"]
    flip(tmp_path / "_checksums", 3)
    assert "_checksums" in find_damage(tmp_path, everything=True)
