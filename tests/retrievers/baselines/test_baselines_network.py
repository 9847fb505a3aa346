"""The networks of the baselines: their size, and what each carries from sentence to sentence."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from viewfinder.retrievers.baselines.network import END_NUMBER, BaselineNetwork
from viewfinder.retrievers.baselines.settings import SYSTEMS, BaselineSettings, System
from viewfinder.retrievers.shared.network import InputWidths

JOINT = 4
SENTENCES = [[[5, 6, 2], [7, 2], [8, 9, 10, 2]], [[9, 2], [5, 5, 5, 2], [6, 2]]]
"""Numbers of words of two dialogues of three sentences; 2 is the end."""


def network(system: System, **settings: Any) -> BaselineNetwork:
    torch.manual_seed(0)
    return BaselineNetwork(
        system, BaselineSettings(**{"width": 4, "word_width": 3, **settings}), InputWidths(5, 6, 0, 11), JOINT
    )


def padded() -> tuple[Tensor, Tensor]:
    said = [[[*numbers, *[0] * (4 - len(numbers))] for numbers in dialogue] for dialogue in SENTENCES]
    return torch.tensor(said), torch.tensor([[len(numbers) for numbers in dialogue] for dialogue in SENTENCES])


def read(model: BaselineNetwork, numbers: list[int]) -> Tensor:
    """One text, alone."""
    vector_1d: Tensor = model.read_words(torch.tensor([numbers]), torch.tensor([len(numbers)]))
    return vector_1d[0]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(("width", "count"), [(1280, 22_820_880), (640, 9_866_640)])
def test_each_has_as_many_parameters_as_the_paper_says(system: System, width: int, count: int) -> None:
    with torch.device("meta"):  # sizes only
        model = BaselineNetwork(system, BaselineSettings(width=width), InputWidths(2048, 2048, 0, 14_284), JOINT)
    assert sum(parameter.numel() for parameter in model.parameters()) == count


@torch.no_grad()
@pytest.mark.parametrize("system", SYSTEMS)
def test_gates_that_are_drawn_as_one_matrix_are_as_wide_as_torchs_gru_is(system: System) -> None:
    apart, stacked = (network(system, width=64, context_begins=way) for way in ("apart", "stacked"))
    published = torch.nn.init.xavier_uniform_(torch.nn.GRU(64, 64).get_parameter("weight_ih_l0"))
    for name, matrix in stacked.update.named_parameters():
        if matrix.dim() < 2:
            assert not matrix.any()
            continue
        # Glorot's bound for a matrix of 3 * 64 rows and 64 columns is sqrt(6 / 256) = 0.1531, of 64 rows 0.2165.
        assert 0.150 < float(matrix.abs().max()) <= 0.15310
        assert 0.212 < float(apart.update.get_parameter(name).abs().max()) <= 0.21651
        assert float(matrix.std()) == pytest.approx(float(published.std()), rel=0.04)
    others = [part for part in apart.state_dict() if not part.startswith("update.")]
    assert all(torch.equal(apart.state_dict()[part], stacked.state_dict()[part]) for part in others)


@torch.no_grad()
@pytest.mark.parametrize("system", ["hre", "r-hre"])
def test_a_context_is_carried_from_sentence_to_sentence(system: System) -> None:
    model = network(system)
    states_btd = model.read_dialogues(*padded())
    for dialogue, sentences in enumerate(SENTENCES):
        state_d = torch.zeros(4)
        for turn, numbers in enumerate(sentences):
            state_d = model.update(read(model, numbers), state_d)
            torch.testing.assert_close(states_btd[dialogue, turn], state_d)


@torch.no_grad()
def test_for_rank_fusion_every_sentence_stands_alone() -> None:
    model = network("r-rankfusion")
    states_btd = model.read_dialogues(*padded())
    for dialogue, sentences in enumerate(SENTENCES):
        for turn, numbers in enumerate(sentences):
            torch.testing.assert_close(states_btd[dialogue, turn], read(model, numbers))


@torch.no_grad()
def test_the_joint_text_is_all_sentences_so_far_with_one_end() -> None:
    assert END_NUMBER == 2
    model = network("r-re")
    states_btd = model.read_dialogues(*padded())
    texts = [[5, 6, 2], [5, 6, JOINT, 7, 2], [5, 6, JOINT, 7, JOINT, 8, 9, 10, 2]]
    for turn, numbers in enumerate(texts):
        torch.testing.assert_close(states_btd[0, turn], read(model, numbers))
    torch.testing.assert_close(states_btd[1, 2], read(model, [9, JOINT, 5, 5, 5, JOINT, 6, 2]))


@torch.no_grad()
def test_pictures_are_regions_and_for_hre_the_whole() -> None:
    regions_bke, whole_bg = torch.randn(2, 3, 5), torch.randn(2, 6)
    whole, regions = network("hre"), network("r-hre")
    torch.testing.assert_close(whole.project_pictures(regions_bke, whole_bg), whole.project(whole_bg)[:, None])
    torch.testing.assert_close(regions.project_pictures(regions_bke, whole_bg), regions.project(regions_bke))


@torch.no_grad()
@pytest.mark.parametrize(("system", "name"), [("hre", "whole"), ("r-re", "regions")])
def test_raw_vectors_are_scaled_where_asked_for(system: System, name: str) -> None:
    model = network(system, standardised=True)
    assert {key for key, _ in model.named_buffers()} == {f"{name}_mean", f"{name}_deviation"}
    model.get_buffer(f"{name}_mean").fill_(1.0)
    model.get_buffer(f"{name}_deviation").fill_(2.0)
    regions_bke, whole_bg = torch.randn(2, 3, 5), torch.randn(2, 6)
    regions_bke[0, 1], whole_bg[1] = 0.0, 0.0  # missing
    raw = whole_bg[:, None] if system == "hre" else regions_bke
    found = model.project_pictures(regions_bke, whole_bg)
    torch.testing.assert_close(found[0, 0], model.project((raw[0, 0] - 1) / 2))
    assert not found[1 if system == "hre" else 0, 0 if system == "hre" else 1].any()
