"""What an answer says about pictures: by the catalogue, by facets of photographs, by tags, or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pytest
from jaxtyping import Bool, Float

from viewfinder.conversation import Answer, Question
from viewfinder.encoders.tags import TagVectors
from viewfinder.questioners.answers import (
    GUESSED_ERROR,
    KNOWN_ERROR,
    WEIGHED_AT_ONCE,
    answer_likelihoods,
    find_model,
)
from viewfinder.questioners.photographs import EMPTY_ANSWERS, MISLEADING_ANSWERS, facets, label_columns
from viewfinder.testing import ColourEncoder
from viewfinder.wording.choices import is_choice

COLOUR = Question("Which colour is it?", ("red", "blue", "something else", "don't know"), attribute="colour")
PLACE = Question("Where is it?", ("on grass", "in the snow", "something else", "don't know"), attribute="place")


@dataclass(frozen=True)
class Written:
    """Pictures written out: values of columns (None: not known), chances of labels of "place", chances of tags."""

    columns: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    places: Sequence[Mapping[str, float]] | None = None
    light_nt: Sequence[Sequence[float]] = ()

    @cached_property
    def tags(self) -> TagVectors:
        return TagVectors.of(ColourEncoder().words)

    def column_values(self, name: str) -> Sequence[str] | None:
        found = self.columns.get(name)
        return None if found is None else tuple(dict.fromkeys(value for value in found if value is not None))

    def column_masks(self, name: str, values: Sequence[str]) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
        found = self.columns[name]
        return np.array([value in values for value in found]), np.array([value is not None for value in found])

    def label_chances(self) -> Float[np.ndarray, "n l"] | None:
        if self.places is None:
            return None
        labels = next(facet.labels for facet in facets() if facet.name == "place")
        start, count = label_columns()["place"].start, [*label_columns().values()][-1].stop
        holds_nl = np.zeros((len(self.places), count))
        for n, place in enumerate(self.places):
            for label, chance in place.items():
                holds_nl[n, start + labels.index(label)] = chance
        return holds_nl

    def tag_chances(self, group: str) -> Float[np.ndarray, "n t"]:
        return np.array(self.light_nt) if group == "light" else np.zeros((4, len(self.tags.group(group).tags)))


class Labelled(Written):
    """Pictures of which nothing is known but the chances of all labels."""

    def __init__(self, holds_nl: Float[np.ndarray, "n l"]) -> None:
        super().__init__()
        object.__setattr__(self, "holds_nl", holds_nl)

    def label_chances(self) -> Float[np.ndarray, "n l"] | None:
        found: Float[np.ndarray, "n l"] = vars(self)["holds_nl"]
        return found


KNOWN = Written({"colour": ["red", "blue", "green", None]})


def likely(pictures: Written, question: Question, text: str) -> list[float] | None:
    found_n = answer_likelihoods(Answer(question, text), pictures)
    return None if found_n is None else found_n.tolist()


def test_of_what_the_catalogue_knows_the_answer_is_all_but_sure() -> None:
    # A wrong one is one of the two other choices; where nothing is known each of three is as likely.
    wrong = KNOWN_ERROR / 2
    assert likely(KNOWN, COLOUR, "red") == pytest.approx([1 - KNOWN_ERROR, wrong, wrong, 1 / 3])
    assert likely(KNOWN, COLOUR, "something else") == pytest.approx([wrong, wrong, 1 - KNOWN_ERROR, 1 / 3])
    assert likely(KNOWN, COLOUR, "the blue or the green one") == pytest.approx([wrong, 0.98, 0.98, 1 / 3])


def test_of_a_facet_the_answer_is_as_likely_as_was_foretold() -> None:
    pictures = Written(places=[{"on grass": 0.9, "in the snow": 0.1}, {"on grass": 0.2, "in the snow": 0.6}])
    # A picture may be both: what is named holds, and the other is true and not named too with 1 - NAMED_TOO = 0.7.
    for answer, weights in (
        ("on grass", (0.9 * (1 - 0.3 * 0.1), 0.2 * (1 - 0.3 * 0.6))),
        ("In the snow", (0.1 * (1 - 0.3 * 0.9), 0.6 * (1 - 0.3 * 0.2))),
        ("something else", (0.1 * 0.9, 0.8 * 0.4)),
        ("none of these", (0.1 * 0.9, 0.8 * 0.4)),
        ("it was snowy", (0.1 * (1 - 0.3 * 0.9), 0.6 * (1 - 0.3 * 0.2))),
        ("snow and grass", (0.9 * 0.1, 0.2 * 0.6)),
        ("snow or grass", (1 - 0.1 * 0.9, 1 - 0.8 * 0.4)),
    ):
        expected = [(1 - MISLEADING_ANSWERS) * weight + MISLEADING_ANSWERS * sum(weights) / 2 for weight in weights]
        assert likely(pictures, PLACE, answer) == pytest.approx(expected)


def test_of_a_facet_of_which_one_label_is_true_the_answer_is_one_of_them() -> None:
    indoors = next(facet for facet in facets() if facet.name == "indoors")
    holds_nl = np.zeros((1, [*label_columns().values()][-1].stop))
    holds_nl[0, label_columns()["indoors"]] = (0.5, 0.25)
    question = Question(indoors.question, ("indoors", "outdoors", "something else"), attribute="indoors")
    # Of 0.5, 0.25 and none of both 0.5 * 0.75 = 0.375, 1.125 in all.
    [found] = likely(Labelled(holds_nl), question, "indoors") or [0.0]
    assert found == pytest.approx((1 - EMPTY_ANSWERS) * 0.5 / 1.125 + EMPTY_ANSWERS / 3)


def test_of_two_things_that_are_there_either_may_be_named() -> None:
    both, one = {"on grass": 0.9, "in the snow": 0.9}, {"on grass": 0.9}
    two, alone = likely(Written(places=[both, one]), PLACE, "on grass") or [0.0, 0.0]
    assert two > 0.7 * alone, "that it snows as well hardly speaks against grass"


@pytest.mark.parametrize("said", ["no one", "No-one.", "none", "no people"])
def test_nobody_in_other_words_is_the_choice(said: str) -> None:
    who = Question("Who is in it?", ("a man", "nobody", "something else", "don't know"), attribute="who")
    holds_nl = np.full((2, [*label_columns().values()][-1].stop), 0.2)
    pictures = Labelled(holds_nl * np.array([[1.0], [2.0]]))
    assert likely(pictures, who, said) == likely(pictures, who, "nobody") is not None
    assert is_choice(Answer(who, said))


def test_a_label_that_was_not_offered_counts_beside_those_that_were() -> None:
    pictures = Written(places=[{"on a beach": 0.5}, {"on grass": 0.5}])
    found = likely(pictures, PLACE, "on a sandy beach")
    assert found is not None
    assert found[0] > 0.4 and found[1] < 0.1


def test_of_a_tag_part_of_the_answers_say_nothing() -> None:
    group = Written().tags.group("light")
    count = len(group.tags)
    chance_nt = [[0.5] + [0.0] * (count - 1), [0.0] * count]
    pictures = Written(light_nt=chance_nt)
    question = Question(group.question, (*group.answers, "don't know"), attribute="light")
    anything = GUESSED_ERROR / len(group.answers)
    assert likely(pictures, question, group.answers[0]) == pytest.approx([0.6 * 0.5 + anything, anything])
    assert likely(pictures, question, group.none) == pytest.approx([0.6 * 0.5 + anything, 0.6 + anything])


def test_a_column_and_a_facet_of_one_name_are_told_apart_by_what_was_offered() -> None:
    pictures = Written({"place": ["Rome", "Oslo"]}, [{"on grass": 0.9}, {"in the snow": 0.9}])
    column = Question("Where is it?", ("Oslo", "Rome", "don't know"), attribute="place")
    assert likely(pictures, column, "Oslo") == pytest.approx([0.02, 0.98])
    in_snow = likely(pictures, PLACE, "in the snow")
    assert in_snow is not None
    assert in_snow[1] > 0.8 and in_snow[0] < 0.2


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (COLOUR, "don't know"),
        (COLOUR, ""),
        (COLOUR, "rather sturdy"),
        (PLACE, "don't know"),
        (PLACE, "on the moon"),  # nobody can predict labels here, and no tag says that
        (Question("Is it nice?", ("yes", "no")), "yes"),
        (Question("What else do you remember of it?", attribute="remember"), "a red flag"),
    ],
)
def test_an_answer_that_says_nothing_by_itself_is_no_evidence(question: Question, text: str) -> None:
    assert likely(KNOWN, question, text) is None


@pytest.mark.parametrize(
    ("text", "chosen"),
    [(" RED ", True), ("don't know", True), ("the red", True), ("none of these", True), ("reddish", False)],
)
def test_a_choice_is_told_from_words_of_ones_own(text: str, chosen: bool) -> None:
    assert is_choice(Answer(COLOUR, text)) == chosen


def test_of_many_pictures_an_answer_is_weighed_as_of_few() -> None:
    holds_nl = np.random.default_rng(0).random((2 * WEIGHED_AT_ONCE + 1, [*label_columns().values()][-1].stop))
    for question, text in ((PLACE, "on grass"), (PLACE, "something else")):
        model = find_model(Answer(question, text), Labelled(holds_nl[:1]))
        assert model is not None
        found_n = model.weigh(Labelled(holds_nl), usual=0.5)
        for rows in (slice(0, 3), slice(WEIGHED_AT_ONCE - 1, WEIGHED_AT_ONCE + 1), slice(-1, None)):
            np.testing.assert_array_equal(found_n[rows], model.weigh(Labelled(holds_nl[rows]), usual=0.5))
