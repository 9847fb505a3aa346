"""Policy improvement: the loss by hand, candidates tried to the end, and a second stage that ends better."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from viewfinder.errors import BadInput
from viewfinder.retrievers.fashioniq.dialogues import FeedbackDialogues, GarmentKind, SentenceTable, measure_rollouts
from viewfinder.retrievers.fashioniq.network import Feedback, RecurrentRetriever
from viewfinder.retrievers.fashioniq.settings import FashionIqPreset, PolicySettings, RecurrentModel, TransformerModel
from viewfinder.retrievers.fashioniq.train import (
    FashionIqTrainingData,
    choice_loss,
    make_job,
    make_policy_job,
    policy_loss,
    try_candidates,
)
from viewfinder.retrievers.shared.network import WordVectors
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import ColourEncoder
from viewfinder.training import Card, TrainingSettings

PICTURES, WIDTH, WORDS = 6, 4, 8


def network() -> RecurrentRetriever:
    torch.manual_seed(0)
    settings = RecurrentModel(width=WIDTH, filters=5, words="learned", word_width=3, most_words=2, attributes=0)
    model = RecurrentRetriever(settings, WIDTH, WordVectors(settings, None, WORDS), 0).eval()
    with torch.no_grad():  # so that what is said and shown matters as much as after a training
        for weight in (model.sentence.out.weight, model.joint.weight, model.head.weight):
            weight.mul_(4.0)
    return model


def told(shown_b: Tensor, wanted_b: Tensor) -> Tensor:
    """A user whose words depend on both pictures."""
    return torch.stack([1 + shown_b % WORDS, 1 + (shown_b + 3 * wanted_b) % WORDS], dim=1)


def shelf() -> GarmentKind:
    nothing = SentenceTable(
        torch.zeros(1, 2, dtype=torch.long), torch.zeros(PICTURES).long(), torch.zeros(PICTURES).long()
    )
    return GarmentKind(
        kind="hats",
        row_n=torch.arange(PICTURES),
        read_nx=torch.randn(PICTURES, WIDTH, generator=torch.Generator().manual_seed(2)),
        attributes_na=torch.zeros(PICTURES, 0, dtype=torch.long),
        target_p=torch.zeros(0, dtype=torch.long),
        candidate_p=torch.zeros(0, dtype=torch.long),
        recorded=nothing,
        described=nothing,
        says=told,
    )


def dialogues(turns: int = 3) -> FeedbackDialogues:
    return FeedbackDialogues(
        kind=0,
        targets_b=torch.tensor([0, 4, 2]),
        shown_b=torch.tensor([3, 1, 5]),
        seen_b=torch.ones(3, dtype=torch.bool),
        others_bt=torch.zeros(3, turns, dtype=torch.long),
        words_btl=torch.zeros(3, turns, 2, dtype=torch.long),
        given_bt=torch.zeros(3, turns, dtype=torch.bool),
        attributed_b=torch.ones(3, dtype=torch.bool),
    )


def test_the_loss_by_hand() -> None:
    """A query at 0, the best picture at 1, another at 2, the target at 3; temperature 2: -1/2 against -4/2, and 9."""
    found = choice_loss(torch.zeros(1, 1), torch.tensor([[[1.0], [2.0]]]), torch.tensor([[3.0]]), temperature=2.0)
    assert found.item() == pytest.approx(-math.log(math.exp(-0.5) / (math.exp(-0.5) + math.exp(-2.0))) + 9.0)


def by_hand(frozen: RecurrentRetriever, turn: int, state_1h: Tensor, candidate: int, target: int) -> int:
    """One dialogue held picture by picture: the sum of the target's ranks in the turns that are left, and one more."""
    gallery_nh, total, shown = frozen.looks.project_input(shelf().read_nx), 0, candidate
    for _ in range(turn + 1, 3 + 1):
        words_1l = told(torch.tensor([shown]), torch.tensor([target]))
        heard = Feedback(words_1l, torch.zeros(1, 0).long(), gallery_nh[shown][None], torch.tensor([True]))
        state_1h, query_1h = frozen.step(state_1h, heard)
        distance_n = (gallery_nh - query_1h).square().sum(dim=1)
        total += int((distance_n < distance_n[target] - 1e-6).sum())
        shown = int(distance_n.argmin())
    return total


@pytest.mark.parametrize("turn", [0, 1, 2])
@torch.no_grad()
def test_candidates_are_tried_to_one_turn_beyond_the_end(turn: int) -> None:
    frozen, state_bh = network(), torch.randn(3, WIDTH, generator=torch.Generator().manual_seed(turn))
    candidates_bk = torch.tensor([[1, 2], [0, 5], [3, 4]])
    found_bk = try_candidates(frozen, shelf(), dialogues(), turn, state_bh, candidates_bk)
    targets = dialogues().targets_b.tolist()
    for row, some in enumerate(candidates_bk.tolist()):
        own_1h = state_bh[row : row + 1]
        assert found_bk[row].tolist() == [by_hand(frozen, turn, own_1h, shown, targets[row]) for shown in some]


POLICY = PolicySettings(epochs=3, learning_rate=3e-3, batch=3, candidates=2, negatives=3)


def test_the_loss_of_a_turn_is_about_the_candidate_after_which_the_target_ranks_best() -> None:
    model, frozen = network(), network()
    torch.manual_seed(5)
    found = policy_loss(model, frozen, shelf(), dialogues(turns=1), POLICY)[0]
    with torch.no_grad():
        gallery_nh = frozen.looks.project_input(shelf().read_nx)
        words_bl = told(dialogues().shown_b, dialogues().targets_b)
        heard = Feedback(words_bl, torch.zeros(3, 0).long(), gallery_nh[dialogues().shown_b], dialogues().seen_b)
        state_bh, queries_bh = frozen.step(frozen.begin(3), heard)
        nearest_bk = torch.cdist(queries_bh, gallery_nh).argsort(dim=1)[:, :2]
        ranks_bk = try_candidates(frozen, shelf(), dialogues(turns=1), 0, state_bh, nearest_bk)
    assert (ranks_bk[:, 0] != ranks_bk[:, 1]).any()
    best_b1 = nearest_bk.gather(1, ranks_bk.argmin(dim=1, keepdim=True))
    torch.manual_seed(5)
    choices_bc = torch.cat([best_b1, torch.randint(PICTURES, (3, 3))], dim=1)
    expected = choice_loss(queries_bh, gallery_nh[choices_bc], gallery_nh[dialogues().targets_b], POLICY.temperature)
    torch.testing.assert_close(found.detach(), expected)


def test_the_second_stage_improves_validation_and_leaves_pictures_as_they_were(tmp_path: Path) -> None:
    model, card = network(), Card(system="fashioniq", preset="rnn", encoder="none")
    before = copy.deepcopy(model.state_dict())
    policy = replace(POLICY, epochs=15, learning_rate=1e-2)
    preset = FashionIqPreset(
        model=model.settings, training=TrainingSettings(learning_rate=1.0, epochs=1), policy=policy, turns=3, batch=6
    )
    plan = TrainPlan(
        system="fashioniq",
        data=(),
        preset="rnn",
        out=tmp_path,
        encoder=ColourEncoder(),
        shown=False,
        tensorboard=False,
    )
    first = measure_rollouts(network(), (shelf(),), preset)["percentile"]
    data = FashionIqTrainingData(model, card, (shelf(),), (shelf(),))
    fitted = plan.fit(make_policy_job(make_job(preset, data), preset, data), tmp_path / "policy")
    assert fitted.best == tmp_path / "policy" / "best.safetensors"
    assert fitted.figures["percentile"] > first + 0.05
    changed = {name for name, numbers in model.state_dict().items() if not torch.equal(numbers, before[name])}
    assert {name.split(".")[0] for name in changed} == {"words", "sentence", "joint", "cell", "head"}


@pytest.mark.parametrize(
    "way", [{"model": TransformerModel()}, {"exclude_shown": True}, {"simulator": "recorded", "turns": 1}], ids=str
)
def test_only_a_recurrent_network_that_talks_with_a_simulator_is_improved(way: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"model": RecurrentModel(), "training": TrainingSettings(learning_rate=1e-3, epochs=1)}
    with pytest.raises(BadInput, match="policy improvement is of a recurrent network, with a simulator"):
        FashionIqPreset(**(usual | {"policy": PolicySettings(epochs=1)} | way))
