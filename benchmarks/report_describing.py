"""Tables of describing.py: what a machine's words bring, what wrong ones cost, and what reading text takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cells import format_spread, format_table, machine_line

KINDS = {
    "true": "described, every caption a person's (upper bound)",
    "half": "described, every second caption of another photograph",
    "wrong": "described, every caption of another photograph",
}


def describing_parts(found: Mapping[str, Any]) -> dict[str, list[str]]:
    """The parts by their names; none of what was not measured."""
    parts = {"describing-captions": captions_table(found["captions"])}
    if "text" in found:
        parts["describing-text"] = [text_line(found["text"])]
    return parts


def captions_table(figures: Mapping[str, Any]) -> list[str]:
    """One row a kind of captions."""
    rows = [["not described", format_spread(figures["before"]["R@10"]), format_spread(figures["before"]["R@1"]), ""]]
    for kind, words in KINDS.items():
        more = figures[kind]["more"]
        change = f"{100 * more['mean']:+.1f} ({100 * more['low']:+.1f} to {100 * more['high']:+.1f})"
        rows.append([words, format_spread(figures[kind]["R@10"]), format_spread(figures[kind]["R@1"]), change])
    table = format_table(["library", "R@10", "R@1", "R@10, less not described"], rows)
    said = f"{figures['said']:,} captions, said to a library of {figures['pictures']:,} photographs."
    return [*table, "", f"{said} {machine_line(figures['machine'])}"]


def text_line(figures: Mapping[str, Any]) -> str:
    """What reading text in photographs takes."""
    return (
        f"Of {figures['pictures']:,} photographs {figures['with_text']:,} have text that is read. A photograph takes "
        f"{figures['cpu_ms']:,} ms of processor time; the process has {figures['memory_mb']:,} MB."
    )
