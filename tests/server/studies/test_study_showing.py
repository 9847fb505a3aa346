from __future__ import annotations

from typing import Any

import pytest

from viewfinder.conversation import Conversation, Question, Say
from viewfinder.server.database import TrialRow
from viewfinder.studies.plan import StudyPlan, Trial
from viewfinder.studies.studies import show_trial
from viewfinder.testing import tiny_snapshot

NOTHING_YET = Conversation()
SNAPSHOT = tiny_snapshot([("red", "blue"), ("green", "white")])
SAID = (
    Conversation().then(Say("red")).recorded(shown=("p001", "p000"), asked=Question("Which?", ("one", "two"), by="me"))
)


def shown(at: float, course: Conversation = NOTHING_YET, *, started: float | None = 100.0, **plan: Any) -> Trial:
    given = {"name": "Colours", "consent": "I agree.", "targets": ["p000"], "rounds": 2, "seconds": 10.0, **plan}
    row = TrialRow("t", "someone", 3, 0, "p000", started=started)
    return show_trial(StudyPlan.model_validate(given), row, course, SNAPSHOT, at)


def test_results_that_are_empty_are_results() -> None:
    assert shown(101.0, Conversation().then(Say("nothing like it")).recorded(shown=(), asked=None)).results == []


def test_before_the_start_the_picture_is_not_told() -> None:
    trial = shown(100.0, started=None)
    assert (trial.started, trial.target, trial.seconds_left, trial.results) == (False, None, None, None)


def test_a_picture_to_look_at_stays() -> None:
    trial = shown(9999.0, SAID, target="shown")
    assert trial.target is not None
    assert (trial.target.id, trial.target.width, trial.target.height) == ("p000", 24, 16)
    assert trial.seconds_left is None


@pytest.mark.parametrize(("at", "left"), [(100.0, 10.0), (107.5, 2.5), (110.0, None), (200.0, None)])
def test_a_picture_to_remember_is_told_for_its_seconds(at: float, left: float | None) -> None:
    trial = shown(at, target="remembered")
    assert trial.seconds_left == left
    assert (trial.target is None) == (left is None)


def test_the_first_turn_ends_the_time_to_look() -> None:
    trial = shown(101.0, SAID, target="remembered")
    assert (trial.target, trial.seconds_left) == (None, None)


def test_results_are_pictures_and_nothing_else() -> None:
    trial = shown(101.0, SAID)
    assert trial.model_dump()["results"] == [
        {"id": "p001", "width": 24, "height": 16},
        {"id": "p000", "width": 24, "height": 16},
    ]
    assert trial.rounds_left == 1


def test_a_question_is_told_without_its_reasons_and_not_after_the_last_round() -> None:
    asked = shown(101.0, SAID, task="answer").question
    assert asked is not None
    assert asked.model_dump() == {"text": "Which?", "choices": ["one", "two"]}
    assert shown(101.0, SAID, task="answer", rounds=1).question is None


def test_pictures_that_left_the_library_are_left_out() -> None:
    gone = Conversation().then(Say("red")).recorded(shown=("p001", "gone"), asked=None)
    results = shown(101.0, gone).results
    assert results is not None
    assert [picture.id for picture in results] == ["p001"]
