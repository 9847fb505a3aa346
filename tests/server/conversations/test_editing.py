"""Saying something else instead: what follows is said again, with its references put right."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import (
    Answer,
    BackTo,
    Conversation,
    Keep,
    Like,
    Question,
    Reject,
    Say,
    Show,
    Turn,
    turn_to_json,
)
from viewfinder.errors import BadInput
from viewfinder.retrievers import Composer
from viewfinder.search.gallery import Gallery
from viewfinder.server.conversations.editing import RepeatedTurns, find_following_turns, repeat_turns
from viewfinder.session.session import Session
from viewfinder.testing import COLOURS, ColourEncoder, tiny_snapshot

NAMES = list(COLOURS)
LOOKS = [(top, bottom) for top in NAMES for bottom in NAMES]
KNOWN = [{"top": (top,), "bottom": (bottom,)} for top, bottom in LOOKS]
GALLERY = Gallery(tiny_snapshot(LOOKS, KNOWN), ColourEncoder())
WHICH = Question("What colour is the top?", ("red", "blue"), attribute="top")


def conversation_of(*turns: Turn) -> Session:
    session = Session(GALLERY, Composer(), None, memo=ByteCache())
    for turn in turns:
        session.search(turn)
    return session


def edit(session: Session, number: int, turn: Turn | None) -> RepeatedTurns:
    instead = None if turn is None else lambda pending: turn
    return repeat_turns(session, number, instead, lambda picture: GALLERY.snapshot.row_of(picture) is not None)


def said(session: Session, first: int = 1) -> list[Turn | None]:
    return [node.turn for node in session.conversation.nodes[first:]]


def test_what_followed_is_said_again_after_the_new_turn() -> None:
    session = conversation_of(Say("red"), Say("over blue"), Reject(("p001",)))
    before = session.conversation
    again = edit(session, 1, Say("green"))
    assert said(session, 4) == [BackTo(0), Say("green"), Say("over blue"), Reject(("p001",))]
    assert again == RepeatedTurns({1: 5, 2: 6, 3: 7})
    assert session.conversation.nodes[:4] == before.nodes
    alone = conversation_of(Say("green"), Say("over blue"), Reject(("p001",)))
    assert session.conversation.here.shown == alone.conversation.here.shown


def test_without_a_turn_the_rest_stays() -> None:
    session = conversation_of(Say("red"), Say("over blue"), Say("white"))
    again = edit(session, 2, None)
    assert said(session, 4) == [BackTo(1), Say("white")]
    assert again == RepeatedTurns({3: 5}, gone={2})


def test_without_the_last_turn_the_conversation_stands_before_it() -> None:
    session = conversation_of(Say("red"), Say("blue"))
    assert edit(session, 2, None).numbers == {}
    assert said(session, 3) == [BackTo(1)]
    assert session.conversation.here.shown == session.conversation.nodes[1].shown


def test_the_newest_branch_below_a_turn_is_the_one_that_is_said_again() -> None:
    conversation = conversation_of(
        Say("red"), Say("blue"), BackTo(1), Say("green"), BackTo(0), Say("white")
    ).conversation
    assert [node.number for node in find_following_turns(conversation, 1)] == [4]
    assert find_following_turns(conversation, 2) == find_following_turns(conversation, 6) == ()


def test_references_follow_the_turns_they_name() -> None:
    session = conversation_of(Say("red"), Like("p010"), Keep("bottom", 2), Like("p010", "", 1))
    again = edit(session, 1, Say("green"))
    assert said(session, 6) == [Say("green"), Like("p010"), Keep("bottom", 7), Like("p010", "", 6)]
    assert again.left_out == []


def test_a_reference_to_a_way_back_follows_where_it_led() -> None:
    session = conversation_of(Say("red"), Like("p010"), Say("blue"), BackTo(2), Keep("bottom", 4))
    edit(session, 1, Say("green"))
    assert said(session, 7) == [Say("green"), Like("p010"), Keep("bottom", 8)]


def test_references_to_another_branch_stay() -> None:
    session = conversation_of(Say("red"), Like("p010"), BackTo(0), Say("blue"), Keep("bottom", 2))
    edit(session, 4, Say("green"))
    assert said(session, 7) == [Say("green"), Keep("bottom", 2)]


def test_what_makes_no_sense_any_more_is_left_out_and_named() -> None:
    session = conversation_of(Say("red"), Like("p010"), Keep("bottom", 2), Say("white"))
    again = edit(session, 2, None)
    assert said(session, 6) == [Say("white")]
    assert again.left_out == [
        "turn 3, keep bottom of turn 2: it keeps something of turn 2, which is not there any more"
    ]
    assert again.gone == {2, 3}


def test_a_picture_of_a_turn_that_is_gone_goes_on_from_the_turn_before() -> None:
    session = conversation_of(Say("red"), Say("blue"), Like("p010", "", 2))
    edit(session, 2, None)
    assert said(session, 5) == [Like("p010", "", 1)]


def test_none_of_these_keeps_meaning_what_was_on_the_screen_then() -> None:
    session = conversation_of(Say("red"), Reject())
    shown = session.conversation.nodes[1].shown
    edit(session, 1, Say("green"))
    assert session.conversation.here.turn == Reject(shown)


def test_none_of_these_stays_as_it_was_where_the_screen_is_the_same() -> None:
    session = conversation_of(Say("red"), Reject(), Say("blue"))
    edit(session, 1, Say("red"))
    assert said(session, 5) == [Say("red"), Reject(), Say("blue")]


def test_an_answer_keeps_the_question_it_answers_and_it_was_asked_before_it() -> None:
    session = conversation_of(Say("red"), Answer(WHICH, "red"), Say("blue"))
    edit(session, 1, Say("green"))
    assert [node.asked for node in session.conversation.nodes[5:]] == [WHICH, None, None]
    assert session.conversation.nodes[6].turn == Answer(WHICH, "red")


def test_another_answer_is_to_the_same_question() -> None:
    session = conversation_of(Say("red"), Answer(WHICH, "red"))
    asked: list[Question | None] = []

    def instead(pending: Question | None) -> Turn:
        asked.append(pending)
        return Answer(WHICH, "blue")

    repeat_turns(session, 2, instead, lambda picture: True)
    assert asked == [WHICH]


@pytest.mark.parametrize(("number", "message"), [(0, "turns 1 to 2"), (3, "turns 1 to 2"), (2, "a way back")])
def test_there_must_be_something_to_change(number: int, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        edit(conversation_of(Say("red"), BackTo(0)), number, Say("blue"))


def test_a_turn_cannot_become_a_way_back() -> None:
    with pytest.raises(BadInput, match="delete it"):
        edit(conversation_of(Say("red")), 1, BackTo(0))


def test_a_left_out_turn_tells_no_name_of_an_upload() -> None:
    conversation = Conversation().then(Say("red")).then(Show("4f2a-upload"))
    session = Session(GALLERY, Composer(), None, conversation=conversation, memo=ByteCache(), image_file=_gone)
    again = edit(session, 1, Say("green"))
    assert again.left_out == ["turn 2, show your image: it is gone"]


def _gone(name: str) -> Path:
    raise BadInput("it is gone")


TURNS = st.lists(
    st.one_of(
        st.sampled_from(NAMES).map(Say),
        # Made beforehand: the type checks of a turn draw random numbers, which strategies must not.
        st.sampled_from([Like("p003"), Like("p010")]),
        st.sampled_from([Like(name, "", at) for name in ("p003", "p010") for at in range(4)]),
        st.just(Reject()),
        st.integers(1, 3).map(lambda at: Keep("top", at)),
        st.sampled_from(["red", "blue"]).map(lambda text: Answer(WHICH, text)),
    ),
    min_size=4,
    max_size=6,
)


@settings(max_examples=15)
@given(TURNS, st.integers(1, 4))
def test_a_turn_in_its_own_place_changes_nothing_but_numbers(turns: list[Turn], number: int) -> None:
    session = conversation_of(Say("red"))
    for turn in turns:
        if getattr(turn, "turn", None) is None or getattr(turn, "turn", 0) <= len(session.conversation):
            session.search(turn)
    number = min(number, len(session.conversation))
    before, label = session.conversation, [part.label for part in session.ranking().query.parts]
    same = before.nodes[number].turn
    assert same is not None
    again = edit(session, number, same)
    assert again.left_out == []
    assert session.conversation.here.shown == before.here.shown
    assert [part.label for part in session.ranking().query.parts] == label
    kinds = [set(turn_to_json(node.turn)) for node in before.path() if node.turn]
    assert [set(turn_to_json(node.turn)) for node in session.conversation.path() if node.turn] == kinds
