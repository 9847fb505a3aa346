"""A network over turns that starts as the composer: its scores are the composer's, plus what it has learnt to add.

Of the tokens of all turns so far a causal transformer makes, at the last token of each turn, what is added to the
composer's score of a picture with vector x, in nats:

    e^a s + x . q_0 + g max~_k (b_k + c x . q_k)        a, g, b: gates that are read off; max~: log sum exp
    q_k = sum_m A_km v_m + W_k h                        v: the tokens' own vectors

At the start a = g = A_0 = W_0 = 0, so it *is* the composer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from network_data import Kind, Talks
from torch import Tensor, nn
from torch.nn import functional

MOST_TURNS, MOST_BACK = 16, 8
WIDTH = 256
"""Numbers of the encoder's vectors."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of a network, and which parts it has.

    `unread`: share of the tokens' numbers that training leaves out, so that it learns what is done rather than what is
    said. `free`: its vectors may be others than sums of what was said, W_k above. `residual`: starts from the composer,
    and is told what the composer makes of all turns. `history`: sees the turns before the last, but for what the
    composer makes of them.
    """

    width: int = 192
    layers: int = 2
    heads: int = 4
    slots: int = 6
    dropout: float = 0.2
    unread: float = 0.5
    free: bool = False
    residual: bool = True
    history: bool = True


@dataclass(frozen=True, eq=False)
class Batch:
    """Conversations padded to the same number of tokens: b conversations, l tokens; q moments, k pictures compared.

    `at_q` is the conversation of a moment, `token_q` its last token.
    """

    vectors_bld: Float[Tensor, "b l d"]
    kind_bl: Int[Tensor, "b l"]
    turn_bl: Int[Tensor, "b l"]
    back_bl: Int[Tensor, "b l"]
    there_bl: Bool[Tensor, "b l"]
    at_q: Int[Tensor, " q"]
    token_q: Int[Tensor, " q"]
    moment_q: Int[np.ndarray, " q"]


def make_batch(talks: Talks, dialogues: Int[np.ndarray, " b"]) -> Batch:
    """The conversations with these numbers."""
    start_c = np.searchsorted(talks.dialogue_m, dialogues)
    end_c = np.searchsorted(talks.dialogue_m, dialogues, side="right")
    place_bl = start_c[:, None] + np.arange((end_c - start_c).max())
    there_bl = place_bl < end_c[:, None]
    place_bl = np.where(there_bl, place_bl, 0)
    first_q, last_q = (np.searchsorted(talks.dialogue_q, dialogues, side=side) for side in ("left", "right"))
    moment_q = np.concatenate([np.arange(first, last) for first, last in zip(first_q, last_q, strict=True)])
    at_q = np.repeat(np.arange(len(dialogues)), last_q - first_q)
    is_end_bl = there_bl & (talks.kind_m[place_bl] == Kind.COMPOSED)
    # The last tokens of turns are in the order of the moments: conversation by conversation, turn by turn.
    token_q = np.nonzero(is_end_bl)[1]
    kind_bl, turn_bl, back_bl = (some[place_bl] for some in (talks.kind_m, talks.turn_m, talks.back_m))
    return Batch(
        torch.from_numpy(talks.vectors_md[place_bl].astype(np.float32)),
        torch.from_numpy(kind_bl),
        torch.from_numpy(np.minimum(turn_bl, MOST_TURNS - 1)),
        torch.from_numpy(np.minimum(back_bl, MOST_BACK - 1)),
        torch.from_numpy(there_bl),
        torch.from_numpy(at_q),
        torch.from_numpy(token_q),
        moment_q,
    )


class TurnNetwork(nn.Module):
    """What is said above."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes, width = sizes, sizes.width
        self.vector = nn.Linear(WIDTH, width)
        self.kind, self.turn = nn.Embedding(len(Kind), width), nn.Embedding(MOST_TURNS, width)
        self.back = nn.Embedding(MOST_BACK, width)
        layer = nn.TransformerEncoderLayer(
            width, sizes.heads, 4 * width, sizes.dropout, "gelu", batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, sizes.layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.asks, self.answers = nn.Linear(width, 32 * sizes.slots), nn.Linear(width, 32 * sizes.slots)
        if sizes.free:
            self.own = nn.Linear(width, WIDTH * sizes.slots)
        self.gates = nn.Linear(width, 2)
        self.weigh = nn.Linear(width, sizes.slots)
        self.sharpness = nn.Parameter(torch.tensor(2.3))
        with torch.no_grad():
            self.gates.weight.zero_()
            self.gates.bias.zero_()
            if sizes.residual:  # the first slot says nothing at first
                self.asks.weight[:32].zero_()
                self.asks.bias[:32].zero_()
                if sizes.free:
                    self.own.weight[:WIDTH].zero_()
                    self.own.bias[:WIDTH].zero_()

    def forward(
        self,
        batch: Batch,
        composed_qk: Float[Tensor, "q k"],
        pictures_qkd: Float[Tensor, "q k d"] | Float[Tensor, "k d"],
    ) -> Float[Tensor, "q k"]:
        """The scores of pictures at every moment, in nats, given the composer's."""
        sizes, vectors_bld, kind_bl = self.sizes, batch.vectors_bld, batch.kind_bl
        composed_bl = kind_bl == Kind.COMPOSED
        if not sizes.residual:
            vectors_bld = vectors_bld * ~composed_bl[..., None]
        hidden_blw = (
            4 * self.vector(vectors_bld) + self.kind(kind_bl) + self.turn(batch.turn_bl) + self.back(batch.back_bl)
        )
        later_bll = batch.turn_bl[:, None, :] > batch.turn_bl[:, :, None]
        hides_bll = later_bll | ~batch.there_bl[:, None, :]
        if not sizes.history:
            hides_bll = hides_bll | (batch.turn_bl[:, None, :] < batch.turn_bl[:, :, None])
        hides_bll = hides_bll & ~torch.eye(kind_bl.shape[1], dtype=torch.bool)  # a token sees itself, if it is padding
        hidden_blw = self.body(hidden_blw, mask=hides_bll.repeat_interleave(sizes.heads, dim=0))
        last_qw = hidden_blw[batch.at_q, batch.token_q]
        asks_qse = self.asks(last_qw).unflatten(1, (sizes.slots, 32))
        answers_blse = self.answers(hidden_blw).unflatten(2, (sizes.slots, 32))
        weight_qsl = torch.einsum("qse,qlse->qsl", asks_qse, answers_blse[batch.at_q]) / 32**0.5
        weight_qsl = weight_qsl.masked_fill(hides_bll[batch.at_q, batch.token_q][:, None], 0.0)
        query_qsd = torch.einsum("qsl,qld->qsd", weight_qsl, vectors_bld[batch.at_q])
        if sizes.free:
            query_qsd = query_qsd + self.own(last_qw).unflatten(1, (sizes.slots, WIDTH))
        first_qd, others_qsd = 10 * query_qsd[:, 0], functional.normalize(query_qsd[:, 1:], dim=2)
        gates_q2, weigh_qs = self.gates(last_qw), self.weigh(last_qw)[:, 1:]
        alike = "qsd,qkd->qsk" if pictures_qkd.dim() == 3 else "qsd,kd->qsk"
        scores_qk = torch.einsum(alike, first_qd[:, None], pictures_qkd)[:, 0]
        if sizes.slots > 1:
            alike_qsk = weigh_qs[..., None] + self.sharpness.exp() * torch.einsum(alike, others_qsd, pictures_qkd)
            scores_qk = scores_qk + gates_q2[:, :1] * alike_qsk.logsumexp(dim=1)
        return scores_qk + gates_q2[:, 1:].exp() * composed_qk if sizes.residual else scores_qk


def score_talks(network: TurnNetwork, talks: Talks, dialogues: Int[np.ndarray, " b"]) -> Float32[np.ndarray, "q n"]:
    """The network's scores of all pictures at all moments of some conversations; -inf: excluded."""
    batch = make_batch(talks, dialogues)
    composed_qn = talks.scores_qn[batch.moment_q].astype(np.float32)
    out_qn = np.isneginf(composed_qn)
    composed_qn[out_qn] = 0
    with torch.no_grad():
        found_qn = network.eval()(batch, torch.from_numpy(composed_qn), torch.from_numpy(talks.pictures_nd)).numpy()
    return np.where(out_qn, np.float32(-np.inf), found_qn)


def loss_of(
    network: TurnNetwork, talks: Talks, dialogues: Int[np.ndarray, " b"], others: Int[np.ndarray, " k"] | None = None
) -> Float[Tensor, ""]:
    """The mean cross entropy of the wanted picture over all moments, in nats: among all of the gallery, or among these
    `others` and all that these dialogues look for."""
    batch = make_batch(talks, dialogues)
    wanted_q = talks.target_q[batch.moment_q]
    columns_k = np.arange(len(talks.pictures_nd)) if others is None else np.union1d(others, wanted_q)
    composed_qk = talks.scores_qn[np.ix_(batch.moment_q, columns_k)].astype(np.float32)
    target_q = torch.from_numpy(np.searchsorted(columns_k, wanted_q))
    out_qk = torch.from_numpy(np.isneginf(composed_qk))
    out_qk[torch.arange(len(target_q)), target_q] = False
    composed_qk[np.isneginf(composed_qk)] = 0
    pictures_kd = torch.from_numpy(talks.pictures_nd[columns_k])
    scores_qk = network(batch, torch.from_numpy(composed_qk), pictures_kd)
    return functional.cross_entropy(scores_qk.masked_fill(out_qk, -torch.inf), target_q)
