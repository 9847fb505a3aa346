"""What turns do with earlier ones, as a session tells it: on every way, under the turn that does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Answer, Conversation, Question
from viewfinder.query import Operation
from viewfinder.retrievers import Composer, Retriever
from viewfinder.search.gallery import Gallery
from viewfinder.session.session import Session
from viewfinder.testing import COLOURS, ColourEncoder, tiny_snapshot

Made = Callable[[], Retriever[Any]]

LOOKS = [(top, bottom) for top in COLOURS for bottom in COLOURS]
FIRST, SECOND = Operation("rollback", 1, words="the first"), Operation("rollback", 2, words="the second")


def gallery_of(looks: Sequence[tuple[str, str]] = LOOKS) -> Gallery:
    return Gallery(tiny_snapshot(looks, [{"top": (top,)} for top, _ in looks]), ColourEncoder())


def session(retriever: Retriever[Any], gallery: Gallery | None = None, **given: Any) -> Session:
    seen = gallery or gallery_of()
    return Session(seen, retriever, "information_gain", **{"memo": ByteCache(), **given})


def test_every_turn_has_its_own(looks_back: Made) -> None:
    live = session(looks_back())
    live.like("p001", "blue")
    live.like("p002", "darker")
    live.say("I still prefer the first, with the bottom of the second")
    live.say("and green")
    live.say("no, the second")
    kept = Operation("keep", 2, "bottom", "bottom of the second")
    said = {3: (FIRST, kept), 5: (SECOND,)}
    assert live.operations() == said
    assert live.operations(4) == {3: said[3]}
    assert live.operations(2) == {}
    live.back_to(4)
    assert live.operations() == {3: said[3]}
    live.say("the bottom of the second")
    assert live.operations() == {3: said[3], 7: (kept,)}


def test_what_is_given_as_a_turn_is_one_without_words(looks_back: Made) -> None:
    live = session(looks_back())
    live.like("p001", "blue")
    live.like("p002")
    live.like("p001", "darker", turn=1)
    live.keep("top", 2)
    assert live.operations() == {3: (Operation("rollback", 1),), 4: (Operation("keep", 2, "top"),)}


@pytest.mark.parametrize("answer", ["", "red"])
def test_a_question_that_is_passed_over_or_answered_by_choice_does_not_repeat_what_was_done_before(
    looks_back: Made, answer: str
) -> None:
    live = session(looks_back())
    live.say("red")
    live.say("the first")
    live.take(Answer(Question("Which top is it?", ("red", "blue"), attribute="top"), answer))
    assert live.operations() == {2: (FIRST,)}


def test_a_turn_whose_picture_has_gone_does_nothing_any_more(looks_back: Made) -> None:
    live = session(looks_back())
    live.say("red")
    live.say("the first")
    live.like("p060", "blue", turn=2)
    later = session(looks_back(), gallery_of(LOOKS[:50]), conversation=live.conversation)
    assert live.operations() == {2: (FIRST,), 3: (Operation("rollback", 2),)}
    assert later.operations() == {2: (FIRST,)}
    assert later.ranking().adapters[0].startswith("drop: turn 3: ")


def test_a_conversation_that_was_kept_does_the_same(looks_back: Made) -> None:
    live = session(looks_back())
    for text in ("red", "over blue", "the second", "like the first"):
        live.say(text)
    kept = Conversation.from_json(live.conversation.to_json())
    assert session(looks_back(), conversation=kept).operations() == live.operations() == {3: (SECOND,), 4: (FIRST,)}


def test_retrievers_that_do_not_look_back_say_nothing() -> None:
    live = session(Composer())
    live.like("p001", "blue")
    live.like("p002", "like the first", turn=1)
    assert live.operations() == {}
    with pytest.raises(ValueError, match="turn 9 does not exist"):
        live.operations(9)
