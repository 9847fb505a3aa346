"""Pictures as region vectors, and how states look at them (Tan et al. 2019, Sec. 3.1 and Eq. 1), in torch.

`stores/` has the same for searching, in numpy; a test compares the two.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

EPS = 1e-10


class RegionProjection(nn.Linear):
    """Raw region vectors to unit vectors of the states' width; a raw vector of zeros (no region) stays zeros."""

    def forward(self, raw: Float[Tensor, "*b e"]) -> Float[Tensor, "*b d"]:
        """Unit vectors."""
        there = (raw != 0).any(dim=-1, keepdim=True)
        return normalize(super().forward(raw), dim=-1, eps=EPS) * there


def attend_regions(cosines: Float[Tensor, "*b k"], temperature: float) -> Float[Tensor, "*b"]:
    """sum_k softmax_k(temperature * c) c over the last axis: Eq. 1 without its 1/N."""
    return (torch.softmax(temperature * cosines, dim=-1) * cosines).sum(dim=-1)


def region_similarity(
    vectors_nkd: Float[Tensor, "n k d"],
    slots_bmd: Float[Tensor, "b m d"],
    weights_bm: Float[Tensor, "b m"],
    temperature: float,
) -> Float[Tensor, "n b"]:
    """The score of every picture for every set of states: the mean over slots, weighted, of what they attend to."""
    (n, k, d), (b, m, _) = vectors_nkd.shape, slots_bmd.shape
    cosines_nkq = (vectors_nkd.reshape(n * k, d) @ slots_bmd.reshape(b * m, d).T).view(n, k, b * m)
    attention_nkq = torch.softmax(temperature * cosines_nkq, dim=1)
    attended_nbm = (attention_nkq * cosines_nkq).sum(dim=1).view(n, b, m)
    shares_bm = weights_bm / weights_bm.sum(dim=1, keepdim=True).clamp_min(EPS)
    return (attended_nbm * shares_bm).sum(dim=-1)


def paired_similarity(
    vectors_bkd: Float[Tensor, "b k d"], slots_bamd: Float[Tensor, "b a m d"], temperature: float
) -> Float[Tensor, "b a"]:
    """Each dialogue's own picture for each of `a` alternative sets of states; all slots count alike."""
    cosines_bamk = torch.einsum("bkd,bamd->bamk", vectors_bkd, slots_bamd)
    return attend_regions(cosines_bamk, temperature).mean(dim=-1)
