"""A bootstrap interval over sessions: how far a mean would move with other sessions of the same kind.

Percentile bootstrap (Efron and Tibshirani, "An introduction to the bootstrap", 1993, chapter 13): draw as
many sessions as there are, with replacement, take the mean, do so `resamples` times; the interval holds the
middle 95 % of those means. A session is drawn whole, as its turns depend on each other. For two systems on
the same sessions, give the differences per session: if the interval leaves out 0, one is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Real

DRAWN_AT_ONCE = 1_000_000
"""Session numbers held in memory at a time."""


@dataclass(frozen=True)
class Interval:
    """The mean of the sessions and the ends of its interval."""

    mean: float
    low: float
    high: float


def bootstrap_interval(
    values_s: Real[np.ndarray, " s"] | Sequence[float | int],
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Interval for the mean of one value a session (0 or 1 for a hit, a rank, a difference); seeded.

    Raises:
        ValueError: there are no sessions, a value is not finite, or `level` is not between 0 and 1.
    """
    sessions_s = np.asarray(values_s, dtype=np.float64)
    if not sessions_s.size or not np.isfinite(sessions_s).all():
        raise ValueError(f"{sessions_s.size} sessions: an interval needs at least one, and only finite values")
    if not 0 < level < 1:
        raise ValueError(f"level={level}: the share of means inside the interval is between 0 and 1, such as 0.95")
    means_r = _resampled_means(sessions_s, resamples, np.random.default_rng(seed))
    low, high = np.quantile(means_r, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(sessions_s.mean()), float(low), float(high))


def _resampled_means(
    sessions_s: Float[np.ndarray, " s"], resamples: int, random: np.random.Generator
) -> Float[np.ndarray, " r"]:
    rows = max(1, DRAWN_AT_ONCE // len(sessions_s))
    starts = range(0, resamples, rows)
    draws = (random.integers(0, len(sessions_s), (min(rows, resamples - start), len(sessions_s))) for start in starts)
    return np.concatenate([sessions_s[drawn_rs].mean(axis=1) for drawn_rs in draws])
