"""The Q-Former with and without a picture, beside the stock one with the same weights."""

from __future__ import annotations

import pytest
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from transformers.models.blip_2.modeling_blip_2 import Blip2QFormerModel

from viewfinder.retrievers.mai.network import QFormer, qformer_config
from viewfinder.retrievers.mai.settings import Model

TOKENS, WORDS, DIALOGUES = 4, 5, 3
SETTINGS = Model(width=16, heads=2, hidden=24, layers=4, cross_every=2)


@pytest.fixture(scope="module")
def pair() -> tuple[QFormer, Blip2QFormerModel]:
    """Ours and the stock one; no bias or norm is as it was drawn."""
    torch.manual_seed(0)
    config = qformer_config(SETTINGS, image_width=10)
    ours, stock = QFormer(config).train(False), Blip2QFormerModel(config).train(False)
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    stock.load_state_dict(ours.state_dict())
    return ours, stock


@pytest.fixture(scope="module")
def places() -> Float[Tensor, "b s h"]:
    return torch.randn(DIALOGUES, TOKENS + WORDS, 16, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def image() -> Float[Tensor, "b i x"]:
    return torch.randn(DIALOGUES, 6, 10, generator=torch.Generator().manual_seed(2))


def there(*lengths: int) -> Bool[Tensor, "b s"]:
    """Tokens, and as many words as each text has."""
    return torch.arange(TOKENS + WORDS) < TOKENS + torch.tensor(lengths)[:, None]


def test_weights_have_the_published_names(pair: tuple[QFormer, Blip2QFormerModel]) -> None:
    ours, stock = pair
    assert ours.state_dict().keys() == stock.state_dict().keys()
    looking = {name.split(".")[2] for name in ours.state_dict() if ".crossattention." in name}
    assert looking == {"0", "2"}  # every second layer


@torch.no_grad()
@pytest.mark.parametrize("lengths", [(5, 5, 5), (5, 2, 0)])
def test_with_a_picture_it_is_the_stock_one(
    pair: tuple[QFormer, Blip2QFormerModel],
    places: Float[Tensor, "b s h"],
    image: Float[Tensor, "b i x"],
    lengths: tuple[int, ...],
) -> None:
    ours, stock = pair
    there_bs = there(*lengths)
    found_bsh = ours.read(places, there_bs, TOKENS, image)
    expected = stock(places, TOKENS, attention_mask=there_bs, encoder_hidden_states=image)
    assert torch.allclose(found_bsh[there_bs], expected.last_hidden_state[there_bs], atol=1e-5)


@torch.no_grad()
def test_without_a_picture_the_stock_one_raises_and_here_all_places_are_text(
    pair: tuple[QFormer, Blip2QFormerModel], places: Float[Tensor, "b s h"]
) -> None:
    ours, stock = pair
    there_bs = there(5, 3, 1)
    with pytest.raises(ValueError, match="encoder_hidden_states"):
        stock(places, TOKENS, attention_mask=there_bs)
    expected = stock(places, 0, attention_mask=there_bs).last_hidden_state
    found_bsh = ours.read(places, there_bs, TOKENS)
    assert torch.allclose(found_bsh[there_bs], expected[there_bs], atol=1e-5)
    assert torch.equal(found_bsh, ours.read(places, there_bs))


def trained(ours: QFormer, found_bsh: Float[Tensor, "b s h"]) -> set[str]:
    """The parts of layers that get a gradient."""
    ours.zero_grad()
    torch.autograd.backward(found_bsh.square().sum())
    names = [name for name, parameter in ours.named_parameters() if parameter.grad is not None]
    return {name.split(".")[3] for name in names if name.startswith("encoder")}


def test_layers_that_look_play_no_role_without_a_picture(
    pair: tuple[QFormer, Blip2QFormerModel], places: Float[Tensor, "b s h"], image: Float[Tensor, "b i x"]
) -> None:
    text = {"attention", "intermediate", "output"}
    ours, everywhere = pair[0], there(5, 5, 5)
    assert trained(ours, ours.read(places, everywhere, TOKENS)) == text
    looking = {"crossattention", "intermediate_query", "output_query"}
    assert trained(ours, ours.read(places, everywhere, TOKENS, image)) == text | looking


@torch.no_grad()
def test_a_picture_is_seen_by_tokens_and_through_them_by_the_text(
    pair: tuple[QFormer, Blip2QFormerModel], places: Float[Tensor, "b s h"], image: Float[Tensor, "b i x"]
) -> None:
    ours, everywhere = pair[0], there(5, 5, 5)
    changed_bsh = ours.read(places, everywhere, TOKENS, image) - ours.read(places, everywhere, TOKENS, image + 1)
    assert bool((changed_bsh.abs().amax(dim=-1) > 1e-4).all())


@torch.no_grad()
@pytest.mark.parametrize("seen", [True, False])
def test_what_is_not_there_is_not_looked_at(
    pair: tuple[QFormer, Blip2QFormerModel], places: Float[Tensor, "b s h"], image: Float[Tensor, "b i x"], seen: bool
) -> None:
    ours, there_bs, looked = pair[0], there(2, 2, 2), image if seen else None
    other_bsh = torch.where(there_bs[..., None], places, 99.0)
    shorter_bsh = ours.read(places[:, : TOKENS + 2], there_bs[:, : TOKENS + 2], TOKENS, looked)
    for some_bsh in (places, other_bsh):
        found_bsh = ours.read(some_bsh, there_bs, TOKENS, looked)
        assert torch.allclose(found_bsh[:, : TOKENS + 2], shorter_bsh, atol=1e-5)


def test_sizes_are_those_of_the_settings() -> None:
    config = qformer_config(Model(width=24, heads=3, hidden=40, layers=5, cross_every=3, dropout=0.25), image_width=7)
    assert (config.hidden_size, config.num_attention_heads, config.intermediate_size) == (24, 3, 40)
    assert (config.num_hidden_layers, config.cross_attention_frequency, config.encoder_hidden_size) == (5, 3, 7)
    assert config.hidden_dropout_prob == config.attention_probs_dropout_prob == 0.25
