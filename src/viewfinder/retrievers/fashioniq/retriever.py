"""Fashion IQ as a retriever: pick a picture, say how the wanted one differs, over and over.

Numpy only; the networks are what was trained. A turn that is no feedback on a picture goes through adapters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float32

from viewfinder.conversation import PictureId
from viewfinder.encoders.attributes import AttributePredictor
from viewfinder.retrievers.base import Part, Picture, Query, RawPictures, RegionSpace, ResolvedTurn
from viewfinder.retrievers.fashioniq import composition_forward, forward, recurrent_forward
from viewfinder.retrievers.fashioniq.distance import EXTRA_WIDTH, DistanceEmbedding, longest_normed_vector
from viewfinder.retrievers.fashioniq.forward import FeedbackVectors, numpy_pictures
from viewfinder.retrievers.fashioniq.reading import FeedbackTurn, attribute_numbers, parse_feedback
from viewfinder.retrievers.fashioniq.settings import (
    CompositionModel,
    FeedbackReading,
    RecurrentModel,
    TransformerModel,
)
from viewfinder.retrievers.shared.numpy_network import Arrays, WordLookup
from viewfinder.training.presets import build_settings
from viewfinder.training.weights import Weights, load_system_weights

SYSTEM = "fashioniq"
SHIPPED = Path(__file__).with_name("modern.safetensors")

NETWORKS: dict[str, tuple[type[FeedbackReading], Callable[..., Any], Callable[..., Any]]] = {
    "transformer": (TransformerModel, forward.numpy_begin_transformer, forward.numpy_step_transformer),
    "recurrent": (RecurrentModel, recurrent_forward.numpy_begin_recurrent, recurrent_forward.numpy_step_recurrent),
    "composition": (
        CompositionModel,
        composition_forward.numpy_begin_composition,
        composition_forward.numpy_step_composition,
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

    @property
    def needs(self) -> tuple[str, ...]:
        """Its own vectors of pictures, and their attributes where it reads them."""
        return ("own", "attributes") if self.attributes is not None else ("own",)

    @property
    def most_attributes(self) -> int:
        """How many attributes of a picture it reads."""
        return self.settings.attributes

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
