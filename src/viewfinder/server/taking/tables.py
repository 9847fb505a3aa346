"""What is known of pictures as a table (CSV) or a document (JSON), a few pictures at a time."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

BASE = (
    *("id", "name", "path", "rank", "score", "match", "captured", "camera", "folder", "width", "height", "format"),
    *("bytes", "captions", "favourite", "stars", "albums"),
)
"""What there is of every picture: `path` for admins at the server's machine, `rank` to `match` from a conversation."""

_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)*([eE][+-]?[0-9]+)?%?")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # the last four as wide as Chinese letters


def guard_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula: an apostrophe stands before one that could be one.

    >>> guard_cell("=HYPERLINK(A1)"), guard_cell("-33.86"), guard_cell("a dog")
    ("'=HYPERLINK(A1)", '-33.86', 'a dog')
    """
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def write_csv(fields: Sequence[str], columns: Sequence[str], pictures: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """A table with a column for each field and each of the catalogue's and files' columns; several values of one are
    joined by "; ". It begins with the mark by which spreadsheets know UTF-8."""
    written = io.StringIO()
    writer = csv.writer(written)
    yield b"\xef\xbb\xbf"
    writer.writerow([*fields, *(guard_cell(f"{name}*" if name in BASE else name) for name in columns)])
    for picture in pictures:
        values = [picture[name] for name in fields] + [picture["columns"].get(name, ()) for name in columns]
        writer.writerow([guard_cell(_write_cell(value)) for value in values])
        yield written.getvalue().encode("utf-8", "replace")
        written.seek(0)
        written.truncate()
    yield written.getvalue().encode("utf-8", "replace")  # the names of the columns, where there is no picture


def _write_cell(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else str(value)


def write_json(
    head: dict[str, Any], fields: Sequence[str], columns: Sequence[str], pictures: Iterable[dict[str, Any]]
) -> Iterator[bytes]:
    """A document: what is in `head`, then `pictures`, an object each, in which `columns` has lists of values."""
    wanted = frozenset(columns)
    yield f'{json.dumps(head)[:-1]}, "pictures": ['.encode()
    for number, picture in enumerate(pictures):
        told = {name: picture[name] for name in fields}
        told["columns"] = {name: values for name, values in picture["columns"].items() if name in wanted}
        yield f"{',' if number else ''}\n{json.dumps(told)}".encode()
    yield b"\n]}\n"
