"""The folder of a world: taken over or refused, whole or begun, and what was written into it."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.data.records import write_json
from viewfinder.errors import BadInput, DiskFull

MARKER = "world.json"
MOST_PICTURES = 1_000_000

Progress = Callable[[int], None]
"""Called with the number of pictures written so far."""


@dataclass(frozen=True)
class WorldReport:
    """What was written where. What a kind of world does not have is 0.

    `chats` are chat-search samples; `pairs`, `sessions` and `transactions` are Fashion IQ's, MT Fashion IQ's and
    FashionMT's, `queries` CIRR's; `edits` are pairs of InstructPix2Pix.
    """

    out: Path
    kind: str
    seed: int
    pictures: int
    captions: int
    regions: int = 0
    things: int = 0
    dialogues: int = 0
    chats: int = 0
    pairs: int = 0
    sessions: int = 0
    transactions: int = 0
    queries: int = 0
    edits: int = 0


@contextmanager
def claim_folder(out: Path, made: Mapping[str, Any], folders: Sequence[str]) -> Iterator[None]:
    """The folder as ours while a world is written: new, empty, or begun by the same call (`made` tells calls apart).

    Raises:
        BadInput: it is a file, holds something else, or cannot be written.
        DiskFull: the disk is full.
    """
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out}: this is a file; name a folder for the world")
    if out.is_dir() and any(out.iterdir()) and _made(out / MARKER) != made:
        raise BadInput(f"{out}: this folder is not empty; name an empty or a new one")
    try:
        for folder in folders:
            (out / folder).mkdir(parents=True, exist_ok=True)
        write_json(out / MARKER, made)
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(f"{out}: the disk is full; make room and repeat the command") from error
        raise BadInput(
            f"{error.filename or out}: cannot be written ({error.strerror}); choose another folder"
        ) from error


def _made(marker: Path) -> Any:
    try:
        return json.loads(marker.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
