"""The tables and the curves of conversations.json, for report.py."""

from __future__ import annotations

from typing import Any

from cells import format_interval, format_spread, format_table, machine_line
from plots import Plot

STYLES = {
    "sentences": ("whole sentences", "#2563a8"),
    "fragments": ("fragments", "#c0392b"),
    "mixed": ("mixed, with mistakes", "#3a7d44"),
}
KINDS = ("answer", "open answer", "say", "correction", "reject", "like ... but", "wrong answer", "don't know")
DASHES = {"R@1": "--", "R@10": "-"}


def conversation_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """All tables of `conversations.py`."""
    styles = found["styles"]
    people = f"{found['targets']:,} of {found['pictures']:,} photographs, each looked for by {len(found['seeds'])}"
    return {
        "conversations": aims_table(styles, found["not there"]),
        "conversation-turns": turns_table(styles),
        "conversation-kinds": kinds_table(styles),
        "conversation-reactions": reactions_table(found["reactions"]),
        "conversation-matches": matches_table(styles),
        "conversation-machine": [f"{people} people a style. {machine_line(found['machine'])}"],
    }


def minds_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """The tables of `changing_minds.py`: one row a way to say it."""
    rows = [
        [way, *(format_spread(one[kind]) for kind in ("adds", "revises", "gain"))] for way, one in found["ways"].items()
    ]
    head = ['said after "a dog on the grass"', "adds, as before", "takes back", "difference"]
    stories = f"{found['stories']} stories among {found['pictures']:,} photographs. {machine_line(found['machine'])}"
    denied = [
        [f'"{words}"', *(format_spread(one[kind]) for kind in ("before", "after", "gain"))]
        for words, one in found["denials"].items()
    ]
    denials = format_table(['said after "a dog on the grass"', "before", "after", "difference"], denied)
    return {"minds": [*format_table(head, rows), "", stories], "denials": denials}


def aims_table(styles: dict[str, Any], absent: dict[str, Any]) -> list[str]:
    """One row a figure that is aimed at, one column a style."""
    rows = [
        ["an answer that says something: change of log2 rank", "< 0, reach -0.3"]
        + [change_cell(style["answers"]) for style in styles.values()],
        ["R@10 after three turns, over R@10 after the first, in points", ">= 8"]
        + [format_spread(style["three answers"]) for style in styles.values()],
        ['"nothing like that here" though it is among the first ten', "<= 5 %"]
        + [known_share(style["nothing though among the first ten"]) for style in styles.values()],
        ["questions that what was said had answered", "few"]
        + [known_share(style["entailed questions"]) for style in styles.values()],
        ["ever among the first ten", ""] + [known_share(style["found"]) for style in styles.values()],
        ["questions until it was, of those", ""]
        + [f"{style['questions per found picture']:.2f}" for style in styles.values()],
    ]
    for when in ("after the first turn", "after the last turn"):
        said = [known_share(absent[name][when]) if name in absent else "" for name in styles]
        rows.append([f'a kind that is not there, {when}: "nothing"', ">= 70 %", *said])
    rows.append(
        [
            '20 things that no caption names: "nothing"',
            "",
            known_share(absent["phrases"]),
            known_share(absent["their nouns"]),
        ]
    )
    return format_table(
        ["", "reach", *(STYLES[name][0] for name in styles)], [[*row, *[""] * (5 - len(row))] for row in rows]
    )


def turns_table(styles: dict[str, Any]) -> list[str]:
    """R@1 and R@10 turn by turn."""
    rows = [
        [STYLES[name][0], metric, *(f"{100 * turn['mean']:.1f}" for turn in style[metric])]
        for name, style in styles.items()
        for metric in ("R@1", "R@10")
    ]
    turns = max(len(row) for row in rows) - 2
    return format_table(["", "x 100", "first", *(f"turn {turn}" for turn in range(1, turns))], rows)


def kinds_table(styles: dict[str, Any]) -> list[str]:
    """How each kind of turn changes the rank."""
    rows = [
        [kind, STYLES[name][0], change_cell(found), *shares, f"{found['n']:,}"]
        for kind in KINDS
        for name, style in styles.items()
        if (found := style["kinds"].get(kind)) is not None
        for shares in ([f"{100 * found[way]:.0f} %" for way in ("better", "same", "worse")],)
    ]
    return format_table(["turn", "said in", "change of log2 rank", "better", "same", "worse", "turns"], rows)


def reactions_table(reactions: dict[str, Any]) -> list[str]:
    """How reactions to results change the rank; one row a reaction and a style."""
    rows = [
        [way, STYLES[style][0], change_cell(found), *shares, f"{found['n']:,}"]
        for name, found in reactions.items()
        for way, style in (name.split(", "),)
        for shares in ([f"{100 * found[way]:.0f} %" for way in ("better", "same", "worse")],)
    ]
    return format_table(["turn", "said before", "change of log2 rank", "better", "same", "worse", "turns"], rows)


def matches_table(styles: dict[str, Any]) -> list[str]:
    """How often the first result is the wanted picture, or one of its like, by what it was called."""
    rows = [
        [
            match,
            STYLES[name][0],
            known_share(found["target"]),
            known_share(found["by captions"]),
            f"{found['target']['n']:,}",
        ]
        for match in ("likely", "maybe", "unlikely")
        for name, style in styles.items()
        for found in (style["matches"][match],)
    ]
    head = ["first result called", "said in", "is the wanted one", "captions name the same two things", "turns"]
    return format_table(head, rows)


def change_cell(found: dict[str, float] | None) -> str:
    """A mean change with its interval."""
    return f"{found['mean']:+.2f} ({found['low']:+.2f} to {found['high']:+.2f})" if found else ""


def known_share(found: dict[str, float]) -> str:
    """A share with its interval, where there is one."""
    return format_interval(found) if found["n"] else ""


def short_rows(found: dict[str, Any]) -> list[str]:
    """The few figures of the README's first screen."""
    said, typed = (found["styles"][name]["R@10"] for name in ("sentences", "fragments"))
    rows = {
        f"one sentence among {found['pictures']:,} photos, never seen before: in the first ten": said[0],
        "... after three more turns, answers or sentences": said[3],
        "two to four words: in the first ten": typed[0],
        "... after three more turns, as short": typed[3],
    }
    return [f"| {what} | {100 * figure['mean']:.0f} % |" for what, figure in rows.items()]


def conversations_plot(found: dict[str, Any]) -> Plot:
    """The recalls over the turns of a conversation."""
    curves = {name: {metric: style[metric] for metric in DASHES} for name, style in found["styles"].items()}
    return Plot("conversations.svg", curves, paint_curves, (7, 4))


def paint_curves(axes: Any, styles: dict[str, Any]) -> None:
    """R@1 and R@10 over the turns, a line a style with its intervals."""
    for name, style in styles.items():
        said, colour = STYLES[name]
        for metric, dash in DASHES.items():
            turns = range(len(style[metric]))
            middle, low, high = ([100 * point[end] for point in style[metric]] for end in ("mean", "low", "high"))
            axes.plot(turns, middle, dash, color=colour, label=f"{said}, {metric}")
            axes.fill_between(turns, low, high, color=colour, alpha=0.15, linewidth=0)
            axes.set_xticks(turns, ["first", *map(str, turns[1:])])
    axes.set_ylim(0, 100)
    axes.set_xlabel("turn")
    axes.set_ylabel("% of photographs (95 % interval)")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
