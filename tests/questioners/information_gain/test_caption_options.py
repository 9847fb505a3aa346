from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from tests.stand_ins import NothingKnown
from viewfinder.conversation import Say
from viewfinder.questioners import Candidates
from viewfinder.questioners.information_gain.caption_options import (
    SURE,
    caption_options,
    presence_chances,
    write_thing_question,
)
from viewfinder.questioners.information_gain.questioner import InformationGain


class Captioned(NothingKnown):
    """A lookup with captions and nothing else."""

    def __init__(self, captions: Sequence[tuple[str, ...]]) -> None:
        self._captions = captions

    def captions(self) -> Sequence[tuple[str, ...]]:
        return self._captions


def view_of(captions: Sequence[tuple[str, ...]], said: tuple[str, ...] = ()) -> Candidates:
    alike_c = np.full(len(captions), 1 / len(captions))
    turns = tuple(Say(text) for text in said)
    return Candidates(alike_c, np.zeros((len(captions), 2)), said=said, turns=turns, lookup=Captioned(captions))


PICTURES = [
    ("a brown dog runs on the beach", "two dogs near the water"),
    ("a dog in the snow", "the dog is jumping"),
    ("a small dog with a ball", "a dog on a carpet"),
    ("a dog and a ball", "a ball in the grass"),
    ("a man on a bench", "an old man with a ball"),
    ("a man is reading", "a man in a red jacket"),
    ("a man with an umbrella", "the man is walking in the rain"),
    ("a boat on a lake", "a small boat in the fog"),
] * 3


def asked(view: Candidates) -> list[str]:
    return [option.text for option in caption_options(view)]


def test_things_that_split_the_captions_are_asked_for() -> None:
    texts = asked(view_of(PICTURES))
    assert "Is there a dog in the picture?" in texts
    assert "Is there a man in the picture?" in texts
    assert not any(word in text for text in texts for word in ("brown", "small", "running", "reading", "jumping"))


def test_the_thing_that_halves_the_candidates_tells_most() -> None:
    # Four captions each: what none of them mentions is probably not there.
    pictures = [("a dog is running",) * 4] * 6 + [("a boat with a flag",) * 4] * 3 + [("a bench by the sea",) * 4] * 3
    assert InformationGain().options(view_of(pictures))[0].text == "Is there a dog in the picture?"


def test_a_thing_is_asked_for_by_yes_or_no() -> None:
    question = InformationGain().ask(view_of(PICTURES))
    assert question is not None
    assert question.choices == ("yes", "no", "don't know")


def test_a_thing_that_was_said_is_not_asked() -> None:
    question = InformationGain().ask(view_of(PICTURES, said=("a dog somewhere",)))
    assert question is not None
    assert "dog" not in question.text


def test_no_captions_no_questions() -> None:
    assert asked(view_of([()] * 8)) == []
    assert [*caption_options(Candidates(np.full(2, 0.5), np.zeros((2, 2))))] == []


def test_not_mentioned_is_weak_evidence_and_weaker_the_less_was_written() -> None:
    # Of four pictures alike the first two have two captions each, one of which mentions it:
    # m = (2 + 1) / (4 + 2) = 0.5, s = 0.5. The third, of one caption: 0.5 * 0.5 / (0.25 + 0.5) = 1/3;
    # the fourth, of three: 1/16 / (1/16 + 1/2) = 1/9.
    yes_c = presence_chances({0: 1, 1: 1}, {0: 2, 1: 2, 2: 1, 3: 3}, np.full(4, 0.25))
    assert yes_c.tolist() == pytest.approx([SURE, SURE, 1 / 3, 1 / 9])


def test_of_a_picture_without_captions_nothing_is_known() -> None:
    yes_c = presence_chances({0: 1}, {0: 1, 1: 1}, np.array([0.25, 0.25, 0.5]))
    assert yes_c[2] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("written", "question"),
    [
        (Counter(dress=3, dresses=1), "Is there a dress in the picture?"),
        (Counter(people=2, apples=5), "Are there any apples in the picture?"),
        (Counter(apple=1), "Is there an apple in the picture?"),
    ],
)
def test_a_thing_is_asked_for_as_it_is_written_most_often(written: Counter[str], question: str) -> None:
    assert write_thing_question(written) == question
