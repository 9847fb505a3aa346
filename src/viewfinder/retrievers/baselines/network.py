"""The baselines of Drill-down (Tan et al. 2019, Sec. 4) in torch: sentences, one after the other, to one vector.

hre, r-hre     a GRU cell carries a context from sentence to sentence
r-re           the sentences so far are one text, joined by ";"
r-rankfusion   every sentence stands alone

All of them have the same parts, so that they have the same number of parameters. Axes: b dialogues, t turns, d
numbers, k regions.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from viewfinder.data.visual_genome.vocabulary import END, SPECIAL
from viewfinder.retrievers.baselines.settings import ModelSettings, System
from viewfinder.retrievers.shared.inputs import InputWidths, add_scale, scale_raw
from viewfinder.retrievers.shared.recurrent import UpdateCell, WordReader, initialise_network
from viewfinder.retrievers.shared.regions import RegionProjection

END_NUMBER = SPECIAL.index(END)


class BaselineNetwork(nn.Module):
    """The network. With the published inputs (2048, 14,284 words) each of the four has 22,820,880 parameters at width
    1280 and 9,866,640 at 640, of which r-re and r-rankfusion never use `update`, as in the paper's table.

    `joint` is the number of the word ";".
    """

    def __init__(self, system: System, settings: ModelSettings, inputs: InputWidths, joint: int) -> None:
        super().__init__()
        width = settings.width
        self.system, self.settings, self.joint = system, settings, joint
        self.sees = "whole" if system == "hre" and not settings.pooled else "regions"
        seen = inputs.whole if self.sees == "whole" else inputs.regions
        self.read_words = WordReader(inputs.words, settings.word_width, width)
        self.project = RegionProjection(seen, width)
        self.update = UpdateCell(width)
        initialise_network(self)
        if settings.standardised:
            add_scale(self, self.sees, seen)

    def look(self, regions_bke: Float[Tensor, "b k e"], whole_bg: Float[Tensor, "b g"]) -> Float[Tensor, "b seen d"]:
        """Pictures as unit vectors: of their regions, for hre one of the whole."""
        raw = whole_bg[:, None] if self.sees == "whole" else regions_bke
        if self.system == "hre" and self.settings.pooled:
            raw = raw.mean(dim=1, keepdim=True)
        vectors_bkd: Tensor = self.project(scale_raw(self, self.sees, raw) if self.settings.standardised else raw)
        return vectors_bkd

    def converse(self, said_btl: Int[Tensor, "b t l"], lengths_bt: Int[Tensor, "b t"]) -> Float[Tensor, "b t d"]:
        """The vector that pictures are compared with after every turn; for r-rankfusion each turn's own."""
        if self.system == "r-re":
            return self._read_on(said_btl, lengths_bt)
        b, t, words = said_btl.shape
        queries_nd: Tensor = self.read_words(said_btl.reshape(b * t, words), lengths_bt.reshape(b * t))
        queries_btd = queries_nd.view(b, t, -1)
        if self.system == "r-rankfusion":
            return queries_btd
        state_bd, after = torch.zeros_like(queries_btd[:, 0]), []
        for query_bd in queries_btd.unbind(dim=1):
            state_bd = self.update(query_bd, state_bd)
            after.append(state_bd)
        return torch.stack(after, dim=1)

    def _read_on(self, said_btl: Int[Tensor, "b t l"], lengths_bt: Int[Tensor, "b t"]) -> Float[Tensor, "b t d"]:
        """All sentences so far, joined: read on from the last joint instead of from the start at every turn."""
        joined_btl = said_btl.masked_fill(said_btl == END_NUMBER, self.joint)
        so_far_bd, after = None, []
        for said_bl, joined_bl, lengths_b in zip(
            said_btl.unbind(dim=1), joined_btl.unbind(dim=1), lengths_bt.unbind(dim=1), strict=True
        ):
            after.append(self.read_words(said_bl, lengths_b, so_far_bd))
            so_far_bd = self.read_words(joined_bl, lengths_b, so_far_bd)
        return torch.stack(after, dim=1)
