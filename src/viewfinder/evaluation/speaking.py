"""Systems that answer, turn by turn, without a session: what they say, and whether they show pictures instead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from viewfinder.conversation import Conversation, Turn
from viewfinder.errors import BadInput
from viewfinder.index import Gallery
from viewfinder.index.turns import resolve_turn
from viewfinder.retrievers import AnsweringRetriever, ResolvedTurn, Retriever, reads_of

State = TypeVar("State")

WORDS_ALONE, PICTURES_ALONE = -math.inf, math.inf
"""Leanings with which words, and pictures, are the only answer."""


@runtime_checkable
class Speaker(Retriever[State], AnsweringRetriever[State], Protocol[State]):
    """A retriever that answers."""


def with_picture_bias(retriever: Retriever[Any], pictures: float) -> Speaker[Any]:
    """A retriever that answers, with this bias to pictures.

    Raises:
        BadInput: it never answers in words.
    """
    if not isinstance(retriever, AnsweringRetriever):
        raise BadInput(f"{retriever.name} only finds pictures; name a system that answers, for example chatsearcher")
    biased = retriever.with_picture_bias(pictures)
    assert isinstance(biased, Speaker), "what speaks does so with any bias"
    return biased


def pictures_only(retriever: Retriever[Any]) -> Retriever[Any]:
    """The same retriever, which answers every turn with pictures; those that only do that anyway stay as they are."""
    return with_picture_bias(retriever, PICTURES_ALONE) if isinstance(retriever, AnsweringRetriever) else retriever


def replay_before_last(
    turns: Sequence[Turn], gallery: Gallery, retriever: Retriever[State]
) -> tuple[State, ResolvedTurn]:
    """The state in which these turns but the last leave a retriever, and the last; nothing was displayed between."""
    conversation, state, reads = Conversation(), retriever.begin(), reads_of(retriever)
    for turn in turns[:-1]:
        conversation = conversation.then(turn)
        state = retriever.step(state, resolve_turn(conversation, conversation.here, gallery, reads=reads))
    conversation = conversation.then(turns[-1])
    return state, resolve_turn(conversation, conversation.here, gallery, reads=reads)


def replay_turns(turns: Sequence[Turn], gallery: Gallery, retriever: Retriever[State]) -> State:
    """The state in which these turns leave a retriever."""
    return retriever.step(*replay_before_last(turns, gallery, retriever))


def reply_to_last(turns: Sequence[Turn], gallery: Gallery, speaker: Speaker[Any]) -> str:
    """What it answers to the last of these turns."""
    return "".join(speaker.reply(replay_turns(turns, gallery, speaker))).strip()
