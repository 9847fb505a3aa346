from __future__ import annotations

import numpy as np
import pytest

from viewfinder.conversation import Answer, Question
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.information_gain.column_names import (
    column_words,
    is_record_column,
    is_same_topic,
    write_column_question,
)
from viewfinder.questioners.information_gain.questioner import MAX_VALUES_SEARCHED, InformationGain, column_options


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("baseColour", "Which base colour is it?"),
        ("base_color", "Which base colour is it?"),
        ("colour", "What colour is it?"),
        ("gender", "Who is it for?"),
        ("season", "For which season is it?"),
        ("brand", "Which brand is it?"),
        ("year", "From which year is it?"),
        ("articleType", "Which article type is it?"),
        ("MASTER-CATEGORY", "Which master category is it?"),
        ("sleeve length", "Which sleeve length is it?"),
    ],
)
def test_questions_read_naturally(name: str, text: str) -> None:
    assert write_column_question(name, {"a", "b"}) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("isWaterproof", "Is it waterproof?"),
        ("has_pockets", "Does it have pockets?"),
        ("vegan", "Is this so: vegan?"),
    ],
)
def test_yes_or_no_columns_become_yes_or_no_questions(name: str, text: str) -> None:
    assert write_column_question(name, {"Yes", "no"}) == text


def test_names_in_other_scripts_and_odd_names_survive() -> None:
    assert column_words("größeSchuh") == ("größe", "schuh")
    assert write_column_question("цвет", {"a"}) == "Which цвет is it?"
    assert write_column_question("%%", {"a"}) == "Which %% is it?"


@pytest.mark.parametrize("name", ["id", "product_id", "imageURL", "filename", "productDescription", "SKU", "title"])
def test_record_keeping_columns_are_known_by_name(name: str) -> None:
    assert is_record_column(name)


@pytest.mark.parametrize("name", ["gender", "brandName", "idea", "pathologist", "articleType"])
def test_other_columns_are_not_taken_for_records(name: str) -> None:
    assert not is_record_column(name)


def test_topics_meet_across_spelling_and_by_the_last_word_of_a_longer_name() -> None:
    assert is_same_topic("base_color", "baseColour")
    assert is_same_topic("colour", "baseColour")
    assert not is_same_topic("subCategory", "masterCategory")
    assert not is_same_topic("size", "colour")


def test_few_can_tell_the_year_and_anybody_the_colour() -> None:
    halves = (("a", "b"), np.array([0, 0, 1, 1], np.int32))
    view = Candidates(np.full(4, 0.25), np.zeros((4, 2)), columns={"year": halves, "baseColour": halves})
    year, colour = column_options(view)
    assert year.can_tell < colour.can_tell == 1
    assert year.gain == pytest.approx(year.can_tell * colour.gain)


def test_a_plural_with_whole_numbers_is_counted() -> None:
    assert write_column_question("objects", {"3", "5"}) == "How many objects are there?"
    assert write_column_question("main_objects", {"3", "5"}) == "How many main objects are there?"
    assert write_column_question("objects", {"a cup", "a chair"}) == "Which objects is it?"


def places(*turns: Answer) -> Candidates:
    """More cities than are searched for what was said, three pictures each, in ten regions."""
    count = MAX_VALUES_SEARCHED + 10
    city_c = np.repeat(np.arange(count, dtype=np.int32), 3)
    cities, regions = tuple(f"City {at}" for at in range(count)), tuple(f"Region {at}" for at in range(10))
    settled = frozenset(turn.question.attribute for turn in turns if turn.question.attribute)
    columns = {"city": (cities, city_c), "region": (regions, (city_c % 10).astype(np.int32))}
    chances_c = np.full(len(city_c), 1 / len(city_c))
    return Candidates(chances_c, np.zeros((len(city_c), 2)), columns=columns, settled=settled, turns=turns)


def test_what_follows_from_an_answer_is_not_asked_in_a_library_of_any_size() -> None:
    asked = Question("In which city is it?", ("City 1", "something else"), attribute="city")
    assert InformationGain().ask(places()) is not None
    assert InformationGain().ask(places(Answer(asked, "City 1"))) is None
    # None of the choices was right: the region is still open.
    region = InformationGain().ask(places(Answer(asked, "something else")))
    assert region is not None and region.attribute == "region"
