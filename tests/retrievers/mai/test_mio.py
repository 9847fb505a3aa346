"""Which tokens are kept: by hand on four tokens, against plain loops on many, and in numpy as in torch."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from viewfinder.retrievers.mai import memory, numpy_network
from viewfinder.retrievers.mai.settings import Iteration

Places = list[list[float]]

LINE: Places = [[0.0], [1.0], [3.0], [8.0]]
"""Four tokens of one number each, so that distances are differences and the root of the width is 1."""

FORMS: list[dict[str, Any]] = [
    {"density": density, "distance": distance, "neighbours": neighbours, "drop": drop}
    for density in ("tcformer", "paper")
    for distance in ("denser", "nearest")
    for neighbours, drop in ((1, 0.0), (3, 0.25), (50, 0.5))
]


def chosen(tokens: Places, count: int, **form: Any) -> list[int]:
    """What torch chooses, after numpy was seen to choose the same."""
    read = Iteration(**form)
    [found_k] = memory.choose_places(torch.tensor([tokens]), count, read).tolist()
    assert numpy_network.numpy_choose_places(np.array(tokens, np.float32), count, read).tolist() == found_k
    return [int(place) for place in found_k]


def obvious(tokens: Places, form: dict[str, Any]) -> tuple[list[float], list[float]]:
    """Logarithms of densities, and of densities times distances, one token after another, in double precision."""
    places, paper = range(len(tokens)), form["density"] == "paper"
    unit = 1.0 if paper else math.sqrt(len(tokens[0]))
    apart = [[math.dist(tokens[one], tokens[other]) / unit for other in places] for one in places]
    density = []
    for one in places:
        others = sorted(apart[one][other] for other in places if other != one or not paper)[: form["neighbours"]]
        density.append(-sum(length**2 for length in others) / len(others))
    scores = []
    for one in places:
        rivals = [other for other in places if other != one]
        if form["distance"] == "denser":
            rivals = [other for other in places if (density[other], -other) > (density[one], -one)]
        far = min(apart[one][other] for other in rivals) if rivals else max(apart[one])
        scores.append(density[one] + math.log(far))
    return density, scores


def best(density: list[float], scores: list[float], count: int, drop: float) -> list[int]:
    """The places of the greatest scores among those that are not dropped for their density."""
    dropped = min(int(drop * len(scores)), len(scores) - count)
    left = sorted(range(len(scores)), key=lambda place: -density[place])[: len(scores) - dropped]
    return sorted(sorted(left, key=lambda place: (-scores[place], place))[:count])


def closest(numbers: list[float]) -> float:
    """How near two of the numbers come to each other that are not the same."""
    ordered = sorted({*numbers, math.inf})
    return min(right - left for left, right in pairwise(ordered))


def test_density_counts_a_token_itself_or_not() -> None:
    apart_btt = memory.token_distances(torch.tensor([LINE]))
    assert apart_btt.tolist() == [[[0, 1, 3, 8], [1, 0, 2, 7], [3, 2, 0, 5], [8, 7, 5, 0]]]
    # itself and one more: (0 + 1) / 2, (0 + 1) / 2, (0 + 4) / 2, (0 + 25) / 2
    own = memory.token_log_densities(apart_btt, Iteration(neighbours=2))
    assert own.tolist() == [[-0.5, -0.5, -2.0, -12.5]]
    # two others: (1 + 9) / 2, (1 + 4) / 2, (4 + 9) / 2, (25 + 49) / 2
    others = memory.token_log_densities(apart_btt, Iteration(density="paper", neighbours=2))
    assert others.tolist() == [[-5.0, -2.5, -6.5, -37.0]]


def test_a_peak_is_far_from_what_is_denser_and_the_densest_from_everything() -> None:
    apart_btt, density_bt = memory.token_distances(torch.tensor([LINE])), torch.tensor([[-0.5, -0.5, -2.0, -12.5]])
    # The first two are as dense; the earlier one goes first: to the farthest. 1 to 0; 3 to 1; 8 to 3.
    assert memory.peak_distances(apart_btt, density_bt, Iteration()).tolist() == [[8.0, 1.0, 2.0, 5.0]]
    assert memory.peak_distances(apart_btt, density_bt, Iteration(distance="nearest")).tolist() == [
        [1.0, 1.0, 2.0, 5.0]
    ]


def test_the_choice_can_be_followed_by_hand() -> None:
    # 8 e^-0.5 = 4.85, 1 e^-0.5 = 0.61, 2 e^-2 = 0.27, 5 e^-12.5 = 0.00002
    assert [chosen(LINE, count, neighbours=2) for count in (1, 2, 3)] == [[0], [0, 1], [0, 1, 2]]
    # 1 e^-5 = 0.007, 7 e^-2.5 = 0.57, 2 e^-6.5 = 0.003, 5 e^-37
    paper: dict[str, Any] = {"density": "paper", "neighbours": 2}
    assert [chosen(LINE, count, **paper) for count in (1, 2, 3)] == [[1], [0, 1], [0, 1, 2]]


def test_distances_are_by_the_root_of_the_width_only_in_one_form() -> None:
    """Points of 4 equal numbers: 0, 2 and 3 along the diagonal are 4 and 6 apart, or 2 and 3 by the root."""
    tokens = [[0.0] * 4, [2.0] * 4, [3.0] * 4]
    apart_btt = memory.token_distances(torch.tensor([tokens]))
    assert apart_btt.tolist() == [[[0, 4, 6], [4, 0, 2], [6, 2, 0]]]
    # By the root, itself and the next: -2, -0.5, -0.5: 1 is the densest (3 at most: 2); 2 e^-2, 2 e^-.5, 1 e^-.5.
    assert chosen(tokens, 2, neighbours=2) == [1, 2]
    # Plain, the next one: -16, -4, -4: 4 e^-16, 4 e^-4, 2 e^-4.
    assert chosen(tokens, 1, density="paper", neighbours=1) == [1]


def test_what_lies_alone_can_be_dropped_first() -> None:
    """1/4 less dense than the rest, the last token of 0, 1/2, 1 and 5/2 is kept for its distance, unless it is dropped.

    Scores: 2.5 e^-1/8 = 2.21, 0.5 e^-1/8 = 0.44 twice, 1.5 e^-9/8 = 0.49.
    """
    tokens = [[0.0], [0.5], [1.0], [2.5]]
    assert chosen(tokens, 2, neighbours=2) == [0, 3]
    assert chosen(tokens, 2, neighbours=2, drop=0.25) == [0, 1]


def test_no_more_are_dropped_than_can_be_spared() -> None:
    assert chosen(LINE, 4, drop=0.5) == [0, 1, 2, 3]
    assert chosen(LINE, 3, drop=0.5, neighbours=2) == [0, 1, 2]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_ties_go_to_earlier_tokens(form: dict[str, Any]) -> None:
    assert chosen([[3.0, 1.0]] * 6, 4, **form) == [0, 1, 2, 3]
    assert chosen([[0.0], [1.0], [10.0], [11.0]], 2, **form | {"neighbours": 2, "density": "tcformer"})[0] == 0


@pytest.mark.parametrize("form", FORMS, ids=str)
@settings(max_examples=12)
@given(seed=st.integers(0, 10_000))
def test_the_choice_is_that_of_plain_loops(form: dict[str, Any], seed: int) -> None:
    tokens_th = np.random.default_rng(seed).standard_normal((9, 3)).astype(np.float32)
    density, scores = obvious(tokens_th.tolist(), form)
    # Two tokens that are each other's nearest tie, in single precision too; what nearly ties may come out either way.
    assume(closest(scores) > 1e-4 and closest(density) > 1e-4)
    assert chosen(tokens_th.tolist(), 4, **form) == best(density, scores, 4, form["drop"])


@pytest.mark.parametrize("density", ["tcformer", "paper"])
def test_tokens_of_768_numbers_are_told_apart(density: Literal["tcformer", "paper"]) -> None:
    """Plain distances are about 39 there: exp of minus their square is 0, and all tokens would be as dense."""
    tokens_th = np.random.default_rng(0).standard_normal((64, 768)).astype(np.float32)
    form: dict[str, Any] = {"density": density, "distance": "denser", "neighbours": 32, "drop": 0.0}
    found = chosen(tokens_th.tolist(), 32, **form)
    assert found == best(*obvious(tokens_th.tolist(), form), 32, 0.0) != list(range(32))


def test_what_all_tokens_have_in_common_plays_no_role() -> None:
    far = [[number + 16384.0 for number in token] for token in LINE]
    assert memory.token_distances(torch.tensor([far])).tolist() == memory.token_distances(torch.tensor([LINE])).tolist()
    assert chosen(far, 2, neighbours=2) == chosen(LINE, 2, neighbours=2)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_batch_is_each_dialogue_alone_and_numpy_is_torch(form: dict[str, Any]) -> None:
    tokens_bth = torch.randn(12, 64, 24, generator=torch.Generator().manual_seed(3))
    read = Iteration(**form)
    together_bkh = memory.select_tokens(tokens_bth, 32, read)
    for tokens_th, kept_kh in zip(tokens_bth, together_bkh, strict=True):
        assert torch.equal(memory.select_tokens(tokens_th[None], 32, read)[0], kept_kh)
        assert np.array_equal(numpy_network.numpy_select_tokens(tokens_th.numpy(), 32, read), kept_kh.numpy())


def test_the_choice_hangs_on_nothing_that_is_drawn() -> None:
    tokens_bth = torch.randn(4, 64, 8, generator=torch.Generator().manual_seed(5))
    drawn = torch.get_rng_state()
    assert torch.equal(
        memory.select_tokens(tokens_bth, 32, Iteration()), memory.select_tokens(tokens_bth, 32, Iteration())
    )
    assert torch.equal(torch.get_rng_state(), drawn)


def test_what_is_kept_has_a_gradient_and_nothing_else() -> None:
    tokens_bth = torch.tensor([LINE], requires_grad=True)
    torch.autograd.backward(memory.select_tokens(tokens_bth, 2, Iteration(neighbours=2)).square().sum())
    assert tokens_bth.grad is not None
    assert tokens_bth.grad.flatten().tolist() == [0.0, 2.0, 0.0, 0.0]  # 2 x of those that are kept, 0 and 1


def test_half_precision_does_not_choose() -> None:
    tokens_bth = torch.randn(3, 64, 32, generator=torch.Generator().manual_seed(7))
    expected_bkh = memory.select_tokens(tokens_bth, 32, Iteration())
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(memory.select_tokens(tokens_bth, 32, Iteration()), expected_bkh)
