"""Reports on long work on a library: how far it is, and what adding, filling and repairing have done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from viewfinder.pictures import BadFile
from viewfinder.store.rows import Failure

if TYPE_CHECKING:
    from viewfinder.pictures.walk_notes import LeftOut, WalkNotes

Progress = Callable[[int, int], None]
"""Called after each batch with two counts: how many are done, and how many there are to do."""


@dataclass
class AddReport:
    """The result of `add`. `stopped` says that it was interrupted between batches; adding again resumes.

    `found`: files, and places that could not be read. Once all is read, it is the sum of `added`, `changed`,
    `moved`, `unchanged`, `duplicates` (copies of pictures that are here) and `quarantined`. A file is `changed` if it
    holds another picture now, or the same one with other facts; `reread` counts those of the unchanged files whose
    facts were read again, because a sidecar or a setting changed. `failures` are the first of those in quarantine,
    `ingest.MAX_LISTED_FAILURES` at most.

    The rest of what was met is as `WalkNotes` has it: `passed_over`, `sidecars`, `left_out`. Together with `found` they
    are all files below the roots, but for those in folders that were left out as a whole. `lacking` are endings of
    pictures that cannot be read without an extra, `included` the pictures that only the caller's patterns took.
    """

    found: int = 0
    added: int = 0
    changed: int = 0
    moved: int = 0
    unchanged: int = 0
    reread: int = 0
    duplicates: int = 0
    quarantined: int = 0
    described: int = 0
    stopped: bool = False
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    passed_over: dict[str, int] = field(default_factory=dict)
    sidecars: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    lacking: dict[str, int] = field(default_factory=dict)
    included: int = 0

    def take_notes(self, notes: WalkNotes) -> None:
        """Takes over what a walk met besides pictures."""
        self.passed_over, self.sidecars, self.left_out = notes.passed_over, notes.sidecars, notes.left_out
        self.lacking, self.included = notes.lacking, notes.included


@dataclass(frozen=True)
class FillReport:
    """The pictures that got regions, counted, and one file of each that could not, with the reason."""

    made: int = 0
    left_out: tuple[BadFile, ...] = ()


@dataclass
class RepairReport:
    """Files that were damaged, what was repaired, and what is lost for good; one line each."""

    damaged: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
