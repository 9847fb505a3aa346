"""docs/systems/index.md: what late fusion of all systems finds, from fusion.json."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from cells import format_p, format_table, format_tenths, machine_line
from side_by_side import SHARED

PHOTOGRAPHS = "photographs: five captions"
"""The test that is shown turn by turn."""

GATES_ALONE = "one, gates alone"
"""The way that "one" is without the turn network."""

AS_SHIPPED = "one, of shipped systems"
"""The way that "one" is with the shipped systems in place of those that have learnt from all dialogues."""

WAYS = ("sum", "gates", "early", "one", "router", "left out")
"""Ways, in the order of the columns."""


def fusion_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """The table of all ways, that of photographs turn by turn, and the share of each system."""
    return {
        "fusion": ways_table(found["columns"]),
        "fusion-turns": turns_table(found["photographs by turn"]),
        "fusion-shares": shares_table(found["columns"], found["ms a turn"]),
        "fusion-machine": [machine_line(found["machine"])],
        "fusion-companions": companions_table(found["photographs, one beside the composer"]),
        "one": one_table(found["columns"]),
        "one-members": members_table(found["validation, of fewer systems"]),
        "one-machine": [machine_line(found["machine of one"])],
    }


def one_time_table(found: Mapping[str, Any]) -> list[str]:
    """What kinds of turns of "one" and of the composer cost in each world, and their ratio."""
    kinds = {"a description": (0,), "a picture picked with words": (1, 3), "a picture rejected": (2,)}
    lines = []
    for world, one in found["worlds"].items():
        for kind, places in kinds.items():  # of every four turns
            cells = (
                f"{median(ms for turn, ms in enumerate(one['cpu_ms'][name]) if turn % 4 in places):.0f}"
                for name in ("composer", "one")
            )
            lines.append([f"{world}: {kind}", *cells])
        late = one["last three turns over second to fourth"]
        lines += [
            [f"{world}: twenty turns, to the composer's", "1", format_range(one["one over composer"])],
            [
                f"{world}: the last three turns, to the second to fourth",
                *map(format_range, (late["composer"], late["one"])),
            ],
        ]
    head = [f"{found['pictures']:,} pictures, ms at work", "composer", "one"]
    told = f"The least and the most are of {found['talks']} conversations of each, in turn."
    return [*format_table(head, lines), "", told, "", machine_line(found["machine"])]


def format_range(spread: Mapping[str, float]) -> str:
    """A median with the least and the most."""
    return f"{spread['median']:.2f} ({spread['low']:.2f} to {spread['high']:.2f})"


def one_table(columns: Mapping[str, Any]) -> list[str]:
    """A line for each column: the composer, the best system, and what the retriever "one" finds."""
    lines = [
        [
            name,
            format_tenths(one["systems"]["composer"]["mean"]),
            f"{one['best']} {format_tenths(one['systems'][one['best']]['mean'])}",
            difference_cell(one["ways"]["one"]),
            format_p(one["one over best, Holm"]) if "one over best, Holm" in one else "",
            *(cell for way in ABLATED for cell in gain_cells(one, way)),
        ]
        for name, one in columns.items()
    ]
    head = ["column", "composer", "best system", "one", "p, Holm"]
    return format_table([*head, *(cell for without in ABLATED.values() for cell in (without, "gain"))], lines)


OF_THE_WORLD = "one, of the world"
"""The systems of "one", in each world those that it asks there."""

SETS = {
    "all": "all eight",
    "one": "five everywhere: without clip-t, clip-ti and fashioniq",
    OF_THE_WORLD: "what *one* asks: of the five, each world's own",
}
"""How sets of systems are named."""


def members_table(found: Mapping[str, Any]) -> list[str]:
    """A line for each set of systems: nats where fitting stops, and R@10, by the mean over columns; every fit."""
    lines = [
        [
            SETS.get(way, way),
            ", ".join(f"{nats:.2f}" for nats in one["nats"]),
            ", ".join(format_tenths(hit) for hit in one[SHARED]),
        ]
        for way, one in found.items()
    ]
    return format_table(["on validation", "nats", "R@10"], lines)


ABLATED = {AS_SHIPPED: "of shipped systems", GATES_ALONE: "without the turn network"}
"""What "one" is without one of its parts."""


def gain_cells(column: Mapping[str, Any], way: str) -> list[str]:
    """What "one" finds without a part, where it has that, and the interval of what the part gains."""
    if way not in column["ways"]:
        return ["", ""]
    gain = column[f"one over {way.removeprefix('one, ')}"]
    text = f"{100 * gain['low']:+.1f} to {100 * gain['high']:+.1f}"
    return [format_tenths(column["ways"][way][SHARED]["mean"]), f"**{text}**" if gain["low"] > 0 else text]


def ways_table(columns: Mapping[str, Any]) -> list[str]:
    """A line for each column: the best system, and how far every way is from it."""
    head = ["column", "best system", *WAYS, "in any system's ten", "best whose weights are not shipped"]
    return format_table(head, (ways_line(name, one) for name, one in columns.items()))


def ways_line(name: str, one: Mapping[str, Any]) -> list[str]:
    """The line of a column."""
    best = f"{one['best']} {format_tenths(one['systems'][one['best']]['mean'])}"
    ways = [difference_cell(one["ways"][way]) if way in one["ways"] else "" for way in WAYS]
    return [name, best, *ways, format_tenths(one["any of them"]["mean"]), other_cell(one.get("not in the box"))]


def other_cell(other: Mapping[str, Any] | None) -> str:
    """The best row of the large table whose weights are not shipped."""
    return "" if other is None else f"{other['system']} {format_tenths(other['mean'])}"


def difference_cell(way: Mapping[str, Any]) -> str:
    """What a way finds, and the interval of its difference; bold where all of it is above 0."""
    low, high = (f"{100 * way['difference'][end]:+.1f}" for end in ("low", "high"))
    text = f"{format_tenths(way[SHARED]['mean'])} ({low} to {high})"
    return f"**{text}**" if way["difference"]["low"] > 0 else text


def companions_table(found: Mapping[str, Any]) -> list[str]:
    """What each system finds on photographs beside the composer."""
    lines = [[system, f"{one['nats a deviation']}", difference_cell(one)] for system, one in found.items()]
    return format_table(["beside the composer", "nats a deviation, by validation", "R@10, turn 5"], lines)


def turns_table(tests: Mapping[str, Any]) -> list[str]:
    """The composer and every way after each turn of each test of photographs."""
    rows = tests[PHOTOGRAPHS]
    turns = len(rows["composer"])
    lines = [
        [way, *(turn_cell(one) for one in rows[way])] for way in ("composer", *(way for way in WAYS if way in rows))
    ]
    return format_table(["way", *(f"R@10, turn {turn + 1}" for turn in range(turns))], lines)


def turn_cell(one: Mapping[str, Any]) -> str:
    """What is found, with the difference to the composer, if it is another."""
    return difference_cell(one) if "difference" in one else format_tenths(one[SHARED]["mean"])


def shares_table(columns: Mapping[str, Any], ms_a_turn: Mapping[str, float]) -> list[str]:
    """The share of each system in the weights of `one`, by column, and what a turn of it costs."""
    lines = [
        [name, *(f"{100 * one['shares'][system]:.0f}" if system in one["shares"] else "" for system in ms_a_turn)]
        for name, one in columns.items()
        if "shares" in one
    ]
    lines.append(["ms a turn", *(f"{ms:.1f}" for ms in ms_a_turn.values())])
    return format_table(["share of the weights, %", *ms_a_turn], lines)
