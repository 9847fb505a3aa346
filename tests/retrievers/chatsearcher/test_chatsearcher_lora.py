"""Adapters in a language model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from viewfinder.retrievers.chatsearcher.network import add_lora, draw_language_model
from viewfinder.retrievers.chatsearcher.sequence import TokenizerRecord
from viewfinder.retrievers.chatsearcher.settings import LORA_ALPHA, ChatSearcherSettings, LoraSettings

NUMBERS_BL = torch.tensor([[0, 3, 5, 8, 7, 4]])


@pytest.fixture
def language(small: ChatSearcherSettings, tokeniser: TokenizerRecord) -> Any:
    """A language model of two layers."""
    torch.manual_seed(0)
    return draw_language_model(small, tokeniser).model.eval()


@torch.no_grad()
def states(language: Any) -> Tensor:
    found: Tensor = language(NUMBERS_BL).last_hidden_state
    return found


def test_nothing_changes_until_they_have_learnt(language: Any) -> None:
    before_blh = states(language)
    add_lora(language, LoraSettings(rank=2))
    assert torch.equal(states(language), before_blh)


def test_a_map_is_its_weight_and_alpha_over_rank_times_b_a(language: Any) -> None:
    """What a search folds together when it loads a network."""
    add_lora(language, LoraSettings(rank=2))
    arrays = {name: numbers.detach() for name, numbers in language.state_dict().items()}
    name = "layers.1.self_attn.k_proj"
    down, up = (arrays[f"{name}.lora_{part}.default.weight"] for part in "AB")
    assert (down.shape, up.shape) == ((2, 16), (8, 2))
    up.normal_()
    folded = arrays[f"{name}.base_layer.weight"] + LORA_ALPHA / 2 * up @ down
    inputs_bx = torch.randn(4, 16)
    found_by = language.layers[1].self_attn.k_proj(inputs_bx).detach()
    torch.testing.assert_close(found_by, inputs_bx @ folded.T)


def test_only_adapters_need_gradients(language: Any) -> None:
    add_lora(language, LoraSettings(rank=1))
    assert all("lora_" in name for name, numbers in language.named_parameters() if numbers.requires_grad)


def test_all_linear_maps_of_a_layer_are_adapted(language: Any) -> None:
    add_lora(language, LoraSettings(rank=1))
    trained = [name for name, numbers in language.named_parameters() if numbers.requires_grad]
    assert len(trained) == 2 * 7 * 2  # layers, maps, A and B
