"""Relevance feedback after Rocchio (1971): towards what was said and picked, away from what was rejected.

query = ALPHA * mean(words) + BETA * mean(picked) - GAMMA * mean(rejected), with the weights that textbooks give
(Manning, Raghavan and Schuetze, Introduction to Information Retrieval, section 9.1.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from viewfinder.conversation import Answer, Reject
from viewfinder.query import Part, Query, Reads, ResolvedTurn
from viewfinder.wording.replies import is_dont_know

ALPHA, BETA, GAMMA = 1.0, 0.75, 0.15


@dataclass(frozen=True)
class Feedback:
    """What was said, picked and rejected so far; every part counts alike within its kind."""

    said: tuple[Part, ...] = ()
    picked: tuple[Part, ...] = ()
    rejected: tuple[Part, ...] = ()
    excluded: frozenset[str] = frozenset()


class Rocchio:
    """The retriever: no training, no state but the parts so far."""

    name = "rocchio"
    reads = Reads(words=False)

    def begin(self) -> Feedback:
        """Nothing yet."""
        return Feedback()

    def step(self, state: Feedback, turn: ResolvedTurn) -> Feedback:
        """The feedback with this turn's words and pictures in it."""
        if isinstance(turn.turn, Answer) and is_dont_know(turn.turn.text):
            return state
        words = (_say(turn),) if turn.text else ()
        if isinstance(turn.turn, Reject):  # of nothing in particular: of all that was shown
            pictures = turn.pictures or (() if turn.text else tuple(turn.shown))
            gone = {picture.id for picture in pictures if picture.id is not None}
            rejected = (*state.rejected, *_look(turn, pictures), *words)
            return replace(state, rejected=rejected, excluded=state.excluded | gone)
        picked = (*state.picked, *_look(turn, turn.pictures))
        return replace(state, said=(*state.said, *words), picked=picked)

    def query(self, state: Feedback) -> Query:
        """Rocchio's sum: each mean is shared out among its parts, so that `Hit.why` can tell them apart."""
        means = ((ALPHA, state.said), (BETA, state.picked), (-GAMMA, state.rejected))
        parts = [replace(part, weight=weight / len(some)) for weight, some in means for part in some]
        return Query(tuple(parts), excluded=state.excluded)


def _say(turn: ResolvedTurn) -> Part:
    return Part("words", turn.number, turn.text, 1.0, turn.words([turn.text])[0])


def _look(turn: ResolvedTurn, pictures: tuple) -> list[Part]:
    return [Part("picture", turn.number, "this picture", 1.0, picture.vectors["global"]) for picture in pictures]
