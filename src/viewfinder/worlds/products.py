"""Real products as things of a scene: their kinds, nouns and colours from products.csv, their pixels from images/.

products.csv has the columns id, masterCategory, subCategory, articleType, baseColour and productDisplayName; the
photograph of product 7 is images/7.jpg, on a light background. A kind is an article type, its nouns are made from
the type's name by rule (`nouns_of`).
"""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from PIL import Image

from viewfinder.data.files import read_table
from viewfinder.errors import BadInput
from viewfinder.worlds.cutouts import cut_out
from viewfinder.worlds.kinds import Kind
from viewfinder.worlds.words import Nouns

TABLE = "products.csv"
COLUMNS = ("id", "masterCategory", "subCategory", "articleType", "baseColour", "productDisplayName")

FEWEST = 4
"""Article types with fewer products than this are left out."""

_NO_COLOUR = frozenset({"", "na", "multi", "metallic"})
_NO_KIND = frozenset({"free items"})
_SIDES = {"apparel": 96, "footwear": 64, "accessories": 58, "personal care": 54}
_SIDE = 64
_BY_HAND = frozenset({"bags", "wallets", "fragrance", "umbrellas", "perfumes"})
_PATTERNS = (("strip", "striped"), ("check", "checked"), ("polka", "dotted"), ("solid", "plain"), ("plain", "plain"))
_TRIES = 12
_KEPT = 256


@dataclass(frozen=True)
class Product:
    """One row of the table: what is said of a product, in lower case; `pattern` is "" where its name tells none."""

    id: str
    category: str
    group: str
    type: str
    colour: str
    pattern: str


@dataclass(frozen=True, eq=False)
class Shop:
    """The products of a folder by kind and colour, and what is made of them.

    Attributes:
        digest: of the table; it tells one set of products from another.
        shelves: kind -> colour -> products, those without a picture left out.
    """

    folder: Path
    digest: str
    kinds: Mapping[str, Kind]
    nouns: Mapping[str, Nouns]
    shelves: Mapping[str, Mapping[str, Sequence[Product]]]
    _aspects: dict[str, float] = field(default_factory=dict)

    def pick(self, rng: random.Random, kind: str) -> Product | None:
        """A product of a kind whose picture can be cut out: first a colour, then one of that colour.

        None after some tries that failed.
        """
        for _ in range(_TRIES):
            product = rng.choice(self.shelves[kind][rng.choice(self.kinds[kind].colours)])
            if self.aspect(kind, product.id):
                return product
        return None

    def aspect(self, kind: str, product: str) -> float:
        """Width over height of a product's cut-out; 0 if it cannot be cut out."""
        if product not in self._aspects:
            image = self.cutout(kind, product)
            self._aspects[product] = 0.0 if image is None else image.width / image.height
        return self._aspects[product]

    def cutout(self, kind: str, product: str) -> Image.Image | None:
        """A product without its background; of a garment, nothing may be missing in the middle."""
        return _cutout(self.folder / "images" / f"{product}.jpg", bool(self.kinds[kind].shows))


@lru_cache(maxsize=_KEPT)
def _cutout(path: Path, solid: bool) -> Image.Image | None:
    try:
        with Image.open(path) as photo:
            return cut_out(photo, solid=solid)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None


def open_shop(folder: Path) -> Shop:
    """The shop in a folder; the same object for the same table in one process.

    Raises:
        BadInput: products.csv is missing or damaged, lacks a column, or none of its products has a picture.
    """
    table = folder / TABLE
    try:
        digest = hashlib.blake2b(table.read_bytes(), digest_size=8).hexdigest()
    except OSError as error:
        raise BadInput(f"{table}: cannot be read ({error.strerror}); --sprites needs {TABLE} and images/") from error
    return _shop(folder.resolve(), digest)


@lru_cache(maxsize=4)
def _shop(folder: Path, digest: str) -> Shop:
    products = _products(folder)
    shelves = _shelves(products)
    if not shelves:
        raise BadInput(f"{folder / TABLE}: no kind of product has {FEWEST} with a picture in {folder / 'images'}")
    first = {kind: next(iter(colours.values()))[0] for kind, colours in shelves.items()}
    nouns = {kind: nouns_of(product.type) for kind, product in first.items()}
    return Shop(folder, digest, _kinds(shelves, first), nouns, shelves)


def _products(folder: Path) -> list[Product]:
    table = read_table(folder / TABLE)
    columns = [table.need((name.lower(),)) for name in COLUMNS]
    pictures = {file.stem for file in (folder / "images").glob("*.jpg")}
    rows = ([row[column] for column in columns] for row in table.rows)
    return [_product(row) for row in rows if row[0] in pictures]


def _product(row: Sequence[str]) -> Product:
    number, category, group, kind, colour, name = (cell.lower() for cell in row)
    pattern = next((pattern for sign, pattern in _PATTERNS if sign in name), "")
    return Product(row[0] or number, category, group, kind, colour, pattern)


def _shelves(products: Iterable[Product]) -> dict[str, dict[str, list[Product]]]:
    """Kind -> colour -> products, each in alphabetical order; rare kinds and unnamed colours left out."""
    shelves: defaultdict[str, defaultdict[str, list[Product]]] = defaultdict(lambda: defaultdict(list))
    for product in sorted(products, key=lambda product: product.id):
        if product.type and product.colour not in _NO_COLOUR and product.category not in _NO_KIND:
            shelves[nouns_of(product.type)[0][0]][product.colour].append(product)
    return {
        kind: dict(sorted(colours.items()))
        for kind, colours in sorted(shelves.items())
        if sum(map(len, colours.values())) >= FEWEST
    }


def _kinds(shelves: Mapping[str, Mapping[str, Sequence[Product]]], first: Mapping[str, Product]) -> dict[str, Kind]:
    """A kind a shelf. A garment may be photographed on a person who wears other things too."""
    wearable = frozenset(kind for kind, product in first.items() if product.group not in _BY_HAND)
    return {
        kind: Kind(
            height=_SIDES.get(first[kind].category, _SIDE),
            aspect=1.0,
            colours=tuple(colours),
            patterned=False,
            most=min(3, sum(map(len, colours.values()))),
            shows=wearable - {kind} if first[kind].category == "apparel" else frozenset(),
        )
        for kind, colours in shelves.items()
    }


# Nouns

_PAIRS = frozenset(
    [
        "jeans",
        "trousers",
        "pants",
        "shorts",
        "leggings",
        "tights",
        "stockings",
        "briefs",
        "boxers",
        "capris",
        "churidar",
        "sunglasses",
        "cufflinks",
        "gloves",
        "socks",
    ]
)
_AS_THEY_ARE = {
    "tshirts": (("t-shirt", "t-shirts"), ("tee", "tees")),
    "tops": (("top", "tops"),),
    "heels": (("high-heeled shoe", "high-heeled shoes"),),
    "flats": (("flat shoe", "flat shoes"),),
    "flip flops": (("flip-flop", "flip-flops"),),
    "sports shoes": (("sports shoe", "sports shoes"), ("trainer", "trainers")),
    "watches": (("watch", "watches"), ("wristwatch", "wristwatches")),
    "caps": (("cap", "caps"), ("baseball cap", "baseball caps")),
    "backpacks": (("backpack", "backpacks"), ("knapsack", "knapsacks")),
    "sweaters": (("sweater", "sweaters"), ("pullover", "pullovers")),
    "trunk": (("pair of trunks", "pairs of trunks"),),
    "perfume and body mist": (("perfume bottle", "perfume bottles"),),
    "necklace and chains": (("necklace", "necklaces"),),
    "innerwear vests": (("undershirt", "undershirts"), ("innerwear vest", "innerwear vests")),
    "shoe accessories": (("shoe accessory", "shoe accessories"),),
}
_OTHER_WORDS = {
    "trousers": ("slacks",),
    "track pants": ("tracksuit bottoms",),
    "sunglasses": ("shades",),
}


def nouns_of(article: str) -> Nouns:
    """Singular and plural of an article type, which the table has mostly in the plural; first the usual word.

    >>> nouns_of("Clutches"), nouns_of("Laptop Bag"), nouns_of("Track Pants")[0]
    ((('clutch', 'clutches'),), (('laptop bag', 'laptop bags'),), ('pair of track pants', 'pairs of track pants'))
    """
    words = article.lower()
    if words in _AS_THEY_ARE:
        return _AS_THEY_ARE[words]
    if words.split()[-1] in _PAIRS:
        return tuple((f"pair of {name}", f"pairs of {name}") for name in (words, *_OTHER_WORDS.get(words, ())))
    singular = _singular(words)
    return ((singular, plural_of(singular)),)


def _singular(words: str) -> str:
    for ending, instead in (("ches", "ch"), ("sses", "ss"), ("shes", "sh"), ("ies", "y"), ("rves", "rf")):
        if words.endswith(ending) and len(words) > len(ending) + 2:
            return words.removesuffix(ending) + instead
    return words.removesuffix("s") if words.endswith("s") and not words.endswith("ss") else words


def plural_of(singular: str) -> str:
    """The plural of a noun.

    >>> plural_of("clutch"), plural_of("accessory"), plural_of("scarf"), plural_of("tie")
    ('clutches', 'accessories', 'scarves', 'ties')
    """
    if singular.endswith(("ch", "sh", "ss", "x")):
        return singular + "es"
    if singular.endswith("y") and singular[-2:-1] not in set("aeiou"):
        return singular[:-1] + "ies"
    return singular.removesuffix("rf") + "rves" if singular.endswith("rf") else singular + "s"
