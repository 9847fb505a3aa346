"""ChatSearcher's losses (Sec. 4.2): predicting the next words and pictures. In torch.

Axes: p positions, v pieces, c pictures of a batch, q those of them that are targets, n pictures that they are told
from, x width that is read of a picture, d width of the vectors that pictures are found by.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from viewfinder.retrievers.chatsearcher.settings import ChatSearcherLossSettings

NOBODY = -1
"""Stands in place of a picture's row: an empty place of the queue."""


class FeaturePool(NamedTuple):
    """Pictures that the right one is told from, and their rows."""

    whole_nx: Float[Tensor, "n x"]
    rows_n: Int[Tensor, " n"]


class FeatureQueue(nn.Module):
    """The pictures of the last batches as the frozen encoder gave them: first in, first out (Sec. 4.1).

    They never grow stale, since the trained parts are applied to all of them again in every step. Several processes
    keep the queue of the first.
    """

    def __init__(self, size: int, width: int) -> None:
        """`size`: |Q|; `width`: x."""
        super().__init__()
        self.register_buffer("vectors", torch.zeros(size, width))
        self.register_buffer("rows", torch.full((size,), NOBODY, dtype=torch.int64))

    @torch.no_grad()
    def with_batch(self, whole_cx: Float[Tensor, "c x"], rows_c: Int[Tensor, " c"]) -> FeaturePool:
        """The batch's pictures, then those of the queue: the newest |Q|, but the whole batch in any case.

        The right picture is thus always among them (the paper does not say that it is enqueued first).
        """
        vectors, rows = self.get_buffer("vectors"), self.get_buffer("rows")
        most = max(len(vectors), len(rows_c))
        return FeaturePool(torch.cat([whole_cx, vectors])[:most], torch.cat([rows_c, rows])[:most])

    @torch.no_grad()
    def enqueue(self, whole_cx: Float[Tensor, "c x"], rows_c: Int[Tensor, " c"]) -> None:
        """Adds a batch, and drops the oldest pictures."""
        pool = self.with_batch(whole_cx, rows_c)
        vectors, rows = self.get_buffer("vectors"), self.get_buffer("rows")
        vectors.copy_(pool.whole_nx[: len(vectors)])
        rows.copy_(pool.rows_n[: len(rows)])


def excluded_negatives(right_q: Int[Tensor, " q"], rows_n: Int[Tensor, " n"]) -> Bool[Tensor, "q n"]:
    """Marks the places that a picture is not told from: empty ones and, other than in the paper, its own copies.

    `right_q` is the place of the right picture, `rows_n` says which picture stands at each place.
    """
    out_qn = (rows_n == NOBODY) | (rows_n[right_q][:, None] == rows_n)
    out_qn[torch.arange(len(right_q), device=rows_n.device), right_q] = False
    return out_qn


def picture_loss(
    similarities_qn: Float[Tensor, "q n"],
    right_q: Int[Tensor, " q"],
    out_qn: Bool[Tensor, "q n"],
    temperature: Float[Tensor, ""],
) -> Float[Tensor, ""]:
    """Mean over queries of -log P(picture), Eq. 3; 0 without queries."""
    if not len(right_q):
        return similarities_qn.sum()
    scores_qn = (similarities_qn / temperature).masked_fill(out_qn, -torch.inf)
    return cross_entropy(scores_qn, right_q)


def symmetric_picture_loss(
    similarities_qn: Float[Tensor, "q n"],
    right_q: Int[Tensor, " q"],
    out_qn: Bool[Tensor, "q n"],
    temperature: Float[Tensor, ""],
) -> Float[Tensor, ""]:
    """The mean of `picture_loss` and of its converse, in which pictures look for their queries (InfoNCE, FROMAGe)."""
    back_qq = similarities_qn[:, right_q].T
    own_q = torch.arange(len(right_q), device=right_q.device)
    back = picture_loss(back_qq, own_q, out_qn[:, right_q].T, temperature)
    return (picture_loss(similarities_qn, right_q, out_qn, temperature) + back) / 2


def word_loss(scores_pv: Float[Tensor, "p v"], numbers_p: Int[Tensor, " p"]) -> Float[Tensor, ""]:
    """Mean over positions of -log P(piece); 0 without positions."""
    return cross_entropy(scores_pv, numbers_p) if len(numbers_p) else scores_pv.sum()


def combine_losses(
    settings: ChatSearcherLossSettings, words: Float[Tensor, ""], places: int, pictures: Float[Tensor, ""], found: int
) -> Float[Tensor, ""]:
    """Combines the mean losses of words and of pictures, given the count of positions and of targets (Eq. 1)."""
    if settings.reduction == "means":
        return words + pictures
    return (places * words + found * pictures) / max(places + found, 1)
