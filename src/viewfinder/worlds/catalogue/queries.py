"""Queries in CIRR's form: sets of six articles that look alike, and what leads from one of a set to another.

As in CIRR (Liu et al. 2021), whose people were asked to say what holds for the wanted picture alone: a caption says
of the target, seen from the reference, what rules out as many of the other four as possible.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import permutations

import numpy as np

from viewfinder.data.cirr import CirrPair
from viewfinder.worlds.catalogue.items import Item
from viewfinder.worlds.catalogue.pairs import title_similarities
from viewfinder.worlds.catalogue.relative import join_statements
from viewfinder.worlds.catalogue.statements import (
    Statement,
    comparison_statements,
    direct_statements,
    excludes_word,
    shared_statements,
)
from viewfinder.worlds.catalogue.vocabulary import FACETS

SET_SIZE = 6
"""Articles of a set."""

PER_SET = 4
"""Queries of a set at most, each with a target of its own."""

MOST_DOUBTFUL = 1
"""Other articles of a set at most that a caption might mean as well."""

KEPT = 0.5
"""How often a caption also says what stays."""

MOST_SAID = 3
"""Statements of a caption at most."""


def cirr_pairs(items: Sequence[Item], rng: random.Random, *, first: int = 0) -> list[CirrPair]:
    """The queries of a split, their numbers from `first` on; pictures are named by the keys of the articles."""
    made = [(members, query) for members in image_sets(items, rng) for query in _queries(members, rng)]
    return [
        CirrPair(
            pairid=first + at,
            reference=reference.key,
            caption=caption,
            target=target.key,
            members=tuple(member.key for member in members),
            soft_targets={target.key: 1.0},
        )
        for at, (members, (reference, target, caption)) in enumerate(made)
    ]


def image_sets(items: Sequence[Item], rng: random.Random) -> Iterator[tuple[Item, ...]]:
    """Sets of six of one family: an article in chance order and the five most like it of those that are left.

    Alike are those of which the table says the same, in their titles and in what pictures show (TF-IDF). No two of a
    set look the same by the table, as nothing could be said then. What is left in the end is in no set.
    """
    order = list(items)
    rng.shuffle(order)
    looks = [_looks_of(item) for item in order]
    left = np.ones(len(order), bool)
    for at, scores_n in enumerate(
        title_similarities([" ".join((item.title, *looks[i])) for i, item in enumerate(order)])
    ):
        if not left[at]:
            continue
        chosen: dict[frozenset[str], int] = {frozenset(looks[at]): at}
        for row in np.argsort(-scores_n, kind="stable").tolist():
            if left[row] and order[row].family == order[at].family and len(chosen) < SET_SIZE:
                chosen.setdefault(frozenset(looks[row]), row)
        if len(chosen) == SET_SIZE:
            left[list(chosen.values())] = False
            yield tuple(order[row] for row in chosen.values())


def _looks_of(item: Item) -> tuple[str, ...]:
    return tuple(word for facet, word in item.words if FACETS[facet].seen)


def _queries(members: Sequence[Item], rng: random.Random) -> Iterator[tuple[Item, Item, str]]:
    """Reference, target and caption of a few pairs of a set: those that leave the fewest others in doubt."""
    pairs = list(permutations(members, 2))
    rng.shuffle(pairs)
    told = []
    for reference, target in pairs:
        others = [member for member in members if member not in (reference, target)]
        said, doubtful = choose_statements(target, reference, others)
        if said and doubtful <= MOST_DOUBTFUL:
            told.append((doubtful, reference, target, said))
    wanted: set[str] = set()
    for _, reference, target, said in sorted(told, key=lambda one: one[0]):
        if len(wanted) < PER_SET and target.key not in wanted:
            wanted.add(target.key)
            same = [one for one in shared_statements(target, reference) if one.seen and one.facet != "kind"]
            also = [rng.choice(same)] if same and rng.random() < KEPT else []
            yield reference, target, join_statements([*said, *also], rng)


def choose_statements(target: Item, reference: Item, others: Sequence[Item]) -> tuple[list[Statement], int]:
    """What to say of the target: the statements that rule out most others, and how many of these are left in doubt.

    The first one rules out the reference; there is none where nothing that a picture shows does.
    """
    known = [
        one for one in (*direct_statements(target, reference), *comparison_statements(target, reference)) if one.seen
    ]
    ruled = {one: {other.key for other in others if rules_out(one, other, reference)} for one in known}
    left = {other.key for other in others}
    said: list[Statement] = []
    while len(said) < MOST_SAID and (left or not said):
        possible = [one for one in known if (ruled[one] & left if said else one.tells_apart)]
        if not possible:
            break
        said.append(max(possible, key=lambda one: len(ruled[one] & left)))
        left -= ruled[said[-1]]
    return said, len(left)


def rules_out(statement: Statement, other: Item, reference: Item) -> bool:
    """Whether another article is known not to fit what is said of the target, seen from the reference."""
    if statement.semantics == "comparison":
        return (statement.facet, statement.word) not in _places(other, reference)
    return excludes_word(other, statement.facet, statement.word)


@lru_cache(maxsize=64)
def _places(other: Item, reference: Item) -> frozenset[tuple[str, str]]:
    """How one compares with the other; those of a set are asked for many times."""
    return frozenset((one.facet, one.word) for one in comparison_statements(other, reference))
