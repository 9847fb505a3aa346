"""Captions and catalogue rows: read from tables, matched with the pictures of a library, and recorded with them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from viewfinder.errors import BadInput, check_path, check_type
from viewfinder.store.rows import PictureRow
from viewfinder.store.store import Store

if TYPE_CHECKING:
    from viewfinder.data.files import Dropped, Table
    from viewfinder.data.matching import Matches
    from viewfinder.data.picture_entries import PictureEntry
    from viewfinder.data.picture_keys import PictureFinder


@runtime_checkable
class Frame(Protocol):
    """A table of Arrow, pandas or polars."""

    @property
    def columns(self) -> Any:
        """Its columns, or their names."""


Rows = Iterable[Mapping[str, object]] | Frame
"""A table of one's own: each row a mapping of columns to values, or a table that can be asked for such rows."""

Entry = tuple[Sequence[str], Mapping[str, str | Sequence[str]]]
"""Captions, and values by column of a catalogue, empty where it says nothing of the picture."""

Keys = str | Sequence[str] | None
"""The names of the columns that tell which picture a row is about; None: their values tell."""

MAX_LISTED = 5
"""Rows that are left out which a note lists."""


@dataclass(frozen=True)
class PictureTable:
    """A table as read; which of its columns names pictures is told by the files that there are, unless `keys` does.

    `folder`: where the table lies, None for rows of one's own. `left_out`: what reading the file left out.
    """

    name: str
    kind: Literal["captions", "catalogue"]
    table: Table
    keys: tuple[str, ...] = ()
    folder: Path | None = None
    left_out: Sequence[Dropped] = ()

    def finder(self, paths: Iterable[Path], ids: Mapping[str, str]) -> PictureFinder:
        """What looks up the names of pictures in this table; `ids` has a file of pictures by their ids."""
        from viewfinder.data.matching import FileIndex
        from viewfinder.data.picture_keys import PictureFinder

        return PictureFinder(FileIndex(paths), self.folder, ids)

    def check(self, paths: Iterable[Path], ids: Mapping[str, str]) -> None:
        """Checks that it is about some of these files. Raises BadInput: it is about none, or lacks a named column."""
        from viewfinder.data.picture_entries import check_match

        check_match(self.table, self.finder(paths, ids), self.keys)

    def read_entries(self, finder: PictureFinder) -> tuple[list[PictureEntry], list[Dropped]]:
        """What its rows say, and what was left out."""
        from viewfinder.data.picture_entries import read_caption_entries, read_catalogue_entries

        read = read_caption_entries if self.kind == "captions" else read_catalogue_entries
        entries, left_out = read(self.table, finder, self.keys)
        return entries, [*self.left_out, *left_out]

    def match(self, rows: Sequence[PictureRow]) -> tuple[dict[Path, list[Entry]], list[str]]:
        """The entries about each file, and notes on the others; a key may also be the id of a picture."""
        return self.match_files((Path(file.path) for row in rows for file in row.files), list_ids(rows))

    def match_files(self, paths: Iterable[Path], ids: Mapping[str, str]) -> tuple[dict[Path, list[Entry]], list[str]]:
        """`match` for files, whether they are in the library or not yet."""
        finder = self.finder(paths, ids)
        entries, left_out = self.read_entries(finder)
        keys = [key for entry in entries for key in entry.keys]
        said = [(entry.captions, entry.values) for entry in entries for _ in entry.keys]
        found = finder.index.match(keys)
        notes = [*self.note_left_out(left_out), *self._note_strangers(keys, found)]
        if not self.table.rows:
            notes.append(f"{self.name}: it has no rows")
        return {path: [said[at] for at in positions] for path, positions in found.files.items()}, notes

    def note_left_out(self, left_out: Sequence[Dropped]) -> list[str]:
        """A line on the rows and columns that were left out, if there are any."""
        if not left_out:
            return []
        listed = "; ".join(f"{one.record}: {one.reason}" for one in left_out[:MAX_LISTED])
        return [f"{self.name}: left out: {len(left_out):,} (first: {listed})"]

    def _note_strangers(self, keys: Sequence[str], found: Matches) -> list[str]:
        unclear = {one.key: one for one in found.ambiguous}
        strangers = [keys[position] for position in found.unmatched]
        unknown = [key for key in strangers if key not in unclear]
        either = [unclear[key] for key in strangers if key in unclear]
        notes = []
        if unknown:
            notes.append(f"{self.name}: about no picture in the library: {len(unknown):,} (first: {unknown[0]})")
        if either:
            first = either[0]
            notes.append(
                f"{self.name}: about one of several files: {len(either):,} (first: {first.key}, which may be "
                f"{first.paths[0]} or {first.paths[1]}): write more of the path"
            )
        return notes


def read_tables(
    captions: str | Path | Rows | None, catalogue: str | Path | Rows | None, key: Keys = None
) -> list[PictureTable]:
    """Reads the tables that are given; captions may also be a file, or the folder, of a published set.

    Raises BadInput: one of them cannot be read, or has no captions.
    """
    check_type("key", key, str, list, tuple, type(None))
    keys = (key,) if isinstance(key, str) else tuple(key or ())
    for name in keys:
        check_type("a column of key", name, str)
    tables = list[PictureTable]()
    if captions is not None:
        from viewfinder.data.captions import is_published_source
        from viewfinder.data.picture_entries import find_caption_column

        if isinstance(captions, str | os.PathLike) and is_published_source(Path(captions)):
            table = _read_published(Path(captions))
        else:
            table = _read_table("captions", captions, keys)
        if table.table.columns:  # only rows tell them, where it is no CSV; without any a note says so
            find_caption_column(table.table)
        tables.append(table)
    if catalogue is not None:
        tables.append(_read_table("catalogue", catalogue, keys))
    return tables


def _read_published(source: Path) -> PictureTable:
    """The captions of a published set as a table, a row each."""
    from viewfinder.data import make_table, read_captions

    pictures, report = read_captions(source)
    rows = ({"image": str(one.path), "caption": caption} for one in pictures for caption in one.captions)
    folder = source if source.is_dir() else source.parent
    return PictureTable(source.name, "captions", make_table(source.name, rows), (), folder.absolute(), report.dropped)


def _read_table(
    kind: Literal["captions", "catalogue"], given: str | Path | Rows, keys: tuple[str, ...]
) -> PictureTable:
    from viewfinder.data.picture_keys import find_column
    from viewfinder.data.tables import make_rows_table, read_any_table

    check_type(kind, given, str, os.PathLike, Iterable, Frame)
    if isinstance(given, str | os.PathLike):
        path = check_path(kind, given)
        made = PictureTable(path.name, kind, read_any_table(path, keys), keys, path.absolute().parent)
    else:
        made = PictureTable(kind, kind, make_rows_table(kind, _list_rows(kind, given)), keys)
    for name in keys:
        find_column(made.table, name)  # a misspelt name is reported at once
    return made


def _list_rows(kind: str, given: Rows) -> Iterable[Mapping[str, object]]:
    """The rows of a table: those of Arrow, pandas and polars are asked for them; rows of one's own stay as they are."""
    if isinstance(given, Mapping):
        raise BadInput(f"{kind}: a list of rows is needed, each a mapping of columns to values; this is one mapping")
    if isinstance(given, Frame):
        for method, wanted in (("to_pylist", ()), ("to_dicts", ()), ("to_dict", ("records",))):
            if hasattr(given, method):
                rows: Iterable[Mapping[str, object]] = getattr(given, method)(*wanted)
                return rows
        raise BadInput(f"{kind}: rows are needed, each a mapping of columns to values; this is {type(given).__name__}")
    return given


def list_ids(rows: Iterable[PictureRow]) -> dict[str, str]:
    """A file of every picture, by the picture's id."""
    return {row.id: row.files[0].path for row in rows if row.files}


def check_tables(tables: Sequence[PictureTable], store: Store, found: Iterable[Path] = ()) -> None:
    """Checks that each table is about some pictures of the library, or about some of the files found.

    Raises:
        BadInput: one is about none; the message shows some of its values and some files.
    """
    paths, ids = _list_known(store, found)
    for table in tables:
        table.check(paths, ids)


def plan_tables(tables: Sequence[PictureTable], store: Store, found: Iterable[Path] = ()) -> tuple[int, list[str]]:
    """How many files of the library, and of those found, tables are about, and notes on entries about none."""
    paths, ids = _list_known(store, found)
    told, notes = set[Path](), list[str]()
    for table in tables:
        matched, more = table.match_files(paths, ids)
        told.update(matched)
        notes += more
    return len(told), notes


def _list_known(store: Store, found: Iterable[Path]) -> tuple[list[Path], dict[str, str]]:
    rows = store.rows()
    return [*(Path(file.path) for row in rows for file in row.files), *found], list_ids(rows)


def record_tables(store: Store, tables: Sequence[PictureTable]) -> tuple[int, list[str]]:
    """Records tables with the pictures they are about; returns how many changed, and notes on entries about none."""
    rows, said, notes = store.rows(), defaultdict[Path, list[Entry]](list), list[str]()
    for table in tables:
        found, more = table.match(rows)
        notes += more
        for path, entries in found.items():
            said[path] += entries
    return record_entries(store, said), notes


def record_entries(store: Store, said: Mapping[Path, Sequence[Entry]]) -> int:
    """Records entries with the pictures at these paths; returns how many pictures changed.

    Captions come to those that are known. A catalogue's columns take the place of what they said before of a picture
    that it has: of a column of which it says nothing now, nothing is left.
    """
    changed = []
    for row in store.rows():
        entries = [entry for file in row.files for entry in said.get(Path(file.path), ())]
        captions = (caption for texts, _ in entries for caption in texts)
        values: dict[str, list[str]] = defaultdict(list)
        for _, cells in entries:
            for name, value in cells.items():
                values[name] += [value] if isinstance(value, str) else value
        told = {name: tuple(dict.fromkeys(filter(None, found))) for name, found in values.items()}
        attributes = {name: found for name, found in (dict(row.attributes) | told).items() if found}
        updated = replace(row, captions=tuple(dict.fromkeys((*row.captions, *captions))), attributes=attributes)
        if updated != row:
            changed.append(updated)
    store.replace(changed)
    return len(changed)
