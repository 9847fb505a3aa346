"""Drill-down as a retriever: one sentence a turn updates the state vectors, which attend to the pictures' regions.

Numpy only; `network` is what was trained. A turn that is no description goes through the adapters of
`shared.verbalize`.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.conversation import PictureId
from viewfinder.data.visual_genome import Vocabulary
from viewfinder.encoders.base import unit_rows
from viewfinder.query import Part, Query, RawPictures, Reads, RegionSpace, ResolvedTurn
from viewfinder.retrievers.drilldown.settings import OWN_SLOT, DrilldownSettings
from viewfinder.retrievers.shared.numpy_network import (
    Arrays,
    NumpySentenceReader,
    numpy_linear,
    numpy_project_regions,
    numpy_update_cell,
    softmax,
)
from viewfinder.retrievers.shared.verbalize import verbalize_turn
from viewfinder.training.presets import read_card_settings
from viewfinder.weights import Weights, load_system_weights

SYSTEM = "drilldown"
SHIPPED = Path(__file__).with_name("modern.safetensors")


@dataclass(frozen=True, eq=False)
class DrilldownState:
    """The state vectors, how much of each was written, and which turns are in which slot.

    `said_m` holds (turn, sentence) pairs by slot; if writing is soft, by the slot that took most of it. `written_m`
    is 0 for an empty slot and 1 for a full one.
    """

    states_md: Float32[np.ndarray, "m d"]
    written_m: Float32[np.ndarray, " m"]
    said_m: tuple[tuple[tuple[int, str], ...], ...]
    sentences: int = 0
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()


class Drilldown:
    """A trained Drill-down network at work."""

    name: ClassVar[str] = SYSTEM

    def __init__(self, weights: Weights) -> None:
        card, self.trained_on = weights.card, weights.card.trained_on
        self.settings = read_card_settings(DrilldownSettings, card)
        self._arrays: Arrays = weights.arrays
        self._read = NumpySentenceReader(
            weights.arrays, Vocabulary.of_settings(card.settings), card.settings["sentences_version"]
        )
        self.space = RegionSpace(
            name=f"{SYSTEM}-{weights.fingerprint}",
            raw_version=card.encoder,
            project=self._project_pictures,
            regions=card.settings["regions"] + self.settings.whole,
            width=self.settings.width,
            temperature=self.settings.factor,
            has_whole=self.settings.whole,
            system=SYSTEM,
        )
        self.reads = Reads(self.space)

    def begin(self) -> DrilldownState:
        """Empty slots."""
        slots, width = self.settings.slots, self.settings.width
        return DrilldownState(np.zeros((slots, width), np.float32), np.zeros(slots, np.float32), ((),) * slots)

    def step(self, state: DrilldownState, turn: ResolvedTurn) -> DrilldownState:
        """The state with the turn's sentences written."""
        heard = verbalize_turn(turn)
        for sentence in heard.sentences:
            state = self._write_sentence(state, self._read(sentence, turn.sentences), (turn.number, sentence))
        return replace(state, excluded=heard.after(state.excluded), adapters=(*state.adapters, *heard.adapters))

    def query(self, state: DrilldownState) -> Query:
        """One part for each written slot."""
        latest = max((turn for said in state.said_m for turn, _ in said), default=0)
        parts = tuple(
            Part(
                "regions",
                said[-1][0] if said else latest,
                "; ".join(text for _, text in said) or "what the other slots hold",
                1.0 if self.settings.mean_over == "all" else float(written),
                unit_rows(state_d),
                holds=said,
            )
            for state_d, written, said in zip(state.states_md, state.written_m, state.said_m, strict=True)
            if written > 0
        )
        return Query(parts, self.space, "late_interaction", state.excluded, state.adapters)

    # -- inside

    def _write_sentence(
        self, state: DrilldownState, query_d: Float[np.ndarray, " d"], said: tuple[int, str]
    ) -> DrilldownState:
        """The state with a sentence written into one slot, or into each by the policy's share."""
        if self.settings.write == "soft":
            logits_m = self._policy_logits(state, query_d).copy()
            logits_m[state.sentences % self.settings.slots] += OWN_SLOT
            gate_m = np.asarray(softmax(logits_m), np.float32)
            queries_md = np.broadcast_to(query_d, state.states_md.shape)
            new_md = numpy_update_cell(self._arrays, "update", queries_md, state.states_md)
            states_md = state.states_md + gate_m[:, None] * (new_md - state.states_md)
            written_m, slot = 1 - (1 - state.written_m) * (1 - gate_m), int(gate_m.argmax())
        else:
            slot = self._choose_slot(state, query_d)
            states_md, written_m = state.states_md.copy(), state.written_m.copy()
            states_md[slot] = numpy_update_cell(self._arrays, "update", query_d, states_md[slot])
            written_m[slot] = 1.0
        said_m = tuple((*old, said) if number == slot else old for number, old in enumerate(state.said_m))
        return replace(state, states_md=states_md, written_m=written_m, said_m=said_m, sentences=state.sentences + 1)

    def _choose_slot(self, state: DrilldownState, query_d: Float[np.ndarray, " d"]) -> int:
        """Like `DrilldownNetwork.choose_slot`; which empty slot is taken makes no difference to the scores."""
        settings, sentences = self.settings, state.sentences
        if settings.choice == "first":
            return 0
        if settings.choice == "circular" or sentences < settings.slots:
            return sentences % settings.slots
        if settings.choice == "learned":
            return int(self._policy_logits(state, query_d).argmax())
        # The draw is the same whenever the same words are said: `step` is pure.
        rng = np.random.default_rng(zlib.crc32(query_d.tobytes(), sentences))
        if settings.choice == "random":
            return int(rng.integers(settings.slots))
        logits_m = self._policy_logits(state, query_d).astype(np.float64)
        return int(rng.choice(settings.slots, p=softmax(logits_m)))

    def _policy_logits(self, state: DrilldownState, query_d: Float[np.ndarray, " d"]) -> Float[np.ndarray, " m"]:
        queries_md = np.broadcast_to(query_d, state.states_md.shape)
        pair = (queries_md, state.states_md)
        rows = np.concatenate(pair if self.settings.policy_reads == "query_state" else pair[::-1], axis=-1)
        for layer in ("policy.0", "policy.2"):
            rows = np.maximum(numpy_linear(self._arrays, layer, rows), 0.0)
        logits_m = numpy_linear(self._arrays, "policy.4", rows)[:, 0]
        return np.maximum(logits_m, 0.0) if self.settings.policy_relu else logits_m

    def _project_pictures(self, raw: RawPictures) -> Float32[np.ndarray, "n k d"]:
        assert raw.regions_nre is not None
        regions, whole = ("regions", "whole") if self.settings.standardised else (None, None)
        vectors_nkd = numpy_project_regions(self._arrays, "project", raw.regions_nre, scaled_by=regions)
        if not self.settings.whole:
            return vectors_nkd
        whole_n1d = numpy_project_regions(self._arrays, "project_whole", raw.whole_ng[:, None], scaled_by=whole)
        return np.concatenate([vectors_nkd, whole_n1d], axis=1)


def load(checkpoint: Path | None = None) -> Drilldown:
    """The retriever with these weights; None: the shipped ones. Raises BadInput: as `load_system_weights`."""
    return Drilldown(load_system_weights(SYSTEM, checkpoint, SHIPPED))
