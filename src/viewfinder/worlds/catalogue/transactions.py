"""Transactions of three turns by the Modification Generation Framework (Chen et al., "MAI", ICLR 2025, Sec. 3.1).

Four articles of one subcategory make a chain: the reference (FIRST), the targets of turns 1 (SECOND) and 2, and the
final target. A modification is three numbered clauses; in contextual language up to three, and none of what stays. The
last one looks back: `rollback` describes the change from the FIRST or the SECOND, `combination` goes on from the latest
and keeps an attribute of the FIRST and one of the SECOND. Captions and clauses come from what is known of the articles,
where the paper asks a captioner and a language model. The paper puts what is kept first; here, as in the released
files, it is the last clause.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from viewfinder.data.fashionmt import Transaction
from viewfinder.wording.modifications import ORDINALS
from viewfinder.worlds.catalogue.items import Item, Word
from viewfinder.worlds.catalogue.statements import (
    Statement,
    caption_item,
    comparison_statements,
    direct_statements,
    negation_statements,
    shared_statements,
    tell_apart,
)
from viewfinder.worlds.catalogue.vocabulary import FACETS, FORMS
from viewfinder.worlds.words import Language

Setting = Literal["rollback", "combination"]
SETTINGS: tuple[Setting, ...] = ("rollback", "combination")

CLAUSES = 3
NAMED = 0.5
"""How often a kept attribute is named with its word ("the FIRST's red colour"), not only as "the FIRST's colour"."""

NEGATED = 0.1
"""How often one of the three clauses is a negation, where there is one to make."""

PREFERENCES = (
    "On second thoughts I like the {} better, and",
    "Let us go back to the {}, except that it",
    "The {} was closer to what I have in mind, and",
    "No, rather something like the {}, only that it",
    "I still prefer the {}, so from there",
)

_TRIES = 60
_DRAWS = 24
_NOT_KEPT = frozenset({"kind", "audience", "season", "sport"})


@dataclass(frozen=True)
class KeptAttribute:
    """An attribute that the wanted article shares with the one at `place` of the chain; `named`: said with its word."""

    place: int
    word: Word
    named: bool

    def say(self) -> str:
        """As in "keep the FIRST's ..."."""
        return noun_phrase(*self.word) if self.named else FACETS[self.word[0]].noun


@dataclass(frozen=True)
class Chain:
    """Four articles and how the last turn looks back: to the place in `back`, or to what is in `kept`."""

    items: tuple[Item, Item, Item, Item]
    setting: Setting
    back: int = 2
    kept: tuple[KeptAttribute, ...] = ()

    def operations(self) -> dict[str, Any]:
        """What the last turn does, in a form for programs."""
        if self.setting == "rollback":
            return {"setting": "rollback", "to": ORDINALS[self.back]}
        kept = [
            {"of": ORDINALS[k.place], "attribute": FACETS[k.word[0]].noun, "word": k.word[1], "named": k.named}
            for k in self.kept
        ]
        return {"setting": "combination", "keep": kept}


def make_transactions(
    items: Sequence[Item], setting: Setting, count: int, rng: random.Random, language: Language = "explicit"
) -> Iterator[tuple[Chain, Transaction]]:
    """Up to `count` transactions; every article is the reference once before any is again.

    Subcategories with fewer than four articles are left out, and references for which no chain is found.
    In contextual language a clause says only what differs, and what the last turn leaves unsaid stays as in the picture
    that it goes on from: without that picture it fits many articles, with it few.
    """
    groups = _groups(items)
    order = [item for group in groups.values() for item in group]
    common = Counter(word for item in items for word in item.known)
    hopeless: set[str] = set()
    made = 0
    while made < count and len(hopeless) < len(order):
        rng.shuffle(order)
        for reference in order:
            if made == count:
                return
            if reference.key in hopeless:
                continue
            found = _found(reference, groups[reference.family], setting, common, rng, language)
            if found is None:
                hopeless.add(reference.key)
            else:
                made += 1
                yield found


def count_in_chains(items: Iterable[Item]) -> int:
    """How many articles have enough others in their subcategory to make a chain."""
    return sum(len(group) for group in _groups(items).values())


def _groups(items: Iterable[Item]) -> dict[str, list[Item]]:
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(item.family, []).append(item)
    return {family: group for family, group in groups.items() if len(group) > CLAUSES}


def _found(
    reference: Item,
    group: Sequence[Item],
    setting: Setting,
    common: Mapping[Word, int],
    rng: random.Random,
    language: Language,
) -> tuple[Chain, Transaction] | None:
    for _ in range(_TRIES):
        if language == "contextual":
            chain = _draw_leaning_chain(reference, group, setting, rng)
        elif setting == "rollback":
            chain = draw_rollback_chain(reference, group, rng)
        else:
            chain = draw_combination_chain(reference, group, common, rng)
        if chain is None:
            continue
        transaction = write_transaction(chain, rng) if language == "explicit" else write_leaning_transaction(chain, rng)
        if transaction is not None:
            return chain, transaction
    return None


def _draw_leaning_chain(reference: Item, group: Sequence[Item], setting: Setting, rng: random.Random) -> Chain | None:
    """A chain whose last clauses are all that sets the wanted article apart from the picture that they go on from.

    Of a combination the latest picture has neither of the kept words, and neither is named.
    """
    first, (second, latest) = reference, rng.sample(group, 2)
    if len({first.key, second.key, latest.key}) < 3 or not (tell_apart(second, first) and tell_apart(latest, second)):
        return None
    back = rng.randrange(2) if setting == "rollback" else 2
    origin = (first, second, latest)[back]
    for wanted in rng.sample(group, len(group)):
        if wanted.key in (first.key, second.key, latest.key):
            continue
        if setting == "rollback":
            # What few articles meet is asked first. From the latest picture there is more to say: whoever forgets the
            # others is led astray.
            fits = changed_statements(wanted, origin) and tell_apart(wanted, origin)
            if fits and len(needed_facets(wanted, latest)) > CLAUSES:
                return Chain((first, second, latest, wanted), setting, back=back)
            continue
        new = wanted.known - latest.known
        with_first = sorted(word for word in new if _keeps_whole(word, wanted, first))
        with_second = sorted(word for word in new if _keeps_whole(word, wanted, second)) if with_first else []
        pairs = [(a, b) for a in with_first for b in with_second if a[0] != b[0]]
        if pairs and tell_apart(wanted, origin):
            one, other = rng.choice(pairs)
            kept = (KeptAttribute(0, one, named=False), KeptAttribute(1, other, named=False))
            if changed_statements(wanted, origin, but=frozenset((one[0], other[0]))):
                return Chain((first, second, latest, wanted), setting, kept=kept)
    return None


def _keeps_whole(word: Word, wanted: Item, other: Item) -> bool:
    """Whether a picture shows an attribute of the other in which the wanted article agrees with it wholly."""
    facet = word[0]
    whole = wanted.by_facet[facet] == other.by_facet.get(facet)
    return whole and FACETS[facet].seen and facet not in _NOT_KEPT | {"detail"}


def needed_facets(wanted: Item, origin: Item) -> set[str]:
    """Aspects that pictures show and in which two articles are known to differ."""
    return {s.facet for s in _apart(wanted, origin)}


def _apart(wanted: Item, origin: Item) -> Iterator[Statement]:
    """What has to be said for the wanted article to follow from the origin, as far as pictures show it."""
    changed = set()
    for statement in direct_statements(wanted, origin):
        if statement.seen:
            changed.add(statement.facet)
            yield statement
    for statement in negation_statements(wanted, origin):
        if statement.seen and statement.facet not in changed - {"detail"}:
            yield statement


def changed_statements(wanted: Item, origin: Item, *, but: frozenset[str] = frozenset()) -> list[Statement]:
    """All that has to be said of what changed, facets in `but` aside; nothing where that takes too many clauses."""
    needed = list(islice((one for one in _apart(wanted, origin) if one.facet not in but), CLAUSES + 1))
    return needed if len(needed) <= CLAUSES else []


def draw_rollback_chain(reference: Item, group: Sequence[Item], rng: random.Random) -> Chain | None:
    """A chain at random whose wanted article is described from the FIRST or the SECOND; None if the draw failed."""
    second, latest, wanted = rng.sample(group, CLAUSES)
    items = (reference, second, latest, wanted)
    if reference in items[1:]:
        return None
    back = rng.randrange(2)
    changes = ((1, 0), (2, 1), (3, back))
    if not all(tell_apart(items[target], items[origin]) for target, origin in changes):
        return None
    return Chain(items, "rollback", back=back)


def draw_combination_chain(
    reference: Item, group: Sequence[Item], common: Mapping[Word, int], rng: random.Random
) -> Chain | None:
    """A chain whose wanted article shares an attribute with the FIRST and another with the SECOND; None if none.

    The latest picture lacks one of the two, so that one must look back; of several draws that is taken in which it
    lacks both, and pictures show both. `common` counts words: what few have is kept rather than what all have.
    """
    first, (second, latest, spare) = reference, rng.sample(group, CLAUSES)
    if first in (second, latest, spare) or not (tell_apart(second, first) and tell_apart(latest, second)):
        return None
    found: dict[tuple[int, int], tuple[Item, tuple[Word, Word]]] = {}
    for wanted in rng.sample(group, min(_DRAWS, len(group))):
        if wanted in (first, second, latest) or not tell_apart(wanted, latest):
            continue
        words = _kept_words(first, second, latest, wanted, common)
        if words is not None and not set(words) <= latest.known:
            # How many of the words no picture shows, and how many the latest picture has anyway.
            unseen = sum(not FACETS[facet].seen for facet, _ in words)
            found.setdefault((unseen, sum(word in latest.known for word in words)), (wanted, words))
            if (0, 0) in found:
                break
    if not found:
        return None
    wanted, words = found[min(found)]
    kept: list[KeptAttribute] = []
    for place, (origin, word) in enumerate(zip((first, second), words, strict=True)):
        facet = word[0]
        # Without its word an attribute can be kept only where the two agree in all of its facet.
        whole = facet != "detail" and origin.by_facet[facet] == wanted.by_facet[facet]
        kept.append(KeptAttribute(place, word, named=not whole or rng.random() < NAMED))
    return Chain((first, second, latest, wanted), "combination", kept=tuple(kept))


def _kept_words(
    first: Item, second: Item, latest: Item, wanted: Item, common: Mapping[Word, int]
) -> tuple[Word, Word] | None:
    """A word shared with the first and one shared with the second, of different facets; the best pair there is."""

    def merit(word: Word) -> tuple[bool, bool, int, Word]:
        return (word in latest.known, not FACETS[word[0]].seen, common[word], word)

    with_first, with_second = (
        sorted((word for word in wanted.known & other.known if word[0] not in _NOT_KEPT), key=merit)
        for other in (first, second)
    )
    pairs = ((a, b) for a in with_first for b in with_second if a[0] != b[0])
    return min(pairs, key=lambda pair: (merit(pair[0])[:2], merit(pair[1])[:2]), default=None)


def write_transaction(chain: Chain, rng: random.Random) -> Transaction | None:
    """The words of a chain; None if there are not three things to say of every change."""
    first, second, latest, wanted = chain.items
    origin = chain.items[chain.back]
    quiet = frozenset(kept.word[0] for kept in chain.kept)
    said = [choose_clauses(second, first, rng), choose_clauses(latest, second, rng)]
    said.append(choose_clauses(wanted, origin, rng, but=quiet))
    if any(len(of_turn) < CLAUSES for of_turn in said):
        return None
    modifications = [
        " ".join(f"{number}. {clause}" for number, clause in enumerate(of_turn, start=1)) for of_turn in said
    ]
    if chain.setting == "rollback":
        modifications[-1] = f"{rng.choice(PREFERENCES).format(ORDINALS[chain.back])} {modifications[-1]}"
    else:
        modifications[-1] += f" {CLAUSES + 1}. {keep_clause(chain.kept, rng)}"
    return _transaction(chain, modifications)


def _transaction(chain: Chain, modifications: Sequence[str]) -> Transaction:
    pictures = tuple(f"images/{item.image}" for item in chain.items)
    captions = tuple(caption_item(item)[1] for item in chain.items)
    return Transaction(pictures[0], pictures[1:], tuple(modifications), captions)


def write_leaning_transaction(chain: Chain, rng: random.Random) -> Transaction | None:
    """The words of a chain that say only what changes; None if there is a turn in which nothing does."""
    first, second, latest, wanted = chain.items
    quiet = frozenset(kept.word[0] for kept in chain.kept)
    last = changed_statements(wanted, chain.items[chain.back], but=quiet)
    changes = [list(_apart(second, first)), list(_apart(latest, second)), last]
    told = [rng.sample(some, min(len(some), CLAUSES)) for some in changes]
    if not all(told):
        return None
    said = [[statement.say(rng) for statement in statements] for statements in told]
    for clauses in said:
        rng.shuffle(clauses)
    if chain.setting == "combination":
        said[-1].append(keep_clause(chain.kept, rng))
    modifications = [" ".join(f"{number}. {clause}" for number, clause in enumerate(one, start=1)) for one in said]
    if chain.setting == "rollback":
        modifications[-1] = f"{rng.choice(PREFERENCES).format(ORDINALS[chain.back])} {modifications[-1]}"
    return _transaction(chain, modifications)


def choose_clauses(
    target: Item, reference: Item, rng: random.Random, *, but: frozenset[str] = frozenset()
) -> list[str]:
    """Three things to say of the target, the first of which tells it from the reference, in chance order.

    What differs comes before what is only known of the target, and that before what both have; facets in `but`, which
    are spoken of elsewhere, come last of all. There are fewer than three where so little is known.
    """
    denied = list(negation_statements(target, reference)) if rng.random() < NEGATED else []
    statements = [
        *denied[:1],
        *direct_statements(target, reference),
        *comparison_statements(target, reference),
        *shared_statements(target, reference),
    ]
    rng.shuffle(statements)
    chosen: list[Statement] = []
    while statements and len(chosen) < CLAUSES:
        spoken = but | {statement.facet for statement in chosen}
        if chosen:
            ranked = [(s.facet in spoken, s.semantics == "shared", not s.tells_apart, not s.seen) for s in statements]
        else:
            ranked = [(not s.tells_apart, not s.seen, s.facet in spoken, False) for s in statements]
        best = statements.pop(ranked.index(min(ranked)))
        chosen.append(best)
    said = [statement.say(rng) for statement in chosen]
    rng.shuffle(said)
    return said


def keep_clause(kept: Sequence[KeptAttribute], rng: random.Random) -> str:
    """ "keep the FIRST's long sleeves and the SECOND's colour" """
    first, second = (f"the {ORDINALS[k.place]}'s {k.say()}" for k in kept)
    return f"keep {first} and {rng.choice(('', 'keep '))}{second}"


def noun_phrase(facet: str, word: str) -> str:
    """A word as something one can keep.

    >>> noun_phrase("colour", "red"), noun_phrase("sleeves", "long sleeves"), noun_phrase("length", "knee-length")
    ('red colour', 'long sleeves', 'knee-length cut')
    """
    if FORMS.get((facet, word), FACETS[facet].form) == "has":
        return word
    return f"{word} {'cut' if facet in {'length', 'sleeves', 'fit'} else FACETS[facet].noun}"
