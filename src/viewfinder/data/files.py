"""Text, JSON and CSV files as readers want them: decoded, checked, damage named by file and line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viewfinder.errors import BadInput

KEY_COLUMNS = ("image", "file", "path", "id")
"""Columns that may say which picture a row is about, the preferred one first."""

_DELIMITERS = (",", ";", "\t")


def need_folder(path: Path) -> Path:
    """`path`, if a folder is there.

    Raises:
        BadInput: there is none.
    """
    if not path.is_dir():
        raise BadInput(f"{path}: no such folder; check the path")
    return path


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, with or without a byte-order mark.

    Raises:
        BadInput: the file is missing, unreadable, or not UTF-8 (the line is named).
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadInput(f"{path}, line {line}: this is not UTF-8; save the file as UTF-8") from error


def read_json(path: Path) -> Any:
    """The content of a JSON file.

    Raises:
        BadInput: as `read_text`; or damaged JSON (line and column are named).
    """
    text = read_text(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{path}, line {error.lineno}, column {error.colno}"
        raise BadInput(f"{where}: damaged JSON ({error.msg}); fetch or write the file again") from error
    except RecursionError as error:
        raise BadInput(f"{path}: damaged JSON (nested too deeply); fetch or write the file again") from error


@dataclass(frozen=True)
class Table:
    """A CSV file with a header. Cells are stripped; `lines[i]` is the line on which `rows[i]` begins."""

    path: Path
    columns: tuple[str, ...]
    rows: list[list[str]] = field(repr=False)
    lines: list[int] = field(repr=False)

    def column(self, names: Sequence[str]) -> int | None:
        """Position of the first of `names` that is a column, in any case; None if none is."""
        lowered = [column.lower() for column in self.columns]
        return next((lowered.index(name) for name in names if name in lowered), None)

    def need(self, names: Sequence[str]) -> int:
        """As `column`.

        Raises:
            BadInput: none of the names is a column.
        """
        position = self.column(names)
        if position is None:
            has = ", ".join(self.columns)
            raise BadInput(f"{self.path}, line 1: a column named {' or '.join(names)} is needed; this file has: {has}")
        return position


def read_table(path: Path) -> Table:
    """A CSV file: delimiter , ; or tab (told from the header), quotes as in RFC 4180, blank lines skipped.

    Raises:
        BadInput: as `read_text`; no header, a column twice, a row with more or fewer fields than the header,
            or broken quotes. The line is named.
    """
    text = read_text(path)
    records = _records(path, text, _delimiter(text))
    _, header = next(records, (1, []))
    if not any(header):
        raise BadInput(f"{path}, line 1: a header with the names of the columns is needed")
    _check_header(path, header)
    table = Table(path, tuple(header), [], [])
    for line, row in records:
        if len(row) != len(header):
            raise BadInput(f"{path}, line {line}: {len(row)} fields, but the header has {len(header)}")
        table.rows.append(row)
        table.lines.append(line)
    return table


def _records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(line, fields) of every record that is not blank; quoted fields may run over several lines."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise BadInput(f"{path}, line {line}: damaged CSV ({error})") from error
        if row is None:
            return
        if any(cell.strip() for cell in row):
            yield line, [cell.strip() for cell in row]


def _delimiter(text: str) -> str:
    """The delimiter under which the header has a key column, and then the most columns."""
    header = next((line for line in text.split("\n") if line.strip()), "")

    def merit(delimiter: str) -> tuple[bool, int]:
        try:
            names = [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter), [])]
        except csv.Error:
            return False, 0
        return any(name in KEY_COLUMNS for name in names), len(names)

    return max(_DELIMITERS, key=merit)


def _check_header(path: Path, header: list[str]) -> None:
    seen: set[str] = set()
    for name in header:
        if name and name.lower() in seen:
            raise BadInput(f"{path}, line 1: the column {name!r} is there twice; rename one")
        seen.add(name.lower())
