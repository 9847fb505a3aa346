"""docs/systems/index.md: what multiplied similarities find, from basic.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cells import format_spread, format_table, machine_line
from report_fusion import difference_cell
from side_by_side import SHARED


def basic_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """The table of the test and that of validation."""
    return {
        "basic": basic_table(found["test"]),
        "basic-validation": basic_table(found["validation"]),
        "basic-machine": [machine_line(found["machine"])],
    }


def basic_table(columns: Mapping[str, Any]) -> list[str]:
    """A line for each way, a column for each column: the composer's figure, and the differences to it."""
    ways = next(iter(columns.values()))["rows"]
    head = ["way", *(f"{name} ({one['dialogues']})" for name, one in columns.items())]
    return format_table(head, ([way, *(basic_cell(way, one["rows"][way]) for one in columns.values())] for way in ways))


def basic_cell(way: str, one: Mapping[str, Any]) -> str:
    """What a way finds; of the composer with its own interval, of others with that of the difference to it."""
    return format_spread(one[SHARED]) if way == "composer" else difference_cell(one)
