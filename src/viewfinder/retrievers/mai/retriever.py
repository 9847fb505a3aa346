"""MAI as a retriever: a talk goes from picture to picture, and may go back to any it came from.

Numpy only; the network is what was trained. A turn that is no modification goes through adapters (`reading`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from jaxtyping import Float32

from viewfinder.conversation import PictureId
from viewfinder.retrievers.base import (
    Operation,
    Part,
    Picture,
    Query,
    RawPictures,
    RegionSpace,
    ResolvedTurn,
    SentenceEncoder,
)
from viewfinder.retrievers.mai import forward
from viewfinder.retrievers.mai.memory_forward import NOTHING_CARRIED, CarriedTokens
from viewfinder.retrievers.mai.reading import ModificationTurn, RecalledPicture, parse_modification
from viewfinder.retrievers.mai.settings import MOST_SCALE, LossSettings, Model, Treatment
from viewfinder.retrievers.mai.text_forward import make_text_reader
from viewfinder.retrievers.mai.texts import modification_text
from viewfinder.training.presets import read_card_settings
from viewfinder.training.weights import Weights, load_system_weights

SYSTEM = "mai"
SHIPPED = Path(__file__).with_name("modern.safetensors")

BEST = 1e5
"""Temperature at which a softmax over a picture's vectors is their maximum, to 2e-5: SPRC counts the best alone."""


@dataclass(frozen=True, eq=False)
class Turned:
    """A turn that said something: what, and the query after it."""

    turn: int
    label: str
    vector_d: Float32[np.ndarray, " d"]


@dataclass(frozen=True, eq=False)
class MaiState:
    """What the network carries of the talk, and the turns that said something.

    `pictured` are the turns that named a picture; their vectors are looked up again when a turn looks back.
    """

    carried: CarriedTokens = NOTHING_CARRIED
    pictured: tuple[int, ...] = ()
    turns: tuple[Turned, ...] = ()
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()
    operations: tuple[Operation, ...] = ()


class Mai:
    """A trained network of MAI at work.

    `fingerprint` changes with every number of the weights.
    """

    name: ClassVar[str] = SYSTEM

    def __init__(self, weights: Weights, *, rollback: Treatment | None = None) -> None:
        """`rollback`: what becomes of the picture when a turn goes back, in place of what the weights say."""
        card = weights.card
        settings = read_card_settings(Model, card)
        read_card_settings(LossSettings, card, part="loss")  # refuses weights that were learnt by a loss that is gone
        self.settings = settings if rollback is None else replace(settings, rollback=rollback)
        self.fingerprint = weights.fingerprint
        self._arrays = weights.arrays
        self._texts = make_text_reader(weights, self.settings)
        self._regions = int(card.settings.get("regions", 0))  # of weights that read none
        self._sharpness = min(math.exp(float(weights.arrays["log_scale"])), MOST_SCALE)
        self._of_tokens = settings.stages == "sprc"
        self._exclude_shown = bool(card.settings.get("exclude_shown", False))
        self.space = RegionSpace(
            name=f"{SYSTEM}-{weights.fingerprint}",
            raw_version=card.encoder,
            project=self._projected,
            regions=settings.tokens if self._of_tokens else 1,
            width=settings.projection,
            temperature=BEST if self._of_tokens else 1.0,
            reads_regions=settings.image != "whole",
            reads_captions=settings.captions,
            has_whole=not self._of_tokens,
        )

    @property
    def needs(self) -> tuple[str, ...]:
        """Raw vectors of pictures that turns name, and regions where it reads them."""
        return ("raw", "regions") if self.space.reads_regions else ("raw",)

    def begin(self) -> MaiState:
        """Nothing said."""
        return MaiState()

    def step(self, state: MaiState, turn: ResolvedTurn) -> MaiState:
        """The state after one more turn.

        Raises:
            EncoderMismatch: the session's vectors are not those that the weights were trained on.
        """
        heard = parse_modification(turn, state.pictured, self.settings, exclude_shown=self._exclude_shown)
        told, carried, turns = heard.adapters, state.carried, state.turns
        if heard.says:
            said, of_words = self._said(heard, turn.sentences)
            told = (*told, *of_words)
            carried, vector_d = forward.numpy_encode_turn(self._arrays, self.settings, carried, said)
            turns = (*turns, Turned(turn.number, heard.text or "this picture", vector_d))
        pictured = (*state.pictured, turn.number) if heard.own else state.pictured
        excluded, adapters = heard.ruled.after(state.excluded), tuple(dict.fromkeys((*state.adapters, *told)))
        return MaiState(carried, pictured, turns, excluded, adapters, heard.operations)

    def query(self, state: MaiState) -> Query:
        """A part a turn: by how much it moved the query, so that all parts add up to the query of the last one.

        Of one vector a picture, a score is the mean of the parts' dot products; hence the factor. Of several vectors
        the best counts, and there is one part: what is best for a sum is not best for what is added up.
        """
        said = state.turns[-1:] if self._of_tokens else state.turns
        vectors = [turned.vector_d for turned in said]
        before = [np.zeros_like(vector_d) for vector_d in vectors[:1]] + vectors[:-1]
        moved = [len(vectors) * (after_d - before_d) for after_d, before_d in zip(vectors, before, strict=True)]
        return Query(
            tuple(Part("regions", on.turn, on.label, 1.0, x_d) for on, x_d in zip(said, moved, strict=True)),
            self.space,
            "late_interaction",
            state.excluded,
            state.adapters,
            self._sharpness,
            state.operations,
        )

    # -- inside

    def _said(
        self, heard: ModificationTurn, sentences: SentenceEncoder | None
    ) -> tuple[forward.ModificationInput, tuple[str, ...]]:
        """What the network reads of a turn, and what to tell of words that it does not."""
        modification_lh, told = self._texts.read(modification_text(heard.text), sentences)
        seen = self._looks(heard.picture)
        if heard.blended is not None:
            seen = seen.mixed(self._looks(heard.blended))
        caption_lh = self._caption(heard.picture, sentences)
        return forward.ModificationInput(
            seen, caption_lh, modification_lh, self._recalled(heard.recalled, sentences)
        ), told

    def _recalled(
        self, recalled: Sequence[RecalledPicture], sentences: SentenceEncoder | None
    ) -> tuple[tuple[forward.NumpyComponents | None, Float32[np.ndarray, "_l h"]], ...]:
        """Earlier pictures as they are read again: by one text of their captions, or one after the other."""
        if not recalled:
            return ()
        if self.settings.recall == "pictures":
            return tuple((self._looks(one.picture), self._caption(one.picture, sentences)) for one in recalled)
        text = " ".join(f"{one.name}: {one.picture.caption}" if one.name else one.picture.caption for one in recalled)
        return ((None, self._texts.read(text, sentences)[0]),)

    def _looks(self, picture: Picture | None) -> forward.NumpyComponents:
        """What is read of a picture; of none as of a picture of zeros, as in training."""
        if picture is None:
            return forward.blank_components(self._arrays, self.settings, self._regions)
        regions_re = picture.vectors["raw regions"][None] if self.space.reads_regions else None
        return forward.numpy_components(self._arrays, self.settings, picture.vectors["raw"][None], regions_re)

    def _caption(self, picture: Picture | None, sentences: SentenceEncoder | None) -> Float32[np.ndarray, "l h"]:
        text = picture.caption if picture is not None and self.settings.captions else ""
        return self._texts.read(text, sentences)[0]

    def _projected(self, raw: RawPictures) -> Float32[np.ndarray, "n k d"]:
        captions = raw.captions if self.settings.captions and raw.captions else ("",) * len(raw.whole_ng)
        known = {text: self._texts.read(text, raw.sentences)[0] for text in dict.fromkeys(captions)}
        seen = forward.numpy_components(self._arrays, self.settings, raw.whole_ng, raw.regions_nre)
        return forward.numpy_encode_pictures(self._arrays, self.settings, seen, [known[text] for text in captions])


def load(checkpoint: Path | None = None) -> Mai:
    """The retriever with these weights; None: those in the box.

    Raises:
        BadInput: as `weights_of`.
    """
    return Mai(load_system_weights(SYSTEM, checkpoint, SHIPPED))
