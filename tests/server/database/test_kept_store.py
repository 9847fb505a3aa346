"""Albums, marks and exports in the database."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from viewfinder.errors import BadInput
from viewfinder.server.database import Database, kept
from viewfinder.server.database.kept import AlbumNameTaken, AlbumRow, AlbumRows, ExportRow, ExportRows, MarkRows


@pytest.fixture
def albums(database: Database) -> AlbumRows:
    return AlbumRows(database)


def begun(albums: AlbumRows, name: str = "Summer", *pictures: str, owner: str = "me") -> AlbumRow:
    row = albums.begin(owner, name, 1.0)
    albums.change(row.id, pictures, (), 2.0)
    return row


def test_pictures_stay_in_the_order_in_which_they_were_added_and_each_once(albums: AlbumRows) -> None:
    row = begun(albums, "Summer", "c", "a", "c")
    assert albums.change(row.id, ["b", "a"], [], 3.0) == (1, 0)
    assert albums.pictures(row.id) == ["c", "a", "b"]
    assert albums.change(row.id, ["c"], ["c", "nobody"], 4.0) == (1, 1)
    assert albums.pictures(row.id) == ["a", "b", "c"]
    found = albums.get(row.id)
    assert found is not None and found.updated == 4.0


def test_what_changes_nothing_does_not_make_an_album_newer(albums: AlbumRows) -> None:
    row = begun(albums, "Summer", "a")
    assert albums.change(row.id, ["a"], ["b"], 9.0) == (0, 0)
    found = albums.get(row.id)
    assert found is not None and found.updated == 2.0


def test_an_owner_has_one_album_of_a_name_and_is_told_which(albums: AlbumRows) -> None:
    first = begun(albums)
    with pytest.raises(AlbumNameTaken) as again:
        albums.begin("me", "Summer", 3.0)
    assert again.value.album == first.id
    assert begun(albums, owner="you").name == "Summer"
    winter = begun(albums, "Winter")
    with pytest.raises(AlbumNameTaken):
        albums.rename(winter, "Summer", 3.0)
    renamed = albums.rename(winter, "Winter", 4.0)
    assert renamed is not None and renamed.updated == 4.0
    albums.delete(winter.id)
    assert albums.rename(winter, "Autumn", 5.0) is None


def test_a_deleted_album_takes_its_list_along_and_no_other(albums: AlbumRows) -> None:
    one, two = begun(albums, "one", "a", "b"), begun(albums, "two", "b")
    assert albums.delete(one.id) and not albums.delete(one.id)
    assert albums.pictures(one.id) == [] and albums.pictures(two.id) == ["b"]
    assert albums.change(one.id, ["a"], [], 3.0) is None
    assert albums.pictures_of("me") == {two.id: ["b"]}


def test_albums_are_listed_by_owner_and_told_by_picture(albums: AlbumRows) -> None:
    summer, best = begun(albums, "Summer", "a", "b"), begun(albums, "Best", "b")
    theirs = begun(albums, "Theirs", "b", owner="you")
    assert [row.id for row in albums.all("me")] == sorted([summer.id, best.id])
    assert {row.id for row in albums.all(None)} == {summer.id, best.id, theirs.id}
    assert albums.holding("me", ["a", "b", "c"]) == {"a": [summer.id], "b": [best.id, summer.id]}
    assert set(albums.pictures_of(None)) == {summer.id, best.id, theirs.id}


def test_albums_and_what_is_in_them_are_limited(albums: AlbumRows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MAX_ALBUMS", 2)
    monkeypatch.setattr(kept, "MAX_IN_ALBUMS", 3)
    one, two = begun(albums, "one", "a", "b"), begun(albums, "two", "a")
    with pytest.raises(BadInput, match="2 albums already"):
        albums.begin("me", "three", 1.0)
    with pytest.raises(BadInput, match="at most 3 pictures together"):
        albums.change(two.id, ["b"], [], 3.0)
    assert albums.pictures(two.id) == ["a"]
    assert albums.change(one.id, ["c"], ["a"], 3.0) == (1, 1)  # as many as before


def test_more_pictures_than_one_statement_takes_go_in_and_out(albums: AlbumRows) -> None:
    many = [f"p{number}" for number in range(2 * kept.BATCH + 7)]
    row = begun(albums, "many", *many)
    assert albums.pictures(row.id) == many
    assert len(albums.holding("me", many)) == len(many)
    assert albums.change(row.id, [], many[1:], 3.0) == (0, len(many) - 1)
    assert albums.pictures(row.id) == many[:1]


def test_those_who_add_at_once_lose_nothing(albums: AlbumRows) -> None:
    row = begun(albums)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: albums.change(row.id, [f"p{n}", "same"], [], 3.0), range(24)))
    assert sorted(albums.pictures(row.id)) == sorted(["same", *(f"p{n}" for n in range(24))])


def test_marks_are_each_persons_own_and_one_kind_leaves_the_other_alone(database: Database) -> None:
    marks = MarkRows(database)
    marks.mark("me", ["a", "b", "a"], 1.0, favourite=True)
    marks.mark("me", ["b", "c"], 2.0, stars=4)
    marks.mark("you", ["a"], 3.0, stars=1)
    told = {name: (row.favourite, row.stars) for name, row in marks.of("me", ["a", "b", "c", "d"]).items()}
    assert told == {"a": (True, 0), "b": (True, 4), "c": (False, 4)}
    assert sorted(marks.marked("me", favourite=True)) == ["a", "b"]
    assert sorted(marks.marked("me", stars=4)) == ["b", "c"] and marks.marked("me", stars=5) == []
    assert marks.marked("me", favourite=True, stars=1) == ["b"]
    marks.mark("me", ["b"], 4.0, favourite=False)
    marks.mark("me", ["a", "c"], 5.0, favourite=False, stars=0)
    assert set(marks.of("me", ["a", "b", "c"])) == {"b"}
    assert set(marks.of("you", ["a"])) == {"a"}


def test_those_who_mark_the_same_at_once_all_come_through(database: Database) -> None:
    marks = MarkRows(database)
    pictures = [f"p{n}" for n in range(40)]

    def mark(number: int) -> None:
        given = pictures if number % 2 else pictures[::-1]
        marks.mark("me", given, float(number), **({"stars": 3} if number % 3 else {"favourite": True}))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(mark, range(24)))
    assert {(row.favourite, row.stars) for row in marks.of("me", pictures).values()} == {(True, 3)}


def export(id: str, created: float, owner: str | None = "me") -> ExportRow:
    return ExportRow(id, owner, "csv", "list.csv", None, [("a", 0.5, "likely"), ("b", None, None)], created)


def test_old_exports_go_when_new_ones_come(database: Database) -> None:
    exports = ExportRows(database)
    for number in range(4):
        exports.keep(export(str(number), float(number)), since=0.0, count=3)
    exports.keep(export("theirs", 2.0, None), since=0.0, count=3)
    assert [exports.get(str(number)) is not None for number in range(4)] == [False, True, True, True]
    kept = exports.get("3")
    assert kept is not None and [tuple(each) for each in kept.pictures] == [("a", 0.5, "likely"), ("b", None, None)]
    exports.keep(export("new", 9.0), since=2.5, count=3)
    assert [exports.get(name) is not None for name in ("1", "2", "3", "theirs")] == [False, False, True, False]


NAMES, PICTURES = st.sampled_from("abcd"), st.lists(st.sampled_from("stuvwxyz"), max_size=5)


class AlbumsMachine(RuleBasedStateMachine):
    """Any changes in any order leave what lists in memory would have."""

    @initialize()
    def begin_empty(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.database = Database.open(f"sqlite:///{self.folder.name}/db")
        self.albums, self.marks = AlbumRows(self.database), MarkRows(self.database)
        self.held: dict[str, list[str]] = {}
        self.ids: dict[str, str] = {}
        self.stars: dict[str, int] = {}
        self.liked: set[str] = set()

    @rule(name=NAMES)
    def make(self, name: str) -> None:
        if name in self.ids:
            with pytest.raises(AlbumNameTaken):
                self.albums.begin("me", name, 1.0)
        else:
            self.ids[name] = self.albums.begin("me", name, 1.0).id
            self.held[name] = []

    @rule(name=NAMES, add=PICTURES, remove=PICTURES)
    def change(self, name: str, add: list[str], remove: list[str]) -> None:
        changed = self.albums.change(self.ids.get(name, "none"), add, remove, 2.0)
        if name not in self.ids:
            assert changed is None
            return
        left = [picture for picture in self.held[name] if picture not in remove]
        new = [picture for picture in dict.fromkeys(add) if picture not in left]
        assert changed == (len(new), len(self.held[name]) - len(left))
        self.held[name] = left + new

    @rule(name=NAMES, other=NAMES)
    def rename(self, name: str, other: str) -> None:
        row = self.albums.get(self.ids.get(name, "none"))
        if row is None:
            return
        if other in self.ids and other != name:
            with pytest.raises(AlbumNameTaken):
                self.albums.rename(row, other, 3.0)
        else:
            self.albums.rename(row, other, 3.0)
            self.ids[other], self.held[other] = self.ids.pop(name), self.held.pop(name)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        assert self.albums.delete(self.ids.pop(name, "none")) == (self.held.pop(name, None) is not None)

    @rule(pictures=PICTURES, favourite=st.none() | st.booleans(), stars=st.none() | st.integers(0, 5))
    def mark(self, pictures: list[str], favourite: bool | None, stars: int | None) -> None:
        if favourite is None and stars is None:
            return
        self.marks.mark("me", pictures, 4.0, favourite=favourite, stars=stars)
        if favourite is not None:
            self.liked = self.liked | set(pictures) if favourite else self.liked - set(pictures)
        if stars is not None:
            self.stars |= dict.fromkeys(pictures, stars)

    @invariant()
    def all_is_as_it_should_be(self) -> None:
        assert {row.name: row.id for row in self.albums.all("me")} == self.ids
        assert {name: self.albums.pictures(id) for name, id in self.ids.items()} == self.held
        assert set(self.marks.marked("me", favourite=True)) == self.liked
        for least in (1, 3, 5):
            assert set(self.marks.marked("me", stars=least)) == {it for it, n in self.stars.items() if n >= least}

    def teardown(self) -> None:
        self.database.close()
        self.folder.cleanup()


AlbumsMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestAnyChangesInAnyOrder = AlbumsMachine.TestCase
