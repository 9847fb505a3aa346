"""The Combiner as a retriever: a picture and words become one vector of the encoder's shared space, turn by turn.

Numpy only: how a modification is read, `network.CombinerNetwork` in numpy, a turn as words on a picture, and the
retriever. Words without a picture, or a picture without words, are the query as they are: both lie in that space.

What cannot be taken as given goes through a named adapter: those of `shared.verbalize`, and

picture      words said of no picture are taken as said of one
words        what a turn does with earlier pictures is read as the words that say it

Axes: d width of the shared space, p pieces of a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.conversation import PictureId
from viewfinder.encoders.base import unit_rows
from viewfinder.query import Operation, Part, Picture, Query, Reads, ResolvedTurn
from viewfinder.retrievers.combiner.settings import CombinerSettings
from viewfinder.retrievers.shared.numpy_network import (
    Arrays,
    check_shared_space,
    numpy_linear,
    numpy_sigmoid,
    numpy_update_cell,
)
from viewfinder.retrievers.shared.verbalize import PictureTurn, read_picture_turn
from viewfinder.training.presets import read_card_settings
from viewfinder.weights import Weights, load_system_weights
from viewfinder.wording.back_references import find_back_reference, to_operations
from viewfinder.wording.modifications import split_modification

Row = Float32[np.ndarray, " d"]


def numpy_combine(arrays: Arrays, settings: CombinerSettings, state_d: Row, text_d: Row, picture_d: Row) -> Row:
    """`CombinerNetwork.combine`: the query of a turn."""
    joined_j = np.concatenate([_map_positive(arrays, "text", text_d), _map_positive(arrays, "picture", picture_d)])
    if settings.memory == "gru":
        joined_j = joined_j + arrays["recall.weight"] @ state_d
    share_1 = numpy_sigmoid(numpy_linear(arrays, "share_out", _map_positive(arrays, "share", joined_j)))
    mixed_d = numpy_linear(arrays, "out", _map_positive(arrays, "mixed", joined_j))
    return np.asarray(unit_rows(mixed_d + share_1 * text_d + (1 - share_1) * picture_d), np.float32)


def _map_positive(arrays: Arrays, name: str, rows: Float[np.ndarray, " i"]) -> Float[np.ndarray, " o"]:
    return np.asarray(np.maximum(numpy_linear(arrays, name, rows), 0))


PROBE = "a red dress with long sleeves"
"""A text whose vector tells whether two shared spaces are the same."""


def modification_pieces(modification: str, how: Literal["whole", "clauses"]) -> tuple[str, ...]:
    """The pieces of a modification that an encoder reads, without clause numbers: one text, or its lead and clauses.

    >>> modification_pieces("I prefer the FIRST, and 1. is red 2. has a 3 inch heel ", "whole")
    ('I prefer the FIRST, and is red, has a 3 inch heel',)
    >>> modification_pieces("I prefer the FIRST, and 1. is red 2. has a 3 inch heel ", "clauses")
    ('I prefer the FIRST, and', 'is red', 'has a 3 inch heel')
    """
    read = split_modification(modification)
    said = tuple(part for part in (read.lead, *read.clauses) if part) or (modification.strip(),)
    if how == "clauses":
        return said
    return (" ".join(part for part in (read.lead, ", ".join(read.clauses)) if part) or said[0],)


def mean_text_vector(of_pieces_pd: Float[np.ndarray, "p d"]) -> Float32[np.ndarray, " d"]:
    """The vector of a text from those of its pieces: their mean, at length 1."""
    return np.asarray(unit_rows(of_pieces_pd.mean(axis=0)), np.float32)


def look_back(said: PictureTurn, turn: ResolvedTurn, pictured: Sequence[int]) -> PictureTurn:
    """A turn with its back references resolved: one that goes back is read with the picture of that earlier turn.

    `pictured`: the numbers of the turns that were about a picture, including this one.
    """
    looked = find_back_reference(said.text) if said.text else None
    if looked is None:
        return said
    operations, notes = to_operations(looked, pictured)
    back = next((one for one in operations if one.kind == "rollback"), None)
    kept = [one for one in operations if one.kind == "keep"]
    notes += tuple(f'words: "{one.words}" of turn {one.turn} is read as words, not looked up' for one in kept)
    found: tuple[Picture, ...] = ()
    if back is not None and not said.operations:  # if a turn was given, words do not choose another
        found = turn.earlier(back.turn)
        notes += () if found else (f"drop: turn {back.turn} has no picture to go back to",)
    said = replace(said, adapters=(*said.adapters, *notes))
    return replace(said, picture=found[0], operations=(back,)) if back is not None and found else said


SYSTEM = "combiner"


@dataclass(frozen=True, eq=False)
class CombinerState:
    """The state between turns: the memory, the turns about a picture, and the last query with its turn."""

    memory_d: Float32[np.ndarray, " d"]
    pictured: tuple[int, ...] = ()
    query: Part | None = None
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()
    operations: tuple[Operation, ...] = ()


class Combiner:
    """A trained Combiner at work.

    `fingerprint` changes with every number of the weights; `encoder` names their shared space.
    """

    name: ClassVar[str] = SYSTEM
    looks_back: ClassVar[bool] = True  # "the first" is a picture of an earlier turn
    reads: ClassVar[Reads] = Reads()

    def __init__(self, weights: Weights) -> None:
        card, self.trained_on = weights.card, weights.card.trained_on
        self.settings = read_card_settings(CombinerSettings, card)
        self.fingerprint = weights.fingerprint
        self.encoder = card.encoder
        self._arrays = weights.arrays
        self._sharpness = float(card.settings["scale"])
        self._exclude_shown = bool(card.settings["exclude_shown"])

    def begin(self) -> CombinerState:
        """Nothing said."""
        return CombinerState(np.zeros_like(self._arrays["probe"]))

    def step(self, state: CombinerState, turn: ResolvedTurn) -> CombinerState:
        """The state after one more turn. Raises as `Retriever.step`."""
        if state.query is None:
            found_d, way_out = turn.words([PROBE])[0], "train again with it, or use one without that head"
            check_shared_space(SYSTEM, self.encoder, found_d, self._arrays["probe"], way_out)
        said = read_picture_turn(turn, exclude_shown=self._exclude_shown)
        pictured = (*state.pictured, turn.number) if said.names_picture else state.pictured
        if self.settings.rollback == "replace":
            said = look_back(said, turn, pictured)
        state = replace(
            state,
            pictured=pictured,
            excluded=said.ruled.after(state.excluded),
            adapters=(*state.adapters, *said.adapters),
            operations=said.operations,
        )
        return self._update_query(state, turn, said) if said.text or said.picture is not None else state

    def query(self, state: CombinerState) -> Query:
        """One part: the query of the last turn that said something."""
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

    def _update_query(self, state: CombinerState, turn: ResolvedTurn, said: PictureTurn) -> CombinerState:
        """The state with the query of a turn that says something."""
        adapters = state.adapters
        picture_d = None if said.picture is None else np.asarray(said.picture.vectors["global"], np.float32)
        if picture_d is None and state.query is not None:
            picture_d = state.query.vector_d
            line = f'picture: "{said.text}" is taken as said of what was looked for before, as none was picked'
            adapters = (*adapters, line)
        alone = picture_d is None
        if picture_d is not None and not said.text:
            query_d = picture_d
        else:
            query_d = mean_text_vector(turn.words(modification_pieces(said.text, self.settings.texts)))
            if picture_d is not None:
                query_d = numpy_combine(self._arrays, self.settings, state.memory_d, query_d, picture_d)
        label = said.text or "this picture"
        part = Part("words" if alone else "picture", turn.number, label, 1.0, query_d, centred=alone)
        memory_d = state.memory_d
        if self.settings.memory == "gru":
            memory_d = numpy_update_cell(self._arrays, "update", query_d, memory_d)
        return replace(state, memory_d=memory_d, query=part, adapters=adapters)


def load(checkpoint: Path | None = None) -> Combiner:
    """The retriever with these weights; there are none of its own. Raises BadInput: as `load_system_weights`."""
    return Combiner(load_system_weights(SYSTEM, checkpoint))
