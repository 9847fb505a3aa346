"""docs/systems/one.md: each specialist trained further on the same mixture, from mixture.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cells import format_table, format_tenths, machine_line


def mixture_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """The table of all columns, and what each system has learnt."""
    return {
        "mixture": mixture_table(found),
        "mixture-systems": systems_table(found["systems"]),
        "mixture-machine": [machine_line(found["machine"])],
    }


def mixture_table(found: Mapping[str, Any]) -> list[str]:
    """A line for each column: every system as shipped and retrained, `one`, and its lead over the best retrained."""
    systems = list(found["systems"])
    lines = [
        [name, *(pair_cell(one, system) for system in systems), lead_cell(one)]
        for name, one in found["columns"].items()
    ]
    return format_table(["column", *systems, "one, to the best of these"], lines)


def pair_cell(column: Mapping[str, Any], system: str) -> str:
    """A system as shipped, and trained on the mixture; bold where it is the best of those that are."""
    before = column["shipped"].get(system.partition(",")[0])
    after = format_tenths(column["retrained"][system]["mean"])
    after = f"**{after}**" if column["best retrained"] == system else after
    return after if before is None else f"{format_tenths(before['mean'])}, {after}"


def lead_cell(column: Mapping[str, Any]) -> str:
    """What `one` finds, and the interval of its difference to the best retrained one; bold where all of it is above
    0."""
    lead = column["one over best retrained"]
    text = f"{format_tenths(column['one']['mean'])} ({100 * lead['low']:+.1f} to {100 * lead['high']:+.1f})"
    return f"**{text}**" if lead["low"] > 0 else text


def systems_table(systems: Mapping[str, Any]) -> list[str]:
    """What each system reads of the dialogues of others, and for how long it has learnt."""
    lines = [
        [name, one["reads"], f"{one['steps']:,}", f"{one['kept after']:,}", f"{one['minutes']:.0f}"]
        for name, one in systems.items()
    ]
    return format_table(["system", "reads", "steps", "kept after", "minutes"], lines)
