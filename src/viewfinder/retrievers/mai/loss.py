"""The losses of MAI: the cyclic combination loss (CCL, Sec. 4.4), those of SPRC, and noise against the modality gap.

In torch. Axes: b dialogues, c vectors that are compared, d width of a vector, k vectors of a picture, t tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy, mse_loss

from viewfinder.retrievers.mai.network import EncodedTurns
from viewfinder.retrievers.mai.settings import MaiLossSettings, Noise

NOISE_SCALE = 0.5
"""The factor on noise, in units of the root mean square of a text's places."""


class TurnTargets(NamedTuple):
    """The vectors that the queries of a turn are compared with, or None: the wanted pictures (g; k vectors
    each), the modifications on their own (m), captions of the pictures (c), and SPRC's prompts: after being read with
    the modifications, or unread."""

    pictures_bkd: Float[Tensor, "b k d"]
    modifications_bd: Float[Tensor, "b d"] | None = None
    captions_bd: Float[Tensor, "b d"] | None = None
    prompts_bph: Float[Tensor, "b p h"] | None = None

    def of_turns(self, turns: int) -> list[TurnTargets]:
        """By turn, where rows are all turns of each dialogue, one dialogue after another."""
        return [
            TurnTargets(
                self.pictures_bkd[turn::turns], *(None if part is None else part[turn::turns] for part in self[1:])
            )
            for turn in range(turns)
        ]


def modification_turn_loss(
    settings: MaiLossSettings, scale: Float[Tensor, ""], encoded: EncodedTurns, targets: TurnTargets
) -> Float[Tensor, ""]:
    """The loss of a turn: the terms of Eq. 9 that are switched on; SPRC's where prompts are given.

    Two terms run in the opposite direction to Eq. 9, as in the published code: modifications look for targets, and
    queries for captions.
    """
    queries_bd, pictures_bkd, modifications_bd, captions_bd, prompts_bph = encoded.queries_bd, *targets
    pair = (queries_bd, pictures_bkd)
    if settings.noise == "mixing":
        share_b = torch.rand(len(queries_bd), device=queries_bd.device)
        pair = (mix_rows(queries_bd, share_b), mix_rows(pictures_bkd, share_b))
    if prompts_bph is not None and modifications_bd is not None:
        of_texts, of_prompts = settings.sprc_weights
        tokens_bth = encoded.seen_bth if settings.alignment == "official" else encoded.fused.tokens_bth
        return (
            best_token_loss(*pair, scale)
            + of_texts * best_token_loss(modifications_bd, pictures_bkd, scale)
            + of_prompts * alignment_loss(tokens_bth, prompts_bph)
        )
    compared = {
        "query_target": (pair[0], pair[1][:, 0]),
        "query_caption": (queries_bd, captions_bd),
        "modification_target": (modifications_bd, pictures_bkd[:, 0]),
        "modification_caption": (modifications_bd, captions_bd),
    }
    pairs = [compared[term] for term in settings.terms]
    lost = [
        batch_classification_loss(one, other, scale) for one, other in pairs if one is not None and other is not None
    ]
    return torch.stack(lost).sum()


def batch_classification_loss(
    queries_bd: Float[Tensor, "b d"], targets_bd: Float[Tensor, "b d"], scale: Float[Tensor, ""]
) -> Float[Tensor, ""]:
    """L_B, the batch-based classification loss (Eq. 8): cross-entropy of each row's own target among the batch.

    Cosines are multiplied by `scale`, which the paper does not have (its code has 100).
    """
    return cross_entropy(scale * queries_bd @ targets_bd.T, torch.arange(len(queries_bd), device=queries_bd.device))


def best_token_loss(
    queries_bd: Float[Tensor, "b d"], targets_bkd: Float[Tensor, "b k d"], scale: Float[Tensor, ""]
) -> Float[Tensor, ""]:
    """Cross-entropy of each query's own target among the batch, by each target's best vector for the query (SPRC)."""
    best_bb = torch.einsum("bd,ckd->bck", queries_bd, targets_bkd).amax(dim=-1)
    return cross_entropy(scale * best_bb, torch.arange(len(queries_bd), device=queries_bd.device))


def alignment_loss(fused_bth: Float[Tensor, "b t h"], prompts_bph: Float[Tensor, "b p h"]) -> Float[Tensor, ""]:
    """The squared difference of the mean fused token from the mean prompt, which it should resemble (SPRC).

    Published: between the tokens of the first reading and the prompts read with no text.
    """
    return mse_loss(fused_bth.mean(dim=1), prompts_bph.mean(dim=1).detach())


def add_noise(places: Float[Tensor, "*b h"], kind: Noise) -> Float[Tensor, "*b h"]:
    """Places of a text with noise, in units of their root mean square: normal, uniform from -1 to 1, or both times.

    It narrows the gap between pictures and texts: what is learnt must hold around a text, not only at it (Gu et al.
    2024).
    """
    if kind not in {"normal", "uniform", "product"}:
        return places
    noise = torch.ones_like(places)
    if kind != "uniform":
        noise = noise * torch.randn_like(places)
    if kind != "normal":
        noise = noise * (2 * torch.rand_like(places) - 1)
    return places + NOISE_SCALE * places.detach().square().mean().sqrt() * noise


def mix_rows(rows: Float[Tensor, "b ..."], share_b: Float[Tensor, " b"]) -> Float[Tensor, "b ..."]:
    """Each row mixed with the next; queries and targets mixed by the same shares are pairs (Vouitsis et al. 2024)."""
    share = share_b.view(-1, *[1] * (rows.ndim - 1))
    return share * rows + (1 - share) * rows.roll(1, dims=0)
