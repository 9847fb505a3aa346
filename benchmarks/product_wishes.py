"""Picks of products of every kind with a wish in a few words: "for women instead", "in leather", "sandals, please".

A dialogue goes from like to like, as the sessions of a catalogue do: maybe the kind of thing is said first, then a
product is picked with a wish that it does not fit, of one of its facets, and what is wanted next is one of the products
of the same family that fit the wish, and are otherwise as alike as any. Few wishes ask for a thing of another family.
What is known of products is what a catalogue's columns and titles say (`worlds.catalogue`); the words are ours, and
those of validation and of the test others than those of training.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from viewfinder.conversation import Like, Say, Turn
from viewfinder.data.splits import Split
from viewfinder.evaluation import Task
from viewfinder.evaluation.plan import SearchDialogue
from viewfinder.worlds.catalogue.items import Item, Word, read_photos
from viewfinder.worlds.catalogue.statements import (
    comparison_statements,
    describe_item,
    excludes_word,
    negation_statements,
    phrases_of,
)

MAX_PICKS = 3
MAX_OF_FAMILY = 600
"""Products of a family from which dialogues begin: most products are garments for the upper body."""

SHARE_DESCRIBED, SHARE_COLOURED, SHARE_PLAIN, SHARE_ELSEWHERE, SHARE_COMPARED = 0.5, 0.3, 0.15, 0.08, 0.15
"""Of dialogues that begin with the kind of thing, and of these with its colour; of picks without words after one with;
of wishes for another family; of wishes that compare or deny."""

WEIGHTS = {"audience": 3.0, "colour": 3.0, "kind": 2.0, "fabric": 2.0}
"""How much likelier than others a wish is of a facet."""

ALIKE = {"kind": 3, "audience": 2, "colour": 2}
"""How much more than others a facet counts when products are alike."""

CLOSEST = 3
"""Of so many of the most alike products that fit one is drawn."""

FRAMES: dict[Split, tuple[str, ...]] = {
    "train": ("{}", "{}", "{} instead", "but {}", "{} please", "the same {}", "like this {}", "something {}", "now {}"),
    "val": ("I would rather have it {}", "this one {}, please", "similar, {}"),
    "test": ("can I see it {}", "one like that, {}", "I prefer them {}"),
}
"""What stands around a wish; those of validation and test are not learnt from."""


@dataclass(frozen=True)
class Wish:
    """What is said with a picture, and the keys of all products that are right."""

    words: str
    right: frozenset[str]


@dataclass(frozen=True, eq=False)
class Shop:
    """The products of a part."""

    split: Split
    items: Sequence[Item]
    families: dict[str, list[Item]] = field(init=False)

    def __post_init__(self) -> None:
        families: dict[str, list[Item]] = defaultdict(list)
        for item in self.items:
            families[item.family].append(item)
        object.__setattr__(self, "families", dict(families))


def open_shop(products: Path, split: Split) -> Shop:
    """The products of a part of a folder of product photos."""
    return Shop(split, [item for item in read_photos(products)[0] if item.split == split])


def make_task(shop: Shop, seed: int = 0) -> tuple[Task, dict[str, frozenset[str]]]:
    """Dialogues from products of all families, searched among all; and for each dialogue what is right at its end."""
    rng = random.Random(f"wishes/{shop.split}/{seed}")
    begins = []
    for family in sorted(shop.families):
        items = list(shop.families[family])
        rng.shuffle(items)
        begins += items[:MAX_OF_FAMILY]
    dialogues, right = [], dict[str, frozenset[str]]()
    for item in begins:
        if (made := make_dialogue(item, shop, rng)) is not None:
            dialogues.append(made[0])
            right[made[0].id] = made[1]
    gallery = tuple(item.key for item in shop.items)
    return Task("wishes", "", shop.split, gallery, tuple(dialogues), ("R@10",), last_only=True), right


def make_dialogue(first: Item, shop: Shop, rng: random.Random) -> tuple[SearchDialogue, frozenset[str]] | None:
    """A dialogue that begins at a product, and what is right at its end; None: no wish leads away from it."""
    turns, targets = list[Turn](), list[str]()
    if rng.random() < SHARE_DESCRIBED:
        known = [("kind", first.noun)]
        if rng.random() < SHARE_COLOURED:
            known += [("colour", word) for word in first.by_facet.get("colour", ())[:1]]
        turns.append(Say(describe_item(first, known)))
        targets.append(first.key)
    here, right = first, frozenset[str]()
    for number in range(rng.randint(1, MAX_PICKS)):
        plainly = number > 0 and rng.random() < SHARE_PLAIN
        alike = find_alike(here, shop.families[here.family], rng) if plainly else None
        if (made := make_wish(alike or here, shop, rng)) is None:
            break
        wish, target = made
        steps = [(Like(here.key), alike)] if alike else []
        for turn, wanted in (*steps, (Like((alike or here).key, wish.words), target)):
            turns.append(turn)
            targets.append(wanted.key)
        here, right = target, wish.right
    if not right:
        return None
    return SearchDialogue(first.key, here.key, tuple(turns), tuple(targets)), right


def make_wish(here: Item, shop: Shop, rng: random.Random) -> tuple[Wish, Item] | None:
    """A wish that a product does not fit, and a product that does; None: there is none."""
    family = shop.families[here.family]
    if rng.random() < SHARE_COMPARED and (found := _make_comparison(here, family, shop.split, rng)):
        return found
    elsewhere = rng.random() < SHARE_ELSEWHERE
    among = [item for item in shop.items if item.family != here.family] if elsewhere else family
    possible = {
        word
        for item in among
        for word in item.words
        if (word[0] == "kind" if elsewhere else _is_sayable(word)) and excludes_word(here, *word)
    }
    if not possible:
        return None
    facets = sorted({facet for facet, _ in possible})
    [facet] = rng.choices(facets, [WEIGHTS.get(one, 1.0) for one in facets])
    counts = Counter(word for item in among for word in item.words if word in possible and word[0] == facet)
    words = sorted(counts)
    [wanted] = rng.choices(words, [counts[word] ** 0.5 for word in words])
    fits = [item for item in among if wanted in item.known]
    frame = rng.choice(FRAMES[shop.split])
    return Wish(frame.format(say_word(wanted, rng)), frozenset(one.key for one in fits)), _choose(here, fits, rng)


def _make_comparison(here: Item, family: Sequence[Item], split: Split, rng: random.Random) -> tuple[Wish, Item] | None:
    """A wish that compares or denies: "darker", "without stripes"."""
    made: dict[tuple[str, str, str], tuple[list[Item], tuple[str, ...]]] = {}
    for item in family:
        if item is not here:
            for statement in (*comparison_statements(item, here), *negation_statements(item, here)):
                if statement.facet not in {"kind", "season"}:
                    about = (statement.semantics, statement.facet, statement.word)
                    made.setdefault(about, ([], statement.phrases))[0].append(item)
    if not made:
        return None
    fits, phrases = made[rng.choice(sorted(made))]
    words = rng.choice(FRAMES[split]).format(_shorten(rng.choice(phrases)))
    return Wish(words, frozenset(item.key for item in fits)), _choose(here, fits, rng)


def _is_sayable(word: Word) -> bool:
    return word[0] != "season" and word != ("audience", "unisex")


def _choose(here: Item, fits: Sequence[Item], rng: random.Random) -> Item:
    """One of the most alike."""
    shuffled = rng.sample(list(fits), len(fits))
    return rng.choice(sorted(shuffled, key=lambda item: -count_alike(here, item))[:CLOSEST])


def find_alike(here: Item, family: Sequence[Item], rng: random.Random) -> Item | None:
    """One of the products that are the most alike; None: there is no other."""
    others = [item for item in family if item is not here]
    return _choose(here, others, rng) if others else None


def count_alike(one: Item, other: Item) -> int:
    """How much is known to be true of both."""
    return sum(ALIKE.get(facet, 1) for facet, _ in one.known & other.known)


def say_word(word: Word, rng: random.Random) -> str:
    """A word as it stands after "the same": "in red", "for women", "with stripes", "as sandals"."""
    facet, said = word
    if facet == "kind":
        return rng.choice((said, f"as {said}", phrases_of(facet, said)[0].removeprefix("is ")))
    if facet in {"colour", "fabric"} and rng.random() < 0.6:  # as people mostly say it
        return f"in {said}"
    return _shorten(rng.choice(phrases_of(facet, said)))


def _shorten(phrase: str) -> str:
    """A statement as it stands after "the same".

    >>> _shorten("has stripes"), _shorten("is for women"), _shorten("does not have a collar")
    ('with stripes', 'for women', 'without a collar')
    """
    for start, put in STARTS:
        if phrase.startswith(start):
            return put + phrase.removeprefix(start)
    return phrase


STARTS = (
    ("is made for ", "for "), ("is made of ", "made of "), ("does not have ", "without "), ("has no ", "without "),
    ("is not ", "not "), ("is ", ""), ("has ", "with "),
)  # fmt: skip


def list_families(shop: Shop) -> dict[str, str]:
    """The family of every product, by its key."""
    return {item.key: item.family for item in shop.items}
