"""Cells read as their column is written: several values in one (tags, category paths), and numbers that may be read in
two ways."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from viewfinder.wording.numbers import to_number

MAX_PART = 40
"""Characters of a tag, at most: what is longer is a sentence."""

MAX_WORDS = 5
"""Words of a tag, at most."""

MAX_SAMPLED = 5_000
"""Cells from which a separator is told."""

MIN_NUMBERS = 0.75
"""The share of a column's cells that must be numbers, for it to tell how they are written."""

MIN_SHORT, MIN_SHARED = 0.9, 0.5
"""The share of parts that must be short, and, where a column's name tells nothing, be in more than one of its cells."""

PATH_SEPARATOR = ">"

_TAGS = re.compile(
    r"tags?\b|keyword|subject|categor|kategor|collection|label|hashtag|stichw|schlagw|persons?\b|people|persoon|genre"
    r"|material|feature|colou?rs\b|sizes\b|farben|gr(oe|ö)(ss|ß)en|product_?type|attribute \d+ value|mots.?cl|etiquet",
    re.IGNORECASE,
)
"""Names of columns that hold tags."""

_PROSE = re.compile(
    r"title|titel|titre|titulo|título|name|nombre|\bnom\b|bezeichnung|description|beschreibung|descripci|caption|text\b"
    r"|body|comment|kommentar|note|remark|alt\b|headline|summary|abstract|address|adresse|author|artist|creator|by-?line"
    r"|copyright|rights|credit|vendor|brand|marke|city|place|location|\bort\b|url|link|path|date|time",
    re.IGNORECASE,
)
"""Names of columns that hold texts, names and places, whose commas separate nothing."""


def split_column(name: str, values: Sequence[str]) -> list[tuple[str, ...]]:
    """The values of each cell of a column: its tags if it is one of tags, else the cell as it is; "" has none.

    Separators are `|`, `;`, `,` and, in paths of categories, ` > `. That a column holds tags is told by its name
    ("Tags", "categories") together with short parts; or by the parts alone: they are short, most of them are in several
    cells, and they do not keep their place, as those of names do ("Shirt, blue" and "Shirt, red").

    >>> split_column("Tags", ["sale, summer", "sale"]), split_column("product", ["Shirt, blue", "Shirt, red"])
    ([('sale', 'summer'), ('sale',)], [('Shirt, blue',), ('Shirt, red',)])
    """
    separator = find_separator(name, [value for value in values if value])
    is_path = _is_path_column(name, values)
    return [_split_cell(value, separator, is_path) for value in values]


_THOUSANDS_OR_DECIMALS = re.compile(r"(?<![\d.,])([1-9]\d{0,2})([.,])(\d{3})(?![\d.,])")
_ENGLISH = re.compile(r"\d,\d{3}\.\d|(?<![\d.,])\d+\.(?:\d{1,2}|\d{4,})(?![\d.,])")
_EUROPEAN = re.compile(r"\d\.\d{3},\d|(?<![\d.,])\d+,(?:\d{1,2}|\d{4,})(?![\d.,])|[.]\d{3}[.]\d{3}")
_THREE_DECIMALS = re.compile(r"BHD|IQD|JOD|KWD|LYD|OMR|TND", re.IGNORECASE)


def settle_separators(values: Sequence[str]) -> list[str]:
    """The numbers of one column, those that may be read both ways written so that `to_number` reads them as meant.

    "1.299" is one and a bit in the English way and a thousand and more elsewhere. The other numbers of the column tell:
    "12,50" is not English, "12.50" is. If none tells, prices with points before three digits each are thousands,
    because prices have two decimals. Some cells may be none ("on request", "-"): a column of which fewer than three
    in four are numbers stays as it is.

    >>> settle_separators(["1.299 €", "12,50 €"]), settle_separators(["1.299", "12.5"]), settle_separators(["1.299 €"])
    (['1.299,00 €', '12,50 €'], ['1.299', '12.5'], ['1.299,00 €'])
    """
    numbers = [value for value in values if to_number(value) is not None]
    doubtful = [_THOUSANDS_OR_DECIMALS.search(value) for value in numbers]
    if not any(doubtful) or len(numbers) < MIN_NUMBERS * len(values):
        return list(values)
    english, european = any(map(_ENGLISH.search, numbers)), any(map(_EUROPEAN.search, numbers))
    if english == european:
        priced = all(
            found is None
            or (found[2] == "." and not _THREE_DECIMALS.search(value) and bool(re.search(r"[^\d\s.,'’+-]", value)))
            for value, found in zip(numbers, doubtful, strict=True)
        )
        if english or not priced:
            return list(values)
    elif english:
        return list(values)
    return [value if to_number(value) is None else _settle(value) for value in values]


def _settle(value: str) -> str:
    return _THOUSANDS_OR_DECIMALS.sub(lambda it: f"{it[0]},00" if it[2] == "." else f"{it[0]}0", value)


_MARKUP = re.compile(r"</?(?:p|br|div|span|ul|ol|li|strong|b|em|i|u|h[1-6]|a|table|tr|td|img)\b[^<>]*>", re.IGNORECASE)


def strip_markup(values: Sequence[str]) -> list[str]:
    """The cells of a column as plain text: shops describe goods in HTML, whose tags are no words of theirs.

    >>> strip_markup(["<p>Fish &amp; chips</p>", "a < b"])
    ['Fish & chips', 'a < b']
    """
    return [
        " ".join(html.unescape(_MARKUP.sub(" ", value)).split()) if _MARKUP.search(value) else value for value in values
    ]


def find_separator(name: str, values: Sequence[str]) -> str | None:
    """The separator of a column of tags; None if it holds none. `values` are its filled cells."""
    sample = list(islice(values, 0, None, max(len(values) // MAX_SAMPLED, 1)))
    if not sample or all(to_number(value) is not None for value in sample):
        return None
    is_named = _TAGS.search(name) is not None
    if _PROSE.search(name) is not None and not is_named:
        return None
    for separator in ("|", ";", ","):
        cells = [_split_at(value, separator) for value in sample]
        if any(len(parts) > 1 for parts in cells) and _are_tags(cells, separator, is_named=is_named):
            return separator
    return None


def _are_tags(cells: Sequence[Sequence[str]], separator: str, *, is_named: bool) -> bool:
    parts = [part for cell in cells for part in cell]
    levels = [level for part in parts for level in part.split(f" {PATH_SEPARATOR} ")]
    short = sum(len(part) <= MAX_PART and len(part.split()) <= MAX_WORDS for part in levels)
    if not parts or short < MIN_SHORT * len(levels):
        return False
    if is_named:
        return True
    several = [cell for cell in cells if len(cell) > 1]
    held = Counter(part.casefold() for cell in cells for part in dict.fromkeys(cell))
    shared = sum(held[part.casefold()] > 1 for cell in several for part in cell)
    if shared < MIN_SHARED * sum(map(len, several)):
        return False
    return separator != "," or _change_places(cells, held)


def _change_places(cells: Sequence[Sequence[str]], held: Counter[str]) -> bool:
    """Whether most parts that are in several cells stand now first, now second or alone."""
    places: dict[str, set[int]] = {}
    for cell in cells:
        for place, part in enumerate(cell):
            places.setdefault(part.casefold(), set()).add(place)
    shared = [part for part, count in held.items() if count > 1]
    return sum(len(places[part]) > 1 for part in shared) * 2 > len(shared)


def _is_path_column(name: str, values: Sequence[str]) -> bool:
    """Whether cells hold paths such as "Clothing > Shirts"."""
    sample = [value for value in islice(values, MAX_SAMPLED) if value]
    paths = [value for value in sample if f" {PATH_SEPARATOR} " in value]
    if not paths or (_PROSE.search(name) and not _TAGS.search(name)):
        return False
    levels = [level.strip() for value in paths for level in re.split(r"[>,;|]", value)]
    short = sum(len(level) <= MAX_PART and len(level.split()) <= MAX_WORDS for level in levels)
    return short >= MIN_SHORT * len(levels) and (len(paths) * 2 >= len(sample) or _TAGS.search(name) is not None)


def _split_cell(value: str, separator: str | None, is_path: bool) -> tuple[str, ...]:
    parts = _split_at(value, separator) if separator else [value]
    if is_path:
        parts = [level for part in parts for level in _split_at(part, PATH_SEPARATOR)]
    return tuple(dict.fromkeys(part for part in parts if part))


def _split_at(value: str, separator: str) -> list[str]:
    """The parts between separators; after a backslash, as WooCommerce writes it, a comma belongs to its part.

    >>> _split_at("a, b,,c", ","), _split_at("Shirts\\\\, blue, Hats", ",")
    (['a', 'b', 'c'], ['Shirts, blue', 'Hats'])
    """
    pieces = re.split(rf"(?<!\\){re.escape(separator)}", value)
    return [text for piece in pieces if (text := piece.replace(f"\\{separator}", separator).strip())]
