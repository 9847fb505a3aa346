"""The parts of BLIP-2's weights (Li et al. 2023) that are read: its Q-Former, and the parts around it. In torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from torch import nn
from transformers import AutoConfig
from transformers.models.blip_2.modeling_blip_2 import Blip2PreTrainedModel, Blip2QFormerModel

from viewfinder.encoders.checkpoint_parts import load_whole
from viewfinder.encoders.checkpoint_sources import CheckpointSource, explain_failures, silence_transformers
from viewfinder.errors import BadInput

BLIP2 = "blip-2"


class QFormerWithTokens(Blip2PreTrainedModel):
    """The Q-Former with its learned tokens, and the last norm of the picture tower.

    Names are those of transformers, so that it never loads the gigabytes of the tower.
    """

    def __init__(self, config: Any) -> None:
        """`config`: a `Blip2Config`."""
        super().__init__(config)
        self.query_tokens = nn.Parameter(torch.zeros(1, config.num_query_tokens, config.qformer_config.hidden_size))
        self.qformer = Blip2QFormerModel(config.qformer_config)
        self.vision_model = nn.ModuleDict({"post_layernorm": nn.LayerNorm(config.vision_config.hidden_size)})
        self.post_init()


Part = TypeVar("Part", bound=QFormerWithTokens)


def read_blip2_config(source: CheckpointSource, wanted: str) -> Any:
    """The configuration of a BLIP-2 checkpoint; `wanted`: what the message asks for if it is something else.

    Raises:
        BadInput: nothing there, or another kind of checkpoint.
    """
    with explain_failures(source, "BLIP-2's configuration"), silence_transformers():
        config: Any = AutoConfig.from_pretrained(source.location, **source.options)
    if config.model_type != BLIP2:
        raise BadInput(f"{source.location}: is {config.model_type!r}; give {wanted}")
    return config


def read_blip2_weights(kind: type[Part], source: CheckpointSource, config: Any, saved_from: str) -> Part:
    """The parts of a checkpoint that `kind` names, in single precision; `saved_from`: the model that has them all.

    Raises:
        BadInput: no weights, or some are missing.
    """
    part: Part = load_whole(kind, source, "BLIP-2's Q-Former", saved_from, config=config)
    return part


def check_weight_sizes(source: CheckpointSource, there: Mapping[str, int], settings: Mapping[str, int]) -> None:
    """Raises BadInput if sizes of weights differ from those of the settings; both are keyed by names of settings."""
    wrong = {name: size for name, size in there.items() if size != settings[name]}
    if wrong:
        wanted = ", ".join(f"{name} {settings[name]}" for name in wrong)
        change = " ".join(f"--set model.{name}={size}" for name, size in wrong.items())
        raise BadInput(f"{source.location}: is of other sizes than the settings say ({wanted}); {change}")
