"""Text, CSV, JSON and JSON lines for readers: decoded and checked, with damage named by file, line and field.

Compressed JSON lines are read directly. A `ReadReport` says what a reader found, what it left out, and why.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from viewfinder.errors import BadInput, UnknownName
from viewfinder.whole_files import replace_file, write_file

KEY_COLUMNS = ("image", "file", "path", "id")
"""Columns that may say which picture a row is about, the preferred one first."""

SPREADSHEETS = frozenset({".xlsx", ".xlsm", ".xls", ".ods", ".numbers"})

Value = TypeVar("Value")


def need_folder(path: Path) -> Path:
    """`path`, if it is a folder; else BadInput."""
    if not path.is_dir():
        raise BadInput(f"{path}: no such folder; check the path")
    return path


def read_bytes(path: Path) -> bytes:
    """The content of a file; BadInput if it is missing or unreadable."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, with or without a byte-order mark; with the mark of UTF-16, of such a file.

    Raises:
        BadInput: as `read_bytes`; or it is not UTF-8 (the line is named).
    """
    data = read_bytes(path)
    try:
        return data.decode("utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadInput(f"{path}, line {line}: this is not UTF-8; save the file as UTF-8") from error


def read_json(path: Path, kind: type[Value]) -> Value:
    """The content of a JSON file: a `list`, or the `dict` of an object.

    Raises:
        BadInput: as `read_text`; damaged JSON (line and column are named); or the file holds something else.
    """
    data = _parse_json(read_text(path), str(path))
    if not isinstance(data, kind):
        wanted = "object" if kind is dict else kind.__name__
        raise BadInput(f"{path}: a JSON {wanted} is needed, this is {_shorten(data)}; fetch or write the file again")
    return data


MAX_RECORD = 1 << 26
"""Characters of one record of a list that is read record by record."""

CHUNK = 1 << 20


def read_json_records(path: Path) -> Iterator[tuple[str, Any]]:
    """The place and the content of every record of a JSON list, one at a time: such a file may be larger than memory.

    Raises:
        BadInput: the file is missing or unreadable, holds no list, or is damaged (the record is named).
    """
    decoder = json.JSONDecoder()
    try:
        with path.open(encoding="utf-8-sig") as stream:
            buffer, ended = stream.read(CHUNK), False
            start = _skip_blanks(buffer, 0)
            if buffer[start : start + 1] != "[":
                raise BadInput(f"{path}: a JSON list is needed, this begins with {buffer[:40]!r}; fetch the file again")
            place, at = start + 1, 0
            while True:
                start = _skip_blanks(buffer, place)
                if at and buffer[start : start + 1] == ",":
                    start = _skip_blanks(buffer, start + 1)
                if buffer[start : start + 1] == "]":
                    return
                try:
                    record, end = decoder.raw_decode(buffer, start)
                except RecursionError as error:
                    raise BadInput(f"{path}: [{at}]: damaged JSON (nested too deeply); fetch the file again") from error
                except json.JSONDecodeError as error:
                    if ended or len(buffer) - place > MAX_RECORD:
                        raise BadInput(f"{path}: [{at}]: damaged JSON ({error.msg}); fetch the file again") from error
                    more = stream.read(max(CHUNK, len(buffer) - place))  # a long record is not parsed for every chunk
                    buffer, place, ended = buffer[place:] + more, 0, not more
                    continue
                yield f"{path}: [{at}]", record
                place, at = end, at + 1
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: this is not UTF-8; fetch the file again") from error
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error


def _skip_blanks(text: str, place: int) -> int:
    while text[place : place + 1].isspace():
        place += 1
    return place


def _parse_json(text: str, where: str, *, one_line: bool = False) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{where}, column {error.colno}" if one_line else f"{where}, line {error.lineno}, column {error.colno}"
        raise BadInput(f"{place}: damaged JSON ({error.msg}); fetch or write the file again") from error
    except RecursionError as error:
        raise BadInput(f"{where}: damaged JSON (nested too deeply); fetch or write the file again") from error


@dataclass(frozen=True)
class Table:
    """A table with a header, or rows of one's own. Cells are stripped; `lines[i]` is where `rows[i]` begins.

    `lists`: the cells that hold several values, by row and column; `rows` has them joined. `dropped`: the rows that
    could not be read, where a reader goes on without them.
    """

    path: Path
    columns: tuple[str, ...]
    rows: list[list[str]] = field(repr=False)
    lines: list[int] = field(repr=False)
    lists: dict[tuple[int, int], tuple[str, ...]] = field(default_factory=dict, repr=False)
    dropped: list[Dropped] = field(default_factory=list, repr=False)

    def need(self, names: Sequence[str]) -> int:
        """Position of the first of `names` that is a column, ignoring case; BadInput if none is."""
        lowered = [column.lower() for column in self.columns]
        for name in names:
            if name in lowered:
                return lowered.index(name)
        has = ", ".join(filter(None, self.columns))
        raise BadInput(f"{self.path}, line 1: a column named {' or '.join(names)} is needed; this file has: {has}")


def read_table(path: Path) -> Table:
    """A CSV file: delimiter , ; or tab (told from the header), quotes as in RFC 4180, blank lines skipped.

    Raises:
        BadInput: as `read_text`; a spreadsheet, no header, a duplicate column, a row with more or fewer fields than
            the header, or broken quotes. The line is named.
    """
    if path.suffix.lower() in SPREADSHEETS:
        raise BadInput(f"{path}: this is a spreadsheet, not a table of text; save it as CSV in UTF-8")
    text = read_text(path)
    records = _records(path, text, _delimiter(text))
    _, header = next(records, (1, []))
    if not any(header):
        raise BadInput(f"{path}, line 1: a header with the names of the columns is needed")
    for at, name in enumerate(header):
        if name and name.lower() in [other.lower() for other in header[:at] if other]:
            raise BadInput(f"{path}, line 1: the column {name!r} is there twice; rename one")
    table = Table(path, tuple(header), [], [])
    for line, row in records:
        if len(row) != len(header):
            raise BadInput(f"{path}, line {line}: {len(row)} fields, but the header has {len(header)}")
        table.rows.append(row)
        table.lines.append(line)
    return table


def make_table(name: str, rows: Iterable[Mapping[str, object]]) -> Table:
    """Rows of one's own as a table: columns in the order in which they first come, None and NaN as empty cells.

    >>> make_table("catalogue", [{"file": "1.jpg", "price": 12.5}, {"file": "2.jpg", "size": None}]).rows
    [['1.jpg', '12.5', ''], ['2.jpg', '', '']]

    Raises:
        BadInput: these are not rows, or not with texts as the names of columns.
    """
    kept: list[Mapping[str, object]] = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping) or not all(isinstance(column, str) for column in row):
            shown = f"{type(row).__name__} {row!r}"[:80]
            raise BadInput(f"{name}, row {number}: a mapping of columns to values is needed, this is {shown}")
        kept.append(row)
    columns = tuple(dict.fromkeys(column for row in kept for column in row))
    cells = [[_format_cell(row.get(column)) for column in columns] for row in kept]
    return Table(Path(name), columns, cells, list(range(1, len(cells) + 1)))


MISSING = frozenset({"None", "nan", "NaT", "<NA>"})
"""How Python, numpy and pandas write that there is no value."""


def _format_cell(value: object) -> str:
    """A value as a CSV file has it."""
    text = str(value).strip()
    return "" if text in MISSING and not isinstance(value, str) else text


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
    merits = {}
    for delimiter in (",", ";", "\t"):
        try:
            names = [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter), [])]
        except csv.Error:
            names = []
        merits[delimiter] = any(name in KEY_COLUMNS for name in names), len(names)
    return max(merits, key=lambda delimiter: merits[delimiter])


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of every line that is not blank; `.gz` is unpacked on the fly, one line at a time.

    Raises:
        BadInput: the file is missing, unreadable or truncated, not UTF-8, or a line is no JSON object (it is named).
    """
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            yield from parse_json_lines(stream, where=str(path))
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"{path}: cannot be read ({error}); fetch the file again") from error


def parse_json_lines(stream: Iterable[bytes], *, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Reads JSON lines like `read_jsonl`, from a file that is already open; `where` names it in errors."""
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        place = f"{where}, line {number}"
        try:
            text = line.removeprefix(b"\xef\xbb\xbf").decode()
        except UnicodeDecodeError as error:
            raise BadInput(f"{place}: this is not UTF-8; save the file as UTF-8") from error
        record = _parse_json(text, place, one_line=True)
        if not isinstance(record, dict):
            raise BadInput(f"{place}: a JSON object is needed, this is {text[:60].strip()!r}")
        yield number, record


def write_jsonl(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """One object per line, in UTF-8, through a temporary file: an interruption leaves the old file or the new one."""
    with replace_file(path) as file, file.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def append_json_line(path: Path, record: Mapping[str, Any]) -> None:
    """Adds a line; on return it is on disk. A last line that a crash truncated is removed first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as stream:
        stream.seek(max(stream.seek(0, os.SEEK_END) - 1, 0))
        if stream.read(1) not in {b"", b"\n"}:
            stream.seek(0)
            whole, _ = whole_lines(stream.read())
            stream.truncate(len(whole))
            stream.write(b"" if whole.endswith(b"\n") or not whole else b"\n")
        stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
        stream.flush()
        os.fsync(stream.fileno())


def whole_lines(content: bytes) -> tuple[bytes, bytes]:
    """The complete lines of a journal, and what a crash left of a last one."""
    end = content.rfind(b"\n") + 1
    try:
        is_whole = not content[end:].strip() or isinstance(json.loads(content[end:]), dict)
    except ValueError:
        is_whole = False
    return (content, b"") if is_whole else (content[:end], content[end:])


def need_field(where: str, record: Any, name: str, kind: type[Value]) -> Value:
    """`record[name]`, which must be a `kind`; `where` names file and record.

    Raises:
        BadInput: the record is no object, lacks the field, or has another type there.
    """
    value = record.get(name) if isinstance(record, Mapping) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        of = f"it has {_shorten(value)}" if isinstance(record, Mapping) else f"this is {_shorten(record)}"
        raise BadInput(f"{where}: field {name!r} is needed ({kind.__name__}); {of}; fetch or write the file again")
    return value


def need_texts(where: str, value: Any) -> tuple[str, ...]:
    """`value` as a list of texts; BadInput if it is something else; `where` names file, record and field."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadInput(f"{where}: a list of texts is needed, this is {_shorten(value)}; fetch or write the file again")
    return tuple(value)


def read_keys(file: Path) -> tuple[tuple[str, ...], list[Dropped]]:
    """The keys that a JSON file lists, each once, in its order; repeats are reported."""
    return drop_repeated_keys(file, need_texts(str(file), read_json(file, list)))


def drop_repeated_keys(file: Path, keys: Iterable[str]) -> tuple[tuple[str, ...], list[Dropped]]:
    """Each key once, at its first place; repeats are reported by their place."""
    places: dict[str, int] = {}
    dropped: list[Dropped] = []
    for place, key in enumerate(keys):
        if places.setdefault(key, place) != place:
            dropped.append(Dropped(f"{file.name}: [{place}]", f"{key} is there already, at [{places[key]}]"))
    return tuple(places), dropped


def list_kinds_and_splits(folder: Path, names: re.Pattern[str]) -> dict[str, tuple[str, ...]]:
    """The splits of every kind, the two named groups of `names`, by a folder's files; BadInput if none fits."""
    matches = [match for match in (names.fullmatch(file.name) for file in sorted(folder.glob("*"))) if match]
    if not matches:
        like = re.sub(r"\(\?![^)]*\)", "", names.pattern)  # what a name must not begin with
        like = re.sub(r"\(\?P(<\w+>)[^)]*\)", r"\1", like).replace("\\.", ".")
        raise BadInput(f"{folder}: no file here is called like {like}; name the folder of the data set")
    kinds: dict[str, tuple[str, ...]] = {}
    for match in matches:
        kinds[match[1]] = (*kinds.get(match[1], ()), match[2])
    return kinds


def need_split_file(file: Path, pattern: str) -> Path:
    """`file`, if it exists; else UnknownName, which lists the files of its folder that fit `pattern`."""
    if not file.is_file():
        there = ", ".join(sorted(other.name for other in file.parent.glob(pattern))) or "none of the kind"
        raise UnknownName(f"{file}: no such file, so no such kind or split; there are: {there}")
    return file


def write_json(file: Path, data: Any, *, indent: int | None = None) -> None:
    """Write JSON like the published files, in ASCII, whole or not at all; folders are created."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file, json.dumps(data, indent=indent))


def _shorten(value: Any) -> str:
    return json.dumps(value, default=str)[:60]


@dataclass(frozen=True)
class Dropped:
    """One record (a picture, a row, an annotation) that was left out, and the reason."""

    record: str
    reason: str


@dataclass(frozen=True)
class ReadReport:
    """The account of one reading.

    Attributes:
        expected: items that the data set says it has, None if it does not say.
        found: items that were returned.
        dropped: records left out. A dropped row or annotation need not drop a whole item.
    """

    expected: int | None
    found: int
    dropped: tuple[Dropped, ...] = ()

    def __str__(self) -> str:
        of = "" if self.expected is None else f" of {self.expected}"
        what = "noted" if self.found == self.expected else "left out"  # a complete reading may have remarks
        why = "" if not self.dropped else f", {len(self.dropped)} {what} (first: {self.dropped[0].record}: "
        return f"{self.found}{of} found" + (f"{why}{self.dropped[0].reason})" if why else "")
