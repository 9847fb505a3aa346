"""Talks with a retriever that speaks: what turns are answered with, the words, and how leaning changes that."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Conversation, Say
from viewfinder.errors import BadInput
from viewfinder.retrievers import AnsweringRetriever, Composer, Retriever
from viewfinder.search.gallery import Gallery
from viewfinder.session.session import Session
from viewfinder.testing import COLOURS, ColourEncoder, tiny_snapshot

Made = Callable[..., Any]

LOOKS = [(top, bottom) for top in COLOURS for bottom in COLOURS]
GALLERY = Gallery(tiny_snapshot(LOOKS), ColourEncoder())


def session(retriever: Retriever[Any], **given: Any) -> Session:
    return Session(GALLERY, retriever, **{"questioner": None, "n": 5, "memo": ByteCache(), **given})


def test_the_talker_is_a_retriever_that_speaks_and_the_composer_is_none(talker: Made) -> None:
    assert isinstance(talker(), Retriever) and isinstance(talker(), AnsweringRetriever)
    assert not isinstance(Composer(), AnsweringRetriever)


def test_a_question_is_answered_in_words_and_the_results_stay(talker: Made) -> None:
    live = session(talker())
    shown = list(live.say("red over blue"))
    assert (live.answered_with, list(live.reply())) == ("pictures", [])
    assert [hit.id for hit in live.say("green, is it?")] == [hit.id for hit in shown]
    assert (live.answered_with, "".join(live.reply())) == ("words", "I have heard 'red over blue' 'green, is it?'.")
    assert live.say("green")[0].id != shown[0].id
    assert live.answered_with == "pictures"


def test_words_before_any_pictures_come_with_what_would_be_shown(talker: Made) -> None:
    live = session(talker())
    hits = live.say("is it red over blue?")
    assert live.answered_with == "words"
    assert hits[0].id == f"p{LOOKS.index(('red', 'blue')):03}"


def test_who_does_not_speak_answers_nothing_in_particular() -> None:
    live = session(Composer())
    live.say("a red car?")
    assert (live.answered_with, list(live.reply()), live.picture_bias) == (None, [], None)
    with pytest.raises(BadInput, match="composer answers with pictures alone"):
        live.picture_bias = 1.0
    with pytest.raises(BadInput, match="composer"):
        session(Composer(), picture_bias=1.0)


def test_every_turn_keeps_its_own_answer_and_going_back_brings_it_back(talker: Made) -> None:
    live = session(talker(), questioner="information_gain")
    for text in ("red", "why?", "blue"):
        live.say(text)
    assert [live.answered_at(number) for number in range(4)] == [None, "pictures", "words", "pictures"]
    live.back_to(2)
    assert (live.answered_with, "".join(live.reply())) == ("words", "I have heard 'red' 'why?'.")
    assert "".join(live.reply(2)) == "".join(live.reply())
    live.back_to(0)
    assert (live.answered_with, list(live.reply())) == (None, [])
    with pytest.raises(ValueError):
        live.answered_at(99)


def test_a_reply_is_written_as_it_is_taken_while_the_conversation_goes_on(talker: Made) -> None:
    retriever = talker()
    live = session(retriever)
    live.say("why?")
    pieces = live.reply()
    assert (next(pieces), retriever.written) == ("I have", ["I have"])
    live.say("red")
    assert "".join(pieces) == " heard 'why?'."


def test_leaning_decides_and_is_not_mixed_up_in_the_memo(talker: Made) -> None:
    retriever, memo = talker(), ByteCache()
    usual, pictures = session(retriever, memo=memo), session(retriever, memo=memo, picture_bias=math.inf)
    for live in (usual, pictures):
        live.say("red")
        live.say("blue?")
    assert (usual.picture_bias, usual.answered_with) == (0.0, "words")
    assert (pictures.picture_bias, pictures.answered_with) == (math.inf, "pictures")
    assert usual.ranking().best(1).tolist() != pictures.ranking().best(1).tolist()
    assert retriever.picture_bias == 0.0


def test_another_leaning_reads_the_whole_conversation_again(talker: Made) -> None:
    live = session(talker())
    live.say("red")
    live.say("blue?")
    live.picture_bias = 2.0  # a question speaks for words by 2, and a draw shows pictures
    assert [live.answered_at(1), live.answered_at(2)] == ["pictures", "pictures"]
    live.picture_bias = -math.inf
    assert [live.answered_at(1), live.answered_at(2)] == ["words", "words"]
    with pytest.raises(BadInput, match="a leaning is a number"):
        live.picture_bias = math.nan


def test_nothing_is_asked_after_an_answer_in_words(talker: Made) -> None:
    gallery = Gallery(tiny_snapshot(LOOKS, [{"top": (top,)} for top, _ in LOOKS]), ColourEncoder())
    live = Session(gallery, talker(), "information_gain", memo=ByteCache())
    live.say("something")
    assert live.question is not None
    live.say("what have you got?")
    assert live.question is None
    assert live.question_choice() is None
    live.reopen_question()
    assert live.question_choice() is None
    live.search(Say("green"))
    assert live.question_choice() is not None
    live.picture_bias = -math.inf
    assert live.question_choice() is None


def test_a_saved_conversation_is_answered_the_same_way_again(talker: Made) -> None:
    live = session(talker())
    live.say("red")
    live.say("is it?")
    again = session(talker(), conversation=Conversation.from_json(live.conversation.to_json()))
    assert (again.answered_with, list(again.reply())) == ("words", list(live.reply()))
