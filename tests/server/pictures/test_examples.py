"""Descriptions to begin with, by what is written about pictures: over 24 drawings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import viewfinder.library
from viewfinder.library import Library
from viewfinder.server.pictures.examples import MAX_EXAMPLES, suggest_descriptions
from viewfinder.testing import load_colour_encoder, tiny_pictures


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    return tmp_path


def suggested(home: Path, header: str, lines: Sequence[str], *, captions: bool = False) -> list[str]:
    """Of a library with such a table, a line a picture."""
    drawn = tiny_pictures(home / "pictures", 24)
    table = home / "table.csv"
    rows = [f"{picture.path.name},{line}" for picture, line in zip(drawn, lines, strict=False)]
    table.write_text("\n".join([f"image,{header}", *rows]), encoding="utf-8")
    library = Library.open(home / "library.vf")
    captioned, catalogued = (table, None) if captions else (None, table)
    library.add(home / "pictures", captions=captioned, catalogue=catalogued, workers=1)
    return suggest_descriptions(library.gallery().snapshot)


def test_of_captions_the_short_ones_are_suggested_each_once(home: Path) -> None:
    said = [
        "A dog runs .",
        "a very long description of a dog that runs and runs and runs",
        "Two men talk",
        "A dog runs",
    ]
    assert set(suggested(home, "caption", said, captions=True)) == {"A dog runs", "Two men talk"}


def test_there_are_four_at_most_from_all_over_the_collection(home: Path) -> None:
    said = [f"thing number {number}" for number in range(24)]
    found = suggested(home, "caption", said, captions=True)
    assert len(found) == MAX_EXAMPLES
    assert set(found) <= set(said)


def test_of_a_catalogue_the_two_columns_that_tell_most_kinds_are_suggested_colours_first(home: Path) -> None:
    colours, kinds = ("Red", "Navy Blue", "Pink", "Black"), ("Skirts", "Shirts", "Shoes")
    rows = [
        f"{number},{number}.99,{'yes' if number % 2 else 'no'},{kinds[number % 3]},{colours[number % 4]},Women"
        for number in range(24)
    ]
    found = suggested(home, "sku,price,new,kind,colour,gender", rows)
    assert len(found) == MAX_EXAMPLES
    assert set(found) <= {f"{colour} {kind}".lower() for colour in colours for kind in kinds}


def test_where_nothing_is_written_nothing_is_suggested(home: Path) -> None:
    assert suggested(home, "sku", [str(number) for number in range(24)]) == []
