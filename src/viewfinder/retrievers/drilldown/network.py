"""Drill-down (Tan, Cascante-Bonilla, Guo, Wu, Feng, Ordonez, NeurIPS 2019) in torch: a set of state vectors.

A sentence becomes a query vector; a policy names a slot; a GRU cell writes the query there. Pictures are region
vectors, and the states attend to those that resemble them. Axes: b dialogues, t turns, m slots, d width, k regions.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout, normalize

from viewfinder.retrievers.drilldown.settings import OWN_SLOT, DrilldownSettings
from viewfinder.retrievers.shared import network as shared
from viewfinder.training.layers import FeedForward


class SlotStates(NamedTuple):
    """The states of dialogues, and how much of each slot was written (0 or 1; in between if writing is soft)."""

    states_bmd: Float[Tensor, "b m d"]
    written_bm: Float[Tensor, "b m"]


class DrilldownNetwork(nn.Module):
    """The network. With the default settings and the published inputs (2048, 14,284 words) it has 4,861,201 parameters
    at M x 128 and 5,830,417 at M x 256."""

    def __init__(self, settings: DrilldownSettings, inputs: shared.InputWidths) -> None:
        super().__init__()
        width = settings.width
        self.settings = settings
        if settings.reads == "words":
            self.read_words = shared.WordReader(inputs.words, settings.word_width, width)
        else:
            self.read_sentences = FeedForward(inputs.sentences, settings.sentence_hidden, width)
        self.project = shared.RegionProjection(inputs.regions, width)
        if settings.whole:
            self.project_whole = shared.RegionProjection(inputs.whole, width)
        self.update = shared.UpdateCell(width)
        self.policy = nn.Sequential(
            nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)
        )
        shared.initialise_network(self)
        if settings.learned_scale:
            self.log_scale = nn.Parameter(torch.tensor(2.0))
        if settings.standardised:
            shared.add_scale(self, "regions", inputs.regions)
            shared.add_scale(self, "whole", inputs.whole)

    # -- the input

    def project_pictures(
        self, regions_bke: Float[Tensor, "b k e"], whole_bg: Float[Tensor, "b g"]
    ) -> Float[Tensor, "b all d"]:
        """Pictures as unit vectors: their regions, and the whole as the last one if the settings say so."""
        vectors_bkd: Tensor = self.project(self._scale_input("regions", regions_bke))
        if not self.settings.whole:
            return vectors_bkd
        whole_bd = self.project_whole(self._scale_input("whole", whole_bg))
        return torch.cat([vectors_bkd, whole_bd[:, None]], dim=1)

    def _scale_input(self, name: str, raw: Float[Tensor, "*b e"]) -> Float[Tensor, "*b e"]:
        scaled = shared.scale_raw(self, name, raw) if self.settings.standardised else raw
        return dropout(scaled, self.settings.dropout, self.training)

    def read(
        self, said: Float[Tensor, "b t s"] | Int[Tensor, "b t l"], lengths_bt: Int[Tensor, "b t"]
    ) -> Float[Tensor, "b t d"]:
        """Query vectors of sentences: word numbers with their counts, or sentence vectors."""
        if self.settings.reads == "sentences":
            vectors_btd: Tensor = self.read_sentences(dropout(said, self.settings.dropout, self.training))
            return vectors_btd
        b, t, words = said.shape
        read_nd: Tensor = self.read_words(said.reshape(b * t, words), lengths_bt.reshape(b * t))
        return read_nd.view(b, t, -1)

    # -- the states

    def begin(self, dialogues: int, device: torch.device) -> SlotStates:
        """States before anything is said: zeros."""
        shape = (dialogues, self.settings.slots)
        return SlotStates(torch.zeros(*shape, self.settings.width, device=device), torch.zeros(shape, device=device))

    def policy_logits(
        self, query_bd: Float[Tensor, "*b d"], states_bmd: Float[Tensor, "*b m d"]
    ) -> Float[Tensor, "*b m"]:
        """How much the policy prefers each slot for the query (f of Eq. 3)."""
        query_bmd = query_bd.unsqueeze(-2).expand(states_bmd.shape)
        pair = (query_bmd, states_bmd) if self.settings.policy_reads == "query_state" else (states_bmd, query_bmd)
        logits_bm: Tensor = self.policy(torch.cat(pair, dim=-1)).squeeze(-1)
        return torch.relu(logits_bm) if self.settings.policy_relu else logits_bm

    def write(self, slots: SlotStates, query_bd: Float[Tensor, "b d"], slot_b: Int[Tensor, " b"]) -> SlotStates:
        """The states with one slot of each dialogue updated by its query."""
        rows_b = torch.arange(len(slot_b), device=slot_b.device)
        new_bd = self.update(query_bd, slots.states_bmd[rows_b, slot_b])
        states_bmd = slots.states_bmd.index_put((rows_b, slot_b), new_bd)
        return SlotStates(states_bmd, slots.written_bm.index_put((rows_b, slot_b), torch.ones_like(query_bd[:, 0])))

    def write_softly(self, slots: SlotStates, query_bd: Float[Tensor, "b d"], turn: int) -> SlotStates:
        """The states with every slot moved towards its update by the policy's share."""
        own_m = torch.arange(self.settings.slots, device=query_bd.device) == turn % self.settings.slots
        logits_bm = self.policy_logits(query_bd, slots.states_bmd) + OWN_SLOT * own_m
        gate_bm = torch.softmax(logits_bm, dim=-1)
        new_bmd = self.update(query_bd[:, None].expand(slots.states_bmd.shape), slots.states_bmd)
        states_bmd = slots.states_bmd + gate_bm[..., None] * (new_bmd - slots.states_bmd)
        return SlotStates(states_bmd, 1 - (1 - slots.written_bm) * (1 - gate_bm))

    def comparable_states(self, slots: SlotStates) -> SlotStates:
        """The states as pictures are compared with them: unit vectors (an empty slot stays zeros) and their weights."""
        counts_bm = torch.ones_like(slots.written_bm) if self.settings.mean_over == "all" else slots.written_bm
        return SlotStates(normalize(slots.states_bmd, dim=-1, eps=shared.EPS), counts_bm)

    # -- whole dialogues

    def read_dialogues(self, queries_btd: Float[Tensor, "b t d"]) -> list[SlotStates]:
        """The states after every turn, as in a live search."""
        slots, after = self.begin(len(queries_btd), queries_btd.device), []
        for turn, query_bd in enumerate(queries_btd.unbind(dim=1)):
            if self.settings.write == "soft":
                slots = self.write_softly(slots, query_bd, turn)
            else:
                slots = self.write(slots, query_bd, self.choose_slot(slots, query_bd, turn))
            after.append(slots)
        return after

    def choose_slot(self, slots: SlotStates, query_bd: Float[Tensor, "b d"], turn: int) -> Int[Tensor, " b"]:
        """The slot that a query is written into (Eq. 2, but the best one at search), by `settings.choice`."""
        settings, dialogues = self.settings, len(query_bd)
        if settings.choice in ("learned", "sampled", "random") and turn < settings.slots:
            return self.choose_empty_slot(slots, turn)
        if settings.choice == "learned":
            return self.policy_logits(query_bd, slots.states_bmd).argmax(dim=-1)
        if settings.choice == "sampled":
            chances_bm = torch.softmax(self.policy_logits(query_bd, slots.states_bmd), dim=-1)
            return torch.multinomial(chances_bm, 1).squeeze(-1)
        if settings.choice == "random":
            return torch.randint(settings.slots, (dialogues,), device=query_bd.device)
        slot = 0 if settings.choice == "first" else turn % settings.slots
        return torch.full((dialogues,), slot, device=query_bd.device)

    def choose_empty_slot(self, slots: SlotStates, turn: int) -> Int[Tensor, " b"]:
        """An empty slot of each dialogue: the next, or any of them (the first case of Eq. 2)."""
        if self.settings.empty == "next":
            return torch.full((len(slots.written_bm),), turn, device=slots.written_bm.device)
        return torch.multinomial(1 - slots.written_bm, 1).squeeze(-1)
