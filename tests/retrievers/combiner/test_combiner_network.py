"""The network of a Combiner: what its parts do, one by one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from viewfinder.errors import BadInput
from viewfinder.retrievers.combiner.network import CombinerNetwork
from viewfinder.retrievers.combiner.settings import CombinerPreset, CombinerSettings
from viewfinder.retrievers.combiner.train import PRESETS
from viewfinder.training import load_preset

WIDTH = 4


def network(**settings: Any) -> CombinerNetwork:
    torch.manual_seed(0)
    return CombinerNetwork(CombinerSettings(**({"projection": 3, "hidden": 5} | settings)), WIDTH).eval()


def said(turns: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Unit vectors of texts and pictures of two dialogues."""
    rng = torch.Generator().manual_seed(seed)
    texts, pictures = normalize(torch.randn(2, 2, turns, WIDTH, generator=rng), dim=-1).unbind()
    return texts, pictures


@torch.no_grad()
def test_without_a_mixture_the_query_lies_between_picture_and_text_as_the_share_says() -> None:
    model = network()
    model.out.weight.zero_()
    model.out.bias.zero_()
    model.share_out.weight.zero_()
    text, picture = torch.tensor([[1.0, 0, 0, 0]]), torch.tensor([[0.0, 1, 0, 0]])
    for bias, expected in ((0.0, [0.5, 0.5]), (50.0, [1.0, 0.0]), (-50.0, [0.0, 1.0])):
        model.share_out.bias.fill_(bias)
        found = model.combine(torch.zeros(1, WIDTH), text, picture)
        torch.testing.assert_close(found, normalize(torch.tensor([[*expected, 0.0, 0.0]]), dim=-1))


@torch.no_grad()
def test_what_is_mixed_from_both_is_added_to_them() -> None:
    model, (texts, pictures) = network(), said(1)
    joined = torch.cat([torch.relu(model.text(texts[:, 0])), torch.relu(model.picture(pictures[:, 0]))], dim=-1)
    share = torch.sigmoid(model.share_out(torch.relu(model.share(joined))))
    mixed = model.out(torch.relu(model.mixed(joined)))
    expected = normalize(mixed + share * texts[:, 0] + (1 - share) * pictures[:, 0], dim=-1)
    torch.testing.assert_close(model(texts, pictures)[:, 0], expected)


@torch.no_grad()
def test_a_memory_tells_turns_apart_that_are_the_same_but_for_what_came_before() -> None:
    texts, pictures = said(2)
    other_texts = torch.stack([said(1, seed=1)[0][:, 0], texts[:, 1]], dim=1)
    forgets, remembers = network(), network(memory="gru")
    torch.testing.assert_close(forgets(texts, pictures)[:, 1], forgets(other_texts, pictures)[:, 1])
    assert not torch.allclose(remembers(texts, pictures)[:, 1], remembers(other_texts, pictures)[:, 1], atol=1e-4)


@torch.no_grad()
def test_the_first_turn_of_a_dialogue_is_read_as_one_alone() -> None:
    model, (texts, pictures) = network(memory="gru"), said(3)
    plain = CombinerNetwork(CombinerSettings(projection=3, hidden=5), WIDTH).eval()
    plain.load_state_dict({name: array for name, array in model.state_dict().items() if name in plain.state_dict()})
    torch.testing.assert_close(model(texts, pictures)[:, 0], plain(texts[:, :1], pictures[:, :1])[:, 0])


@torch.no_grad()
def test_dialogues_of_a_batch_do_not_meet() -> None:
    model, (texts, pictures) = network(memory="gru"), said(3)
    alone = torch.cat([model(texts[:1], pictures[:1]), model(texts[1:], pictures[1:])])
    torch.testing.assert_close(model(texts, pictures), alone)


def test_what_is_dropped_is_dropped_in_training_alone() -> None:
    model, (texts, pictures) = network(dropout=0.5), said(1)
    torch.testing.assert_close(model(texts, pictures), model(texts, pictures))
    model.train()
    assert not torch.allclose(model(texts, pictures), model(texts, pictures))


def test_the_last_turn_teaches_what_is_remembered_of_the_first() -> None:
    model, (texts, pictures) = network(memory="gru"), said(2)
    texts.requires_grad_()
    model(texts, pictures)[:, 1].sum().backward()
    assert texts.grad is not None
    assert (texts.grad[:, 0].abs().sum(dim=-1) > 0).all()


def test_the_paper_table_is_the_published_training() -> None:
    preset = load_preset(PRESETS, "paper", CombinerPreset)
    model, training = preset.model, preset.training
    assert (model.projection, model.hidden, model.dropout, preset.scale) == (2560, 5120, 0.5, 100.0)
    assert (model.memory, model.texts, model.rollback) == ("none", "whole", "ignore")
    assert (preset.repeats, load_preset(PRESETS, "lab", CombinerPreset).repeats) == ("wrong", "left_out")
    assert (preset.batch, training.optimiser, training.learning_rate, training.epochs) == (4096, "adam", 2e-5, 300)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("model.hidden=0", "hidden is 0; it must be at least 1"),
        ("model.dropout=1.0", "dropout is 1.0; it must be at least 0 and below 1"),
        ("batch=1", "batch is 1; a transaction needs another one to be told from"),
        ("scale=0.0", "scale is 0.0; it must be above 0"),
        ("transactions=-1", "transactions is -1; it must be at least 0"),
    ],
)
def test_settings_of_a_combiner_that_cannot_be_are_refused(setting: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        load_preset(PRESETS, "lab", CombinerPreset, [setting])
