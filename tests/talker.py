"""A retriever for tests that speaks: it answers questions in words. Servers of tests have it too."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from viewfinder.conversation import Answer
from viewfinder.query import Query, Reads, ResolvedTurn
from viewfinder.retrievers import Composer


@dataclass(frozen=True)
class Heard:
    """What was said so far, and what that comes to: `now` with all of it, `shown` when pictures were shown last."""

    said: tuple[str, ...] = ()
    now: Any = None
    shown: Any = None
    shows: bool = True


@dataclass
class Talker:
    """The composer, which answers a question ("...?") in words: with what it has heard so far.

    A question speaks for words by 2, anything else for pictures by 2. What it said it hears as well, so that turns
    after it depend on its leaning. `written` counts the pieces it has written.
    """

    picture_bias: float = 0.0
    written: list[str] = field(default_factory=list)
    name: str = "talker"
    fingerprint: str = "talker-1"
    reads: Reads = Composer.reads
    composer: Composer = field(default_factory=Composer)

    def with_picture_bias(self, pictures: float) -> Talker:
        return replace(self, picture_bias=pictures)

    def begin(self) -> Heard:
        begun = self.composer.begin()
        return Heard(now=begun, shown=None)

    def step(self, state: Heard, turn: ResolvedTurn) -> Heard:
        now = self.composer.step(state.now, turn)
        asks = turn.text.endswith("?") and not isinstance(turn.turn, Answer)
        shows = self.picture_bias == math.inf or (2 if not asks else -2) + self.picture_bias >= 0
        # Before anything was shown, what would have been shown is looked for.
        return Heard((*state.said, turn.text), now, now if shows else state.shown, shows)

    def query(self, state: Heard) -> Query:
        return self.composer.query(state.now if state.shown is None else state.shown)

    def shows(self, state: Heard) -> bool:
        return state.shows

    def reply(self, state: Heard) -> Iterator[str]:
        if state.shows:
            return
        for piece in ("I have", " heard", *(f" {said!r}" for said in state.said), "."):
            self.written.append(piece)
            yield piece
