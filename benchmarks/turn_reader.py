"""The turn network of the package as a system by itself, for benchmarks that score or lead dialogues with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from viewfinder.query import Query, Reads, ResolvedTurn
from viewfinder.retrievers.composer import Composer, ComposerState
from viewfinder.retrievers.one.turn_network import Tokens, TurnNetwork, list_tokens
from viewfinder.search.scores import SAME_SCORES


@dataclass(frozen=True, eq=False)
class Hearing:
    """The composer's state, and what the network makes of the last turn."""

    composer: ComposerState
    heard: Query | None = None
    picks: tuple[Tokens, ...] = ()


class TurnReader:
    """What the network of the package makes of every turn; of those that it does not read it says nothing."""

    name, trained_on = "turns", None
    reads = Reads()

    def __init__(self, network: TurnNetwork) -> None:
        self._network, self._composer = network, Composer()

    @property
    def fingerprint(self) -> bytes:
        """All its numbers."""
        return b"".join(self._network.arrays[name].tobytes() for name in sorted(self._network.arrays))

    def begin(self) -> Hearing:
        """Nothing said."""
        return Hearing(self._composer.begin())

    def step(self, state: Hearing, turn: ResolvedTurn) -> Hearing:
        """The state with a turn heard."""
        composer = self._composer.step(state.composer, turn)
        composed = self._composer.query(composer)
        tokens = list_tokens(turn, composed, state.picks)
        if not tokens:
            return Hearing(composer, picks=state.picks)
        picks = (*state.picks, tokens)
        return Hearing(composer, self._network.hear(picks, composed, turn.number), picks)

    def query(self, state: Hearing) -> Query:
        """The query of its opinion; one without parts: it has none."""
        return Query(()) if state.heard is None else state.heard


def deviate(scores_qn: Float32[np.ndarray, "q n"]) -> Float32[np.ndarray, "q n"]:
    """Scores in deviations from their mean, as the search has them; 0 where all are alike."""
    deviation_q1 = scores_qn.std(axis=1, keepdims=True)
    unit_q1 = np.where(deviation_q1 > SAME_SCORES, deviation_q1, np.inf)
    return np.asarray((scores_qn - scores_qn.mean(axis=1, keepdims=True)) / unit_q1, np.float32)
