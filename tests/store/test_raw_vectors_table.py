"""Region vectors in the store of record: added in batches, read in any order, cleared with their pictures."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from viewfinder.errors import LibraryBusy, LibraryError
from viewfinder.store.regions import RegionTable
from viewfinder.store.rows import PictureRow
from viewfinder.store.snapshot import read_filled_mark, read_generation
from viewfinder.store.store import Store

RAW = "Colours/raw+1"
"""Encoders' names hold characters that files do not."""


def regions(*firsts: float, shape: tuple[int, int] = (3, 2)) -> np.ndarray:
    """Regions of one picture a number: it is everywhere, plus the region's own number."""
    base_re = np.repeat(np.arange(shape[0], dtype=np.float32)[:, None], shape[1], axis=1)
    return np.stack([base_re + first for first in firsts])


def picture(name: str) -> PictureRow:
    return PictureRow(name, (), 4, 3, "JPEG", 100)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.create(tmp_path / "library")
    store.add([picture(name) for name in "abc"], {RAW: np.zeros((3, 4), np.float32)})
    return store


def table_of(store: Store) -> RegionTable:
    return RegionTable(store.folder, RAW)


def test_a_library_begins_without_regions(store: Store) -> None:
    assert (table_of(store).ids(), table_of(store).shape(), store.pictures_with_regions()) == (set(), None, set())
    with pytest.raises(ValueError, match="holds nothing yet"):
        table_of(store).read(["a"])


def test_regions_come_in_the_order_asked_for_and_as_zeros_where_there_are_none(store: Store) -> None:
    table_of(store).add(["b"], regions(20))
    table_of(store).add(["c", "a"], regions(30, 10))
    found = table_of(store).read(["a", "z", "c", "a", "b"])
    assert found.dtype == np.float16
    np.testing.assert_array_equal(found, np.concatenate([regions(10), 0 * regions(0), regions(30, 10, 20)]))
    assert table_of(store).read([]).shape == (0, 3, 2)
    assert store.pictures_with_regions() == {"a", "b", "c"}


def test_a_reader_that_is_kept_sees_what_others_add_delete_and_compact(store: Store) -> None:
    kept = table_of(store)
    kept.add(["a", "b"], regions(1, 2))
    np.testing.assert_array_equal(kept.read(["b"]), regions(2))
    RegionTable(store.folder, RAW).add(["c"], regions(3))
    Store.open(store.folder).delete(["a"])
    Store.open(store.folder).compact()
    assert kept.ids() == {"b", "c"}
    np.testing.assert_array_equal(kept.read(["c", "a"]), np.concatenate([regions(3), 0 * regions(0)]))


def test_regions_are_no_space_of_their_own(store: Store) -> None:
    table_of(store).add(["a"], regions(1))
    assert store.spaces() == {RAW: 4}


def test_numbers_too_large_for_half_precision_become_its_largest(store: Store) -> None:
    table_of(store).add(["a", "b"], np.array([[[1e6, 0.5]], [[-1e6, 0.0]]], np.float32))
    assert table_of(store).read(["a", "b"]).ravel().tolist() == [65504.0, 0.5, -65504.0, 0.0]


@pytest.mark.parametrize("shape", [(3, 4), (6, 1)])
def test_regions_of_another_shape_are_refused_and_nothing_is_added(store: Store, shape: tuple[int, int]) -> None:
    table_of(store).add(["a"], regions(1))
    with pytest.raises(ValueError, match=r"were expected"):
        table_of(store).add(["b"], regions(2, shape=shape))
    with pytest.raises(ValueError, match="'b' comes twice"):
        table_of(store).add(["b", "b"], regions(2, 3))
    assert table_of(store).ids() == {"a"}


def test_pruned_pictures_lose_their_regions_and_compacting_removes_those_of_no_picture(store: Store) -> None:
    table_of(store).add(["a", "b", "orphan"], regions(1, 2, 3))
    assert store.pictures_with_regions() == {"a", "b"}
    store.delete(["a"])
    assert table_of(store).ids() == {"b", "orphan"}
    store.compact()
    assert table_of(store).ids() == {"b"}
    assert table_of(store).shape() == (3, 2)


def test_a_table_whose_making_was_interrupted_is_made_again(store: Store) -> None:
    table_of(store).add(["a"], regions(1))
    [folder] = (store.folder / "tables").glob("regions.*.lance")
    for file in folder.glob("_versions/*"):
        file.unlink()  # killed before the first version
    assert table_of(store).ids() == store.pictures_with_regions() == set()
    store.compact()
    table_of(store).add(["b"], regions(2))
    assert table_of(store).ids() == {"b"}


def test_only_one_may_fill_at_a_time(store: Store) -> None:
    with (
        table_of(store).filling(1.0),
        pytest.raises(LibraryBusy, match="another process is reading regions of pictures"),
    ):
        table_of(store).filling(0.1).__enter__()
    with store.writing(), table_of(store).filling(0.1):  # it does not wait for those who add pictures
        table_of(store).add(["a"], regions(1))


def test_a_generation_counts_whole_fillings(store: Store) -> None:
    seen = [read_generation(store.folder, RAW)]
    table_of(store).announce()  # nothing is there yet
    table_of(store).add(["a"], regions(1))
    assert [read_generation(store.folder, RAW)] == seen
    for _ in range(2):
        table_of(store).announce()
        seen.append(read_generation(store.folder, RAW))
    assert seen[0] != seen[1] == seen[2]
    table_of(store).add(["b"], regions(1))
    table_of(store).announce()
    assert read_generation(store.folder, RAW) not in seen
    assert "\n" not in read_filled_mark(store.folder)


def test_a_damaged_table_is_a_library_error_that_names_the_folder(store: Store) -> None:
    table_of(store).add(["a"], regions(1))
    [folder] = (store.folder / "tables").glob("regions.*.lance")
    for file in (folder / "data").iterdir():
        file.write_bytes(b"not lance")
    with pytest.raises(LibraryError, match=str(store.folder)):
        table_of(store).read(["a"])


NAMES = [f"p{number:02}" for number in range(12)]
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "delete", "compact"]), st.lists(st.sampled_from(NAMES), max_size=4, unique=True)),
    max_size=6,
)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_any_sequence_of_changes_leaves_what_a_dict_would_hold(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, list[str]]]
) -> None:
    store = Store.create(tmp_path_factory.mktemp("library"))
    store.add([picture(name) for name in NAMES], {RAW: np.zeros((len(NAMES), 4), np.float32)})
    table, held, gone = table_of(store), dict[str, float](), set[str]()
    for number, (verb, names) in enumerate(steps, start=1):
        new = [name for name in names if name not in held and name not in gone]
        if verb == "add" and new:
            table.add(new, regions(*[number] * len(new)))
            held |= dict.fromkeys(new, number)
        elif verb == "delete":
            store.delete(names)
            gone.update(names)
            held = {name: first for name, first in held.items() if name not in gone}
        elif verb == "compact":
            store.compact()
    assert table.ids() == held.keys()
    if table.shape() is not None:
        expected = [regions(held[name])[0] if name in held else 0 * regions(0)[0] for name in NAMES]
        np.testing.assert_array_equal(table.read(NAMES), np.stack(expected))


@pytest.mark.slow
def test_regions_are_added_beside_deletions_and_compactions_of_another_process(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    names = [f"{number:03}" for number in range(60)]
    store.add([picture(name) for name in names], {RAW: np.zeros((len(names), 4), np.float32)})
    other = subprocess.Popen([sys.executable, __file__, str(tmp_path)], stdin=subprocess.PIPE, text=True)
    order = random.Random(3).sample(names, len(names))
    for start in range(0, len(order), 4):
        some = order[start : start + 4]
        table_of(store).add(some, regions(*map(float, some)))
    other.communicate("enough\n", timeout=60)
    assert other.returncode == 0
    store.compact()  # what was added after its picture had gone
    kept = [name for name in names if not name.endswith("7")]
    assert table_of(store).ids() == store.pictures_with_regions() == set(kept) == set(store.ids())
    np.testing.assert_array_equal(table_of(store).read(kept), regions(*map(float, kept)))


def main(folder: str) -> None:
    """Deletes and compacts until it is told that it is enough."""
    import select

    store = Store.open(Path(folder))
    store.delete([name for name in store.ids() if name.endswith("7")])
    while not select.select([sys.stdin], [], [], 0.0)[0]:
        store.compact()


if __name__ == "__main__":
    main(sys.argv[1])
