"""Snapshots that grow: they show what one that is written anew shows, and write what was added alone."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from viewfinder.pictures.facts.model import Fact
from viewfinder.search.scores import Scores
from viewfinder.search.written_words import WordIndex, build_entries, said_words, written_words
from viewfinder.store import snapshot_files
from viewfinder.store.growing_arrays import count_rows, extend_rows, link_rows, map_rows, save_rows
from viewfinder.store.half_rows import HalfRows
from viewfinder.store.rows import FACTS, FileRecord, PictureRow
from viewfinder.store.snapshot import Snapshot, read_state
from viewfinder.store.snapshot_files import load_snapshot
from viewfinder.store.store import Store
from viewfinder.store.tables import GROWTH, TABLES, Tables, read_growth


@pytest.fixture(autouse=True)
def from_a_few_pictures_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_files, "GROWS_FROM", 3)
    monkeypatch.setattr(snapshot_files, "MAX_ADDED_SHARE", 10)


def picture(name: str, colour: str = "red", **changes: object) -> PictureRow:
    row = PictureRow(
        name, (FileRecord(f"/photos/{name}.jpg", 100, 7),), 4, 3, "JPEG", 100, "2019-07-14", None,
        (f"a {colour} cat", name), {"colour": (colour,)},
    )  # fmt: skip
    return replace(row, **changes)  # type: ignore[arg-type]


def vector(row: PictureRow) -> np.ndarray:
    """Another for every picture."""
    return np.array([ord(row.id[0]), len(row.id), 1.0], np.float32)


def add(store: Store, *rows: PictureRow) -> None:
    store.add(rows, {"s": np.stack([vector(row) for row in rows])})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.create(tmp_path / "library")
    add(store, picture("d"), picture("b", "blue"), picture("f"), picture("h", "green"))
    load_snapshot(store.folder, "s")
    return store


def has_grown(snapshot: Snapshot) -> bool:
    return snapshot.ordered < len(snapshot)


def assert_like_a_new_one(grown: Snapshot, folder: Path) -> None:
    """Everything but the order of rows is as in a snapshot that is written anew."""
    home = grown.folder
    assert home is not None and grown.all_columns  # read while its folder is there
    aside = home.with_name("aside")
    home.rename(aside)
    (folder / "tables" / "growth.jsonl").rename(folder / "growth.aside")
    new = load_snapshot(folder, grown.space)
    assert not has_grown(new) and sorted(grown.ids) == list(new.ids)
    for row, name in enumerate(new.ids):
        other = grown.row_of(name)
        assert other is not None
        np.testing.assert_array_equal(grown.matrix_nd[other], new.matrix_nd[row])
        assert grown.captions(other) == new.captions(row) and grown.facts(other) == new.facts(row)
        assert grown.attributes(other) == new.attributes(row) and grown.paths(other) == new.paths(row)
    assert grown.columns() == new.columns()
    for column in new.all_columns:
        own = grown.column(column.name)
        assert own.values == column.values and own.count_values() == column.count_values()
        by_id = [own.of_row(grown.row_of(name) or 0) for name in new.ids]
        assert by_id == [column.of_row(row) for row in range(len(new))]
    assert new.folder is not None
    shutil.rmtree(new.folder)
    aside.rename(home)
    (folder / "growth.aside").rename(folder / "tables" / "growth.jsonl")


def test_pictures_that_were_added_stand_behind_the_others(store: Store) -> None:
    add(store, picture("c", "blue"), picture("a", "pink"))
    grown = load_snapshot(store.folder, "s")
    assert grown.ids == ("b", "d", "f", "h", "a", "c") and grown.ordered == 4
    assert [grown.row_of(name) for name in ("a", "b", "c", "z")] == [4, 0, 5, None]
    assert grown.column("colour").values == ("blue", "red", "green", "pink")
    assert grown.where({"colour": "blue"}).tolist() == [True, False, False, False, False, True]
    assert_like_a_new_one(grown, store.folder)


def test_compacting_where_there_is_nothing_to_do_is_no_growth(store: Store) -> None:
    for _ in range(3):
        store.delete(["d"])
        store.compact()
    assert all(earlier != later for later, (earlier, _) in read_growth(store.folder).items())


def test_a_state_that_is_noted_as_its_own_earlier_one_is_not_looked_for_forever(store: Store) -> None:
    """Earlier versions noted that."""
    store.delete(["d"])
    state = read_state(store.folder)
    with (store.folder / TABLES / GROWTH).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"before": state, "after": state, "ids": []}) + "\n")
    assert load_snapshot(store.folder, "s").ids == ("b", "f", "h")


def test_what_was_there_is_shared_and_not_written_again(store: Store) -> None:
    before = load_snapshot(store.folder, "s")
    add(store, picture("c"))
    grown = load_snapshot(store.folder, "s")
    assert before.folder is not None and grown.folder is not None
    for name in ("matrix.rows", "pictures-0.arrow", "column-0.codes.rows"):
        assert (before.folder / name).stat().st_ino == (grown.folder / name).stat().st_ino
    assert len(before) == 4 and len(load_snapshot(store.folder, "s")) == 5
    np.testing.assert_array_equal(before.matrix_nd[:, 0], [ord(name) for name in "bdfh"])


def test_vectors_in_half_precision_grow_in_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    single = load_snapshot(store.folder, "s")
    assert single.folder is not None
    shutil.rmtree(single.folder)
    monkeypatch.setattr(snapshot_files, "find_kept_type", lambda size: np.float16)
    before = load_snapshot(store.folder, "s")
    monkeypatch.undo()  # what has begun in half precision goes on so
    monkeypatch.setattr(snapshot_files, "GROWS_FROM", 3)
    monkeypatch.setattr(snapshot_files, "MAX_ADDED_SHARE", 10)
    add(store, picture("c"))
    grown = load_snapshot(store.folder, "s")
    assert has_grown(grown) and isinstance(before.matrix_nd, HalfRows) and isinstance(grown.matrix_nd, HalfRows)
    np.testing.assert_array_equal(grown.matrix_nd, [*np.asarray(before.matrix_nd), vector(picture("c"))])


def test_what_was_added_is_found_among_the_last_rows_or_else_anywhere(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, picture("c"), picture("a"))
    asked: list[list[str]] = []
    real = Tables.select

    def select(tables: Tables, name: str, column: str, values: list[str]) -> object:
        asked.append(list(values))
        return real(tables, name, column, values)

    monkeypatch.setattr(Tables, "select", select)
    table, vectors_nd = store.read_added("s", ["c", "a"])
    assert table["id"].to_pylist() == ["a", "c"] and asked == []
    np.testing.assert_array_equal(vectors_nd, [vector(picture("a")), vector(picture("c"))])
    table, vectors_nd = store.read_added("s", ["b", "d"])
    assert table["id"].to_pylist() == ["b", "d"] and asked == [["b", "d"]] * 2
    np.testing.assert_array_equal(vectors_nd, [vector(picture("b")), vector(picture("d"))])
    assert store.read_added("s", ["a", "nothing"])[0]["id"].to_pylist() == ["a"]


def test_what_is_estimated_from_a_sample_stays_while_few_are_added(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mean(snapshot: Snapshot) -> np.ndarray:
        return np.asarray(snapshot.matrix_nd[:].mean(axis=0))

    monkeypatch.setattr(snapshot_files, "SAMPLED_FROM", 4)
    monkeypatch.setattr(snapshot_files, "MAX_ADDED_TO_SAMPLED", 0.25)
    before = load_snapshot(store.folder, "s").derived("mean", mean, by_sample=True)
    add(store, picture("c"))
    grown = load_snapshot(store.folder, "s")
    assert has_grown(grown)
    np.testing.assert_array_equal(grown.derived("mean", mean, by_sample=True), before)
    add(store, picture("a"))  # two of four are more than a quarter
    later = load_snapshot(store.folder, "s")
    np.testing.assert_array_equal(later.derived("mean", mean, by_sample=True), mean(later))
    assert has_grown(later) and not np.array_equal(mean(later), before)


def test_a_state_may_be_several_additions_and_a_compaction_later(store: Store) -> None:
    add(store, picture("c"))
    store.compact()
    add(store, picture("a"))
    grown = load_snapshot(store.folder, "s")
    assert grown.ids == ("b", "d", "f", "h", "a", "c")
    assert_like_a_new_one(grown, store.folder)


@pytest.mark.parametrize("change", ["replace", "delete", "add again", "write_space"])
def test_where_anything_else_has_changed_all_is_written_anew(store: Store, change: str) -> None:
    add(store, picture("c"))
    if change == "replace":
        store.replace([picture("b", "pink")])
    elif change == "delete":
        store.delete(["f"])
    elif change == "add again":
        add(store, picture("b", "pink"))
    else:
        store.write_space("s", [(["b", "c"], np.ones((2, 3)))])
    found = load_snapshot(store.folder, "s")
    assert not has_grown(found) and list(found.ids) == sorted(found.ids)
    assert ("pink" in found.column("colour").values) == (change in {"replace", "add again"})


def test_small_libraries_and_large_additions_are_written_anew(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_files, "MAX_ADDED_SHARE", 0.25)
    add(store, picture("c"))
    assert has_grown(load_snapshot(store.folder, "s"))  # one over four
    add(store, picture("e"))
    assert not has_grown(load_snapshot(store.folder, "s"))  # two over four
    monkeypatch.setattr(snapshot_files, "GROWS_FROM", 100)
    add(store, picture("a"))
    assert not has_grown(load_snapshot(store.folder, "s"))


def test_a_catalogue_column_called_as_a_fact_is_no_reason_to_grow_wrongly(store: Store) -> None:
    add(store, picture("c", attributes={"colour": ("red",), "Camera": ("Leica",)}))
    found = load_snapshot(store.folder, "s")
    assert not has_grown(found) and found.columns() == ("Camera", "colour", "format", "year", "month", "folder")


def test_a_new_catalogue_column_has_nothing_for_the_pictures_before(store: Store) -> None:
    add(store, picture("c", attributes={"price": ("12", "13")}))
    grown = load_snapshot(store.folder, "s")
    assert has_grown(grown)
    assert [grown.column("price").of_row(row) for row in range(5)] == [(), (), (), (), ("12", "13")]
    assert_like_a_new_one(grown, store.folder)


def test_derived_rows_are_computed_for_the_added_pictures_alone(store: Store) -> None:
    seen: list[tuple[str, ...]] = []

    def first_numbers(found: Snapshot) -> np.ndarray:
        seen.append(tuple(found.ids))
        return found.matrix_nd[:, 0].copy()

    load_snapshot(store.folder, "s").derived("first", first_numbers, by_row=True)
    load_snapshot(store.folder, "s").derived("whole", first_numbers)
    add(store, picture("c"))
    grown = load_snapshot(store.folder, "s")
    np.testing.assert_array_equal(grown.derived("first", first_numbers, by_row=True), grown.matrix_nd[:, 0])
    np.testing.assert_array_equal(grown.derived("whole", first_numbers), grown.matrix_nd[:, 0])
    assert seen == [("b", "d", "f", "h"), ("b", "d", "f", "h"), ("c",), grown.ids]
    again = load_snapshot(store.folder, "s")
    np.testing.assert_array_equal(again.derived("first", first_numbers, by_row=True), again.matrix_nd[:, 0])
    assert len(seen) == 4


def word_index(snapshot: Snapshot) -> WordIndex:
    return WordIndex(snapshot.derived_by_block("words", build_entries), len(snapshot))


def assert_words_like_a_new_index(snapshot: Snapshot) -> None:
    """Each word that is written leads to the same rows as in an index made at once, and as in a slow look at all."""
    rows: dict[str, list[int]] = {}
    whole: set[tuple[int, str]] = set()
    for row in range(len(snapshot)):
        values = [text for held in snapshot.attributes(row).values() for text in held]
        texts = [*snapshot.captions(row), *values]
        whole |= {(row, " ".join(said_words(value))) for value in values if len(said_words(value)) in (1, 2, 3)}
        for word in {word for text in texts for word in written_words(text)}:
            rows.setdefault(word, []).append(row)
    index, new = word_index(snapshot), WordIndex([(0, build_entries(snapshot))], len(snapshot))
    assert {word: index.rows(word).tolist() for word in rows} == rows
    assert {word: new.rows(word).tolist() for word in rows} == rows
    assert len(index) == len(new) == sum(map(len, rows.values())) + len(whole) and not len(index.rows("zebra"))
    for text in ("a red cat", "blue", "d of shirts", "zebra"):
        ours, theirs = (one.likelihood_ratios(one.find(text), lambda word: 1e-3) for one in (index, new))
        assert (ours is None) == (theirs is None)
        if ours is not None and theirs is not None:
            every_n = np.arange(len(snapshot))
            np.testing.assert_array_equal(ours.at(every_n), theirs.at(every_n))


def test_the_words_of_a_grown_snapshot_are_those_of_an_index_made_at_once(store: Store) -> None:
    assert_words_like_a_new_index(load_snapshot(store.folder, "s"))
    for names in ("acg", "e", "ij", "k", "l", "mn"):
        new = [picture(name, "blue", captions=(f"{name} blue shirts",)) for name in names]
        add(store, *new, picture(names + "z", attributes={"name": (f"Nike {names}", "Red")}))
        grown = load_snapshot(store.folder, "s")
        assert has_grown(grown)
        assert_words_like_a_new_index(grown)
    assert len(grown.block_ends) > 1
    store.delete(["a"])
    rewritten = load_snapshot(store.folder, "s")
    assert not has_grown(rewritten)
    assert_words_like_a_new_index(rewritten)


def test_the_words_of_a_block_are_read_once_and_joined_with_those_of_later_ones(store: Store) -> None:
    seen: list[tuple[str, ...]] = []

    def entries(found: Snapshot) -> np.ndarray:
        seen.append(tuple(found.ids))
        return build_entries(found)

    def files_after(*names: str) -> set[str]:
        if names:
            add(store, *(picture(name) for name in names))
        found = load_snapshot(store.folder, "s")
        found.derived_by_block("words", entries)
        assert found.folder is not None
        return {file.name for file in found.folder.glob("block-*.rows")}

    assert files_after() == {"block-0-4-words.rows"}
    assert files_after("m", "n") == {"block-0-4-words.rows", "block-4-6-words.rows"}
    assert files_after("o") == {"block-0-4-words.rows", "block-4-6-words.rows", "block-6-7-words.rows"}
    assert files_after("p") == {"block-0-4-words.rows", "block-4-8-words.rows"}
    assert files_after() == {"block-0-4-words.rows", "block-4-8-words.rows"}
    assert seen == [("b", "d", "f", "h"), ("m", "n"), ("o",), ("m", "n", "o", "p")]


def test_of_equal_scores_the_first_id_comes_first_wherever_its_row_stands(store: Store) -> None:
    add(store, picture("c"), picture("a"))
    ids = load_snapshot(store.folder, "s").ids
    nobody_n = np.zeros(6, bool)
    scores = Scores(np.array([1, 1, 2, 1, 1, 2], np.float32), nobody_n, ids=ids)
    assert [ids[row] for row in scores.best(4)] == ["c", "f", "a", "b"]
    assert [ids[row] for row in scores.best(9)] == ["c", "f", "a", "b", "d", "h"]
    some_n = np.array([name != "a" for name in ids])
    assert [ids[row] for row in scores.best(3, some_n)] == ["c", "f", "b"]


def test_a_damaged_file_of_a_grown_snapshot_is_noticed_and_all_is_built_again(store: Store) -> None:
    add(store, picture("c"))
    folder = load_snapshot(store.folder, "s").folder
    assert folder is not None
    content = bytearray((folder / "matrix.rows").read_bytes())
    content[-1] ^= 1
    (folder / "matrix.rows").write_bytes(content)
    rebuilt = load_snapshot(store.folder, "s")
    np.testing.assert_array_equal(rebuilt.matrix_nd[:, 0], [ord(name) for name in rebuilt.ids])


def test_two_snapshots_that_grew_from_one_do_not_see_each_others_rows(tmp_path: Path) -> None:
    save_rows(tmp_path / "a", np.arange(3))
    for name, more in (("b", 10), ("c", 20)):
        link_rows(tmp_path / "a", tmp_path / name)
        extend_rows(tmp_path / name, np.array([more, more + 1]))
    assert map_rows(tmp_path / "a").tolist() == [0, 1, 2]
    assert map_rows(tmp_path / "b").tolist() == [0, 1, 2, 10, 11]
    assert map_rows(tmp_path / "c").tolist() == [0, 1, 2, 20, 21]
    extend_rows(tmp_path / "b", np.array([12]))
    assert count_rows(tmp_path / "b") == [3, 2, 1] and map_rows(tmp_path / "b").tolist() == [0, 1, 2, 10, 11, 12]


def test_rows_of_another_kind_are_not_put_behind(tmp_path: Path) -> None:
    save_rows(tmp_path / "a", np.zeros((2, 3), np.float32))
    for other in (np.zeros((1, 3)), np.zeros((1, 4), np.float32)):
        with pytest.raises(ValueError, match="rows of <f4"):
            extend_rows(tmp_path / "a", other)


def test_without_hard_links_files_are_copied(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    add(store, picture("c"))
    grown = load_snapshot(store.folder, "s")
    assert has_grown(grown)
    assert_like_a_new_one(grown, store.folder)


names = st.text("abcdefghij", min_size=1, max_size=3)
batches = st.lists(st.dictionaries(names, st.sampled_from(["red", "blue", "teal"]), min_size=1, max_size=4), max_size=5)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches)
def test_whatever_comes_in_a_snapshot_shows_what_the_store_has(
    tmp_path_factory: pytest.TempPathFactory, added: list[dict[str, str]]
) -> None:
    store = Store.create(tmp_path_factory.mktemp("any") / "library")
    add(store, *(picture(name) for name in ("xa", "xb", "xc")))
    load_snapshot(store.folder, "s")
    for batch in added:
        add(store, *(picture(name, colour) for name, colour in batch.items()))
        found = load_snapshot(store.folder, "s")
        assert sorted(found.ids) == store.ids()
        colours = {row.id: row.attributes["colour"] for row in store.rows()}
        assert [found.column("colour").of_row(row) for row in range(len(found))] == [
            colours[name] for name in found.ids
        ]
        np.testing.assert_array_equal(found.matrix_nd[:, 1], [len(name) for name in found.ids])
        assert_words_like_a_new_index(found)


def test_what_files_tell_grows_with_a_snapshot(store: Store) -> None:
    def tell(name: str, *keywords: str, **attributes: tuple[str, ...]) -> PictureRow:
        file = FileRecord(f"/photos/{name}.jpg", 100, 7, 1, (Fact("keywords", keywords, "XMP"),) if keywords else ())
        return picture(name, files=(file,), attributes=attributes)

    def keywords_of(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
        return {name: snapshot.column("keywords").of_row(row) for row, name in enumerate(snapshot.ids)}

    add(store, tell("a", "sea", "sun"))
    grown = load_snapshot(store.folder, "s")
    assert has_grown(grown)
    add(store, tell("c", "sun"), tell("e", colour=("red",)))
    grown = load_snapshot(store.folder, "s")
    assert has_grown(grown)
    assert keywords_of(grown) == {"a": ("sea", "sun"), "c": ("sun",), "e": (), "b": (), "d": (), "f": (), "h": ()}
    assert grown.file_columns == {*FACTS, "keywords"}
    assert grown.columns() == ("colour", *FACTS, "keywords")
    add(store, tell("g", "moon", Keywords=("of the shop",)))  # takes the place of what files tell, of all pictures
    rewritten = load_snapshot(store.folder, "s")
    assert not has_grown(rewritten)
    assert rewritten.column("keywords").values == ("of the shop",)
    assert rewritten.file_columns == {*FACTS}
