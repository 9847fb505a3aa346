"""Layers of the published transformers, against their formulas and against slow ways to the same."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from viewfinder.training.layers import (
    Attention,
    Decoder,
    DecoderLayer,
    EncoderLayer,
    Norm,
    TokenEncoder,
    add_positions,
    causal_mask,
    sinusoid_positions,
)

WIDTH, HEADS = 8, 2


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(5)


def test_norm_divides_by_the_unbiased_deviation() -> None:
    """1, 2, 3 deviate by 1 (biased: sqrt(2/3)) from their mean 2."""
    norm = Norm(3)
    with torch.no_grad():
        norm.alpha.copy_(torch.tensor([1.0, 1.0, 5.0]))
        norm.bias.copy_(torch.tensor([0.0, 7.0, 0.0]))
    assert norm(torch.tensor([[1.0, 2.0, 3.0]]))[0].tolist() == pytest.approx([-1.0, 7.0, 5.0], abs=1e-5)


def test_norm_is_the_published_formula() -> None:
    norm, rows = Norm(16), 3 * torch.randn(5, 4, 16) + 1
    expected = norm.alpha * (rows - rows.mean(-1, keepdim=True)) / (rows.std(-1, keepdim=True) + 1e-6) + norm.bias
    torch.testing.assert_close(norm(rows), expected)


def test_norm_of_zeros_is_the_bias_and_has_a_gradient() -> None:
    """The separator of turns is zeros through a norm."""
    norm, zeros = Norm(4), torch.zeros(2, 4, requires_grad=True)
    assert norm(zeros).tolist() == [[0.0] * 4] * 2
    norm(zeros).square().sum().backward()
    assert zeros.grad is not None and torch.isfinite(zeros.grad).all()


def attended_slowly(attention: Attention, asking_tw: Tensor, seen_lw: Tensor, mask_tl: Tensor) -> Tensor:
    """Attention by loops over heads and places."""
    query_tw, key_lw, value_lw = attention.query(asking_tw), attention.key(seen_lw), attention.value(seen_lw)
    size = query_tw.shape[1] // attention.heads
    rows = []
    for t in range(len(asking_tw)):
        parts = []
        for head in range(attention.heads):
            at = slice(head * size, (head + 1) * size)
            seen = [place for place in range(len(seen_lw)) if mask_tl[t, place]]
            scores = torch.stack([query_tw[t, at] @ key_lw[place, at] / math.sqrt(size) for place in seen])
            parts.append(sum(share * value_lw[place, at] for share, place in zip(scores.softmax(0), seen, strict=True)))
        rows.append(torch.cat([torch.as_tensor(part) for part in parts]))
    return torch.as_tensor(attention.out(torch.stack(rows)))


def test_attention_is_that_of_one_head_and_place_at_a_time() -> None:
    attention = Attention(WIDTH, HEADS)
    asking_btw, seen_blw = torch.randn(2, 3, WIDTH), torch.randn(2, 5, WIDTH)
    mask_tl = torch.rand(3, 5) > 0.5
    mask_tl[:, 0] = True
    found_btw = attention(asking_btw, attention.seen(seen_blw), mask_tl)
    for found_tw, asking_tw, seen_lw in zip(found_btw, asking_btw, seen_blw, strict=True):
        torch.testing.assert_close(found_tw, attended_slowly(attention, asking_tw, seen_lw, mask_tl))


def test_a_mask_may_differ_from_sequence_to_sequence() -> None:
    attention, tokens_blw = Attention(WIDTH, HEADS), torch.randn(2, 4, WIDTH)
    masks_bll = torch.stack([causal_mask(4), torch.ones(4, 4, dtype=torch.bool)])
    found_blw = attention(tokens_blw, attention.seen(tokens_blw), masks_bll)
    for at in range(2):
        alone_blw = tokens_blw[at : at + 1]
        torch.testing.assert_close(found_blw[at], attention(alone_blw, attention.seen(alone_blw), masks_bll[at])[0])


def test_an_encoder_layer_is_its_formula() -> None:
    """Norm before attention and before the linear layers, and what comes in is added to what comes out."""
    layer, tokens_blw = EncoderLayer(WIDTH, HEADS, 12), torch.randn(1, 4, WIDTH)
    normed_lw = layer.before_attention(tokens_blw)[0]
    everything_ll = torch.ones(4, 4, dtype=torch.bool)
    after_lw = tokens_blw[0] + attended_slowly(layer.attention, normed_lw, normed_lw, everything_ll)
    expected_lw = after_lw + layer.layers.outer(layer.layers.inner(layer.before_layers(after_lw)).clamp(min=0))
    torch.testing.assert_close(layer.step(tokens_blw, None, None)[0][0], expected_lw)


def test_a_decoder_layer_is_its_formula() -> None:
    layer, words_btw, memory_blw = DecoderLayer(WIDTH, HEADS, 12), torch.randn(1, 3, WIDTH), torch.randn(1, 5, WIDTH)
    normed_tw = layer.before_words(words_btw)[0]
    after_tw = words_btw[0] + attended_slowly(layer.words, normed_tw, normed_tw, causal_mask(3))
    everything_tl = torch.ones(3, 5, dtype=torch.bool)
    after_tw = after_tw + attended_slowly(layer.memory, layer.before_memory(after_tw), memory_blw[0], everything_tl)
    expected_tw = after_tw + layer.layers.outer(layer.layers.inner(layer.before_layers(after_tw)).clamp(min=0))
    torch.testing.assert_close(
        layer.step(words_btw, layer.memory.seen(memory_blw), None, causal_mask(3))[0][0], expected_tw
    )


@pytest.mark.parametrize("cuts", [[6], [1] * 6, [2, 3, 1]])
def test_words_decoded_bit_by_bit_are_those_decoded_together(cuts: list[int]) -> None:
    decoder, words_btw = Decoder(WIDTH, 2, HEADS, 12), torch.randn(3, 6, WIDTH)
    memory = decoder.seen(torch.randn(3, 4, WIDTH))
    together_btw, _ = decoder.step(words_btw, memory)
    earlier, parts = None, []
    for part_btw in torch.split(words_btw, cuts, dim=1):
        read_btw, earlier = decoder.step(part_btw, memory, earlier)
        parts.append(read_btw)
    torch.testing.assert_close(torch.cat(parts, dim=1), together_btw)


def test_turns_encoded_one_after_the_other_are_those_of_the_whole_dialogue() -> None:
    encoder, turns_l = TokenEncoder(WIDTH, 2, HEADS, 12), torch.tensor([0, 0, 1, 1, 1, 2])
    tokens_blw, mask_ll = torch.randn(2, 6, WIDTH), turns_l[:, None] >= turns_l
    earlier, parts = None, []
    for first, after in ((0, 2), (2, 5), (5, 6)):
        read_btw, earlier = encoder.step(tokens_blw[:, first:after], earlier, mask_ll[first:after, :after])
        parts.append(read_btw)
    torch.testing.assert_close(torch.cat(parts, dim=1), encoder(tokens_blw, mask_ll))


def test_masks_let_look_back_only() -> None:
    assert causal_mask(3).int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_the_published_waves_have_twice_the_usual_exponents() -> None:
    """At place 3 of width 4: 10000^(2 i / 4) is 1, 100, 10000, 1000000 for i = 0, 1, 2, 3."""
    published = [math.sin(3), math.cos(3 / 100), math.sin(3 / 10000), math.cos(3 / 1000000)]
    assert sinusoid_positions(4, 4)[3].tolist() == pytest.approx(published, abs=1e-6)
    usual = [math.sin(3), math.cos(3), math.sin(3 / 100), math.cos(3 / 100)]
    assert sinusoid_positions(4, 4, published=False)[3].tolist() == pytest.approx(usual, abs=1e-6)


def test_tokens_are_scaled_before_their_places_are_added() -> None:
    """sqrt(4) is 2."""
    tokens_blw = torch.ones(1, 2, 4)
    assert add_positions(tokens_blw, None).tolist() == [[[2.0] * 4] * 2]
    torch.testing.assert_close(add_positions(tokens_blw, sinusoid_positions(2, 4))[0], 2 + sinusoid_positions(2, 4))


def test_dropout_is_for_training() -> None:
    encoder, tokens_blw = TokenEncoder(WIDTH, 1, HEADS, 12, 0.5), torch.randn(2, 3, WIDTH)
    assert not torch.equal(encoder(tokens_blw), encoder(tokens_blw))
    encoder.eval()
    torch.testing.assert_close(encoder(tokens_blw), encoder(tokens_blw))
