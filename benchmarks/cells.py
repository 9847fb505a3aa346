"""How figures are written in table cells."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any


def format_percent(share: float) -> str:
    """A share as people read it."""
    return f"{100 * share:.1f} %"


def format_tenths(share: float) -> str:
    """A share as a table of many has it: 100 times, without the sign."""
    return f"{100 * share:.1f}"


def format_spread(found: dict[str, float]) -> str:
    """A share with its interval, each 100 times and without the sign."""
    return f"{format_tenths(found['mean'])} ({format_tenths(found['low'])} to {format_tenths(found['high'])})"


def format_interval(found: dict[str, float]) -> str:
    """A share with its interval."""
    return f"{format_percent(found['mean'])} ({100 * found['low']:.1f} to {100 * found['high']:.1f})"


def machine_line(found: dict[str, str]) -> str:
    """One machine, with date and versions."""
    versions = ", ".join(f"{name} {found[name]}" for name in ("numpy", "onnxruntime", "lancedb", "pillow"))
    return f"{found['processor']}; {found['date']}; Python {found['python']}, {versions}"


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table."""
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in rows)]


def format_known(row: dict[str, Any], name: str) -> str:
    """A figure with its interval, where there is one."""
    return format_spread(row[name]) if name in row else ""


def reach_table(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table of figures that each have an aim: what it is, its aim, and what was measured."""
    return format_table(["what", "reach", "measured"], rows)


def minutes_cell(row: Mapping[str, Any]) -> str:
    """The minutes of a row's trainings, seed by seed."""
    return ", ".join(f"{minutes:.1f}" for minutes in row.get("minutes", ()) if minutes)


EARLIER_DATA = " (earlier)"


def mark_earlier(rows: Mapping[str, Any], known: Container[str]) -> dict[str, Any]:
    """Rows with a mark at the names of those that are not known: their figures are of earlier data."""
    return {name if name in known else f"{name}{EARLIER_DATA}": row for name, row in rows.items()}
