"""A record of talks as they end, from which an interrupted run goes on.

The first line says what the run is; every other one is a talk. A line is on the disk before the next talk is taken up,
so that a program that is killed loses only what was being said.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from viewfinder.errors import BadInput

SCHEMA = "viewfinder/dialogues-journal"


@dataclass(frozen=True)
class Entry:
    """A talk that is over.

    Attributes:
        place: which of the run's talks it is.
        img, dialog: as ChatIR's files have them.
        by_another: how many questions another questioner asked in place of the one that was meant to.
    """

    place: int
    img: str
    dialog: tuple[str, ...]
    by_another: int


@dataclass(frozen=True)
class Journal:
    """The record in a file; `run` says what its talks are talks of, and must be the same when it goes on."""

    file: Path
    run: Mapping[str, str]

    def begun(self) -> dict[int, Entry]:
        """An empty record, and so no talks.

        Raises:
            BadInput: there is one already; or the file cannot be written.
        """
        if self.file.is_file():
            raise BadInput(f"{self.file}: an earlier run was stopped here; --resume goes on, or remove this file")
        self._write([])
        return {}

    def resumed(self) -> dict[int, Entry]:
        """The talks that are over, by place; a line that was cut short is forgotten.

        Raises:
            BadInput: the record is that of another run (what differs is named).
        """
        if not self.file.is_file():
            self._write([])
            return {}
        head, *lines = self.file.read_text(encoding="utf-8").splitlines() or [""]
        self._check_same(_object(head) or {})
        found = {entry.place: entry for line in lines if (entry := _entry(line)) is not None}
        self._write(list(found.values()))
        return found

    def add(self, entry: Entry) -> None:
        """Records a talk; on return it is on the disk."""
        self._append(json.dumps(asdict(entry)))

    def _check_same(self, head: Mapping[str, Any]) -> None:
        if head.get("schema") != SCHEMA:
            raise BadInput(f"{self.file}: this is no record of talks; remove it, or choose another --out")
        before: Mapping[str, str] = head["run"]
        for name in dict.fromkeys((*self.run, *before)):
            if before.get(name) != self.run.get(name):
                raise BadInput(
                    f"{self.file}: begun with {name} {before.get(name)!r}, not {self.run.get(name)!r}; "
                    "go on as it was begun, or remove this file"
                )

    def _write(self, entries: list[Entry]) -> None:
        """The record anew, by way of another file."""
        lines = [json.dumps({"schema": SCHEMA, "run": dict(self.run)}), *(json.dumps(asdict(one)) for one in entries)]
        self.file.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.file.with_name(f"{self.file.name}.new")
        fresh.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        fresh.replace(self.file)

    def _append(self, line: str) -> None:
        with self.file.open("a", encoding="utf-8") as stream:
            stream.write(f"{line}\n")
            stream.flush()
            os.fsync(stream.fileno())


def _entry(line: str) -> Entry | None:
    record = _object(line)
    return None if record is None else Entry(**{**record, "dialog": tuple(record["dialog"])})


def _object(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:  # cut short
        return None
    return record if isinstance(record, dict) else None
