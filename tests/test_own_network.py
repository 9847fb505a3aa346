"""What a network for another encoder finds (benchmarks/own_network.py)."""

from __future__ import annotations

import numpy as np
from own_network import find_hits


def test_what_is_found_is_counted_after_the_last_turn_that_a_dialogue_has() -> None:
    best_st = np.array([[40.0, 9.0], [3.0, np.nan], [0.0, 10.0]])
    assert find_hits(best_st, best_st).tolist() == [1.0, 1.0, 0.0]


def test_equal_scores_share_the_mean_of_their_ranks() -> None:
    assert find_hits(np.array([[5.0], [5.0]]), np.array([[14.0], [15.0]])).tolist() == [1.0, 0.0]
