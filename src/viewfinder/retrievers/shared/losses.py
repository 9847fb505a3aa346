"""Losses over a batch's score matrix: every picture against every dialogue, of which the diagonal belongs together."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy, relu


def hardest_triplet_loss(scores_nb: Float[Tensor, "n n"], margin: float = 0.2) -> Float[Tensor, " n"]:
    """For each pair, how far its hardest wrong picture and its hardest wrong dialogue come within the margin.

    [margin + max_j s_ij - s_ii]+ + [margin + max_i s_ij - s_jj]+ over j != i (Faghri et al. 2018; Tan et al., Eq. 4).
    """
    right_n = scores_nb.diagonal()
    wrong_nb = scores_nb.masked_fill(torch.eye(len(scores_nb), dtype=torch.bool, device=scores_nb.device), -torch.inf)
    by_picture_n = relu(margin + wrong_nb.amax(dim=1) - right_n)
    by_dialogue_n = relu(margin + wrong_nb.amax(dim=0) - right_n)
    return by_picture_n + by_dialogue_n


def every_triplet_loss(scores_nb: Float[Tensor, "n n"], margin: float = 0.2) -> Float[Tensor, " n"]:
    """The same summed over all wrong ones, where sentences fit many pictures and the hardest decoy is often right."""
    right_n = scores_nb.diagonal()
    wrong_nb = ~torch.eye(len(scores_nb), dtype=torch.bool, device=scores_nb.device)
    by_picture_n = (relu(margin + scores_nb - right_n[:, None]) * wrong_nb).sum(dim=1)
    by_dialogue_n = (relu(margin + scores_nb - right_n) * wrong_nb).sum(dim=0)
    return by_picture_n + by_dialogue_n


def contrastive_loss(scores_nb: Float[Tensor, "n n"], scale: Float[Tensor, ""]) -> Float[Tensor, " n"]:
    """Cross-entropy of the right one among all of the batch, both ways, halved (van den Oord et al. 2018)."""
    right_n = torch.arange(len(scores_nb), device=scores_nb.device)
    logits_nb = scale * scores_nb
    by_picture_n = cross_entropy(logits_nb, right_n, reduction="none")
    by_dialogue_n = cross_entropy(logits_nb.T, right_n, reduction="none")
    return (by_picture_n + by_dialogue_n) / 2
