"""The Combiner as a retriever: a picture and words become one vector of the encoder's shared space, turn by turn.

Numpy only. Words without a picture, or a picture without words, are looked for as they are, as both lie in that space.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from jaxtyping import Float32

from viewfinder.conversation import PictureId
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.retrievers.base import Operation, Part, Query, ResolvedTurn
from viewfinder.retrievers.combiner import forward
from viewfinder.retrievers.combiner.forward import Row
from viewfinder.retrievers.combiner.reading import ParsedTurn, parse_turn
from viewfinder.retrievers.combiner.settings import ModelSettings
from viewfinder.retrievers.combiner.texts import PROBE, mean_text_vector, split_modification
from viewfinder.training.presets import read_card_settings
from viewfinder.training.weights import Weights, check_card, read_weights

SYSTEM = "combiner"

SAME = 0.999
"""Likeness of two spaces' vectors of `PROBE` from which on the spaces are one: processors round differently."""


@dataclass(frozen=True, eq=False)
class CombinerState:
    """What is carried of a talk: the memory, the turns that were about a picture, and the last query with its turn."""

    memory_d: Float32[np.ndarray, " d"]
    pictured: tuple[int, ...] = ()
    query: Part | None = None
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()
    operations: tuple[Operation, ...] = ()


class Combiner:
    """A trained Combiner at work.

    `fingerprint` changes with every number of the weights; `encoder` names the shared space that they are of.
    """

    name: ClassVar[str] = SYSTEM
    needs: ClassVar[tuple[str, ...]] = ("global",)

    def __init__(self, weights: Weights) -> None:
        card = weights.card
        self.settings = read_card_settings(ModelSettings, card)
        self.fingerprint = weights.fingerprint
        self.encoder = card.encoder
        self._arrays = weights.arrays
        self._sharpness = float(card.settings["scale"])
        self._exclude_shown = bool(card.settings["exclude_shown"])

    def begin(self) -> CombinerState:
        """Nothing said."""
        return CombinerState(forward.numpy_begin(self._arrays))

    def step(self, state: CombinerState, turn: ResolvedTurn) -> CombinerState:
        """The state after one more turn.

        Raises:
            EncoderMismatch: the session's vectors are not those of the space that the weights were trained in.
        """
        self._check_space(state, turn)
        replaces = self.settings.rollback == "replace"
        heard = parse_turn(turn, state.pictured, replaces=replaces, exclude_shown=self._exclude_shown)
        state = replace(
            state,
            pictured=(*state.pictured, turn.number) if heard.names_picture else state.pictured,
            excluded=heard.ruled.after(state.excluded),
            adapters=(*state.adapters, *heard.adapters),
            operations=heard.operations,
        )
        return self._looking_for(state, turn, heard) if heard.text or heard.picture is not None else state

    def query(self, state: CombinerState) -> Query:
        """One part: what the last turn that said something came to."""
        parts = () if state.query is None else (state.query,)
        trained = all(part.kind == "picture" for part in parts)
        return Query(
            parts,
            excluded=state.excluded,
            adapters=state.adapters,
            sharpness=self._sharpness if trained else Query(()).sharpness,
            operations=state.operations,
        )

    # -- inside

    def _looking_for(self, state: CombinerState, turn: ResolvedTurn, heard: ParsedTurn) -> CombinerState:
        """The state with the query of a turn that says something."""
        told: tuple[str, ...] = ()
        picture_d = None if heard.picture is None else np.asarray(heard.picture.vectors["global"], np.float32)
        if picture_d is None and state.query is not None:
            picture_d = state.query.vector_d
            told = (f'picture: "{heard.text}" is taken as said of what was looked for before, as none was picked',)
        query_d = self._combined(state, turn, heard.text, picture_d)
        alone = picture_d is None
        part = Part(
            "words" if alone else "picture", turn.number, heard.text or "this picture", 1.0, query_d, centred=alone
        )
        memory_d = forward.numpy_update_memory(self._arrays, self.settings, state.memory_d, query_d)
        return replace(state, memory_d=memory_d, query=part, adapters=(*state.adapters, *told))

    def _combined(self, state: CombinerState, turn: ResolvedTurn, text: str, picture_d: Row | None) -> Row:
        """The query of words and a picture, or of one of them as it is."""
        if picture_d is not None and not text:
            return picture_d
        text_d = mean_text_vector(turn.words(split_modification(text, self.settings.texts)))
        if picture_d is None:
            return text_d
        return forward.numpy_combine(self._arrays, self.settings, state.memory_d, text_d, picture_d)

    def _check_space(self, state: CombinerState, turn: ResolvedTurn) -> None:
        """That the shared space is the one of the training; once a talk."""
        if state.query is not None:
            return
        found_d, probe_d = turn.words([PROBE])[0], self._arrays["probe"]
        if found_d.shape != probe_d.shape or found_d @ probe_d < SAME:
            raise EncoderMismatch(
                f"{SYSTEM}: these weights look for pictures in the space of {self.encoder!r}, and this library has "
                "another one (another encoder, or a head of its own): train again with it, or use one without that head"
            )


def load(checkpoint: Path | None = None) -> Combiner:
    """The retriever with these weights.

    Raises:
        BadInput: none are given; or no such file, or it is damaged or of another system.
    """
    if checkpoint is None:
        raise BadInput(
            f"{SYSTEM}: none is in the box; train one (`viewfinder train {SYSTEM}`) and name its weights (--checkpoint)"
        )
    weights = read_weights(checkpoint)
    check_card(checkpoint, weights.card, system=SYSTEM)
    return Combiner(weights)
