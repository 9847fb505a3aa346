"""The Combiner (Baldrati et al., CLIP4Cir, CVPR 2022 workshops) in torch, with a memory of earlier turns.

    t = drop(relu(text(x)))    p = drop(relu(picture(y)))    j = [t; p] + recall(state)
    s = sigmoid(share_out(drop(relu(share(j)))))
    query = unit(out(drop(relu(mixed(j)))) + s x + (1 - s) y)
    state' = GRU(query, state), zeros at first

Without a memory there is no state, and every turn is the published network. Axes: b conversations, t turns, d width
of the encoder's shared space, p of a projection, h of hidden layers; j has width 2 p.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import dropout, normalize

from viewfinder.retrievers.combiner.settings import CombinerSettings
from viewfinder.retrievers.shared.network import UpdateCell


class CombinerNetwork(nn.Module):
    """The network over a shared space of `width` dimensions.

    The buffer `probe` is the vector of a known text in that space, by which a search checks that its space is the same.
    """

    probe: Float[Tensor, " d"]

    def __init__(self, settings: CombinerSettings, width: int) -> None:
        super().__init__()
        projection, hidden = settings.projection, settings.hidden
        self.settings = settings
        self.text, self.picture = nn.Linear(width, projection), nn.Linear(width, projection)
        self.mixed, self.out = nn.Linear(2 * projection, hidden), nn.Linear(hidden, width)
        self.share, self.share_out = nn.Linear(2 * projection, hidden), nn.Linear(hidden, 1)
        if settings.memory == "gru":
            self.update = UpdateCell(width)
            self.recall = nn.Linear(width, 2 * projection, bias=False)
        self.register_buffer("probe", torch.zeros(width))

    def forward(
        self, texts_btd: Float[Tensor, "b t d"], pictures_btd: Float[Tensor, "b t d"]
    ) -> Float[Tensor, "b t d"]:
        """The query of every turn, from the words and the picture they are about."""
        state_bd, queries = torch.zeros_like(texts_btd[:, 0]), []
        for text_bd, picture_bd in zip(texts_btd.unbind(dim=1), pictures_btd.unbind(dim=1), strict=True):
            queries.append(self.combine(state_bd, text_bd, picture_bd))
            if self.settings.memory == "gru":
                state_bd = self.update(queries[-1], state_bd)
        return torch.stack(queries, dim=1)

    def combine(
        self, state_bd: Float[Tensor, "b d"], text_bd: Float[Tensor, "b d"], picture_bd: Float[Tensor, "b d"]
    ) -> Float[Tensor, "b d"]:
        """The query of a turn."""
        read = [self._activate_rows(self.text(text_bd)), self._activate_rows(self.picture(picture_bd))]
        joined_bj = torch.cat(read, dim=-1)
        if self.settings.memory == "gru":
            joined_bj = joined_bj + self.recall(state_bd)
        share_b1 = torch.sigmoid(self.share_out(self._activate_rows(self.share(joined_bj))))
        mixed_bd = self.out(self._activate_rows(self.mixed(joined_bj)))
        return normalize(mixed_bd + share_b1 * text_bd + (1 - share_b1) * picture_bd, dim=-1)

    def _activate_rows(self, rows: Float[Tensor, "b h"]) -> Float[Tensor, "b h"]:
        return dropout(torch.relu(rows), self.settings.dropout, self.training)
