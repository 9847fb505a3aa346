"""The Q-Former of BLIP-2 (Li et al. 2023), which can also read without a picture. In torch.

Axes: b rows, t tokens, l places of a text, s = t + l, h numbers of a token, i tokens of a picture, x numbers of one.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from transformers import Blip2QFormerConfig
from transformers.models.blip_2.modeling_blip_2 import Blip2QFormerLayer, Blip2QFormerModel, Blip2TextEmbeddings

from viewfinder.retrievers.mai.settings import Model
from viewfinder.retrievers.shared.blip2 import QFormerWithTokens


class SkippingLayer(Blip2QFormerLayer):
    """A layer that leaves out cross-attention where there is no picture; the stock one raises an error there.

    Without a picture all places go through the layers for text, tokens among them (SPRC, as published).
    """

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
        query_length: int = 0,
        **kwargs: Any,
    ) -> Tensor:
        """As the stock layer; `query_length` plays no role without a picture."""
        length = 0 if encoder_hidden_states is None else query_length
        found: Tensor = super().forward(
            hidden_states, attention_mask, encoder_hidden_states, encoder_attention_mask, length, **kwargs
        )
        return found


class QFormer(Blip2QFormerModel):
    """Tokens and a text that look at each other; where there is a picture, tokens look at it as well."""

    def __init__(self, config: Blip2QFormerConfig) -> None:
        super().__init__(config)
        self.encoder.layer = nn.ModuleList(SkippingLayer(config, at) for at in range(config.num_hidden_layers))
        self.post_init()

    def read(
        self,
        places_bsh: Float[Tensor, "b s h"],
        there_bs: Bool[Tensor, "b s"],
        tokens: int = 0,
        image_bix: Float[Tensor, "b i x"] | None = None,
    ) -> Float[Tensor, "b s h"]:
        """All places after all layers.

        Args:
            places_bsh: the tokens, then the text.
            there_bs: False where there is nothing to look at.
            tokens: how many of the places are tokens, which look at the picture.
            image_bix: the picture; None: there is none.
        """
        hidden_bsh = self.dropout(self.layernorm(places_bsh))
        faint = torch.finfo(hidden_bsh.dtype).min
        mask_b11s = torch.zeros_like(there_bs, dtype=hidden_bsh.dtype).masked_fill(~there_bs, faint)[:, None, None]
        found: Tensor = hidden_bsh
        for layer in self.encoder.layer:
            found = layer(found, mask_b11s, image_bix, None, tokens)
        return found


class Blip2Weights(QFormerWithTokens):
    """What is read of BLIP-2's weights for retrieval: `Blip2ForImageTextRetrieval` without its picture tower."""

    def __init__(self, config: Any) -> None:
        """`config`: a `Blip2Config`."""
        super().__init__(config)
        width, projection = config.qformer_config.hidden_size, config.image_text_hidden_size
        self.embeddings = Blip2TextEmbeddings(config.qformer_config)
        self.vision_projection = nn.Linear(width, projection)
        self.text_projection = nn.Linear(width, projection)
        self.post_init()


def qformer_config(settings: Model, image_width: int) -> Blip2QFormerConfig:
    """The configuration of a Q-Former that is drawn; `image_width`: x."""
    return Blip2QFormerConfig(
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=settings.hidden,
        hidden_dropout_prob=settings.dropout,
        attention_probs_dropout_prob=settings.dropout,
        cross_attention_frequency=settings.cross_every,
        encoder_hidden_size=image_width,
        use_qformer_text_input=True,
        # BERT's 0.02 is for 768 numbers; of few, everything would look alike for long.
        initializer_range=settings.width**-0.5,
    )
