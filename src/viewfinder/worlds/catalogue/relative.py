"""Relative captions: what sets the wanted article apart from the shown one, as people write it.

The kinds of captions come in the shares that Wu et al. (CVPR 2021, Table 2) found in 200 of Fashion IQ's: direct 49 %,
comparison 32 %, both 19 %; one attribute 30.5 %, several 69.5 %; a negation in 3.5 %. Where a pair does not allow a
kind the next one fills in.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from viewfinder.worlds.catalogue.items import Item
from viewfinder.worlds.catalogue.statements import (
    Statement,
    comparison_statements,
    direct_statements,
    negation_statements,
    shared_statements,
)

SHARES = {
    "direct, single": 0.185,
    "direct, composite": 0.305,
    "comparison, single": 0.115,
    "comparison, composite": 0.205,
    "both, composite": 0.19,
}
NEGATED = 0.04  # a little above 3.5 %: not every pair has something to deny
CAPTIONS = 2
_JOINTS = (" and ", " and ", " and ", " and ", ", and ", " but ")
_DENIAL = re.compile(r"\b(?:no|not)\b")


@dataclass
class CaptionTally:
    """How many captions of each kind there are so far; it decides which kind is due."""

    kinds: Counter[str] = field(default_factory=Counter)
    negated: int = 0

    def __add__(self, other: CaptionTally) -> CaptionTally:
        return CaptionTally(self.kinds + other.kinds, self.negated + other.negated)

    @property
    def captions(self) -> int:
        """Captions counted so far."""
        return self.kinds.total()

    def due(self, possible: Iterable[str]) -> str:
        """Of the kinds that are possible, the one that is furthest behind its share."""
        return max(possible, key=lambda kind: SHARES[kind] * (self.captions + 1) - self.kinds[kind])

    def negation_due(self) -> bool:
        """Whether negations are behind their share."""
        return self.negated < NEGATED * (self.captions + 1)

    def shares(self) -> dict[str, float]:
        """The shares reached: direct, comparison, both, single, composite, negation."""
        of = max(1, self.captions)
        parts = ("direct", "comparison", "both", "single", "composite")
        reached = {part: sum(n for kind, n in self.kinds.items() if part in kind) / of for part in parts}
        return {name: round(share, 4) for name, share in {**reached, "negation": self.negated / of}.items()}


@dataclass(frozen=True)
class _Material:
    """What there is to say of a pair: what tells apart, then the rest; what a picture shows first."""

    direct: list[Statement]  # with what both are known to have at the end: "is red and still has a hood"
    compared: list[Statement]
    denied: list[Statement]

    def possible(self) -> list[str]:
        told = [statement for statement in self.direct if statement.tells_apart]
        kinds = {
            "direct, single": bool(told),
            "direct, composite": bool(told) and len(self.direct) > 1,
            "comparison, single": bool(self.compared),
            "comparison, composite": len(self.compared) > 1,
            "both, composite": bool(told and self.compared),
        }
        return [kind for kind, there in kinds.items() if there]


def relative_captions(target: Item, reference: Item, tally: CaptionTally, rng: random.Random) -> tuple[str, ...]:
    """Two different captions, each true of the target and at least one part of it not of the reference.

    They are counted in the tally. The second says other things than the first, as far as there are others.

    Raises:
        ValueError: nothing is known that tells the two apart.
    """
    said: dict[str, list[Statement]] = {}
    while len(said) < CAPTIONS:
        told = [statement for statements in said.values() for statement in statements]
        material = _material(target, reference, told, rng)
        possible = material.possible()
        if not possible:
            raise ValueError(f"nothing is known that tells {target.key} from {reference.key}")
        kind = tally.due(possible)
        statements = _chosen(kind, material, tally)
        while (caption := join_statements(statements, rng)) in said:
            kind = rng.choice(possible)
            statements = _chosen(kind, material, tally)
        said[caption] = statements
        tally.kinds[kind] += 1
        tally.negated += any(statement.semantics == "negation" for statement in statements)
    return tuple(said)


def _material(target: Item, reference: Item, told: Sequence[Statement], rng: random.Random) -> _Material:
    """What there is to say, in chance order but for what matters more; what is `told` already comes after the rest."""

    def in_order(statements: Iterable[Statement]) -> list[Statement]:
        shuffled = list(statements)
        rng.shuffle(shuffled)
        return sorted(shuffled, key=lambda s: (not s.tells_apart, s.semantics == "shared", s in told, not s.seen))

    same = (
        statement for statement in shared_statements(target, reference) if statement.seen and statement.facet != "kind"
    )
    return _Material(
        direct=in_order([*direct_statements(target, reference), *same]),
        compared=in_order(comparison_statements(target, reference)),
        denied=in_order(negation_statements(target, reference)),
    )


def _chosen(kind: str, material: _Material, tally: CaptionTally) -> list[Statement]:
    """The statements of a caption of this kind; a negation takes the place of a direct one where one is due."""
    says, _, number = kind.partition(", ")
    directly = material.direct
    if tally.negation_due() and material.denied and says != "comparison":
        directly = [material.denied[0], *directly]
    if says == "both":
        return _apart(directly[:1], material.compared)[:2]
    several = directly if says == "direct" else material.compared
    return several[:1] if number == "single" else _apart(several[:1], several[1:])[:2]


def _apart(first: list[Statement], others: list[Statement]) -> list[Statement]:
    """`first`, then the others, those about another facet before those about the same."""
    return [*first, *sorted(others, key=lambda statement: statement.facet == first[0].facet)]


def join_statements(statements: Sequence[Statement], rng: random.Random) -> str:
    """One or two statements as a caption: joined, sometimes with ellipsis ("red with a collar")."""
    phrases = [statement.say(rng) for statement in statements]
    rng.shuffle(phrases)
    joints = _JOINTS if len({statement.facet for statement in statements}) > 1 else _JOINTS[:1]
    caption = phrases[0]
    for phrase in phrases[1:]:
        caption += _joint(caption, phrase, joints, rng)
    return _opened(caption, rng)


def _joint(before: str, phrase: str, joints: Sequence[str], rng: random.Random) -> str:
    """What joins a phrase to those before; a verb that is there already can be left out, unless one of them denies."""
    verb, _, rest = phrase.partition(" ")
    chance = rng.random()
    if not _DENIAL.search(f"{before} {phrase}"):
        if before.startswith(f"{verb} ") and chance < 0.6:
            return f" and {rest}"
        if verb == "has" and before.startswith("is ") and chance < 0.4:
            return f" with {rest}"
    return rng.choice(joints) + phrase


def _opened(caption: str, rng: random.Random) -> str:
    """Most captions go on from "I want one that ..."; some leave the verb out, some say "it"."""
    chance = rng.random()
    if chance < 0.15 and caption.startswith("is ") and not _DENIAL.search(caption):
        return caption.removeprefix("is ")
    if chance < 0.22:
        return f"it {caption}"
    return caption
