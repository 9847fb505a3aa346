"""Attribute words from tables: which columns and which words of titles, by small tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from viewfinder.data.catalogue import read_catalogue
from viewfinder.encoders.features import features
from viewfinder.retrievers.fashioniq.garments import MIN_TITLES, column_labels, read_labels
from viewfinder.testing import ColourEncoder, tiny_pictures


def table(folder: Path, head: str, *rows: str) -> list[tuple[str, ...]]:
    (folder / "products.csv").write_text("\n".join([head, *rows]) + "\n")
    return column_labels(read_catalogue(folder / "products.csv"))


def test_values_of_columns_are_labels_where_they_tell_kinds_apart(tmp_path: Path) -> None:
    colours = ["Red", "Navy Blue"] * 40
    rows = [f"{number},{colour},all,maker {number},{2010 + number % 3}" for number, colour in enumerate(colours)]
    labels = table(tmp_path, "id,colour,shop,maker,year", *rows)
    assert labels == [("red",), ("navy blue",)] * 40


def test_an_empty_cell_is_no_label_and_a_value_of_two_columns_is_one(tmp_path: Path) -> None:
    assert table(tmp_path, "id,colour,trim", "1,red,red", "2,,blue", "3,blue,NA") == [("red",), ("blue",), ("blue",)]


@pytest.mark.parametrize(("rows", "labels"), [(MIN_TITLES, ("polo", "shirt")), (MIN_TITLES - 1, ())])
def test_words_of_titles_are_labels_where_they_are_frequent(tmp_path: Path, rows: int, labels: tuple[str, ...]) -> None:
    said = [f"{number},The Polo and a 12 {chr(97 + number)} shirt of maker{number}" for number in range(rows)]
    assert table(tmp_path, "id,productDisplayName", *said) == [labels] * rows


def test_labels_are_those_of_the_pictures_row(tmp_path: Path) -> None:
    for number, picture in enumerate(tiny_pictures(tmp_path / "images", 3)):
        picture.path.rename(tmp_path / "images" / f"{number}.png")
    table(tmp_path, "id,colour", "2,Red", "0,Blue", "7,Green")
    assert read_labels(features(tmp_path, ColourEncoder())) == {2: ("red",), 0: ("blue",)}
    (tmp_path / "products.csv").unlink()
    assert read_labels(features(tmp_path, ColourEncoder())) == {}
