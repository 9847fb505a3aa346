"""Articles from real product photos: columns and words of the name become what is known of them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path

from PIL import Image

from viewfinder.data.catalogue import NOT_GIVEN, CatalogueRow, read_catalogue
from viewfinder.data.files import Dropped, need_folder
from viewfinder.errors import BadInput
from viewfinder.pictures.decode import picture_id
from viewfinder.worlds.catalogue.items import COLUMNS, Item, Word, noun_of

NEEDED = ("subCategory", "articleType", "productDisplayName")

_CELLS = {("colour", "multi"): "multicoloured", ("usage", "sports"): "sporty"}


def _as_said(facet: str, *words: str) -> tuple[tuple[str, str, str], ...]:
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
    *_as_said("fabric", "cotton", "denim", "leather", "leatherette", "canvas", "suede", "silk", "polyester"),
    (r"knit|knitted", "fabric", "knitted"),
    (r"wool|woollen|woolen", "fabric", "wool"),
    *_as_said("fabric", "fleece", "linen", "velvet", "corduroy", "satin"),
    *_as_said("fit", "slim", "skinny"),
    *_as_said("cut", "aviator", "wayfarer"),
    (r"square(?= dial| frame)|sqaure(?= dial)", "cut", "square"),
    (r"round(?= dial)", "cut", "round"),
    (r"moccasins?", "cut", "moccasin"),
    (r"loafers?", "cut", "loafer"),
    (r"sneakers?", "cut", "sneaker"),
    (r"wedges?", "cut", "wedge"),
    (r"ballerinas?", "cut", "ballerina"),
    (r"clogs?", "cut", "clog"),
    *_as_said("cut", "tote", "satchel", "sling"),
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
    *_as_said("detail", "logo", "buckle"),
    (r"sequins?", "detail", "sequins"),
    *_as_said("detail", "chain", "bow", "flap", "chronograph"),
    (r"peep toes?", "detail", "peep toe"),
    *_as_said("sport", "running", "training"),
    (r"football|soccer", "sport", "football"),
    *_as_said("sport", "tennis", "cricket", "basketball", "yoga"),
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
        reason = "its id is there twice" if row.key in items else _unusable(row, images, first)
        if reason:
            dropped.append(Dropped(row.key, reason))
        else:
            items[row.key] = item_of(row)
    if not items:
        raise BadInput(f"{folder}: no usable photo ({dropped[0].reason if dropped else 'products.csv has no row'})")
    return list(items.values()), tuple(dropped)


def _unusable(row: CatalogueRow, images: Path, first: dict[str, str]) -> str:
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


def item_of(row: CatalogueRow) -> Item:
    """A row of products.csv as an article."""
    values = row.values
    title = values["productDisplayName"]
    row_out = tuple((column, values.get(column, "NA")) for column in COLUMNS[1:])
    words = (("kind", noun_of(values["articleType"])), *_column_words(values), *words_of(title))
    known, lacks = tuple(dict.fromkeys(words)), frozenset[Word]()
    return Item(row.key, values["articleType"], values["subCategory"], title, known, lacks, (("id", row.key), *row_out))


def _column_words(values: dict[str, str]) -> Iterable[Word]:
    for facet, column in (("colour", "baseColour"), ("usage", "usage"), ("audience", "gender"), ("season", "season")):
        cell = values.get(column, "").lower()
        if cell and cell.upper() not in NOT_GIVEN:
            yield facet, _CELLS.get((facet, cell), cell)


def words_of(title: str) -> list[Word]:
    """What the name of a product gives away.

    >>> words_of("Lee Men Striped Polo T-shirt")
    [('pattern', 'striped'), ('neck', 'polo collar')]
    """
    lowered = title.lower()
    return [(facet, word) for said, facet, word in _TITLE_WORDS if said.search(lowered)]
