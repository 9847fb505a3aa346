"""What the published captioner reads of two pictures, and how it is put together."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from viewfinder.errors import BadInput
from viewfinder.training.layers import sinusoid_positions
from viewfinder.users.captioner.network import (
    CaptionerNetwork,
    RecurrentCaptionerNetwork,
    TransformerCaptionerNetwork,
    make_captioner,
)
from viewfinder.users.captioner.settings import TransformerCaptioner

Make = Callable[..., CaptionerNetwork]
Pairs = tuple[Tensor, Tensor]


def transformer(make: Make, **settings: object) -> TransformerCaptionerNetwork:
    network = make("transformer", **settings)
    assert isinstance(network, TransformerCaptionerNetwork)
    return network


def tokens_of(network: TransformerCaptionerNetwork, pairs: Pairs) -> Tensor:
    """What goes into the encoder."""
    seen: list[Tensor] = []
    handle = network.encoder.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    network.see(*pairs)
    handle.remove()
    return seen[0]


@pytest.mark.parametrize(("join", "expected"), [("multiply", 12.0), ("subtract", 4.0)])
def test_two_pictures_become_one_token(make: Make, join: str, expected: float) -> None:
    """6 of the shown picture and 2 of the wanted one, in all places; times sqrt(8), plus the vector of place 0."""
    network = transformer(make, join=join, attributes=0)
    for layer, number in ((network.shown, 6.0), (network.wanted, 2.0)):
        nn.init.zeros_(layer.weight)
        nn.init.constant_(layer.bias, number)
    tokens_blw = tokens_of(network, (torch.ones(3, 6), torch.ones(3, 6)))
    assert tokens_blw.shape == (3, 1, 8)
    torch.testing.assert_close(tokens_blw[1, 0], expected * 8**0.5 + sinusoid_positions(1, 8)[0])


def test_attributes_of_both_pictures_are_tokens_after_the_pictures(make: Make, pairs: Pairs) -> None:
    network = transformer(make)
    tokens_blw = tokens_of(network, pairs)
    assert tokens_blw.shape == (12, 1 + 2 + 2, 8)
    assert network.attributes is not None
    best = 1 + int(network.attributes.scores(pairs[1])[7].argmax())
    expected_w = network.wanted_attributes.weight[best] * 8**0.5 + sinusoid_positions(5, 8)[3]
    torch.testing.assert_close(tokens_blw[7, 3], expected_w)


def test_no_more_attributes_are_read_than_there_are(make: Make, pairs: Pairs) -> None:
    network = transformer(make, attributes=8)
    assert tokens_of(network, pairs).shape == (12, 1 + 4 + 4, 8)
    assert int(network.top_attributes(pairs[0]).min()) == 1


def test_batch_norms_of_pictures_move_by_a_hundredth(make: Make) -> None:
    """From 0 by 0.01 of the mean; shown and wanted pictures have one each."""
    network = transformer(make).train()
    raw_bg = torch.arange(12.0).reshape(2, 6)
    network.see(raw_bg, 2 * raw_bg)
    assert network.shown_norm.running_mean is not None and network.wanted_norm.running_mean is not None
    torch.testing.assert_close(network.shown_norm.running_mean, 0.01 * raw_bg.mean(dim=0))
    torch.testing.assert_close(network.wanted_norm.running_mean, 0.02 * raw_bg.mean(dim=0))


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_words_do_not_hang_on_those_that_follow(make: Make, pairs: Pairs, kind: str) -> None:
    network = make(kind)
    memory = network.see(*pairs)
    words_bt = torch.randint(5, 9, (12, 5), generator=torch.Generator().manual_seed(1))
    logits_btv = network.logits(memory, words_bt)
    changed_bt = words_bt.clone()
    changed_bt[:, 3:] = 5 + (words_bt[:, 3:] - 4) % 4
    changed_btv = network.logits(memory, changed_bt)
    torch.testing.assert_close(changed_btv[:, :3], logits_btv[:, :3])
    assert not torch.allclose(changed_btv[:, 3], logits_btv[:, 3])


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
@pytest.mark.parametrize("settings", [{}, {"attributes": 0}, {"image": "whitened", "components": 3}])
def test_everything_but_the_frozen_head_learns(
    make: Make, pairs: Pairs, kind: str, settings: dict[str, object]
) -> None:
    network = make(kind, **settings)
    if settings.get("image"):
        network.input.measure(torch.cat(pairs).numpy())
    logits_btv = network.train().logits(network.see(*pairs), torch.randint(1, 9, (12, 4)))
    torch.autograd.backward(logits_btv.square().sum())
    assert all(parameter.grad is not None for parameter in network.parameters())
    assert not any(name.startswith(("attributes.", "input.")) for name, _ in network.named_parameters())


def test_what_is_attended_to_counts(make: Make, pairs: Pairs) -> None:
    """The recurrent one reads both pictures, and both pictures' attributes."""
    network = make("recurrent")
    words_bt = torch.ones(12, 1, dtype=torch.long)
    said_btv = network.logits(network.see(*pairs), words_bt)
    for others in ((pairs[0].flip(0), pairs[1]), (pairs[0], pairs[1].flip(0))):
        assert not torch.allclose(network.logits(network.see(*others), words_bt), said_btv)
    [memory_blw] = network.see(*pairs)
    assert memory_blw.shape == (12, 2 + 2 + 2, 8)


def test_the_recurrent_one_is_a_cell_that_reads_a_word_and_what_it_attends_to(make: Make, pairs: Pairs) -> None:
    """Of a drawn network, for the first pair, by the formulas one word at a time."""
    network = make("recurrent")
    assert isinstance(network, RecurrentCaptionerNetwork)
    [memory_blw] = network.see(*pairs)
    memory_lw, words = memory_blw[0], [1, 6, 8]
    hidden_w, cell_w = network.first(memory_lw.mean(dim=0)).tanh().chunk(2)
    for at, word in enumerate(words):
        energies_l = [network.weigh((network.key(token_w) + network.ask(hidden_w)).tanh()) for token_w in memory_lw]
        shares_l = torch.cat(energies_l).softmax(dim=0)
        read_1i = torch.cat([network.words.weight[word], shares_l @ memory_lw])[None]
        hidden_w, cell_w = (state[0] for state in network.cell(read_1i, (hidden_w[None], cell_w[None])))
        said_btv = network.logits((memory_blw,), torch.tensor([words] * 12))
        torch.testing.assert_close(said_btv[0, at], network.out(hidden_w))


def test_attributes_need_labels() -> None:
    with pytest.raises(BadInput, match="8 attributes are to be read, but there are none: set attributes to 0"):
        make_captioner(TransformerCaptioner(), 6, 9, 0)


def test_the_published_captioner_has_the_published_sizes() -> None:
    """Two norms and layers of 2560 numbers; 6 layers of 4 (8) matrices of 512 x 512 and two of 512 x 2048."""
    network = make_captioner(TransformerCaptioner(), 2560, 100, 1000)
    pictures = 2 * (2 * 2560 + 2560 * 512 + 512)
    attention, layers, norm = 4 * (512 * 512 + 512), 512 * 2048 + 2048 + 2048 * 512 + 512, 2 * 512
    encoder = 6 * (attention + layers + 2 * norm) + norm
    decoder = 6 * (2 * attention + layers + 3 * norm) + norm
    words = 2 * 1001 * 512 + 100 * 512 + 100 * 512 + 100
    assert sum(parameter.numel() for parameter in network.parameters()) == pictures + encoder + decoder + words
