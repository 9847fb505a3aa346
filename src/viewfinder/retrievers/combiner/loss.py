"""What is minimised: that queries find their targets among those of the batch."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy


def retrieval_loss(
    queries_qd: Float[Tensor, "q d"], targets_qd: Float[Tensor, "q d"], rows_q: Int[Tensor, " q"], scale: float
) -> Float[Tensor, ""]:
    """Mean cross-entropy of each query's own target among all of the batch, of cosines times `scale`.

    `rows_q` tells which pictures the targets are: a target that is another query's as well is no wrong answer, and is
    left out there.
    """
    same_qq = rows_q[:, None] == rows_q
    elsewhere_qq = same_qq & ~torch.eye(len(rows_q), dtype=torch.bool, device=rows_q.device)
    logits_qq = (scale * queries_qd @ targets_qd.T).masked_fill(elsewhere_qq, -torch.inf)
    return cross_entropy(logits_qq, torch.arange(len(rows_q), device=rows_q.device))
