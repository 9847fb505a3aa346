"""The baselines' scores and loss over a batch of dialogues."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from viewfinder.retrievers.baselines.network import BaselineNetwork
from viewfinder.retrievers.baselines.settings import LossSettings
from viewfinder.retrievers.shared.losses import every_triplet_loss, hardest_triplet_loss
from viewfinder.retrievers.shared.regions import EPS, region_similarity


def score_pictures(
    network: BaselineNetwork, states_btd: Float[Tensor, "b t d"], vectors_nkd: Float[Tensor, "n k d"]
) -> Float[Tensor, "t n b"]:
    """The score of every picture for every dialogue's vector of every turn."""
    units_tbd = normalize(states_btd, dim=-1, eps=EPS).transpose(0, 1)
    one_b1 = torch.ones_like(units_tbd[0, :, :1])
    found_tnb = torch.stack(
        [region_similarity(vectors_nkd, units_bd[:, None], one_b1, network.settings.factor) for units_bd in units_tbd]
    )
    return found_tnb / vectors_nkd.shape[1] if network.settings.share_of_regions else found_tnb


def retrieval_loss(
    network: BaselineNetwork,
    loss: LossSettings,
    states_btd: Float[Tensor, "b t d"],
    vectors_bkd: Float[Tensor, "b k d"],
) -> Float[Tensor, ""]:
    """The mean over turns, summed over the batch, of how badly pictures and dialogues find one another.

    Tan et al. 2019, Eq. 4 on one state vector (Sec. 4). For r-rankfusion a turn is a sentence alone, so this is
    retrieval by single sentences.
    """
    triplet = hardest_triplet_loss if loss.kind == "hardest" else every_triplet_loss
    turns = [triplet(scores_bb, loss.margin).sum() for scores_bb in score_pictures(network, states_btd, vectors_bkd)]
    return torch.stack(turns).mean()


def fuse_ranks(scores_tnb: Float[Tensor, "t n b"]) -> Float[Tensor, "t n b"]:
    """Minus the mean, over all turns up to each, of the 1-based rank of every picture: R-RankFusion's scores.

    Equal scores share ranks as they come; `stores.rank_fusion`, which searches use, gives them the mean.
    """
    rank_tnb = scores_tnb.argsort(dim=1, descending=True).argsort(dim=1) + 1
    turns = torch.arange(1, len(scores_tnb) + 1, device=scores_tnb.device)
    return -rank_tnb.cumsum(dim=0) / turns[:, None, None]
