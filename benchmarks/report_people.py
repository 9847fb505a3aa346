"""Tables of people.py: what is said around a description, with typos, in a shop, of facts, and in reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cells import format_percent, format_spread, format_table, format_tenths, machine_line

THIRDS = {
    "build": "written with the rules",
    "choose": "rules mended on it",
    "report": "never looked at before",
    "more": "of more registers",
    "last": "written after the rules",
}


def people_parts(found: Mapping[str, Any]) -> dict[str, list[str]]:
    """The tables by their names."""
    return {
        "people-framing": framing_table(found["framing"]),
        "people-thirds": thirds_table(found["framing"]),
        "people-changed": [changed_line(found["framing"])],
        "people-typos": typos_table(found["typos"]),
        "people-shop": shop_table(found["shop"]),
        "people-names": names_table(found["names"]["sizes"]),
        "people-facts": facts_table(found["facts"]),
        "people-replies": replies_table(found["replies"]),
        "people-machine": [machine_line(found["framing"]["machine"])],
    }


def _difference(figures: Mapping[str, float]) -> str:
    """Points with their sign, and the interval."""
    return f"{100 * figures['mean']:+.1f} ({100 * figures['low']:+.1f} to {100 * figures['high']:+.1f})"


def _row(name: str, figures: Mapping[str, Any]) -> list[str]:
    bare = figures["as it stands"]["R@10"]["mean"]
    return [
        name,
        format_tenths(bare),
        format_spread(figures["read"]["R@10"]),
        _difference(figures["read"]["less plain"]),
    ]


HEAD = ["as it stands", "read", "read, less plain"]


def framing_table(framing: Mapping[str, Any]) -> list[str]:
    """One row a wording."""
    plain = {"as it stands": framing["plain, as it stands"], "read": framing["plain"]}
    rows = [["", *_row("{}", plain)]]
    for third, wordings in framing["thirds"].items():
        rows += [[THIRDS[third], *_row(wording, figures)] for wording, figures in wordings.items()]
    return format_table(["", "said", *HEAD], rows)


def thirds_table(framing: Mapping[str, Any]) -> list[str]:
    """One row a third: the mean over its wordings, and the worst."""
    rows = []
    for third, wordings in framing["thirds"].items():
        worst = min(wordings, key=lambda name: wordings[name]["read"]["R@10"]["mean"])
        within = sum(figures["read"]["less plain"]["mean"] >= -0.02 for figures in wordings.values())
        means = [
            sum(figures[how]["R@10"]["mean"] for figures in wordings.values()) / len(wordings)
            for how in ("as it stands", "read")
        ]
        told = f"{worst}: {_difference(wordings[worst]['read']['less plain'])}"
        rows.append([THIRDS[third], *map(format_tenths, means), f"{within} of {len(wordings)}", told])
    plain = format_tenths(framing["plain, as it stands"]["R@10"]["mean"])
    head = ["wordings", "as they stand", "read", "within 2 points of plain", "the worst, less plain"]
    return [*format_table(head, rows), "", f"Plain: {plain}."]


def changed_line(framing: Mapping[str, Any]) -> str:
    """In how many captions, said plainly, something else is read."""
    changed = framing["changed"]
    told = ", ".join(f"{name} {format_percent(share)}" for name, share in changed.items() if name != "captions")
    return f"Of {changed['captions']:,} captions, said plainly, there is found: {told}."


def typos_table(typos: Mapping[str, Any]) -> list[str]:
    """One row a kind of typo."""
    plain = typos["plain"]
    rows = [_row("none", {"as it stands": plain, "read": plain})]
    return format_table(["letters", *HEAD], [*rows, *(_row(how, figures) for how, figures in typos["kinds"].items())])


def shop_table(shop: Mapping[str, Any]) -> list[str]:
    """One row a wording: Viewfinder beside FTS5."""
    ways = ("viewfinder", "FTS5, any word", "FTS5, all words first")
    rows = [
        [name, *(format_spread(figures[way]) for way in ways), _difference(figures["less the better FTS5"])]
        for name, figures in shop["wordings"].items()
    ]
    return format_table(["said", *ways, "less the better FTS5"], rows)


def names_table(sizes: Mapping[str, Any]) -> list[str]:
    """One row a wording, a column a number of products."""
    named = next(iter(sizes.values()))
    rows = []
    for wording in named:
        cells = []
        for figures in (some[wording] for some in sizes.values()):
            first, count = figures["first"]["mean"], figures["first"]["n"]
            cells.append(f"{round(first * count)} of {count}; {figures['worst place']}")
        rows.append([wording, *cells])
    return format_table(["first; worst place", *(f"{int(size):,} products" for size in sizes)], rows)


def facts_table(facts: Mapping[str, Any]) -> list[str]:
    """One row a kind of fact, then a description with its month."""
    rows = []
    for kind, figures in facts["kinds"].items():
        worst = min(figures["wordings"], key=figures["wordings"].get)
        told = f"{worst}: {format_tenths(figures['wordings'][worst])}"
        rows.append([kind, str(len(figures["wordings"])), format_spread(figures["all"]), told])
    for name in ("a description", "a description and its month"):
        rows.append([f"{name}: R@10", "1", format_spread(facts[name]["R@10"]), ""])
    return format_table(["fact", "wordings", "right of the first five", "the worst wording"], rows)


def replies_table(replies: Mapping[str, Any]) -> list[str]:
    """One row a turn: what was said for it, and what was taken for another."""
    by_turn: dict[str, list[str]] = {}
    for one in replies["said"]:
        wrong = "" if one["taken for"] == one["meant"] else f" (taken for: {one['taken for']})"
        by_turn.setdefault(one["meant"], []).append(f'"{one["said"]}"{wrong}')
    return format_table(["meant", "said"], [[meant, ", ".join(said)] for meant, said in by_turn.items()])
