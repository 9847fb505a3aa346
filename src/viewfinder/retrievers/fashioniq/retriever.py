"""Squared distances as dot products of unit vectors, which is what a gallery compares.

A picture g becomes [g, |g|^2 / 2, rest] / M, where M is as long as the first two can be and `rest` fills up to length
1; a query q becomes [q, -1, 0]. Their dot product is (|q|^2 - |q - g|^2) / 2M: the nearest picture has the highest.
Axes: n pictures, h numbers of a vector, u = h + 2.

A turn as the networks of Fashion IQ read it: whose picture, which words, which attributes. No torch here.

What such a network cannot take as it was given goes through an adapter, which is named: those of `blocks.spoken`, and

picture      what was said of no picture is taken as said of one

Fashion IQ as a retriever: pick a picture, say how the wanted one differs, over and over.

Numpy only; the networks are what was trained. A turn that is no feedback on a picture goes through adapters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.conversation import Like, PictureId, Show
from viewfinder.encoders.attributes import AttributePredictor
from viewfinder.retrievers.base import Part, Picture, Query, RawPictures, Reads, RegionSpace, ResolvedTurn
from viewfinder.retrievers.fashioniq import numpy_network
from viewfinder.retrievers.fashioniq.numpy_network import FeedbackVectors, numpy_pictures
from viewfinder.retrievers.fashioniq.settings import CompositionModel, FeedbackReading, RecurrentModel, TransformerModel
from viewfinder.retrievers.shared.numpy_network import Arrays, WordLookup, note_words
from viewfinder.retrievers.shared.wording import VerbalizedTurn, verbalize_turn
from viewfinder.training.presets import build_settings
from viewfinder.training.weights import Weights, load_system_weights

EXTRA_WIDTH = 2
"""Numbers that a lifted vector has more."""


@dataclass(frozen=True)
class DistanceEmbedding:
    """How vectors are lifted that are at most `longest` long."""

    longest: float

    @property
    def scale(self) -> float:
        """M."""
        return math.hypot(self.longest, self.longest**2 / 2)

    @property
    def sharpness(self) -> float:
        """What a score is multiplied by to be minus the squared distance, but for what is the same for all pictures."""
        return 2 * self.scale

    def pictures(self, vectors_nh: Float[np.ndarray, "n h"]) -> Float32[np.ndarray, "n u"]:
        """Pictures, each at length 1."""
        half_n1 = np.square(vectors_nh).sum(axis=1, keepdims=True) / 2
        short_n1 = self.scale**2 - 2 * half_n1 - half_n1**2
        rest_n1 = np.sqrt(np.maximum(short_n1, 0))  # below 0 by rounding at most
        return np.asarray(np.concatenate([vectors_nh, half_n1, rest_n1], axis=1) / self.scale, np.float32)

    def query(self, query_h: Float[np.ndarray, " h"]) -> Float32[np.ndarray, " u"]:
        """A query."""
        return np.asarray([*query_h, -1, 0], np.float32)

    def lowered(self, lifted_u: Float[np.ndarray, " u"]) -> Float32[np.ndarray, " h"]:
        """A picture's vector as it was before."""
        return np.asarray(lifted_u[:-EXTRA_WIDTH] * self.scale, np.float32)


def longest_normed_vector(alpha_h: Float[np.ndarray, " h"], bias_h: Float[np.ndarray, " h"]) -> float:
    """How long a vector can be that comes out of a `networks.transformer.Norm`.

    By the unbiased deviation a vector comes to a length of at most sqrt(h - 1), before it is scaled and moved.
    """
    scaled = float(np.abs(alpha_h).max()) * math.sqrt(max(len(alpha_h) - 1, 0))
    return scaled + float(np.linalg.norm(bias_h))


@dataclass(frozen=True, eq=False)
class FeedbackTurn:
    """What a turn says.

    Attributes:
        feedback: whether it says anything at all for the network; else it only rules pictures out, or nothing.
        text: how the wanted picture differs from `picture`, or, without one, what it is like.
        picture: the one that this is said of.
        attributes: what the user says counts of it; None: what is predicted.
        adapters: what was not taken as it was given, and what became of it; a line each.
        ruled: the pictures that are ruled out and readmitted.
    """

    feedback: bool
    text: str = ""
    picture: Picture | None = None
    attributes: tuple[str, ...] | None = None
    adapters: tuple[str, ...] = ()
    ruled: VerbalizedTurn = field(default_factory=VerbalizedTurn)


def parse_feedback(turn: ResolvedTurn, *, reads_alone: bool, exclude_shown: bool) -> FeedbackTurn:
    """A turn as feedback on a picture.

    Args:
        turn: any.
        reads_alone: whether the network can read words that are said of no picture.
        exclude_shown: whether a picture goes out once it was said how the wanted one differs.
    """
    if isinstance(turn.turn, Like | Show):
        return _picked(turn, turn.turn, exclude_shown)
    said = verbalize_turn(turn)
    text = ". ".join(said.sentences)
    if not text or reads_alone:
        return FeedbackTurn(bool(text), text, None, None, said.adapters, said)
    if not len(turn.shown):
        line = f'picture: "{text}" is taken as said of a picture that shows nothing, as none was picked or shown'
        return FeedbackTurn(True, text, None, None, (*said.adapters, line), said)
    line = f'picture: "{text}" is taken as said of result 1, as no picture was picked'
    return FeedbackTurn(True, text, turn.shown[0], None, (*said.adapters, line), said)


def _picked(turn: ResolvedTurn, picked: Like | Show, exclude_shown: bool) -> FeedbackTurn:
    """Words said of a picture; without any it may be the one, whatever ruled it out before."""
    picture, text = turn.pictures[0], " ".join(picked.text.split())
    named: frozenset[PictureId] = frozenset() if picture.id is None else frozenset({picture.id})
    excluded, readmitted = (named if exclude_shown else frozenset(), frozenset()) if text else (frozenset(), named)
    adapters: tuple[str, ...] = ()
    if isinstance(picked, Like) and picked.turn is not None:
        adapters = (f"drop: what was said after turn {picked.turn} stays, feedback cannot be taken back",)
    return FeedbackTurn(
        True, text, picture, picked.attributes, adapters, VerbalizedTurn(excluded=excluded, readmitted=readmitted)
    )


def attribute_numbers(
    given: Sequence[str], number: Mapping[str, int], most: int
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The numbers of attributes that a user names, capitals aside, and what to tell of those that are not read.

    >>> numbers_of(("Cotton", "tartan"), {"cotton": 1}, 8)
    ((1,), ('drop: no attribute is called "tartan"',))
    """
    names = list(dict.fromkeys(" ".join(name.lower().split()) for name in given))
    known = [name for name in names if name in number]
    told = note_words("drop: no attribute is called {}", [name for name in names if name not in number])
    told += note_words(f"drop: the first {most} attributes are read, not {{}}", known[most:])
    return tuple(number[name] for name in known[:most]), told


SYSTEM = "fashioniq"
SHIPPED = Path(__file__).with_name("modern.safetensors")

NETWORKS: dict[str, tuple[type[FeedbackReading], Callable[..., Any], Callable[..., Any]]] = {
    "transformer": (TransformerModel, numpy_network.numpy_begin_transformer, numpy_network.numpy_step_transformer),
    "recurrent": (RecurrentModel, numpy_network.numpy_begin_recurrent, numpy_network.numpy_step_recurrent),
    "composition": (
        CompositionModel,
        numpy_network.numpy_begin_composition,
        numpy_network.numpy_step_composition,
    ),
}
"""By kind of network: its settings, the state in which nothing was said, and what a turn makes of a state."""


@dataclass(frozen=True, eq=False)
class Turned:
    """A turn that said something: what, and the query after it, in the space in which pictures lie."""

    turn: int
    label: str
    vector_d: Float32[np.ndarray, " d"]


@dataclass(frozen=True, eq=False)
class FashionIqState:
    """What the network keeps of the talk, and the turns that said something."""

    network: Any
    turns: tuple[Turned, ...] = ()
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()


class FashionIq:
    """A trained network of Fashion IQ at work.

    `fingerprint` changes with every number of the weights; `attributes` predicts what is read of pictures besides
    their vectors, None where these weights read no attributes.
    """

    name: ClassVar[str] = SYSTEM

    def __init__(self, weights: Weights) -> None:
        card = weights.card
        kind, self._begin, self._step = NETWORKS[card.settings["model"]["kind"]]
        self.settings = build_settings(kind, card.settings["model"])
        self.fingerprint = weights.fingerprint
        self._arrays = weights.arrays
        self._words = WordLookup(weights.arrays, self.settings, card)
        self._exclude_shown = bool(card.settings["exclude_shown"])
        self._lifting = make_distance_embedding(weights.arrays, self.settings)
        self._sharpness = score_sharpness(weights, self._lifting)
        self.attributes = AttributePredictor.of(weights) if self.settings.attributes else None
        self._number = {label: at for at, label in enumerate(card.settings["labels"], start=1)}
        self.space = RegionSpace(
            name=f"{SYSTEM}-{weights.fingerprint}",
            raw_version=card.encoder,
            project=partial(_projected, weights.arrays, self.settings, self._lifting),
            regions=1,
            width=self.settings.width + (EXTRA_WIDTH if self._lifting else 0),
            temperature=1.0,
            reads_regions=False,
            has_whole=True,
        )
        self.reads = Reads(self.space, "own", words=False, predictor=self.attributes, count=self.settings.attributes)

    def begin(self) -> FashionIqState:
        """Nothing said."""
        return FashionIqState(self._begin(self._arrays, self.settings))

    def step(self, state: FashionIqState, turn: ResolvedTurn) -> FashionIqState:
        """The state after one more turn.

        Raises:
            EncoderMismatch: the session's vectors are not those that the weights were trained on.
        """
        heard = parse_feedback(turn, reads_alone=reads_words_alone(self.settings), exclude_shown=self._exclude_shown)
        told, network, turns = heard.adapters, state.network, state.turns
        if heard.feedback:
            words_ls, of_words = self._words.read(heard.text, turn.sentences)
            numbers, of_attributes = self._attributes_of(heard)
            told = (*told, *of_words, *of_attributes)
            said = FeedbackVectors(words_ls, numbers, self._seen(heard.picture))
            network, query_h = self._step(self._arrays, self.settings, network, said)
            vector_d = query_h if self._lifting is None else self._lifting.query(query_h)
            turns = (*turns, Turned(turn.number, heard.text or "this picture", vector_d))
        return FashionIqState(network, turns, heard.ruled.after(state.excluded), (*state.adapters, *told))

    def query(self, state: FashionIqState) -> Query:
        """A part a turn: by how much it moved the query, so that all parts add up to the query of the last one.

        Of one vector a picture, a score is the mean of the parts' dot products; hence the factor.
        """
        vectors = [turned.vector_d for turned in state.turns]
        before = [np.zeros_like(vector_d) for vector_d in vectors[:1]] + vectors[:-1]
        moved = [len(vectors) * (after_d - before_d) for after_d, before_d in zip(vectors, before, strict=True)]
        return Query(
            tuple(Part("regions", on.turn, on.label, 1.0, x_d) for on, x_d in zip(state.turns, moved, strict=True)),
            self.space,
            "late_interaction",
            state.excluded,
            state.adapters,
            self._sharpness,
        )

    # -- inside

    def _seen(self, picture: Picture | None) -> Float32[np.ndarray, " h"] | None:
        """What the network makes of a picture, out of its vector in the space of queries."""
        if picture is None:
            return None
        own_d = np.asarray(picture.vectors["own"][0], np.float32)
        return own_d if self._lifting is None else self._lifting.lowered(own_d)

    def _attributes_of(self, heard: FeedbackTurn) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """The numbers of the attributes that are read of the turn's picture, and what to tell of others."""
        most = self.settings.attributes
        if not most or heard.picture is None:  # what a user named then, the session tells
            return (), ()
        predicted = heard.picture.predicted[:most]
        return attribute_numbers(predicted if heard.attributes is None else heard.attributes, self._number, most)


def reads_words_alone(settings: FeedbackReading) -> bool:
    """Whether words that are said of no picture can be read as such."""
    match settings:
        case TransformerModel(padding_mask=masked):
            return masked
        case CompositionModel(modalities=read):
            return "image" not in read and "attributes" not in read
        case _:
            return True


def make_distance_embedding(arrays: Arrays, settings: FeedbackReading) -> DistanceEmbedding | None:
    """How vectors are lifted for distances; None where dot products are compared."""
    if settings.compare == "cosine":
        return None
    return DistanceEmbedding(longest_normed_vector(arrays["looks.norm.alpha"], arrays["looks.norm.bias"]))


def score_sharpness(weights: Weights, lifting: DistanceEmbedding | None) -> float:
    """What the loss multiplied scores by: of squared distances 1 where it is no contrastive one, else what is usual."""
    loss = weights.card.settings["loss"]
    scale = 1.0 if lifting is not None else Query(()).sharpness
    if loss["kind"] == "contrastive":
        scale = min(math.exp(float(weights.arrays["log_scale"])), float(loss["most_scale"]))
    return scale if lifting is None else scale * lifting.sharpness


def _projected(
    arrays: Arrays, settings: FeedbackReading, lifting: DistanceEmbedding | None, raw: RawPictures
) -> Float32[np.ndarray, "n 1 d"]:
    vectors_nh = numpy_pictures(arrays, settings, raw.whole_ng)
    return (vectors_nh if lifting is None else lifting.pictures(vectors_nh))[:, None]


def load(checkpoint: Path | None = None) -> FashionIq:
    """The retriever with these weights; None: those in the box.

    Raises:
        BadInput: as `weights_of`.
    """
    return FashionIq(load_system_weights(SYSTEM, checkpoint, SHIPPED))
