"""A paired permutation test: could the difference of two systems on the same sessions be chance?

If the systems were the same, each session's difference would be as likely with the other sign (Fisher, "The
design of experiments", 1935). The p-value is the share of all choices of signs whose mean difference is at least
as far from 0 as the one found. Up to `EXACT` sessions that differ all choices are counted, the one found among
them; beyond, `resamples` are drawn, and the one found is added to both sides of the share, so that p is never 0
(Phipson and Smyth, "Permutation p-values should never be zero", 2010).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int8, Real

EXACT = 14
"""Sessions of which all 2^14 = 16,384 choices of signs are counted."""

SIGNS_AT_ONCE = 1_000_000
"""Signs held in memory at a time."""

ROUNDING = 1e-9
"""Relative: sums of the same numbers in another order may differ by less."""


def permutation_test(
    first_s: Real[np.ndarray, " s"] | Sequence[float | int],
    second_s: Real[np.ndarray, " s"] | Sequence[float | int],
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> float:
    """Two-sided p-value for the means of two systems' values on the same sessions; seeded.

    Sessions with equal values say nothing either way, and change nothing.

    >>> permutation_test([1, 1, 1, 1], [0, 0, 0, 0])        # of 16 choices of signs, two are as one-sided
    0.125

    Raises:
        ValueError: the sessions are not the same number, there are none, or a value is not finite.
    """
    first, second = np.asarray(first_s, dtype=np.float64), np.asarray(second_s, dtype=np.float64)
    if first.shape != second.shape or not first.size or not np.isfinite(first - second).all():
        raise ValueError(f"{len(first)} and {len(second)} sessions: the same ones are needed, all with finite values")
    differences_s = (first - second)[first != second]
    found = float(abs(differences_s.sum()) - ROUNDING * np.abs(differences_s).sum())
    if len(differences_s) <= EXACT:
        return _as_far(_all_signs(len(differences_s)), differences_s, found) / (1 << len(differences_s))
    drawn = _drawn_signs(len(differences_s), resamples, np.random.default_rng(seed))
    return (_as_far(drawn, differences_s, found) + 1) / (resamples + 1)


def _as_far(signs: Iterator[Int8[np.ndarray, "r s"]], differences_s: Float[np.ndarray, " s"], found: float) -> int:
    """How many choices of signs give a sum as far from 0 as the one found."""
    return sum(int(np.count_nonzero(np.abs(signs_rs @ differences_s) >= found)) for signs_rs in signs)


def _all_signs(count: int) -> Iterator[Int8[np.ndarray, "r s"]]:
    bits_rs = np.arange(2**count)[:, None] >> np.arange(count) & 1
    yield (2 * bits_rs - 1).astype(np.int8)


def _drawn_signs(count: int, resamples: int, random: np.random.Generator) -> Iterator[Int8[np.ndarray, "r s"]]:
    rows = max(1, SIGNS_AT_ONCE // count)
    for start in range(0, resamples, rows):
        yield 2 * random.integers(0, 2, (min(rows, resamples - start), count), dtype=np.int8) - 1
