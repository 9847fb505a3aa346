"""Answers of retrievers that speak: how much they lean to pictures in a talk, and what they answer in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from viewfinder.retrievers import AnsweringRetriever, Retriever
from viewfinder.server.schemas.sessions import MOST_LEANING, Answered
from viewfinder.server.talks.live import OpenSessions
from viewfinder.session import Session


def session_picture_bias(
    retriever: Retriever[Any], given: float | None, *, pictures_alone: bool = False
) -> float | None:
    """The leaning that a session is to have; None: the retriever's own, or it does not speak.

    `given` is as it goes over the wire, where the farthest in either direction is infinity.
    """
    if not isinstance(retriever, AnsweringRetriever):
        return None
    if pictures_alone:
        return math.inf
    return given if given is None or abs(given) < MOST_LEANING else math.copysign(math.inf, given)


def own_picture_bias(retriever: Retriever[Any]) -> float | None:
    """How much a retriever leans to pictures by itself, as it goes over the wire; None: it does not speak."""
    if not isinstance(retriever, AnsweringRetriever):
        return None
    return max(-MOST_LEANING, min(retriever.leaning, MOST_LEANING))


def describe_answer(session: Session, number: int, text: str | None) -> Answered | None:
    """What a turn is answered with; `text`: what was written, as far as that is known."""
    kind = session.answered_at(number)
    return None if kind is None else Answered(kind=kind, text=text if kind == "words" else None)


def stream_reply(talks: OpenSessions, id: str, number: int, session: Session, pieces: Iterator[str]) -> Iterator[str]:
    """The pieces of a reply as they come; the whole of it is noted with the talk, if it is still open as it was."""
    text = ""
    for piece in pieces:
        text += piece
        yield piece
    with talks.held(id) as live:
        if live.session is session:
            live.replies[number] = text
