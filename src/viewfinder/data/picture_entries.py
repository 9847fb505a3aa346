"""What the rows of a table say of pictures: the names of the pictures, captions, and values by column.

A row may name several pictures, and a picture have several rows. The pictures of one product are told by a column of
products (item_group_id, Handle, SKU ...), or by the row that names them; they get its id in the column `PRODUCT`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from viewfinder.data.cells import settle_separators, split_column, strip_markup
from viewfinder.data.files import Dropped, Table
from viewfinder.data.picture_keys import PictureFinder, choose_key_columns, guess_key_column, is_reference
from viewfinder.errors import BadInput
from viewfinder.wording.product_columns import MAX_PRODUCT_PICTURES, PRODUCT, squeeze_name

NOT_GIVEN = frozenset({"", "NA"})
"""Values of cells that say nothing."""

CAPTION_NAMES = (
    *("caption", "text", "captions", "description", "alt_text", "alt text", "image alt text", "alt", "title"),
)  # fmt: skip
"""Columns that may hold captions, the preferred one first."""

_PRODUCT_COLUMNS = (
    *("productid", "handle", "urlhandle", "parentsku", "listingid", "productsku", "sku", "variantsku"),
    "id",
)  # fmt: skip
_TITLE = re.compile(r"(product[ _-]?)?(title|name)|post_title", re.IGNORECASE)
_OF_ONE_PICTURE = re.compile(r"image|img|photo|picture|alt text", re.IGNORECASE)


@dataclass(frozen=True)
class PictureEntry:
    """What one row says: of which pictures (`keys` for `FileIndex.match`), captions, and values by column.

    A column of which the row says nothing has no values.
    """

    keys: tuple[str, ...]
    captions: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_catalogue_entries(
    table: Table, finder: PictureFinder, wanted: Sequence[str] = ()
) -> tuple[list[PictureEntry], list[Dropped]]:
    """The entries of a catalogue, and the rows and columns that were left out.

    All columns but those that name pictures are attributes; empty cells and "NA" say nothing.

    Raises:
        BadInput: there is no column of a name that is wanted.
    """
    keys_at = _choose_keys(table, finder, wanted)
    dropped = list(table.dropped)
    unnamed = (at for at, name in enumerate(table.columns) if not name and any(row[at] for row in table.rows))
    dropped += [Dropped(f"column {at + 1}", "has no name") for at in unnamed]
    attributes = [at for at, name in enumerate(table.columns) if name and at not in keys_at]
    values: list[dict[str, tuple[str, ...]]] = [{} for _ in table.rows]
    for at in attributes:
        for row, cell in enumerate(_read_column(table, at)):
            values[row][table.columns[at]] = cell
    names = [_name_pictures(table, finder, keys_at, row) for row in range(len(table.rows))]
    names, values, told = _unite_products(table, names, values)
    entries = []
    for row, named in enumerate(names):
        if named:
            entries.append(PictureEntry(named, values=values[row]))
        elif row not in told:
            key = table.columns[keys_at[0]] if keys_at else "key"
            dropped.append(Dropped(f"line {table.lines[row]}", f"names no picture: its {key} is empty"))
    return entries, dropped


def read_caption_entries(
    table: Table, finder: PictureFinder, wanted: Sequence[str] = ()
) -> tuple[list[PictureEntry], list[Dropped]]:
    """The entries of a table of captions, and the rows that were left out. Raises as `read_catalogue_entries`."""
    if not table.rows:
        return [], list(table.dropped)
    caption_at = find_caption_column(table)
    keys_at = tuple(at for at in _choose_keys(table, finder, wanted) if at != caption_at)
    dropped = list(table.dropped)
    entries = []
    for row, cells in enumerate(table.rows):
        said = tuple(filter(None, table.lists.get((row, caption_at), (cells[caption_at],))))
        if not (named := _name_pictures(table, finder, keys_at, row)):
            dropped.append(Dropped(f"line {table.lines[row]}", "names no picture"))
        elif not said:
            dropped.append(Dropped(f"line {table.lines[row]}", "empty caption"))
        else:
            entries.append(PictureEntry(named, said))
    return entries, dropped


def find_caption_column(table: Table) -> int:
    """The column that holds captions. Raises BadInput: there is none."""
    lowered = [name.casefold() for name in table.columns]
    found = next((lowered.index(name) for name in CAPTION_NAMES if name in lowered), None)
    if found is None:
        has = ", ".join(filter(None, table.columns[:50]))
        raise BadInput(f"{table.path}: a column named caption or text is needed; this table has: {has}")
    return found


def check_match(table: Table, finder: PictureFinder, wanted: Sequence[str] = ()) -> None:
    """Checks that at least one row is about a picture, and that the first line is no row.

    Raises:
        BadInput: none is; the message shows some values and some files. Or the names of columns are missing.
    """
    if (named := next((name for name in table.columns if is_reference(name) and finder.find(name)), None)) is not None:
        raise BadInput(
            f"{table.path}, line 1: {named[:80]!r} is a picture, and no name of a column: write a first line with the "
            "names of the columns"
        )
    if not table.rows:
        return
    keys_at = choose_key_columns(table, finder, wanted)
    if any(finder.find(value) for row in range(len(table.rows)) for at in keys_at for value in _cells(table, row, at)):
        return
    paths = finder.index.paths
    shown_at = keys_at[0] if keys_at else guess_key_column(table)
    if not paths:
        raise BadInput(f"{table.path}: no row is about a picture: there are no pictures; add their folder as well")
    files = ", ".join(repr(path.name) for path in paths[:3])
    if shown_at is None:
        raise BadInput(f"{table.path}: no row is about a picture: all its cells are empty; the files are {files}")
    cells = (cell for row in range(len(table.rows)) for cell in _cells(table, row, shown_at) if cell)
    values = ", ".join(f"{cell[:80]!r}" for cell in list(dict.fromkeys(cells))[:3]) or "nothing"
    column = table.columns[shown_at]
    raise BadInput(
        f"{table.path}: no row is about a picture: its column {column!r} has {values}, "
        f"but the files are {files}; name the column that tells the picture with --key COLUMN"
    )


def _choose_keys(table: Table, finder: PictureFinder, wanted: Sequence[str]) -> tuple[int, ...]:
    if found := choose_key_columns(table, finder, wanted):
        return found
    guessed = guess_key_column(table)
    return () if guessed is None else (guessed,)


def _cells(table: Table, row: int, at: int) -> tuple[str, ...]:
    return table.lists.get((row, at), (table.rows[row][at],))


def _name_pictures(table: Table, finder: PictureFinder, keys_at: Sequence[int], row: int) -> tuple[str, ...]:
    """The keys of the pictures that a row names, each once; as they are written where there is no such picture."""
    cells = (cell for at in keys_at for cell in _cells(table, row, at) if cell)
    return tuple(dict.fromkeys(key for cell in cells for key in finder.find(cell) or (cell,)))


def _read_column(table: Table, at: int) -> list[tuple[str, ...]]:
    """The values of every cell of a column: numbers that can be told, tags apart."""
    listed = {row: found for (row, column), found in table.lists.items() if column == at}
    cells = [row[at] for row in table.rows]
    if listed:  # whoever writes lists writes one value where there is one
        return [listed.get(row, (cell,) if cell not in NOT_GIVEN else ()) for row, cell in enumerate(cells)]
    filled = [row for row, cell in enumerate(cells) if cell not in NOT_GIVEN]
    settled = settle_separators(strip_markup([cells[row] for row in filled]))
    found: list[tuple[str, ...]] = [()] * len(cells)
    for row, values in zip(filled, split_column(table.columns[at], settled), strict=True):
        found[row] = values
    return found


# -- products


def _unite_products(
    table: Table, names: Sequence[tuple[str, ...]], values: Sequence[dict[str, tuple[str, ...]]]
) -> tuple[list[tuple[str, ...]], list[dict[str, tuple[str, ...]]], set[int]]:
    """Names and values of each row, with the product's id where products have several pictures.

    Where later rows of a product leave out what its first one has, as Shopify writes them, all its pictures have what
    all its rows say. Returned too: the rows that count although they name no picture.
    """
    every = range(len(names))
    columns = {squeeze_name(name): at for at, name in reversed(list(enumerate(table.columns))) if name}
    # A feed has item_group_id for variants only: of the others another column tells.
    group = columns.get("itemgroupid")
    ids = [_need_given(table.rows[row][group]) if group is not None else "" for row in every]
    at = _find_product_column(table, names, columns, [row for row in every if not ids[row]])
    ids = [known or ("" if at is None else _need_given(table.rows[row][at])) for row, known in enumerate(ids)]
    merged, told = list(values), set[int]()
    if at is not None and _is_continued(table, at):
        told = _share_values(ids, names, values, merged)
    pictures: dict[str, set[str]] = defaultdict(set)
    for row, named in enumerate(names):
        ids[row] = ids[row] or (_name_product(named) if len(named) > 1 else "")
        pictures[ids[row]].update(named if ids[row] else ())
    if any(len(of_product) > 1 for of_product in pictures.values()) and PRODUCT not in table.columns:
        merged = [cells | ({PRODUCT: (ids[row],)} if ids[row] else {}) for row, cells in enumerate(merged)]
    return list(names), merged, told


def _need_given(cell: str) -> str:
    return "" if cell in NOT_GIVEN else cell


def _find_product_column(
    table: Table, names: Sequence[tuple[str, ...]], columns: Mapping[str, int], rows: Sequence[int]
) -> int | None:
    """The column that tells which pictures of these rows are of one product; None: there is none, or none has several.

    One that is empty where a row has several pictures does not.
    """
    for name in _PRODUCT_COLUMNS:
        at = columns.get(name)
        if at is None or any(table.rows[row][at] in NOT_GIVEN for row in rows if len(names[row]) > 1):
            continue
        if "handle" in name and (_find_title(table) is None or any(row[at].startswith("@") for row in table.rows)):
            continue  # people have handles too
        pictures: dict[str, set[str]] = defaultdict(set)
        count: Counter[str] = Counter()
        for row in rows:
            if (product := table.rows[row][at]) not in NOT_GIVEN:
                pictures[product].update(names[row])
                count[product] += 1
        most = max(map(len, pictures.values()), default=0)
        # A bare "id" that several rows have may be that of a class, or of a person.
        if 1 < most <= MAX_PRODUCT_PICTURES and (name != "id" or max(count.values()) == 1):
            return at
    return None


def _share_values(
    ids: Sequence[str],
    names: Sequence[tuple[str, ...]],
    values: Sequence[dict[str, tuple[str, ...]]],
    merged: list[dict[str, tuple[str, ...]]],
) -> set[int]:
    """Gives every row of a product what all its rows say, except of a single picture; returns the rows that count."""
    told: set[int] = set()
    groups: dict[str, list[int]] = defaultdict(list)
    for row, product in enumerate(ids):
        if product:
            groups[product].append(row)
    for rows in groups.values():
        shared = _unite_values([values[row] for row in rows])
        for row in rows:
            own = {name: cell for name, cell in values[row].items() if _OF_ONE_PICTURE.search(name)}
            merged[row] = shared | own
        if any(names[row] for row in rows):
            told.update(rows)
    return told


def _name_product(named: Sequence[str]) -> str:
    """A product's id where no column has one: the name of its first picture."""
    return PurePosixPath(named[0].replace("\\", "/")).stem if named else ""


def _is_continued(table: Table, at: int) -> bool:
    """Whether only the first row of every product has its title."""
    title = _find_title(table)
    if title is None:
        return False
    seen: set[str] = set()
    later = 0
    for row in table.rows:
        if (product := row[at]) in NOT_GIVEN:
            continue
        if product not in seen:
            seen.add(product)
        elif row[title]:
            return False
        else:
            later += 1
    return later > 0


def _find_title(table: Table) -> int | None:
    return next((at for at, name in enumerate(table.columns) if _TITLE.fullmatch(name)), None)


def _unite_values(rows: Sequence[Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    united: dict[str, tuple[str, ...]] = {}
    for row in rows:
        for name, cell in row.items():
            united[name] = tuple(dict.fromkeys((*united.get(name, ()), *cell)))
    return united
