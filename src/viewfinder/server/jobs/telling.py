"""What a job tells of itself: reports and errors, in which no folder of this machine is named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viewfinder.server.discreet import hide_paths, to_unicode

if TYPE_CHECKING:
    from viewfinder.index.ingest import AddReport
    from viewfinder.index.region_vectors import FillReport

LISTED = 10
"""Failures that a report names; all are at /collection/failures."""

SUMMED = ("added", "changed", "moved", "duplicates", "described", "made")
"""What several runs of one job add up to; of everything else the last run knows best."""


def report_failure(path: str | Path, reason: str) -> dict[str, str]:
    """A file by its last name, and why it could not be read."""
    return {"name": to_unicode(Path(path).name), "reason": to_unicode(hide_paths(reason))}


def report_adding(report: AddReport) -> dict[str, Any]:
    """Counts, notes, and the first failures."""
    counts = ("found", "added", "changed", "moved", "unchanged", "duplicates", "quarantined", "described")
    return {
        **{name: getattr(report, name) for name in counts},
        "notes": [hide_paths(line) for line in report.notes],
        "failures": _first((failure.path, failure.reason) for failure in report.failures),
    }


def report_filling(filled: FillReport) -> dict[str, Any]:
    """How many pictures got regions, how many could not, and the first of those."""
    left_out = filled.left_out
    return {
        "made": filled.made,
        "left_out": len(left_out),
        "failures": _first((bad.path, bad.reason) for bad in left_out),
    }


def merge_reports(before: Mapping[str, Any] | None, last: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a job that ran several times. What an earlier run took in, the last one found unchanged."""
    if before is None:
        return dict(last)
    sums = {name: before.get(name, 0) + last[name] for name in SUMMED if name in last}
    taken = sum(before.get(name, 0) for name in ("added", "changed", "moved", "duplicates"))
    known = {"unchanged": max(last["unchanged"] - taken, 0)} if "unchanged" in last else {}
    return {**last, **sums, **known}


def _first(failures: Iterable[tuple[str | Path, str]]) -> list[dict[str, str]]:
    return [report_failure(path, reason) for path, reason in list(failures)[:LISTED]]
