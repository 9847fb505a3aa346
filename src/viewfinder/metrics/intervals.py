"""Bootstrap intervals over sessions, a paired permutation test, and the full names of figures.

An interval says how far a mean would move with other sessions of the same kind.

Percentile bootstrap (Efron and Tibshirani, "An introduction to the bootstrap", 1993, chapter 13): draw as
many sessions as there are, with replacement, take the mean, and repeat this `resamples` times; the interval holds the
middle 95 % of those means. A session is drawn whole, as its turns depend on each other. For two systems on
the same sessions the differences are drawn: if that interval excludes 0, one is better.

Runs of several seeds over the same sessions are drawn crosswise, seeds and sessions separately (Owen, "The pigeonhole
bootstrap", Annals of Applied Statistics 2007): the interval then holds for other seeds too. With a single seed it is
the plain interval over sessions. Three resampled seeds never spread wider than the three: if seeds differ more than
sessions the interval is too narrow, which `seeded_test` is not.

The test over seeds and sessions: a paired t-test in which both are drawn, with the degrees of freedom of whichever
varies more (Satterthwaite, Biometrics Bulletin 1946; for crossed samples: Clark, "The language-as-fixed-effect
fallacy", 1973). Flipping the signs of whole seeds would assume less, but with three seeds two of the eight choices are
always as far from 0, so that p could never go below 0.25.

Holm's correction: of several p-values the smallest is multiplied by m, the next by m - 1, and so on, and none is less
than the one before it; then the probability that any true null hypothesis is rejected is at most the level (Holm, "A
simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 1979).

The permutation test: could the difference of two systems on the same sessions be chance? If the systems were the same,
each session's difference would be equally likely with the other sign (Fisher, "The design of experiments", 1935). The
p-value is the share of all sign choices whose mean difference is at least as far from 0 as the observed one. Up to
`MAX_EXACT` sessions that differ, all choices are counted, including the observed one; beyond, `resamples` are drawn,
and the observed one is added to both sides of the share, so that p is never 0 (Phipson and Smyth, "Permutation
p-values should never be zero", 2010).

The full name of a figure says what was measured, where, on what, and by which rules. "R@10" alone says little: Fashion
IQ's is 10 points apart between two galleries that are often mixed up, and one tie rule beats another without a better
search. So a figure is never written down without its gallery, split, caption and tie rule, and two figures are compared
only if their names are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np
from jaxtyping import Float, Int64, Real

MAX_DRAWN_AT_ONCE = 1_000_000
"""How many session numbers are held in memory at a time."""


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
        ValueError: the systems have different numbers of sessions, or these have no interval.
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
        unlike_ue, which_r = np.unique(shares_re, axis=0, return_inverse=True)  # of three seeds ten
        weighted_us = unlike_ue @ floats_es
        np.add(drawn_rs, which_r.reshape(-1, 1) * weighted_us.shape[1], out=drawn_rs)  # in place: it is large
        means.append(weighted_us.take(drawn_rs).mean(axis=1))
    return _between(float(values_es.mean()), means)


def median_interval(values_s: Values, *, seed: int = 0) -> Interval:
    """Interval for the median of one value a session, which takes the place of the mean; seeded."""
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
    rows = max(1, MAX_DRAWN_AT_ONCE // sessions)
    for start in range(0, resamples, rows):
        yield random.integers(0, sessions, (min(rows, resamples - start), sessions))


def _between(middle: float, found: Sequence[Float[np.ndarray, " _"]]) -> Interval:
    low, high = np.quantile(np.concatenate(found), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(middle, float(low), float(high))


MAX_EXACT = 14
"""Maximum number of sessions of which all sign choices (2^14 = 16,384) are counted."""

MAX_SIGNS_AT_ONCE = 1_000_000
"""How many signs are held in memory at a time."""

ROUNDING = 1e-9
"""Relative: sums of the same numbers in another order may differ by less."""


def permutation_test(first_s: Values, second_s: Values, *, resamples: int = 10_000, seed: int = 0) -> float:
    """Two-sided p-value for the means of two systems' values on the same sessions; seeded.

    Sessions with equal values have no effect.

    >>> permutation_test([1, 1, 1, 1], [0, 0, 0, 0])        # of 16 choices of signs, two are as one-sided
    0.125

    Raises:
        ValueError: the systems have different numbers of sessions, there are none, or a value is not finite.
    """
    first, second = np.asarray(first_s, dtype=np.float64), np.asarray(second_s, dtype=np.float64)
    if first.shape != second.shape or not first.size or not np.isfinite(first - second).all():
        raise ValueError(f"{len(first)} and {len(second)} sessions: the same ones are needed, all with finite values")
    differences_s = (first - second)[first != second]
    found = float(abs(differences_s.sum()) - ROUNDING * np.abs(differences_s).sum())
    count, as_far = len(differences_s), 0
    if count <= MAX_EXACT:
        bits_rs = np.arange(2**count)[:, None] >> np.arange(count) & 1
        return float(np.count_nonzero(np.abs((2 * bits_rs - 1) @ differences_s) >= found) / (1 << count))
    random, rows = np.random.default_rng(seed), max(1, MAX_SIGNS_AT_ONCE // count)
    for start in range(0, resamples, rows):
        signs_rs = 2 * random.integers(0, 2, (min(rows, resamples - start), count), dtype=np.int8) - 1
        as_far += int(np.count_nonzero(np.abs(signs_rs @ differences_s) >= found))
    return (as_far + 1) / (resamples + 1)


def seeded_test(values_es: Real[np.ndarray, "e s"], *, above: float = 0.0) -> tuple[float, float]:
    """One-sided p-values for the mean over e runs (training seeds) and s sessions: that it is not above, not below.

    The variance of the mean is that of the seeds' means over e plus that of the sessions' means over s, so a seed's
    effect on single sessions counts in both: the test is conservative. With one run it is the t-test of the sessions.
    If nothing differs at all, the mean is taken as exact.

    >>> seeded_test(np.array([[1.0, 2.0, 3.0]]), above=2.0)
    (0.5, 0.5)

    Raises:
        ValueError: there are fewer than two sessions, or a value is not finite.
    """
    from scipy.stats import t

    values_es = values_es.astype(np.float64)
    sizes = values_es.shape
    if not values_es.size or sizes[1] < 2 or not np.isfinite(values_es).all():
        raise ValueError(f"{sizes[0]} x {sizes[1]} values: a test needs at least two sessions, and only finite values")
    spreads = [values_es.mean(axis=1 - axis).var(ddof=1) / sizes[axis] for axis in (0, 1) if sizes[axis] > 1]
    variance, beyond = sum(spreads), float(values_es.mean()) - above
    if variance <= (ROUNDING * np.abs(values_es).max()) ** 2:
        return float(beyond <= 0), float(beyond >= 0)
    freedom = variance**2 / sum(
        spread**2 / (size - 1) for spread, size in zip(spreads, (n for n in sizes if n > 1), strict=True)
    )
    statistic = beyond / variance**0.5
    return float(t.sf(statistic, freedom)), float(t.cdf(statistic, freedom))


def correct_holm(p_values: Sequence[float]) -> list[float]:
    """The p-values of one family, Holm-corrected; in their order.

    >>> correct_holm([0.03, 0.01, 0.02])     # 0.01 x 3; the larger of that and 0.02 x 2; of that and 0.03 x 1
    [0.04, 0.03, 0.04]
    """
    corrected, largest = [0.0] * len(p_values), 0.0
    for done, at in enumerate(np.argsort(p_values, kind="stable")):
        largest = max(largest, min(1.0, (len(p_values) - done) * p_values[at]))
        corrected[at] = largest
    return corrected


SEPARATOR = " | "
"""Separates the parts of a name joined in one line; no part may contain it."""


@dataclass(frozen=True, kw_only=True)
class MeasureName:
    """The full name of a figure.

    Attributes:
        metric: the measure and its depth, such as "R@10", "Hits@10", "ATR frozen at 10", "P".
        at: the moment, such as "turn 3", "round 10" or "last turn".
        gallery: which pictures are ranked, and how many: "test, 1000 pictures".
        split: the part of the data that the sessions come from.
        caption: how captions were used, such as "first two joined"; "none" if there are none.
        ties: the tie rule, or "none" if nothing is ranked.

    Raises:
        ValueError: a part is empty, has spaces around it or more than one line, or contains " | ".
    """

    metric: str
    at: str
    gallery: str
    split: str
    caption: str
    ties: str

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value or value != value.strip() or SEPARATOR in value or not value.isprintable():
                raise ValueError(f"{name}={value!r}: every part of a name is one line of text without {SEPARATOR!r}")


@dataclass(frozen=True)
class Measure:
    """A figure under its full name: the mean with its interval, and the number of sessions."""

    name: MeasureName
    interval: Interval
    sessions: int

    def to_json(self) -> dict[str, object]:
        """A flat record: the parts of the name, then the figures."""
        return {**asdict(self.name), **asdict(self.interval), "sessions": self.sessions}

    @classmethod
    def from_json(cls, record: Mapping[str, object]) -> Measure:
        """The measure written by `to_json`.

        Raises:
            ValueError: a part is missing, unknown or of the wrong type.
        """
        rest = dict(record)
        sessions = rest.pop("sessions", None)
        found: list[float] = []
        for part in ("mean", "low", "high"):
            value = rest.pop(part, None)
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise ValueError(f"{part}={value!r}: a measure has a number there")
            found.append(float(value))
        parts = {field.name for field in fields(MeasureName)}
        if set(rest) != parts:
            raise ValueError(f"a name has the parts {sorted(parts)}, this record has {sorted(rest)}")
        texts = {part: value for part, value in rest.items() if isinstance(value, str)}
        if wrong := sorted(parts - set(texts)):
            raise ValueError(f"{wrong[0]}={rest[wrong[0]]!r}: the parts of a name are text")
        if type(sessions) is not int or sessions < 1:
            raise ValueError(f"sessions={sessions!r}: a measure says over how many sessions it is")
        return cls(MeasureName(**texts), Interval(*found), sessions)
