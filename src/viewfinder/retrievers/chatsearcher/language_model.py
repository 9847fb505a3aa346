"""The language model inside: a randomly initialised or a published one, with adapters or whole. In torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig, LlamaModel

from viewfinder.encoders.checkpoints import (
    CheckpointSource,
    explain_failures,
    find_checkpoint,
    load_tokenizer,
    load_whole,
    silence_transformers,
)
from viewfinder.errors import BadInput
from viewfinder.retrievers.chatsearcher.sequence import TokenizerRecord
from viewfinder.retrievers.chatsearcher.settings import LORA_ALPHA, LoraSettings, ModelSettings

SPECIAL = 2
"""[IMG] and [/IMG], which are written in addition to the pieces."""

ADAPTED = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""Name endings of the linear maps that get adapters."""

LLAMA_LIKE = ("llama", "mistral", "qwen2")
"""Model types that compute as transformers' `LlamaModel` does, with or without biases of queries, keys and values."""

ROTARY = ("default", "linear", "llama3")
"""Kinds of rotary positions whose frequencies do not depend on a text's length, and which do not scale attention."""


@dataclass(frozen=True, eq=False)
class CausalLanguageModel:
    """A causal language model."""

    model: Any  # transformers' `LlamaModel`, or one that is built like it
    head: nn.Linear | None  # scores the pieces; None: their own vectors do
    tokenizer: TokenizerRecord  # splits texts into its pieces


def draw_language_model(settings: ModelSettings, tokenizer: TokenizerRecord) -> CausalLanguageModel:
    """A small, untrained one."""
    config = LlamaConfig(
        vocab_size=tokenizer.count,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        num_key_value_heads=settings.key_heads,
        intermediate_size=settings.hidden,
        max_position_embeddings=settings.longest,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        # 0.02 is for widths of thousands; at small widths everything would look alike for long.
        initializer_range=settings.width**-0.5 if settings.width < 1024 else 0.02,
        bos_token_id=tokenizer.begin,
        eos_token_id=tokenizer.end,
    )
    return CausalLanguageModel(LlamaModel(config), None, tokenizer)


@torch.no_grad()
def add_special_pieces(language: CausalLanguageModel) -> tuple[Any, nn.Linear | None]:
    """Its model and head with rows for [IMG] and [/IMG], which start near the mean of the others."""

    def grow(rows_vh: torch.Tensor) -> torch.Tensor:
        # A little apart, or the two would stay the same.
        apart_kh = torch.randn(SPECIAL, rows_vh.shape[1]) * rows_vh.std()
        return torch.cat([rows_vh, rows_vh.mean(dim=0, keepdim=True) + apart_kh])

    model, head = language.model, language.head
    rows_vh = grow(model.embed_tokens.weight)
    model.embed_tokens = nn.Embedding(len(rows_vh), rows_vh.shape[1], _weight=rows_vh)
    model.config.vocab_size = len(rows_vh)
    if head is not None:
        scores_vh = grow(head.weight)
        head = nn.Linear(scores_vh.shape[1], len(scores_vh), bias=False)
        head.weight.copy_(scores_vh)
    return model, head


def add_lora(model: nn.Module, lora: LoraSettings) -> None:
    """Adds adapters to the linear maps of all layers, by peft; the output is unchanged until they have learnt.

    Only the adapters need gradients afterwards. A map becomes W + alpha / rank * B A (Hu et al. 2021), by
    the names `q_proj.base_layer.weight`, `q_proj.lora_A.default.weight` and `q_proj.lora_B.default.weight`.
    """
    from peft import LoraConfig, inject_adapter_in_model

    settings: Any = LoraConfig  # which says that alpha is whole, and divides it by the rank alone
    inject_adapter_in_model(settings(r=lora.rank, lora_alpha=LORA_ALPHA, target_modules=list(ADAPTED)), model)


def load_pretrained_language(settings: ModelSettings) -> CausalLanguageModel:
    """The language model in the folder or .gguf file, or of the hub name, that the settings name; single precision.

    Raises:
        BadInput: nothing there, weights or tokeniser missing, or something that is not built like Llama.
    """
    path = Path(settings.language).expanduser()
    if path.suffix.lower() != ".gguf":
        source = find_checkpoint(settings.language)
    elif path.is_file():
        source = CheckpointSource(path.stem, path.resolve().parent, gguf=path.name)
    else:
        raise BadInput(f"there is no language model {path}: give a .gguf file, a model folder or a hub name")
    with explain_failures(source, "the configuration"), silence_transformers():
        config: Any = AutoConfig.from_pretrained(source.location, **source.options)
    if differs := _difference(config):
        likes = f"give a model of type {', '.join(LLAMA_LIKE)}, such as SmolLM2, Vicuna or Mistral"
        raise BadInput(f"{source.called}: {differs}, and only what computes as Llama does can search; {likes}")
    places = config.max_position_embeddings
    most = min(places, getattr(config, "sliding_window", None) or places)
    if settings.longest > most:
        raise BadInput(f"{source.called}: reads {most} pieces at most; --set model.longest={most}")
    tokenizer = load_tokenizer(source, eos="a piece for the end of a text")
    causal = load_whole(AutoModelForCausalLM, source, "the weights", "a causal language model", config=config)
    if len(tokenizer) > config.vocab_size:  # the tokeniser has pieces without vectors in the model
        with silence_transformers():
            causal.resize_token_embeddings(len(tokenizer))
    table, head = causal.get_input_embeddings(), causal.get_output_embeddings()
    end = tokenizer.eos_token_id
    begin = end if tokenizer.bos_token_id is None else tokenizer.bos_token_id  # for Qwen2, the end of the previous text
    record = TokenizerRecord(tokenizer.backend_tokenizer.to_str(), begin, end, len(table.weight))
    return CausalLanguageModel(causal.model, None if head.weight is table.weight else head, record)


def _difference(config: Any) -> str:
    """How a model differs from Llama; "" if it does not."""
    if config.model_type not in LLAMA_LIKE:
        return f"is of type {config.model_type!r}"
    if getattr(config, "attention_bias", False) or getattr(config, "mlp_bias", False):
        return "has biases where Llama has none"
    if config.hidden_act != "silu":
        return f"has the activation {config.hidden_act!r}"
    rotary = config.rope_parameters
    if rotary["rope_type"] not in ROTARY or rotary.get("partial_rotary_factor", 1.0) != 1.0:
        return f"has rotary positions of its own ({rotary['rope_type']!r})"
    return ""
