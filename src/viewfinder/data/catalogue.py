"""A catalogue: a table that says things about pictures, one or several rows per picture.

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
"""Values of cells that say nothing."""


@dataclass(frozen=True)
class CatalogueRow:
    """A row of a catalogue: `key` names the picture, `values` has an entry for every cell that is filled."""

    key: str
    values: dict[str, str]


@dataclass(frozen=True)
class CatalogueMatches:
    """Rows by file, the rows that match no file, and the keys that fit several files (see `match_keys`)."""

    rows: dict[Path, list[CatalogueRow]]
    unmatched: tuple[CatalogueRow, ...]
    ambiguous: tuple[Ambiguity, ...]


@dataclass(frozen=True)
class Catalogue:
    """A catalogue file as read: its attributes (all columns but the key), rows in file order, and the report."""

    path: Path
    attributes: tuple[str, ...]
    rows: tuple[CatalogueRow, ...] = field(repr=False)
    report: ReadReport = field(repr=False)

    def matches(self, paths: Iterable[Path]) -> CatalogueMatches:
        """The rows about each of `paths`, the rows that match no file, and the keys that fit several."""
        found = match_keys([row.key for row in self.rows], paths)
        return CatalogueMatches(
            rows={path: [self.rows[i] for i in positions] for path, positions in found.files.items()},
            unmatched=tuple(self.rows[i] for i in found.unmatched),
            ambiguous=found.ambiguous,
        )


def read_catalogue(source: Path | Table) -> Catalogue:
    """A CSV, or a table of one's own, in which a column image, file, path or id names pictures.

    Of several such columns the first of this list does, in upper or lower case. All other columns are attributes; empty
    cells and "NA" are left out, and so are columns without a name, which are reported if anything stands in them.

    Raises:
        BadInput: no such column, a duplicate column, a row with too many or too few fields; the line is named.
    """
    table = source if isinstance(source, Table) else read_table(source)
    key = table.need(KEY_COLUMNS)
    attributes = tuple(name for i, name in enumerate(table.columns) if name and i != key)
    unnamed = (i for i, name in enumerate(table.columns) if not name and any(row[i] for row in table.rows))
    dropped = [Dropped(f"column {i + 1}", "has no name") for i in unnamed]
    rows: list[CatalogueRow] = []
    for line, row in zip(table.lines, table.rows, strict=True):
        if not row[key]:
            dropped.append(Dropped(f"line {line}", f"names no picture: its {table.columns[key]} is empty"))
            continue
        cells = [(name, cell) for i, (name, cell) in enumerate(zip(table.columns, row, strict=True)) if i != key]
        rows.append(CatalogueRow(row[key], {name: cell for name, cell in cells if name and cell not in NOT_GIVEN}))
    report = ReadReport(len(table.rows), len(rows), tuple(dropped))
    return Catalogue(table.path, attributes, tuple(rows), report)


def read_products(folder: Path) -> tuple[list[CaptionedPicture], ReadReport]:
    """Product photos (Fashion Product Images): `products.csv` beside `images/<id>.jpg`, captioned by name."""
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


_MAX_SHOWN = 8


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
        files: positions of the keys that match a file, by file.
        unmatched: positions of the keys that match no file.
        ambiguous: keys that fit several files; those that fit wholly are matched to each of them.
    """

    files: dict[Path, list[int]]
    unmatched: tuple[int, ...]
    ambiguous: tuple[Ambiguity, ...]


@dataclass(frozen=True)
class _Found:
    """Files that fit a key equally well; of a partial fit only the first few are kept."""

    count: int = 0
    paths: tuple[Path, ...] = ()
    depth: int = 0
    whole: bool = False


def match_keys(keys: Sequence[str], paths: Iterable[Path]) -> Matches:
    """Match keys to files; time grows as (keys + files) x log(files).

    A key fits a file whose name is the last part of the key, or, if there is none, whose name without suffix
    is. Of several such files, those match whose folders agree with the key furthest back. A key fits
    *wholly* if it is the end of the path, or the path is the end of it (so `a/1.jpg`, `1.jpg` and `1` fit
    `/data/a/1.jpg` wholly). A key that fits only in part (`/old/place/1.jpg`) counts if it points to a single
    file for which no key fits wholly and none fits further.

    >>> match_keys(["1.jpg", "b/2"], [Path("a/1.jpg"), Path("a/2.png"), Path("b/2.png")]).files
    {PosixPath('a/1.jpg'): [0], PosixPath('b/2.png'): [1]}
    """
    unique = [(path, _split_path(str(path))) for path in dict.fromkeys(paths)]
    by_name, by_stem = _Endings(unique), _Endings(unique, without_suffix=True)
    answers: dict[str, _Found] = {}
    ambiguous: list[Ambiguity] = []
    for key in dict.fromkeys(keys):
        parts = _split_path(key)
        found = by_name.longest(parts)
        answers[key] = found = found if found.count else by_stem.longest(parts)
        if found.count > 1:
            ambiguous.append(Ambiguity(key, found.count, found.paths[:_MAX_SHOWN]))
    # How well the best key fits each file: (wholly, number of parts).
    best: dict[Path, tuple[bool, int]] = {}
    for found in answers.values():
        for path in found.paths if found.whole or found.count == 1 else ():
            best[path] = max(best.get(path, (False, 0)), (found.whole, found.depth))
    files: dict[Path, list[int]] = {}
    unmatched: list[int] = []
    for position, key in enumerate(keys):
        found = answers[key]
        if found.whole or (found.count == 1 and best[found.paths[0]] == (False, found.depth)):
            for path in found.paths:
                files.setdefault(path, []).append(position)
        else:
            unmatched.append(position)
    return Matches(files, tuple(unmatched), tuple(ambiguous))


class _Endings:
    """Paths written backwards ("1.jpg/a/data/") and sorted, so that paths with the same ending are adjacent."""

    def __init__(self, paths: Iterable[tuple[Path, Sequence[str]]], *, without_suffix: bool = False) -> None:
        entries: list[tuple[str, Path]] = []
        for path, parts in paths:
            stem = parts[-1].rpartition(".")[0] if without_suffix and parts else ""
            entries.append((_reverse_path([*parts[:-1], stem] if stem else parts), path))
        entries.sort(key=lambda entry: entry[0])
        self._texts = [text for text, _ in entries]
        self._paths = [path for _, path in entries]

    def longest(self, parts: tuple[str, ...]) -> _Found:
        """The files that agree with the longest ending of the key (whole keys are the usual case)."""
        if not parts or not self._run(_reverse_path(parts[-1:])):
            return _Found()
        depth = next(depth for depth in range(len(parts), 0, -1) if self._run(_reverse_path(parts[-depth:])))
        start = _reverse_path(parts[-depth:])
        run = self._run(start)
        if depth < len(parts) and self._texts[run[0]] == start:  # the whole path is the end of the key
            run = range(run[0], bisect_right(self._texts, start))
            return _Found(len(run), tuple(self._paths[run.start : run.stop]), depth, whole=True)
        whole = depth == len(parts)
        shown = run if whole else run[:_MAX_SHOWN]
        return _Found(len(run), tuple(self._paths[shown.start : shown.stop]), depth, whole)

    def _run(self, start: str) -> range:
        return range(bisect_left(self._texts, start), bisect_left(self._texts, start + "\U0010ffff"))


def _split_path(path: str) -> tuple[str, ...]:
    """The parts of a path, however the disk, Windows or a Mac (decomposed accents) writes it."""
    normal = unicodedata.normalize("NFC", path).replace("\\", "/")
    return tuple(part for part in normal.split("/") if part not in {"", "."})


def _reverse_path(parts: Sequence[str]) -> str:
    return "".join(f"{part}/" for part in reversed(parts))
