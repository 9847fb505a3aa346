"""The store of record: everything a caller can do to it, in one process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from viewfinder.errors import DiskFull, LibraryBusy, LibraryError, NotALibrary, UnknownName
from viewfinder.store.rows import Failure, FileRecord, PictureRow
from viewfinder.store.store import Store


def picture(name: str, caption: str = "a dog") -> PictureRow:
    files = (FileRecord(f"/photos/{name}.jpg", 100, 7),)
    return PictureRow(name, files, 4, 3, "JPEG", 100, captions=(caption,), attributes={"colour": ("red",)})


def vectors(*firsts: float, width: int = 4) -> np.ndarray:
    """One vector a number, which stands first in it."""
    matrix = np.zeros((len(firsts), width), dtype=np.float32)
    matrix[:, 0] = firsts
    return matrix


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "library")


def raw_ids(store: Store, table: str) -> list[str]:
    return sorted(store._tables.column(table, "id"))


def test_a_new_store_is_empty(store: Store) -> None:
    assert (store.rows(), store.ids(), store.spaces(), store.failures()) == ([], [], {}, [])


def test_some_rows_are_read_by_id_and_all_as_a_stream(store: Store) -> None:
    assert list(store.stream_files()) == list(store.stream_vector_ids("s")) == list(store.stream_failures()) == []
    store.add([picture("a"), picture("b"), picture("c")], {"s": vectors(1, 2, 3)})
    failures = [Failure("/bad.jpg", 1, 2, "empty"), Failure("/\udcff", 0, 0, "a link")]
    store.quarantine(failures)
    assert sorted(store.rows_of(["c", "a", "nothing"]), key=lambda row: row.id) == [picture("a"), picture("c")]
    assert store.rows_of([]) == []
    [streamed], [with_vector] = list(store.stream_files()), list(store.stream_vector_ids("s"))
    assert sorted(streamed["id"].to_pylist()) == sorted(with_vector["id"].to_pylist()) == ["a", "b", "c"]
    assert streamed["files"].to_pylist()[0] == [
        {"path": f"/photos/{streamed['id'][0]}.jpg", "size": 100, "mtime_ns": 7}
    ]
    assert sorted(store.stream_failures(), key=lambda failure: failure.path) == failures


def test_creating_twice_keeps_what_is_there(store: Store) -> None:
    store.add([picture("a")], {"s": vectors(1)})
    assert Store.create(store.folder).ids() == ["a"]


def test_creating_completes_a_store_whose_making_was_interrupted(tmp_path: Path) -> None:
    (tmp_path / "tables" / "pictures.lance" / "_versions").mkdir(parents=True)  # killed before the first version
    with pytest.raises(NotALibrary):
        Store.open(tmp_path)
    Store.create(tmp_path).add([picture("a")], {"s": vectors(1)})
    assert Store.open(tmp_path).ids() == ["a"]


def test_a_folder_without_tables_is_not_a_library(tmp_path: Path) -> None:
    with pytest.raises(NotALibrary, match="holds no library"):
        Store.open(tmp_path)


def test_added_pictures_come_back_in_id_order_with_their_vectors(store: Store) -> None:
    store.add([picture("b"), picture("a")], {"s": vectors(2, 1), "CLIP/x+1": vectors(4, 3, width=2)})
    reopened = Store.open(store.folder)
    assert reopened.rows() == [picture("a"), picture("b")]
    assert reopened.spaces() == {"CLIP/x+1": 2, "s": 4}
    ids, matrix_nd = reopened.read_vectors("s")
    assert ids == ["a", "b"] and matrix_nd.dtype == np.float16
    np.testing.assert_array_equal(matrix_nd, vectors(1, 2))


def test_vectors_come_in_the_order_asked_for(store: Store) -> None:
    store.add([picture("b"), picture("a")], {"s": vectors(2, 1)})
    np.testing.assert_array_equal(store.read_vectors_of("s", ["b", "a", "b"]), vectors(2, 1, 2))
    assert store.read_vectors_of("s", []).shape == (0, 4)


def test_asking_for_vectors_of_an_unknown_picture_names_it(store: Store) -> None:
    store.add([picture("a")], {"s": vectors(1)})
    with pytest.raises(UnknownName, match="'z' has no vector"):
        store.read_vectors_of("s", ["a", "z"])


def test_an_unknown_space_is_answered_with_those_there_are(store: Store) -> None:
    store.add([picture("a")], {"s": vectors(1)})
    with pytest.raises(UnknownName, match="there are: s"):
        store.read_vectors("t")


def test_adding_a_known_picture_replaces_it(store: Store) -> None:
    store.add([picture("a"), picture("b")], {"s": vectors(1, 2)})
    store.add([picture("a", "a cat")], {"s": vectors(5)})
    assert store.rows() == [picture("a", "a cat"), picture("b")]
    np.testing.assert_array_equal(store.read_vectors("s")[1], vectors(5, 2))


def test_a_picture_twice_in_one_batch_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="'a' comes twice"):
        store.add([picture("a"), picture("a")], {"s": vectors(1, 1)})
    assert store.ids() == []


def test_vectors_of_another_width_are_refused_and_the_picture_with_them(store: Store) -> None:
    store.add([picture("a")], {"s": vectors(1)})
    with pytest.raises(ValueError, match="width 4 were expected"):
        store.add([picture("b")], {"s": vectors(1, width=5)})
    assert store.ids() == ["a"]


def test_replacing_changes_rows_and_adds_none(store: Store) -> None:
    store.add([picture("a")], {"s": vectors(1)})
    moved = replace(picture("a"), files=(FileRecord("/elsewhere/it's \\ new\udcff.jpg", 100, 8),))
    store.replace([moved, picture("z")])
    assert store.rows() == [moved]
    np.testing.assert_array_equal(store.read_vectors("s")[1], vectors(1))


def test_deleted_pictures_are_gone_from_every_space(store: Store) -> None:
    names = ["it's", 'b"\\', "c"]
    store.add([picture(name) for name in names], {"s": vectors(1, 2, 3), "t": vectors(4, 5, 6)})
    store.delete(["it's", 'b"\\', "unknown"])
    assert store.ids() == ["c"]
    assert raw_ids(store, "vectors.s") == raw_ids(store, "vectors.t") == ["c"]


def test_thousands_of_pictures_are_deleted_at_once(store: Store) -> None:
    names = [f"p{number:05}" for number in range(2500)]
    store.add([picture(name) for name in names], {"s": np.zeros((2500, 4), dtype=np.float32)})
    store.delete(names[:-1])
    assert store.ids() == names[-1:]


def test_vectors_that_a_killed_writer_left_are_not_read_and_compacted_away(store: Store) -> None:
    def killed() -> Iterator[tuple[list[str], np.ndarray]]:
        yield ["a"], vectors(9)
        raise KeyboardInterrupt

    store.add([picture("a")], {"s": vectors(1)})
    store._add_vectors("s", ["orphan"], vectors(9))  # as far as `add` came
    with pytest.raises(KeyboardInterrupt):
        store.write_space("unfinished", killed())
    assert (store.folder / "tables" / "vectors.unfinished.lance").exists()
    assert store.read_vectors("s")[0] == ["a"]
    assert list(store.spaces()) == ["s"]
    store.compact()
    assert raw_ids(store, "vectors.s") == ["a"]
    assert not (store.folder / "tables" / "vectors.unfinished.lance").exists()


def test_adding_again_what_a_killed_writer_left_makes_no_duplicate(store: Store) -> None:
    store.add([picture("a")], {"s": vectors(1)})
    store._add_vectors("s", ["b"], vectors(9))
    store.add([picture("b")], {"s": vectors(2)})
    assert raw_ids(store, "vectors.s") == ["a", "b"]
    np.testing.assert_array_equal(store.read_vectors("s")[1], vectors(1, 2))


def test_failures_are_kept_by_file_and_forgotten_when_told(store: Store) -> None:
    store.quarantine([Failure("/a'\\\udcff", 1, 2, "cut short"), Failure("/b", 1, 2, "empty")])
    store.quarantine([Failure("/b", 5, 6, "no picture")])
    assert store.failures() == [Failure("/a'\\\udcff", 1, 2, "cut short"), Failure("/b", 5, 6, "no picture")]
    store.forget_failures(["/a'\\\udcff", "/unknown"])
    assert store.failures() == [Failure("/b", 5, 6, "no picture")]


def test_a_new_space_is_not_seen_before_it_is_complete(store: Store) -> None:
    store.add([picture("a"), picture("b")], {"s": vectors(1, 2)})
    seen = []

    def batches() -> Iterator[tuple[Sequence[str], np.ndarray]]:
        for name in store.ids():  # reading while the space is being written is allowed
            seen.append(list(Store.open(store.folder).spaces()))
            yield [name], store.read_vectors_of("s", [name])

    store.write_space("t", batches())
    assert seen == [["s"], ["s"]]
    assert store.spaces() == {"s": 4, "t": 4}
    np.testing.assert_array_equal(store.read_vectors("t")[1], vectors(1, 2))


def test_a_space_whose_making_fails_changes_nothing_and_can_be_made_again(store: Store) -> None:
    store.add([picture("a")], {"s": vectors(1)})

    def interrupted() -> Iterator[tuple[Sequence[str], np.ndarray]]:
        yield ["a"], vectors(7)
        raise KeyboardInterrupt

    for space in ("s", "t"):
        with pytest.raises(KeyboardInterrupt):
            store.write_space(space, interrupted())
    np.testing.assert_array_equal(store.read_vectors("s")[1], vectors(1))
    store.write_space("t", [(["a"], vectors(8))])
    np.testing.assert_array_equal(store.read_vectors("t")[1], vectors(8))


def test_a_space_is_replaced_again_and_again(store: Store) -> None:
    store.add([picture("a")], {"s": vectors(1)})
    for width in (5, 6, 7):
        store.write_space("s", [(["a"], vectors(width, width=width))])
        assert store.spaces() == {"s": width}
        assert store.read_vectors("s")[1][0, 0] == width
    assert len(list((store.folder / "tables").glob("vectors.*"))) == 1


def test_compacting_joins_files_and_keeps_everything(store: Store) -> None:
    for number in range(8):
        store.add([picture(f"p{number}")], {"s": vectors(number)})
    before = store.rows()
    store.compact(keep=timedelta(minutes=1))
    assert store.rows() == before
    np.testing.assert_array_equal(store.read_vectors("s")[1], vectors(*range(8)))
    assert store._tables.open("pictures").stats()["fragment_stats"]["num_fragments"] == 1


def test_a_reader_may_go_on_with_a_version_that_was_compacted_meanwhile(store: Store) -> None:
    for number in range(4):
        store.add([picture(f"p{number}")], {"s": vectors(number)})
    held = store._tables.open("pictures")
    store.compact()
    store.delete(["p0"])
    assert held.to_arrow().num_rows == 4


def test_a_second_writer_is_told_that_the_library_is_busy(store: Store) -> None:
    other = FileLock(store.folder / "writing.lock")
    with other, pytest.raises(LibraryBusy, match="another process is writing to"), store.writing(timeout=0.1):
        pass
    with store.writing(timeout=0.1), store.writing(timeout=0.1):
        store.add([picture("a")], {"s": vectors(1)})
    assert store.ids() == ["a"]


def test_damaged_tables_are_a_library_error_that_names_the_folder(store: Store) -> None:
    store.add([picture("a")], {"s": vectors(1)})
    for file in (store.folder / "tables" / "pictures.lance" / "data").iterdir():
        file.write_bytes(b"not lance")
    with pytest.raises(LibraryError, match=str(store.folder)):
        store.rows()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting a small disk needs root")
@pytest.mark.long
def test_a_full_disk_is_one_line_and_loses_nothing_acknowledged(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this machine does not allow mounting a tmpfs")
    try:
        store, added = Store.create(disk / "library"), 0
        with pytest.raises(DiskFull, match="free some space") as raised:
            for added in range(200):
                store.add([picture(f"p{added:03}")], {"s": vectors(added, width=20_000)})
        assert "\n" not in str(raised.value)
        reopened = Store.open(disk / "library")
        assert reopened.ids() == [f"p{number:03}" for number in range(added)]
        np.testing.assert_array_equal(reopened.read_vectors("s")[1][:, 0], np.arange(added))
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=False)


@pytest.mark.afresh
def test_neither_importing_nor_opening_a_store_imports_lance(store: Store) -> None:
    code = (
        "import sys; from pathlib import Path; from viewfinder.store.store import Store; "
        f"Store.open(Path({str(store.folder)!r})); "
        "assert not {'lancedb', 'pyarrow', 'onnxruntime'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


NAMES = st.lists(st.sampled_from("abcde"), min_size=1, max_size=3, unique=True)
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "replace", "delete", "compact"]), NAMES, st.text(max_size=5)),
    max_size=8,
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_any_sequence_of_changes_leaves_what_a_dict_would_hold(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, list[str], str]]
) -> None:
    store = Store.create(tmp_path_factory.mktemp("library"))
    rows: dict[str, PictureRow] = {}
    firsts: dict[str, float] = {}
    for number, (verb, names, caption) in enumerate(steps):
        if verb == "add":
            store.add([picture(name, caption) for name in names], {"s": vectors(*[number] * len(names))})
            rows |= {name: picture(name, caption) for name in names}
            firsts |= dict.fromkeys(names, number)
        elif verb == "replace":
            store.replace([picture(name, caption) for name in names])
            rows |= {name: picture(name, caption) for name in names if name in rows}
        elif verb == "delete":
            store.delete(names)
            rows = {name: row for name, row in rows.items() if name not in names}
            firsts = {name: first for name, first in firsts.items() if name not in names}
        else:
            store.compact()
    assert store.rows() == [rows[name] for name in sorted(rows)]
    if store.spaces():
        ids, matrix_nd = store.read_vectors("s")
        assert dict(zip(ids, matrix_nd[:, 0].tolist(), strict=True)) == firsts


def add(store: Store, names: str) -> None:
    store.add([picture(name) for name in names], {"s": vectors(*map(ord, names))})


def test_a_second_name_of_a_space_is_of_the_same_vectors_and_lasts_without_the_first(store: Store) -> None:
    add(store, "abc")
    before = store.read_vectors("s")
    store.name_alike("s", "t")
    assert store.spaces() == {"s": 4, "t": 4}
    add(store, "d")
    assert store.read_vectors("t")[0] == list("abcd")
    store.delete(["d"])
    store.compact()
    store.forget_spaces(["s", "unheard of"])
    assert store.spaces() == {"t": 4}
    np.testing.assert_array_equal(store.read_vectors("t")[1], before[1])
    store.forget_spaces(["t"])
    assert not list((store.folder / "tables").glob("vectors.*"))


def test_a_second_name_takes_the_place_of_a_space_that_lacks_pictures(store: Store) -> None:
    add(store, "abc")
    store.write_space("t", [(["a"], np.ones((1, 4), np.float32))])
    store.name_alike("s", "t")
    assert store.read_vectors("t")[0] == list("abc")
    store.write_space("s", [(list("abc"), np.ones((3, 4), np.float32))])  # of a head that is new
    assert not np.array_equal(store.read_vectors("t")[1], store.read_vectors("s")[1])
    with pytest.raises(UnknownName):
        store.name_alike("unheard of", "u")


def test_vectors_beside_are_there_before_their_pictures_and_read_with_them(store: Store) -> None:
    add(store, "ab")
    store.add_vectors("beside", ["a", "c"], np.ones((2, 3), np.float32))
    assert store.read_vectors("beside")[0] == ["a"]
    add(store, "c")
    assert store.ids_with_vectors("beside") == {"a", "c"}
    store.announce_vectors("beside")
    with pytest.raises(ValueError, match="comes twice"):
        store.add_vectors("beside", ["a", "a"], np.ones((2, 3), np.float32))
