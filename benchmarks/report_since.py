"""docs/scale.md: what has become of turns, memory, adding and starting since an older commit, from since.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cells import format_table, machine_line


def since_parts(found: Mapping[str, Any]) -> dict[str, list[str]]:
    """The table of figures that were measured in turn, and that of starting."""
    told = (
        f"{found['pictures']:,} pictures; `{found['commit']}` and now took turns. "
        f"{machine_line(found['machine'])}; load {found['load']}"
    )
    return {
        "since": [
            *pairs_table({**found["talk"], **_name(found["add"], "a photograph of 12 megapixels added, ")}),
            "",
            told,
        ],
        "since-start": start_table(found["start"]),
    }


def _name(figures: Mapping[str, Any], before: str) -> dict[str, Any]:
    return {before + name.removesuffix(" a picture"): figure for name, figure in figures.items()}


def pairs_table(figures: Mapping[str, Any]) -> list[str]:
    """One row a figure by processor time or memory: before, now, and how many times as much it was."""
    rows = [
        [
            name,
            f"{one['before']:,.0f}",
            f"{one['now']:,.0f}",
            f"{one['ratio']:.1f} ({one['ratios'][0]:.1f} to {one['ratios'][1]:.1f})",
        ]
        for name, one in figures.items()
        if not name.endswith(", ms")
    ]
    return format_table(["", "before", "now", "before / now: median, range"], rows)


def start_table(sizes: Mapping[str, Any]) -> list[str]:
    """Processor seconds of cold starts, the least of the rounds, and seconds by the clock."""
    names = {"large": "a million pictures", "small": "2,000 pictures"}
    rows = [
        [
            f"{step}, {names[size]}",
            *(
                f"{found[name][step]['least_processor_s']:.2f} ({found[name][step]['s']:.2f})"
                for name in ("before", "now")
            ),
        ]
        for size, found in sizes.items()
        for step in found["now"]
    ]
    return format_table(["processor seconds (by the clock)", "before", "now"], rows)
