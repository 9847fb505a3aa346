"""JSON lines: one object a line, damage named by file and line; compressed files are read as they are."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from viewfinder.errors import BadInput


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of every line that is not blank; `.gz` is unpacked on the way, one line at a time.

    Raises:
        BadInput: the file is missing, unreadable or cut off, not UTF-8, or a line is no JSON object (it is named).
    """
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            yield from parse_json_lines(stream, where=str(path))
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"{path}: cannot be read ({error}); fetch the file again") from error


def parse_json_lines(stream: Iterable[bytes], *, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """As `read_jsonl`, for bytes that are open already; `where` names them in errors."""
    for number, line in enumerate(stream, start=1):
        if line.strip():
            yield number, _object(line.removeprefix(b"\xef\xbb\xbf"), f"{where}, line {number}")


def write_jsonl(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """One object a line, in UTF-8, by way of a temporary file: an interruption leaves the old file or the new one."""
    written = path.with_name(f".{path.name}.new")
    with written.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    written.replace(path)


def append_json_line(path: Path, record: Mapping[str, Any]) -> None:
    """Adds a line; on return it is on the disk. A last line that a crash cut short is taken out first."""
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
    """The whole lines of a journal, and what a crash left of a last one."""
    end = content.rfind(b"\n") + 1
    try:
        is_whole = not content[end:].strip() or isinstance(json.loads(content[end:]), dict)
    except ValueError:
        is_whole = False
    return (content, b"") if is_whole else (content[:end], content[end:])


def _object(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise BadInput(f"{where}: this is not UTF-8; save the file as UTF-8") from error
    except json.JSONDecodeError as error:
        raise BadInput(f"{where}, column {error.colno}: damaged JSON ({error.msg}); fetch the file again") from error
    except RecursionError as error:
        raise BadInput(f"{where}: damaged JSON (nested too deeply); fetch the file again") from error
    if not isinstance(record, dict):
        raise BadInput(f"{where}: a JSON object is needed, this is {line[:60].decode(errors='replace').strip()!r}")
    return record
