"""The losses of a dialogue encoder. In a batch, dialogue i belongs to picture i. In torch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import sigmoid

from viewfinder.retrievers.chatir.settings import MAX_SCALE, ChatirLossSettings
from viewfinder.retrievers.shared.network import contrastive_loss


def recall_surrogate_loss(
    scores_bn: Float[Tensor, "n n"], temperature: float = 0.01, depths: Sequence[int] = (1, 2, 4, 8, 16)
) -> Float[Tensor, ""]:
    """One minus a smooth Recall@K, its mean over the depths K (Patel et al. 2022; ChatIR, Sec. 3).

    The rank of a dialogue's picture is 1 + sum_{j != i} sigmoid((s_ij - s_ii) / temperature), and the share found is
    the mean of sigmoid(K - rank). Dialogues look for pictures, not the other way. The paper gives neither depths nor
    temperatures; these are from PlugIR's code, where that of the rank is 1.
    """
    ahead_bn = sigmoid((scores_bn - scores_bn.diagonal()[:, None]) / temperature)
    rank_b = 1 + ahead_bn.sum(dim=1) - ahead_bn.diagonal()
    depth_k = torch.tensor(depths, dtype=rank_b.dtype, device=rank_b.device)
    return 1 - sigmoid(depth_k - rank_b[:, None]).mean()


def dialogue_retrieval_loss(
    loss: ChatirLossSettings,
    log_scale: Float[Tensor, ""],
    dialogues_bd: Float[Tensor, "b d"],
    pictures_bd: Float[Tensor, "b d"],
) -> Float[Tensor, ""]:
    """How badly dialogues find their pictures in the batch; the contrastive loss learns `log_scale`."""
    scores_bn = dialogues_bd @ pictures_bd.T
    if loss.kind == "surrogate":
        return recall_surrogate_loss(scores_bn, loss.temperature)
    return contrastive_loss(scores_bn, log_scale.exp().clamp(max=MAX_SCALE)).mean()
