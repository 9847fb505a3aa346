"""An article of a catalogue and what is known of it, however its picture came about.

Some are drawn: what kinds of these there are, how they can look, and the names a shop would give them. Others are real
product photos: columns and words of the name become what is known of them.
"""

from __future__ import annotations

import io
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from PIL import Image

from viewfinder.data.catalogue import NOT_GIVEN, CatalogueRow, read_catalogue
from viewfinder.data.files import Dropped, need_folder
from viewfinder.data.splits import Split, split_of
from viewfinder.data.truth import PictureTruth
from viewfinder.errors import BadInput
from viewfinder.pictures.fits import picture_id
from viewfinder.wording.nouns import make_singular
from viewfinder.worlds.catalogue.vocabulary import FACETS, TYPES
from viewfinder.worlds.kinds import COLOURS, PATTERNS
from viewfinder.worlds.words import PAIRS

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
        """The word for its kind, such as "t-shirt"."""
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


def name_kind(kind: str) -> str:
    """The usual word for an article of a type.

    >>> [name_kind(kind) for kind in ("Tshirts", "Watches", "Casual Shoes", "Scarves", "Laptop Bag")]
    ['t-shirt', 'watch', 'casual shoes', 'scarf', 'laptop bag']
    """
    *before, last = kind.lower().split()
    return " ".join([*before, _UNUSUAL.get(last) or (last if last in PLURAL else make_singular(last))])


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
        ("kind", name_kind(kind)),
        *look.items(),
        *(("detail", detail) for detail in details),
        ("usage", _choose_usage(kind, look, details)),
        ("season", _choose_season(look)),
    )
    lacks = frozenset(("detail", detail) for detail in made.details if detail not in details)
    key, title = f"{number:06d}", _write_title(rng, kind, look, details)
    return Item(key, kind, made.family, title, words, lacks, _make_row(key, kind, title, dict(words)))


def _choose_usage(kind: str, look: dict[str, str], details: tuple[str, ...]) -> str:
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


def _choose_season(look: dict[str, str]) -> str:
    if look.get("fabric") in {"knitted", "corduroy"} or look.get("length") == "knee-high":
        return "winter"
    bare = {"sleeveless", "short sleeves", "above-the-knee"} & {look.get("sleeves"), look.get("length")}
    return "summer" if bare else "spring"


def _write_title(rng: random.Random, kind: str, look: dict[str, str], details: tuple[str, ...]) -> str:
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


def _make_row(key: str, kind: str, title: str, words: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """The row of products.csv; wearer and year are not given, as no drawing shows them."""
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


NEEDED = ("subCategory", "articleType", "productDisplayName")

_CELLS = {("colour", "multi"): "multicoloured", ("usage", "sports"): "sporty"}


def _list_plain_words(facet: str, *words: str) -> tuple[tuple[str, str, str], ...]:
    return tuple((word, facet, word) for word in words)


TITLE_WORDS: tuple[tuple[str, str, str], ...] = (
    (r"solid|plain", "pattern", "plain"),
    (r"printed|prints?", "pattern", "printed"),
    (r"striped|stripes?", "pattern", "striped"),
    (r"checked|checkered|checks?", "pattern", "checked"),
    (r"graphic", "pattern", "graphic"),
    (r"floral|flowers?", "pattern", "floral"),
    (r"polka|dots|dotted", "pattern", "dotted"),
    (r"embroidered|embroid[ea]ry|embro", "pattern", "embroidered"),
    (r"colou?r ?block(?:ed)?", "pattern", "colourblocked"),
    (r"washed|(?:ice|acid|stone) wash", "finish", "washed"),
    (r"mettall?ic|metall?ic", "finish", "metallic"),
    (r"textured", "finish", "textured"),
    (r"weaved|woven", "finish", "woven"),
    (r"quilted", "finish", "quilted"),
    *_list_plain_words("fabric", "cotton", "denim", "leather", "leatherette", "canvas", "suede", "silk", "polyester"),
    (r"knit|knitted", "fabric", "knitted"),
    (r"wool|woollen|woolen", "fabric", "wool"),
    *_list_plain_words("fabric", "fleece", "linen", "velvet", "corduroy", "satin"),
    *_list_plain_words("fit", "slim", "skinny"),
    *_list_plain_words("cut", "aviator", "wayfarer"),
    (r"square(?= dial| frame)|sqaure(?= dial)", "cut", "square"),
    (r"round(?= dial)", "cut", "round"),
    (r"moccasins?", "cut", "moccasin"),
    (r"loafers?", "cut", "loafer"),
    (r"sneakers?", "cut", "sneaker"),
    (r"wedges?", "cut", "wedge"),
    (r"ballerinas?", "cut", "ballerina"),
    (r"clogs?", "cut", "clog"),
    *_list_plain_words("cut", "tote", "satchel", "sling"),
    (r"sleeveless", "sleeves", "sleeveless"),
    (r"(?:short|half) sleeves?", "sleeves", "short sleeves"),
    (r"(?:long|full) sleeves?", "sleeves", "long sleeves"),
    (r"v ?-?neck", "neck", "v-neck"),
    (r"round ?-?neck", "neck", "round neck"),
    (r"crew ?-?neck", "neck", "crew neck"),
    (r"polo(?= neck)|polo(?= t-?shirts?)|polo(?= tee)", "neck", "polo collar"),
    (r"mandarin collar", "neck", "mandarin collar"),
    (r"hood|hooded|hoody|hoodie", "detail", "hood"),
    (r"zip|zipper|zippered", "closure", "zip"),
    (r"slip-? ?ons?", "closure", "slip-on"),
    (r"velcro", "closure", "velcro strap"),
    (r"lace-? ?ups?", "closure", "laces"),
    (r"pockets?(?! ?squares?)", "detail", "pocket"),
    *_list_plain_words("detail", "logo", "buckle"),
    (r"sequins?", "detail", "sequins"),
    *_list_plain_words("detail", "chain", "bow", "flap", "chronograph"),
    (r"peep toes?", "detail", "peep toe"),
    *_list_plain_words("sport", "running", "training"),
    (r"football|soccer", "sport", "football"),
    *_list_plain_words("sport", "tennis", "cricket", "basketball", "yoga"),
    (r"skate", "sport", "skating"),
)
"""Whole words of a product's name (regular expressions, lower case), and the facet and word that they give away."""

_TITLE_WORDS = tuple((re.compile(rf"(?<![\w-])(?:{said})(?![\w-])"), facet, word) for said, facet, word in TITLE_WORDS)


def read_photos(folder: Path) -> tuple[list[Item], tuple[Dropped, ...]]:
    """The articles of a folder of product photos (`products.csv`, `images/<id>.jpg`), one for identical files.

    Raises:
        BadInput: no such folder, a column that is needed is missing, or products.csv is damaged; no photo at all.
    """
    catalogue = read_catalogue(need_folder(folder) / "products.csv")
    for column in NEEDED:
        if column not in catalogue.attributes:
            raise BadInput(f"{catalogue.path}, line 1: a column named {column} is needed")
    images = need_folder(folder / "images")
    items: dict[str, Item] = {}
    dropped = list(catalogue.report.dropped)
    first: dict[str, str] = {}
    for row in catalogue.rows:
        reason = "its id is there twice" if row.key in items else _find_fault(row, images, first)
        if reason:
            dropped.append(Dropped(row.key, reason))
        else:
            items[row.key] = make_item(row)
    if not items:
        raise BadInput(f"{folder}: no usable photo ({dropped[0].reason if dropped else 'products.csv has no row'})")
    return list(items.values()), tuple(dropped)


def _find_fault(row: CatalogueRow, images: Path, first: dict[str, str]) -> str:
    """Why a row cannot become an article, "" if it can; `first` has the key of the first file of every content."""
    missing = [column for column in NEEDED if column not in row.values]
    name = f"{row.key}.jpg"
    if missing:
        return f"no {missing[0]}"
    if Path(name).name != name:
        return "its id is no file name"
    try:
        data = (images / name).read_bytes()
        with Image.open(io.BytesIO(data)) as picture:
            picture.verify()
    except FileNotFoundError:
        return f"no such file: images/{name}"
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        return f"images/{name} is no picture ({error})"
    known = first.setdefault(picture_id(data), row.key)
    return "" if known == row.key else f"the same file as images/{known}.jpg"


def make_item(row: CatalogueRow) -> Item:
    """A row of products.csv as an article."""
    values = row.values
    title = values["productDisplayName"]
    row_out = tuple((column, values.get(column, "NA")) for column in COLUMNS[1:])
    words = (("kind", name_kind(values["articleType"])), *_list_column_words(values), *read_title_words(title))
    known, lacks = tuple(dict.fromkeys(words)), frozenset[Word]()
    return Item(row.key, values["articleType"], values["subCategory"], title, known, lacks, (("id", row.key), *row_out))


def _list_column_words(values: dict[str, str]) -> Iterable[Word]:
    for facet, column in (("colour", "baseColour"), ("usage", "usage"), ("audience", "gender"), ("season", "season")):
        cell = values.get(column, "").lower()
        if cell and cell.upper() not in NOT_GIVEN:
            yield facet, _CELLS.get((facet, cell), cell)


def read_title_words(title: str) -> list[Word]:
    """The facets and words that a product's name gives away.

    >>> read_title_words("Lee Men Striped Polo T-shirt")
    [('pattern', 'striped'), ('neck', 'polo collar')]
    """
    lowered = title.lower()
    return [(facet, word) for said, facet, word in _TITLE_WORDS if said.search(lowered)]
