"""ChatIR as a retriever: a turn adds what was asked and answered, and the whole talk is one vector.

Numpy only where sentence vectors are read. A turn that is no description and no answer goes through the adapters of
`blocks.spoken`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float32

from viewfinder.conversation import Answer, PictureId, Reject
from viewfinder.errors import EncoderMismatch
from viewfinder.retrievers.base import Part, Query, RawPictures, RegionSpace, ResolvedTurn, SentenceEncoder
from viewfinder.retrievers.chatir.reading import DialoguePart, build_reader
from viewfinder.retrievers.chatir.settings import ModelSettings
from viewfinder.retrievers.chatir.texts import PROBE, RoundText, informative_rounds, negated_round
from viewfinder.retrievers.shared.boxed import load_system_weights
from viewfinder.retrievers.shared.forward import Arrays, numpy_project_regions
from viewfinder.retrievers.shared.spoken import VerbalizedTurn, verbalize_turn
from viewfinder.training.presets import build_settings
from viewfinder.training.weights import Weights

SYSTEM = "chatir"
SHIPPED = Path(__file__).with_name("lab.safetensors")

SAME = 0.999
"""Likeness of two spaces' vectors of `PROBE` from which on the spaces are one: processors round differently."""


@dataclass(frozen=True, eq=False)
class Turned:
    """A turn that said something: what, and the vector of the whole talk after it."""

    turn: int
    label: str
    vector_d: Float32[np.ndarray, " d"]


@dataclass(frozen=True, eq=False)
class ChatirState:
    """What was first said unasked, the rounds, and the turns that said something."""

    caption: DialoguePart | None = None
    rounds: tuple[DialoguePart, ...] = ()
    turns: tuple[Turned, ...] = ()
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()


class Chatir:
    """A trained dialogue encoder at work.

    `fingerprint` changes with every number of the weights.
    """

    name: ClassVar[str] = SYSTEM
    needs: ClassVar[tuple[str, ...]] = ("global",)

    def __init__(self, weights: Weights) -> None:
        card = weights.card
        self.settings = build_settings(ModelSettings, card.settings["model"])
        self.fingerprint = weights.fingerprint
        self.encoder = card.encoder
        self._probe_d = weights.arrays.get("shared_probe")
        self._reader = build_reader(weights, self.settings)
        self._sharpness = contrastive_sharpness(weights)
        self._kind: Literal["words", "regions"] = "words"
        self.space: Literal["global"] | RegionSpace = "global"
        if self.settings.image != "shared":
            self._kind = "regions"
            self.space = RegionSpace(
                name=f"{SYSTEM}-{weights.fingerprint}",
                raw_version=card.encoder,
                project=partial(_projected, picture_arrays(weights.arrays)),
                regions=1,
                width=self.settings.image_width,
                temperature=1.0,
                reads_regions=False,
                has_whole=True,
            )

    def begin(self) -> ChatirState:
        """Nothing said."""
        return ChatirState()

    def step(self, state: ChatirState, turn: ResolvedTurn) -> ChatirState:
        """The state with what the turn says; only that is encoded.

        Raises:
            EncoderMismatch: the session's vectors are not those that the weights were trained on.
        """
        self._check_space(state, turn)
        heard, pieces = parse_turn(turn)
        state = replace(state, excluded=heard.after(state.excluded), adapters=(*state.adapters, *heard.adapters))
        caption, rounds = state.caption, state.rounds
        for said in pieces:
            state = self._with(state, said, turn.sentences)
        if state.caption is caption and state.rounds is rounds:
            return state
        vector_d = self._reader.vector(state.caption, state.rounds)
        return replace(state, turns=(*state.turns, Turned(turn.number, "; ".join(map(str, pieces)), vector_d)))

    def query(self, state: ChatirState) -> Query:
        """A part a turn: by how much it moved the vector of the talk, so that all parts add up to that vector.

        Of one vector a picture, a score is the mean of the parts' dot products; hence the factor.
        """
        vectors = [turned.vector_d for turned in state.turns]
        before = [np.zeros_like(vector_d) for vector_d in vectors[:1]] + vectors[:-1]
        moved = [len(vectors) * (after_d - before_d) for after_d, before_d in zip(vectors, before, strict=True)]
        return Query(
            tuple(Part(self._kind, on.turn, on.label, 1.0, x_d) for on, x_d in zip(state.turns, moved, strict=True)),
            self.space,
            "dot" if self.space == "global" else "late_interaction",
            state.excluded,
            state.adapters,
            self._sharpness,
        )

    # -- inside

    def _with(self, state: ChatirState, said: RoundText, sentences: SentenceEncoder | None) -> ChatirState:
        """The state with one more piece: what is first said unasked is the caption."""
        if state.caption is None and not said.question:
            return replace(state, caption=self._reader.piece(said, "caption", sentences))
        if not self.settings.rounds:
            line = f'drop: these weights read the caption only, not "{said}"'
            return replace(state, adapters=(*state.adapters, line))
        return replace(state, rounds=(*state.rounds, self._reader.piece(said, "round", sentences)))

    def _check_space(self, state: ChatirState, turn: ResolvedTurn) -> None:
        """Where the encoder's own space is looked in: that it is the one of the training; once a talk."""
        if self._probe_d is None or state.turns:
            return
        found_d = turn.words([PROBE])[0]
        if found_d.shape != self._probe_d.shape or found_d @ self._probe_d < SAME:
            raise EncoderMismatch(
                f"{SYSTEM}: these weights look for pictures in the space of {self.encoder!r}, and this library has "
                "another one (another encoder, or a head of its own): train with image 'whitened', or without that head"
            )


def parse_turn(turn: ResolvedTurn) -> tuple[VerbalizedTurn, tuple[RoundText, ...]]:
    """A turn through the adapters, and as pieces: an answer with its question, anything else as what was said.

    An answer that tells nothing is no piece, so it changes nothing. What is not wanted is a question answered by no:
    that is how dialogues speak of what is not there.
    """
    heard = verbalize_turn(turn)
    match turn.turn:
        case Answer(question, text):
            return heard, informative_rounds([(question.text, text)] * bool(heard.sentences))
        case Reject():
            pieces = tuple(map(negated_round, heard.sentences))
            return replace(heard, adapters=_renamed(heard.adapters, heard.sentences, pieces)), pieces
        case _:
            return heard, tuple(RoundText("", sentence) for sentence in heard.sentences)


def _renamed(lines: tuple[str, ...], sentences: tuple[str, ...], pieces: tuple[RoundText, ...]) -> tuple[str, ...]:
    """What adapters told, with the pieces in place of the sentences."""
    for sentence, piece in zip(sentences, pieces, strict=True):
        lines = tuple(line.replace(f'"{sentence}"', f'"{piece}"') for line in lines)
    return lines


def picture_arrays(arrays: Arrays) -> Arrays:
    """The arrays that pictures are seen by: principal components are a linear map too."""
    if "components" not in arrays:
        return arrays
    components_gd = arrays["components"]
    return {
        **arrays,
        "project.weight": np.ascontiguousarray(components_gd.T),
        "project.bias": np.zeros(components_gd.shape[1], np.float32),
    }


def _projected(arrays: Arrays, raw: RawPictures) -> Float32[np.ndarray, "n 1 d"]:
    return numpy_project_regions(arrays, "project", raw.whole_ng[:, None], scaled_by="whole")


def contrastive_sharpness(weights: Weights) -> float:
    """What the contrastive loss multiplied scores by; what is usual where another loss was minimised."""
    loss = weights.card.settings.get("loss", {})
    if loss.get("kind") != "contrastive":
        return Query(()).sharpness
    return min(math.exp(float(weights.arrays["log_scale"])), float(loss["most_scale"]))


def load(checkpoint: Path | None = None) -> Chatir:
    """The retriever with these weights; None: those in the box.

    Raises:
        BadInput: as `weights_of`.
    """
    return Chatir(load_system_weights(SYSTEM, checkpoint, SHIPPED))
