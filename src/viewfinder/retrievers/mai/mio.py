"""Multi-turn iterative optimisation (MIO; Chen et al. 2025, Sec. 4.2): which tokens of several turns stay. In torch.

Density peaks by k nearest neighbours (Du et al. 2016; Rodriguez and Laio 2014, in the form of TCFormer, Zeng et al.
2022): a token that is dense and far from any denser one stands for those around it. Nothing here has parameters.

Eq. 1, the clusters, has no counterpart: only the tokens in their middle are kept, so no other token is assigned to one.

Axes: b talks, t tokens, h numbers of a token, k tokens that are kept.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from viewfinder.retrievers.mai.settings import Iteration


def select_tokens(tokens_bth: Float[Tensor, "b t h"], count: int, settings: Iteration) -> Float[Tensor, "b k h"]:
    """The `count` tokens that stand for all, in their order. The choice has no gradient, what is chosen has."""
    with torch.no_grad(), torch.autocast(tokens_bth.device.type, enabled=False):
        chosen_bk = choose_places(tokens_bth.float(), count, settings)
    return tokens_bth.gather(1, chosen_bk[..., None].expand(-1, -1, tokens_bth.shape[2]))


def choose_places(tokens_bth: Float[Tensor, "b t h"], count: int, settings: Iteration) -> Int[Tensor, "b k"]:
    """The places of the `count` tokens of the highest score (Eq. 3), in rising order; ties to earlier ones.

    Where a share is dropped first (paper), the least dense tokens cannot be chosen.
    """
    apart_btt = token_distances(tokens_bth)
    if settings.density == "tcformer":
        apart_btt = apart_btt / tokens_bth.shape[2] ** 0.5
    density_bt = token_log_densities(apart_btt, settings)
    # In logarithms: plain distances of 768 numbers make every density of the paper's form 0 in single precision.
    score_bt = (density_bt + peak_distances(apart_btt, density_bt, settings).log()).clamp_min(
        torch.finfo(tokens_bth.dtype).min
    )
    dropped = min(int(settings.drop * tokens_bth.shape[1]), tokens_bth.shape[1] - count)
    if dropped > 0:
        sparse_bt = density_bt.argsort(dim=1, descending=True, stable=True)[:, -dropped:]
        score_bt = score_bt.scatter(1, sparse_bt, -torch.inf)
    best_bt = score_bt.argsort(dim=1, descending=True, stable=True)
    return best_bt[:, :count].sort(dim=1).values


def token_distances(tokens_bth: Float[Tensor, "b t h"]) -> Float[Tensor, "b t t"]:
    """How far apart any two tokens are; exactly 0 from itself."""
    # Tokens that have much in common lose fewer digits without it; distances do not change.
    tokens_bth = tokens_bth - tokens_bth.mean(dim=1, keepdim=True)
    square_bt = tokens_bth.square().sum(dim=-1)
    dots_btt = tokens_bth @ tokens_bth.transpose(1, 2)
    square_btt = square_bt[:, :, None] + square_bt[:, None] - 2 * dots_btt
    itself_tt = torch.eye(tokens_bth.shape[1], dtype=torch.bool, device=tokens_bth.device)
    return square_btt.clamp_min(0).masked_fill(itself_tt, 0).sqrt()


def token_log_densities(apart_btt: Float[Tensor, "b t t"], settings: Iteration) -> Float[Tensor, "b t"]:
    """The logarithm of Eq. 2: minus the mean squared distance to the nearest neighbours.

    See `Iteration.density` for whether a token is its own neighbour.
    """
    itself = settings.density == "paper"
    most = apart_btt.shape[1] - int(itself)
    near_btk = apart_btt.topk(min(settings.neighbours, most) + int(itself), dim=-1, largest=False).values
    return near_btk[..., int(itself) :].square().mean(dim=-1).neg()


def peak_distances(
    apart_btt: Float[Tensor, "b t t"], density_bt: Float[Tensor, "b t"], settings: Iteration
) -> Float[Tensor, "b t"]:
    """dist(v) of Eq. 3, see `Iteration.distance`. Of equally dense tokens the earlier counts as the denser."""
    tokens = apart_btt.shape[1]
    place_t = torch.arange(tokens, device=apart_btt.device)
    if settings.distance == "nearest":
        return apart_btt.masked_fill(place_t[:, None] == place_t, torch.inf).amin(dim=-1)
    denser_btt = density_bt[:, None, :] > density_bt[:, :, None]
    denser_btt |= (density_bt[:, None, :] == density_bt[:, :, None]) & (place_t < place_t[:, None])
    nearest_bt = apart_btt.masked_fill(~denser_btt, torch.inf).amin(dim=-1)
    return torch.where(nearest_bt.isinf(), apart_btt.amax(dim=-1), nearest_bt)
