"""Snapshots: what they show, when they are rebuilt, and that a fresh one needs no Lance."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from viewfinder.errors import LibraryError, NotALibrary, UnknownName
from viewfinder.store import snapshot, snapshot_files
from viewfinder.store.half_rows import HalfRows
from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.store.snapshot import Snapshot, find_newest_version, read_generation
from viewfinder.store.snapshot_files import load_snapshot
from viewfinder.store.store import Store


def picture(name: str, colour: str = "red", **changes: object) -> PictureRow:
    files = (FileRecord(f"/photos/cats/{name}.jpg", 100, 7), FileRecord(f"/copies/{name}\udcff.jpg", 100, 8))
    row = PictureRow(name, files, 4, 3, "JPEG", 100, "2019-07-14", "Canon", ("a cat", "two"), {"colour": (colour,)})
    return replace(row, **changes)  # type: ignore[arg-type]


def rows_of(*firsts: float) -> np.ndarray:
    matrix = np.zeros((len(firsts), 4), dtype=np.float32)
    matrix[:, 0] = firsts
    return matrix


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.create(tmp_path / "library")
    store.add([picture("b", "blue"), picture("a"), picture("c")], {"s": rows_of(2, 1, 3)})
    return store


def test_a_snapshot_shows_pictures_in_id_order_with_their_vectors(store: Store) -> None:
    found = load_snapshot(store.folder, "s")
    assert found.ids == ("a", "b", "c") and len(found) == 3
    assert (found.row_of("b"), found.row_of("bb"), found.row_of("z")) == (1, None, None)
    assert isinstance(found.matrix_nd, np.ndarray)
    assert found.matrix_nd.dtype == np.float32 and found.matrix_nd.flags.c_contiguous
    np.testing.assert_array_equal(found.matrix_nd, rows_of(1, 2, 3))


def test_a_snapshot_tells_what_is_known_of_a_picture(store: Store) -> None:
    found = load_snapshot(store.folder, "s")
    assert found.paths(1) == ("/photos/cats/b.jpg", "/copies/b\udcff.jpg")
    assert found.captions(1) == ("a cat", "two")
    assert found.attributes(1) == {"colour": ("blue",)}
    assert found.facts(1) == {
        **{"width": 4, "height": 3, "format": "JPEG", "bytes": 100, "captured": "2019-07-14"},
        **{"year": "2019", "month": "July", "camera": "Canon", "folder": "cats"},
    }
    assert found.columns() == ("colour", "format", "year", "month", "camera", "folder")
    assert found.column("folder").of_row(0) == ("cats", "copies")


def test_filters_combine_and_ignore_capitals(store: Store) -> None:
    found = load_snapshot(store.folder, "s")
    assert found.where({}).tolist() == [True, True, True]
    assert found.where({"Colour": "RED", "folder": "Copies"}).tolist() == [True, False, True]
    with pytest.raises(UnknownName, match="there are: colour, format"):
        found.where({"shape": "round"})
    with pytest.raises(UnknownName, match="known are: red, blue"):
        found.where({"colour": "pink"})


def test_pictures_without_files_or_without_a_vector_are_left_out(store: Store) -> None:
    store.replace([picture("a", files=())])
    store.add([picture("d")], {"t": rows_of(9)})
    assert load_snapshot(store.folder, "s").ids == ("b", "c")
    assert load_snapshot(store.folder, "t").ids == ("d",)


@pytest.mark.parametrize("change", ["add", "replace", "delete", "write_space"])
def test_every_change_makes_a_new_generation(store: Store, change: str) -> None:
    before = read_generation(store.folder, "s")
    assert read_generation(store.folder, "s") == before != read_generation(store.folder, "t")
    if change == "add":
        store.add([picture("d")], {"s": rows_of(4)})
    elif change == "replace":
        store.replace([picture("a", "green")])
    elif change == "delete":
        store.delete(["a"])
    else:
        store.write_space("s", [(["a"], rows_of(7))])
    assert read_generation(store.folder, "s") != before
    expected = {"add": ["a", "b", "c", "d"], "delete": ["b", "c"], "write_space": ["a"]}
    assert list(load_snapshot(store.folder, "s").ids) == expected.get(change, ["a", "b", "c"])


def test_generations_go_on_counting_after_many_commits_and_a_cleanup(store: Store) -> None:
    seen = set()
    for number in range(12):
        store.replace([picture("a", f"colour {number}")])
        seen.add(read_generation(store.folder, "s"))
    store.compact()
    seen.add(read_generation(store.folder, "s"))
    assert len(seen) == 13
    assert load_snapshot(store.folder, "s").attributes(0) == {"colour": ("colour 11",)}


def test_unknown_naming_schemes_of_manifests_still_change_with_every_version(tmp_path: Path) -> None:
    versions = tmp_path / "tables" / "x.lance" / "_versions"
    versions.mkdir(parents=True)
    for name in ("one.manifest", "latest_version_hint.json"):
        (versions / name).touch()
    first = find_newest_version(tmp_path, "x")
    (versions / "two.manifest").touch()
    assert first is not None and find_newest_version(tmp_path, "x") != first


def test_the_older_naming_scheme_counts_upwards(tmp_path: Path) -> None:
    versions = tmp_path / "tables" / "x.lance" / "_versions"
    versions.mkdir(parents=True)
    for name in ("9.manifest", "10.manifest"):
        (versions / name).touch()
    assert find_newest_version(tmp_path, "x") == "10"


@pytest.mark.afresh
def test_a_fresh_snapshot_is_opened_without_importing_lance(store: Store) -> None:
    load_snapshot(store.folder, "s")
    code = (
        "import sys; from pathlib import Path; from viewfinder.store.snapshot_files import load_snapshot as load; "
        f"found = load(Path({str(store.folder)!r}), 's'); "
        "assert found.where({'colour': 'red'}).sum() == 2 and found.facts(0)['year'] == '2019'; "
        "assert not {'lancedb', 'onnxruntime', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_opened_snapshot_shows_the_same_as_the_built_one(store: Store) -> None:
    built, opened = load_snapshot(store.folder, "s"), load_snapshot(store.folder, "s")
    assert opened.folder == built.folder is not None
    assert isinstance(opened.matrix_nd, np.ndarray) and isinstance(opened.matrix_nd.base, np.memmap)
    assert opened.ids == built.ids and opened.columns() == built.columns()
    assert opened.column("colour").values == built.column("colour").values


def test_a_large_collection_is_kept_in_half_precision_and_read_as_float32(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = load_snapshot(store.folder, "s")
    assert small.folder is not None
    shutil.rmtree(small.folder)
    monkeypatch.setattr(snapshot_files, "find_kept_type", lambda size: np.float16)
    large = load_snapshot(store.folder, "s")
    assert isinstance(large.matrix_nd, HalfRows) and isinstance(large.matrix_nd.half_nd.base, np.memmap)
    np.testing.assert_array_equal(large.matrix_nd, np.asarray(small.matrix_nd))
    np.testing.assert_array_equal(large.after(1).matrix_nd, rows_of(2, 3))
    assert large.folder is not None
    assert (large.folder / "matrix.rows").stat().st_size == 3 * 4 * 2


def test_a_large_collection_is_arranged_on_the_disk_and_shows_the_same(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = load_snapshot(store.folder, "s")
    assert small.folder is not None
    files = {file.name: file.read_bytes() for file in small.folder.iterdir()}
    shutil.rmtree(small.folder)
    monkeypatch.setattr(snapshot_files, "SPOOLED_FROM", 0)
    large = load_snapshot(store.folder, "s")
    assert large.folder is not None
    assert {file.name: file.read_bytes() for file in large.folder.iterdir()} == files


def test_a_snapshot_of_an_earlier_format_is_made_anew_and_goes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "SNAPSHOT_FORMAT", snapshot.SNAPSHOT_FORMAT - 1)
    earlier = load_snapshot(store.folder, "s")
    monkeypatch.undo()
    assert earlier.folder is not None
    os.utime(earlier.folder, (0, 0))
    now = load_snapshot(store.folder, "s")
    assert now.folder not in (None, earlier.folder) and not earlier.folder.exists()
    assert (now.ids, now.captions(0), now.attributes(1)) == (earlier.ids, earlier.captions(0), earlier.attributes(1))


def test_an_empty_library_has_an_empty_snapshot(store: Store) -> None:
    store.delete(["a", "b", "c"])
    for _ in range(2):  # built, then opened
        found = load_snapshot(store.folder, "s")
        assert found.matrix_nd.shape == (0, 4) and found.ids == ()
        assert found.where({}).tolist() == []


def test_derived_arrays_are_computed_once_for_all_processes(store: Store) -> None:
    def lengths(found: Snapshot) -> np.ndarray:
        return np.asarray(np.linalg.norm(found.matrix_nd, axis=1))

    def never(found: Snapshot) -> np.ndarray:
        raise AssertionError("computed again")

    np.testing.assert_array_equal(load_snapshot(store.folder, "s").derived("Lengths/v1", lengths), [1, 2, 3])
    np.testing.assert_array_equal(load_snapshot(store.folder, "s").derived("Lengths/v1", never), [1, 2, 3])
    store.delete(["a"])
    np.testing.assert_array_equal(load_snapshot(store.folder, "s").derived("Lengths/v1", lengths), [2, 3])


def test_a_derived_array_that_was_cut_short_is_computed_again(store: Store) -> None:
    found = load_snapshot(store.folder, "s")
    found.derived("ones", lambda it: np.ones(len(it)))
    file = next(iter(found.folder.glob("derived-*"))) if found.folder else Path()
    file.write_bytes(file.read_bytes()[:-8])
    np.testing.assert_array_equal(
        load_snapshot(store.folder, "s").derived("ones", lambda it: np.ones(len(it))), [1, 1, 1]
    )


@pytest.mark.parametrize("file", ["matrix.rows", "pictures-0.arrow", "columns.json"])
def test_a_snapshot_that_was_cut_short_is_built_again(store: Store, file: str) -> None:
    folder = load_snapshot(store.folder, "s").folder
    assert folder is not None
    (folder / file).write_bytes((folder / file).read_bytes()[:20])
    rebuilt = load_snapshot(store.folder, "s")
    assert rebuilt.folder == folder
    np.testing.assert_array_equal(rebuilt.matrix_nd, rows_of(1, 2, 3))


def test_where_nothing_can_be_written_snapshots_live_in_memory(store: Store) -> None:
    (store.folder / "snapshots").write_text("in the way, even of root")
    found = load_snapshot(store.folder, "s")
    assert found.folder is None
    np.testing.assert_array_equal(found.matrix_nd, rows_of(1, 2, 3))
    assert found.where({"colour": "blue"}).tolist() == [False, True, False]
    assert found.paths(0)[0] == "/photos/cats/a.jpg"
    assert found.derived("ones", lambda it: np.ones(len(it))) is found.derived("ones", lambda it: np.zeros(1))


def test_a_snapshot_goes_on_working_when_its_folder_is_removed(store: Store) -> None:
    found = load_snapshot(store.folder, "s")
    shutil.rmtree(store.folder / "snapshots")
    assert found.where({"colour": "blue"}).tolist() == [False, True, False]
    assert found.derived("ones", lambda it: np.ones(len(it))).tolist() == [1, 1, 1]
    np.testing.assert_array_equal(found.matrix_nd, rows_of(1, 2, 3))


def test_snapshots_of_earlier_states_are_removed_once_nobody_opened_them_for_a_while(store: Store) -> None:
    store.write_space("t", [(["a"], rows_of(7))])
    long_unused, just_opened = load_snapshot(store.folder, "s").folder, load_snapshot(store.folder, "t").folder
    assert long_unused and just_opened
    os.utime(long_unused, (1, 1))
    store.delete(["c"])
    present = load_snapshot(store.folder, "s").folder
    assert present and present.exists() and just_opened.exists() and not long_unused.exists()
    os.utime(present, (1, 1))
    load_snapshot(store.folder, "t")  # another space of the same state: nothing is outdated
    assert present.exists()


def test_what_a_killed_process_was_building_goes_and_what_is_being_built_stays(store: Store) -> None:
    killed = subprocess.Popen([sys.executable, "-c", ""])
    killed.wait()
    first = load_snapshot(store.folder, "s").folder
    assert first is not None
    whose = {killed.pid: False, os.getpid(): True}
    for process in whose:
        (first.parent / f".building-{process}-1a2b").mkdir()
    store.delete(["c"])
    present = load_snapshot(store.folder, "s").folder
    assert present is not None
    assert {process: (present.parent / f".building-{process}-1a2b").exists() for process in whose} == whose


def test_two_processes_that_build_at_once_both_get_a_snapshot(store: Store) -> None:
    code = (
        "import sys; from pathlib import Path; import lancedb; "
        "from viewfinder.store.snapshot_files import load_snapshot as load; "
        "print('ready', flush=True); sys.stdin.readline(); "
        f"found = load(Path({str(store.folder)!r}), 's'); print(tuple(found.ids), found.matrix_nd[:, 0].tolist())"
    )
    command = [sys.executable, "-c", code]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(2)]  # type: ignore[call-overload]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    answers = [process.communicate("go\n", timeout=120)[0] for process in processes]
    assert answers == ["('a', 'b', 'c') [1.0, 2.0, 3.0]\n"] * 2
    assert len(list((store.folder / "snapshots").iterdir())) == 1


def test_no_library_and_no_such_space_are_told_apart(store: Store, tmp_path: Path) -> None:
    with pytest.raises(NotALibrary):
        load_snapshot(tmp_path / "elsewhere", "s")
    with pytest.raises(UnknownName, match="there are: s"):
        load_snapshot(store.folder, "u")


def test_damaged_tables_are_an_error_and_no_endless_attempt(store: Store) -> None:
    for file in (store.folder / "tables" / "pictures.lance" / "data").iterdir():
        file.write_bytes(b"not lance")
    with pytest.raises(LibraryError, match=r"is damaged .*`viewfinder repair"):
        load_snapshot(store.folder, "s")
