"""Captions and catalogue rows: read from tables, matched with the pictures of a library, and recorded with them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from viewfinder.errors import check_path, check_type
from viewfinder.store.rows import PictureRow
from viewfinder.store.store import Store

Rows = Iterable[Mapping[str, object]]
"""A table of one's own: each row a mapping of columns to values."""

Entry = tuple[Sequence[str], Mapping[str, str]]
"""Captions, and values by column of a catalogue, empty where it says nothing of the picture."""


@dataclass(frozen=True)
class PictureTable:
    """A table as read: entry i is about the picture that `keys[i]` names; `left_out` are `data.files.Dropped`."""

    name: str
    keys: Sequence[str]
    entries: Sequence[Entry]
    left_out: Sequence[Any]

    def match(self, rows: Sequence[PictureRow]) -> tuple[dict[Path, list[Entry]], list[str]]:
        """The entries about each file, and notes on the others; a key may also be the id of a picture."""
        from viewfinder.data import match_keys

        ids = {row.id: row.files[0].path for row in rows if row.files}
        keys = [ids.get(key, key) for key in self.keys]
        found = match_keys(keys, (Path(file.path) for row in rows for file in row.files))
        unclear = {one.key: one for one in found.ambiguous}
        strangers = [keys[position] for position in found.unmatched]
        unknown = [key for key in strangers if key not in unclear]
        either = [unclear[key] for key in strangers if key in unclear]
        notes = []
        if self.left_out:
            first = self.left_out[0]
            notes.append(f"{self.name}: left out: {len(self.left_out):,} (first: {first.record}: {first.reason})")
        if unknown:
            notes.append(f"{self.name}: about no picture in the library: {len(unknown):,} (first: {unknown[0]})")
        if either:
            first = either[0]
            notes.append(
                f"{self.name}: about one of several files: {len(either):,} (first: {first.key}, which may be "
                f"{first.paths[0]} or {first.paths[1]}): write more of the path"
            )
        return {path: [self.entries[at] for at in positions] for path, positions in found.files.items()}, notes


def read_tables(captions: str | Path | Rows | None, catalogue: str | Path | Rows | None) -> list[PictureTable]:
    """Reads the tables that are given. Raises BadInput: one of them is damaged."""
    if captions is None and catalogue is None:
        return []
    from viewfinder.data import make_table, read_captions, read_catalogue, read_table
    from viewfinder.data.captions import is_published_source

    def read(name: str, table: str | Path | Rows) -> Any:
        check_type(name, table, str, os.PathLike, Iterable)
        is_file = isinstance(table, str | os.PathLike)
        return read_table(check_path(name, table)) if is_file else make_table(name, cast(Rows, table))

    tables = list[PictureTable]()
    if captions is not None:
        if isinstance(captions, str | os.PathLike) and is_published_source(Path(captions)):
            source, name = Path(captions), Path(captions).name
            pictures, report = read_captions(source)
        else:
            table = read("captions", captions)
            name = table.path.name
            pictures, report = read_captions(table)
        keys = [str(one.path) for one in pictures]
        tables.append(PictureTable(name, keys, [(one.captions, {}) for one in pictures], report.dropped))
    if catalogue is not None:
        goods = read_catalogue(read("catalogue", catalogue))
        unsaid = dict.fromkeys(goods.attributes, "")
        entries = [((), unsaid | row.values) for row in goods.rows]
        tables.append(PictureTable(goods.path.name, [row.key for row in goods.rows], entries, goods.report.dropped))
    return tables


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
                values[name].append(value)
        told = {name: tuple(dict.fromkeys(filter(None, found))) for name, found in values.items()}
        attributes = {name: found for name, found in (dict(row.attributes) | told).items() if found}
        updated = replace(row, captions=tuple(dict.fromkeys((*row.captions, *captions))), attributes=attributes)
        if updated != row:
            changed.append(updated)
    store.replace(changed)
    return len(changed)
