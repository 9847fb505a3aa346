"""What is said of pictures in a program's own words: rows instead of files, one picture at a time, and taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import viewfinder.library
from viewfinder.errors import BadInput, UnknownName
from viewfinder.library import Library
from viewfinder.testing import TinyPicture, load_colour_encoder, tiny_pictures


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Library, list[TinyPicture]]:
    """A library of four pictures; whatever encoder it names, it is given the one that knows colours only."""
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    drawn = tiny_pictures(tmp_path / "pictures", 4)
    library = Library.open(tmp_path / "library")
    library.add(tmp_path / "pictures", workers=1)
    return library, drawn


def attributes_by_name(library: Library) -> dict[str, Any]:
    return {row.path.name: dict(row.attributes) for row in library if row.attributes}


def test_a_catalogue_may_be_rows_of_ones_own_that_name_files_and_ids(
    filled: tuple[Library, list[TinyPicture]],
) -> None:
    library, drawn = filled
    first, second = (library.find(picture.caption)[0] for picture in drawn[:2])
    names = [picture.path.name for picture in drawn]
    report = library.add(
        catalogue=({"file": file, "price": price} for file, price in ((names[0], 12.5), (second.id, None), ("x", 3)))
    )
    assert report.described == 1
    assert report.notes == ["catalogue: about no picture in the library: 1 (first: x)"]
    assert attributes_by_name(library) == {names[0]: {"price": ("12.5",)}}
    assert (
        library.add(captions=[{"id": first.id, "caption": "a bottle"}, {"id": second.id, "caption": "a jar"}]).notes
        == []
    )
    assert [library[hit].captions for hit in (first, second)] == [("a bottle",), ("a jar",)]
    assert library.find("a", where={"price": "10..20"})[0].id == first.id


@pytest.mark.parametrize("table", ["image,caption\n", "image,caption\nx.jpg,\n", "file,caption\n", None])
def test_a_table_of_captions_without_any_is_said_to_have_no_rows_whatever_its_columns(
    filled: tuple[Library, list[TinyPicture]], tmp_path: Path, table: str | None
) -> None:
    library, _ = filled
    file = tmp_path / "said.csv"  # "captions.csv" is never read as that of a published set
    if table is not None:
        file.write_text(table)
    report = library.add(captions=[] if table is None else file)
    assert report.notes[-1].endswith(": it has no rows")
    assert report.described == 0


def test_what_a_catalogue_no_longer_says_of_a_picture_is_gone(filled: tuple[Library, list[TinyPicture]]) -> None:
    library, drawn = filled
    one, other, third = (picture.path.name for picture in drawn[:3])
    library.add(catalogue=[{"file": one, "sale": "yes", "size": "S"}, {"file": other, "sale": "yes"}])
    library.add(catalogue=[{"file": one, "sale": ""}, {"file": third, "sale": "yes"}])
    assert attributes_by_name(library) == {one: {"size": ("S",)}, other: {"sale": ("yes",)}, third: {"sale": ("yes",)}}
    library.add(catalogue=[{"file": one, "size": None}, {"file": one, "size": "M"}, {"file": one, "size": "L"}])
    assert library[library.find(drawn[0].caption)[0]].attributes == {"size": ("M", "L")}


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([{"price": 1}], r"catalogue: no row is about a picture: its column 'price' has '1', but the files are '0"),
        (["a.jpg"], r"catalogue, row 1: a mapping of columns to values is needed, this is str 'a\.jpg'"),
        ([{"file": "a"}, {3: "b"}], r"catalogue, row 2: a mapping of columns"),
        (7, r"catalogue: str or PathLike or Iterable or Frame is needed, this is int"),
    ],
)
def test_rows_that_are_none_are_refused_in_one_line(
    filled: tuple[Library, list[TinyPicture]], rows: Any, complaint: str
) -> None:
    library, _ = filled
    with pytest.raises(BadInput, match=complaint):
        library.add(catalogue=rows)


def test_one_picture_is_described_anew(filled: tuple[Library, list[TinyPicture]]) -> None:
    library, drawn = filled
    hit = library.find(drawn[0].caption)[0]
    library.describe(hit, captions=["a jug", " a jug ", ""], attributes={"price": 8, "colour": ["red", "blue"]})
    row = library.describe(hit.id, attributes={"price": None, "size": "S"})
    assert row == library[hit]
    assert (row.captions, row.attributes) == (("a jug",), {"colour": ("red", "blue"), "size": ("S",)})
    assert library.find("a", where={"size": "S"})[0].id == hit.id
    assert library.describe(row, captions=()).captions == ()
    assert library.describe(row) == library[row]
    with pytest.raises(UnknownName, match="nobody"):
        library.describe("nobody", captions=["a jug"])
    with pytest.raises(BadInput, match="captions: list or tuple or None is needed, this is str"):
        library.describe(hit, captions="a jug")
