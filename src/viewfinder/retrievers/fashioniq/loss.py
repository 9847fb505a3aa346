"""The losses of a turn, by which queries learn to find their targets. Pure functions; equal rows belong together.

Axes: b dialogues, h width of a query and of a picture's vector.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import relu, triplet_margin_loss

from viewfinder.retrievers.fashioniq.settings import MAX_SCALE, LossSettings
from viewfinder.retrievers.shared.network import same_target_elsewhere, target_cross_entropy

Rows = Float[Tensor, "b h"]


def squared_triplet_loss(queries_bh: Rows, targets_bh: Rows, others_bh: Rows, margin: float) -> Float[Tensor, ""]:
    """Mean of [d^2(q, target) - d^2(q, other) + margin]+ (Sec. 5.1: the loss of Guo et al., whose code squares d)."""
    to_target_b = (queries_bh - targets_bh).square().sum(dim=-1)
    to_other_b = (queries_bh - others_bh).square().sum(dim=-1)
    return relu(to_target_b - to_other_b + margin).mean()


def pairwise_ranking_loss(
    scores_bb: Float[Tensor, "b b"], targets_b: Int[Tensor, " b"], margin: float
) -> Float[Tensor, ""]:
    """Sum of [margin + s(q, other target) - s(q, target)]+ and of [margin + s(other q, target) - s(q, target)]+.

    The pairwise ranking loss of Kiros, Salakhutdinov, Zemel 2014 (appendix B), as a mean over dialogues instead of a
    sum. `scores_bb` has a row a query and a column a target; what is left out is as in `target_cross_entropy`.
    """
    right_b = scores_bb.diagonal()
    wrong_bb = ~(same_target_elsewhere(targets_b) | torch.eye(len(right_b), dtype=torch.bool, device=right_b.device))
    by_query_bb = relu(margin + scores_bb - right_b[:, None]) * wrong_bb
    by_target_bb = relu(margin + scores_bb - right_b) * wrong_bb
    return (by_query_bb + by_target_bb).sum() / len(right_b)


def score_likeness(
    queries_bh: Float[Tensor, "b h"], pictures_nh: Float[Tensor, "n h"], compare: str
) -> Float[Tensor, "b n"]:
    """How near pictures are to queries: dot products of unit vectors for "cosine", minus squared distances for "l2"."""
    dots_bn = queries_bh @ pictures_nh.T
    if compare == "cosine":
        return dots_bn
    return 2 * dots_bn - queries_bh.square().sum(dim=-1)[:, None] - pictures_nh.square().sum(dim=-1)


def feedback_turn_loss(
    settings: LossSettings,
    compare: str,
    log_scale: Float[Tensor, ""],
    queries_bh: Rows,
    targets_bh: Rows,
    others_bh: Rows,
    targets_b: Int[Tensor, " b"],
    strangers_mh: Float[Tensor, "m h"] | None = None,
) -> Float[Tensor, ""]:
    """The loss of one turn according to `settings`.

    `others_bh` are the pictures that a triplet tells the targets from; `strangers_mh` pictures of other kinds that the
    contrastive loss tells all targets from.
    """
    if settings.kind == "ranking":
        return pairwise_ranking_loss(score_likeness(queries_bh, targets_bh, compare), targets_b, settings.margin)
    if settings.kind == "contrastive":
        seen = [targets_bh] if strangers_mh is None else [targets_bh, strangers_mh]
        scores_bn = torch.cat([score_likeness(queries_bh, pictures_nh, compare) for pictures_nh in seen], dim=1)
        return target_cross_entropy(log_scale.exp().clamp(max=MAX_SCALE) * scores_bn, targets_b)
    if settings.squared:
        return squared_triplet_loss(queries_bh, targets_bh, others_bh, settings.margin)
    return triplet_margin_loss(queries_bh, targets_bh, others_bh, margin=settings.margin)  # published code
