"""The baselines of Drill-down (Tan et al. 2019, Sec. 4) in torch: sentences, one after the other, to one vector.

hre, r-hre     a GRU cell carries a context from sentence to sentence
r-re           the sentences so far are one text, joined by ";"
r-rankfusion   every sentence stands alone

All of them have the same parts, and so the same number of parameters. Then the scores and the loss over a batch of
dialogues. Axes: b dialogues, t turns, d width, k regions, n pictures.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import normalize

from viewfinder.data.visual_genome.words import END, SPECIAL
from viewfinder.retrievers.baselines.settings import BaselineLossSettings, BaselineSettings, System
from viewfinder.retrievers.shared import network as shared

END_NUMBER = SPECIAL.index(END)


class BaselineNetwork(nn.Module):
    """The network. With the published inputs (2048, 14,284 words) each of the four has 22,820,880 parameters at width
    1280 and 9,866,640 at 640, of which r-re and r-rankfusion never use `update`, as in the paper's table.

    `joint` is the number of the word ";".
    """

    def __init__(self, system: System, settings: BaselineSettings, inputs: shared.InputWidths, joint: int) -> None:
        super().__init__()
        width = settings.width
        self.system, self.settings, self.joint = system, settings, joint
        self.sees = "whole" if system == "hre" and not settings.pooled else "regions"
        seen = inputs.whole if self.sees == "whole" else inputs.regions
        self.read_words = shared.WordReader(inputs.words, settings.word_width, width)
        self.project = shared.RegionProjection(seen, width)
        self.update = shared.UpdateCell(width)
        shared.initialise_network(self)
        if settings.context_begins == "stacked":
            # Glorot's bound is sqrt(6 / (d + d)) for a matrix alone, sqrt(6 / (3 d + d)) for three of them as one.
            with torch.no_grad():
                for parameter in self.update.parameters():
                    parameter.mul_(math.sqrt(2 / 4))
        if settings.standardised:
            shared.add_scale(self, self.sees, seen)

    def project_pictures(
        self, regions_bke: Float[Tensor, "b k e"], whole_bg: Float[Tensor, "b g"]
    ) -> Float[Tensor, "b seen d"]:
        """Pictures as unit vectors: those of their regions, for hre one of the whole."""
        raw = whole_bg[:, None] if self.sees == "whole" else regions_bke
        if self.system == "hre" and self.settings.pooled:
            raw = raw.mean(dim=1, keepdim=True)
        vectors_bkd: Tensor = self.project(
            shared.scale_raw(self, self.sees, raw) if self.settings.standardised else raw
        )
        return vectors_bkd

    def read_dialogues(self, said_btl: Int[Tensor, "b t l"], lengths_bt: Int[Tensor, "b t"]) -> Float[Tensor, "b t d"]:
        """The vector that pictures are compared with after every turn; for r-rankfusion each turn's own."""
        b, t, words = said_btl.shape
        if self.system == "r-re":
            # All sentences so far, joined: each turn reads on from where the one before was, before its end.
            joint_b1 = said_btl.new_full((b, 1), self.joint)
            end_n1 = said_btl.new_full((b * t, 1), END_NUMBER)
            unended: list[Tensor] = []
            for said_bl, lengths_b in zip(said_btl.unbind(dim=1), lengths_bt.unbind(dim=1), strict=True):
                if not unended:
                    unended.append(self.read_words(said_bl, lengths_b - 1))
                else:
                    unended.append(self.read_words(torch.cat([joint_b1, said_bl], dim=1), lengths_b, unended[-1]))
            unended_nd = torch.stack(unended, dim=1).flatten(0, 1)
            ended_nd: Tensor = self.read_words(end_n1, torch.ones_like(end_n1[:, 0]), unended_nd)
            return ended_nd.view(b, t, -1)
        queries_nd: Tensor = self.read_words(said_btl.reshape(b * t, words), lengths_bt.reshape(b * t))
        queries_btd = queries_nd.view(b, t, -1)
        if self.system == "r-rankfusion":
            return queries_btd
        state_bd, after = torch.zeros_like(queries_btd[:, 0]), []
        for query_bd in queries_btd.unbind(dim=1):
            state_bd = self.update(query_bd, state_bd)
            after.append(state_bd)
        return torch.stack(after, dim=1)


def score_pictures(
    network: BaselineNetwork, states_btd: Float[Tensor, "b t d"], vectors_nkd: Float[Tensor, "n k d"]
) -> Float[Tensor, "t n b"]:
    """The score of every picture for every dialogue's vector of every turn."""
    units_tbd = normalize(states_btd, dim=-1, eps=shared.EPS).transpose(0, 1)
    one_b1 = torch.ones_like(units_tbd[0, :, :1])
    found_tnb = torch.stack(
        [
            shared.region_similarity(vectors_nkd, units_bd[:, None], one_b1, network.settings.factor)
            for units_bd in units_tbd
        ]
    )
    return found_tnb / vectors_nkd.shape[1] if network.settings.share_of_regions else found_tnb


def retrieval_loss(
    network: BaselineNetwork,
    loss: BaselineLossSettings,
    states_btd: Float[Tensor, "b t d"],
    vectors_bkd: Float[Tensor, "b k d"],
) -> Float[Tensor, ""]:
    """The mean over turns, summed over the batch, of how badly pictures and dialogues find one another.

    Tan et al. 2019, Eq. 4 on one state vector (Sec. 4). For r-rankfusion a turn is a sentence alone, so this is
    retrieval by single sentences.
    """
    triplet = shared.TRIPLET_LOSSES[loss.kind]
    turns = [triplet(scores_bb, loss.margin).sum() for scores_bb in score_pictures(network, states_btd, vectors_bkd)]
    return torch.stack(turns).mean()


def fuse_ranks(scores_tnb: Float[Tensor, "t n b"]) -> Float[Tensor, "t n b"]:
    """Minus the mean, over all turns up to each, of the 1-based rank of every picture: R-RankFusion's scores.

    Equal scores are ranked in arbitrary order; `search.region_scores.rank_fusion`, which searches use, gives them
    their mean rank.
    """
    rank_tnb = scores_tnb.argsort(dim=1, descending=True).argsort(dim=1) + 1
    turns = torch.arange(1, len(scores_tnb) + 1, device=scores_tnb.device)
    return -rank_tnb.cumsum(dim=0) / turns[:, None, None]
