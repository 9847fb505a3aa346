"""Fashion IQ as a retriever: pick a picture, say how the wanted one differs, over and over.

Numpy only; `network` is what was trained. What cannot be read as given goes through a named adapter: those of
`shared.verbalize`, and

picture      words said of no picture are taken as said of one
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.conversation import Like, PictureId, Show
from viewfinder.data.fashion_iq import tokenize_captions
from viewfinder.encoders.tags import AttributePredictor
from viewfinder.query import Query, RawPictures, Reads, RegionSpace, ResolvedTurn
from viewfinder.retrievers.fashioniq.numpy_network import NUMPY_NETWORKS, FeedbackVectors, numpy_pictures
from viewfinder.retrievers.fashioniq.settings import (
    MAX_SCALE,
    CompositionModel,
    FeedbackReading,
    LossSettings,
    TransformerModel,
)
from viewfinder.retrievers.shared.numpy_network import WordLookup, note_words, split_words
from viewfinder.retrievers.shared.turn_parts import TurnVector, turn_parts
from viewfinder.retrievers.shared.verbalize import PictureTurn, read_picture_turn
from viewfinder.training.presets import read_card_settings
from viewfinder.weights import Weights, load_system_weights

EXTRA_WIDTH = 2
"""How many dimensions the embedding adds."""


@dataclass(frozen=True)
class DistanceEmbedding:
    """Squared distances as dot products of unit vectors, which is what a gallery compares.

    A picture g becomes [g, |g|^2 / 2, rest] / M, where M is the greatest length of the first two and `rest` fills up
    to length 1; a query q becomes [q, -1, 0]. Their dot product is (|q|^2 - |q - g|^2) / 2M: it is highest for the
    nearest picture. No picture is longer than `longest`. Axes: n pictures, h width of a vector, u = h + 2.
    """

    longest: float

    @property
    def scale(self) -> float:
        """M."""
        return math.hypot(self.longest, self.longest**2 / 2)

    def pictures(self, vectors_nh: Float[np.ndarray, "n h"]) -> Float32[np.ndarray, "n u"]:
        """Embeds pictures, each at length 1."""
        half_n1 = np.square(vectors_nh).sum(axis=1, keepdims=True) / 2
        short_n1 = self.scale**2 - 2 * half_n1 - half_n1**2
        rest_n1 = np.sqrt(np.maximum(short_n1, 0))  # below 0 only by rounding
        return np.asarray(np.concatenate([vectors_nh, half_n1, rest_n1], axis=1) / self.scale, np.float32)

    def query(self, query_h: Float[np.ndarray, " h"]) -> Float32[np.ndarray, " u"]:
        """Embeds a query."""
        return np.asarray([*query_h, -1, 0], np.float32)

    def restore(self, embedded_u: Float[np.ndarray, " u"]) -> Float32[np.ndarray, " h"]:
        """A picture's vector before it was embedded."""
        return np.asarray(embedded_u[:-EXTRA_WIDTH] * self.scale, np.float32)


def longest_normed_vector(alpha_h: Float[np.ndarray, " h"], bias_h: Float[np.ndarray, " h"]) -> float:
    """The greatest length of a vector that comes out of a `layers.Norm`.

    Divided by the unbiased deviation, a vector has a length of at most sqrt(h - 1), before it is scaled and shifted.
    """
    scaled = float(np.abs(alpha_h).max()) * math.sqrt(max(len(alpha_h) - 1, 0))
    return scaled + float(np.linalg.norm(bias_h))


def parse_feedback(turn: ResolvedTurn, *, reads_alone: bool, exclude_shown: bool) -> PictureTurn:
    """A turn as feedback on a picture; `reads_alone`: whether the network can read words without a picture."""
    said = read_picture_turn(turn, exclude_shown=exclude_shown)
    lines = [
        f"drop: what was said after turn {back.turn} stays, feedback cannot be taken back" for back in said.operations
    ]
    picture = said.picture
    if said.text and picture is None and not reads_alone:
        picture, of_whom = None, "a picture that shows nothing, as none was picked or shown"
        if turn.shown:
            picture, of_whom = turn.shown[0], "result 1, as no picture was picked"
        lines.append(f'picture: "{said.text}" is taken as said of {of_whom}')
    return replace(said, picture=picture, adapters=(*said.adapters, *lines))


def attribute_numbers(
    given: Sequence[str], number: Mapping[str, int], most: int
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The numbers of attributes that a user names, ignoring case, and what to report of those that are not read.

    >>> attribute_numbers(("Cotton", "tartan"), {"cotton": 1}, 8)
    ((1,), ('drop: no attribute is called "tartan"',))
    """
    names = list(dict.fromkeys(" ".join(name.lower().split()) for name in given))
    known = [name for name in names if name in number]
    notes = note_words("drop: no attribute is called {}", [name for name in names if name not in number])
    notes += note_words(f"drop: the first {most} attributes are read, not {{}}", known[most:])
    return tuple(number[name] for name in known[:most]), notes


CUTS: Mapping[str, Callable[[str], Sequence[str]]] = {
    "plain": split_words,
    "nltk": lambda text: tokenize_captions([text])[0],
}
"""The functions that split a sentence into words, by `FeedbackReading.tokens`."""

SYSTEM = "fashioniq"
SHIPPED = Path(__file__).with_name("modern.safetensors")


@dataclass(frozen=True, eq=False)
class FashionIqState:
    """The network's state of a conversation, and the turns that said something."""

    network: Any = None
    turns: tuple[TurnVector, ...] = ()
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()


class FashionIq:
    """A trained network of Fashion IQ at work.

    `fingerprint` changes with every number of the weights; `attributes` predicts what is read of pictures besides
    their vectors, None if these weights read no attributes.
    """

    name: ClassVar[str] = SYSTEM

    def __init__(self, weights: Weights) -> None:
        card, self.trained_on = weights.card, weights.card.trained_on
        kind, self._step = NUMPY_NETWORKS[card.settings["model"]["kind"]]
        self.settings = read_card_settings(kind, card)
        self.fingerprint = weights.fingerprint
        self._arrays = weights.arrays
        most = self.settings.most_words - getattr(self.settings, "start_token", 0)
        self._words = WordLookup(
            weights.arrays, card, by_encoder=self.settings.words == "encoder", most=most, cut=CUTS[self.settings.tokens]
        )
        self._exclude_shown = bool(card.settings["exclude_shown"])
        loss = read_card_settings(LossSettings, card, part="loss")
        self._embedding: DistanceEmbedding | None = None  # None: dot products are compared
        self._sharpness = Query(()).sharpness
        if self.settings.compare == "l2":
            norm_alpha_h, norm_bias_h = (weights.arrays[f"looks.norm.{part}"] for part in ("alpha", "bias"))
            self._embedding = DistanceEmbedding(longest_normed_vector(norm_alpha_h, norm_bias_h))
            # A score times this is minus the squared distance, up to a term that is the same for all pictures.
            self._sharpness = 2 * self._embedding.scale
        if loss.kind == "contrastive":
            learnt = min(math.exp(float(weights.arrays["log_scale"])), MAX_SCALE)
            self._sharpness = learnt if self._embedding is None else learnt * self._sharpness
        self.attributes = AttributePredictor.of(weights) if self.settings.attributes else None
        self._number = {label: at for at, label in enumerate(card.settings["labels"], start=1)}
        width = self.settings.width + (EXTRA_WIDTH if self._embedding else 0)
        name = f"{SYSTEM}-{weights.fingerprint}"
        self.space = RegionSpace.of_wholes(name, card.encoder, self._project, width, SYSTEM)
        self.reads = Reads(self.space, "own", words=False, predictor=self.attributes, count=self.settings.attributes)

    def begin(self) -> FashionIqState:
        """Nothing said."""
        return FashionIqState()

    def step(self, state: FashionIqState, turn: ResolvedTurn) -> FashionIqState:
        """The state after one more turn. Raises as `Retriever.step`."""
        parsed = parse_feedback(turn, reads_alone=reads_words_alone(self.settings), exclude_shown=self._exclude_shown)
        notes, network, turns = parsed.adapters, state.network, state.turns
        if parsed.text or parsed.names_picture:  # else it only rules out pictures, or does nothing
            words_ls, of_words = self._words.read(parsed.text, turn.sentences)
            numbers: tuple[int, ...] = ()
            notes += of_words
            if (
                parsed.picture is not None and self.settings.attributes
            ):  # without a picture, the session reports what is not read
                given = turn.turn.attributes if isinstance(turn.turn, Like | Show) else None
                given = parsed.picture.predicted[: self.settings.attributes] if given is None else given
                numbers, of_attributes = attribute_numbers(given, self._number, self.settings.attributes)
                notes += of_attributes
            picture_h = None
            if parsed.picture is not None:
                own_d = np.asarray(parsed.picture.vectors["own"][0], np.float32)
                picture_h = own_d if self._embedding is None else self._embedding.restore(own_d)
            said = FeedbackVectors(words_ls, numbers, picture_h)
            network, query_h = self._step(self._arrays, self.settings, network, said)
            vector_d = query_h if self._embedding is None else self._embedding.query(query_h)
            turns = (*turns, TurnVector(turn.number, parsed.text or "this picture", vector_d))
        return FashionIqState(network, turns, parsed.ruled.after(state.excluded), (*state.adapters, *notes))

    def query(self, state: FashionIqState) -> Query:
        """One part a turn, see `turn_parts`."""
        parts = turn_parts(state.turns, "regions")
        return Query(parts, self.space, "late_interaction", state.excluded, state.adapters, self._sharpness)

    # -- inside

    def _project(self, raw: RawPictures) -> Float32[np.ndarray, "n 1 d"]:
        vectors_nh = numpy_pictures(self._arrays, self.settings, raw.whole_ng)
        return (vectors_nh if self._embedding is None else self._embedding.pictures(vectors_nh))[:, None]


def reads_words_alone(settings: FeedbackReading) -> bool:
    """Whether words without a picture can be read as such."""
    match settings:
        case TransformerModel(padding_mask=masked):
            return masked
        case CompositionModel(modalities=read):
            return "image" not in read and "attributes" not in read
        case _:
            return True


def load(checkpoint: Path | None = None) -> FashionIq:
    """The retriever with these weights; None: the shipped ones. Raises BadInput: as `load_system_weights`."""
    return FashionIq(load_system_weights(SYSTEM, checkpoint, SHIPPED))
