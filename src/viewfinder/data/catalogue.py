"""A catalogue: a table that says things about pictures, a row a picture (or several rows).

`match_keys` says which file a row means: by path, by the end of a path, by name, or by name without suffix.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from viewfinder.data.captions import CaptionedPicture
from viewfinder.data.files import KEY_COLUMNS, Dropped, ReadReport, Table, need_folder, read_table
from viewfinder.errors import BadInput

NOT_GIVEN = frozenset({"", "NA"})
"""Cells that say nothing."""


@dataclass(frozen=True)
class CatalogueRow:
    """What one row says: `key` names the picture, `values` has an entry for every cell that is given."""

    key: str
    values: dict[str, str]


@dataclass(frozen=True)
class CatalogueMatches:
    """Rows by file, the rows that mean no file, and the keys that fit several files (see `match_keys`)."""

    rows: dict[Path, list[CatalogueRow]]
    unmatched: tuple[CatalogueRow, ...]
    ambiguous: tuple[Ambiguity, ...]


@dataclass(frozen=True)
class Catalogue:
    """A catalogue file as read: its attributes (columns but the key), rows in file order, and the report."""

    path: Path
    key_column: str
    attributes: tuple[str, ...]
    rows: tuple[CatalogueRow, ...] = field(repr=False)
    report: ReadReport = field(repr=False)

    def match(self, paths: Iterable[Path]) -> dict[Path, list[CatalogueRow]]:
        """The rows about each of `paths`; files that no row is about are left out."""
        return self.matches(paths).rows

    def matches(self, paths: Iterable[Path]) -> CatalogueMatches:
        """As `match`, with the rows that were not used and the keys that fit several files."""
        found = match_keys([row.key for row in self.rows], paths)
        return CatalogueMatches(
            rows={path: [self.rows[i] for i in positions] for path, positions in found.files.items()},
            unmatched=tuple(self.rows[i] for i in found.unmatched),
            ambiguous=found.ambiguous,
        )


def read_catalogue(path: Path) -> Catalogue:
    """A CSV with a column image, file, path or id (the first there is, in any case) that names the pictures.

    All other columns are attributes; empty cells and "NA" are left out, and so are columns without a name.

    Raises:
        BadInput: no such column, a column twice, a row with too many or too few fields; the line is named.
    """
    table = read_table(path)
    key = table.need(KEY_COLUMNS)
    attributes = tuple(name for i, name in enumerate(table.columns) if name and i != key)
    rows = tuple(_row(table, row, key) for row in table.rows if row[key])
    dropped = [Dropped(f"column {i + 1}", "has no name") for i, name in enumerate(table.columns) if not name]
    dropped += [
        Dropped(f"line {line}", f"names no picture: its {table.columns[key]} is empty")
        for line, row in zip(table.lines, table.rows, strict=True)
        if not row[key]
    ]
    report = ReadReport(len(table.rows), len(rows), tuple(dropped))
    return Catalogue(path, table.columns[key], attributes, rows, report)


def _row(table: Table, row: list[str], key: int) -> CatalogueRow:
    cells = [(name, cell) for i, (name, cell) in enumerate(zip(table.columns, row, strict=True)) if i != key]
    return CatalogueRow(row[key], {name: cell for name, cell in cells if name and cell not in NOT_GIVEN})


def read_products(folder: Path) -> tuple[list[CaptionedPicture], ReadReport]:
    """Product photos (Fashion Product Images): `products.csv` beside `images/<id>.jpg`, captioned by name.

    Raises:
        BadInput: no such folder, no column productDisplayName, or a damaged products.csv (the line is named).
    """
    catalogue = read_catalogue(need_folder(folder) / "products.csv")
    if "productDisplayName" not in catalogue.attributes:
        raise BadInput(f"{catalogue.path}, line 1: a column named productDisplayName is needed")
    images = need_folder(folder / "images")
    there = {file.name for file in images.iterdir()}
    products: list[CaptionedPicture] = []
    dropped = list(catalogue.report.dropped)
    for row in catalogue.rows:
        name = row.values.get("productDisplayName")
        if f"{row.key}.jpg" not in there:
            dropped.append(Dropped(row.key, f"no such file: images/{row.key}.jpg"))
        elif name is None:
            dropped.append(Dropped(row.key, "no productDisplayName"))
        else:
            products.append(CaptionedPicture(images / f"{row.key}.jpg", (name,)))
    return products, ReadReport(catalogue.report.expected, len(products), tuple(dropped))


_LAST = "\U0010ffff"
_SHOWN = 8


@dataclass(frozen=True)
class Ambiguity:
    """A key that fits `count` files equally well; `paths` shows the first of them."""

    key: str
    count: int
    paths: tuple[Path, ...]


@dataclass(frozen=True)
class Matches:
    """The outcome of `match_keys`.

    Attributes:
        files: positions of the keys that mean a file, by file.
        unmatched: positions of the keys that mean no file.
        ambiguous: keys that fit several files; those that fit wholly are matched to each of them.
    """

    files: dict[Path, list[int]]
    unmatched: tuple[int, ...]
    ambiguous: tuple[Ambiguity, ...]


@dataclass(frozen=True)
class _Found:
    """Files that fit a key equally well; of a fit in part only the first few are kept."""

    count: int = 0
    paths: tuple[Path, ...] = ()
    depth: int = 0
    whole: bool = False


def match_keys(keys: Sequence[str], paths: Iterable[Path]) -> Matches:
    """Match keys with files; time grows as (keys + files) x log(files).

    A key fits a file whose name is the last part of the key, or, if there is none, whose name without suffix
    is. Of several such files the ones are meant whose folders agree with the key furthest back. A key fits
    *wholly* if it is the end of the path, or the path the end of it (so `a/1.jpg`, `1.jpg` and `1` fit
    `/data/a/1.jpg` wholly). One that fits in part only (`/old/place/1.jpg`) counts if it points to a single
    file for which there is no key that fits wholly and none that fits further.

    >>> match_keys(["1.jpg", "b/2"], [Path("a/1.jpg"), Path("a/2.png"), Path("b/2.png")]).files
    {PosixPath('a/1.jpg'): [0], PosixPath('b/2.png'): [1]}
    """
    index = _Index(paths)
    answers: dict[str, _Found] = {}
    ambiguous: list[Ambiguity] = []
    for key in keys:
        if key not in answers:
            found = answers[key] = index.find(key)
            if found.count > 1:
                ambiguous.append(Ambiguity(key, found.count, found.paths[:_SHOWN]))
    found_k = [answers[key] for key in keys]
    best = _best_depths(answers.values())
    files: dict[Path, list[int]] = {}
    unmatched: list[int] = []
    for position, found in enumerate(found_k):
        meant = _meant(found, best)
        for path in meant:
            files.setdefault(path, []).append(position)
        if not meant:
            unmatched.append(position)
    return Matches(files, tuple(unmatched), tuple(ambiguous))


def _best_depths(answers: Iterable[_Found]) -> dict[Path, tuple[bool, int]]:
    """How well the best key fits each file: (wholly, number of parts)."""
    best: dict[Path, tuple[bool, int]] = {}
    for found in answers:
        if found.whole or found.count == 1:
            for path in found.paths:
                best[path] = max(best.get(path, (False, 0)), (found.whole, found.depth))
    return best


def _meant(found: _Found, best: dict[Path, tuple[bool, int]]) -> tuple[Path, ...]:
    if found.whole:
        return found.paths
    if found.count == 1 and best[found.paths[0]] == (False, found.depth):
        return found.paths
    return ()


class _Index:
    """Paths written backwards ("1.jpg/a/data/") and sorted: all that end alike lie side by side."""

    def __init__(self, paths: Iterable[Path]) -> None:
        unique = [(path, _parts(str(path))) for path in dict.fromkeys(paths)]
        self._by_name = _Endings([(_backwards(parts), path) for path, parts in unique])
        self._by_stem = _Endings([(_backwards(_without_suffix(parts)), path) for path, parts in unique])

    def find(self, key: str) -> _Found:
        parts = _parts(key)
        found = self._by_name.longest(parts)
        return found if found.count else self._by_stem.longest(parts)


class _Endings:
    def __init__(self, entries: list[tuple[str, Path]]) -> None:
        entries.sort(key=lambda entry: entry[0])
        self._texts = [text for text, _ in entries]
        self._paths = [path for _, path in entries]

    def longest(self, parts: tuple[str, ...]) -> _Found:
        """The files that agree with the longest end of the key (whole keys are the usual case)."""
        if not parts or not self._run(_backwards(parts[-1:])):
            return _Found()
        depth = next(depth for depth in range(len(parts), 0, -1) if self._run(_backwards(parts[-depth:])))
        start = _backwards(parts[-depth:])
        run = self._run(start)
        if depth < len(parts) and self._texts[run[0]] == start:  # the whole path is the end of the key
            run = range(run[0], bisect_right(self._texts, start))
            return _Found(len(run), self._at(run), depth, whole=True)
        whole = depth == len(parts)
        return _Found(len(run), self._at(run if whole else run[:_SHOWN]), depth, whole)

    def _run(self, start: str) -> range:
        return range(bisect_left(self._texts, start), bisect_left(self._texts, start + _LAST))

    def _at(self, positions: range) -> tuple[Path, ...]:
        return tuple(self._paths[i] for i in positions)


def _parts(path: str) -> tuple[str, ...]:
    """The parts of a path as the disk, Windows or a Mac (decomposed accents) may write it."""
    normal = unicodedata.normalize("NFC", path).replace("\\", "/")
    return tuple(part for part in normal.split("/") if part not in {"", "."})


def _without_suffix(parts: tuple[str, ...]) -> tuple[str, ...]:
    stem = parts[-1].rpartition(".")[0] if parts else ""
    return (*parts[:-1], stem) if stem else parts


def _backwards(parts: Sequence[str]) -> str:
    return "".join(f"{part}/" for part in reversed(parts))
