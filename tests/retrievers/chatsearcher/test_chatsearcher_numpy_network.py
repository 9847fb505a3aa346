"""The language model without torch: the same numbers as transformers', however a sequence is cut."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import LlamaConfig, LlamaModel, Qwen2Config, Qwen2Model

from viewfinder.byte_cache import size_of
from viewfinder.retrievers.chatsearcher.numpy_network import (
    EMPTY_CACHE,
    KeyValueCache,
    LanguageShape,
    NumpyLanguageModel,
    build_language_model,
    read_places,
    rotary_angles,
    rotate_heads,
)
from viewfinder.retrievers.chatsearcher.settings import LoraSettings

WIDTH, HEAD, LAYERS, LONG = 24, 6, 3, 40
PLACES_LH = np.random.default_rng(0).standard_normal((LONG, WIDTH)).astype(np.float32)
SIZES: dict[str, Any] = {
    "vocab_size": 9,
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "intermediate_size": 30,
    "initializer_range": 0.3,
    "max_position_embeddings": 64,
}


def drawn(key_heads: int, *, theta: float = 100.0, biases: bool = False) -> Any:
    """A language model of transformers with random numbers everywhere."""
    torch.manual_seed(key_heads)
    known = {**SIZES, "num_key_value_heads": key_heads}
    known["rope_parameters"] = {"rope_type": "default", "rope_theta": theta}
    model: Any = Qwen2Model(Qwen2Config(**known)) if biases else LlamaModel(LlamaConfig(**known))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name or "bias" in name:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


def arrays_of(model: Any) -> dict[str, np.ndarray]:
    arrays = {f"language.{name}": tensor.numpy() for name, tensor in model.state_dict().items()}
    return arrays | {"frequencies": model.rotary_emb.inv_freq.numpy()}


def language(model: Any, lora: LoraSettings | None = None) -> NumpyLanguageModel:
    config = model.config
    shape = LanguageShape(
        layers=LAYERS,
        heads=config.num_attention_heads,
        key_heads=config.num_key_value_heads,
        head_dim=HEAD,
        eps=config.rms_norm_eps,
        tied=True,
    )
    return build_language_model(arrays_of(model), shape, lora or LoraSettings())


def expected(model: Any) -> np.ndarray:
    with torch.no_grad():
        states = model(inputs_embeds=torch.from_numpy(PLACES_LH)[None], use_cache=False).last_hidden_state[0]
    return np.asarray(states.numpy())


def read_in_pieces(made: NumpyLanguageModel, cuts: Sequence[int]) -> tuple[np.ndarray, KeyValueCache]:
    found, cache = [], EMPTY_CACHE
    for first, end in pairwise([0, *cuts, LONG]):
        states_lh, cache = read_places(made, PLACES_LH[first:end], cache)
        found.append(states_lh)
    return np.concatenate(found), cache


MAX_UNGROUPED = drawn(2)
GROUPED_LANGUAGE, GROUPED_STATES = language(MAX_UNGROUPED), expected(MAX_UNGROUPED)


@pytest.mark.parametrize("key_heads", [4, 2, 1])
def test_states_are_those_of_transformers(key_heads: int) -> None:
    model = drawn(key_heads, theta=10000.0)
    np.testing.assert_allclose(read_places(language(model), PLACES_LH)[0], expected(model), atol=1e-4)


def test_biases_of_queries_keys_and_values_are_added_where_there_are_any() -> None:
    model = drawn(2, biases=True)
    np.testing.assert_allclose(read_places(language(model), PLACES_LH)[0], expected(model), atol=1e-4)


@settings(max_examples=15, deadline=None)
@given(st.sets(st.integers(1, LONG - 1), max_size=6))
def test_a_sequence_read_in_pieces_is_as_if_read_at_once(cuts: set[int]) -> None:
    found_lh, cache = read_in_pieces(GROUPED_LANGUAGE, sorted(cuts))
    np.testing.assert_allclose(found_lh, GROUPED_STATES, atol=1e-4)
    assert len(cache) == LONG


def test_two_ways_on_from_one_cache_share_it_and_leave_it_alone() -> None:
    _, before = read_places(GROUPED_LANGUAGE, PLACES_LH[:30])
    kept = [(part.keys.copy(), part.values.copy()) for part in before.segments]
    one_lh, one = read_places(GROUPED_LANGUAGE, PLACES_LH[30:], before)
    other_lh, other = read_places(GROUPED_LANGUAGE, PLACES_LH[30:][::-1], before)
    again_lh, _ = read_places(GROUPED_LANGUAGE, PLACES_LH[30:], before)
    assert one.segments[0] is other.segments[0] is before.segments[0]
    np.testing.assert_array_equal(one_lh, again_lh)
    assert not np.allclose(one_lh, other_lh)
    for part, (keys, values) in zip(before.segments, kept, strict=True):
        np.testing.assert_array_equal(part.keys, keys)
        np.testing.assert_array_equal(part.values, values)


@pytest.mark.parametrize("places", [1, 4, 10])
def test_a_shorter_cache_is_one_that_read_less(places: int) -> None:
    _, cache = read_in_pieces(GROUPED_LANGUAGE, [30])
    shorter = cache.shorter(places)
    assert len(shorter) == LONG - places
    found_lh, _ = read_places(GROUPED_LANGUAGE, PLACES_LH[-places:], shorter)
    np.testing.assert_allclose(found_lh, GROUPED_STATES[-places:], atol=1e-4)


def test_a_cache_holds_two_times_key_heads_by_head_numbers_a_place_and_layer() -> None:
    _, cache = read_places(GROUPED_LANGUAGE, PLACES_LH)
    numbers = LONG * LAYERS * 2 * 2 * HEAD
    assert 4 * numbers <= size_of(cache) <= 4 * numbers + 1000
    # What was left out is not held either.
    assert size_of(cache.shorter(LONG - 1)) <= 4 * numbers // LONG + 1000


def test_nothing_before_a_place_hangs_on_what_comes_after_it() -> None:
    changed_lh = PLACES_LH.copy()
    changed_lh[20:] = 7.0
    found_lh, _ = read_places(GROUPED_LANGUAGE, changed_lh)
    np.testing.assert_allclose(found_lh[:20], GROUPED_STATES[:20], atol=1e-5)


def test_a_quarter_turn_brings_the_first_half_of_a_head_to_the_second() -> None:
    heads_lnv = np.array([[[1.0, 2.0, 0.0, 0.0]], [[1.0, 2.0, 0.0, 0.0]]], np.float32)
    turned = rotary_angles(np.array([np.pi / 2, np.pi], np.float32), first=0, count=2)
    expected_lnv = [[[1, 2, 0, 0]], [[0, -2, 1, 0]]]
    np.testing.assert_allclose(rotate_heads(heads_lnv, turned), expected_lnv, atol=1e-6)


def test_adapters_are_folded_in() -> None:
    # W = (W - 8 B A) + 16 / 2 B A.
    arrays, draw = arrays_of(MAX_UNGROUPED), np.random.default_rng(0)
    for map_name in ("layers.0.self_attn.k_proj", "layers.1.mlp.down_proj"):
        whole_oi = arrays.pop(f"language.{map_name}.weight")
        up_or, down_ri = (
            draw.standard_normal(size).astype(np.float32) for size in ((len(whole_oi), 2), (2, whole_oi.shape[1]))
        )
        arrays[f"language.{map_name}.base_layer.weight"] = whole_oi - 8 * up_or @ down_ri
        arrays[f"language.{map_name}.lora_A.default.weight"] = down_ri
        arrays[f"language.{map_name}.lora_B.default.weight"] = up_or
    folded = build_language_model(arrays, GROUPED_LANGUAGE.shape, LoraSettings(rank=2))
    np.testing.assert_allclose(read_places(folded, PLACES_LH)[0], GROUPED_STATES, atol=1e-4)
