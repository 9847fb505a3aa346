"""Sentences that do something and then describe, in a session over a library."""

from __future__ import annotations

import pytest

from viewfinder.conversation import BackTo, Conversation, Reject, Say
from viewfinder.errors import UnknownName
from viewfinder.library import Library
from viewfinder.session.said import texts_said


def test_who_starts_over_and_describes_at_once_has_begun_anew(album: Library) -> None:
    chat = album.chat(questioner=None)
    chat.say("a red square")
    shown = chat.say("start over, a blue circle")
    assert [node.turn for node in chat.conversation.nodes[1:]] == [Say("a red square"), BackTo(0), Say("a blue circle")]
    assert texts_said(chat.conversation.path(), chat.reader) == ("a blue circle",)
    plain = album.chat(questioner=None).say("a blue circle")
    assert [hit.id for hit in shown] == [hit.id for hit in plain]
    assert chat.conversation.here.shown == tuple(hit.id for hit in shown)


def test_what_is_rejected_first_is_gone_from_what_is_described_then(album: Library) -> None:
    chat = album.chat(questioner=None, n=3)
    rejected = {hit.id for hit in chat.say("a red square")}
    shown = {hit.id for hit in chat.say("none of these, it was green")}
    assert chat.conversation.nodes[2].turn == Reject()
    assert shown
    assert not shown & rejected


def test_a_conversation_with_two_turns_in_a_sentence_is_saved_and_goes_on(album: Library) -> None:
    chat = album.chat(questioner=None)
    chat.say("a red square")
    chat.say("undo that, a blue circle")
    kept = Conversation.from_json(chat.conversation.to_json())
    again = album.chat(questioner=None, conversation=kept)
    again.say("undo")
    assert again.conversation.path() == ()


def test_a_sentence_that_cannot_be_taken_leaves_the_conversation_as_it_was(album: Library) -> None:
    chat = album.chat(questioner=None)
    chat.say("a red square")
    before = chat.conversation
    with pytest.raises(UnknownName, match="no picture has rating"):
        chat.say("start over, rating:>9")
    assert chat.conversation == before
