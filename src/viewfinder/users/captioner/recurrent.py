"""The captioner of Guo et al. (NeurIPS 2018): an LSTM that attends to the wanted picture and to what is new in it.

They attend to places of feature maps [wanted; wanted - shown]. Of pictures we have one vector each, so here the two
halves are two tokens, each with a linear layer of its own; attributes, where they are read, are further tokens. Axes
as in `network`. In torch.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout, relu

from viewfinder.users.captioner.network import CaptionerNetwork, CaptionState, Memory
from viewfinder.users.captioner.settings import RecurrentCaptioner


@dataclass(frozen=True, eq=False)
class RecurrentCaptionState(CaptionState):
    """What is attended to, with its keys, and the state of the LSTM."""

    memory_blw: Float[Tensor, "b l w"]
    keys_blw: Float[Tensor, "b l w"]
    hidden_bw: Float[Tensor, "b w"]
    cell_bw: Float[Tensor, "b w"]

    def of(self, rows: Int[Tensor, " r"]) -> RecurrentCaptionState:
        """See `Speech`."""
        return RecurrentCaptionState(
            self.memory_blw[rows], self.keys_blw[rows], self.hidden_bw[rows], self.cell_bw[rows]
        )


class RecurrentCaptionerNetwork(CaptionerNetwork):
    """Show, attend and tell (Xu et al., ICML 2015) over a pair of pictures."""

    def __init__(self, settings: RecurrentCaptioner, raw_width: int, vocabulary_size: int, labels: int) -> None:
        super().__init__(settings, raw_width, labels)
        width, read, self.share = settings.width, self.input.width, settings.dropout
        self.wanted, self.difference = nn.Linear(read, width), nn.Linear(read, width)
        if self.attributes_read:
            self.shown_attributes, self.wanted_attributes = (
                nn.Embedding(labels + 1, width, padding_idx=0) for _ in range(2)
            )
        self.first = nn.Linear(width, 2 * width)
        self.key, self.ask, self.weigh = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 1)
        self.words = nn.Embedding(vocabulary_size, width)
        self.cell = nn.LSTMCell(2 * width, width)
        self.out = nn.Linear(width, vocabulary_size)

    def see(self, shown_bg: Float[Tensor, "b g"], wanted_bg: Float[Tensor, "b g"]) -> Memory:
        """One tensor, the tokens that are attended to (b l w)."""
        shown_bx, wanted_bx = self.input(shown_bg), self.input(wanted_bg)
        pictures_blw = torch.stack([self.wanted(wanted_bx), self.difference(wanted_bx - shown_bx)], dim=1)
        tokens = [self._dropped(relu(pictures_blw))]
        if self.attributes_read:
            tokens.append(self.shown_attributes(self.top_attributes(shown_bg)))
            tokens.append(self.wanted_attributes(self.top_attributes(wanted_bg)))
        return (torch.cat(tokens, dim=1),)

    def begin(self, memory: Memory) -> RecurrentCaptionState:
        """The state that the mean of the tokens makes."""
        [memory_blw] = memory
        hidden_bw, cell_bw = self.first(memory_blw.mean(dim=1)).tanh().chunk(2, dim=1)
        return RecurrentCaptionState(memory_blw, self.key(memory_blw), hidden_bw, cell_bw)

    def step(
        self, speech: RecurrentCaptionState, words_bt: Int[Tensor, "b t"]
    ) -> tuple[Float[Tensor, "b t v"], RecurrentCaptionState]:
        """A word after the other: each attends with the state before it."""
        hidden_bw, cell_bw = speech.hidden_bw, speech.cell_bw
        states: list[Tensor] = []
        for word_bw in self._dropped(self.words(words_bt)).unbind(dim=1):
            attended_bw = self._attended(speech, hidden_bw)
            hidden_bw, cell_bw = self.cell(torch.cat([word_bw, attended_bw], dim=1), (hidden_bw, cell_bw))
            states.append(hidden_bw)
        logits_btv = self.out(self._dropped(torch.stack(states, dim=1)))
        return logits_btv, RecurrentCaptionState(speech.memory_blw, speech.keys_blw, hidden_bw, cell_bw)

    def _attended(self, speech: RecurrentCaptionState, hidden_bw: Float[Tensor, "b w"]) -> Float[Tensor, "b w"]:
        weights_bl1 = self.weigh((speech.keys_blw + self.ask(hidden_bw)[:, None]).tanh()).softmax(dim=1)
        attended_bw: Tensor = (weights_bl1 * speech.memory_blw).sum(dim=1)
        return attended_bw

    def _dropped(self, tokens: Float[Tensor, "*b w"]) -> Float[Tensor, "*b w"]:
        return dropout(tokens, self.share, self.training)
