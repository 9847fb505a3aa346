"""Turns in words: every kind becomes sentences, or a line that says why not."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.conversation import Answer, BackTo, Keep, Like, Question, Reject, Say, Show, Turn
from viewfinder.query import Picture, ResolvedTurn
from viewfinder.retrievers.shared.verbalize import VerbalizedTurn, caption_picture, verbalize_turn
from viewfinder.testing import ColourEncoder
from viewfinder.wording.changes import ValueFamily, find_named_changes
from viewfinder.wording.replies import is_dont_know

WORDS = ("dog", "dogs", "snow", "red", "ball", *(f"word {number}" for number in range(95)))
"""A hundred words: one of chance 0.1 is ten times as likely as if all were alike, so it tells something."""
COLOURS = ValueFamily(("red", "brown", "blue"))


def seen(
    picture: str | None = "p1", attributes: Mapping[str, tuple[str, ...]] = MappingProxyType({}), **chances: float
) -> Picture:
    """A picture of which the vocabulary says these words with these chances."""
    chances_l = np.array([chances.get(word, 0.001) for word in WORDS])
    return Picture(picture, {"vocabulary": np.sqrt(chances_l)}, attributes)


def resolved(turn: Turn, **known: Any) -> ResolvedTurn:
    given: dict[str, Any] = {"text": getattr(turn, "text", ""), "vocabulary": WORDS} | known
    return ResolvedTurn(turn, 3, ColourEncoder().words, **given)


def picked(turn: Like | Show, *pictures: Picture) -> VerbalizedTurn:
    """As `resolving` has it: values are taken out of the text."""
    changes, rest = find_named_changes(turn.text, [COLOURS])
    return verbalize_turn(resolved(turn, pictures=pictures, changes=changes, text=rest))


def test_what_is_said_is_one_sentence_as_it_is() -> None:
    assert verbalize_turn(resolved(Say("A dog. It  is\nbrown."))) == VerbalizedTurn(("A dog. It is brown.",))


def test_an_answer_is_its_statement() -> None:
    answer = Answer(Question("is there a dog?"), "yes")
    assert verbalize_turn(resolved(answer, text="a dog")) == VerbalizedTurn(("a dog",))


@pytest.mark.parametrize("text", ["don't know", "I can't tell", ""])
def test_who_does_not_know_has_said_nothing(text: str) -> None:
    assert verbalize_turn(resolved(Answer(Question("what colour?"), text))) == VerbalizedTurn()


def test_an_answer_that_names_nothing_is_dropped_with_a_line() -> None:
    found = verbalize_turn(resolved(Answer(Question("which animal?"), "none of these"), text=""))
    assert found.sentences == ()
    assert found.adapters == ("drop: the answer 'none of these' names nothing that one can see",)


def test_a_picked_picture_is_captioned_and_may_be_the_one() -> None:
    found = picked(Like("p1"), seen(dog=0.2, snow=0.5))
    assert found.sentences == ("snow, dog",)
    assert found.adapters == ('caption: the picture is taken as "snow, dog"',)
    assert not found.excluded and found.readmitted == {"p1"}


def test_with_but_another_picture_is_wanted() -> None:
    found = picked(Like("p1", "with a hat"), seen(dog=0.5))
    assert found.sentences == ("dog", "with a hat")
    assert found.excluded == {"p1"} and not found.readmitted


def test_values_are_spelt_and_what_they_deny_is_not_said_of_the_picture() -> None:
    found = picked(Like("p1", "but brown, with a hat"), seen(dog=0.3, red=0.5))
    assert found.sentences == ("dog", "but brown, with a hat")


def test_going_back_to_an_earlier_picture_says_what_is_not_done() -> None:
    found = picked(Like("p1", turn=1), seen(dog=0.5))
    assert found.adapters[1:] == ("drop: what was said after turn 1 stays, words cannot be taken back",)


def test_an_image_of_ones_own_is_captioned_and_rules_nothing_out() -> None:
    found = picked(Show("mine.jpg", "in the snow"), seen(None, ball=0.4))
    assert found.sentences == ("ball", "in the snow")
    assert not found.excluded | found.readmitted


def test_a_picture_of_which_words_say_nothing_is_dropped_with_a_line() -> None:
    found = picked(Show("mine.jpg"), seen(None, dog=0.09))  # nine times as likely as if all were alike
    assert found == VerbalizedTurn(adapters=("drop: no word says enough of the picture",))


def test_a_kept_attribute_is_its_value() -> None:
    found = verbalize_turn(
        resolved(Keep("colour", 1), text="navy blue", attribute_values={"baseColour": ("navy blue",)})
    )
    assert found == VerbalizedTurn(("navy blue",), ('verbalise: the colour to keep is said as "navy blue"',))
    assert verbalize_turn(resolved(Keep("colour", 1), attribute_values={"baseColour": ("red",)})).sentences == ("red",)
    assert verbalize_turn(resolved(Keep("colour", 1))).adapters == ("drop: the colour to keep has no name",)


def test_rejected_pictures_are_ruled_out() -> None:
    found = verbalize_turn(resolved(Reject(("p1", "p2")), pictures=(seen("p1"), seen("p2"))))
    assert found.sentences == () and found.excluded == {"p1", "p2"}
    assert found.adapters == ("drop: rejected pictures are left out, but their like is not",)


def test_none_of_these_takes_all_that_was_shown() -> None:
    shown = (seen("p1"), seen("p2"))
    assert verbalize_turn(resolved(Reject(), shown=shown)).excluded == {"p1", "p2"}
    assert verbalize_turn(resolved(Reject(text="hats"), shown=shown)).excluded == frozenset()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("stripes", "there are no stripes"),
        ("a hat", "there is no hat"),
        ("no stripes, no people", "there are no stripes and no people"),
        ("the car without wheels", "there is no car and no wheels"),
    ],
)
def test_what_is_not_wanted_is_said_as_people_said_it_to_drilldown(text: str, sentence: str) -> None:
    found = verbalize_turn(resolved(Reject(text=text)))
    assert found.sentences == (sentence,)
    assert found.adapters == (f'verbalise: what is not wanted is said as "{sentence}"',)


def test_a_picture_is_ruled_out_until_it_is_picked_again() -> None:
    after = VerbalizedTurn(excluded=frozenset({"p1", "p2"})).after(frozenset({"p3"}))
    assert after == {"p1", "p2", "p3"}
    assert picked(Like("p1"), seen(dog=0.5)).after(after) == {"p2", "p3"}


def test_a_description_has_the_likeliest_words_each_kind_once() -> None:
    assert caption_picture(seen(dogs=0.3, dog=0.2, red=0.15, snow=0.11, ball=0.1), WORDS) == "dogs, red, snow"


def test_the_catalogue_fills_up_what_words_leave_open() -> None:
    noted = {"type": ("Shirts",), "colour": ("Navy Blue",), "size": ("42",), "story": ("a very long story indeed",)}
    assert caption_picture(seen(attributes=noted, dog=0.5), WORDS) == "dog, Shirts, Navy Blue"
    assert caption_picture(seen(attributes=noted, dog=0.5), WORDS, void={"navy blue"}) == "dog, Shirts"
    assert caption_picture(Picture("p1", {}, {"colour": ("red",)}), ()) == "red"


def test_going_back_never_reaches_a_retriever() -> None:
    with pytest.raises(AssertionError):
        verbalize_turn(resolved(BackTo(1)))


TEXTS = st.sampled_from(["", "  ", "brown", "a dog, no cat", "not red", "don't know", "with a hat\nand blue shoes"])
KINDS = ("say", "answer", "like", "show", "keep", "reject")


def turn_of(kind: str, text: str, picture: Picture, *, named: bool, at: int | None) -> ResolvedTurn:
    """A turn as `resolving` gives it; `named`: it names what it can."""
    match kind:
        case "say":
            return resolved(Say(text))
        case "answer":
            return resolved(Answer(Question("what is it?"), text), text=text if named else "")
        case "like" | "show":
            turn = Like("p1", text, at) if kind == "like" else Show("mine.jpg", text)
            changes, rest = find_named_changes(text, [COLOURS])
            own = picture if kind == "like" else Picture(None, picture.vectors)
            return resolved(turn, pictures=(own,), changes=changes, text=rest)
        case "keep":
            return resolved(Keep("colour", 1), text="red" if named else "")
        case _:
            rejected = Reject(("p1",) if named else (), text)
            return resolved(rejected, pictures=(picture,) if named else (), shown=(picture,))


@given(st.sampled_from(KINDS), TEXTS, st.sampled_from([0.0, 0.5]), st.booleans(), st.none() | st.just(1))
def test_nothing_is_left_out_without_a_line(kind: str, text: str, chance: float, named: bool, at: int | None) -> None:
    turn = turn_of(kind, text, seen(dog=chance), named=named, at=at)
    found = verbalize_turn(turn)
    assert all(sentence == sentence.strip() != "" for sentence in found.sentences)
    assert all(line.split(":")[0] in ("caption", "verbalise", "drop") and "\n" not in line for line in found.adapters)
    if kind not in ("say", "answer"):
        assert found.adapters  # a picture, a choice or a refusal is never taken as it was given
    elif not found.sentences and not found.adapters:
        assert is_dont_know(text)  # then nothing was said
    for change in turn.changes:
        assert any(change.value in sentence for sentence in found.sentences)
    assert not found.excluded & found.readmitted
