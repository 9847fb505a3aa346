"""A turn that names its parent never follows a turn that its sender did not see."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from viewfinder.conversation import BackTo, Conversation
from viewfinder.errors import BadInput
from viewfinder.server.access.tokens import LOCAL
from viewfinder.server.conversations.conversations import Conversations
from viewfinder.server.conversations.moved_on import find_meant
from viewfinder.server.conversations.schemas import (
    AnswerTurn,
    BackToTurn,
    LikeTurn,
    Placed,
    SayTurn,
    SessionIn,
    SkipTurn,
)
from viewfinder.server.conversations.sent_twice import request_key
from viewfinder.server.problems import Problem

OpenConversations = Callable[..., Conversations]


def read(by: Conversations, id: str) -> Conversation:
    return Conversation.from_json(by.export(LOCAL, id).conversation)


def begin(by: Conversations, *texts: str) -> str:
    id = by.create(LOCAL, SessionIn(n=6, questioner="none")).id
    for text in texts:
        by.take(LOCAL, id, SayTurn(say=text))
    return id


def words(by: Conversations, id: str, number: int) -> list[str]:
    """What counts at a turn."""
    return [getattr(node.turn, "text", "") for node in read(by, id).path(number)]


def test_a_turn_whose_parent_is_the_newest_is_taken(two: list[Conversations]) -> None:
    id = begin(two[0], "red")
    assert two[1].take(LOCAL, id, SayTurn(say="blue", parent=1)).turn == 2


def test_a_turn_after_which_somebody_else_spoke_is_refused_and_told_what(two: list[Conversations]) -> None:
    id = begin(two[0], "red", "blue")
    for by in two:
        with pytest.raises(Problem, match="newest turn is 2, yours was meant to follow turn 1") as refused:
            by.take(LOCAL, id, SayTurn(say="green", parent=1))
        assert (refused.value.status, refused.value.kind) == (409, "moved-on")
        assert refused.value.more == {
            "turn": 2,
            "stands_at": 2,
            "since": [{"number": 2, "parent": 1, "told": '"blue"'}],
            "count": 1,
        }
    assert len(read(two[0], id)) == 2


def test_a_refusal_tells_of_a_bounded_number_of_turns(two: list[Conversations]) -> None:
    id = begin(two[0], *["red"] * 30)
    with pytest.raises(Problem) as refused:
        two[0].take(LOCAL, id, SayTurn(say="green", parent=1))
    assert (refused.value.more["count"], len(refused.value.more["since"])) == (29, 20)
    assert refused.value.more["since"][-1]["number"] == 30


def test_on_a_branch_it_is_said_where_its_sender_was_in_one_step(two: list[Conversations]) -> None:
    id = begin(two[0], "red", "blue")
    answered = two[1].take(LOCAL, id, SayTurn(say="green", parent=1, on_conflict="branch"))
    assert answered.turn == 4
    conversation = read(two[0], id)
    assert conversation.nodes[3].turn == BackTo(1)
    assert words(two[0], id, 4) == ["red", "green"]
    assert words(two[0], id, 2) == ["red", "blue"]


def test_going_back_and_forth_is_no_conflict(two: list[Conversations]) -> None:
    id = begin(two[0], "red", "blue")
    two[0].take(LOCAL, id, BackToTurn(back_to=1))
    two[0].take(LOCAL, id, BackToTurn(back_to=2))
    assert two[1].take(LOCAL, id, SayTurn(say="green", parent=2)).turn == 5
    assert words(two[0], id, 5) == ["red", "blue", "green"]


def test_a_parent_that_was_gone_back_to_is_where_the_conversation_stands(two: list[Conversations]) -> None:
    id = begin(two[0], "red", "blue")
    assert two[0].take(LOCAL, id, BackToTurn(back_to=1)).turn == 3
    with pytest.raises(Problem, match="newest turn is 3"):
        two[1].take(LOCAL, id, SayTurn(say="green", parent=2))
    assert two[1].take(LOCAL, id, SayTurn(say="green", parent=1)).turn == 4
    assert words(two[0], id, 4) == ["red", "green"]


def test_the_way_back_of_one_who_is_behind_adds_one_turn(two: list[Conversations]) -> None:
    id = begin(two[0], "red", "blue")
    with pytest.raises(Problem, match="went on"):
        two[1].take(LOCAL, id, BackToTurn(back_to=0, parent=1))
    assert two[1].take(LOCAL, id, BackToTurn(back_to=0, parent=1, on_conflict="branch")).turn == 3


def test_a_parent_that_is_not_there_is_refused(two: list[Conversations]) -> None:
    id = begin(two[0], "red")
    with pytest.raises(BadInput, match="parent: turn 7 does not exist: this conversation has turns 0 to 1"):
        two[0].take(LOCAL, id, SayTurn(say="green", parent=7))


def test_the_answer_on_a_branch_answers_the_question_that_was_asked_there(conversations: Conversations) -> None:
    id = conversations.create(LOCAL, SessionIn(n=6)).id
    asked = conversations.question(id, conversations.take(LOCAL, id, SayTurn(say="something")).turn)
    assert asked is not None
    conversations.take(LOCAL, id, SayTurn(say="red over blue"))
    with pytest.raises(Problem, match="went on"):
        conversations.take(LOCAL, id, AnswerTurn(answer="green", parent=1))
    taken = conversations.take(LOCAL, id, AnswerTurn(answer="green", parent=1, on_conflict="branch"))
    turn = conversations.tree(LOCAL, id).tree[taken.turn].turn
    assert turn is not None and turn["question"]["text"] == asked.text


def test_a_refused_turn_is_sent_again_with_its_key_to_another_place(two: list[Conversations]) -> None:
    id = begin(two[0], "red", "blue")
    refused, branch = SayTurn(say="green", parent=1), SayTurn(say="green", parent=1, on_conflict="branch")
    with pytest.raises(Problem):
        two[0].take(LOCAL, id, refused, request_key("k", "take", refused))
    for by in (*two, two[0]):
        assert by.take(LOCAL, id, branch, request_key("k", "take", branch)).turn == 4
    assert len(read(two[0], id)) == 4


def test_what_cannot_be_said_on_a_branch_leaves_no_way_back_behind(two: list[Conversations]) -> None:
    id = begin(two[0], "red", "blue")
    with pytest.raises(Exception, match="nobody"):
        two[0].take(LOCAL, id, LikeTurn(like="nobody", parent=1, on_conflict="branch"))
    assert len(read(two[0], id)) == 2
    assert two[0].take(LOCAL, id, SayTurn(say="green")).turn == 3


def test_an_edit_of_one_who_is_behind_is_refused_or_repeats_what_its_sender_saw(two: list[Conversations]) -> None:
    id = begin(two[0], "red", "blue", "white")
    green = SayTurn(say="green", parent=2)
    with pytest.raises(Problem, match="went on"):
        two[1].edit(LOCAL, id, 1, green)
    with pytest.raises(Problem, match="went on"):
        two[1].edit(LOCAL, id, 1, None, placed=Placed(parent=2))
    assert len(read(two[0], id)) == 3
    edited = two[1].edit(LOCAL, id, 1, green.model_copy(update={"on_conflict": "branch"}))
    assert words(two[0], id, edited.results.turn) == ["green", "blue"]
    without = two[1].edit(LOCAL, id, 1, None, placed=Placed(parent=2, on_conflict="branch"))
    assert words(two[0], id, without.results.turn) == ["blue"]
    assert words(two[0], id, two[0].edit(LOCAL, id, 1, SayTurn(say="black")).results.turn) == ["black", "blue", "white"]


def test_what_was_said_since_is_told_to_one_who_asks(two: list[Conversations]) -> None:
    id = begin(two[0], "red")
    assert two[1].news(LOCAL, id, 1).model_dump() == {"newest": 1, "stands_at": 1, "turns": []}
    two[0].take(LOCAL, id, SayTurn(say="blue"))
    two[0].take(LOCAL, id, BackToTurn(back_to=1))
    news = two[1].news(LOCAL, id, 1)
    assert (news.newest, news.stands_at, [node.told for node in news.turns]) == (3, 1, ['"blue"', "back to 1"])
    assert all(node.at is not None for node in news.turns)
    assert two[1].news(LOCAL, id, 99).turns == []


def test_of_many_who_say_something_at_once_each_says_it_where_it_was(two: list[Conversations]) -> None:
    id = begin(two[0], "red")
    start, taken, wrong = threading.Barrier(8), list[tuple[str, int]](), list[object]()

    def speak(by: Conversations, name: str) -> None:
        start.wait()
        try:
            turn = SayTurn(say=name, parent=1, on_conflict="branch")
            taken.append((name, by.take(LOCAL, id, turn).turn))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=speak, args=(two[at % 2], f"blue {at}")) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(taken) == 8
    assert all(words(two[0], id, number) == ["red", name] for name, number in taken)


WHAT = st.sampled_from(["say", "skip", "back", "edit", "look"])
STEPS = st.lists(st.tuples(st.integers(0, 2), WHAT, st.integers(0, 20), st.booleans()), max_size=14)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_however_three_people_interleave_no_turn_changes_its_meaning(
    conversations: Conversations, steps: list[tuple[int, str, int, bool]]
) -> None:
    """Each knows the conversation as of when they looked, and means to follow what they saw there."""
    id = begin(conversations, "start")
    known = [read(conversations, id)] * 3
    meant: dict[int, list[Any]] = {}
    for at, (who, what, number, branches) in enumerate(steps):
        mine = known[who]
        if what == "look":
            known[who] = read(conversations, id)
            continue
        place: dict[str, Any] = {"parent": len(mine), "on_conflict": "branch" if branches else "refuse"}
        before, stands = read(conversations, id), find_meant(mine, len(mine)).number
        is_behind = find_meant(before, len(before)).number != stands
        way = [node.turn for node in mine.path(stands)]
        try:
            if what == "say":
                taken = conversations.take(LOCAL, id, SayTurn(say=f"red {at}", **place)).turn
                expected = [*way, SayTurn(say=f"red {at}")]
            elif what == "back":
                to = number % len(mine.nodes)
                taken = conversations.take(LOCAL, id, BackToTurn(back_to=to, **place)).turn
                expected = [node.turn for node in mine.path(to)]
            elif what == "skip":
                with pytest.raises((BadInput, Problem)):  # nothing is asked here
                    conversations.take(LOCAL, id, SkipTurn(skip=True, **place))
                assert read(conversations, id) == before
                continue
            else:
                path = mine.path(stands)
                if not path:
                    continue
                chosen = path[number % len(path)]
                edited = conversations.edit(LOCAL, id, chosen.number, SayTurn(say=f"blue {at}", **place))
                taken = edited.results.turn
                expected = [SayTurn(say=f"blue {at}") if node == chosen else node.turn for node in path]
        except Problem as problem:
            assert problem.kind == "moved-on" and is_behind and not branches
            assert read(conversations, id) == before  # nothing was half done
            continue
        assert not is_behind or branches
        after = read(conversations, id)
        texts = [getattr(turn, "text", None) or getattr(turn, "say", None) for turn in expected]
        assert [getattr(node.turn, "text", None) for node in after.path(taken)] == texts
        meant[taken] = texts
        known[who] = after
    last = read(conversations, id)
    for number, texts in meant.items():
        assert [getattr(node.turn, "text", None) for node in last.path(number)] == texts
