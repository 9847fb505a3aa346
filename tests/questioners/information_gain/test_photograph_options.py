"""Questions about photographs: what is offered, when, with which examples, and what else one remembers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from jaxtyping import Float32

from tests.stand_ins import NothingKnown
from viewfinder.conversation import Answer, Question, Say, Turn
from viewfinder.questioners import Candidates
from viewfinder.questioners.information_gain.gains import Option
from viewfinder.questioners.information_gain.questioner import InformationGain
from viewfinder.questioners.photographs import (
    MAX_HELD,
    MAX_LABELS,
    OPEN_QUESTIONS,
    REMEMBER,
    facets,
    label_columns,
    open_question,
    photograph_options,
)
from viewfinder.wording.replies import NO_VALUES

Labels = Mapping[str, Sequence[str]]
"""The labels that a picture shows, by facet."""


class Shown(NothingKnown):
    """A lookup of pictures whose labels are foretold surely: 0.95 and 0.02."""

    def __init__(self, pictures: Sequence[Labels]) -> None:
        self._pictures = pictures

    def captions(self) -> Sequence[tuple[str, ...]]:
        return [()] * len(self._pictures)

    def label_chances(self) -> Float32[np.ndarray, "c l"]:
        rows = [
            [0.95 if label in shown.get(facet.name, ()) else 0.02 for facet in facets() for label in facet.labels]
            for shown in self._pictures
        ]
        return np.array(rows, np.float32)

    def ids(self) -> Sequence[str]:
        return [f"p{at:03}" for at in range(len(self._pictures))]


def view_of(pictures: Sequence[Labels], *turns: Turn) -> Candidates:
    answers = [turn for turn in turns if isinstance(turn, Answer)]
    return Candidates(
        np.full(len(pictures), 1 / len(pictures)),
        np.zeros((len(pictures), 2), np.float32),
        said=tuple(turn.text for turn in turns if isinstance(turn, Say | Answer)),
        asked=tuple(answer.question for answer in answers),
        turns=turns,
        lookup=Shown(pictures),
    )


def options_of(view: Candidates) -> dict[str, Option]:
    assert view.lookup is not None
    holds_cl = view.lookup.label_chances()
    assert holds_cl is not None
    return {option.attribute: option for option in photograph_options(view, holds_cl)}


def labels_of(view: Candidates, facet: str) -> tuple[str, ...]:
    found = options_of(view).get(facet)
    return () if found is None else tuple(label for label in found.labels if label not in NO_VALUES)


GRASS: Labels = {"place": ["on grass"]}
SNOW: Labels = {"place": ["in the snow"]}
BEACH: Labels = {"place": ["on a beach"]}
POOL: Labels = {"place": ["at a pool"]}
PLACES: list[Labels] = [GRASS] * 6 + [SNOW] * 4 + [BEACH] * 3 + [POOL] * 2


def test_the_labels_that_the_likely_pictures_show_are_offered_likeliest_first() -> None:
    # Without the pool "something else" would be true of 2 of 15: more than `WANTED_ELSEWHERE`.
    assert labels_of(view_of(PLACES), "place") == ("on grass", "in the snow", "on a beach", "at a pool")
    # Of 1 of 20 it may be: the pool tells too little to be offered.
    rare: list[Labels] = [GRASS] * 8 + [SNOW] * 6 + [BEACH] * 5 + [POOL]
    assert labels_of(view_of(rare), "place") == ("on grass", "in the snow", "on a beach")
    assert options_of(view_of(PLACES)).keys() == {"place"}


def test_no_more_labels_are_offered_than_one_reads() -> None:
    place = next(facet for facet in facets() if facet.name == "place")
    pictures: list[Labels] = []
    for count, label in enumerate(place.labels[:9]):
        pictures += [{"place": [label]}] * (9 - count)
    assert labels_of(view_of(pictures), "place") == place.labels[:MAX_LABELS]


def test_a_question_whose_answer_is_hardly_among_its_choices_is_not_asked() -> None:
    pictures: list[Labels] = [GRASS, SNOW] * 2 + [{}] * 16
    assert options_of(view_of(pictures)) == {}


def test_an_option_foretells_as_an_answer_is_weighed() -> None:
    # Of grass or snow, 0.95 and 0.02 hold, none of both with 0.05 * 0.98: of 1.019 in all.
    option = options_of(view_of([GRASS, SNOW]))["place"]
    assert option.labels == ("on grass", "in the snow", "something else")
    first = 0.95 * np.array([0.95, 0.02, 0.049]) / 1.019 + 0.05 / 3
    np.testing.assert_allclose(option.table(), [first, first[[1, 0, 2]]], atol=1e-6)
    np.testing.assert_allclose(option.share_a, option.table().mean(axis=0), atol=1e-6)


def test_what_was_said_closes_its_facet_and_leaves_other_things_to_be_asked_for() -> None:
    things: list[Labels] = [{"thing": ["a ball", thing]} for thing in ("a bench", "a tent", "a boat", "a car or truck")]
    assert "place" not in options_of(view_of(PLACES, Say("something in the snow")))
    assert labels_of(view_of(things, Say("with a ball")), "thing") == ("a car or truck", "a boat", "a bench", "a tent")


def test_a_facet_is_asked_once_and_that_of_things_goes_on_with_other_things() -> None:
    place = Question("Where is it?", ("on grass", "in the snow"), attribute="place")
    assert options_of(view_of(PLACES, Say("it"), Answer(place, "don't know"))) == {}
    things: list[Labels] = [{"thing": [a, b]} for a in ("a bench", "a tent") for b in ("a boat", "a sign")]
    asked = Question("Which of these are in it?", ("a bench", "a tent"), attribute="thing")
    assert set(labels_of(view_of(things, Say("it"), Answer(asked, "a bench")), "thing")) == {"a boat", "a sign"}


def test_each_choice_has_a_picture_of_its_own_that_shows_it() -> None:
    question = InformationGain().ask(view_of(PLACES, Say("something")))
    assert question is not None
    assert question.choices == ("on grass", "in the snow", "on a beach", "at a pool", "something else", "don't know")
    assert question.examples == ("p000", "p006", "p010", "p013", "", "")


def test_goods_are_asked_by_their_catalogue_alone() -> None:
    view = view_of(PLACES, Say("something"))
    goods = Candidates(
        view.probabilities_c, view.vectors_cd, {"fit": (("slim", "wide"), np.arange(15, dtype=np.int32) % 2)},
        view.said, turns=view.turns, lookup=view.lookup,
    )  # fmt: skip
    assert {option.source for option in InformationGain().options(goods)} == {"column"}


def test_photographs_stay_photographs_where_files_tell_of_them() -> None:
    view = view_of(PLACES, Say("something"))
    told = {"city": (("Rome", "Lisbon"), np.arange(15, dtype=np.int32) % 2)}
    photographs = replace(view, columns=told, file_columns=frozenset(told))
    assert {option.source for option in InformationGain().options(photographs)} == {"column", "photograph"}


def remembered(*answers: str) -> Candidates:
    """What was said after being asked so often what else one remembers."""
    told = [
        Answer(Question(text, attribute=REMEMBER), answer)
        for text, answer in zip(OPEN_QUESTIONS, answers, strict=False)
    ]
    return view_of([GRASS] * 4, Say("grass"), *told)


def test_what_else_one_remembers_is_asked_in_three_ways_and_then_for_what_would_help() -> None:
    for count, text in enumerate(OPEN_QUESTIONS):
        question = open_question(remembered(*["a fence"] * count), "me")
        assert question is not None
        assert (question.text, question.choices, question.by, question.attribute) == (text, (), "me", REMEMBER)
        # Four alike: 2 bits.
        assert question.why == "no question with choices is worth its while, and 4 pictures are about equally likely"
    told = ["a fence"] * 3
    last = open_question(remembered(*told), "me")
    assert last is not None
    assert last.text == "It would still help to know who is in it or what is going on: can you say anything else?"
    asked = Answer(last, "a fence")
    assert open_question(view_of([GRASS] * 4, *remembered(*told).turns, asked), "me") is None
    # Nothing of that is missing where all of it was told.
    assert open_question(remembered("a man", "he runs", "in a red shirt"), "me") is None


MEN: Sequence[Labels] = [{"who": ["a man"]}] * 4 + [{"who": ["a woman"]}] * 4


def test_nobody_is_the_last_of_every_who_unless_people_were_spoken_of() -> None:
    assert options_of(view_of(MEN))["who"].labels == ("a man", "a woman", "nobody", "something else")
    assert options_of(view_of(MEN, Say("someone lying there")))["who"].labels == ("a man", "a woman", "something else")


def test_what_goes_without_saying_is_no_choice() -> None:
    # Nearly all are on grass (more than `MAX_HELD`), so it is not asked; and a ball is in all.
    assert MAX_HELD < 0.95
    assert labels_of(view_of([{"place": ["on grass", at]} for at in ("at a pool", "on a beach")]), "place") == ()
    things: list[Labels] = [{"thing": ["a ball", "a wall", thing]} for thing in ("a bench", "a tent", "a boat")]
    assert set(labels_of(view_of(things), "thing")) == {"a bench", "a tent", "a boat"}


def test_several_things_can_be_in_a_picture_or_none_of_those_offered() -> None:
    option = options_of(view_of([{"thing": [thing]} for thing in ("a bench", "a tent")]))["thing"]
    assert (option.text, option.labels[-1]) == ("Which of these are in it?", "nothing of these")


@pytest.mark.parametrize("nothing", ["don't know", ""])
def test_who_had_nothing_more_to_say_is_not_asked_openly_again(nothing: str) -> None:
    assert open_question(remembered(nothing), "me") is None
    assert InformationGain().ask(remembered(nothing)) is None


def test_every_facet_has_its_columns() -> None:
    assert [where.stop - where.start for where in label_columns().values()] == [len(facet.labels) for facet in facets()]
