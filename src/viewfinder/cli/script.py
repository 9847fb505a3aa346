"""Turns from a file: one JSON turn a line (`viewfinder chat --script`).

Empty lines and lines that start with "#" are passed over and do not count as turns. Where a picture's id is
expected, "#2" means result 2 of what is shown at that moment.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viewfinder.cli.typed import find_result
from viewfinder.conversation import Conversation, Turn, turn_from_json
from viewfinder.errors import BadInput, ViewfinderError

if TYPE_CHECKING:
    from viewfinder.index.results import Hits
    from viewfinder.session import Session


def play_script(session: Session, script: Path) -> Iterator[tuple[Turn, Hits]]:
    """Takes the script's turns one by one; what came before a bad line has happened.

    Raises:
        BadInput: the file cannot be read, or a line is no turn (the line is named).
        ViewfinderError: a turn cannot be taken (the line is named).
    """
    folder = Path() if str(script) == "-" else script.parent
    for number, line in read_lines(script):
        try:
            turn = parse_script_line(line, session.conversation, folder)
            hits = session.take(turn)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{script}, line {number}: {error}") from error
        except ViewfinderError as error:
            raise type(error)(f"{script}, line {number}: {error}") from error
        yield turn, hits


def read_lines(script: Path) -> Iterator[tuple[int, str]]:
    """Lines that say something, with their numbers from 1; "-" is standard input.

    Raises:
        BadInput: there is no such file, or a line of it is not UTF-8.
    """
    try:
        data = sys.stdin.buffer.read() if str(script) == "-" else script.read_bytes()
    except OSError as error:
        raise BadInput(f"{script}: the script cannot be read ({error.strerror}); check the path") from error
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        try:
            line = raw.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise BadInput(f"{script}, line {number}: not UTF-8 at byte {error.start + 1} of the line") from error
        if line and not line.startswith("#"):
            yield number, line


def parse_script_line(line: str, talk: Conversation, folder: Path = Path()) -> Turn:
    """The turn that a line describes at this point of the talk; images are looked for in `folder` first.

    Raises:
        ValueError: no JSON, or no turn.
        BadInput: "#n" names no result.
    """
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"this is not JSON ({error.msg} at column {error.colno})") from error
    if isinstance(data, Mapping):
        data = _with_ids(data, talk, folder)
    return turn_from_json(data, pending=talk.pending)


def _with_ids(data: Mapping[str, Any], talk: Conversation, folder: Path) -> dict[str, Any]:
    """The turn's JSON with "#n" and relative image names resolved; anything malformed is left to the reader."""
    resolved = dict(data)
    if isinstance(data.get("like"), str):
        turn = data.get("turn")
        resolved["like"] = _id(data["like"], talk, turn if isinstance(turn, int) else None)
    if isinstance(data.get("reject"), list):
        resolved["reject"] = [_id(item, talk) if isinstance(item, str) else item for item in data["reject"]]
    if isinstance(data.get("reject"), str):
        resolved["reject"] = _id(data["reject"], talk)
    if isinstance(data.get("show"), str) and (folder / data["show"]).is_file():
        resolved["show"] = str(folder / data["show"])
    return resolved


def _id(text: str, talk: Conversation, turn: int | None = None) -> str:
    number = text.removeprefix("#")
    return find_result(int(number), talk, turn) if text.startswith("#") and number.isdecimal() else text
