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
SHARE_NAMED = 0.5
"""Share of kept attributes that are named with their word: "the FIRST's red colour", not only "the FIRST's colour"."""

SHARE_NEGATED_TURNS = 0.1
"""Share of turns in which a negation is one of the three clauses, where there is something to deny."""

PREFERENCES = (
    "On second thoughts I like the {} better, and",
    "Let us go back to the {}, except that it",
    "The {} was closer to what I have in mind, and",
    "No, rather something like the {}, only that it",
    "I still prefer the {}, so from there",
)

_MAX_CHAINS_TRIED = 60
_DRAWS = 24
_NOT_KEPT = frozenset({"kind", "audience", "season", "sport"})


@dataclass(frozen=True)
class KeptAttribute:
    """An attribute that the wanted article shares with the one at `place` of the chain; `named`: said with its word."""

    place: int
    word: Word
    named: bool

    def say(self) -> str:
        """The attribute as it follows "keep the FIRST's"."""
        return noun_phrase(*self.word) if self.named else FACETS[self.word[0]].noun


@dataclass(frozen=True)
class Chain:
    """Four articles and how the last turn looks back: to the place in `back`, or to what is in `kept`."""

    items: tuple[Item, Item, Item, Item]
    setting: Setting
    back: int = 2
    kept: tuple[KeptAttribute, ...] = ()

    def operations(self) -> dict[str, Any]:
        """The last turn in a form for programs: where it goes back to, or what it keeps of which picture."""
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
    groups = _group_families(items)
    order = [item for group in groups.values() for item in group]
    common = Counter(word for item in items for word in item.known)
    hopeless: set[str] = set()  # references for which no chain was found: they are not tried again
    made = 0
    while made < count and len(hopeless) < len(order):
        rng.shuffle(order)
        for reference in order:
            if made == count:
                return
            if reference.key in hopeless:
                continue
            found = _find_transaction(reference, groups[reference.family], setting, common, rng, language)
            if found is None:
                hopeless.add(reference.key)
            else:
                made += 1
                yield found


def count_in_chains(items: Iterable[Item]) -> int:
    """The number of articles with enough others in their subcategory to make a chain."""
    return sum(len(group) for group in _group_families(items).values())


def _group_families(items: Iterable[Item]) -> dict[str, list[Item]]:
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(item.family, []).append(item)
    return {family: group for family, group in groups.items() if len(group) > CLAUSES}


def _find_transaction(
    reference: Item,
    group: Sequence[Item],
    setting: Setting,
    common: Mapping[Word, int],
    rng: random.Random,
    language: Language,
) -> tuple[Chain, Transaction] | None:
    for _ in range(_MAX_CHAINS_TRIED):
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
            # The rarest condition is tested first. From the latest picture more would have to be said than a turn can
            # say, so that a system which forgets the earlier pictures is led astray.
            fits = changed_statements(wanted, origin) and tell_apart(wanted, origin)
            if fits and len({one.facet for one in _list_changes(wanted, latest)}) > CLAUSES:
                return Chain((first, second, latest, wanted), setting, back=back)
            continue
        new = wanted.known - latest.known
        with_first = sorted(word for word in new if _shares_whole_facet(word, wanted, first))
        with_second = sorted(word for word in new if _shares_whole_facet(word, wanted, second)) if with_first else []
        pairs = [(a, b) for a in with_first for b in with_second if a[0] != b[0]]
        if pairs and tell_apart(wanted, origin):
            one, other = rng.choice(pairs)
            kept = (KeptAttribute(0, one, named=False), KeptAttribute(1, other, named=False))
            if changed_statements(wanted, origin, but=frozenset((one[0], other[0]))):
                return Chain((first, second, latest, wanted), setting, kept=kept)
    return None


def _shares_whole_facet(word: Word, wanted: Item, other: Item) -> bool:
    """Whether a picture shows an attribute of the other in which the wanted article agrees with it wholly."""
    facet = word[0]
    whole = wanted.by_facet[facet] == other.by_facet.get(facet)
    return whole and FACETS[facet].seen and facet not in _NOT_KEPT | {"detail"}


def _list_changes(wanted: Item, origin: Item) -> Iterator[Statement]:
    """The statements that lead from the origin to the wanted article, as far as pictures show what changed."""
    changed = set()
    for statement in direct_statements(wanted, origin):
        if statement.seen:
            changed.add(statement.facet)
            yield statement
    for statement in negation_statements(wanted, origin):
        if statement.seen and statement.facet not in changed - {"detail"}:
            yield statement


def changed_statements(wanted: Item, origin: Item, *, but: frozenset[str] = frozenset()) -> list[Statement]:
    """Statements of all that changed, facets in `but` aside; none where that takes too many clauses."""
    needed = list(islice((one for one in _list_changes(wanted, origin) if one.facet not in but), CLAUSES + 1))
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
        words = _choose_kept_words(first, second, latest, wanted, common)
        if words is not None and not set(words) <= latest.known:
            # Ranked by how many of the words no picture shows, then by how many the latest picture has anyway.
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
        kept.append(KeptAttribute(place, word, named=not whole or rng.random() < SHARE_NAMED))
    return Chain((first, second, latest, wanted), "combination", kept=tuple(kept))


def _choose_kept_words(
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
    quiet = frozenset(kept.word[0] for kept in chain.kept)
    said = [choose_clauses(second, first, rng), choose_clauses(latest, second, rng)]
    said.append(choose_clauses(wanted, chain.items[chain.back], rng, but=quiet))
    return None if any(len(clauses) < CLAUSES for clauses in said) else _join_transaction(chain, said, rng)


def write_leaning_transaction(chain: Chain, rng: random.Random) -> Transaction | None:
    """The words of a chain that say only what changes; None if there is a turn in which nothing does."""
    first, second, latest, wanted = chain.items
    quiet = frozenset(kept.word[0] for kept in chain.kept)
    last = changed_statements(wanted, chain.items[chain.back], but=quiet)
    changes = [list(_list_changes(second, first)), list(_list_changes(latest, second)), last]
    told = [rng.sample(some, min(len(some), CLAUSES)) for some in changes]
    if not all(told):
        return None
    said = [[statement.say(rng) for statement in statements] for statements in told]
    for clauses in said:
        rng.shuffle(clauses)
    return _join_transaction(chain, said, rng)


def _join_transaction(chain: Chain, said: Sequence[list[str]], rng: random.Random) -> Transaction:
    """The transaction whose turns say these clauses; the last one looks back."""
    if chain.setting == "combination":
        said[-1].append(keep_clause(chain.kept, rng))
    turns = [" ".join(f"{number}. {clause}" for number, clause in enumerate(clauses, start=1)) for clauses in said]
    if chain.setting == "rollback":
        turns[-1] = f"{rng.choice(PREFERENCES).format(ORDINALS[chain.back])} {turns[-1]}"
    pictures = tuple(f"images/{item.image}" for item in chain.items)
    captions = tuple(caption_item(item)[1] for item in chain.items)
    return Transaction(pictures[0], pictures[1:], tuple(turns), captions)


def choose_clauses(
    target: Item, reference: Item, rng: random.Random, *, but: frozenset[str] = frozenset()
) -> list[str]:
    """Three things to say of the target, the first of which tells it from the reference, in chance order.

    What differs comes before what is only known of the target, and that before what both have; facets in `but`, which
    are spoken of elsewhere, come last of all. There are fewer than three where so little is known.
    """
    denied = list(negation_statements(target, reference)) if rng.random() < SHARE_NEGATED_TURNS else []
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
    """The clause that keeps two attributes: "keep the FIRST's long sleeves and the SECOND's colour"."""
    first, second = (f"the {ORDINALS[k.place]}'s {k.say()}" for k in kept)
    return f"keep {first} and {rng.choice(('', 'keep '))}{second}"


def noun_phrase(facet: str, word: str) -> str:
    """A word of a facet as a noun phrase, as it follows "keep the FIRST's".

    >>> noun_phrase("colour", "red"), noun_phrase("sleeves", "long sleeves"), noun_phrase("length", "knee-length")
    ('red colour', 'long sleeves', 'knee-length cut')
    """
    if FORMS.get((facet, word), FACETS[facet].form) == "has":
        return word
    return f"{word} {'cut' if facet in {'length', 'sleeves', 'fit'} else FACETS[facet].noun}"
