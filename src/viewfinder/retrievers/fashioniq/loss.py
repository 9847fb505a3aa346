"""What is minimised at a turn: that queries find their targets. Pure functions; rows belong together.

Axes: b dialogues, h numbers of a query and of a picture's vector.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, relu, triplet_margin_loss

from viewfinder.retrievers.fashioniq.settings import MOST_SCALE, LossSettings

Rows = Float[Tensor, "b h"]


def plain_triplet_loss(queries_bh: Rows, targets_bh: Rows, others_bh: Rows, margin: float) -> Float[Tensor, ""]:
    """Mean of [d(q, target) - d(q, other) + margin]+ with plain distances (published code: torch's own)."""
    return triplet_margin_loss(queries_bh, targets_bh, others_bh, margin=margin)


def squared_triplet_loss(queries_bh: Rows, targets_bh: Rows, others_bh: Rows, margin: float) -> Float[Tensor, ""]:
    """The same with squared distances (Sec. 5.1: the loss of Guo et al., whose code squares them)."""
    to_target_b = (queries_bh - targets_bh).square().sum(dim=-1)
    to_other_b = (queries_bh - others_bh).square().sum(dim=-1)
    return relu(to_target_b - to_other_b + margin).mean()


def target_contrastive_loss(
    scores_bb: Float[Tensor, "b b"],
    targets_b: Int[Tensor, " b"],
    scale: Float[Tensor, ""],
    strange_bm: Float[Tensor, "b m"] | None = None,
) -> Float[Tensor, ""]:
    """Mean cross-entropy of the targets among all targets of the batch, and among pictures of other kinds.

    `scores_bb` has a row a query and a column a target, `strange_bm` a column a picture of another kind. Columns of
    another dialogue with the same target are left out: they are no worse an answer than the dialogue's own.
    """
    logits_bn = (scale * scores_bb).masked_fill(same_target_elsewhere(targets_b), -torch.inf)
    if strange_bm is not None:
        logits_bn = torch.cat([logits_bn, scale * strange_bm], dim=1)
    return cross_entropy(logits_bn, torch.arange(len(targets_b), device=targets_b.device))


def pairwise_ranking_loss(
    scores_bb: Float[Tensor, "b b"], targets_b: Int[Tensor, " b"], margin: float
) -> Float[Tensor, ""]:
    """Sum of [margin + s(q, other target) - s(q, target)]+ and of [margin + s(other q, target) - s(q, target)]+.

    The pairwise ranking loss of Kiros, Salakhutdinov, Zemel 2014 (appendix B), as a mean over dialogues instead of a
    sum; `scores_bb` and what is left out as in `target_contrastive_loss`.
    """
    right_b = scores_bb.diagonal()
    wrong_bb = ~(same_target_elsewhere(targets_b) | torch.eye(len(right_b), dtype=torch.bool, device=right_b.device))
    by_query_bb = relu(margin + scores_bb - right_b[:, None]) * wrong_bb
    by_target_bb = relu(margin + scores_bb - right_b) * wrong_bb
    return (by_query_bb + by_target_bb).sum() / len(right_b)


def same_target_elsewhere(targets_b: Int[Tensor, " b"]) -> Bool[Tensor, "b b"]:
    """Where another dialogue of the batch has the same target."""
    same_bb = targets_b[:, None] == targets_b
    return same_bb & ~torch.eye(len(targets_b), dtype=torch.bool, device=targets_b.device)


def likeness(queries_bh: Float[Tensor, "b h"], pictures_nh: Float[Tensor, "n h"], compare: str) -> Float[Tensor, "b n"]:
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
    """The loss of one turn as `settings` has it.

    `others_bh` are what a triplet tells the targets from; `strangers_mh` pictures of other kinds, which the contrastive
    loss tells all targets from.
    """
    if settings.kind == "ranking":
        return pairwise_ranking_loss(likeness(queries_bh, targets_bh, compare), targets_b, settings.margin)
    if settings.kind == "contrastive":
        scale = log_scale.exp().clamp(max=MOST_SCALE)
        strange_bm = None if strangers_mh is None else likeness(queries_bh, strangers_mh, compare)
        return target_contrastive_loss(likeness(queries_bh, targets_bh, compare), targets_b, scale, strange_bm)
    triplet = squared_triplet_loss if settings.squared else plain_triplet_loss
    return triplet(queries_bh, targets_bh, others_bh, settings.margin)
