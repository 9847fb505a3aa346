"""Live searches: replaying, going back and branching give the same states, and every turn does what it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import (
    Answer,
    BackTo,
    Conversation,
    Keep,
    Like,
    Question,
    Say,
    Show,
    turn_from_json,
    turn_to_json,
)
from viewfinder.errors import BadInput, EmptyQuery, UnknownName
from viewfinder.query import Query
from viewfinder.retrievers import Composer, load_retriever
from viewfinder.search.gallery import Gallery
from viewfinder.search.hits import Hits
from viewfinder.search.scores import score_all
from viewfinder.session.session import Session
from viewfinder.testing import COLOURS, ColourEncoder, draw_halves, tiny_snapshot

NAMES = list(COLOURS)
LOOKS = [(top, bottom) for top in NAMES for bottom in NAMES]
KNOWN = [{"top": (top,), "Bottom colour": (bottom,)} for top, bottom in LOOKS]
ENCODER = ColourEncoder()
GALLERY = Gallery(tiny_snapshot(LOOKS, KNOWN), ENCODER)
SCRIPTS = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "answer", "like", "but", "then", "keep", "reject", "none", "unlike", "back"]),
        st.integers(0, 9),
        st.sampled_from([*NAMES, "red without blue", "don't know"]),
    ),
    max_size=7,
)
PATIENT = settings(deadline=None, max_examples=15)


def session(
    memo: ByteCache | None = None, retriever: str = "composer", gallery: Gallery = GALLERY, **kwargs: Any
) -> Session:
    return Session(gallery, load_retriever(retriever), "information_gain", memo=memo or ByteCache(), **kwargs)


def line(conversation: Conversation, kind: str, number: int, text: str) -> dict[str, Any]:
    """A script line that fits this point of a conversation, whatever was drawn."""
    shown, back = conversation.here.shown, number % (len(conversation) + 1)
    seen = shown[number % len(shown)] if shown else "p007"
    lines: dict[str, dict[str, Any]] = {
        "say": {"say": text},
        "answer": {"answer": text},
        "like": {"like": seen},
        "but": {"like": seen, "but": text},
        "then": {"like": seen, "turn": back},
        "keep": {"keep": "bottom", "turn": back},
        "reject": {"reject": [seen]},
        "none": {"reject": []},
        "unlike": {"reject": [], "text": text},
        "back": {"back_to": back},
    }
    return lines[kind]


def play(live: Session, script: list[tuple[str, int, str]]) -> None:
    for drawn in script:
        take(live, line(live.conversation, *drawn))


def take(live: Session, said: dict[str, Any]) -> Hits | None:
    before = live.conversation
    try:
        return live.take(turn_from_json(said, pending=live.question))
    except BadInput:  # keep something of a turn that showed nothing
        assert live.conversation is before
        return None


def replay(conversation: Conversation, live: Session, count: int | None = None) -> Session:
    for node in conversation.nodes[1 : None if count is None else count + 1]:
        assert node.turn is not None
        live.take(node.turn)
    return live


def state(live: Session) -> tuple[Any, ...]:
    """All that a turn leaves behind, bit for bit."""
    parts = [
        (
            part.kind,
            part.turn,
            part.label,
            part.weight,
            part.value,
            None if part.vector_d is None else part.vector_d.tobytes(),
        )
        for part in live.ranking().query.parts
    ]
    here = live.conversation.here
    return parts, sorted(live.ranking().query.excluded), live.ranking().query.adapters, here.shown, live.question


@PATIENT
@given(SCRIPTS, st.sampled_from(["composer", "clip-ti"]))
def test_any_script_replays_to_the_same_state(script: list[tuple[str, int, str]], retriever: str) -> None:
    live = session(retriever=retriever)
    play(live, script)
    read = Conversation.from_json(json.loads(json.dumps(live.conversation.to_json())))
    again = replay(read, session(retriever=retriever))
    assert again.conversation == live.conversation == read
    assert state(again) == state(live)
    assert again.rank_of("p011") == live.rank_of("p011")


@PATIENT
@given(SCRIPTS, st.integers(0, 6))
def test_going_back_gives_bit_for_bit_the_state_of_the_prefix(script: list[tuple[str, int, str]], number: int) -> None:
    live = session()
    play(live, script)
    number = min(number, len(live.conversation))
    prefix = replay(live.conversation, session(), number)
    live.back_to(number)
    assert state(live) == state(prefix)
    assert live.rank_of("p011") == prefix.rank_of("p011")


@PATIENT
@given(SCRIPTS, SCRIPTS, st.integers(0, 6))
def test_branches_do_not_disturb_each_other(
    first: list[tuple[str, int, str]], second: list[tuple[str, int, str]], number: int
) -> None:
    live = session()
    play(live, first)
    end, before = len(live.conversation), state(live)
    live.back_to(min(number, end))
    play(live, second)
    live.back_to(end)
    assert state(live) == before


@PATIENT
@given(SCRIPTS)
def test_the_size_of_the_memo_changes_nothing(script: list[tuple[str, int, str]]) -> None:
    large, one, none = (session(ByteCache(size)) for size in (1 << 20, 5000, 0))
    for drawn in script:
        for live in (large, one, none):
            take(live, line(live.conversation, *drawn))
        assert state(large) == state(one) == state(none)


@PATIENT
@given(st.lists(SCRIPTS, min_size=2, max_size=3))
def test_one_memo_may_serve_many_conversations(scripts: list[list[tuple[str, int, str]]]) -> None:
    shared = ByteCache()
    for script in scripts:
        live, alone = session(shared), session()
        play(live, script)
        play(alone, script)
        assert state(live) == state(alone)


class Counting(Composer):
    """Counts its steps."""

    steps = 0

    def step(self, state: Any, turn: Any) -> Any:
        Counting.steps += 1
        return super().step(state, turn)


class OnlyValues(Composer):
    """Asks for catalogue values and nothing else, so that scores are equal to the last bit."""

    def query(self, state: Any) -> Query:
        return Query(tuple(part for part in state.parts if part.kind == "value"))


def test_a_turn_costs_one_step_and_going_back_none() -> None:
    live = Session(GALLERY, Counting(), None, memo=ByteCache())
    for number, colour in enumerate(NAMES, start=1):
        live.say(colour)
        assert Counting.steps == number
    live.back_to(3)
    live.rank_of("p000")
    assert len(NAMES) == Counting.steps


def test_another_library_in_the_same_process_keeps_its_own_states() -> None:
    # Equal pictures and words, but another catalogue: a kept attribute comes to something else there.
    swapped = [{"top": said["Bottom colour"], "Bottom colour": said["top"]} for said in KNOWN]
    other, memo = Gallery(tiny_snapshot(LOOKS, swapped), ENCODER), ByteCache()
    parts = []
    for gallery in (GALLERY, other):
        live = session(memo, gallery=gallery)
        live.take(Say("red over blue"))
        live.take(Like("p002"))
        live.take(Keep("top", 2))
        parts.append([part.label for part in live.ranking().query.parts if part.kind == "value"])
    assert parts == [["top: red"], ["top: blue"]]


def test_results_explain_themselves_turn_by_turn() -> None:
    live = session()
    live.say("red over blue")
    hits = live.reject("p000", text="white")
    assert [entry["turn"] for entry in hits[0].why["turns"]] == [1, 2]
    for hit in hits:
        assert sum(entry["adds"] for entry in hit.why["turns"]) == pytest.approx(hit.score, abs=2e-4)
        assert sum(abs(entry["share"]) for entry in hit.why["turns"]) == pytest.approx(1, abs=2e-3)


def test_ranks_on_screen_start_at_one_and_rank_of_at_zero() -> None:
    live = session()
    hits = live.say("red over blue")
    assert [hit.rank for hit in hits] == list(range(1, 11))
    assert live.rank_of(hits[0]) == 0
    assert live.rank_of(hits[4].id) == 4


def test_rank_of_is_pessimistic_on_ties() -> None:
    live = session()
    assert live.rank_of("p000") == len(LOOKS) - 1  # nothing said: all are equal
    live.take(Say("red over blue"))
    answered = Question("What is on top?", attribute="top")
    live.take(Answer(answered, "red"))
    tied = Session(GALLERY, OnlyValues(), None, memo=ByteCache(), conversation=live.conversation)
    assert tied.rank_of("p000") == tied.rank_of("p007") == len(NAMES) - 1
    assert tied.rank_of("p008") == len(LOOKS) - 1


def test_equal_vectors_are_ties_whatever_the_last_bit_of_their_scores() -> None:
    copies = Gallery(tiny_snapshot([*LOOKS[:8], *LOOKS[:8], *LOOKS[:5]]), ENCODER)
    live = session(gallery=copies)
    live.say("red over yellow, not blue")
    assert live.rank_of("p003") == live.rank_of("p011") == live.rank_of("p019") == 2


def test_a_conversation_of_more_turns_than_python_may_nest_can_be_taken_up_again() -> None:
    conversation = Conversation()
    for number in range(1010):
        conversation = conversation.then(Say(f"{NAMES[number % 8]} {number % 10}"))
    assert len(session(conversation=conversation).say("red")) == 10


def test_pictures_that_are_all_alike_are_found_without_a_warning() -> None:
    live = session(gallery=Gallery(tiny_snapshot([("red", "red")] * 4), ENCODER))
    assert {hit.match for hit in live.say("blue")} == {"unlikely"}


def test_excluded_pictures_rank_last_and_are_never_shown() -> None:
    live = session(n=64)
    first = live.say("red")
    hits = live.reject(first[0], first[1])
    assert {first[0].id, first[1].id}.isdisjoint(hit.id for hit in hits)
    assert len(hits) == len(LOOKS) - 2
    assert live.rank_of(first[0]) == live.rank_of(first[1]) == len(LOOKS) - 1
    assert live.rank_of(hits[0]) == 0


def test_none_of_these_shows_new_pictures() -> None:
    live = session(n=5)
    first = live.say("red")
    second = live.reject()
    assert {hit.id for hit in first}.isdisjoint(hit.id for hit in second)
    assert len(second) == 5


def test_a_filter_leaves_the_page_full() -> None:
    live = session(n=8, where={"TOP": "Blue"})
    hits = live.say("red")
    assert [LOOKS[int(hit.id[1:])][0] for hit in hits] == ["blue"] * 8


def test_an_unknown_column_or_value_is_said_before_the_first_turn() -> None:
    with pytest.raises(UnknownName, match="top"):
        session(where={"size": "small"})
    with pytest.raises(UnknownName, match="pink"):
        session(where={"top": "pink"})


def test_keep_goes_by_the_picture_that_was_picked() -> None:
    live = session()
    live.say("red over blue")
    live.like("p010")  # green over blue
    live.keep("bottom", turn=2)
    assert ("Bottom colour", "blue") in [part.value for part in live.ranking().query.parts]


def test_keep_without_a_picked_picture_goes_by_the_top_of_the_screen() -> None:
    live = session()
    live.say("yellow")
    tops = [LOOKS[int(picture[1:])][0] for picture in live.conversation.here.shown[:5]]
    live.keep("top", turn=1)
    [value] = [part.value for part in live.ranking().query.parts if part.value is not None]
    assert value == ("top", max(dict.fromkeys(tops), key=tops.count))


def test_keep_after_going_back_means_the_turn_gone_back_to() -> None:
    live = session()
    live.say("red over blue")
    live.like("p010")
    live.back_to(1)
    live.keep("bottom", turn=2)
    assert ("Bottom colour", "blue") in [part.value for part in live.ranking().query.parts]


def test_keep_says_which_attributes_there_are() -> None:
    live = session()
    live.say("red")
    with pytest.raises(UnknownName, match=r"no attribute is called 'taste'; there are: .*top.*colour"):
        live.keep("taste", turn=1)
    with pytest.raises(BadInput, match="nothing was on the screen after turn 0"):
        live.keep("top", turn=0)


def test_an_answer_to_a_question_about_a_column_counts_by_the_catalogue() -> None:
    live = session()
    live.say("something colourful")
    question = live.question
    assert question is not None
    assert question.attribute is not None
    live.answer(question.choices[0])
    assert live.conversation.here.turn == turn_from_json({"answer": question.choices[0]}, pending=question)
    assert question.attribute not in {node.asked.attribute for node in live.conversation.nodes[2:] if node.asked}


def test_a_question_is_pending_again_after_going_back_to_it() -> None:
    live = session()
    live.say("something colourful")
    question = live.question
    live.answer("don't know")
    live.back_to(1)
    assert live.question == question


def test_without_a_questioner_there_is_nothing_to_answer() -> None:
    live = Session(GALLERY, Composer(), None, memo=ByteCache())
    live.say("red")
    assert live.question is None
    with pytest.raises(BadInput, match="there is no question to answer"):
        live.answer("blue")


def test_an_image_of_ones_own_finds_its_like(tmp_path: Path) -> None:
    Image.fromarray(draw_halves("purple", "orange", size=(40, 30))).save(tmp_path / "mine.png")
    live = session()
    hits = live.show(tmp_path / "mine.png")
    assert LOOKS[int(hits[0].id[1:])] == ("purple", "orange")
    but = live.show(tmp_path / "mine.png", but="white")
    assert but[0].id != hits[0].id
    with pytest.raises(BadInput, match="no such image"):
        live.show(tmp_path / "other.png")


@pytest.mark.parametrize("text", ["", "  \n"])
def test_saying_nothing_is_refused_and_leaves_the_conversation_as_it_was(text: str) -> None:
    live = session()
    live.say("red")
    before = live.conversation
    with pytest.raises(EmptyQuery, match="nothing was said"):
        live.say(text)
    assert live.conversation is before


def test_a_turn_that_fails_leaves_the_conversation_as_it_was() -> None:
    live = session()
    hits = live.say("red")
    before = live.conversation
    for turn in (Like("p999"), BackTo(7), Keep("top", 9)):
        with pytest.raises(BadInput):
            live.take(turn)
    assert live.conversation is before
    assert live.say("blue")[0].rank == hits[0].rank


def test_a_conversation_goes_on_from_a_saved_conversation() -> None:
    live = session()
    live.say("red")
    resumed = session(conversation=Conversation.from_json(live.conversation.to_json()))
    assert resumed.say("over blue").to_json()["results"] == live.say("over blue").to_json()["results"]


def test_going_back_to_the_start_shows_nothing_and_forgets_nothing() -> None:
    live = session()
    live.say("red")
    assert list(live.back_to(0)) == []
    assert len(live.say("blue")) == 10
    assert len(live.conversation) == 3


def test_a_result_is_json() -> None:
    result = json.loads(json.dumps(session().say("red over blue").to_json()))
    assert result["verdict"] in {"found", "unsure", "nothing"}
    assert set(result["results"][0]) == {"rank", "id", "path", "score", "match", "why"}


def test_ten_thousand_words_are_read() -> None:
    assert len(session().say("red " * 10_000)) == 10


def test_results_come_before_the_question_and_both_are_those_of_a_whole_turn() -> None:
    whole, halves = session(), session()
    taken = whole.say("something")
    found = halves.search(Say("something"))
    assert list(found) == list(taken)
    assert halves.question is None and all(hit.why == {} for hit in found)
    assert halves.follow_up() == whole.question is not None
    assert halves.ranking().why([hit.id for hit in found]) == {hit.id: hit.why for hit in taken}
    assert halves.conversation == whole.conversation


def test_a_skipped_question_says_nothing_and_is_never_asked_again() -> None:
    live = session()
    first = live.say("something")
    before, asked = live.ranking().query, [live.question]
    while live.question is not None:
        skipped = live.skip()
        assert list(skipped) == list(first)
        assert live.ranking().query.parts == before.parts
        asked.append(live.question)
    texts = [question.text for question in asked if question is not None]
    assert sorted(texts) == ["Which bottom colour is it?", "Which top is it?"]
    assert turn_to_json(live.conversation.node(2).turn or Say(""))["answer"] == ""


def test_what_was_skipped_is_asked_again_on_a_branch_from_before() -> None:
    live = session()
    live.say("something")
    first = live.question
    live.skip()
    live.back_to(1)
    assert live.question == first
    live.answer("red")
    assert [part.label for part in live.ranking().query.parts if part.turn == 4]


def test_a_script_line_skips_what_is_asked_at_that_moment() -> None:
    live = session()
    live.say("something")
    first = live.question
    live.take(turn_from_json({"skip": True}, pending=live.question))
    assert live.conversation.here.turn == Answer(first or Question(""), "")
    again = Conversation.from_json(live.conversation.to_json())
    assert again == live.conversation
    with pytest.raises(ValueError, match="no question to skip"):
        turn_from_json({"skip": True})
    with pytest.raises(ValueError, match="'skip' must be true"):
        turn_from_json({"skip": 1}, pending=first)


def test_without_a_question_nothing_is_skipped() -> None:
    with pytest.raises(BadInput, match="no question to skip"):
        session().skip()


def test_a_question_that_is_chosen_elsewhere_holds_nothing_up() -> None:
    live = session()
    live.search(Say("something"))
    choose = live.question_choice()
    live.search(Say("bright"))
    assert choose is not None and choose() is not None
    assert [node.asked for node in live.conversation.nodes] == [None, None, None]
    assert live.follow_up() is not None


def test_a_question_is_chosen_once() -> None:
    live = session()
    live.search(Say("red"))
    question = live.follow_up()
    live.back_to(0)
    assert live.follow_up() is None
    live.back_to(1)
    assert live.follow_up() == question


def test_any_turn_can_be_looked_at_page_by_page_without_going_there() -> None:
    live = session()
    first = live.say("red")
    live.say("green")
    before = state(live)
    view = live.ranking(1)
    assert [hit.id for hit in view.hits(10)] == [hit.id for hit in first]
    pages = [*view.hits(7), *view.hits(7, start=7)]
    assert pages == list(view.hits(14))
    assert [hit.rank for hit in pages] == list(range(1, 15))
    assert view.total == len(GALLERY)
    assert state(live) == before


def test_a_view_counts_what_filters_and_rejections_leave() -> None:
    live = session(where={"bottom colour": "blue"})
    hits = live.say("red")
    total = live.ranking().total
    assert total == sum("blue" in GALLERY.snapshot.attributes(row)["Bottom colour"] for row in range(len(GALLERY)))
    live.reject(hits[0])
    assert live.ranking().total == total - 1
    assert hits[0].id not in [hit.id for hit in live.ranking().hits(total)]


def test_the_image_of_a_turn_is_found_by_its_name(tmp_path: Path) -> None:
    Image.fromarray(draw_halves("red", "blue")).save(tmp_path / "7.png")
    live = session(image_file=lambda name: tmp_path / f"{name}.png")
    live.show("7")
    assert live.conversation.here.turn == Show("7")
    with pytest.raises(BadInput, match=r"no such image: .*8\.png"):
        live.show("8")


def test_scores_shown_are_those_of_the_gallery() -> None:
    live = session()
    hits = live.say("green over red")
    total_n = score_all(GALLERY, live.ranking().query).total_n
    expected = [round(float(total_n[GALLERY.row(hit.id)]), 4) for hit in hits]
    assert [hit.score for hit in hits] == expected == sorted(expected, reverse=True)
    assert np.isclose(max(expected), total_n.max(), atol=1e-4)
