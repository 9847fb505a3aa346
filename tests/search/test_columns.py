"""Columns beside results, and results in the order of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from viewfinder.errors import BadInput, UnknownName
from viewfinder.library import Library
from viewfinder.retrievers import Composer
from viewfinder.search.columns import MAX_FIELDS, find_columns, find_hits, parse_order
from viewfinder.search.ranking import Ranking
from viewfinder.session.session import Session
from viewfinder.testing import tiny_pictures

PRICES = ["12.50 EUR", "9", "1,299.00", "", "on request", "9", "10", "-3"]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Eight drawings with prices, some in words; one has none, and two colours each."""
    home = tmp_path_factory.mktemp("columns")
    drawn = tiny_pictures(home / "pictures", 8)
    rows = [
        f'{one.path.name},"{price}",Thing {at},2019-07-{at + 1:02}'
        for at, (one, price) in enumerate(zip(drawn, PRICES, strict=True))
    ]
    (home / "catalogue.csv").write_text("\n".join(["image,price,name,seen", *rows]), encoding="utf-8")
    library = Library.open(home / "library.vf")
    library.add(home / "pictures", catalogue=home / "catalogue.csv", workers=1)
    return library


def arranged(library: Library, sort: str) -> list[str]:
    snapshot = library.gallery().snapshot
    order = parse_order(snapshot, sort)
    assert order is not None
    rows = [snapshot.row_of(row.id) for row in library]
    found = [row for row in rows if row is not None]
    names = [snapshot.column("price").of_row(found[place]) for place in order.arrange(snapshot, found)]
    return [name[0] if name else "" for name in names]


def test_numbers_come_before_words_and_what_has_no_value_comes_last(library: Library) -> None:
    assert arranged(library, "price") == ["-3", "9", "9", "10", "12.50 EUR", "1,299.00", "on request", ""]
    assert arranged(library, "-price") == ["on request", "1,299.00", "12.50 EUR", "10", "9", "9", "-3", ""]


def test_equal_ones_stay_as_they_rank(library: Library) -> None:
    snapshot = library.gallery().snapshot
    rows = [row for row in range(len(snapshot)) if snapshot.column("price").of_row(row) == ("9",)]
    for given in (rows, rows[::-1]):
        for sort in ("price", "-price"):
            order = parse_order(snapshot, sort)
            assert order is not None
            assert order.arrange(snapshot, given) == [0, 1]


def test_an_unknown_column_is_answered_with_those_that_there_are(library: Library) -> None:
    snapshot = library.gallery().snapshot
    with pytest.raises(UnknownName, match=r"sort: there is no column called 'prize'; there are: .*price.*, date$"):
        parse_order(snapshot, "-prize")
    with pytest.raises(UnknownName, match=r"there is no column called 'prize'; there are: .*price"):
        find_columns(snapshot, ["name,prize"])
    with pytest.raises(BadInput, match=f"at most {MAX_FIELDS}"):
        find_columns(snapshot, [",".join(f"c{at}" for at in range(MAX_FIELDS + 1))])


def test_names_may_be_listed_with_commas_and_one_that_has_a_comma_is_one_name(library: Library) -> None:
    snapshot = library.gallery().snapshot
    assert list(find_columns(snapshot, ["name, PRICE", "seen", "name"])) == ["name", "PRICE", "seen"]


def rank(library: Library, text: str) -> Ranking:
    session = Session(library.gallery(), Composer(), None)
    session.say(text)
    return session.ranking()


def test_pages_of_ordered_results_have_every_result_once_and_the_unlikely_as_they_rank(library: Library) -> None:
    ranking = rank(library, "red over red")
    order = parse_order(library.gallery().snapshot, "price")
    plain = ranking.hits(8)
    whole = find_hits(ranking, order, 8)
    paged = [hit for start in range(0, 8, 3) for hit in find_hits(ranking, order, 3, start)]
    assert [hit.id for hit in paged] == [hit.id for hit in whole]
    fits = [hit.id for hit in plain if hit.match != "unlikely"]
    assert fits and len(fits) < 8
    assert {hit.id for hit in whole[: len(fits)]} == set(fits)
    assert [hit.id for hit in whole[len(fits) :]] == [hit.id for hit in plain[len(fits) :]]
    assert {hit.id: hit.rank for hit in whole} == {hit.id: hit.rank for hit in plain}


def test_a_library_finds_with_fields_and_in_an_order(library: Library) -> None:
    hits = library.find("a red picture", n=8, fields="name,price", sort="-price")
    fitting = [hit for hit in hits if hit.match != "unlikely"]
    assert fitting == list(hits[: len(fitting)])
    assert all(hit.fields["name"][0].startswith("Thing ") for hit in hits)
    assert hits[0].why["turns"]
    assert "fields" in hits.to_json()["results"][0]
    listed = library.find(where={"name": "Thing 0|Thing 1|Thing 2"}, fields=["price"], sort="price")
    assert [hit.fields["price"] for hit in listed] == [("9",), ("12.50 EUR",), ("1,299.00",)]
    assert "fields" not in library.find("red", n=1).to_json()["results"][0]


def test_a_bad_order_is_refused_before_anything_is_shown(library: Library, tmp_path: Path) -> None:
    for sort in ("prize", "-"):
        with pytest.raises(UnknownName, match="sort: "):
            library.find("red", sort=sort)
