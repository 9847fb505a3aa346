from __future__ import annotations

import pytest

from viewfinder.conversation import Question
from viewfinder.wording.numbers import is_in_range, parse_number
from viewfinder.wording.values import find_values_meant

COLOURS = ["Black", "Blue", "Navy Blue", "Off White", "Red"]
COLOUR = Question("What colour is it?", ("Black", "Blue", "something else", "don't know"))


@pytest.mark.parametrize(
    ("answer", "values"),
    [
        ("Blue", ("Blue",)),
        ("  blue ", ("Blue",)),
        ("navy blue", ("Navy Blue",)),
        ("the navy-blue one", ("Navy Blue",)),
        ("black or red", ("Black", "Red")),
        ("turquoise", ()),
        ("don't know", ()),
        ("", ()),
        ("something else", ("Navy Blue", "Off White", "Red")),
    ],
)
def test_an_answer_means_the_values_that_it_names(answer: str, values: tuple[str, ...]) -> None:
    assert find_values_meant(COLOUR, answer, COLOURS) == values


def test_an_inflected_answer_means_the_value() -> None:
    assert find_values_meant(Question("Which?"), "t-shirt", ["Tshirts", "Shirts"]) == ("Tshirts",)


@pytest.mark.parametrize(
    ("answer", "values"),
    [
        ("under 500", ("99.50", "$ 499")),
        ("500 to 999", ("500", "999")),
        ("1,000 or more", ("1,000", "2500")),
        ("99.5 up to 500", ("99.50", "$ 499")),
    ],
)
def test_a_range_means_the_numbers_in_it(answer: str, values: tuple[str, ...]) -> None:
    prices = ["99.50", "$ 499", "500", "999", "1,000", "2500", "on request"]
    assert find_values_meant(Question("How much?"), answer, prices) == values


def test_something_else_beside_ranges_means_what_is_in_none() -> None:
    question = Question("How much?", ("under 500", "500 or more", "something else"))
    assert find_values_meant(question, "something else", ["10", "900", "on request"]) == ("on request",)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,299.50", 1299.5),
        ("€12", 12.0),
        ("12 €", 12.0),
        ("-3", -3.0),
        (".5", 0.5),
        ("19,90", 19.9),
        ("-0,125", -0.125),
        ("1,299", 1299.0),
        ("1.299", 1.299),
        ("1.299,5", 1299.5),
        ("1.299.000", 1_299_000.0),
        ("1,00,000.50", 100_000.5),
        ("1,2,3", None),
        ("1.2.3", None),
        ("$ 12.", 12.0),
        ("2011-05-03", 2011.0),
        ("2011-05-03T10:00:00", 2011.0),
        ("42 EU", None),
        ("XL", None),
        ("", None),
        (",", None),
    ],
)
def test_numbers_are_read_with_signs_and_dates_as_years(text: str, number: float | None) -> None:
    assert parse_number(text) == number


def test_a_range_may_have_decimal_commas() -> None:
    assert is_in_range("under 19,90", 19.5)
    assert is_in_range("1.299,50 or more", 1299.5)
    assert is_in_range("9,5 up to 20,00", 20.0) is False
    assert is_in_range("under 1,2,3", 1.0) is None


def test_years_have_their_own_words() -> None:
    assert is_in_range("before 2005", 2004.0)
    assert is_in_range("2010 or later", 2010.0)
    assert not is_in_range("before 2005", 2005.0)
    assert is_in_range("a year ago", 2005.0) is None
