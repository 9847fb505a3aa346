"""How figures are written in table cells."""

from __future__ import annotations

from typing import Any


def percent(share: float) -> str:
    """A share as people read it."""
    return f"{100 * share:.1f} %"


def tenths(share: float) -> str:
    """A share as a table of many has it: 100 times, without the sign."""
    return f"{100 * share:.1f}"


def spread(found: dict[str, float]) -> str:
    """The same with its interval."""
    return f"{tenths(found['mean'])} ({tenths(found['low'])} to {tenths(found['high'])})"


def interval(found: dict[str, float]) -> str:
    """A share with its interval."""
    return f"{percent(found['mean'])} ({100 * found['low']:.1f} to {100 * found['high']:.1f})"


def machine_line(found: dict[str, str]) -> str:
    """One machine, with date and versions."""
    versions = ", ".join(f"{name} {found[name]}" for name in ("numpy", "onnxruntime", "lancedb", "pillow"))
    return f"{found['processor']}; {found['date']}; Python {found['python']}, {versions}"


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a table."""
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in rows)]


def most(row: dict[str, Any], name: str) -> str:
    """A figure with its interval, where there is one."""
    return spread(row[name]) if name in row else ""
