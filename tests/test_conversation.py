"""Conversations are values: they branch, they are saved and read back, and nothing malformed gets in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    check_turn,
    turn_from_json,
    turn_to_json,
)
from viewfinder.wording.replies import is_dont_know

# The axis checker looks at a random element of a container, also while hypothesis builds one.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
PATIENT = settings(deadline=None, max_examples=60)

KEYS = ("say", "answer", "question", "like", "but", "turn", "show", "keep", "reject", "text", "back_to", "attributes")
TEXT = st.text(max_size=12)
QUESTION = st.builds(
    Question, TEXT, st.lists(TEXT, max_size=3).map(tuple), TEXT, TEXT, st.none() | st.sampled_from(["colour", "size"])
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from((*KEYS, "choices", "by")), inner),
    max_leaves=8,
)


ATTRIBUTES = st.none() | st.lists(TEXT, max_size=3).map(tuple)


@st.composite
def turns(draw: st.DrawFn, said: int) -> Turn:
    """Any turn that may come after `said` others."""
    earlier = st.integers(0, said)
    turn: Turn = draw(
        st.one_of(
            st.builds(Say, TEXT),
            st.builds(Answer, QUESTION, TEXT),
            st.builds(Like, TEXT, TEXT, st.none() | earlier, ATTRIBUTES),
            st.builds(Show, TEXT, TEXT, ATTRIBUTES),
            st.builds(Keep, TEXT, earlier),
            st.builds(Reject, st.lists(TEXT, max_size=3).map(tuple), TEXT),
            st.builds(BackTo, earlier),
        )
    )
    return turn


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    """Any conversation of up to 8 turns, with what was shown and asked."""
    conversation = Conversation()
    for said in range(draw(st.integers(0, 8))):
        conversation = conversation.then(draw(turns(said)))
        conversation = conversation.recorded(
            shown=draw(st.lists(TEXT, max_size=3).map(tuple)), asked=draw(st.none() | QUESTION)
        )
    return conversation


def replayed(conversation: Conversation, count: int | None = None) -> Conversation:
    """The first `count` lines of the script, said again."""
    again = Conversation()
    for node in conversation.nodes[1 : None if count is None else count + 1]:
        assert node.turn is not None
        again = again.then(node.turn).recorded(shown=node.shown, asked=node.asked)
    return again


def malformed(change: dict[str, Any]) -> dict[str, Any]:
    data = Conversation().then(Say("a dog")).to_json()
    data["turns"][0] |= change
    return data


@PATIENT
@given(conversations())
def test_what_is_written_is_read_back_with_every_key(conversation: Conversation) -> None:
    read = Conversation.from_json(json.loads(json.dumps(conversation.to_json())))
    assert read == conversation
    assert read.to_json() == conversation.to_json()


@PATIENT
@given(conversations())
def test_any_script_replays_to_the_same_conversation(conversation: Conversation) -> None:
    assert replayed(conversation) == conversation


@PATIENT
@given(conversations(), st.data())
def test_going_back_to_a_turn_stands_where_its_prefix_stood(conversation: Conversation, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(conversation)))
    back, prefix = conversation.then(BackTo(number)), replayed(conversation, number)
    assert back.here.key == prefix.here.key
    assert back.path() == prefix.path()
    assert back.pending == prefix.pending
    assert back.here.shown == prefix.here.shown


@PATIENT
@given(conversations(), st.data())
def test_a_branch_leaves_all_others_as_they_were(conversation: Conversation, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(conversation)))
    branched = conversation.then(BackTo(number)).then(data.draw(turns(len(conversation) + 1)))
    assert branched.nodes[: len(conversation) + 1] == conversation.nodes
    assert all(branched.path(node.number) == conversation.path(node.number) for node in conversation.nodes)


@PATIENT
@given(conversations(), st.data())
def test_a_turn_is_its_json_again(conversation: Conversation, data: st.DataObject) -> None:
    turn = data.draw(turns(len(conversation)))
    assert turn_from_json(json.loads(json.dumps(turn_to_json(turn)))) == turn


@PATIENT
@given(conversations(), st.data())
def test_a_turn_with_the_right_types_is_itself_when_checked(conversation: Conversation, data: st.DataObject) -> None:
    turn = data.draw(turns(len(conversation)))
    assert check_turn(turn) == turn


@pytest.mark.parametrize(
    ("given_turn", "checked"),
    [
        (Reject(["p", "q"]), Reject(("p", "q"))),  # type: ignore[arg-type]
        (Reject("p"), Reject(("p",))),  # type: ignore[arg-type]
        (Like("p", None, attributes=["silk"]), Like("p", attributes=("silk",))),  # type: ignore[arg-type]
        (Answer(Question("Which?", ["a"]), "a"), Answer(Question("Which?", ("a",)), "a")),  # type: ignore[arg-type]
    ],
)
def test_lists_in_a_turn_become_tuples(given_turn: Turn, checked: Turn) -> None:
    assert check_turn(given_turn) == checked


@pytest.mark.parametrize(
    ("turn", "says"),
    [
        (Say(3), "'say' must be a text, not 3"),  # type: ignore[arg-type]
        (Answer(3, "a"), "a question is a text, or an object with a 'text'"),  # type: ignore[arg-type]
        (Like("p", 3), "'but' must be a text, not 3"),  # type: ignore[arg-type]
        (Keep("colour", "1"), "'turn' must be the number of a turn, not \"1\""),  # type: ignore[arg-type]
        (BackTo(True), "'back_to' must be the number of a turn, not true"),
    ],
)
def test_a_value_of_the_wrong_type_is_named_as_in_json(turn: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        check_turn(turn)


@PATIENT
@given(ANYTHING)
def test_malformed_turns_are_value_errors_and_nothing_else(data: Any) -> None:
    try:
        turn = turn_from_json(data)
    except ValueError as error:
        assert "\n" not in str(error)
    else:
        assert turn_from_json(json.loads(json.dumps(turn_to_json(turn)))) == turn


@PATIENT
@given(st.sampled_from(["say", "answer", "like", "show", "keep", "reject", "back_to"]), ANYTHING, ANYTHING)
def test_wrong_values_under_right_keys_are_value_errors(kind: str, value: Any, extra: Any) -> None:
    second = {"answer": "question", "like": "but", "show": "but", "keep": "turn", "reject": "text"}.get(kind)
    data = {kind: value} if second is None else {kind: value, second: extra}
    try:
        turn = turn_from_json(data)
    except ValueError:
        return
    assert turn_from_json(turn_to_json(turn)) == turn


@PATIENT
@given(st.sampled_from(["parent", "shown", "asked", "say", "schema"]), ANYTHING)
def test_malformed_conversations_are_value_errors_and_nothing_else(key: str, value: Any) -> None:
    try:
        conversation = Conversation.from_json(malformed({key: value}))
    except ValueError:
        return
    assert Conversation.from_json(conversation.to_json()) == conversation


@pytest.mark.parametrize("data", [None, [], "x", 3, {}, {"schema": "viewfinder/conversation", "version": 1}])
def test_what_is_no_conversation_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match="conversation"):
        Conversation.from_json(data)


def test_a_conversation_of_a_later_version_is_refused_by_its_number() -> None:
    data = Conversation().to_json() | {"version": 2}
    with pytest.raises(ValueError, match=r"version 2; this viewfinder reads 1"):
        Conversation.from_json(data)


def test_a_malformed_turn_is_named_by_its_number() -> None:
    data = Conversation().then(Say("a dog")).then(Say("brown")).to_json()
    data["turns"][1]["say"] = 3
    with pytest.raises(ValueError, match="turn 2 of this conversation is malformed: 'say' must be a text, not 3"):
        Conversation.from_json(data)
    del data["turns"][0]["parent"]
    with pytest.raises(ValueError, match="turn 1 of this conversation is malformed: it has no 'parent'"):
        Conversation.from_json(data)


def test_a_turn_that_hangs_elsewhere_than_it_says_is_refused() -> None:
    with pytest.raises(ValueError, match="turn 1 says it follows turn 7, but it follows 0"):
        Conversation.from_json(malformed({"parent": 7}))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("a dog", "a turn is a JSON object"),
        ({}, "exactly one of say, answer, skip, like, show, keep, reject, back_to; this one has none"),
        ({"say": "a", "like": "b"}, "this one has say, like"),
        ({"say": "a", "but": "b"}, "a 'say' turn knows no 'but'; it may have nothing"),
        ({"like": "a", "text": "b"}, "a 'like' turn knows no 'text'; it may have attributes, but, turn"),
        ({"like": "a", "attributes": "silk"}, "'attributes' must be a list of words, not \"silk\""),
        ({"show": "a", "attributes": ["silk", 1]}, r"'attributes' must be a list of words, not \[\"silk\", 1\]"),
        ({"back_to": True}, "'back_to' must be the number of a turn, not true"),
        ({"keep": "colour"}, "'turn' must be the number of a turn, not null"),
        ({"reject": [1]}, r"'reject' must be a list of picture ids, not \[1\]"),
        ({"answer": "a", "question": {"text": "b", "choices": 5}}, "'choices' must be a list of texts, not 5"),
        ({"answer": "a", "question": {"text": "b", "colour": "c"}}, "a question knows no colour"),
    ],
)
def test_a_malformed_turn_says_what_is_wrong(data: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        turn_from_json(data)


@pytest.mark.parametrize("turn", [BackTo(3), Keep("colour", 3), Like("p", turn=3), BackTo(-1)])
def test_a_turn_cannot_refer_to_one_that_does_not_exist(turn: Turn) -> None:
    with pytest.raises(ValueError, match="does not exist: this conversation has turns 0 to 1"):
        Conversation().then(Say("a dog")).then(turn)


def test_an_answer_without_a_question_answers_the_pending_one() -> None:
    asked = Question("Which colour?", ("red", "blue"))
    assert turn_from_json({"answer": "red"}, pending=asked) == Answer(asked, "red")
    assert turn_from_json({"answer": "red", "question": "Where?"}, pending=asked) == Answer(Question("Where?"), "red")


def test_a_script_line_may_reject_one_picture_without_a_list() -> None:
    assert turn_from_json({"reject": "p"}) == Reject(("p",))


def test_attributes_are_written_only_where_some_were_said() -> None:
    assert turn_to_json(Like("p", "red")) == {"like": "p", "but": "red"}
    assert turn_to_json(Like("p", attributes=())) == {"like": "p", "attributes": []}
    assert turn_from_json({"show": "a.jpg", "attributes": ["silk"]}) == Show("a.jpg", attributes=("silk",))


def test_the_key_of_a_turn_without_attributes_is_what_it_always_was() -> None:
    # Talks that were kept before attributes could be said go on with the same memoised steps and the same hits.
    conversation = Conversation().then(Say("a dress")).then(Like("p", "red"))
    assert conversation.here.key == "2b33784c89911389297c91a14ca06209"
    assert conversation.here.key != Conversation().then(Say("a dress")).then(Like("p", "red", attributes=())).here.key


def test_equal_words_with_another_number_have_another_key() -> None:
    # A state knows its turns by their numbers, so these two must not share a memoised one.
    straight = Conversation().then(Say("a dog"))
    later = Conversation().then(Say("a cat")).then(BackTo(0)).then(Say("a dog"))
    assert straight.here.key != later.here.key


def test_a_turn_that_refers_to_another_branch_has_a_key_of_its_own() -> None:
    keys = []
    for first in ("a cat", "a horse"):
        conversation = Conversation().then(Say(first)).recorded(shown=(first,), asked=None)
        keys.append(conversation.then(BackTo(0)).then(Say("a dog")).then(Keep("colour", 1)).here.key)
    assert keys[0] != keys[1]


def test_what_was_shown_is_part_of_the_key_of_what_comes_next() -> None:
    conversation = Conversation().then(Say("a dog"))
    seen = [conversation.recorded(shown=shown, asked=None).then(Reject()).here.key for shown in (("p",), ("q",))]
    assert seen[0] != seen[1]


@pytest.mark.parametrize(
    "text",
    ["don't know", "Don't know.", " no idea!", "?", "", "  ", "Skip", "don’t know", "I can't tell from the picture",
     "hard to say", "not sure", "it is unknown", "no i can't tell"],
)  # fmt: skip
def test_not_knowing_is_understood(text: str) -> None:
    assert is_dont_know(text)


def test_an_answer_that_only_begins_alike_is_an_answer() -> None:
    assert not is_dont_know("no ideal light, but red")


def test_the_day_on_which_a_turn_was_said_is_kept_and_makes_no_other_conversation_of_it() -> None:
    conversation = Conversation().then(Say("a dog"), "2025-06-30").then(Say("last summer"))
    data = conversation.to_json()
    assert [turn.get("on") for turn in data["turns"]] == ["2025-06-30", None]
    read = Conversation.from_json(json.loads(json.dumps(data)))
    assert [node.day for node in read.nodes] == ["", "2025-06-30", ""]
    assert read == conversation == Conversation().then(Say("a dog")).then(Say("last summer"))


@pytest.mark.parametrize("day", ["yesterday", "2025-13-01", 7, None])
def test_a_day_that_is_none_is_an_error(day: Any) -> None:
    with pytest.raises(ValueError, match="turn 1 of this conversation is malformed"):
        Conversation.from_json(malformed({"on": day}))
