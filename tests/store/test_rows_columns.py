"""Columns: catalogue and facts as codes, filters, and what an unknown name is answered."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Any
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import viewfinder.store.rows
from viewfinder.errors import UnknownName
from viewfinder.pictures.facts.model import LIST_NAMES, NAMES, Fact, merge_facts
from viewfinder.store.rows import (
    FACTS,
    FEW_KINDS,
    AttributeColumn,
    FileRecord,
    PictureRow,
    build_columns,
    find_column,
    pictures_from_arrow,
    pictures_to_arrow,
    split_date,
    to_utf8,
)
from viewfinder.store.rows import (
    KNOWN as TOLD,
)
from viewfinder.store.snapshot import Snapshot
from viewfinder.store.snapshot_files import StoredColumns, save_columns

COLOURS = AttributeColumn.of("colour", [("red", "Blue"), (), ("blue",), ("red", "red", " "), ("red",)])


def picture(name: str, folder: str = "cats", **attributes: tuple[str, ...]) -> PictureRow:
    files = (FileRecord(f"/photos/{folder}/{name}.jpg", 1, 2),)
    return PictureRow(name, files, 4, 3, "JPEG", 1, captured="2019-07-14T10:03:00", attributes=attributes)


def columns_of(*rows: PictureRow) -> dict[str, AttributeColumn]:
    return build_columns(pictures_to_arrow(rows))


TEXTS = st.sampled_from(["red", " red ", "blue", "", "b|c", '"quoted"', "n\udcff"])
PATHS = st.sampled_from(["/a.jpg", "/cats/b.jpg", "cats/b.jpg", "/n\udcff/c.jpg", "s3://dogs/d.jpg"])
KNOWN = st.fixed_dictionaries(
    {
        "format": st.sampled_from(["JPEG", "PNG"]),
        "captured": st.sampled_from([None, "2019-07-14T10:03:00", "2020:12:01", "yesterday\0", "2021-01-01\0"]),
        "camera": st.sampled_from([None, "Q10", "odd\0name"]),
        "attributes": st.dictionaries(st.sampled_from(["colour", "Year"]), st.lists(TEXTS, max_size=3).map(tuple)),
    }
)


@given(st.lists(st.tuples(st.lists(PATHS, max_size=3), KNOWN), max_size=8))
def test_columns_read_from_arrow_are_those_read_picture_by_picture(
    given_rows: list[tuple[list[str], dict[str, Any]]],
) -> None:
    rows = [
        PictureRow("a", tuple(FileRecord(path, 1, 2) for path in paths), 1, 1, bytes=1, **known)
        for paths, known in given_rows
    ]
    dates = [split_date(row.captured) for row in rows]
    plain: dict[str, list[tuple[str, ...]]] = {
        "format": [(row.format,) for row in rows],
        "year": [(year or "",) for year, _ in dates],
        "month": [(month or "",) for _, month in dates],
        "camera": [(row.camera or "",) for row in rows],
        "folder": [tuple(to_utf8(PurePath(file.path).parent.name) for file in row.files) for row in rows],
    }
    names = sorted({name for row in rows for name in row.attributes})
    plain = {name: [row.attributes.get(name, ()) for row in rows] for name in names} | {
        name: values for name, values in plain.items() if name != "year" or "Year" not in names
    }
    found = columns_of(*rows)
    assert list(found) == list(plain)
    for name, values in plain.items():
        column = AttributeColumn.of(name, values)
        assert found[name].values == column.values
        np.testing.assert_array_equal(found[name].offsets, column.offsets)
        np.testing.assert_array_equal(found[name].codes, column.codes)


@given(st.lists(st.tuples(st.lists(PATHS, max_size=3), KNOWN), max_size=8), st.integers(1, 4))
def test_columns_are_the_same_however_many_pictures_are_read_at_once(
    given_rows: list[tuple[list[str], dict[str, Any]]], at_once: int
) -> None:
    rows = [
        PictureRow("a", tuple(FileRecord(path, 1, 2) for path in paths), 1, 1, bytes=1, **known)
        for paths, known in given_rows
    ]
    whole = columns_of(*rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.store.rows, "COLUMNS_AT_ONCE", at_once)
        parts = columns_of(*rows)
    assert list(parts) == list(whole)
    for name, column in whole.items():
        assert (parts[name].values, parts[name].of_files) == (column.values, column.of_files)
        np.testing.assert_array_equal(parts[name].offsets, column.offsets)
        np.testing.assert_array_equal(parts[name].codes, column.codes)


def test_values_stand_most_frequent_first_and_codes_point_to_them() -> None:
    assert COLOURS.values == ("red", "Blue", "blue")
    assert COLOURS.offsets.tolist() == [0, 2, 2, 3, 4, 5]
    assert COLOURS.codes.tolist() == [0, 1, 2, 0, 0]
    assert COLOURS.first_codes_n.tolist() == [0, -1, 2, 0, 0]
    assert [COLOURS.of_row(row) for row in range(2)] == [("red", "Blue"), ()]


def test_a_filter_finds_every_spelling_with_other_capitals() -> None:
    assert COLOURS.mask(" BLUE ").tolist() == [True, False, True, False, False]


PRICES = AttributeColumn.of("price", [("9.50",), ("1,200",), ("80", "12"), (), ("free",)])
EUROS = AttributeColumn.of("Preis", [("9,50 €",), ("1.200,00 €",), ("80,00 €", "12,00 €"), (), ("frei",)])
DAYS = AttributeColumn.of("captured", [("2019-06-30",), ("2019-07-01",), ("2020-12-31",), ("2021-01-01",), ()])


@pytest.mark.parametrize(
    ("column", "condition", "rows"),
    [
        (COLOURS, "blue | red", [0, 2, 3, 4]),
        (PRICES, "10..80", [2]),
        (PRICES, "..12", [0, 2]),
        (PRICES, "100..", [1]),
        (PRICES, "free|..10", [0, 4]),
        (EUROS, "10..80", [2]),
        (EUROS, "..9,5 | 1.000,00..", [0, 1]),
        (DAYS, "2019-07..2020", [1, 2]),
        (DAYS, "2019", [0, 1]),
        (DAYS, "..2019-06|2021-01-01", [0, 3]),
    ],
)
def test_a_filter_takes_alternatives_and_ranges_of_numbers_and_dates(
    column: AttributeColumn, condition: str, rows: list[int]
) -> None:
    assert np.flatnonzero(column.mask(condition)).tolist() == rows


def test_a_value_that_looks_like_a_range_or_like_alternatives_is_a_value() -> None:
    column = AttributeColumn.of("size", [("1..3",), ("2",), ("S|M",), ("S",)])
    assert np.flatnonzero(column.mask("1..3")).tolist() == [0]
    assert np.flatnonzero(column.mask("s|m")).tolist() == [2]


@pytest.mark.parametrize("condition", ["red|pink", "red|", "..", "10..20", "a..z", "2019"])
def test_an_alternative_that_no_picture_meets_is_an_unknown_name(condition: str) -> None:
    with pytest.raises(UnknownName, match="no picture has colour = "):
        COLOURS.mask(condition)


def test_one_chooses_among_few_values_or_such_as_pictures_share() -> None:
    assert AttributeColumn.of("few", [(f"t{number}",) for number in range(FEW_KINDS)]).tells_kinds
    assert AttributeColumn.of("colour", [(f"c{number % 40}",) for number in range(80)]).tells_kinds
    assert not AttributeColumn.of("title", [(f"t{number % 41}",) for number in range(80)]).tells_kinds
    assert not AttributeColumn.of("name", [(f"n{number % 501}",) for number in range(5000)]).tells_kinds
    assert not AttributeColumn.of("nothing", [(), ()]).tells_kinds


def test_a_column_is_one_of_numbers_if_all_its_values_are() -> None:
    assert EUROS.numbers_v is None  # one is free
    prices = AttributeColumn.of("Preis", [("9,50 €",), ("1.200,00 €",), ("9,50 €", "12,00 €"), ()]).numbers_v
    assert prices is not None and prices.tolist() == [9.5, 1200.0, 12.0]
    assert AttributeColumn.of("nothing", [(), ()]).numbers_v is None


def test_values_are_counted_by_pictures() -> None:
    assert COLOURS.count_values() == [("red", 3), ("Blue", 1), ("blue", 1)]


def test_an_unknown_value_is_answered_with_some_that_exist() -> None:
    with pytest.raises(UnknownName, match=r"no picture has colour = 'pink'; known are: red, Blue, blue$"):
        COLOURS.mask("pink")
    with pytest.raises(UnknownName, match=r"v9, \.\.\.$"):
        AttributeColumn.of("many", [[f"v{number}"] for number in range(10)] + [["w"]]).mask("pink")
    with pytest.raises(UnknownName, match="no values at all"):
        AttributeColumn.of("empty", [(), ()]).mask("pink")


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=8))
def test_masks_and_first_codes_are_those_of_a_plain_search(values: list[list[str]]) -> None:
    column = AttributeColumn.of("letter", values)
    for value in column.values:
        assert column.mask(value).tolist() == [value in given for given in values]
    firsts = [column.values[code] if code >= 0 else None for code in column.first_codes_n]
    assert firsts == [given[0] if given else None for given in values]


def test_columns_are_the_catalogues_then_the_facts() -> None:
    columns = columns_of(picture("a", size=("10",), Colour=("red",)), picture("b", folder="dogs"))
    assert list(columns) == ["Colour", "size", "format", "year", "month", "camera", "folder"]
    assert columns["folder"].of_row(1) == ("dogs",)
    assert (columns["year"].values, columns["month"].values) == (("2019",), ("July",))
    assert columns["camera"].values == ()


def test_a_catalogue_column_takes_precedence_over_a_fact_of_the_same_name() -> None:
    columns = columns_of(picture("a", Year=("2011",)))
    assert columns["Year"].values == ("2011",)
    assert "year" not in columns


def test_a_column_is_found_whatever_its_capitals_but_exactly_first() -> None:
    assert find_column(["Colour", "colour"], "colour") == "colour"
    assert find_column(["Colour", "size"], " COLOUR ") == "Colour"
    with pytest.raises(UnknownName, match="no column called 'shape'; there are: Colour, size"):
        find_column(["Colour", "size"], "shape")


def test_saved_columns_are_read_one_by_one(tmp_path: Path) -> None:
    columns = columns_of(picture("a", "cats", **{"näme/x": ("é", "b")}), picture("b"))
    save_columns(tmp_path, columns.values())
    stored = StoredColumns(tmp_path)
    assert list(stored) == list(columns) and len(stored) == len(columns)
    for name, column in columns.items():
        assert stored[name].values == column.values
        np.testing.assert_array_equal(stored[name].offsets, column.offsets)
        np.testing.assert_array_equal(stored[name].codes, column.codes)
    with pytest.raises(KeyError):
        stored["unknown"]


@pytest.mark.parametrize(
    ("captured", "expected"),
    [
        ("2019-07-14T10:03:00", ("2019", "July")),
        ("2020:12:01 00:00:00", ("2020", "December")),
        ("2020-13-01", (None, None)),
        ("yesterday", (None, None)),
        (None, (None, None)),
    ],
)
def test_year_and_month_are_read_from_dates_that_make_sense(
    captured: str | None, expected: tuple[str | None, str | None]
) -> None:
    assert split_date(captured) == expected


texts = st.one_of(st.text(max_size=4), st.sampled_from(["a", "A", "\udcff", "\udcfe", '"', "\0"]))


def told(name: str, *facts: Fact, captured: str | None = None) -> PictureRow:
    return PictureRow(name, (FileRecord(f"/photos/{name}.jpg", 1, 2, 3, facts),), 4, 3, "JPEG", 1, captured=captured)


def test_what_files_tell_is_columns_of_the_values_that_count() -> None:
    copies = (
        FileRecord("/a", 1, 2, 3, (Fact("keywords", ("sea", "sun"), "XMP"), Fact("rating", ("4",), "XMP"))),
        FileRecord("/b", 1, 2, None),
        FileRecord("/c", 1, 2, 3, (Fact("keywords", ("sun", "dog"), "a.xmp"), Fact("rating", ("1",), "a.xmp"))),
    )
    rows = [
        told("x"),
        PictureRow("y", copies, 4, 3, "JPEG", 1),
        told("z", Fact("keywords", ("\udcff", '"quoted"', "sea"), "IPTC"), Fact("title", ("sun",), "IPTC")),
    ]
    found = build_columns(pictures_to_arrow(rows))
    assert [found["keywords"].of_row(row) for row in range(3)] == [(), ("sea", "sun", "dog"), ("?", '"quoted"', "sea")]
    assert [found["rating"].of_row(row) for row in range(3)] == [(), ("4",), ()]
    assert found["title"].values == ("sun",)
    assert {name for name, column in found.items() if column.of_files} == {*FACTS, "keywords", "rating", "title"}
    part = build_columns(pictures_to_arrow([*rows, *rows]).slice(2, 3))  # keeps the buffers of the whole
    assert [part["keywords"].of_row(row) for row in (0, 2)] == [("?", '"quoted"', "sea"), ("sea", "sun", "dog")]


@given(
    st.lists(
        st.lists(
            st.lists(
                st.builds(Fact, st.sampled_from(NAMES), st.lists(texts, min_size=1, max_size=3).map(tuple), texts)
            ),
            max_size=2,
        ),
        max_size=4,
    )
)
def test_columns_of_what_files_tell_are_what_slow_code_says(drawn: list[list[list[Fact]]]) -> None:
    kept = [[merge_facts(facts) for facts in some] for some in drawn]
    files = [tuple(FileRecord(f"/{n}", 1, 1, 1, facts) for n, facts in enumerate(some)) for some in kept]
    rows = [PictureRow(str(at), some, 1, 1, "", 1) for at, some in enumerate(files)]
    assert pictures_from_arrow(pictures_to_arrow(rows)) == rows
    found = build_columns(pictures_to_arrow(rows))
    for name in TOLD:
        for at, row in enumerate(rows):
            facts = [fact for file in row.files for fact in file.facts if fact.name == name]
            values = dict.fromkeys(to_utf8(value) for fact in facts for value in fact.values)
            expected = tuple(values) if name in LIST_NAMES else tuple(values)[:1]
            assert (found[name].of_row(at) if name in found else ()) == expected


@pytest.mark.parametrize(
    ("condition", "pictures"),
    [
        ("2019", "abcd"), ("2019-07", "bcd"), ("2019-07-14", "cd"), ("2019-07..2020", "bcde"), ("..2018", ""),
        ("2019-07-14|2020", "cde"), ("2019-07-15..", "e"),
    ],
)  # fmt: skip
def test_days_that_are_known_in_part_are_found_as_far_as_they_are(condition: str, pictures: str) -> None:
    captured = ("2019", "2019-07", "2019-07-14", "2019-07-14T10:03:00.25+02:00", "2020-01-01T00:00", None)
    rows = [told(name, captured=at) for name, at in zip("abcdef", captured, strict=True)]
    table = pictures_to_arrow(rows)
    vectors_nd = np.zeros((6, 1), np.float32)
    snapshot = Snapshot(vectors_nd, table, build_columns(table), space="s", generation="", folder=None)
    if pictures:
        met = snapshot.column("captured").mask(condition)
        assert "".join(name for name, is_met in zip("abcdef", met, strict=True) if is_met) == pictures
    else:
        with pytest.raises(UnknownName, match="no picture has captured"):
            snapshot.column("captured").mask(condition)
    assert snapshot.column("year").count_values() == [("2019", 4), ("2020", 1)]
    assert snapshot.column("month").count_values() == [("July", 3), ("January", 1)]


SHOP = [["1.299,00 €"], ["49 €"], ["0,00 €"], ["on request"], ["19.95"]]


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("49", {"49 €"}),
        ("49,00 EUR", {"49 €"}),
        ("0", {"0,00 €"}),
        ("19,95 €", {"19.95"}),
        ("1299", {"1.299,00 €"}),
        ("0|49", {"0,00 €", "49 €"}),
        ("on request|49", {"on request", "49 €"}),
    ],
)
def test_a_number_means_the_values_that_are_this_number_however_they_are_written(
    condition: str, values: set[str]
) -> None:
    assert set(AttributeColumn.of("price", SHOP).find_values(condition)) == values


def test_a_value_that_is_written_so_comes_before_others_of_the_same_number() -> None:
    assert AttributeColumn.of("size", [["42"], ["42.0"]]).find_values("42") == ("42",)


@pytest.mark.parametrize("condition", ["50..10", "50 .. 10", "2020..2019-07", "31.12.2023..1.1.2023"])
def test_a_range_that_ends_before_it_begins_is_told_the_other_way_round(condition: str) -> None:
    low, high = (end.strip() for end in condition.split(".."))
    with pytest.raises(UnknownName, match=f"write the lower end first: {high}..{low}"):
        AttributeColumn.of("price", SHOP).find_values(condition)


WRITTEN_DAYS = [["31.12.2023"], ["1.2.2024"], ["2024-03-01"], ["2024/4/2 10:30"], ["May 2024"], ["3/4/2024"]]


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("2024", {"1.2.2024", "2024-03-01", "2024/4/2 10:30"}),
        ("2023-12", {"31.12.2023"}),
        ("31.12.2023..1.2.2024", {"31.12.2023", "1.2.2024"}),
        ("2024-02..2024-03", {"1.2.2024", "2024-03-01"}),
        (">2024-02", {"2024-03-01", "2024/4/2 10:30"}),
        ("<1.2.2024", {"31.12.2023"}),
        ("3/4/2024", {"3/4/2024"}),
    ],
)
def test_dates_that_can_be_read_in_one_way_only_are_compared_as_dates(condition: str, values: set[str]) -> None:
    assert set(AttributeColumn.of("since", WRITTEN_DAYS).find_values(condition)) == values


def test_a_letter_with_a_mark_is_one_letter_however_it_is_written() -> None:
    apart, whole = normalize("NFD", "Süden"), normalize("NFC", "Süden")
    for kept, asked in ((apart, whole), (whole, apart)):
        assert AttributeColumn.of("folder", [[kept]]).find_values(asked) == (kept,)
        assert find_column([kept], asked.lower()) == kept
