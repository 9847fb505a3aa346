"""Columns beside a snapshot: written once, grown with it, each read on first use.

columns.json                               the number of each column, those of the catalogue first; sealed
column-NUMBER.values.json                  its values in the order in which they came; sealed
column-NUMBER.codes, column-NUMBER.offsets   `growing_arrays`, as in `AttributeColumn`
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from viewfinder.index.checksums import map_sealed, seal
from viewfinder.index.growing_arrays import extend_rows, link_rows, map_rows, save_rows
from viewfinder.index.rows import FACTS, AttributeColumn

LISTED = "columns.json"


class StoredColumns(Mapping[str, AttributeColumn]):
    """Columns of a snapshot's folder. Raises OSError, ValueError: damaged."""

    def __init__(self, folder: Path) -> None:
        numbers = _read_list(folder)
        # All are mapped now: another process may rewrite the folder and number them differently.
        self._parts = {name: _read_parts(folder, number) for name, number in numbers.items()}
        self._read: dict[str, AttributeColumn] = {}

    def __getitem__(self, name: str) -> AttributeColumn:
        if name not in self._read:
            values, offsets, codes = self._parts[name]
            self._read[name] = AttributeColumn(name, _parse_values(values), offsets, codes).most_frequent_first()
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def save_columns(folder: Path, columns: Mapping[str, AttributeColumn]) -> None:
    """Writes columns into a folder. Raises OSError."""
    for number, column in enumerate(columns.values()):
        _save(folder, number, column)
    _write_list(folder, {name: number for number, name in enumerate(columns)})


def can_grow(before: Mapping[str, AttributeColumn], added: Mapping[str, AttributeColumn]) -> bool:
    """Whether columns of pictures and of added pictures can be joined.

    They cannot if the catalogue has a column with the name of a fact, which it replaces for all pictures.
    """
    names = [*before, *added]
    return len({name.casefold() for name in names}) == len(set(names)) and {*FACTS} <= {*before} & {*added}


def grow_columns(before: Path, folder: Path, added: Mapping[str, AttributeColumn], count: int) -> None:
    """Appends the columns of added pictures (`added`) to those of `before`, where `can_grow` allows.

    `count`: how many pictures there were before. Raises OSError, ValueError: damaged.
    """
    known = _read_list(before)
    catalogue = sorted({*known, *added} - {*FACTS})
    numbers = {name: known[name] if name in known else len(known) + at for at, name in enumerate(catalogue)}
    numbers |= {name: known[name] for name in FACTS}
    more = len(next(iter(added.values())))
    for name, number in numbers.items():
        column = added.get(name) or AttributeColumn.of(name, [()] * more)
        if name in known:
            _grow(before, folder, number, column)
        else:
            offsets = np.concatenate([np.zeros(count, np.int64), column.offsets])
            _save(folder, number, AttributeColumn(name, column.values, offsets, column.codes))
    _write_list(folder, numbers)


def _grow(before: Path, folder: Path, number: int, added: AttributeColumn) -> None:
    values, offsets, _ = _read_parts(before, number)
    code = {value: at for at, value in enumerate(_parse_values(values))}
    code |= {value: len(code) + at for at, value in enumerate(value for value in added.values if value not in code)}
    codes = np.array([code[value] for value in added.values], np.int32)[added.codes]
    for part, rows in (("codes", codes), ("offsets", added.offsets[1:] + offsets[-1])):
        link_rows(before / f"column-{number}.{part}", folder / f"column-{number}.{part}")
        extend_rows(folder / f"column-{number}.{part}", rows)
    _write_values(folder, number, tuple(code))


def _save(folder: Path, number: int, column: AttributeColumn) -> None:
    save_rows(folder / f"column-{number}.offsets", column.offsets)
    save_rows(folder / f"column-{number}.codes", column.codes)
    _write_values(folder, number, column.values)


def _write_values(folder: Path, number: int, values: tuple[str, ...]) -> None:
    (folder / f"column-{number}.values.json").write_bytes(seal(json.dumps(values).encode()))


def _write_list(folder: Path, numbers: Mapping[str, int]) -> None:
    (folder / LISTED).write_bytes(seal(json.dumps(numbers).encode()))


def _read_list(folder: Path) -> dict[str, int]:
    return dict(json.loads(bytes(map_sealed(folder / LISTED))))


def _read_parts(folder: Path, number: int) -> tuple[memoryview, np.ndarray, np.ndarray]:
    stem = f"column-{number}"
    values = map_sealed(folder / f"{stem}.values.json")
    return values, map_rows(folder / f"{stem}.offsets"), map_rows(folder / f"{stem}.codes")


def _parse_values(values: memoryview) -> tuple[str, ...]:
    return tuple(json.loads(bytes(values)))
