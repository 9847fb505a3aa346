"""Dialogues of simulated users: alone, and in interviews in which they only answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewfinder.conversation import Answer, Like, Question, Reject, Say, Turn, is_skip
from viewfinder.errors import BadInput
from viewfinder.evaluation.plan import SearchDialogue, Task
from viewfinder.evaluation.simulate import RESULTS_SHOWN, simulate_dialogues
from viewfinder.retrievers import load_retriever
from viewfinder.search.gallery import Gallery
from viewfinder.session.session import Session
from viewfinder.testing import COLOURS, ColourEncoder, tiny_snapshot
from viewfinder.users import RecordedUser, Screen

LOOKS = [(top, bottom) for top in COLOURS for bottom in COLOURS]
KNOWN = [{"top": (top,), "Bottom colour": (bottom,)} for top, bottom in LOOKS]
GALLERY = Gallery(tiny_snapshot(LOOKS, KNOWN), ColourEncoder())
COMPOSER = load_retriever("composer")
TARGET = LOOKS.index(("red", "blue"))


def task(*dialogues: SearchDialogue, rounds: int = 6, interviews: bool = True) -> Task:
    return Task(
        "chatir", "", "test", tuple(GALLERY.snapshot.ids), dialogues, ("R@1",), rounds=rounds, interviews=interviews
    )


def about(picture: int, said: str) -> SearchDialogue:
    return SearchDialogue(f"of {picture}", f"p{picture:03}", (Say(said),))


@dataclass
class Knowing:
    """Answers what is asked of the two columns; `screens` are what it was given to look at."""

    screens: list[Screen] = field(default_factory=list)
    name: str = "knowing"

    def reply(self, wanted: str, screen: Screen) -> Turn | None:
        self.screens.append(screen)
        assert screen.question is not None
        known = KNOWN[int(wanted[1:])]
        [value] = known.get(screen.question.attribute or "", ("don't know",))
        return Answer(screen.question, value)


@dataclass
class Scripted:
    """Says these turns one after the other."""

    turns: tuple[Turn, ...]
    name: str = "scripted"

    def reply(self, wanted: str, screen: Screen) -> Turn | None:
        return self.turns[screen.round] if screen.round < len(self.turns) else None


def turns_of(held: Any) -> list[Turn]:
    return [node.turn for node in held.conversation.path() if node.turn is not None]


def asking(tmp_path: Path, *questions: str) -> str:
    """A questioner that asks these of whoever begins with "red"."""
    file = tmp_path / "asked.json"
    file.write_text(json.dumps([{"img": "p001", "dialog": ["red", *(f"{question} x" for question in questions)]}]))
    return f"recorded={file}"


def test_an_interview_begins_with_the_description_and_then_only_answers_are_given(tmp_path: Path) -> None:
    user, questions = Knowing(), asking(tmp_path, "Is it blue?", "Is it green?", "Is it white?")
    _, [held] = simulate_dialogues(task(about(TARGET, "red")), GALLERY, COMPOSER, user, questioner=questions)
    first, *others = turns_of(held)
    assert first == Say("red")
    assert len(others) == 3 and all(isinstance(turn, Answer) for turn in others)
    assert {screen.shown for screen in user.screens} == {()}  # it looks at no results
    assert [screen.round for screen in user.screens] == list(range(1, len(user.screens) + 1))


def test_an_interview_goes_on_when_the_target_was_shown(tmp_path: Path) -> None:
    questions = asking(tmp_path, "Is it blue?", "Is it green?")
    dialogues = task(about(LOOKS.index(("red", "red")), "red"))
    table, [held] = simulate_dialogues(dialogues, GALLERY, COMPOSER, Knowing(), questioner=questions)
    assert table.best_st[0, 0] < RESULTS_SHOWN
    assert len(turns_of(held)) == 3


def test_a_question_that_is_left_out_ends_the_interview_at_its_last_round(tmp_path: Path) -> None:
    questions = asking(tmp_path, "Is it blue?", "Is it green?", "Is it white?")
    _, [held] = simulate_dialogues(
        task(about(TARGET, "red"), rounds=3), GALLERY, COMPOSER, Knowing(), questioner=questions
    )
    assert len(turns_of(held)) == 3  # the description, and two of the questions


def test_a_dialogue_with_nothing_left_to_ask_keeps_its_rank() -> None:
    table, [held] = simulate_dialogues(
        task(about(TARGET, "red"), rounds=4), GALLERY, COMPOSER, Knowing(), questioner="none"
    )
    assert turns_of(held) == [Say("red")]
    live = Session(GALLERY, COMPOSER, None)
    live.search(Say("red"))
    best, worst = live.rank_bounds(f"p{TARGET:03}")
    assert table.best_st.tolist() == [[best] * 4]
    assert table.worst_st.tolist() == [[worst] * 4]


def test_ranks_are_those_of_the_live_session_after_every_turn() -> None:
    said = (Say("red"), Like("p003", "but blue"), Reject(("p000", f"p{TARGET:03}")), Say("green over white"))
    dialogue = SearchDialogue("1", f"p{TARGET:03}")
    table, _ = simulate_dialogues(task(dialogue, rounds=5, interviews=False), GALLERY, COMPOSER, Scripted(said))
    live = Session(GALLERY, COMPOSER, None)
    bounds = []
    for turn in said:
        live.take(turn)
        bounds.append(live.rank_bounds(dialogue.target))
    assert bounds[2] == (len(GALLERY) - 1, len(GALLERY) - 1)  # rejected
    assert list(zip(*(table.best_st[0], table.worst_st[0]), strict=True)) == [*bounds, bounds[-1]]


def test_a_dialogue_that_never_begins_has_the_rank_of_a_draw() -> None:
    table, [held] = simulate_dialogues(task(about(1, "red"), interviews=False), GALLERY, COMPOSER, Scripted(()))
    assert turns_of(held) == []
    assert (table.best_st == 0).all()
    assert (table.worst_st == len(GALLERY) - 1).all()


def test_who_says_something_else_than_an_answer_passes_the_question_over(tmp_path: Path) -> None:
    questions = asking(tmp_path, "Is it blue?", "Is it green?")
    user = Scripted((Say("red"), Say("it is blue"), Say("I said it is blue")))
    table, [held] = simulate_dialogues(task(about(TARGET, "red")), GALLERY, COMPOSER, user, questioner=questions)
    _, *others = turns_of(held)
    assert len(others) == 2 and all(is_skip(turn) for turn in others)
    assert len(set(table.best_st[0])) == 1  # nothing was heard


def test_a_recorded_user_answers_the_question_whenever_it_is_asked(tmp_path: Path) -> None:
    questions = asking(tmp_path, "Is it blue?", "is it GREEN?", "Is it white?")
    known = (Say("red"), Answer(Question("is it green?"), "no"), Answer(Question("is it blue?"), "yes, dark"))
    user = RecordedUser({"p001": known})
    _, [held] = simulate_dialogues(task(about(1, "red")), GALLERY, COMPOSER, user, questioner=questions)
    assert [turn.text for turn in turns_of(held)[1:] if isinstance(turn, Answer)] == ["yes, dark", "no", "don't know"]


def test_every_question_is_timed_but_the_first(tmp_path: Path) -> None:
    questions = asking(tmp_path, "Is it blue?", "Is it green?")
    dialogues = task(about(1, "red"), about(2, "red"))
    _, held = simulate_dialogues(dialogues, GALLERY, COMPOSER, Scripted(()), questioner=questions)
    assert [len(one.asking_ms) for one in held] == [1, 2]
    assert all(ms > 0 for one in held for ms in one.asking_ms)


def test_a_turn_that_cannot_be_taken_is_named_with_its_dialogue() -> None:
    user = Scripted((Say("red"), Say(" ")))
    with pytest.raises(BadInput, match="dialogue of 1, turn 2: nothing was said"):
        simulate_dialogues(task(about(1, "red"), interviews=False), GALLERY, COMPOSER, user)


def test_the_same_dialogues_have_the_same_ranks_again() -> None:
    dialogues = task(*(about(number, LOOKS[number][0]) for number in (0, 9, 31)))
    first, second = (
        simulate_dialogues(dialogues, GALLERY, COMPOSER, Knowing(), questioner="information_gain") for _ in range(2)
    )
    assert np.array_equal(first[0].best_st, second[0].best_st)
    assert [one.conversation for one in first[1]] == [one.conversation for one in second[1]]
