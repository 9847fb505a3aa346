"""The Combiner as a retriever: a picture and words become one vector of the encoder's shared space, turn by turn.

Numpy only: how a modification is read, `network.CombinerNetwork` in numpy, a turn as words on a picture, and the
retriever. Words without a picture, or a picture without words, are looked for as they are, as both lie in that space.

What cannot be taken as it was given goes through an adapter, which is named: those of `shared.wording`, and

picture      what was said of no picture is taken as said of one
words        what a turn does with earlier pictures is read as the words it is said in

Axes: d numbers of the shared space, p pieces of a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.conversation import Like, PictureId, Show
from viewfinder.data.fashionmt import split_modification as clauses
from viewfinder.errors import EncoderMismatch
from viewfinder.retrievers.base import Operation, Part, Picture, Query, Reads, ResolvedTurn
from viewfinder.retrievers.combiner.settings import ModelSettings
from viewfinder.retrievers.shared.back_references import find_back_reference, to_operations
from viewfinder.retrievers.shared.numpy_network import Arrays, numpy_linear, numpy_update_cell, to_unit
from viewfinder.retrievers.shared.wording import VerbalizedTurn, verbalize_turn
from viewfinder.training.presets import read_card_settings
from viewfinder.training.weights import Weights, load_system_weights

Row = Float32[np.ndarray, " d"]


def numpy_combine(arrays: Arrays, settings: ModelSettings, state_d: Row, text_d: Row, picture_d: Row) -> Row:
    """`CombinerNetwork.combine`: the query of a turn."""
    joined_j = np.concatenate([_positive(arrays, "text", text_d), _positive(arrays, "picture", picture_d)])
    if settings.memory == "gru":
        joined_j = joined_j + arrays["recall.weight"] @ state_d
    share_1 = 1 / (1 + np.exp(-numpy_linear(arrays, "share_out", _positive(arrays, "share", joined_j))))
    mixed_d = numpy_linear(arrays, "out", _positive(arrays, "mixed", joined_j))
    return np.asarray(to_unit(mixed_d + share_1 * text_d + (1 - share_1) * picture_d), np.float32)


def _positive(arrays: Arrays, name: str, rows: Float[np.ndarray, " i"]) -> Float[np.ndarray, " o"]:
    return np.asarray(np.maximum(numpy_linear(arrays, name, rows), 0))


PROBE = "a red dress with long sleeves"
"""A text whose vector tells whether two shared spaces are one."""


def modification_pieces(modification: str, how: Literal["whole", "clauses"]) -> tuple[str, ...]:
    """What an encoder reads of a modification, without the numbers of its clauses: all in one, or its lead and clauses.

    >>> modification_pieces("I prefer the FIRST, and 1. is red 2. has a 3 inch heel ", "whole")
    ('I prefer the FIRST, and is red, has a 3 inch heel',)
    >>> modification_pieces("I prefer the FIRST, and 1. is red 2. has a 3 inch heel ", "clauses")
    ('I prefer the FIRST, and', 'is red', 'has a 3 inch heel')
    """
    read = clauses(modification)
    said = tuple(part for part in (read.lead, *read.clauses) if part) or (modification.strip(),)
    if how == "clauses":
        return said
    return (" ".join(part for part in (read.lead, ", ".join(read.clauses)) if part) or said[0],)


def mean_text_vector(of_pieces_pd: Float[np.ndarray, "p d"]) -> Float32[np.ndarray, " d"]:
    """The vector of a text by those of its pieces: their mean, at length 1."""
    return np.asarray(to_unit(of_pieces_pd.mean(axis=0)), np.float32)


@dataclass(frozen=True, eq=False)
class ParsedTurn:
    """What a turn says.

    Attributes:
        text: how the wanted picture differs from `picture`, or what it is like; "" where nothing was said.
        picture: the one that this is said of, or to which the turn goes back; None: no picture is named.
        names_picture: whether the turn itself is about a picture.
        operations: what it does with earlier turns.
        adapters: what was not taken as it was given, and what became of it; a line each.
        ruled: the pictures that are ruled out and readmitted.
    """

    text: str = ""
    picture: Picture | None = None
    names_picture: bool = False
    operations: tuple[Operation, ...] = ()
    adapters: tuple[str, ...] = ()
    ruled: VerbalizedTurn = field(default_factory=VerbalizedTurn)


def parse_turn(turn: ResolvedTurn, pictured: Sequence[int], *, replaces: bool, exclude_shown: bool) -> ParsedTurn:
    """A turn as words on a picture.

    Args:
        turn: any.
        pictured: the numbers of the turns before it that were about a picture.
        replaces: whether a turn that goes back to an earlier picture is read with that one.
        exclude_shown: whether a picture goes out once it was said how the wanted one differs.
    """
    picked = turn.turn
    if isinstance(picked, Like | Show):
        picture, text = turn.pictures[0], " ".join(picked.text.split())
        named: frozenset[PictureId] = frozenset() if picture.id is None else frozenset({picture.id})
        # Without words it may be the one, whatever ruled it out before.
        excluded = named if text and exclude_shown else frozenset()
        ruled = VerbalizedTurn(excluded=excluded, readmitted=frozenset() if text else named)
        back = picked.turn if isinstance(picked, Like) else None
        operations = () if back is None else (Operation("rollback", back),)
        parsed = ParsedTurn(text, picture, True, operations, ruled=ruled)
    else:  # words without a picture; what is kept of an earlier turn is among them
        said = verbalize_turn(turn)
        parsed = ParsedTurn(". ".join(said.sentences), adapters=said.adapters, ruled=said)
    if replaces:
        parsed = _looking_back(parsed, turn, (*pictured, turn.number) if parsed.names_picture else pictured)
    return parsed


def _looking_back(heard: ParsedTurn, turn: ResolvedTurn, pictured: Sequence[int]) -> ParsedTurn:
    """What the words say of earlier pictures: a conversation that goes back is read with the picture of that turn."""
    looked = find_back_reference(heard.text) if heard.text else None
    if looked is None:
        return heard
    operations, told = to_operations(looked, pictured)
    back = next((one for one in operations if one.kind == "rollback"), None)
    kept = [one for one in operations if one.kind == "keep"]
    told += tuple(f'words: "{one.words}" of turn {one.turn} is read as words, not looked up' for one in kept)
    found: tuple[Picture, ...] = ()
    if back is not None and not heard.operations:  # where a turn was given, words do not choose another
        found = turn.earlier(back.turn)
        told += () if found else (f"drop: turn {back.turn} has no picture to go back to",)
    heard = replace(heard, adapters=(*heard.adapters, *told))
    return replace(heard, picture=found[0], operations=(back,)) if back is not None and found else heard


SYSTEM = "combiner"

SAME = 0.999
"""Likeness of two spaces' vectors of `PROBE` from which on the spaces are one: processors round differently."""


@dataclass(frozen=True, eq=False)
class CombinerState:
    """What is carried along: the memory, the turns that were about a picture, and the last query with its turn."""

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
    reads: ClassVar[Reads] = Reads()

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
        return CombinerState(np.zeros_like(self._arrays["probe"]))

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
        alone = picture_d is None
        if picture_d is not None and not heard.text:
            query_d = picture_d
        else:
            query_d = mean_text_vector(turn.words(modification_pieces(heard.text, self.settings.texts)))
            if picture_d is not None:
                query_d = numpy_combine(self._arrays, self.settings, state.memory_d, query_d, picture_d)
        part = Part(
            "words" if alone else "picture", turn.number, heard.text or "this picture", 1.0, query_d, centred=alone
        )
        memory_d = state.memory_d
        if self.settings.memory == "gru":
            memory_d = np.asarray(numpy_update_cell(self._arrays, "update", query_d, memory_d), np.float32)
        return replace(state, memory_d=memory_d, query=part, adapters=(*state.adapters, *told))

    def _check_space(self, state: CombinerState, turn: ResolvedTurn) -> None:
        """That the shared space is the one of the training; once a conversation."""
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
    return Combiner(load_system_weights(SYSTEM, checkpoint))
