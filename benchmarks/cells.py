"""How figures are written in table cells."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any


def format_percent(share: float) -> str:
    """A share as people read it."""
    return f"{100 * share:.1f} %"


def format_tenths(share: float) -> str:
    """A share as a table of many has it: 100 times, without the sign."""
    return f"{100 * share:.1f}"


def format_p(p_value: float) -> str:
    """A p-value."""
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def format_spread(found: dict[str, float]) -> str:
    """A share with its interval, each 100 times and without the sign."""
    return f"{format_tenths(found['mean'])} ({format_tenths(found['low'])} to {format_tenths(found['high'])})"


def format_interval(found: dict[str, float]) -> str:
    """A share with its interval."""
    return f"{format_percent(found['mean'])} ({100 * found['low']:.1f} to {100 * found['high']:.1f})"


def machine_line(found: dict[str, str]) -> str:
    """One machine, with date and versions."""
    versions = ", ".join(f"{name} {found[name]}" for name in ("numpy", "onnxruntime", "lancedb", "pillow"))
    kernels = f"; {found['blas']}" if "blas" in found else ""
    return f"{found['processor']}; {found['date']}; Python {found['python']}, {versions}{kernels}"


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table."""
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in rows)]


Column = Callable[[Any], str]
"""The cell of a column, from the figures of a row."""


def rows_table(rows: Mapping[str, Any], columns: Mapping[str, Column], first: str = "") -> list[str]:
    """Lines of a table with a line for each row: its name (the column `first`), and its cell in every column."""
    lines = ([name, *(cell(row) for cell in columns.values())] for name, row in rows.items())
    return format_table([first, *columns], lines)


def cell_of(form: Callable[[Any], str], *path: str | int) -> Column:
    """A column of formatted figures, which lie at this path in every row; a row without one has an empty cell.

    >>> cell_of("{:.1f}".format, "R@10", "mean")({"R@10": {"mean": 0.25}})
    '0.2'
    """

    def cell(row: Any) -> str:
        for key in path:
            if isinstance(row, dict) and key not in row:
                return ""
            row = row[key]
        return form(row)

    return cell


def reach_table(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table of figures that each have an aim: what it is, its aim, and what was measured."""
    return format_table(["what", "reach", "measured"], rows)


def minutes_cell(row: Mapping[str, Any], digits: int = 1) -> str:
    """The minutes of a row's trainings, seed by seed."""
    return ", ".join(f"{minutes:.{digits}f}" for minutes in row.get("minutes", ()) if minutes)


EARLIER_DATA = " (earlier)"


def mark_earlier(rows: Mapping[str, Any], known: Container[str]) -> dict[str, Any]:
    """Rows with a mark at the names of those that are not known: their figures are of earlier data."""
    return {name if name in known else f"{name}{EARLIER_DATA}": row for name, row in rows.items()}


count_cell = "{:,}".format
ratio_cell = "{:.2f}".format
