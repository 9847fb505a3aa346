"""A catalogue: a table that says things about pictures, a row a picture (or several rows)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from viewfinder.data.captions import CaptionedPicture
from viewfinder.data.files import KEY_COLUMNS, Table, need_folder, read_table
from viewfinder.data.matching import Ambiguity, match_keys
from viewfinder.data.report import Dropped, ReadReport
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
