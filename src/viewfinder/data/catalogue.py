"""A catalogue: a table that says things about pictures, one or several rows per picture.

`match_keys` says which file a row means: by path, by the end of a path, by name, or by name without suffix.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from viewfinder.data.captions import CaptionedPicture
from viewfinder.data.files import KEY_COLUMNS, Dropped, ReadReport, Table, need_folder, read_table
from viewfinder.data.matching import Ambiguity, match_keys
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
