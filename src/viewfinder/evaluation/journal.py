"""A record of talks as they end, from which an interrupted run goes on.

The first line says what the run is; every other one is a talk. A line is on the disk before the next talk is taken up,
so that a program that is killed loses only what was being said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from viewfinder.data.files import append_json_line, parse_json_lines, whole_lines, write_jsonl
from viewfinder.errors import BadInput

SCHEMA = "viewfinder/dialogues-journal"


@dataclass(frozen=True)
class JournalEntry:
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
class DialogueJournal:
    """The record in a file; `run` says what its talks are talks of, and must be the same when it goes on."""

    file: Path
    run: Mapping[str, str]

    def begun(self) -> dict[int, JournalEntry]:
        """An empty record, and so no talks.

        Raises:
            BadInput: there is one already; or the file cannot be written.
        """
        if self.file.is_file():
            raise BadInput(f"{self.file}: an earlier run was stopped here; --resume goes on, or remove this file")
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_jsonl(self.file, [{"schema": SCHEMA, "run": dict(self.run)}])
        return {}

    def resumed(self) -> dict[int, JournalEntry]:
        """The talks that are over, by place; a last line that was cut short is forgotten.

        Raises:
            BadInput: the record is that of another run (what differs is named), or damaged.
        """
        if not self.file.is_file():
            return self.begun()
        head, *lines = whole_lines(self.file.read_bytes())[0].splitlines() or [b"{}"]
        try:
            before: Mapping[str, str] | None = json.loads(head)["run"] if SCHEMA.encode() in head else None
        except (ValueError, LookupError):
            before = None
        if before is None:
            raise BadInput(f"{self.file}: this is no record of talks; remove it, or choose another --out")
        for name in dict.fromkeys((*self.run, *before)):
            if before.get(name) != self.run.get(name):
                raise BadInput(
                    f"{self.file}: begun with {name} {before.get(name)!r}, not {self.run.get(name)!r}; "
                    "go on as it was begun, or remove this file"
                )
        records = (record for _, record in parse_json_lines([b"", *lines], where=str(self.file)))
        entries = (JournalEntry(**{**record, "dialog": tuple(record["dialog"])}) for record in records)
        return {entry.place: entry for entry in entries}

    def add(self, entry: JournalEntry) -> None:
        """Records a talk; on return it is on the disk."""
        append_json_line(self.file, asdict(entry))
