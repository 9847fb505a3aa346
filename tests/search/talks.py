"""Conversations of every kind over 4,000 pictures of colours, which tests of an index hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Answer, Like, Question, Reject, Say, Turn
from viewfinder.retrievers import Composer
from viewfinder.search.gallery import Gallery
from viewfinder.session.session import Session


def session(over: Gallery, where: Mapping[str, str] | None = None, n: int = 10) -> Session:
    return Session(over, Composer(), None, n=n, where=where, memo=ByteCache())


WHICH_TOP = Question("Which top is it?", ("red", "blue", "green", "don't know"), attribute="top")
RED_OVER_BLUE = [Say("red over blue")]
TALKS: list[tuple[Sequence[Turn], Mapping[str, str] | None]] = [
    (RED_OVER_BLUE, None),
    ([Say("green"), Say("green over white")], None),
    ([*RED_OVER_BLUE, Reject(("00003", "03999"), "without green")], None),
    ([Say("yellow"), Like("00007")], None),
    ([Say("yellow"), Like("00007", "green")], None),
    ([Say("white"), Answer(WHICH_TOP, "blue")], None),
    (RED_OVER_BLUE, {"top": "red"}),
    (RED_OVER_BLUE, {"top": "red|blue|green|white"}),
]
