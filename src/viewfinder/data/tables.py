"""Tables as programs export them: CSV, JSON, JSON lines and Parquet, by what a file holds; a bad row is left out.

`files.read_table` is the strict reader of the data sets that we know; this one is for tables of people's own.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any
from unicodedata import normalize

from viewfinder.data.files import KEY_COLUMNS, MISSING, SPREADSHEETS, Dropped, Table, read_bytes, read_text
from viewfinder.errors import BadInput

MAX_TABLE_BYTES = 2**31
MAX_ROWS = 10_000_000
MAX_COLUMNS = 5_000
"""Columns of one table: `exiftool -json -a` of a mixed collection has some hundreds."""

MAX_DEPTH = 8
"""Objects within objects; what lies deeper stays as JSON text."""

MAX_MENDED_LINE = 10_000
"""Characters of a line whose quotation marks are mended; in a longer one it might take too long."""

MAX_SAMPLED_LINES = 50
"""Lines from which the delimiter is told."""

DELIMITERS = (",", ";", "\t", "|")

_PARQUET = b"PAR1"
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n")
"""The first line with which Excel is told the delimiter."""


def read_any_table(path: Path, keys: Sequence[str] = ()) -> Table:
    """A table of people's own; the rows that cannot be read are listed in its `dropped`.

    CSV with the delimiter , ; tab or | (that under which the header has one of `keys` or of the usual names, and then
    the most columns); a JSON list of objects, or an object that holds one; JSON lines, also packed (.gz); Parquet.
    Objects within objects become columns such as `price.value`; a list stays a list.

    Raises:
        BadInput: no such file, a spreadsheet, no header, nothing that can be read.
    """
    if path.suffix.lower() in SPREADSHEETS:
        raise BadInput(f"{path}: this is a spreadsheet, not a table of text; save it as CSV in UTF-8")
    if path.is_file() and path.stat().st_size > MAX_TABLE_BYTES:
        raise BadInput(f"{path}: more than {MAX_TABLE_BYTES // 2**30} GB; split the table into several")
    if path.is_dir():
        raise BadInput(f"{path}: this is a folder; name the file of the table")
    names = [name.casefold() for name in (*keys, *KEY_COLUMNS)]
    packed = path.suffix.lower() == ".gz"
    if not packed and (path.suffix.lower() in {".parquet", ".pq"} or _has_magic(path)):
        table = _read_parquet(path)
    else:
        text = _unpack(path) if packed else read_text(path)
        kind = path.with_suffix("").suffix.lower() if packed else path.suffix.lower()
        table = _read_json(path, text, kind) if _is_json(text, kind) else _read_csv(path, text, names)
    if not table.rows and table.dropped:
        first = table.dropped[0]
        raise BadInput(f"{path}: none of {len(table.dropped):,} rows can be read; {first.record}: {first.reason}")
    return _compose_letters(table)


def _compose_letters(table: Table) -> Table:
    """The table with each letter in one way: "ü" may be a letter or, as Macs write it, a "u" and two dots.

    Else a table that another program wrote would have the same column, and the same value, a second time.
    """

    def compose(texts: Iterable[str]) -> list[str]:
        return [text if text.isascii() else normalize("NFC", text) for text in texts]

    rows = [row if all(map(str.isascii, row)) else compose(row) for row in table.rows]
    lists = {place: tuple(compose(values)) for place, values in table.lists.items()}
    return replace(table, columns=tuple(compose(table.columns)), rows=rows, lists=lists)


def make_records_table(
    path: Path, records: Iterable[tuple[int, Mapping[str, Any]]], dropped: Iterable[Dropped] = ()
) -> Table:
    """A table of objects, each with the line on which it stands; columns in the order in which they first come.

    >>> made = make_records_table(Path("x.json"), [(1, {"file": "1.jpg", "price": {"value": "5"}, "tags": ["a", "b"]})])
    >>> made.columns, made.rows, made.lists
    (('file', 'price.value', 'tags'), [['1.jpg', '5', 'a; b']], {(0, 2): ('a', 'b')})
    """
    columns: dict[str, int] = {}
    sparse: list[dict[int, tuple[str, ...]]] = []
    lines: list[int] = []
    for line, record in records:
        cells: dict[int, tuple[str, ...]] = {}
        for name, values in _flatten(record):
            at = columns.setdefault(name, len(columns))
            if len(columns) > MAX_COLUMNS:
                raise BadInput(f"{path}, line {line}: more than {MAX_COLUMNS:,} different columns; is this a table?")
            cells[at] = (*cells.get(at, ()), *values)
        sparse.append(cells)
        lines.append(line)
        if len(lines) > MAX_ROWS:
            raise BadInput(f"{path}: more than {MAX_ROWS:,} rows; split the table into several")
    rows = [["; ".join(cells.get(at, ())) for at in range(len(columns))] for cells in sparse]
    lists = {(row, at): found for row, cells in enumerate(sparse) for at, found in cells.items() if len(found) > 1}
    return Table(path, tuple(columns), rows, lines, lists, list(dropped))


def make_rows_table(name: str, rows: Iterable[Mapping[str, object]]) -> Table:
    """Rows of one's own as a table: lists stay lists, None and NaN are empty cells.

    Raises:
        BadInput: these are not rows, or not with texts as the names of columns.
    """

    def check() -> Iterator[tuple[int, Mapping[str, object]]]:
        for number, row in enumerate(rows, start=1):
            if not isinstance(row, Mapping) or not all(isinstance(column, str) for column in row):
                shown = f"{type(row).__name__} {row!r}"[:80]
                raise BadInput(f"{name}, row {number}: a mapping of columns to values is needed, this is {shown}")
            yield number, row

    return _compose_letters(make_records_table(Path(name), check()))


# -- JSON and Parquet


def _has_magic(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(4) == _PARQUET
    except OSError:
        return False  # the reader says what is wrong


def _unpack(path: Path) -> str:
    try:
        with gzip.open(path, "rb") as stream:
            data = stream.read(MAX_TABLE_BYTES + 1)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        # The error of what is no gzip at all shows the first bytes.
        reason = "it is not packed by gzip" if isinstance(error, gzip.BadGzipFile) else str(error)
        raise BadInput(f"{path}: cannot be unpacked ({reason}); fetch the file again") from error
    if len(data) > MAX_TABLE_BYTES:
        raise BadInput(f"{path}: more than {MAX_TABLE_BYTES // 2**30} GB; split the table into several")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: this is not UTF-8; save the file as UTF-8") from error


def _is_json(text: str, kind: str) -> bool:
    return kind in {".json", ".jsonl", ".ndjson"} or re.match(r"\s*(\[\s*\{|\{\s*\")", text) is not None


def _read_json(path: Path, text: str, kind: str) -> Table:
    if kind in {".jsonl", ".ndjson"}:
        return _read_json_lines(path, text)
    try:
        data = _load_json(text)
    except json.JSONDecodeError as error:
        first = text.lstrip().split("\n", 1)[0]
        if first.lstrip().startswith("{") and _parses(first):
            return _read_json_lines(path, text)
        raise BadInput(f"{path}, line {error.lineno}, column {error.colno}: damaged JSON ({error.msg})") from error
    except RecursionError as error:
        raise BadInput(f"{path}: damaged JSON (nested too deeply)") from error
    if isinstance(data, dict) and "\n" not in text.strip() and not _find_lists(data) and not _is_by_name(data):
        data = [data]  # JSON lines of one line
    records: list[tuple[int, Mapping[str, Any]]] = []
    dropped: list[Dropped] = []
    for number, record in enumerate(_find_records(path, data), start=1):
        if isinstance(record, Mapping):
            records.append((number, record))
        else:
            dropped.append(Dropped(f"entry {number}", f"an object is needed, this is {json.dumps(record)[:60]}"))
    return make_records_table(path, records, dropped)


def _read_json_lines(path: Path, text: str) -> Table:
    dropped: list[Dropped] = []

    def read() -> Iterator[tuple[int, Mapping[str, Any]]]:
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            try:
                record = _load_json(line)
            except (ValueError, RecursionError) as error:
                reason = f"damaged JSON ({error})" if isinstance(error, ValueError) else "JSON nested too deeply"
                dropped.append(Dropped(f"line {number}", reason))
                continue
            if isinstance(record, Mapping):
                yield number, record
            else:
                dropped.append(Dropped(f"line {number}", f"an object is needed, this is {line.strip()[:60]}"))

    records = list(read())
    return make_records_table(path, records, dropped)


def _load_json(text: str) -> Any:
    """JSON whose numbers stay as they are written: 12.50 is a price."""
    return json.loads(text, parse_float=str, parse_int=str)


def _parses(line: str) -> bool:
    try:
        return isinstance(_load_json(line), dict)
    except (ValueError, RecursionError):
        return False


def _find_lists(data: Mapping[str, Any]) -> list[str]:
    """The entries of an object that are lists of objects."""
    return [
        name for name, value in data.items() if isinstance(value, list) and any(isinstance(it, dict) for it in value)
    ]


def _is_by_name(data: Mapping[str, Any]) -> bool:
    """Whether an object has an entry for each picture, by its name."""
    values = list(data.values())
    suffixed = sum(re.search(r"\.\w{2,5}$", name) is not None for name in data)
    return bool(values) and suffixed * 2 > len(values)


def _find_records(path: Path, data: Any) -> list[Any]:
    """The objects of a JSON file: those of a list, of the one list that an object holds, or one for each name."""
    if isinstance(data, list):
        return data
    if isinstance(data, dict):
        lists = _find_lists(data)
        if len(lists) == 1:
            return list(data[lists[0]])
        if _is_by_name(data):
            return [{"file": name} | (it if isinstance(it, dict) else {"caption": it}) for name, it in data.items()]
        held = f"it holds several ({', '.join(lists)})" if lists else "it holds none"
        raise BadInput(f"{path}: a JSON list of objects is needed, or an object with one such list; {held}")
    raise BadInput(f"{path}: a JSON list of objects is needed, this is {json.dumps(data)[:60]}")


def _read_parquet(path: Path) -> Table:
    import pyarrow as pa
    from pyarrow import parquet

    if not path.is_file():
        read_bytes(path)  # says so, as of every table
    try:
        with parquet.ParquetFile(path) as file:
            if file.metadata.num_rows > MAX_ROWS:
                raise BadInput(f"{path}: more than {MAX_ROWS:,} rows; split the table into several")
            wanted = [
                file.schema.column(at).path
                for at in range(len(file.schema))
                if _is_text_like(file.schema.column(at))  # a picture's bytes are no cell
            ]
            if not wanted:
                raise BadInput(f"{path}: no column that can be read as text")
            records: list[tuple[int, Mapping[str, Any]]] = []
            for batch in file.iter_batches(columns=wanted):
                records += enumerate(batch.to_pylist(), start=len(records) + 1)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).split("\n", 1)[0][:120]
        raise BadInput(f"{path}: damaged Parquet ({reason}); fetch or write the file again") from error
    return make_records_table(path, records)


def _is_text_like(column: Any) -> bool:
    return column.physical_type not in {"BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY", "INT96"} or (
        column.logical_type.type not in {"NONE", "UNKNOWN"} or column.physical_type == "INT96"
    )


def _flatten(record: Mapping[str, Any], before: str = "", depth: int = 0) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The values of an object by column; those of an object within it as `outer.inner`."""
    for name, value in record.items():
        yield from _flatten_value(f"{before}{format_value(str(name))}", value, depth)


def _flatten_value(name: str, value: Any, depth: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    if isinstance(value, Mapping) and depth < MAX_DEPTH:
        yield from _flatten(value, f"{name}.", depth + 1)
    elif isinstance(value, list | tuple) and depth < MAX_DEPTH:
        plain = [it for it in value if not isinstance(it, Mapping | list | tuple)]
        if plain or not value:
            yield name, tuple(text for text in map(format_value, plain) if text)
        for one in value:
            if isinstance(one, Mapping | list | tuple):
                yield from _flatten_value(name, one, depth + 1)
    else:
        text = format_value(value)
        yield name, (text,) if text else ()


def format_value(value: object) -> str:
    """A value as a CSV file has it; "" for None and NaN.

    >>> [format_value(value) for value in (None, True, 12.5, " a ", float("nan"), {"a": 1})]
    ['', 'true', '12.5', 'a', '', '{"a": 1}']
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, bytes):
        return ""
    text = str(value).strip()
    if not text.isascii():  # half of a surrogate pair, which JSON can escape, is no text
        text = text.encode("utf-8", "replace").decode("utf-8")
    return "" if text in MISSING and not isinstance(value, str) else text


# -- CSV


def _read_csv(path: Path, text: str, keys: Sequence[str]) -> Table:
    first = 1
    delimiter = ""
    if (told := _SEPARATOR_LINE.match(text)) is not None:
        delimiter, text, first = told[1], text[told.end() :], 2
    lines = list(io.StringIO(text, newline=""))
    delimiter = delimiter or _find_delimiter(lines, keys)
    dropped: list[Dropped] = []
    records = _read_records(lines, delimiter, first, dropped)
    start, header = next(records, (first, []))
    if dropped:  # before the header
        raise BadInput(f"{path}, {dropped[0].record}: {dropped[0].reason}")
    named = max((at + 1 for at, name in enumerate(header) if name), default=0)
    if not named:
        raise BadInput(f"{path}, line {start}: a header with the names of the columns is needed")
    if len(header) > MAX_COLUMNS:
        raise BadInput(f"{path}, line {start}: more than {MAX_COLUMNS:,} columns; is this a table?")
    columns, place = _unite_columns(path, start, header)
    table = Table(path, columns, [], [], dropped=dropped)
    for line, row in records:
        if len(row) < named or any(row[len(header) :]):  # commas too many or too few at the end are harmless
            dropped.append(Dropped(f"line {line}", f"{len(row)} fields, but the header has {len(header)}"))
            continue
        if len(table.rows) >= MAX_ROWS:
            raise BadInput(f"{path}: more than {MAX_ROWS:,} rows; split the table into several")
        cells = [*row[: len(header)], *[""] * (len(header) - len(row))]
        table.rows.append(cells if len(columns) == len(header) else _unite_cells(table, cells, place))
        table.lines.append(line)
    dropped.sort(key=lambda one: int(one.record.rpartition(" ")[2]))
    return table


def _unite_columns(path: Path, line: int, header: Sequence[str]) -> tuple[tuple[str, ...], list[int]]:
    """The columns, those of the very same name as one, and the place of every field among them."""
    columns: list[str] = []
    place: list[int] = []
    known: dict[str, int] = {}
    for name in header:
        same = known.get(name.casefold()) if name else None
        if same is not None and columns[same] != name:
            raise BadInput(f"{path}, line {line}: the column {name!r} is there twice; rename one")
        place.append(len(columns) if same is None else same)
        if same is None:
            known[name.casefold()] = len(columns)
            columns.append(name)
    return tuple(columns), place


def _unite_cells(table: Table, row: Sequence[str], place: Sequence[int]) -> list[str]:
    found: dict[int, list[str]] = {}
    for at, cell in zip(place, row, strict=False):
        if cell and cell not in found.setdefault(at, []):
            found[at].append(cell)
    for at, values in found.items():
        if len(values) > 1:
            table.lists[len(table.rows), at] = tuple(values)
    return ["; ".join(found.get(at, ())) for at in range(len(table.columns))]


def _find_delimiter(lines: Sequence[str], keys: Sequence[str]) -> str:
    """The delimiter under which the header has a key column, most rows as many columns as it, and these are most."""
    sample = [line for line in islice(lines, MAX_SAMPLED_LINES) if line.strip()]
    merits: dict[str, tuple[bool, bool, int]] = {}
    for delimiter in DELIMITERS:
        try:
            rows = list(csv.reader(sample, delimiter=delimiter))
        except csv.Error:  # a field that is too long: the header alone
            rows = [line.split(delimiter) for line in sample[:1]]
        names = [name.strip().casefold() for name in rows[0]] if rows else []
        fit = sum(len(row) == len(names) for row in rows[1:])
        merits[delimiter] = any(it in keys for it in names), len(names) > 1 and fit * 2 >= len(rows) - 1, len(names)
    return max(merits, key=lambda delimiter: merits[delimiter])


def _read_records(
    lines: Sequence[str], delimiter: str, first: int, dropped: list[Dropped]
) -> Iterator[tuple[int, list[str]]]:
    """(line, fields) of every record that is not blank; what cannot be read is added to `dropped`.

    A quotation mark that never ends would take the rest of the file with it: after a damaged record, reading goes on
    with the line below that on which it began.
    """
    at = 0
    while at < len(lines):
        reader = csv.reader(_from(lines, at), delimiter=delimiter, strict=True)
        begun = at
        while True:
            start = at + reader.line_num
            try:
                row = next(reader, None)
            except csv.Error as error:
                begun = start
                mended = _mend_quotes(lines[start], delimiter)
                if mended is not None:
                    yield first + start, mended
                else:
                    dropped.append(Dropped(f"line {first + start}", f"damaged CSV ({error})"))
                break
            if row is None:
                return
            if any(cell.strip() for cell in row):
                yield first + start, [cell.strip() for cell in row]
        at = begun + 1


def _from(lines: Sequence[str], start: int) -> Iterator[str]:
    return (lines[at] for at in range(start, len(lines)))


def _mend_quotes(line: str, delimiter: str) -> list[str] | None:
    """The fields of a line in which quotation marks are not doubled, as in "a 5" disk",red; None: it cannot be told.

    >>> _mend_quotes('1.jpg,"a 5" disk",red', ","), _mend_quotes('1.jpg,"a', ",")
    (['1.jpg', 'a 5" disk', 'red'], None)
    """
    line = line.rstrip("\r\n")
    if len(line) > MAX_MENDED_LINE:
        return None
    end = rf"(?P<end>{re.escape(delimiter)}|$)"
    quoted, plain = re.compile(rf'\s*"(?P<text>.*?)"\s*{end}'), re.compile(rf"(?P<text>.*?){end}")
    fields: list[str] = []
    at = 0
    while True:
        found = quoted.match(line, at)
        if found is None and ((found := plain.match(line, at)) is None or found["text"].lstrip().startswith('"')):
            return None
        fields.append(found["text"].replace('""', '"').strip())
        if not found["end"]:
            return fields
        at = found.end()
