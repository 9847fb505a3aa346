"""Which pictures the rows of a table name: the columns that hold names of files, and what a cell of them means.

Programs call that column as they like (SourceFile, Image Src, image_link, Images, file_name): its values tell it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from viewfinder.data.files import KEY_COLUMNS, Table
from viewfinder.data.matching import FileIndex
from viewfinder.errors import BadInput

MAX_SAMPLED = 400
"""Cells of a column that are looked up to tell whether it names pictures; all of them if none of these does."""

MAX_NAMED = 200
"""Pictures that one cell may name."""

MAX_NAME_LENGTH = 4_000
"""Characters of a cell that may name a picture."""

_SUFFIX = re.compile(
    r"\.(jpe?g|jfif|jpe|png|gif|webp|avifs?|hei[cf]s?|hif|tiff?|bmp|jxl|jp2|mpo|apng|dng|cr[23w]|nef|nrw|arw|sr[2fw]"
    r"|raf|rw2|orf|pef|3fr|gpr|psd|svg)$",
    re.IGNORECASE,
)
_PICTURE_COLUMN = re.compile(r"image|img|photo|picture|foto|bild|imagen|immagin", re.IGNORECASE)
_NOT_PICTURES = re.compile(r"alt|text|position|caption|label|width|height|size|type|hash|count|title", re.IGNORECASE)
_ADDITIONAL = re.compile(r"^additional", re.IGNORECASE)

_SIZE_SUFFIX = re.compile(
    r"(?:_(?:pico|icon|thumb|small|compact|medium|large|grande|original|master|\d+x\d*|x\d+)"
    r"(?:_crop_(?:center|top|bottom|left|right))?(?:@[23]x)?(?:\.progressive)?|-\d+x\d+|-scaled)(?=\.\w+$|$)",
    re.IGNORECASE,
)
"""What Shopify (_1024x1024, _grande) and WordPress (-300x300, -scaled) put after the name of a smaller copy."""

_SEPARATORS = re.compile(r"\s*[,;|\n]\s*|\s+(?=[a-z][a-z0-9+.-]*://)", re.IGNORECASE)


@dataclass(frozen=True)
class PictureFinder:
    """Looks up what cells name: files of `index`, those beside the table first, and pictures by their ids."""

    index: FileIndex
    folder: Path | None = None
    ids: Mapping[str, str] = field(default_factory=dict)

    def find(self, cell: str) -> tuple[str, ...]:
        """The keys under which `index` knows the pictures that a cell names; none if it names none.

        A cell whose parts between commas, semicolons, bars, line breaks, or blanks before addresses are all written as
        files names several. Else it is one name, whatever signs it has, if there is such a file.
        """
        if not cell or len(cell) > MAX_NAME_LENGTH * MAX_NAMED:
            return ()
        parts = [part for part in _SEPARATORS.split(cell.strip(" ,;|\n")) if part][:MAX_NAMED]
        are_files = len(parts) > 1 and all(map(is_reference, parts))
        if not are_files and (known := self._find_one(cell)) is not None:
            return (known,)
        if len(parts) < 2:
            return ()
        found = [(part, self._find_one(part)) for part in parts]
        here = sum(known is not None for _, known in found)
        # A word of a sentence may be the name of a file; most of them are not.
        if not here or (here * 2 < len(found) and not are_files):
            return ()
        return tuple(known or part for part, known in found)  # those that are not here are reported

    def _find_one(self, text: str) -> str | None:
        if len(text) > MAX_NAME_LENGTH:
            return None
        if (path := self.ids.get(text)) is not None:
            return path
        if self.index.find(text).count:
            if self.folder is not None:
                beside = os.path.normpath(f"{self.folder}/{text}".replace("\\", "/"))
                if beside in self.index:
                    return beside
            return text
        if not any(sign in text for sign in "/?%_-"):  # most cells: only one spelling
            return None
        return next((name for name in spell_name(text) if self.index.find(name).count), None)


def spell_name(text: str) -> Iterator[str]:
    """The names that a text may give a file: as it is; of a URL its path, without the query and decoded.

    Last, without what shops add to the name of a smaller copy.

    >>> list(spell_name("https://cdn.example/a%20b_1024x1024.jpg?v=1"))
    ['https://cdn.example/a%20b_1024x1024.jpg?v=1', 'cdn.example/a b_1024x1024.jpg', 'cdn.example/a b.jpg']
    """
    text = text.strip().strip("\"'")
    names = [text]
    if "?" not in text and "%" not in text and "//" not in text:
        yield text
        if (plain := _SIZE_SUFFIX.sub("", text)) not in {"", text}:
            yield plain
        return
    if "://" in text or text.startswith("//"):
        try:
            url = urlsplit(text)
        except ValueError:  # no address after all
            yield text
            return
        names.append(f"{url.netloc.rpartition('@')[2]}{unquote(url.path)}".strip())
        if not _SUFFIX.search(url.path):  # image.php?file=a.jpg
            with suppress(ValueError):  # too many of them
                names += [value for _, value in parse_qsl(url.query, max_num_fields=50) if _SUFFIX.search(value)]
    else:
        if "?" in text:
            names.append(text.partition("?")[0])
        if "%" in text:
            names.append(unquote(names[-1]))
    last = names[-1]
    if (plain := _SIZE_SUFFIX.sub("", last)) != last:
        names.append(plain)
    yield from dict.fromkeys(filter(None, names))


def is_reference(text: str) -> bool:
    """Whether a text is written as the name of a file or an address, rather than as a number or a word.

    >>> is_reference("a/1.jpg"), is_reference("https://cdn.example/1.jpg?v=2"), is_reference("4711")
    (True, True, False)
    """
    first = _SEPARATORS.split(text, maxsplit=1)[0]
    return any(_SUFFIX.search(name) is not None for name in spell_name(first[:MAX_NAME_LENGTH]))


@dataclass(frozen=True)
class _Column:
    """How well a column names pictures: of its sampled cells, how many do, and how many as files or addresses."""

    at: int
    cells: tuple[str, ...]
    hits: int
    references: int

    @property
    def names_files(self) -> bool:
        return self.references * 2 > self.hits > 0


def choose_key_columns(table: Table, finder: PictureFinder, wanted: Sequence[str] = ()) -> tuple[int, ...]:
    """The columns whose values name pictures, the one that tells which picture a row is about first; () if none does.

    `wanted` names them. Else a column called image, file, path or id is taken if its values are names of pictures; then
    the column with most names of files or addresses; then the one with most names without suffix. Further columns of
    pictures (additional_image_link, Variant Image, IMAGE2) come after it.

    Raises:
        BadInput: there is no column of a name that is wanted.
    """
    if wanted:
        return tuple(dict.fromkeys(find_column(table, name) for name in wanted))
    columns = [_look_at(table, at, finder) for at, name in enumerate(table.columns) if name]
    if not any(column.hits for column in columns):
        columns = [_look_at(table, at, finder, every=True) for at, name in enumerate(table.columns) if name]
    columns = [column for column in columns if column.hits]
    if not columns:
        return ()
    most = max(column.hits for column in columns)
    listed = [column for column in columns if column.names_files and column.hits * 20 >= most]
    listed.sort(key=lambda column: (-column.hits, _PICTURE_COLUMN.search(table.columns[column.at]) is None, column.at))
    first = _find_usual(table, columns, most)
    if first is not None and listed and not first.names_files and not _agree(first, listed[0], finder):
        first = None  # numbers that happen to be names of files as well
    if first is None:
        first = listed[0] if listed else max(columns, key=lambda column: (column.hits, -column.at))
    further = [
        column.at
        for column in sorted(columns, key=lambda column: column.at)
        if column.at != first.at and column.names_files and _is_further(table, first, column)
    ]
    return (first.at, *further)


def find_column(table: Table, name: str) -> int:
    """The position of a column by its name; capitals do not matter. Raises BadInput: there is none."""
    names = [column.casefold() for column in table.columns]
    if name in table.columns:
        return table.columns.index(name)
    if name.strip().casefold() in names:
        return names.index(name.strip().casefold())
    has = ", ".join(filter(None, table.columns[:50]))
    raise BadInput(f"{table.path}: there is no column called {name!r}; this table has: {has}")


def guess_key_column(table: Table) -> int | None:
    """The column that most probably should name pictures, though none of its values does: to show it to people."""
    filled = [at for at, name in enumerate(table.columns) if name and any(row[at] for row in table.rows)]
    lowered = {table.columns[at].casefold(): at for at in reversed(filled)}
    usual = next((lowered[name] for name in KEY_COLUMNS if name in lowered), None)
    if usual is not None:
        return usual
    files = next((at for at in filled if any(is_reference(row[at]) for row in table.rows[:20] if row[at])), None)
    return files if files is not None else next(iter(filled), None)


def _look_at(table: Table, at: int, finder: PictureFinder, *, every: bool = False) -> _Column:
    filled = [row for row in range(len(table.rows)) if table.rows[row][at]]
    step = 1 if every else max(len(filled) // MAX_SAMPLED, 1)
    hits, references, cells = 0, 0, list[str]()
    for row in islice(filled, 0, None, step):
        values = table.lists.get((row, at), (table.rows[row][at],))
        named = next((value for value in values if finder.find(value)), None)
        if named is not None:
            cells.append(named)
            hits, references = hits + 1, references + is_reference(named)
            if every and hits >= MAX_SAMPLED:
                break
    return _Column(at, tuple(cells), hits, references)


def _find_usual(table: Table, columns: Sequence[_Column], most: int) -> _Column | None:
    """The first of `KEY_COLUMNS` that is here and names about as many pictures as the best column."""
    for name in KEY_COLUMNS:
        for column in columns:
            if table.columns[column.at].casefold() == name and column.hits * 2 >= most:
                return column
    return None


def _agree(column: _Column, other: _Column, finder: PictureFinder) -> bool:
    """Whether two columns mostly name the same pictures."""
    first, second = (
        {path for cell in one.cells for key in finder.find(cell) for path in finder.index.find(key).paths}
        for one in (column, other)
    )
    return len(first & second) * 2 >= min(len(first), len(second))


def _is_further(table: Table, first: _Column, column: _Column) -> bool:
    """Whether a column names more pictures of the row, rather than others that have to do with it."""
    name = table.columns[column.at]
    if name.casefold() in KEY_COLUMNS or _NOT_PICTURES.search(name):
        return False
    if _ADDITIONAL.search(name):
        return True
    is_usual = table.columns[first.at].casefold() in KEY_COLUMNS and first.names_files
    return not is_usual and _PICTURE_COLUMN.search(name) is not None
