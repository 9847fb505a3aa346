"""An article of a catalogue and what is known of it, however its picture came about.

Some are drawn: what kinds of these there are, how they can look, and the names a shop would give them.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from viewfinder.data.splits import Split, split_of
from viewfinder.data.truth import PictureTruth
from viewfinder.worlds.catalogue.vocabulary import FACETS, TYPES
from viewfinder.worlds.kinds import COLOURS, PATTERNS
from viewfinder.worlds.words import PAIRS, singular_of

Word = tuple[str, str]
"""A facet and one word of it: ("colour", "red")."""


@dataclass(frozen=True)
class Item:
    """One article.

    Attributes:
        key: its number in the catalogue; the picture is `images/<key>.jpg`.
        kind, family: the type of article and the subcategory, as the catalogue has them (Tshirts, Topwear).
        title: the name in the catalogue.
        words: what is known of it, by facet; the noun for its kind is a word too.
        lacks: what it is known not to have.
        row: its row in products.csv.
    """

    key: str
    kind: str
    family: str
    title: str
    words: tuple[Word, ...]
    lacks: frozenset[Word]
    row: tuple[tuple[str, str], ...]

    @property
    def image(self) -> str:
        """The picture's file name."""
        return f"{self.key}.jpg"

    @property
    def split(self) -> Split:
        """train, val or test."""
        return split_of(self.key)

    @cached_property
    def known(self) -> frozenset[Word]:
        """`words` as a set."""
        return frozenset(self.words)

    @cached_property
    def by_facet(self) -> dict[str, tuple[str, ...]]:
        """Words of each facet of which something is known."""
        found: dict[str, tuple[str, ...]] = {}
        for facet, word in self.words:
            found[facet] = (*found.get(facet, ()), word)
        return found

    @cached_property
    def title_words(self) -> frozenset[str]:
        """In lower case."""
        return frozenset(re.findall(r"[a-z0-9]+", self.title.lower()))

    @property
    def noun(self) -> str:
        """What one calls it: t-shirt."""
        return self.by_facet["kind"][0]


def attribute_lists(item: Item) -> tuple[tuple[str, ...], ...]:
    """The six lists of `asin2attr`: the kind of article, then the words of each of the five types."""
    of_type = {name: tuple(word for facet, word in item.words if FACETS[facet].type == name) for name in TYPES}
    return ((item.noun,), *of_type.values())


def attribute_numbers(items: Iterable[Item]) -> dict[str, int]:
    """A number for every attribute word, in alphabetical order (`attribute2idx.json`)."""
    words = {word for item in items for facet, word in item.words if FACETS[facet].type}
    return {word: number for number, word in enumerate(sorted(words))}


def item_truth(item: Item) -> PictureTruth:
    """An article as a line of truth.jsonl: words by type and by facet."""
    by_type = dict(zip(TYPES, attribute_lists(item)[1:], strict=True))
    return PictureTruth(image=item.image, title=item.title, category=item.kind, attributes={**by_type, **item.by_facet})


def largest_kinds(items: Sequence[Item], count: int) -> tuple[str, ...]:
    """The kinds of article with the most pictures, ties in alphabetical order."""
    kinds = Counter(item.kind for item in items)
    return tuple(sorted(kinds, key=lambda kind: (-kinds[kind], kind))[:count])


COLUMNS = (
    *("id", "gender", "masterCategory", "subCategory", "articleType"),
    *("baseColour", "season", "year", "usage", "productDisplayName"),
)
"""Columns of products.csv, in the order in which worlds write them."""


_OTHERS = {"shoes", "heels", "flats", "sandals", "slippers", "flops", "trunks", "accessories", "beads", "earrings"}
PLURAL = PAIRS | _OTHERS
"""Last words of articles that one speaks of in the plural."""


_UNUSUAL = {"tshirts": "t-shirt", "trunk": "trunks"}


def noun_of(kind: str) -> str:
    """What one calls an article of a type.

    >>> [noun_of(kind) for kind in ("Tshirts", "Watches", "Casual Shoes", "Scarves", "Laptop Bag")]
    ['t-shirt', 'watch', 'casual shoes', 'scarf', 'laptop bag']
    """
    *before, last = kind.lower().split()
    return " ".join([*before, _UNUSUAL.get(last) or (last if last in PLURAL else singular_of(last))])


# Articles that the package draws

LABELS = (
    *("Alder", "Birchwood", "Corvane", "Delmar", "Estuary", "Fennel", "Harbour", "Isolde", "Juniper", "Larkfield"),
    *("Marlowe", "Nettle", "Orrin", "Pellworth", "Quarry", "Rosedale", "Saltmarsh", "Thistle", "Umber", "Wexley"),
)
"""Invented brands."""

_PLAIN_SHARE = 0.4
_DETAIL_SHARE = 0.4


@dataclass(frozen=True)
class ItemRange:
    """A kind of article: where a shop files it, how often it is made, and how it can look."""

    family: str
    department: str
    share: int
    facets: dict[str, tuple[str, ...]]
    details: tuple[str, ...]


Looks = dict[str, tuple[str, ...]]
_LOOKS: Looks = {"colour": tuple(COLOURS), "pattern": PATTERNS}

_NECKS = ("round neck", "v-neck", "collar")
_SLEEVES = ("sleeveless", "short sleeves", "three-quarter sleeves", "long sleeves")
_SIZES = ("small", "medium-sized", "large")

_SHIRT: Looks = {
    **_LOOKS,
    "fabric": ("cotton", "denim", "satin", "knitted"),
    "sleeves": _SLEEVES,
    "neck": _NECKS,
    "length": ("cropped", "hip-length", "tunic-length"),
}
_DRESS: Looks = {
    **_LOOKS,
    "fabric": ("cotton", "denim", "satin", "knitted"),
    "sleeves": ("sleeveless", "short sleeves", "long sleeves"),
    "neck": _NECKS,
    "fit": ("fitted", "flared"),
    "length": ("mini", "knee-length", "maxi"),
}
_TROUSERS: Looks = {
    **_LOOKS,
    "fabric": ("cotton", "denim", "corduroy"),
    "fit": ("slim", "straight", "wide"),
    "length": ("above-the-knee", "calf-length", "full-length"),
}
_SHOES: Looks = {
    **_LOOKS,
    "fabric": ("leather", "canvas", "suede"),
    "length": ("low-cut", "ankle-high", "knee-high"),
    "heel": ("flat heel", "mid heel", "high heel"),
    "closure": ("laces", "buckle", "slip-on"),
}
_BAG: Looks = _LOOKS | {"fabric": ("leather", "canvas", "suede"), "cut": ("tote", "backpack", "clutch"), "size": _SIZES}
_MUG: Looks = _LOOKS | {"finish": ("glossy", "matte"), "cut": ("straight", "rounded", "tapered"), "size": _SIZES}

RANGES: dict[str, ItemRange] = {
    "Shirts": ItemRange("Topwear", "Apparel", 4, _SHIRT, ("buttons", "chest pocket")),
    "Dresses": ItemRange("Dress", "Apparel", 4, _DRESS, ("belt", "ruffled hem")),
    "Trousers": ItemRange("Bottomwear", "Apparel", 3, _TROUSERS, ("belt", "cargo pockets", "drawstring")),
    "Shoes": ItemRange("Shoes", "Footwear", 2, _SHOES, ("pompom", "contrasting toe cap")),
    "Bags": ItemRange("Bags", "Accessories", 2, _BAG, ("outside pocket", "tassel", "zip")),
    "Mugs": ItemRange("Tableware", "Home", 1, _MUG, ("lid", "saucer")),
}
"""Kinds of articles that are drawn, by their name in the catalogue."""


def sample_item(*, seed: int, number: int) -> Item:
    """Article `number` (from 1) of a seed; it depends on nothing else."""
    rng = random.Random(f"viewfinder/goods/{seed}/{number}")
    kind = rng.choices(list(RANGES), [made.share for made in RANGES.values()])[0]
    made = RANGES[kind]
    look = {facet: rng.choice(words) for facet, words in made.facets.items()}
    if rng.random() < _PLAIN_SHARE:
        look["pattern"] = "plain"
    details = tuple(detail for detail in made.details if rng.random() < _DETAIL_SHARE)
    words: tuple[Word, ...] = (
        ("kind", noun_of(kind)),
        *look.items(),
        *(("detail", detail) for detail in details),
        ("usage", _usage(kind, look, details)),
        ("season", _season(look)),
    )
    lacks = frozenset(("detail", detail) for detail in made.details if detail not in details)
    key, title = f"{number:06d}", _title(rng, kind, look, details)
    return Item(key, kind, made.family, title, words, lacks, _row(key, kind, title, dict(words)))


def _usage(kind: str, look: dict[str, str], details: tuple[str, ...]) -> str:
    """Formal, casual or sporty: a rule over what can be seen, so that it can be learned."""
    formal = {
        "Shirts": look.get("neck") == "collar" and look.get("sleeves") == "long sleeves",
        "Dresses": look.get("fabric") == "satin" or look.get("length") == "maxi",
        "Trousers": look["pattern"] == "plain" and look.get("length") == "full-length" and "drawstring" not in details,
        "Shoes": look.get("heel") == "high heel" or (look.get("fabric"), look.get("closure")) == ("leather", "laces"),
        "Bags": look.get("cut") == "clutch",
    }
    sporty = {
        "Shirts": look.get("sleeves") == "sleeveless",
        "Trousers": "drawstring" in details,
        "Shoes": (look.get("fabric"), look.get("closure")) == ("canvas", "laces"),
        "Bags": look.get("cut") == "backpack",
    }
    return "formal" if formal.get(kind) else "sporty" if sporty.get(kind) else "casual"


def _season(look: dict[str, str]) -> str:
    if look.get("fabric") in {"knitted", "corduroy"} or look.get("length") == "knee-high":
        return "winter"
    bare = {"sleeveless", "short sleeves", "above-the-knee"} & {look.get("sleeves"), look.get("length")}
    return "summer" if bare else "spring"


def _title(rng: random.Random, kind: str, look: dict[str, str], details: tuple[str, ...]) -> str:
    """A name as shops write it: label, what it is, some of how it looks."""
    looks = [look[facet] for facet in ("size", "length", "pattern", "fabric", "finish") if facet in look]
    parts = [look[facet] for facet in ("sleeves", "neck", "heel", "closure") if facet in look]
    adjectives = [part for part in parts if part in {"sleeveless", "slip-on"}]
    kept = [word for word in looks + adjectives if rng.random() < 0.7]
    parts = [part for part in parts if part not in adjectives]
    parts = [part for part in [*parts, *details] if rng.random() < 0.6]
    name = [rng.choice(LABELS), *kept, look["colour"], *([look["cut"]] if "cut" in look else []), kind]
    written = " ".join(word if word[0].isupper() else word.title() for word in name)
    return f"{written} with {' and '.join(parts)}" if parts else written


def _row(key: str, kind: str, title: str, words: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """The row of products.csv; wearer and year, which nobody can see, are not given."""
    usage = {"sporty": "Sports"}.get(words["usage"], words["usage"].title())
    cells = {
        "id": key,
        "masterCategory": RANGES[kind].department,
        "subCategory": RANGES[kind].family,
        "articleType": kind,
        "baseColour": words["colour"].title(),
        "season": words["season"].title(),
        "usage": usage,
        "productDisplayName": title,
    }
    return tuple((column, cells.get(column, "NA")) for column in COLUMNS)
