"""The stock from which a scene takes its things: drawn kinds, or real products cut out of their photographs.

products.csv has the columns id, masterCategory, subCategory, articleType, baseColour and productDisplayName; the
photograph of product 7 is images/7.jpg, on a light, even background. A kind is an article type, its nouns are made from
the type's name by rule (`words.make_nouns`).
"""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Bool, UInt8
from PIL import Image

from viewfinder.data.files import read_table
from viewfinder.data.splits import Split, split_of
from viewfinder.errors import BadInput
from viewfinder.worlds.kinds import KINDS, Kind
from viewfinder.worlds.words import NOUNS, Nouns, make_nouns

LIGHTEST_DARK = 205
"""A background is light where its darkest channel is at least this bright."""

MAX_BACKGROUND_DIFFERENCE = 12
"""Largest difference, in any channel, of a pixel of the background from the background's colour."""

MIN_AREA, MAX_AREA = 0.035, 0.86
"""Shares of the photograph that a thing may fill; outside of them the cut has failed."""

MAX_RAGGED = 0.15
"""Share that closing its gaps may add to a thing; a pale thing that the flood has eaten into gains more."""

_EVEN = 0.6  # share of the border that must have its usual colour
_SPECK = 0.03  # parts smaller than this share of the largest are dropped
_GAP, _WIDE_GAP = 7, 21  # sides, in pixels at half size, of the square that closes gaps
_CORE = 0.45  # blurred coverage at which a pixel begins to show
_HOLE, _EXACT = 0.004, 0.75  # of a hole: its share of the photograph, that of its pixels in exactly the border's colour


def cut_out(photo: Image.Image, *, solid: bool = False) -> Image.Image | None:
    """The thing in a photograph as RGBA, cropped to it; None where it cannot be told from its background.

    Of a `solid` thing (a garment, not a pair of glasses) wide gaps count as eaten too.

    The background is what a flood from the border reaches over pixels of the border's colour. The rim is drawn in
    by a pixel and softened, so that no halo of background stays on it.
    """
    from scipy import ndimage

    pixels = np.asarray(photo.convert("RGB"))
    background = _find_background(pixels)
    if background is None:
        return None
    thing = _drop_specks(~_flood_background(pixels, background))
    if not MIN_AREA <= thing.mean() <= MAX_AREA:
        return None
    # At half size, where a closing by a square is two quick running maxima and minima.
    small = np.pad(thing[::2, ::2], _WIDE_GAP).astype(np.uint8)
    gap = _WIDE_GAP if solid else _GAP
    if ndimage.grey_closing(small, size=(gap, gap)).sum() > (1 + MAX_RAGGED) * small.sum():
        return None
    # How much of each pixel the thing covers, 0 to 1.
    blurred = ndimage.gaussian_filter(thing.astype(np.float32), 1.0)
    alpha = np.clip((blurred - _CORE) / (1 - _CORE) * 1.25, 0.0, 1.0)
    if alpha.max() < 1.0:
        return None
    cut = np.dstack([pixels, np.round(alpha * 255).astype(np.uint8)])
    rows, columns = np.flatnonzero((alpha > 0).any(axis=1)), np.flatnonzero((alpha > 0).any(axis=0))
    return Image.fromarray(np.ascontiguousarray(cut[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]))


def _find_background(pixels: UInt8[np.ndarray, "h w 3"]) -> UInt8[np.ndarray, " 3"] | None:
    """The colour of the border, if that is light and mostly one colour."""
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    colour = np.median(border, axis=0).astype(np.uint8)
    even = _measure_distance(border[None], colour)[0] <= MAX_BACKGROUND_DIFFERENCE
    return colour if colour.min() >= LIGHTEST_DARK and even.mean() >= _EVEN else None


def _measure_distance(pixels: UInt8[np.ndarray, "h w 3"], colour: UInt8[np.ndarray, " 3"]) -> UInt8[np.ndarray, "h w"]:
    apart = np.maximum(pixels, colour) - np.minimum(pixels, colour)
    most: UInt8[np.ndarray, "h w"] = np.maximum(np.maximum(apart[..., 0], apart[..., 1]), apart[..., 2])
    return most


def _flood_background(pixels: UInt8[np.ndarray, "h w 3"], colour: UInt8[np.ndarray, " 3"]) -> Bool[np.ndarray, "h w"]:
    """The pixels of the background's colour that the border reaches, and holes in which exactly that colour is seen."""
    from scipy import ndimage

    distance = _measure_distance(pixels, colour)
    parts, count = ndimage.label(distance <= MAX_BACKGROUND_DIFFERENCE)
    reached = np.zeros(count + 1, dtype=bool)
    for side in (parts[0], parts[-1], parts[:, 0], parts[:, -1]):
        reached[side] = True
    sizes = np.bincount(parts.ravel())
    exact = np.bincount(parts[distance == 0], minlength=count + 1)
    reached |= (sizes > _HOLE * parts.size) & (exact > _EXACT * sizes)
    reached[0] = False
    flooded: Bool[np.ndarray, "h w"] = reached[parts]
    return flooded


def _drop_specks(thing: Bool[np.ndarray, "h w"]) -> Bool[np.ndarray, "h w"]:
    """A mask without thin threads, and without parts that are tiny beside the largest."""
    from scipy import ndimage

    parts, count = ndimage.label(ndimage.binary_opening(thing, iterations=1))
    if not count:
        return np.zeros_like(thing)
    sizes = np.bincount(parts.ravel())
    sizes[0] = 0
    kept: Bool[np.ndarray, "h w"] = (sizes >= _SPECK * sizes.max())[parts]
    return kept


TABLE = "products.csv"
SHOP_COLUMNS = ("id", "masterCategory", "subCategory", "articleType", "baseColour", "productDisplayName")

MIN_PRODUCTS = 4
"""Article types with fewer products than this are left out."""

_NO_COLOUR = frozenset({"", "na", "multi", "metallic"})
_NO_KIND = frozenset({"free items"})
_SIDES = {"apparel": 96, "footwear": 64, "accessories": 58, "personal care": 54}  # of a medium thing, in pixels
_SIDE = 64  # of any other
_BY_HAND = frozenset({"bags", "wallets", "fragrance", "umbrellas", "perfumes"})
_PATTERNS = (("strip", "striped"), ("check", "checked"), ("polka", "dotted"), ("solid", "plain"), ("plain", "plain"))
_MAX_PRODUCTS_TRIED = 12
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

    `digest` is of the table, and tells one set of products from another; products without a picture are left out.
    """

    folder: Path
    digest: str
    kinds: Mapping[str, Kind]
    nouns: Mapping[str, Nouns]
    products: Mapping[str, Mapping[str, Sequence[Product]]]
    _aspects: dict[str, float] = field(default_factory=dict)  # shared by the parts of a shop

    def pick(self, rng: random.Random, kind: str) -> Product | None:
        """A product of a kind whose picture can be cut out: first a colour, then one of that colour.

        None after some tries that failed.
        """
        for _ in range(_MAX_PRODUCTS_TRIED):
            product = rng.choice(self.products[kind][rng.choice(tuple(self.products[kind]))])
            if self.aspect(kind, product.id):
                return product
        return None

    def of_split(self, split: Split) -> Shop:
        """The shop with the products of one split alone; it speaks of the same kinds.

        Raises:
            BadInput: there are too few.
        """
        products = {
            kind: {
                colour: own
                for colour, some in colours.items()
                if (own := [one for one in some if split_of(one.id) == split])
            }
            for kind, colours in self.products.items()
        }
        products = {kind: colours for kind, colours in products.items() if colours}
        if (count := sum(len(some) for colours in products.values() for some in colours.values())) < MIN_PRODUCTS:
            raise BadInput(
                f"{self.folder / TABLE}: {count} of its products are for {split!r} (by a hash of the id), "
                f"{MIN_PRODUCTS} are needed; a folder of some hundred products has them"
            )
        return replace(self, products=products)

    def aspect(self, kind: str, product: str) -> float:
        """Width over height of a product's cut-out; 0 if it cannot be cut out."""
        if product not in self._aspects:
            image = self.cutout(kind, product)
            self._aspects[product] = 0.0 if image is None else image.width / image.height
        return self._aspects[product]

    def cutout(self, kind: str, product: str) -> Image.Image | None:
        """A product without its background; of a garment, nothing may be missing in the middle."""
        return _cut_out_file(self.folder / "images" / f"{product}.jpg", bool(self.kinds[kind].shows))


@lru_cache(maxsize=_KEPT)
def _cut_out_file(path: Path, solid: bool) -> Image.Image | None:
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
    return _make_shop(folder.resolve(), digest)


@lru_cache(maxsize=8)
def _make_shop(folder: Path, digest: str) -> Shop:
    products = _read_products(folder)
    if not products:
        raise BadInput(f"{folder / TABLE}: no kind of product has {MIN_PRODUCTS} with a picture in {folder / 'images'}")
    first = {kind: next(iter(colours.values()))[0] for kind, colours in products.items()}
    nouns = {kind: make_nouns(product.type) for kind, product in first.items()}
    return Shop(folder, digest, _make_kinds(products, first), nouns, products)


def _read_products(folder: Path) -> dict[str, dict[str, list[Product]]]:
    """Kind -> colour -> products, each in alphabetical order; rare kinds and unnamed colours left out."""
    table = read_table(folder / TABLE)
    columns = [table.need((name.lower(),)) for name in SHOP_COLUMNS]
    pictures = {file.stem for file in (folder / "images").glob("*.jpg")}
    rows = ([row[column] for column in columns] for row in table.rows)
    found: defaultdict[str, defaultdict[str, list[Product]]] = defaultdict(lambda: defaultdict(list))
    for key, *cells in sorted((row for row in rows if row[0] in pictures), key=lambda row: row[0]):
        category, group, kind, colour, name = (cell.lower() for cell in cells)
        pattern = next((pattern for sign, pattern in _PATTERNS if sign in name), "")
        if kind and colour not in _NO_COLOUR and category not in _NO_KIND:
            product = Product(key, category, group, kind, colour, pattern)
            found[make_nouns(kind)[0][0]][colour].append(product)
    return {
        kind: dict(sorted(colours.items()))
        for kind, colours in sorted(found.items())
        if sum(map(len, colours.values())) >= MIN_PRODUCTS
    }


def _make_kinds(
    products: Mapping[str, Mapping[str, Sequence[Product]]], first: Mapping[str, Product]
) -> dict[str, Kind]:
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
        for kind, colours in products.items()
    }


@dataclass(frozen=True, eq=False)
class Stock:
    """Kinds of things, what they are called, and the shop whose products they are; without one they are drawn.

    It travels between processes as the name of its folder, and the split whose products alone it has.
    """

    kinds: Mapping[str, Kind]
    nouns: Mapping[str, Nouns]
    shop: Shop | None = None
    split: Split | None = None

    def __reduce__(self) -> tuple[Callable[..., Stock], tuple[Path | None, Split | None]]:
        return stock_of, (None if self.shop is None else self.shop.folder, self.split)

    def of_split(self, name: str) -> Stock:
        """The stock for a picture of this name: products of its own split; drawn things are the same for all."""
        return self if self.shop is None or self.split is not None else _make_stock(self.shop, split_of(name))

    def extent(self, kind: str, product: str) -> tuple[float, float]:
        """Height of a medium one that stands near, and width over height."""
        known = self.kinds[kind]
        if self.shop is None:
            return float(known.height), float(known.aspect)
        aspect = self.shop.aspect(kind, product)
        return known.height / aspect**0.5, aspect


DRAWN = Stock(KINDS, NOUNS)
"""Everything that the package draws itself."""


def stock_of(sprites: Path | None, split: Split | None = None) -> Stock:
    """The products of a folder (see above), of all splits or of one, or what is drawn.

    Raises:
        BadInput: the folder has no usable products.csv and images, or too few products of the split.
    """
    return DRAWN if sprites is None else _make_stock(open_shop(sprites), split)


@lru_cache(maxsize=16)
def _make_stock(shop: Shop, split: Split | None) -> Stock:
    return Stock(shop.kinds, shop.nouns, shop if split is None else shop.of_split(split), split)
