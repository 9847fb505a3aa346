"""A sentence read with what is known of the pictures: description, spelling, facts."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from viewfinder.library import Library
from viewfinder.search.gallery import Gallery
from viewfinder.session.reading import Reading, read_plainly
from viewfinder.session.sentences import list_names, read_sentence
from viewfinder.wording.fact_phrases import Kind
from viewfinder.wording.spelling import Correction

TODAY = date(2026, 11, 28)


def read(album: Library, text: str, today: date = TODAY) -> Reading:
    return read_sentence(text, album.gallery(), today)


def facts(reading: Reading) -> list[tuple[Kind, str]]:
    return [(fact.kind, fact.words) for fact in reading.facts]


def test_a_sentence_is_a_description_spelt_right_and_facts(album: Library) -> None:
    reading = read(album, "do you have that photo of a dgo in the snow from July 2007?")
    assert reading.content == "a dog in the snow"
    assert reading.corrections == (Correction("dgo", "dog"),)
    assert facts(reading) == [("time", "from July 2007")]


@pytest.mark.parametrize(
    "text",
    ["photos from July 2007", "July 2007", "the pictures of July 2007, please", "do we have any from July 2007?"],
)
def test_where_only_facts_are_said_nothing_is_described(album: Library, text: str) -> None:
    reading = read(album, text)
    assert reading.content == ""
    assert [kind for kind, _ in facts(reading)] == ["time"]


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ("taken with the Nikon", "camera", ("NIKON CORPORATION NIKON D80",)),
        ("taken with the D80", "camera", ("NIKON CORPORATION NIKON D80",)),
        ("Nikon pictures", "camera", ("NIKON CORPORATION NIKON D80",)),
        ("photos shot on my iphone", "camera", ("Apple iPhone 8",)),
        ("a dog with Anna", "person", ("Anna Weber",)),
        ("with anna weber", "person", ("Anna Weber",)),
        ("a dog in Lisbon", "place", ("Lisbon",)),
        ("in the folder 2007-07 Italy", "folder", None),
        ("what is in my Skiing folder", "folder", None),
    ],
)
def test_names_are_known_by_the_parts_that_people_use(
    album: Library, text: str, kind: Kind, values: tuple[str, ...] | None
) -> None:
    [fact] = read(album, text).facts
    assert fact.kind == kind
    assert fact.values
    assert values is None or fact.values == values


def test_a_name_that_no_picture_has_is_described(album: Library) -> None:
    reading = read(album, "a dog with Zoe in Helsinki")
    assert reading.facts == ()
    assert reading.content == "a dog with Zoe in Helsinki"


def test_a_file_is_named_with_its_ending_or_without(album: Library) -> None:
    assert read(album, "show me the file IMG_0003.jpg").content == "IMG_0003"
    for text in ("IMG_0003", "the file IMG_0003.jpg", "where is IMG_0003.JPG?"):
        assert Path(album.find(text)[0].path).name == "IMG_0003.jpg"


@pytest.mark.parametrize("text", ["IMG_0003 and IMG_0005", "IMG_0003.jpg, IMG_0005.jpg"])
def test_of_several_files_that_are_named_all_are_found(album: Library, text: str) -> None:
    assert {Path(hit.path).name for hit in album.find(text, n=2)} == {"IMG_0003.jpg", "IMG_0005.jpg"}


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("I don't want stripes", "without stripes"),
        ("a shirt, but I don't like stripes", "a shirt, but without stripes"),
        ("it didn't have a collar", "without a collar"), ("I didn't mean the black one", "not the black one"),
        ("it wasn't red", "not red"), ("I'm looking for a dog, it doesn't have a collar", "a dog, without a collar"),
    ],
)  # fmt: skip
def test_what_a_sentence_denies_is_not_read_as_what_it_asks_for(album: Library, text: str, content: str) -> None:
    assert read(album, text).content == content


def test_a_makers_legal_form_is_no_name(album: Library) -> None:
    names = list_names(album.gallery())
    assert names["camera"]["nikon"] == ("NIKON CORPORATION NIKON D80",)
    assert "corporation" not in names["camera"]
    assert set(names["person"]["anna"]) == {"Anna Weber"}


@pytest.mark.parametrize(
    ("text", "fact", "read_as"),
    [
        ("a dog in Lisbn", "in Lisbon", Correction("Lisbn", "Lisbon")),
        ("a dog with anna webre", "with anna weber", Correction("webre", "weber")),
        ("a dog in Januray 2019", "in January 2019", Correction("Januray", "January")),
        ("a dog, taken with the nikno", "taken with the nikon", Correction("nikno", "nikon")),
    ],
)
def test_a_misspelt_name_or_month_is_a_fact(album: Library, text: str, fact: str, read_as: Correction) -> None:
    reading = read(album, text)
    assert [words for _, words in facts(reading)] == [fact]
    assert reading.corrections == (read_as,)
    assert reading.content == "a dog"


def test_a_misspelt_request_is_left_out_and_not_told(album: Library) -> None:
    reading = read(album, "lookin for a photo of a dgo")
    assert (reading.content, reading.corrections) == ("a dog", (Correction("dgo", "dog"),))


def test_what_is_relative_is_read_anew_on_another_day(album: Library) -> None:
    [this_year] = read(album, "a dog, last summer", TODAY).facts
    [years_ago] = read(album, "a dog, last summer", date(2020, 1, 1)).facts
    assert this_year.time is not None
    assert years_ago.time is not None
    assert (this_year.time.first, years_ago.time.first) == ("2026-06-01", "2019-06-01")


def test_a_word_that_is_written_here_is_no_misspelling(album: Library) -> None:
    # "Skiing" and "Italy" are English; "scna" is one letter away from "scan", which a file is called.
    assert read(album, "IMG scan").corrections == ()


def test_systems_that_are_compared_get_every_sentence_as_it_stands(album: Library) -> None:
    gallery = album.gallery()
    bare = Gallery(gallery.snapshot, gallery.encoder, gallery.raw)
    text = "do you have a photo of a dgo from July 2007?"
    assert read_sentence(text, bare, TODAY) == read_plainly(text) == Reading(text, text)
    assert read_sentence("", gallery, TODAY) == Reading("", "")
