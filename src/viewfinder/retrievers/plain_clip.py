"""Plain CLIP as a retriever: the rows CLIP-t, CLIP-i and CLIP-ti of the ChatSearch paper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from viewfinder.conversation import Answer, Keep, Like, Reject, Show
from viewfinder.query import Part, Query, Reads, ResolvedTurn, Words
from viewfinder.wording.replies import is_dont_know


@dataclass(frozen=True, eq=False)
class PlainState:
    """All the words so far, and the last picture: what plain CLIP can use of a dialogue."""

    said: tuple[tuple[int, str], ...] = ()
    words: Words | None = None
    last_picture: tuple[int, Float[np.ndarray, " d"]] | None = None
    adapters: tuple[str, ...] = ()


class PlainClip:
    """The rows CLIP-t, CLIP-i and CLIP-ti of the ChatSearch paper (Table 2), on any encoder of words and pictures.

    CLIP-t encodes the text of the whole dialogue at once, CLIP-i the last picture; CLIP-ti is the mean of both unit
    vectors (the paper leaves the weights open). Turns that are neither text nor picture are dropped and reported.
    With `first`, only the first words are read, as in ChatIR's baseline on the caption.
    """

    reads: ClassVar[Reads] = Reads(words=False)
    trained_on: ClassVar[None] = None  # nothing here was trained

    def __init__(self, name: str, *, text: bool, image: bool, first: bool = False) -> None:
        self.name = name
        self._text, self._image, self._first = text, image, first

    def begin(self) -> PlainState:
        """Nothing said, no picture."""
        return PlainState()

    def step(self, state: PlainState, turn: ResolvedTurn) -> PlainState:
        """The dialogue with this turn's words appended and its picture, if it has one, as the last."""
        text, dropped = turn.text, []
        match turn.turn:  # words as they were said: no values for "but ..."; an open question comes before its answer
            case Reject() | Keep():
                text, dropped = "", [type(turn.turn).__name__.lower()]
            case Like(text=said) | Show(text=said):
                text = said
            case Answer(_, said) if is_dont_know(said):
                text = ""
            case Answer(question, said) if question.attribute is None:
                text = f"{question.text} {said}".strip()
        if text and self._first and state.said:
            dropped.append("what is said after the first")
        elif text and self._text:
            state = replace(state, said=(*state.said, (turn.number, text)), words=turn.words)
        elif text:
            dropped.append("words")
        if turn.pictures and not isinstance(turn.turn, Reject | Keep):
            if self._image:
                state = replace(state, last_picture=(turn.number, turn.pictures[-1].vectors["global"]))
            else:
                dropped.append("pictures")
        lines = (f"drop: {self.name} has no use for {what}" for what in dropped)
        return replace(state, adapters=(*state.adapters, *lines))

    def query(self, state: PlainState) -> Query:
        """One part for the text and one for the picture, if this row uses them and they are there."""
        parts = []
        if state.said and state.words is not None:
            text, number = ", ".join(said for _, said in state.said), state.said[-1][0]
            parts.append(Part("words", number, text, 1.0, state.words([text])[0], holds=state.said))
        if state.last_picture is not None:
            parts.append(Part("picture", state.last_picture[0], "this picture", 1.0, state.last_picture[1]))
        return Query(tuple(parts), adapters=state.adapters)
