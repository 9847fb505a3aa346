"""Facts that are said, as evidence about pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.session.dated import PHOTOS
from viewfinder.library import Library
from viewfinder.session.facts import (
    MAX_SHARE,
    WRONG_FACT,
    count_pictures,
    describe_reading,
    find_holding,
    meets_time,
    weigh_fact,
)
from viewfinder.session.sentences import read_sentence
from viewfinder.wording.fact_phrases import FactPhrase
from viewfinder.wording.times import TimeCondition

TODAY = date(2026, 11, 28)
ALL = [Path(photo.name).name for photo in PHOTOS]


def read_fact(album: Library, text: str) -> FactPhrase:
    [fact] = read_sentence(text, album.gallery(), TODAY).facts
    return fact


def names(album: Library, which_n: np.ndarray) -> list[str]:
    snapshot = album.gallery().snapshot
    return sorted(Path(snapshot.paths(int(row))[0]).name for row in np.flatnonzero(which_n))


def numbered(*numbers: int) -> list[str]:
    return [f"IMG_000{number}.jpg" for number in numbers]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("photos from July 2007", numbered(1, 2, 3)),
        ("after 2008", numbered(4, 5)),
        ("between January and February 2019", numbered(4, 5)),
        ("from 3 to 14 July 2007", numbered(1, 2)),
        ("from December until 5 January 2019", numbered(4)),
        ("taken with the Canon", numbered(3, 4)),
        ("with Anna", numbered(1, 4)),
        ("in Lisbon", numbered(5)),
        ("in the folder 2007-07 Italy", numbered(1, 2, 3)),
        ("five stars", numbered(4)),
        ("at least 4 stars", [*numbered(4), "scan 3.jpg"]),
        ("vertical photos", numbered(3)),
        ("squares in 2007 or in 2019", numbered(1, 2, 3, 4, 5)),
        ("squares not in 2007 or 2008", numbered(4, 5)),
        ("Taken with the canon 5d", numbered(3, 4)),
        ("squares shot with a D80", numbered(1, 2)),
        ("a square, camera: Nikon", numbered(1, 2)),
        ("nikon shots of squares", numbered(1, 2)),
        ("iPhone pictures of a square", numbered(5)),
    ],
)
def test_a_fact_holds_for_the_pictures_whose_files_say_so(album: Library, text: str, expected: Sequence[str]) -> None:
    fact = read_fact(album, text)
    holds_n, known_n = find_holding(fact, album.gallery())
    assert names(album, holds_n) == sorted(expected)
    assert not (holds_n & ~known_n).any()
    assert count_pictures(fact, album.gallery()) == len(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("photos not from 2007", numbered(4, 5)),
        ("a square, but not in 2007", numbered(4, 5)),
        ("squares except from 2007", numbered(4, 5)),
        ("squares without the ones from 2007", numbered(4, 5)),
        ("it was not 2007", numbered(4, 5)),
        ("I don't think it was in 2007", numbered(4, 5)),
        ("a square from any year but 2007", numbered(4, 5)),
        ("no later than 2007", numbered(1, 2, 3)),
        ("not older than 2019", numbered(4, 5)),
        ("at least from 2019", numbered(4, 5)),
        ("squares not taken with the iphone", numbered(1, 2, 3, 4)),
        ("a square without anna", numbered(5)),
        ("not vertical photos", [*numbered(1, 2, 4, 5), "scan 1.jpg", "scan 2.jpg", "scan 3.jpg"]),
    ],
)
def test_a_denied_fact_holds_for_the_pictures_of_which_it_is_known_that_it_is_not_so(
    album: Library, text: str, expected: Sequence[str]
) -> None:
    fact = read_fact(album, text)
    holds_n, known_n = find_holding(fact, album.gallery())
    assert names(album, holds_n) == sorted(expected)
    assert not (holds_n & ~known_n).any()
    assert count_pictures(fact, album.gallery()) == len(expected)


def test_a_phrase_is_left_out_whole(album: Library) -> None:
    texts = (
        "a cat taken on a Sunday",
        "a wide panorama of mountains",
        "nikon shots of children",
        "winter 2008/2009 skiing",
    )
    read = [read_sentence(text, album.gallery(), TODAY).content for text in texts]
    assert read == ["a cat", "mountains", "children", "skiing"]


def test_stars_on_something_and_numbers_are_no_facts(album: Library) -> None:
    for text in (
        "a dog with 5 stars on its collar",
        "a runner wearing number 2008",
        "a girl with an iPhone",
        "a girl anna",
    ):
        assert read_sentence(text, album.gallery(), TODAY).facts == ()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Three undated products, whose catalogue has years and seasons."""
    folder = tmp_path_factory.mktemp("shop")
    rows = []
    for name, season, year in (("red", "Summer", "2011"), ("green", "Winter", "2012"), ("blue", "Summer", "2012")):
        Image.new("RGB", (80, 80), name).save(folder / f"{name}.png")
        rows.append({"file": f"{name}.png", "season": season, "Year": year})
    library = Library.open(folder / "shop.vf")
    library.add(folder, catalogue=rows)
    return library


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("shirts from 2012", ["blue.png", "green.png"]),
        ("shirts not from 2012", ["red.png"]),
        ("shirts before 2012", ["red.png"]),
    ],
)
def test_where_no_picture_has_a_date_the_year_of_a_catalogue_counts(
    shop: Library, text: str, expected: list[str]
) -> None:
    holds_n, _ = find_holding(read_fact(shop, text), shop.gallery())
    assert names(shop, holds_n) == expected


def test_what_a_catalogue_says_in_words_stays_in_the_sentence(shop: Library) -> None:
    reading = read_sentence("shirts of summer 2012", shop.gallery(), TODAY)
    assert (reading.content, reading.facts) == ("shirts of summer 2012", ())


def test_pictures_that_have_what_is_denied_come_last(album: Library) -> None:
    hits = album.find("a red square, not from 2007", n=8)
    found = [Path(hit.path).name for hit in hits]
    assert sorted(found[-3:]) == numbered(1, 2, 3)
    assert hits.reading is not None
    assert hits.reading.describe() == "a red square · not from 2007 (2 pictures)"


def test_of_undated_pictures_it_is_not_known_when_they_were_taken(album: Library) -> None:
    _, known_n = find_holding(read_fact(album, "July 2007"), album.gallery())
    assert names(album, ~known_n) == ["scan 1.jpg", "scan 2.jpg", "scan 3.jpg"]


def test_weights_are_the_chances_that_so_much_is_said_of_each_picture(album: Library) -> None:
    fact = read_fact(album, "July 2007")
    weights = weigh_fact(fact, album.gallery())
    assert weights is not None
    # Three hold, two do not, of three it is not known: 3 of 5 dated ones would be more than the bound.
    mean = (3 * (1 - WRONG_FACT) + 2 * WRONG_FACT + 3 * MAX_SHARE) / 8
    expected = {True: math.log((1 - WRONG_FACT) / mean), False: math.log(WRONG_FACT / mean)}
    holds_n, known_n = find_holding(fact, album.gallery())
    for row in range(len(PHOTOS)):
        told = expected[bool(holds_n[row])] if known_n[row] else math.log(MAX_SHARE / mean)
        assert weights.at(np.array([row]))[0] == pytest.approx(told, abs=1e-5)


def test_pictures_that_meet_a_fact_come_first_then_those_of_which_it_is_not_known(album: Library) -> None:
    hits = album.find("photos from July 2007", n=8, fold=False)
    found = [Path(hit.path).name for hit in hits]
    assert sorted(found[:3]) == numbered(1, 2, 3)
    assert all(name.startswith("scan") for name in found[3:6])
    assert hits.verdict == "found"


def test_a_fact_and_a_description_count_both(album: Library) -> None:
    hits = album.find("a red square in July 2007", n=3)
    assert sorted(Path(hit.path).name for hit in hits) == numbered(1, 2, 3)
    assert hits.reading is not None
    assert hits.reading.content == "a red square"


def test_a_fact_that_no_picture_has_is_said_and_let_go(album: Library) -> None:
    plain, with_fact = album.find("a red square", n=8), album.find("a red square in March 1999", n=8)
    assert [hit.id for hit in with_fact] == [hit.id for hit in plain]
    assert with_fact.reading is not None
    [fact] = with_fact.reading.facts
    assert (fact.words, fact.kind, fact.pictures) == ("in March 1999", "time", 0)
    assert "no picture, so it does not count" in with_fact.reading.describe()


def test_a_reading_is_told_where_it_is_not_just_the_sentence(album: Library) -> None:
    gallery = album.gallery()
    assert describe_reading(read_sentence("a dog", gallery, TODAY), gallery) is None
    told = describe_reading(read_sentence("a dgo with Anna in July 2007", gallery, TODAY), gallery)
    assert told is not None
    assert told.describe() == "a dog (dog, for dgo) · with Anna (2 pictures) · in July 2007 (3 pictures)"
    assert [(one["kind"], one["pictures"]) for one in told.to_json()["facts"]] == [("person", 2), ("time", 3)]


@pytest.mark.parametrize(
    ("wanted", "day", "meets"),
    [
        (TimeCondition("2019-01-01", "2019-12-31"), "2019-05", True),
        (TimeCondition("2019-05-10", "2019-05-20"), "2019-05", None),
        (TimeCondition("2019-05-10", ""), "2019-05-10T08:00:00", True),
        (TimeCondition("", "2018-12-31"), "2019", False),
        (TimeCondition(months=(7,)), "2007", None),
        (TimeCondition(months=(7,)), "2007-07", True),
        (TimeCondition(months=(12,), day=24), "2007-12", None),
        (TimeCondition(months=(12,), day=24), "2007-12-24", True),
        (TimeCondition(weekdays=(5, 6)), "2026-11-28", True),
        (TimeCondition(weekdays=(5, 6)), "2026-11-27", False),
        (TimeCondition("2019-01-01", "2019-12-31"), "about 1900", None),
    ],
)
def test_a_date_meets_a_condition_or_not_or_is_too_coarse_to_tell(
    wanted: TimeCondition, day: str, meets: bool | None
) -> None:
    assert meets_time(wanted, day) is meets
