"""What training hides of a dialogue, and that something is always left."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.retrievers.chatir.batches import MASK, draw_masks, mask_units
from viewfinder.retrievers.chatir.settings import Masking

ROUNDS = np.array([0, 1, 3])
MANY = np.full(4000, 5)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("masking", ["none", "tokens"])
def test_without_units_to_hide_all_rounds_up_to_the_drawn_one_are_there(masking: Masking) -> None:
    there = draw_masks(masking, 0.9, ROUNDS, 3, rng())
    expected = [[False, False, False], [True, False, False], [True, True, True]]
    assert there.questions_bt.tolist() == there.answers_bt.tolist() == expected
    assert there.captions_b.all()


def test_a_caption_is_hidden_only_where_rounds_are_left() -> None:
    there = draw_masks("captions", 0.999, np.array([0, 2, 2]), 2, rng())
    assert there.captions_b.tolist() == [True, False, False]
    assert there.questions_bt[1:].all() and there.answers_bt[1:].all()


@pytest.mark.parametrize(("masking", "kept"), [("questions", "answers_bt"), ("answers", "questions_bt")])
def test_the_other_half_of_a_round_stays(masking: Masking, kept: str) -> None:
    there = draw_masks(masking, 0.5, MANY, 5, rng())
    halves = {"questions_bt": there.questions_bt, "answers_bt": there.answers_bt}
    assert halves.pop(kept).all()
    [hidden] = halves.values()
    assert 0.45 < hidden.mean() < 0.55


def test_rounds_are_hidden_whole() -> None:
    there = draw_masks("rounds", 0.2, MANY, 5, rng())
    np.testing.assert_array_equal(there.questions_bt, there.answers_bt)
    assert there.questions_bt.mean() == pytest.approx(0.8, abs=0.02)


def test_a_fifth_of_the_captions_is_hidden() -> None:
    assert draw_masks("captions", 0.2, MANY, 5, rng()).captions_b.mean() == pytest.approx(0.8, abs=0.03)


@given(st.sampled_from(get_args(Masking)), st.lists(st.integers(0, 4), min_size=1), st.integers(0, 99))
def test_never_is_everything_hidden(masking: Masking, rounds: list[int], seed: int) -> None:
    there = draw_masks(masking, 0.95, np.array(rounds), 4, rng(seed))
    assert (there.captions_b | there.questions_bt.any(axis=1) | there.answers_bt.any(axis=1)).all()


@given(st.lists(st.sampled_from(["a", "dog", "no,"]), min_size=2, max_size=6), st.integers(0, 99))
def test_hidden_words_leave_one_and_the_places_of_the_others(words: list[str], seed: int) -> None:
    masked = mask_units(words, MASK, 0.9, rng(seed))
    assert len(masked) == len(words) and masked != [MASK] * len(words)
    assert all(now in (MASK, before) for now, before in zip(masked, words, strict=True))


def test_a_share_of_the_tokens_is_replaced() -> None:
    masked = mask_units(range(1000), -1, 0.2, rng())
    assert masked.count(-1) / 1000 == pytest.approx(0.2, abs=0.04)
    assert mask_units([], -1, 0.2, rng()) == []


def test_a_single_token_may_go() -> None:
    assert {tuple(mask_units([7], -1, 0.5, rng(seed))) for seed in range(20)} == {(7,), (-1,)}
