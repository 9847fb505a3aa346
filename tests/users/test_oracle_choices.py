"""Questions that name an attribute and bring their answers along, as questioners ask them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.conversation import Question
from viewfinder.data.truth import PictureTruth
from viewfinder.encoders.tags import tag_groups
from viewfinder.questioners import Candidates
from viewfinder.questioners.information_gain.questioner import InformationGain
from viewfinder.users import Oracle
from viewfinder.users.oracle import choose_answer
from viewfinder.worlds.records import catalogue_row, picture_truth
from viewfinder.worlds.scene import sample_scene

SCENES = [sample_scene(seed=2, number=number) for number in range(1, 31)]
TRUTHS = {truth.image: truth for truth in map(picture_truth, SCENES)}
ROWS = {picture: catalogue_row(scene) for picture, scene in zip(TRUTHS, SCENES, strict=True)}
ORACLE = Oracle(TRUTHS)


def tagged(name: str, truth: PictureTruth) -> str:
    group = next(group for group in tag_groups() if group.name == name)
    asked = Question(group.question, (*group.answers, "don't know"), attribute=name)
    return Oracle({truth.image: truth}).answer(asked, truth.image)


@pytest.mark.parametrize(
    ("group", "answer"),
    [
        ("colour", "black"),  # of the largest thing, the black dog
        ("animal", "a dog"),
        ("place", "a beach"),
        ("kind", "an animal"),
        ("number", "three or more"),
        ("light", "bright daylight"),
        ("people", "don't know"),
        ("activity", "don't know"),
    ],
)
def test_the_zero_shot_questions_about_a_scene(beach: PictureTruth, group: str, answer: str) -> None:
    assert tagged(group, beach) == answer


def test_sunset_and_no_animal(evening: PictureTruth) -> None:
    things = tuple(thing for thing in evening.things if thing.kind != "dog")
    alone = PictureTruth("alone.jpg", things, (), "kitchen", "sunset")
    assert tagged("light", alone) == "sunset or sunrise"
    assert tagged("animal", alone) == "no animal"
    assert tagged("place", alone) == "a kitchen or restaurant"


@pytest.mark.parametrize("column", ["background", "light", "main_object", "main_colour", "main_size", "objects"])
def test_columns_of_a_world_are_answered_as_its_catalogue_has_them(column: str) -> None:
    values = tuple(sorted({row[column] for row in ROWS.values()}))
    asked = Question(f"Which {column} is it?", (*values, "don't know"), attribute=column)
    assert {picture: ORACLE.answer(asked, picture) for picture in ROWS} == {
        picture: row[column] for picture, row in ROWS.items()
    }


def test_what_information_gain_asks_of_a_world_is_answered() -> None:
    names = [name for name in next(iter(ROWS.values())) if name != "image"]
    columns = {}
    for name in names:
        values = tuple(sorted({row[name] for row in ROWS.values()} - {""}))
        codes = [values.index(row[name]) if row[name] else -1 for row in ROWS.values()]
        columns[name] = (values, np.array(codes, np.int32))
    asked: tuple[Question, ...] = ()
    picture = next(iter(ROWS))
    while True:
        view = Candidates(np.full(len(ROWS), 1 / len(ROWS)), np.zeros((len(ROWS), 2), np.float32), columns, asked=asked)
        question = InformationGain().ask(view)
        if question is None:
            break
        asked = (*asked, question)
        value = ROWS[picture][question.attribute or ""]
        told = ORACLE.answer(question, picture)
        assert told == (value if value in question.choices else "something else" if value else "don't know")
    assert len(asked) >= 5


def test_the_sub_category_is_not_taken_for_the_type() -> None:
    truths = {"1": PictureTruth("1", category="Tshirts", attributes={"kind": ("t-shirt",), "audience": ("men",)})}
    oracle = Oracle(truths)
    assert oracle.answer(Question("", ("Tshirts", "Watches"), attribute="articleType"), "1") == "Tshirts"
    assert oracle.answer(Question("", ("Topwear", "Shoes"), attribute="subCategory"), "1") == "don't know"
    assert oracle.answer(Question("", ("Men", "Women"), attribute="gender"), "1") == "Men"


@given(st.integers(0, 3000))
@settings(deadline=None)
def test_numbers_find_their_range(number: int) -> None:
    ranges = ("under 500", "500 to 999", "1,000 up to 2,000", "2,000 or more")
    at = 0 if number < 500 else 1 if number < 1000 else 2 if number < 2000 else 3
    assert choose_answer((str(number),), (*ranges, "don't know")) == ranges[at]
