"""The baselines of Drill-down as retrievers: what `network` trained, applied to one conversation.

Numpy only. A turn that is no description goes through the adapters of `shared.verbalize`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from viewfinder.conversation import PictureId
from viewfinder.data.visual_genome import Vocabulary
from viewfinder.encoders.base import unit_rows
from viewfinder.query import Part, Query, RawPictures, Reads, RegionSpace, ResolvedTurn
from viewfinder.retrievers.baselines.settings import BaselineSettings
from viewfinder.retrievers.shared.numpy_network import (
    Arrays,
    numpy_project_regions,
    numpy_read_words,
    numpy_update_cell,
)
from viewfinder.retrievers.shared.verbalize import verbalize_turn
from viewfinder.training.presets import read_card_settings
from viewfinder.weights import Weights, load_system_weights

JOINT = ";"
"""The separator of R-RE between sentences."""

Said = tuple[int, str]
"""A turn's number and a sentence of it."""


@dataclass(frozen=True, eq=False)
class BaselineState:
    """All sentences so far, the vectors that pictures are compared with (r-rankfusion: one a sentence), and a memory.

    `memory_d` is the context of hre and r-hre; for r-re, the state of its GRU at the last joint.
    """

    memory_d: Float32[np.ndarray, " d"]
    said: tuple[Said, ...] = ()
    vectors: tuple[Float32[np.ndarray, " d"], ...] = ()
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()


class Baseline:
    """A trained baseline at work; its name is one of `settings.SYSTEMS`."""

    def __init__(self, weights: Weights) -> None:
        card, self.trained_on = weights.card, weights.card.trained_on
        self.name = card.system
        self.settings = read_card_settings(BaselineSettings, card)
        self._arrays: Arrays = weights.arrays
        self._vocabulary = Vocabulary.of_settings(card.settings)
        self._joint = self._vocabulary.number_of(JOINT)
        whole = self.name == "hre"
        self._sees = "whole" if whole and not self.settings.pooled else "regions"
        self.space = RegionSpace(
            name=f"{self.name}-{weights.fingerprint}",
            raw_version=card.encoder,
            project=self._project_pictures,
            regions=1 if whole else card.settings["regions"],
            width=self.settings.width,
            temperature=self.settings.factor,
            reads_regions=self._sees == "regions",
            has_whole=whole,
            system=self.name,
        )
        self.reads = Reads(self.space)

    def begin(self) -> BaselineState:
        """Nothing said."""
        return BaselineState(np.zeros(self.settings.width, np.float32))

    def step(self, state: BaselineState, turn: ResolvedTurn) -> BaselineState:
        """The state with the turn's sentences read."""
        heard = verbalize_turn(turn)
        for sentence in heard.sentences:
            state = self._read_sentence(replace(state, said=(*state.said, (turn.number, sentence))), sentence)
        return replace(state, excluded=heard.after(state.excluded), adapters=(*state.adapters, *heard.adapters))

    def query(self, state: BaselineState) -> Query:
        """One part for all that was said; for r-rankfusion one part a sentence."""
        alone = self.name == "r-rankfusion"
        groups = [(said,) for said in state.said] if alone else [state.said] * bool(state.said)
        parts = tuple(
            Part(
                "regions",
                said[-1][0],
                "; ".join(sentence for _, sentence in said),
                1.0,
                unit_rows(vector_d),
                holds=said,
            )
            for said, vector_d in zip(groups, state.vectors, strict=True)
        )
        return Query(parts, self.space, "rank_fusion" if alone else "late_interaction", state.excluded, state.adapters)

    # -- inside

    def _read_sentence(self, state: BaselineState, sentence: str) -> BaselineState:
        """Like `BaselineNetwork.read_dialogues`, one sentence at a time."""
        numbers = self._vocabulary.encode(sentence)
        if self.name == "r-re":
            vector_d = numpy_read_words(self._arrays, "read_words", numbers, state.memory_d)
            so_far_d = numpy_read_words(self._arrays, "read_words", [*numbers[:-1], self._joint], state.memory_d)
            return replace(state, memory_d=so_far_d, vectors=(vector_d,))
        query_d = numpy_read_words(self._arrays, "read_words", numbers)
        if self.name == "r-rankfusion":
            return replace(state, vectors=(*state.vectors, query_d))
        context_d = numpy_update_cell(self._arrays, "update", query_d, state.memory_d)
        return replace(state, memory_d=context_d, vectors=(context_d,))

    def _project_pictures(self, raw: RawPictures) -> Float32[np.ndarray, "n k d"]:
        raw_nke = raw.whole_ng[:, None] if raw.regions_nre is None else raw.regions_nre
        if self.name == "hre" and self.settings.pooled:
            raw_nke = np.asarray(raw_nke, np.float32).mean(axis=1, keepdims=True)
        scale = self._sees if self.settings.standardised else None
        return numpy_project_regions(self._arrays, "project", raw_nke, scaled_by=scale)


def load(name: str, checkpoint: Path | None = None) -> Baseline:
    """The baseline of this name with these weights; none are shipped. Raises BadInput: as `load_system_weights`."""
    return Baseline(load_system_weights(name, checkpoint))
