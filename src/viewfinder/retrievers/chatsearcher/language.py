"""The language model inside: one that is drawn, or one by name (`published`). In torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers import LlamaConfig, LlamaModel

from viewfinder.retrievers.chatsearcher.pieces import TokenizerRecord
from viewfinder.retrievers.chatsearcher.settings import ModelSettings

SPECIAL = 2
"""[IMG] and [/IMG], which are written besides the pieces."""


@dataclass(frozen=True, eq=False)
class CausalLanguageModel:
    """A causal language model.

    Attributes:
        model: transformers' `LlamaModel`, or one that is built like it.
        head: scores the pieces; None: their own vectors do.
        tokeniser: cuts texts into its pieces.
    """

    model: Any
    head: nn.Linear | None
    tokeniser: TokenizerRecord


def draw_language_model(settings: ModelSettings, tokeniser: TokenizerRecord) -> CausalLanguageModel:
    """A small one that has read nothing yet."""
    config = LlamaConfig(
        vocab_size=tokeniser.count,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        num_key_value_heads=settings.key_heads,
        intermediate_size=settings.hidden,
        max_position_embeddings=settings.longest,
        rope_parameters={"rope_type": "default", "rope_theta": settings.rope},
        # 0.02 is for thousands of numbers; of few, everything would look alike for long.
        initializer_range=settings.width**-0.5 if settings.width < 1024 else 0.02,
        bos_token_id=tokeniser.begin,
        eos_token_id=tokeniser.end,
    )
    return CausalLanguageModel(LlamaModel(config), None, tokeniser)


@torch.no_grad()
def add_special_pieces(model: Any) -> Any:
    """The model with vectors for the special pieces, which begin as the mean of the others'."""
    rows_vh = _with_means(model.embed_tokens.weight)
    model.embed_tokens = nn.Embedding(len(rows_vh), rows_vh.shape[1], _weight=rows_vh)
    model.config.vocab_size = len(rows_vh)
    return model


@torch.no_grad()
def add_special_scores(head: nn.Linear) -> nn.Linear:
    """The same of a head of its own."""
    rows_vh = _with_means(head.weight)
    grown = nn.Linear(rows_vh.shape[1], len(rows_vh), bias=False)
    grown.weight.copy_(rows_vh)
    return grown


def _with_means(rows_vh: torch.Tensor) -> torch.Tensor:
    mean_1h = rows_vh.mean(dim=0, keepdim=True)
    # A little apart, lest the two stay the same.
    apart_kh = torch.randn(SPECIAL, rows_vh.shape[1]) * rows_vh.std()
    return torch.cat([rows_vh, mean_1h + apart_kh])
