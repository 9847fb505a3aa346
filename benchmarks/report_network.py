"""docs/systems/one.md: what a network in place of gates finds, from network.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cells import format_table, format_tenths, machine_line

TESTS = {"test, captions": "five captions", "test, mixed": "mixed people"}


def network_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """The tests turn by turn, and all networks on validation."""
    photographs = found["photographs"]
    return {
        "network": tests_table(photographs),
        "network-validation": validation_table(photographs, found["trainings"]),
        "network-columns": columns_table(found.get("columns", {})),
        "network-machine": [machine_line(found["machine"])],
    }


def tests_table(found: Mapping[str, Any]) -> list[str]:
    """The composer and the network after every turn."""
    lines, turns = [], 0
    for name, title in TESTS.items():
        for way, row in found[name]["rows"].items():
            turns = max(turns, len(row))
            lines.append([f"{title}: {way}", *(turn_cell(one) for one in row)])
    width = 1 + turns
    lines = [line + [""] * (width - len(line)) for line in lines]
    return format_table(["", *(f"R@10, turn {turn + 1}" for turn in range(turns))], lines)


def turn_cell(one: Mapping[str, Any]) -> str:
    """What is found, and the interval of the difference to the composer; bold where all of it is above 0."""
    text = format_tenths(one["R@10"]["mean"])
    if "difference" not in one:
        return text
    low, high = (f"{100 * one['difference'][end]:+.1f}" for end in ("low", "high"))
    text = f"{text} ({low} to {high})"
    return f"**{text}**" if one["difference"]["low"] > 0 else text


def validation_table(found: Mapping[str, Any], trainings: Mapping[str, Any]) -> list[str]:
    """Every network on validation: numbers, minutes, nats, and R@10 after the first, second and fifth turn."""
    lines = []
    for way in found["val, captions"]["rows"]:
        about = trainings.get(way, {})
        cells = [
            turn_cell(found[f"val, {people}"]["rows"][way][turn])
            for people in ("captions", "mixed")
            for turn in (0, 1, 4)
        ]
        known = [
            str(about.get("seeds", "")),
            f"{about['numbers'] / 1e6:.1f} M" if about else "",
            f"{about['minutes']:.0f}" if about else "",
            f"{about['nats']:.3f}" if about else "",
        ]
        lines.append([way, *known, *cells])
    asked = [f"{people}, turn {turn}" for people in ("captions", "mixed") for turn in (1, 2, 5)]
    return format_table(["learnt", "seeds", "numbers", "minutes", "nats", *asked], lines)


def columns_table(columns: Mapping[str, Any]) -> list[str]:
    """Other columns: the composer, `one`, the network alone, and `one` with the network as one more opinion."""
    lines = [
        [
            name,
            format_tenths(one["composer"]["mean"]),
            f"{one['best']} {format_tenths(one['best found']['mean'])}",
            format_tenths(one["one"]["mean"]),
            turn_cell({"R@10": one["network"], "difference": one["network over composer"]}),
            f"{one['weight']}",
            turn_cell({"R@10": one["with one"], "difference": one["with one over one"]}),
        ]
        for name, one in columns.items()
    ]
    head = ["column", "composer", "best system", "one", "network (over the composer)", "nats a deviation"]
    return format_table([*head, "one with the network (over one)"], lines)
