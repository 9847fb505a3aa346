"""Talks with a simulated user, followed turn by turn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viewfinder.retrievers.fashioniq.dialogues import (
    FeedbackDialogues,
    GarmentKind,
    SentenceTable,
    measure_rollouts,
    rank_percentile,
    roll_out,
    rollout_loss,
)
from viewfinder.retrievers.fashioniq.loss import squared_triplet_loss
from viewfinder.retrievers.fashioniq.network import Feedback, FeedbackNetwork, PictureEncoder
from viewfinder.retrievers.fashioniq.settings import FashionIqPreset, FeedbackReading, LossSettings, TransformerModel
from viewfinder.retrievers.shared.network import WordNumbers, target_ranks
from viewfinder.training import TrainingSettings

PLACES = torch.tensor([[0.0], [1.0], [3.0], [6.0], [10.0]])
"""Five garments on a line."""

WORDS = WordNumbers(("less", "more"), 1)


class Walker(FeedbackNetwork):
    """Looks for what is `stride` further along the line than the shown picture, to the side that is said."""

    def __init__(self, stride: float) -> None:
        super().__init__()
        self.looks = PictureEncoder(FeedbackReading(width=1, image="raw"), 1)
        self.looks.add_module("norm", torch.nn.Identity())
        torch.nn.init.ones_(self.looks.project.weight)
        self.stride = stride
        self.heard: list[Feedback] = []

    def look(self, raw_bg: Float[Tensor, "b g"]) -> Float[Tensor, "b h"]:
        return torch.as_tensor(self.looks(raw_bg))

    def begin(self, dialogues: int) -> None:
        self.heard = []

    def step(self, state: None, feedback: Feedback) -> tuple[None, Float[Tensor, "b h"]]:
        self.heard.append(feedback)
        return None, feedback.picture_bh + self.stride * (2 * feedback.words_bl - 3)


def simulated(shown_b: Int[Tensor, " b"], wanted_b: Int[Tensor, " b"]) -> Int[Tensor, "b l"]:
    return 1 + (wanted_b > shown_b).long()[:, None]


SHELF = GarmentKind(
    kind="line",
    row_n=torch.arange(5),
    read_nx=PLACES,
    attributes_na=torch.tensor([[1], [2], [3], [4], [5]]),
    target_p=torch.tensor([4]),
    candidate_p=torch.tensor([0]),
    recorded=SentenceTable.of([["more"]], WORDS),
    described=SentenceTable.of([["more"]] * 5, WORDS),
    says=simulated,
)


def dialogues(targets: list[int], shown: list[int], turns: int, **changed: Any) -> FeedbackDialogues:
    size = len(targets)
    made = FeedbackDialogues(
        kind=0,
        targets_b=torch.tensor(targets),
        shown_b=torch.tensor(shown),
        seen_b=torch.ones(size, dtype=torch.bool),
        others_bt=torch.zeros(size, turns, dtype=torch.long),
        words_btl=torch.ones(size, turns, 1, dtype=torch.long),
        given_bt=torch.zeros(size, turns, dtype=torch.bool),
        attributed_b=torch.ones(size, dtype=torch.bool),
    )
    return made._replace(**changed)


def preset(**known: Any) -> FashionIqPreset:
    return FashionIqPreset(model=TransformerModel(), training=TrainingSettings(learning_rate=1.0, epochs=1), **known)


def pictures(walker: Walker) -> list[list[float]]:
    return [feedback.picture_bh[:, 0].tolist() for feedback in walker.heard]


def test_the_best_picture_is_shown_next_and_the_simulated_user_sees_it() -> None:
    walker = Walker(2.0)
    found = [*roll_out(walker, SHELF, dialogues([4, 0], [0, 3], 3), exclude_shown=False)]
    assert [turn.queries_bh[:, 0].tolist() for turn in found] == [[2, 4], [3, 1], [5, -1]]
    # 2 is as far from 1 as from 3, and 1 comes first; 4 is nearer to 3 than to 6.
    assert pictures(walker) == [[0, 6], [1, 3], [3, 1]]
    assert [feedback.words_bl[:, 0].tolist() for feedback in walker.heard] == [[2, 1]] * 3
    assert walker.heard[2].attributes_ba[:, 0].tolist() == [3, 2]
    assert found[0].scores_bn[0].tolist() == [-4, -1, -1, -16, -64]


def test_what_was_shown_is_shown_again_unless_it_is_excluded() -> None:
    walker = Walker(0.1)  # finds what is shown already
    shown = {}
    for excluded in (False, True):
        for _ in roll_out(walker, SHELF, dialogues([4], [1], 4), exclude_shown=excluded):
            pass
        shown[excluded] = [place for (place,) in pictures(walker)]
    assert shown == {False: [1, 1, 1, 1], True: [1, 0, 3, 6]}


def test_an_excluded_picture_is_infinitely_far_but_for_the_target() -> None:
    walker = Walker(0.1)
    found = [*roll_out(walker, SHELF, dialogues([1], [0], 3), exclude_shown=True)]
    # 0 is shown, then 1, the target, which stays in sight and is not shown again.
    assert pictures(walker) == [[0], [1], [3]]
    assert [torch.isinf(turn.scores_bn[0]).nonzero()[:, 0].tolist() for turn in found] == [[0], [0], [0, 2]]
    assert [int(target_ranks(turn.scores_bn, torch.tensor([1]))) for turn in found] == [0, 0, 0]


def test_what_is_given_is_said_and_nobody_is_asked() -> None:
    walker = Walker(2.0)
    given_bt = torch.tensor([[True, False], [True, True]])
    for _ in roll_out(walker, SHELF, dialogues([4, 4], [1, 1], 2, given_bt=given_bt), exclude_shown=False):
        pass
    assert [feedback.words_bl[:, 0].tolist() for feedback in walker.heard] == [[1, 1], [2, 1]]


def test_attributes_are_hidden_for_a_whole_dialogue_and_where_nothing_is_shown() -> None:
    walker = Walker(2.0)
    hidden = {"attributed_b": torch.tensor([True, False, True]), "seen_b": torch.tensor([True, True, False])}
    for _ in roll_out(walker, SHELF, dialogues([4] * 3, [2] * 3, 2, **hidden), exclude_shown=True):
        pass
    first, second = walker.heard
    assert first.attributes_ba[:, 0].tolist() == [3, 0, 0]
    assert first.shown_b.tolist() == [True, True, False]
    assert second.attributes_ba[:, 0].tolist() == [4, 0, 4]
    assert second.shown_b.all()


def test_the_loss_of_dialogues_is_the_sum_over_their_turns() -> None:
    walker, loss = Walker(2.0), LossSettings(squared=True, margin=1.0)
    some = dialogues([4, 0], [0, 3], 3, others_bt=torch.tensor([[2, 2, 1], [1, 1, 1]]))
    summed, figures = rollout_loss(walker, SHELF, some, preset(turns=3, loss=loss))
    queries = [[2.0, 4.0], [3.0, 1.0], [5.0, -1.0]]
    others = [[3.0, 1.0], [3.0, 1.0], [1.0, 1.0]]
    expected = [
        squared_triplet_loss(
            torch.tensor(query)[:, None], torch.tensor([[10.0], [0.0]]), torch.tensor(other)[:, None], 1.0
        )
        for query, other in zip(queries, others, strict=True)
    ]
    assert summed.item() == pytest.approx(float(sum(expected)))
    # Nearer to 2 and to 3 than 10 are all four, to 5 it is three, 0 being as far; to 4, 1, -1 than 0: three, one, none.
    assert float(figures["percentile"]) == pytest.approx(1 - np.mean([[4, 3], [4, 1], [3, 0]]) / 5)
    assert float(figures["percentile_sum"]) == pytest.approx(3 - (3.5 + 2.5 + 1.5) / 5)


def test_pictures_learn_as_targets_others_and_what_is_shown() -> None:
    walker = Walker(2.0)
    summed, _ = rollout_loss(
        walker, SHELF, dialogues([4], [0], 1), preset(turns=1, loss=LossSettings(squared=True, margin=99.0))
    )
    torch.autograd.backward(summed)
    # q = 0 + 2, [(q - 10 w)^2 - (q - 0 w)^2 + 99]+ by w: -2 (2 - 10) 10 = 160
    assert walker.looks.project.weight.grad is not None
    assert float(walker.looks.project.weight.grad) == pytest.approx(160.0)


def test_ties_favour_the_target_and_percentiles_count_from_zero() -> None:
    scores_bn = torch.tensor([[1.0, 1.0, 2.0, 0.0], [3.0, 2.0, 1.0, 0.0]])
    assert target_ranks(scores_bn, torch.tensor([1, 3])).tolist() == [1, 3]
    assert rank_percentile(torch.tensor([0, 1, 3]), 4).tolist() == [1.0, 0.75, 0.25]


def test_validation_tells_means_over_all_dialogues_and_turns() -> None:
    walker = Walker(2.0)
    figures = measure_rollouts(walker, [SHELF], preset(turns=3))
    assert figures.keys() == {"percentile", "recall", "percentile_1", "percentile_3", "recall_1", "recall_3"}
    assert figures["recall"] == 1.0  # there are five pictures
    asked = replace(SHELF, says=None)  # what is said is "more" each time: another dialogue
    assert measure_rollouts(walker, [asked], preset(turns=3)) != figures
    found = [*roll_out(walker, SHELF, dialogues([0], [1], 1), exclude_shown=False)]
    assert measure_rollouts(walker, [SHELF], preset(turns=1))["percentile_1"] <= 1.0
    assert int(target_ranks(found[0].scores_bn, torch.tensor([0]))) == 0
