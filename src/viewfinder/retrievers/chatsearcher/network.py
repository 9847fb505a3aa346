"""ChatSearcher's network (Sec. 4.1): pictures and words in one sequence, a head for words and one for pictures.

Axes: b sequences, l places, h numbers of a place, c pictures in the sequences, one after the other, t slots of one,
x and y numbers that are read of a picture and of its regions, s numbers of a sentence vector, v pieces that are
written, d numbers of the vectors that pictures are found by. In torch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear, normalize

from viewfinder.retrievers.chatsearcher.batch import SequenceBatch
from viewfinder.retrievers.chatsearcher.language import (
    SPECIAL,
    CausalLanguageModel,
    add_special_pieces,
    add_special_scores,
)
from viewfinder.retrievers.chatsearcher.looks import Perceiver, PictureFeatures, build_picture_input
from viewfinder.retrievers.chatsearcher.loss import FeatureQueue
from viewfinder.retrievers.chatsearcher.settings import LossSettings, ModelSettings


@dataclass(frozen=True)
class InputSizes:
    """Widths of what comes in: raw whole vectors, regions and their raw vectors, sentence vectors."""

    raw: int
    regions: int
    region: int
    sentence: int


class ChatSearcherNetwork(nn.Module):
    """One language model over words and pictures.

    `language` is a transformers `LlamaModel`; `text_head` is there only where it is not the pieces' own vectors. With
    `holds_pieces` the vectors of all pieces but [IMG] and [/IMG] stay as they are.
    """

    def __init__(
        self, settings: ModelSettings, loss: LossSettings, sizes: InputSizes, language: CausalLanguageModel
    ) -> None:
        super().__init__()
        self.settings = settings
        self.language: Any = add_special_pieces(language.model)
        width = self.language.config.hidden_size
        self.text_head = None if language.head is None else add_special_scores(language.head)
        self.register_buffer("frequencies", self.language.rotary_emb.inv_freq.detach().clone())
        self.whole_input = build_picture_input(sizes.raw, settings.components, settings.whitening)
        seen = self.whole_input.width
        self.cls = nn.Linear(seen, width)
        if settings.tokens:
            self.region_input = build_picture_input(sizes.region, settings.region_components, settings.whitening)
            self.perceiver = Perceiver(settings, sizes.regions, self.region_input.width)
            self.slots = nn.Linear(settings.perceiver_width, width)
        if settings.says:
            self.said = nn.Linear(sizes.sentence, width)
        self.visual_head = nn.Linear(width, settings.retrieval, bias=False)
        self.queue_head = nn.Linear(seen, settings.retrieval, bias=False)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(loss.temperature)))
        self.queue = FeatureQueue(loss.queue, seen)
        self.holds_pieces = False
        for table_vh in self.piece_tables:
            hook: Any = table_vh.register_hook
            hook(self._without_others)

    @property
    def written(self) -> int:
        """v: the pieces, [IMG] and [/IMG]."""
        return int(self.language.embed_tokens.weight.shape[0])

    @property
    def shape(self) -> dict[str, Any]:
        """What a search needs to know of the language model besides its weights."""
        config = self.language.config
        heads = config.num_attention_heads
        return {
            "layers": config.num_hidden_layers,
            "heads": heads,
            "key_heads": config.num_key_value_heads,
            "head_dim": getattr(config, "head_dim", None) or config.hidden_size // heads,
            "eps": config.rms_norm_eps,
            "tied": self.text_head is None,
        }

    @property
    def piece_tables(self) -> list[nn.Parameter]:
        """The pieces' vectors, and those of a text head of its own; the last rows are of [IMG] and [/IMG]."""
        return [self.language.embed_tokens.weight, *([] if self.text_head is None else [self.text_head.weight])]

    @torch.no_grad()
    def rescale_new_pieces(self) -> None:
        """Brings the vectors of [IMG] and [/IMG] to the mean length of the others (FROMAGe's code)."""
        for table_vh in self.piece_tables:
            length = table_vh[:-SPECIAL].norm(dim=1).mean()
            table_vh[-SPECIAL:] *= length / table_vh[-SPECIAL:].norm(dim=1, keepdim=True)

    def _without_others(self, gradient_vh: Tensor) -> Tensor:
        """The gradient of the pieces' vectors, where they are held without that of the others."""
        if not self.holds_pieces:
            return gradient_vh
        return torch.cat([torch.zeros_like(gradient_vh[:-SPECIAL]), gradient_vh[-SPECIAL:]])

    def forward(self, batch: SequenceBatch, looks: PictureFeatures) -> Float[Tensor, "b l h"]:
        """The state at every place; `looks`: the batch's pictures, in its order.

        Nothing looks at what comes after it, so the empty places at the ends need no mask.
        """
        places_blh = self.embedded(batch, looks)
        found: Tensor = self.language(inputs_embeds=places_blh, use_cache=False).last_hidden_state
        return found

    def embedded(self, batch: SequenceBatch, looks: PictureFeatures) -> Float[Tensor, "b l h"]:
        """What stands at every place."""
        table_vh = self.language.embed_tokens.weight
        places_blh = nn.functional.embedding(batch.numbers_bl.clamp_max(len(table_vh) - 1), table_vh)
        flat_ph = places_blh.flatten(0, 1)
        flat_ph = flat_ph.index_copy(0, batch.cls_c, self.cls(looks.whole_nx))
        if self.settings.tokens and len(batch.cls_c):
            slots_cth = self.slots(self.perceiver(looks.regions_nry.float()))
            at_ct = batch.cls_c[:, None] + 1 + torch.arange(self.settings.tokens, device=batch.cls_c.device)
            flat_ph = flat_ph.index_copy(0, at_ct.flatten(), slots_cth.flatten(0, 1))
        if self.settings.says and len(batch.said_k):
            flat_ph = flat_ph.index_copy(0, batch.said_k, self.said(batch.sentences_ks))
        return flat_ph.view_as(places_blh)

    def words(self, states_ph: Float[Tensor, "p h"]) -> Float[Tensor, "p v"]:
        """Scores of the piece that comes next."""
        weight_vh = self.language.embed_tokens.weight if self.text_head is None else self.text_head.weight
        return linear(states_ph, weight_vh)

    def queries(self, states_qh: Float[Tensor, "q h"]) -> Float[Tensor, "q d"]:
        """States at [IMG] as unit vectors (Eq. 2)."""
        return normalize(self.visual_head(states_qh), dim=-1)

    def pictures(self, whole_nx: Float[Tensor, "n x"]) -> Float[Tensor, "n d"]:
        """Pictures as unit vectors (Eq. 2)."""
        return normalize(self.queue_head(whole_nx), dim=-1)
