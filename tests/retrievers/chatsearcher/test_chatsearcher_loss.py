"""The queue and the losses, by hand."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from viewfinder.retrievers.chatsearcher.loss import (
    NOBODY,
    FeatureQueue,
    combine_losses,
    excluded_negatives,
    picture_loss,
    symmetric_picture_loss,
    word_loss,
)
from viewfinder.retrievers.chatsearcher.settings import ChatSearcherLossSettings

ONE = torch.tensor(1.0)


def pictures(*rows: int) -> tuple[Tensor, Tensor]:
    """Pictures whose one number is their row."""
    return torch.tensor([[float(row)] for row in rows]), torch.tensor(rows)


def filled(size: int, *batches: tuple[int, ...]) -> FeatureQueue:
    queue = FeatureQueue(size, width=1)
    for batch in batches:
        queue.enqueue(*pictures(*batch))
    return queue


def rows_of(queue: FeatureQueue) -> list[int]:
    rows: list[int] = queue.get_buffer("rows").tolist()
    return rows


# -- the queue


def test_the_first_in_is_the_first_out() -> None:
    queue = filled(4, (1, 2), (3,))
    assert rows_of(queue) == [3, 1, 2, NOBODY]
    queue.enqueue(*pictures(4, 5))
    assert rows_of(queue) == [4, 5, 3, 1]  # 2 is the oldest of the three before with 1, and the last of them
    assert queue.get_buffer("vectors")[:, 0].tolist() == [4, 5, 3, 1]


def test_a_batch_is_among_what_it_is_told_from_before_it_is_in_the_queue() -> None:
    queue = filled(4, (1, 2, 3))
    pool = queue.with_batch(*pictures(7, 8))
    assert pool.rows_n.tolist() == [7, 8, 1, 2]  # no more than the queue holds
    assert pool.whole_nx[:, 0].tolist() == [7, 8, 1, 2]
    assert rows_of(queue) == [1, 2, 3, NOBODY]  # asking changes nothing


def test_a_batch_larger_than_the_queue_is_whole() -> None:
    queue = filled(2, (9,))
    assert queue.with_batch(*pictures(1, 2, 3)).rows_n.tolist() == [1, 2, 3]
    queue.enqueue(*pictures(1, 2, 3))
    assert rows_of(queue) == [1, 2]


@given(st.integers(1, 6), st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), max_size=5))
def test_the_queue_holds_the_newest_batches(size: int, batches: list[list[int]]) -> None:
    """Slowly: all batches, the newest in front, cut at the size."""
    queue = filled(size, *(tuple(batch) for batch in batches))
    newest = [row for batch in reversed(batches) for row in batch]
    assert rows_of(queue) == (newest + [NOBODY] * size)[:size]


def test_the_queue_is_kept_with_the_network_and_needs_no_gradients() -> None:
    queue = filled(3, (1, 2))
    again = FeatureQueue(3, width=1)
    again.load_state_dict(queue.state_dict())
    assert rows_of(again) == [1, 2, NOBODY]
    assert not list(queue.parameters())


# -- what is left out


def test_empty_places_and_copies_are_no_wrong_answers() -> None:
    rows_n = torch.tensor([5, 6, 5, NOBODY])
    right_q = torch.tensor([0, 1])
    assert excluded_negatives(right_q, rows_n).tolist() == [
        [False, False, True, True],  # picture 5 is right at place 0; at place 2 it is its own copy
        [False, False, False, True],
    ]


# -- pictures


def test_the_right_picture_is_in_the_denominator() -> None:
    """At temperature 1/2 similarities 0.5 and 0 are e and 1: P = e / (e + 1)."""
    similarities_qn = torch.tensor([[0.5, 0.0, 9.0]])
    out_qn = torch.tensor([[False, False, True]])
    lost = picture_loss(similarities_qn, torch.tensor([0]), out_qn, torch.tensor(0.5))
    assert float(lost) == pytest.approx(-math.log(math.e / (math.e + 1)))


def test_a_queue_of_one_picture_has_nothing_to_tell() -> None:
    out_qn = torch.zeros(1, 1, dtype=torch.bool)
    assert float(picture_loss(torch.tensor([[0.3]]), torch.tensor([0]), out_qn, ONE)) == 0


def test_nothing_that_is_looked_for_costs_nothing_and_still_has_gradients() -> None:
    similarities_qn = torch.zeros(0, 4, requires_grad=True)
    nothing = torch.zeros(0, dtype=torch.int64)
    for loss in (picture_loss, symmetric_picture_loss):
        lost = loss(similarities_qn, nothing, torch.zeros(0, 4, dtype=torch.bool), ONE)
        [gradient_qn] = torch.autograd.grad(lost, similarities_qn)
        assert float(lost.detach()) == 0 and gradient_qn.shape == (0, 4)


def test_both_ways_is_the_mean_of_rows_and_columns() -> None:
    """Two queries and pictures: rows lose ln(1 + e^-2) and ln(1 + e^-1), columns ln(1 + e^-3) and ln(1 + e^0)."""
    similarities_qn = torch.tensor([[3.0, 1.0], [0.0, 1.0]])
    found = symmetric_picture_loss(similarities_qn, torch.arange(2), torch.zeros(2, 2, dtype=torch.bool), ONE)
    lost = [math.log1p(math.exp(-gap)) for gap in (2.0, 1.0, 3.0, 0.0)]
    assert float(found) == pytest.approx(sum(lost) / 4)


def test_pictures_that_nobody_looks_for_do_not_look_for_queries() -> None:
    """The second picture was only shown: it is a wrong answer, and has no query of its own."""
    similarities_qn = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    right_q = torch.tensor([0, 2])
    found = symmetric_picture_loss(similarities_qn, right_q, torch.zeros(2, 3, dtype=torch.bool), ONE)
    rows = [math.log(math.e + 2) - 1, math.log(math.e**2 + 2) - 2]
    columns = [math.log(math.e + 1) - 1, math.log(math.e**2 + 1) - 2]
    assert float(found) == pytest.approx((sum(rows) / 2 + sum(columns) / 2) / 2)


def test_copies_are_left_out_in_both_directions() -> None:
    """Two queries for one picture: neither is told from the other's copy."""
    out_qn = excluded_negatives(torch.arange(2), torch.tensor([5, 5]))
    assert float(symmetric_picture_loss(torch.zeros(2, 2), torch.arange(2), out_qn, ONE)) == 0


# -- words, and both


def test_words_are_scored_among_all_pieces() -> None:
    scores_pv = torch.tensor([[0.0, 0.0], [math.log(3), 0.0]])
    lost = word_loss(scores_pv, torch.tensor([1, 0]))
    assert float(lost) == pytest.approx((math.log(2) + math.log(4 / 3)) / 2)
    assert float(word_loss(torch.zeros(0, 2), torch.zeros(0, dtype=torch.int64))) == 0


@pytest.mark.parametrize(("reduction", "wanted"), [("means", 2.0 + 6.0), ("tokens", (3 * 2.0 + 6.0) / 4)])
def test_words_and_pictures_are_weighed(reduction: str, wanted: float) -> None:
    """Three words that lose 2 each, one picture that loses 6."""
    settings = ChatSearcherLossSettings(reduction=reduction)  # type: ignore[arg-type]
    assert float(combine_losses(settings, torch.tensor(2.0), 3, torch.tensor(6.0), 1)) == pytest.approx(wanted)
    assert float(combine_losses(settings, torch.tensor(0.0), 0, torch.tensor(0.0), 0)) == 0
