"""People who talk about photographs: sentences, fragments, corrections, and answers in their own words."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from viewfinder.conversation import Answer, Like, Question, Reject, Say, Turn
from viewfinder.users import (
    AnnotatedPhotos,
    PhotoComparer,
    PhotoNotes,
    Screen,
    SpeakingStyle,
    photo_person,
    photo_sentences,
)
from viewfinder.users.photographs import noun_phrases

NOTES = AnnotatedPhotos(
    {
        "set/dogs.jpg": PhotoNotes(
            ("Two brown dogs play on the beach .", "Two brown dogs on the shore with a yellow ball .")
        ),
        "set/dog.jpg": PhotoNotes(("A black dog lies on a couch .", "One black dog sleeps in the living room .")),
        "set/ADE_1.jpg": PhotoNotes(("a roof", "It has a window", "The walls are white", "A lamp hangs")),
    }
)
MORE = Question("What else do you remember of it?")


def dialogue(
    style: SpeakingStyle, wanted: str, *asked: Question | None, shown: tuple[str, ...] = ()
) -> list[Turn | None]:
    who = photo_person(NOTES, style=style)
    return [who.reply(wanted, Screen(shown if at else (), question, at)) for at, question in enumerate(asked)]


def test_an_open_question_is_answered_by_what_was_not_said_yet_and_nothing_is_said_twice() -> None:
    first, second, third, last = dialogue(SpeakingStyle(policy="answers"), "set/dogs.jpg", None, MORE, MORE, None)
    assert isinstance(first, Say) and isinstance(second, Answer)
    assert {f"{text} ." for text in (first.text, second.text)} == set(NOTES.of("set/dogs.jpg").captions)
    assert third == Answer(MORE, "don't know") and last is None


@pytest.mark.parametrize("seed", range(3))
def test_what_one_person_said_in_an_order_is_said_in_it(seed: int) -> None:
    assert photo_sentences(NOTES, seed=seed)("set/ADE_1.jpg") == list(NOTES.of("set/ADE_1.jpg").captions)


def test_fragments_are_a_few_words_of_what_is_known() -> None:
    for seed in range(10):
        for said in photo_sentences(NOTES, speaks="fragments", seed=seed)("set/dogs.jpg"):
            assert 2 <= len(said.split()) <= 4
            assert set(said.split()) <= {"brown", "dogs", "beach", "yellow", "ball", "shore"}
    mixed = {said for seed in range(10) for said in photo_sentences(NOTES, speaks="mixed", seed=seed)("set/dogs.jpg")}
    assert {len(said.split()) > 4 for said in mixed} == {True, False}


def test_noun_phrases_end_with_their_nouns() -> None:
    said = "A young girl in a pink dress is climbing the wooden stairs of a house ."
    assert noun_phrases(said) == ["young girl", "pink dress", "wooden stairs", "house"]


def test_what_is_shown_is_put_right_where_it_contradicts_what_is_known() -> None:
    said = {str(PhotoComparer(NOTES, seed).correct("set/dog.jpg", "set/dogs.jpg")) for seed in range(30)}
    assert said == {str(turn) for turn in (Say("no, two of them"), Reject((), "indoors"))}
    back = {str(PhotoComparer(NOTES, seed).correct("set/dogs.jpg", "set/dog.jpg")) for seed in range(30)}
    assert {str(Say("no, only one dog")), str(Reject((), "outdoors"))} <= back
    assert str(Say("no, a black dog")) in back
    assert PhotoComparer(NOTES).correct("set/dogs.jpg", "set/dogs.jpg") is None
    _, turn = dialogue(SpeakingStyle(corrections=1.0), "set/dogs.jpg", None, MORE, shown=("set/dog.jpg",))
    assert isinstance(turn, Say | Reject)


def test_a_comparison_names_what_the_other_lacks() -> None:
    _, turn = dialogue(SpeakingStyle(policy="compares"), "set/dogs.jpg", None, None, shown=("set/dog.jpg",))
    assert isinstance(turn, Like) and turn.picture == "set/dog.jpg"
    assert turn.text in {"with yellow ball", "with beach", "with shore"}
    comparer = PhotoComparer(NOTES)
    assert comparer.likeness("set/dog.jpg", "set/dogs.jpg") > comparer.likeness("set/dog.jpg", "set/ADE_1.jpg")


CORRECTED = """
from viewfinder.users import AnnotatedPhotos, PhotoComparer, PhotoNotes
one = PhotoNotes(("a dog with a cat near a cow", "one dog with one cat by one cow"))
two = PhotoNotes(("two dogs with two cats near two cows", "two dogs with two cats by two cows"))
notes = AnnotatedPhotos({"one": one, "two": two})
print([PhotoComparer(notes, seed).correct("two", "one").text for seed in range(8)])
"""


def test_what_is_put_right_does_not_hang_on_how_python_hashes() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", CORRECTED], env=os.environ | {"PYTHONHASHSEED": seed}, check=True,
            capture_output=True, text=True,
        ).stdout
        for seed in "123"
    }  # fmt: skip
    assert len(said) == 1 and "no, only one dog" in said.pop()
