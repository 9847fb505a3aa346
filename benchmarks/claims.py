"""Tests the claims of claims.toml on the ranks that benchmarks keep: intervals, p-values, verdicts.

A difference is paired by seed and conversation. Its interval is a bootstrap over both (`seeded_interval`). Two p-values
are those of tests in which both are drawn (`seeded_test`): of no difference, and of one of 2 points or more.
Both are Holm-corrected over all claims of a paper that can be asked. One that is not measured yet counts as a test that
shows nothing (p = 1), so measuring it can confirm verdicts, but not take any back. Three seeds are planned; a claim
that was given more after a look at those was tested twice, and its p-values are doubled.

reproduced, not reproduced   the interval excludes 0 and the corrected p of no difference is at most 0.05
equivalent                   else: interval and corrected p (of two one-sided tests) say that it is within 2 points, and
                             not all rows find less than 5 % (flag "floor"): nothing can differ by much there
undecided                    else
to be measured               ranks are not kept ("again": a figure without ranks is known), or what was trained has
                             fewer than `MIN_SEEDS` seeds: no verdict
cannot be asked              claims.toml says why
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from freshness import RESULTS
from jaxtyping import Float
from rows import UNTRAINED, KeptRow, last_turns, read_facts, read_ranks

from viewfinder.errors import BadInput
from viewfinder.metrics import Interval, correct_holm, seeded_interval, seeded_test

HERE = Path(__file__).parent
MIN_SEEDS = 3
"""Seeds that a verdict needs, and as many as are planned."""
LEVEL = 0.05
MARGIN = 0.02
"""Two points: differences within are none that matter."""

FLOOR = "floor"
MIN_FOUND = 0.05
"""Rows that all find less are not said to be equivalent: near the floor nothing differs by much."""

REPRODUCED, REFUTED, EQUIVALENT, UNDECIDED = "reproduced", "not reproduced", "equivalent within 2 points", "undecided"
WAITING, CLOSED = "to be measured", "cannot be asked here"
VERDICTS = (REPRODUCED, REFUTED, EQUIVALENT, UNDECIDED)
OUTCOMES = (*VERDICTS, WAITING, CLOSED)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One sentence of a paper (or, with `ours`, of this project), and which rows speak for or against it.

    Attributes:
        rows: the row that should find more, and the other; of several others the best on what all of them have.
        over: two rows; then what counts is by how much each of `rows` finds more than its own of these.
        tests: whose conversations are taken together.
        metric: "R@10", "mean R@1,5,10", "Hits@10" (at that turn or before); without an @ it is what a value is called
            that is no rank, a hundredth of which is kept.
        turns: which count, from 1, in their mean; "every"; none: the last of each conversation.
        rounds: in place of turns, from 0: that of the first row and that of the other.
        gain: two turns: what counts is how much more is found at the second.
        same: the claim is that both find equally much.
        effect, where: the difference that the paper has, in points, and the table; 0 points of nothing is no effect.
        earlier: difference, ends of its interval, and seeds, as measured before ranks were kept.
        reason: why it cannot be asked here.
    """

    paper: str
    says: str
    benchmark: str = ""
    rows: tuple[Any, ...] = ()
    over: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    metric: str = "R@10"
    turns: Any = ()
    rounds: tuple[int, ...] = ()
    gain: tuple[int, ...] = ()
    same: bool = False
    ours: bool = False
    effect: float | None = None
    where: str = ""
    earlier: tuple[float, ...] = ()
    flags: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The outcome of a claim; shares, not points.

    Attributes:
        p_value: of no difference.
        equivalence: the p-value of a difference of 2 points or more.
        seeds: none where nothing was trained.
    """

    claim: Claim
    outcome: str
    rows: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    interval: Interval | None = None
    p_value: float = 1.0
    equivalence: float = 1.0
    seeds: tuple[int, ...] = ()
    trained: bool = False
    conversations: int = 0
    gallery: tuple[int, ...] = ()
    flags: tuple[str, ...] = ()
    missing: tuple[str, ...] = field(default=())


def read_claims(file: Path = HERE / "claims.toml") -> list[Claim]:
    """All claims, in their order.

    Raises:
        BadInput: a claim has a field that there is not.
    """
    claims = []
    for record in tomllib.loads(file.read_text(encoding="utf-8"))["claim"]:
        if unknown := sorted(set(record) - set(Claim.__dataclass_fields__)):
            raise BadInput(f"{file.name}: {record.get('says', '?')!r} has {unknown[0]!r}, which no claim has")
        fields: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in record.items()}
        claims.append(Claim(**fields))
    return claims


def judge_claims(claims: Sequence[Claim], results: Path = RESULTS) -> list[Judged]:
    """Every claim with what the kept ranks say of it."""
    names = {claim.benchmark for claim in claims if claim.benchmark}
    kept = {name: read_ranks(name, results) for name in names}
    facts = {name: read_facts(name, results).get("kept", {}) for name in names}
    found = [measure_claim(claim, kept.get(claim.benchmark, {}), facts.get(claim.benchmark, {})) for claim in claims]
    return [one for paper in papers_of(claims) for one in give_verdicts([j for j in found if j.claim.paper == paper])]


def papers_of(claims: Iterable[Claim]) -> list[str]:
    """The papers of claims, in the order of their first claims."""
    return list(dict.fromkeys(claim.paper for claim in claims))


def measure_claim(claim: Claim, kept: dict[str, dict[str, KeptRow]], facts: dict[str, Any]) -> Judged:
    """A claim with its difference, where all rows are kept; without a verdict."""
    if claim.reason:
        return Judged(claim=claim, outcome=CLOSED)
    others = (claim.rows[1],) if isinstance(claim.rows[1], str) else tuple(claim.rows[1])
    needed = dict.fromkeys((claim.rows[0], *others, *claim.over))
    missing = tuple(row for row in needed if any(row not in kept.get(test, {}) for test in claim.tests))
    if missing:
        return Judged(claim=claim, outcome=WAITING, missing=missing)
    rounds = claim.rounds or (None, None)
    found = {row: _values_by_seed(claim, [kept[test][row] for test in claim.tests], rounds[1]) for row in needed}
    first = _values_by_seed(claim, [kept[test][claim.rows[0]] for test in claim.tests], rounds[0])
    known_c = np.all([~np.isnan(row_c) for by_seed in (first, *found.values()) for row_c in by_seed.values()], axis=0)
    other = max(others, key=lambda row: float(np.mean([row_c[known_c].mean() for row_c in found[row].values()])))
    sides = [first, found[other], *(found[row] for row in claim.over)]
    trained = [set(by_seed) for by_seed in sides if UNTRAINED not in by_seed]
    seeds = tuple(sorted(set.intersection(*trained))) if trained else (UNTRAINED,)
    if not seeds or known_c.sum() < 2:
        return Judged(claim=claim, outcome=WAITING, missing=("seeds or conversations that both rows have",))
    values = [np.array([one.get(seed, one.get(UNTRAINED))[known_c] for seed in seeds]) for one in sides]  # type: ignore[index]
    is_low = "@" in claim.metric and max(side.mean() for side in values) < MIN_FOUND
    if claim.gain:  # low is what finds little in the end, not what gains little
        late = replace(claim, gain=(), turns=claim.gain[1:])
        ends = [_values_by_seed(late, [kept[test][row] for test in claim.tests], None) for row in needed]
        is_low = max(np.nanmean([*by_seed.values()]) for by_seed in ends) < MIN_FOUND
    if claim.over:
        values = [values[0] - values[2], values[1] - values[3]]
    difference_es = values[0] - values[1]
    p_more, p_less = seeded_test(difference_es)
    p_value = min(1.0, 2 * min(p_more, p_less))
    equivalence = max(seeded_test(difference_es, above=-MARGIN)[0], seeded_test(difference_es, above=MARGIN)[1])
    if len(seeds) > MIN_SEEDS:
        p_value, equivalence = min(1.0, 2 * p_value), min(1.0, 2 * equivalence)
    told = [facts[test]["rows"][row]["flags"] for test in claim.tests for row in (claim.rows[0], other)]
    flags = [*claim.flags, *(flag for flags in told for flag in flags), *([FLOOR] if is_low else [])]
    return Judged(
        claim=claim, outcome="", rows=(claim.rows[0], other), values=tuple(float(side.mean()) for side in values),
        interval=seeded_interval(difference_es), p_value=p_value, equivalence=equivalence,
        seeds=seeds if trained else (), trained=bool(trained), conversations=int(known_c.sum()),
        gallery=tuple(dict.fromkeys(facts[test]["gallery"] for test in claim.tests)),
        flags=tuple(dict.fromkeys(flags)),
    )  # fmt: skip


def _values_by_seed(claim: Claim, rows: Sequence[KeptRow], at: int | None) -> dict[int, Float[np.ndarray, " c"]]:
    """A claim's value for each conversation of a row's tests, by seed; NaN: it has none."""
    seeds = set.intersection(*(set(row.seeds) for row in rows))
    return {
        seed: np.concatenate([count_values(row.values_ect[row.seeds.index(seed)], claim, at) for row in rows])
        for seed in sorted(seeds)
    }


def count_values(doubled_ct: Any, claim: Claim, at: int | None) -> Float[np.ndarray, " c"]:
    """A claim's metric of each conversation, at its turns (`at`: at this round, from 0)."""
    if "@" not in claim.metric:
        return np.where(doubled_ct[:, 0] < 0, np.nan, doubled_ct[:, 0]).astype(np.float64)
    name, _, depths = claim.metric.partition("@")
    ranks_ct = np.where(doubled_ct < 0, np.nan, doubled_ct / 2)
    if name == "Hits":
        ranks_ct = np.where(np.isnan(ranks_ct), np.nan, np.fmin.accumulate(ranks_ct, axis=1))
    found_ct = np.mean([ranks_ct < int(depth) for depth in depths.split(",")], axis=0)
    found_ct = np.where(np.isnan(ranks_ct), np.nan, found_ct)
    if claim.gain:
        return np.asarray(found_ct[:, claim.gain[1] - 1] - found_ct[:, claim.gain[0] - 1])
    if at is not None:
        return np.asarray(found_ct[:, at])
    known_ct = ~np.isnan(found_ct)
    if claim.turns == "every":
        sums_c, turns_c = np.where(known_ct, found_ct, 0).sum(axis=1), known_ct.sum(axis=1)
        return np.where(turns_c, sums_c / np.maximum(turns_c, 1), np.nan)
    if claim.turns:
        return np.asarray(found_ct[:, [turn - 1 for turn in claim.turns]].mean(axis=1))
    return np.asarray(found_ct[np.arange(len(found_ct)), last_turns(known_ct)])


def give_verdicts(found: Sequence[Judged]) -> list[Judged]:
    """The claims of one paper with their verdicts, and both p-values corrected over all that can be asked."""
    family = [one for one in found if one.outcome != CLOSED]
    measured = [not one.outcome and not (one.trained and len(one.seeds) < MIN_SEEDS) for one in family]
    differences = correct_holm([one.p_value if is_in else 1.0 for one, is_in in zip(family, measured, strict=True)])
    equivalences = correct_holm(
        [one.equivalence if is_in else 1.0 for one, is_in in zip(family, measured, strict=True)]
    )
    judged = {id(one): one for one in found}
    for one, is_in, p_value, equivalence in zip(family, measured, differences, equivalences, strict=True):
        corrected = replace(one, p_value=p_value, equivalence=equivalence)
        judged[id(one)] = replace(corrected, outcome=verdict_of(corrected) if is_in else WAITING)
    return [judged[id(one)] for one in found]


def verdict_of(one: Judged) -> str:
    """The verdict on a difference with its corrected p-values."""
    assert one.interval is not None, "claims without a difference have no verdict"
    low, high = one.interval.low, one.interval.high
    differs = (low > 0 or high < 0) and one.p_value <= LEVEL
    is_equivalent = low > -MARGIN and high < MARGIN and one.equivalence <= LEVEL and FLOOR not in one.flags
    if one.claim.same:
        return REPRODUCED if is_equivalent else REFUTED if differs else UNDECIDED
    if differs:
        return REPRODUCED if low > 0 else REFUTED
    return EQUIVALENT if is_equivalent else UNDECIDED
