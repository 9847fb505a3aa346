"""Reports on long work on a library: how far it is, and what adding, filling and repairing have done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from viewfinder.pictures import BadFile
from viewfinder.store.rows import Failure

Progress = Callable[[int, int], None]
"""Called after each batch with two counts: how many are done, and how many there are to do."""


@dataclass
class AddReport:
    """The result of `add`. `stopped` says that it was interrupted between batches; adding again resumes.

    `found`: files, and places that could not be read. Once all is read, it is the sum of `added`, `changed`,
    `moved`, `unchanged`, `duplicates` (copies of pictures that are here) and `quarantined`. `failures` are the first
    of those in quarantine, `ingest.MAX_LISTED_FAILURES` at most.
    """

    found: int = 0
    added: int = 0
    changed: int = 0
    moved: int = 0
    unchanged: int = 0
    duplicates: int = 0
    quarantined: int = 0
    described: int = 0
    stopped: bool = False
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


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
