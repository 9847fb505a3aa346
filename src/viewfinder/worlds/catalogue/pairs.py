"""Articles that are alike, and what leads from one to another: Fashion IQ's pairs, sessions, CIRR's queries.

References follow the pairing rule of Fashion IQ (Wu et al., CVPR 2021, Sec. 3.2): the article of the same kind and
split with the largest sum of TF-IDF weights over the words that both titles have. The paper does not say whose weights;
here they are the target's. It filters inconsistent captions afterwards; here the next best reference is taken.

Relative captions come in the shares that the paper found in 200 of its own (Table 2): direct 49 %, comparison 32 %,
both 19 %; one attribute 30.5 %, several 69.5 %; a negation in 3.5 %. Where a pair does not allow a kind the next one
fills in.

Sessions have two to four turns, as in MT Fashion IQ: from like to like, until the target is reached.

Queries have CIRR's form (Liu et al., ICCV 2021): within a set of six that are alike, a caption says of the target what
rules out as many of the other four as possible.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, pairwise, permutations

import numpy as np
from jaxtyping import Float

from viewfinder.data.cirr import CirrPair
from viewfinder.data.fashion_iq import Reference, Session
from viewfinder.worlds.catalogue.items import Item
from viewfinder.worlds.catalogue.statements import (
    Statement,
    comparison_statements,
    direct_statements,
    excludes_word,
    negation_statements,
    shared_statements,
    tell_apart,
)
from viewfinder.worlds.catalogue.vocabulary import FACETS


def find_references(
    items: Sequence[Item], *, most: int, rng: random.Random, fits: Callable[[Item, Item], bool] = tell_apart
) -> dict[str, tuple[Item, ...]]:
    """For every article the `most` best references, best first, by the article's key.

    `fits(target, reference)` says which may be paired. Among equals chance decides, so that no article is the
    reference of all. An article that fits none has an empty entry.
    """
    shuffled = list(items)
    rng.shuffle(shuffled)
    found: dict[str, tuple[Item, ...]] = {}
    for target, scores_n in zip(shuffled, title_similarities([item.title for item in shuffled]), strict=True):
        in_order = (shuffled[place] for place in np.argsort(-scores_n, kind="stable").tolist())
        fitting = (reference for reference in in_order if reference is not target and fits(target, reference))
        found[target.key] = tuple(islice(fitting, most))
    return {item.key: found[item.key] for item in items}


_WORD = re.compile(r"\b\w[\w'-]*\b")


def title_similarities(titles: Sequence[str]) -> Iterator[Float[np.ndarray, " n"]]:
    """For every title, its sum of TF-IDF weights on the words it shares with each title.

    A weight is the word's count times ln((1 + n) / (1 + titles that have it)) + 1; each title is then of length one.
    Bit for bit what scikit-learn and scipy compute, so that a seed makes the world that it always made: a length adds
    up words in the order in which the titles bring them, a score in that of the alphabet.
    """
    counts = [Counter(_WORD.findall(title.lower())) for title in titles]
    having: dict[str, list[int]] = {}
    for at, count in enumerate(counts):
        for word in count:
            having.setdefault(word, []).append(at)
    titles_with = {word: np.array(those) for word, those in having.items()}
    order = {word: place for place, word in enumerate(having)}
    idf_w = np.log((1 + len(titles)) / (1.0 + np.array([len(those) for those in having.values()]))) + 1
    for count in counts:
        words = sorted(count, key=order.__getitem__)
        weights_w = np.array([count[word] for word in words]) * idf_w[[order[word] for word in words]]
        weights_w /= np.sqrt(np.cumsum(weights_w**2)[-1:])
        scores_n = np.zeros(len(titles))
        for word, weight in sorted(zip(words, weights_w, strict=True)):
            scores_n[titles_with[word]] += weight
        yield scores_n


SHARES = {
    "direct, single": 0.185,
    "direct, composite": 0.305,
    "comparison, single": 0.115,
    "comparison, composite": 0.205,
    "both, composite": 0.19,
}
SHARE_NEGATED_CAPTIONS = 0.04  # a little above 3.5 %: not every pair has something to deny
CAPTIONS_PER_PAIR = 2
_JOINTS = (" and ", " and ", " and ", " and ", ", and ", " but ")
_DENIAL = re.compile(r"\b(?:no|not)\b")


@dataclass
class CaptionTally:
    """Counts captions by kind, and tells which kind is due."""

    kinds: Counter[str] = field(default_factory=Counter)
    negated: int = 0

    @property
    def captions(self) -> int:
        """Captions counted so far."""
        return self.kinds.total()

    def choose_due(self, possible: Iterable[str]) -> str:
        """The kind, of those possible, that is furthest behind its share."""
        return max(possible, key=lambda kind: SHARES[kind] * (self.captions + 1) - self.kinds[kind])

    def shares(self) -> dict[str, float]:
        """The shares reached: direct, comparison, both, single, composite, negation."""
        of = max(1, self.captions)
        parts = ("direct", "comparison", "both", "single", "composite")
        reached = {part: sum(n for kind, n in self.kinds.items() if part in kind) / of for part in parts}
        return {name: round(share, 4) for name, share in {**reached, "negation": self.negated / of}.items()}


@dataclass(frozen=True)
class _Material:
    """Statements about a pair by kind: those that tell the two apart first, then what a picture shows."""

    direct: list[Statement]  # with what both are known to have at the end: "is red and still has a hood"
    compared: list[Statement]
    denied: list[Statement]

    def list_possible(self) -> list[str]:
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
    while len(said) < CAPTIONS_PER_PAIR:
        told = [statement for statements in said.values() for statement in statements]
        material = _gather_material(target, reference, told, rng)
        possible = material.list_possible()
        if not possible:
            raise ValueError(f"nothing is known that tells {target.key} from {reference.key}")
        kind = tally.choose_due(possible)
        while (caption := join_statements(statements := _choose_for_kind(kind, material, tally), rng)) in said:
            kind = rng.choice(possible)
        said[caption] = statements
        tally.kinds[kind] += 1
        tally.negated += any(statement.semantics == "negation" for statement in statements)
    return tuple(said)


def _gather_material(target: Item, reference: Item, told: Sequence[Statement], rng: random.Random) -> _Material:
    """Statements in chance order, the more telling ones first; those already `told` come last."""

    def in_order(statements: Iterable[Statement]) -> list[Statement]:
        shuffled = list(statements)
        rng.shuffle(shuffled)
        return sorted(shuffled, key=lambda s: (not s.tells_apart, s.semantics == "shared", s in told, not s.seen))

    return _Material(
        direct=in_order([*direct_statements(target, reference), *seen_in_both(target, reference)]),
        compared=in_order(comparison_statements(target, reference)),
        denied=in_order(negation_statements(target, reference)),
    )


def seen_in_both(target: Item, reference: Item) -> list[Statement]:
    """Statements that are true of both and that pictures show, except the kind of article."""
    return [one for one in shared_statements(target, reference) if one.seen and one.facet != "kind"]


def _choose_for_kind(kind: str, material: _Material, tally: CaptionTally) -> list[Statement]:
    """The statements of a caption of this kind; a negation takes the place of a direct one where one is due."""
    says, _, number = kind.partition(", ")
    directly = material.direct
    behind = tally.negated < SHARE_NEGATED_CAPTIONS * (tally.captions + 1)
    if behind and material.denied and says != "comparison":
        directly = [material.denied[0], *directly]
    if says == "both":
        return _put_other_facets_first(directly[:1], material.compared)[:2]
    several = directly if says == "direct" else material.compared
    return several[:1] if number == "single" else _put_other_facets_first(several[:1], several[1:])[:2]


def _put_other_facets_first(first: list[Statement], others: list[Statement]) -> list[Statement]:
    """`first`, then the others, those about another facet before those about the same."""
    return [*first, *sorted(others, key=lambda statement: statement.facet == first[0].facet)]


def join_statements(statements: Sequence[Statement], rng: random.Random) -> str:
    """One or two statements as a caption: joined, sometimes with ellipsis ("red with a collar")."""
    phrases = [statement.say(rng) for statement in statements]
    rng.shuffle(phrases)
    joints = _JOINTS if len({statement.facet for statement in statements}) > 1 else _JOINTS[:1]
    caption = phrases[0]
    for phrase in phrases[1:]:
        caption += _choose_joint(caption, phrase, joints, rng)
    # Most captions go on from "I want one that ..."; some leave the verb out, some say "it".
    chance = rng.random()
    if chance < 0.15 and caption.startswith("is ") and not _DENIAL.search(caption):
        return caption.removeprefix("is ")
    return f"it {caption}" if chance < 0.22 else caption


def _choose_joint(before: str, phrase: str, joints: Sequence[str], rng: random.Random) -> str:
    """A phrase with its joint; a verb that was said can be left out, unless one of the two phrases denies."""
    verb, _, rest = phrase.partition(" ")
    chance = rng.random()
    if not _DENIAL.search(f"{before} {phrase}"):
        if before.startswith(f"{verb} ") and chance < 0.6:
            return f" and {rest}"
        if verb == "has" and before.startswith("is ") and chance < 0.4:
            return f" with {rest}"
    return rng.choice(joints) + phrase


TURNS = {2: 0.75, 3: 0.19, 4: 0.06}
"""Shares of sessions by their number of turns, about as in the published set (2.3 on average)."""

MIN_DIFFERING = 2
MAX_REFERENCES = 8
"""References of an article that are considered, so that a path need not end where two are each other's best."""


def make_session(
    target: Item, references: Mapping[str, tuple[Item, ...]], tally: CaptionTally, rng: random.Random
) -> Session | None:
    """A session that ends at `target`, walked backwards from it; None where there are no two turns.

    Every picture is the best reference, not yet in the session, of the one it leads to. `references` has them by key.
    """
    turns = rng.choices(list(TURNS), list(TURNS.values()))[0]
    path = [target]
    while len(path) <= turns:
        before = next((item for item in references[path[0].key] if item not in path), None)
        if before is None:
            break
        path.insert(0, before)
    if len(path) <= MIN_DIFFERING:
        return None
    shown = tuple(
        Reference(item.key, relative_captions(following, item, tally, rng), f"images/{item.image}")
        for item, following in pairwise(path)
    )
    return Session(shown, target.key, f"images/{target.image}")


SET_SIZE = 6
"""Articles of a set."""

MAX_QUERIES_PER_SET = 4
"""Queries of a set at most, each with a target of its own."""

MAX_DOUBTFUL = 1
"""Other articles of a set at most that a caption might mean as well."""

SHARE_SAYING_KEPT = 0.5
"""Share of captions that also say what stays."""

MAX_SAID = 3
"""Statements of a caption at most."""


def cirr_pairs(items: Sequence[Item], rng: random.Random, *, first: int = 0) -> list[CirrPair]:
    """The queries of a split, their numbers from `first` on; pictures are named by the keys of the articles."""
    made: list[CirrPair] = []
    for members in image_sets(items, rng):
        keys = tuple(member.key for member in members)
        for reference, target, caption in _make_queries(members, rng):
            number = first + len(made)
            made.append(CirrPair(number, reference.key, caption, target.key, keys, {target.key: 1.0}))
    return made


def image_sets(items: Sequence[Item], rng: random.Random) -> Iterator[tuple[Item, ...]]:
    """Sets of six of one family: an article in chance order and the five most like it of those that are left.

    Alike are those of which the table says the same, in their titles and in what pictures show (TF-IDF). No two of a
    set look the same by the table, as nothing could be said then. What is left in the end is in no set.
    """
    order = list(items)
    rng.shuffle(order)
    looks = [tuple(word for facet, word in item.words if FACETS[facet].seen) for item in order]
    left = np.ones(len(order), bool)
    titles = [" ".join((item.title, *words)) for item, words in zip(order, looks, strict=True)]
    for at, scores_n in enumerate(title_similarities(titles)):
        if not left[at]:
            continue
        chosen: dict[frozenset[str], int] = {frozenset(looks[at]): at}
        for row in np.argsort(-scores_n, kind="stable").tolist():
            if left[row] and order[row].family == order[at].family and len(chosen) < SET_SIZE:
                chosen.setdefault(frozenset(looks[row]), row)
        if len(chosen) == SET_SIZE:
            left[list(chosen.values())] = False
            yield tuple(order[row] for row in chosen.values())


def _make_queries(members: Sequence[Item], rng: random.Random) -> Iterator[tuple[Item, Item, str]]:
    """Reference, target and caption of a few pairs of a set: those that leave the fewest others in doubt."""
    pairs = list(permutations(members, 2))
    rng.shuffle(pairs)
    told = []
    for reference, target in pairs:
        others = [member for member in members if member not in (reference, target)]
        said, doubtful = choose_statements(target, reference, others)
        if said and doubtful <= MAX_DOUBTFUL:
            told.append((doubtful, reference, target, said))
    wanted: set[str] = set()
    for _, reference, target, said in sorted(told, key=lambda one: one[0]):
        if len(wanted) < MAX_QUERIES_PER_SET and target.key not in wanted:
            wanted.add(target.key)
            same = seen_in_both(target, reference)
            also = [rng.choice(same)] if same and rng.random() < SHARE_SAYING_KEPT else []
            yield reference, target, join_statements([*said, *also], rng)


def choose_statements(target: Item, reference: Item, others: Sequence[Item]) -> tuple[list[Statement], int]:
    """The statements about the target that rule out most others, and how many others are left in doubt.

    The first one rules out the reference; there are none where nothing that a picture shows does.
    """
    statements = (*direct_statements(target, reference), *comparison_statements(target, reference))
    known = [one for one in statements if one.seen]
    ruled = {one: {other.key for other in others if rules_out(one, other, reference)} for one in known}
    left = {other.key for other in others}
    said: list[Statement] = []
    while len(said) < MAX_SAID and (left or not said):
        possible = [one for one in known if (ruled[one] & left if said else one.tells_apart)]
        if not possible:
            break
        said.append(max(possible, key=lambda one: len(ruled[one] & left)))
        left -= ruled[said[-1]]
    return said, len(left)


def rules_out(statement: Statement, other: Item, reference: Item) -> bool:
    """Whether another article is known not to fit what is said of the target, seen from the reference."""
    if statement.semantics == "comparison":
        return (statement.facet, statement.word) not in _list_comparisons(other, reference)
    return excludes_word(other, statement.facet, statement.word)


@lru_cache(maxsize=64)
def _list_comparisons(other: Item, reference: Item) -> frozenset[tuple[str, str]]:
    """The comparisons that hold of `other`, seen from `reference`; cached, as a set asks for each many times."""
    return frozenset((one.facet, one.word) for one in comparison_statements(other, reference))
