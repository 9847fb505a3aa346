"""A catalogue column as a question: which columns are worth asking for, and the answers they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from viewfinder.questioners.answers import parse_number
from viewfinder.questioners.base import Column
from viewfinder.questioners.wording import YES_NO, is_amount_column, is_record_column

MOST_VALUES_TO_NAME = 12
LONGEST_VALUE = 32
MOST_WORDS = 3.5
UNKNOWN = frozenset({"", "na", "n/a", "nan", "none", "null", "unknown", "-", "--", "?"})


@dataclass(frozen=True, eq=False)
class ColumnSplit:
    """The answers a column has among the candidates, and which each candidate has (-1: not known).

    `ordered` says that the labels are ranges, to be shown in their own order.
    """

    labels: tuple[str, ...]
    codes_c: Int[np.ndarray, " c"]
    ordered: bool = False


def split_column(name: str, column: Column, probabilities_c: Float[np.ndarray, " c"]) -> ColumnSplit | None:
    """How a column splits the candidates; None when it is not worth asking for.

    Not worth it: ids, file names and descriptions (by name, or by having nearly as many values as candidates,
    or by long values), and columns with fewer than two values among the candidates. Many numbers become
    ranges.
    """
    if is_record_column(name):
        return None
    values, codes_c = _present(column)
    known = int((codes_c >= 0).sum())
    if len(values) < 2:
        return None
    if len(values) > MOST_VALUES_TO_NAME:
        numbers = [parse_number(value) for value in values]
        if None not in numbers:
            if len(values) > 0.9 * known and not is_amount_column(name):
                return None
            numbers_v = np.array(numbers, np.float64)
            return _ranges(numbers_v, codes_c, probabilities_c, years=_are_years(numbers_v))
        if len(values) > 0.5 * known:
            return None
    return None if _is_free_text(values) else ColumnSplit(values, codes_c)


def _present(column: Column) -> tuple[tuple[str, ...], Int[np.ndarray, " c"]]:
    """The values that some candidate has, recoded from 0; words for "not known" become -1."""
    values, codes_c = column
    used = [int(code) for code in np.unique(codes_c) if code >= 0]
    kept = [code for code in used if values[code].strip().casefold() not in UNKNOWN]
    recoded = np.full(len(values) + 1, -1, np.int64)
    recoded[kept] = np.arange(len(kept))
    return tuple(values[code] for code in kept), recoded[codes_c]


def _is_free_text(values: Sequence[str]) -> bool:
    words = np.mean([value.count(" ") + 1 for value in values])
    return bool(words > MOST_WORDS or np.mean([len(value) for value in values]) > LONGEST_VALUE)


def column_dependence(codes_c: Int[np.ndarray, " c"], given_c: Int[np.ndarray, " c"]) -> float:
    """How far one column follows from another: of the pairs alike in `given_c`, the share alike in `codes_c`.

    A sub category follows from the article type, not the other way round. 0 when no two are alike.

    >>> article, category = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1, 1])
    >>> follows(category, article), follows(article, category)
    (1.0, 0.42857142857142855)
    """
    both_c = (codes_c >= 0) & (given_c >= 0)
    if not both_c.any():
        return 0.0
    width = int(codes_c.max()) + 1
    joint_gv = np.bincount(given_c[both_c].astype(np.int64) * width + codes_c[both_c])
    given_g = np.bincount(given_c[both_c])
    pairs = float((given_g * (given_g - 1)).sum())
    return float((joint_gv * (joint_gv - 1)).sum()) / pairs if pairs else 0.0


def is_yes_or_no(values: Sequence[str]) -> bool:
    """Whether all values are "yes", "no" or the like."""
    return {value.casefold() for value in values} <= YES_NO


def _are_years(numbers_v: Float[np.ndarray, " v"]) -> bool:
    return bool(((numbers_v >= 1000) & (numbers_v <= 2200) & (numbers_v == np.round(numbers_v))).all())


def _ranges(
    numbers_v: Float[np.ndarray, " v"],
    codes_c: Int[np.ndarray, " c"],
    probabilities_c: Float[np.ndarray, " c"],
    *,
    years: bool,
) -> ColumnSplit | None:
    """Four ranges of about equal probability, with round limits; fewer where limits coincide."""
    known_c = codes_c >= 0
    numbers_k = numbers_v[codes_c[known_c]]
    order = np.argsort(numbers_k, kind="stable")
    reached_k = np.cumsum(probabilities_c[known_c][order])
    if reached_k[-1] <= 0:
        return None
    # Just above a quarter: where it is reached exactly, the next number starts the next range.
    quarters = reached_k[-1] * np.array([0.25, 0.5, 0.75]) + 1e-9
    at = np.searchsorted(reached_k, quarters, side="right").clip(max=len(order) - 1)
    limits = [float(x) if years else _rounded(float(x)) for x in numbers_k[order][at]]
    edges = [edge for edge in sorted(set(limits)) if numbers_k.min() < edge <= numbers_k.max()]
    if not edges:
        return None
    whole = bool((numbers_v == np.round(numbers_v)).all()) and all(edge == round(edge) for edge in edges)
    ranges_c = np.full(len(codes_c), -1, np.int64)
    ranges_c[known_c] = np.searchsorted(edges, numbers_k, side="right")
    return ColumnSplit(_range_labels(edges, whole=whole, years=years), ranges_c, ordered=True)


def _rounded(number: float) -> float:
    """To two significant digits."""
    return float(f"{number:.1e}")


def _range_labels(edges: Sequence[float], *, whole: bool, years: bool) -> tuple[str, ...]:
    """Texts that `answers.is_in_range` reads back: [edge, next edge) each."""

    def text(number: float) -> str:
        return f"{number:.0f}" if years else f"{number:,.0f}" if number == round(number) else f"{number:.10g}"

    inner = [
        (text(a) if a == b - 1 and years else f"{text(a)} to {text(b - 1)}") if whole else f"{text(a)} up to {text(b)}"
        for a, b in pairwise(edges)
    ]
    first = f"before {text(edges[0])}" if years else f"under {text(edges[0])}"
    last = f"{text(edges[-1])} or later" if years else f"{text(edges[-1])} or more"
    return (first, *inner, last)
