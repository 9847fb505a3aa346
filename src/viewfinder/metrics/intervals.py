"""Bootstrap intervals over sessions, and a paired permutation test.

An interval says how far a mean would move with other sessions of the same kind.

Percentile bootstrap (Efron and Tibshirani, "An introduction to the bootstrap", 1993, chapter 13): draw as
many sessions as there are, with replacement, take the mean, do so `resamples` times; the interval holds the
middle 95 % of those means. A session is drawn whole, as its turns depend on each other. For two systems on
the same sessions the differences are drawn: if that interval leaves out 0, one is better.

Runs of several seeds over the same sessions are drawn crosswise, seeds and sessions apart (Owen, "The pigeonhole
bootstrap", Annals of Applied Statistics 2007): the interval then holds for other seeds too. It is a careful one,
a little wide; with a single seed it is the plain interval over sessions.

The permutation test: could the difference of two systems on the same sessions be chance? If the systems were the same,
each session's difference would be as likely with the other sign (Fisher, "The design of experiments", 1935). The
p-value is the share of all choices of signs whose mean difference is at least as far from 0 as the one found. Up to
`EXACT` sessions that differ all choices are counted, the one found among them; beyond, `resamples` are drawn, and the
one found is added to both sides of the share, so that p is never 0 (Phipson and Smyth, "Permutation p-values should
never be zero", 2010).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int64, Real

DRAWN_AT_ONCE = 1_000_000
"""Session numbers held in memory at a time."""


@dataclass(frozen=True)
class Interval:
    """The mean of the sessions (of `median_interval`: their median) and the ends of its interval."""

    mean: float
    low: float
    high: float


LEVEL = 0.95
"""The share of the resampled means inside an interval."""

Values = Real[np.ndarray, " s"] | Sequence[float | int]
"""One value a session: 0 or 1 for a hit, a rank, a difference."""


def bootstrap_interval(values_s: Values, *, resamples: int = 10_000, seed: int = 0) -> Interval:
    """Interval for the mean of one value a session; seeded.

    Raises:
        ValueError: there are no sessions, or a value is not finite.
    """
    return seeded_interval(np.asarray(values_s, dtype=np.float64)[None], resamples=resamples, seed=seed)


def difference_interval(first_s: Values, second_s: Values, *, seed: int = 0) -> Interval:
    """Interval for how much larger the first system's mean is than the second's, on the same sessions; seeded.

    Raises:
        ValueError: the sessions are not the same number, or have no interval.
    """
    first, second = np.asarray(first_s, dtype=np.float64), np.asarray(second_s, dtype=np.float64)
    if first.shape != second.shape:
        raise ValueError(f"{len(first)} and {len(second)} sessions: differences need the same sessions, in one order")
    return bootstrap_interval(first - second, seed=seed)


def seeded_interval(values_es: Real[np.ndarray, "e s"], *, resamples: int = 10_000, seed: int = 0) -> Interval:
    """Interval for the mean over e runs (training seeds) and the same s sessions in each; seeded.

    Raises:
        ValueError: there are no runs or sessions, or a value is not finite.
    """
    random, seeds = np.random.default_rng(seed), len(values_es)
    floats_es = values_es.astype(np.float64)
    means = []
    for drawn_rs in _draw_sessions(floats_es, resamples, random):
        if seeds == 1:
            means.append(floats_es[0][drawn_rs].mean(axis=1))
            continue
        shares_re = random.multinomial(seeds, np.full(seeds, 1 / seeds), len(drawn_rs)) / seeds
        means.append(np.take_along_axis(shares_re @ floats_es, drawn_rs, axis=1).mean(axis=1))
    return _between(float(values_es.mean()), means)


def median_interval(values_s: Values, *, seed: int = 0) -> Interval:
    """Interval for the median of one value a session, which stands where an interval has its mean; seeded."""
    sessions_s = np.asarray(values_s, dtype=np.float64)
    draws = _draw_sessions(sessions_s, 10_000, np.random.default_rng(seed))
    medians = [np.median(sessions_s[drawn_rs], axis=1) for drawn_rs in draws]
    return _between(float(np.median(sessions_s)), medians)


def _draw_sessions(
    values: Float[np.ndarray, "*runs s"], resamples: int, random: np.random.Generator
) -> Iterator[Int64[np.ndarray, "r s"]]:
    """Session numbers drawn with replacement, a row a resample, a million at a time."""
    if not values.size or not np.isfinite(values).all():
        raise ValueError(f"{values.size} sessions: an interval needs at least one, and only finite values")
    sessions = values.shape[-1]
    rows = max(1, DRAWN_AT_ONCE // sessions)
    for start in range(0, resamples, rows):
        yield random.integers(0, sessions, (min(rows, resamples - start), sessions))


def _between(middle: float, found: Sequence[Float[np.ndarray, " _"]]) -> Interval:
    low, high = np.quantile(np.concatenate(found), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(middle, float(low), float(high))


EXACT = 14
"""Sessions of which all 2^14 = 16,384 choices of signs are counted."""

SIGNS_AT_ONCE = 1_000_000
"""Signs held in memory at a time."""

ROUNDING = 1e-9
"""Relative: sums of the same numbers in another order may differ by less."""


def permutation_test(first_s: Values, second_s: Values, *, resamples: int = 10_000, seed: int = 0) -> float:
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
    count, as_far = len(differences_s), 0
    if count <= EXACT:
        bits_rs = np.arange(2**count)[:, None] >> np.arange(count) & 1
        return np.count_nonzero(np.abs((2 * bits_rs - 1) @ differences_s) >= found) / (1 << count)
    random, rows = np.random.default_rng(seed), max(1, SIGNS_AT_ONCE // count)
    for start in range(0, resamples, rows):
        signs_rs = 2 * random.integers(0, 2, (min(rows, resamples - start), count), dtype=np.int8) - 1
        as_far += int(np.count_nonzero(np.abs(signs_rs @ differences_s) >= found))
    return (as_far + 1) / (resamples + 1)
