"""Reading words and keeping a state: the recurrent parts of Drill-down (Tan et al. 2019, Sec. 3.4), in torch.

Parts are laid out as in the published code, so that the counts of parameters agree with the paper's table.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence


class UpdateCell(nn.Module):
    """A GRU cell of six linear maps, each with a bias (the published state updater).

    r = sigmoid(reset), z = sigmoid(keep), n = tanh(new_query(q) + r * new_state(x)), x' = (1 - z) n + z x.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.reset_query, self.reset_state = nn.Linear(width, width), nn.Linear(width, width)
        self.keep_query, self.keep_state = nn.Linear(width, width), nn.Linear(width, width)
        self.new_query, self.new_state = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, query: Float[Tensor, "*b d"], state: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d"]:
        """The state after a query vector."""
        reset = torch.sigmoid(self.reset_query(query) + self.reset_state(state))
        keep = torch.sigmoid(self.keep_query(query) + self.keep_state(state))
        new = torch.tanh(self.new_query(query) + reset * self.new_state(state))
        return (1 - keep) * new + keep * state


class WordReader(nn.Module):
    """Sentences by a table of word vectors and a GRU: the output at the last word, which is the end token."""

    def __init__(self, words: int, word_width: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, word_width)
        self.gru = nn.GRU(word_width, width, batch_first=True)

    def forward(
        self, ids_nl: Int[Tensor, "n l"], lengths_n: Int[Tensor, " n"], before_nd: Float[Tensor, "n d"] | None = None
    ) -> Float[Tensor, "n d"]:
        """A vector a sentence; what lies beyond a sentence's length is not read.

        `before_nd` is what was read before, if the sentences go on from something.
        """
        packed = pack_padded_sequence(self.embedding(ids_nl), lengths_n.cpu(), batch_first=True, enforce_sorted=False)
        last_1nd: Tensor = self.gru(packed, None if before_nd is None else before_nd[None])[1]
        return last_1nd[0]


class SentenceProjection(nn.Module):
    """Frozen sentence vectors to query vectors: two layers."""

    def __init__(self, sentences: int, hidden: int, width: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(sentences, hidden), nn.Linear(hidden, width)

    def forward(self, vectors: Float[Tensor, "*b s"]) -> Float[Tensor, "*b d"]:
        """A vector a sentence."""
        read: Tensor = self.outer(torch.relu(self.inner(vectors)))
        return read


def initialise_network(network: nn.Module) -> None:
    """The published start: Xavier-uniform matrices (GRU stacks as one), zero biases."""
    for name, parameter in network.named_parameters():
        if parameter.dim() >= 2:
            nn.init.xavier_uniform_(parameter)
        elif "bias" in name:
            nn.init.zeros_(parameter)
