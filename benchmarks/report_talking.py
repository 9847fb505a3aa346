"""The tables of chatsearcher.json, talking.json and side_by_side.json, for report.py."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from cells import (
    EARLIER_DATA,
    Column,
    cell_of,
    format_percent,
    format_spread,
    format_table,
    format_tenths,
    machine_line,
    mark_earlier,
    minutes_cell,
    reach_table,
    rows_table,
)

TASKS = ("tChat", "iChat", "mChat")
METRICS = ("R@1", "R@5", "R@10")
SHARED = "R@10"
BASE = "ChatSearcher"


def talking_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """All tables of `chatsearcher.py`, but for claims. Rows whose ranks are not kept are marked: of earlier data."""
    kept = {name for test in found["kept"].values() for name in test["rows"]}
    chat, captions, cirr, visual, decision = (
        mark_earlier(found[part], kept) for part in ("chat", "captions", "cirr", "visual", "decision")
    )
    spent = f"{found['minutes of training']} minutes of training in all, by the clock"
    return {
        "chatsearcher-chat": chat_table(chat),
        "chatsearcher-captions": captions_table(captions),
        "chatsearcher-queue": queue_table(found, kept),
        "chatsearcher-cirr": cirr_table(cirr),
        "chatsearcher-visual": visual_table(visual),
        "chatsearcher-kinds": kinds_table(found["visual"]),
        "chatsearcher-decision": shares_table(decision),
        "chatsearcher-grounding": shares_table(found["grounding"]),
        "chatsearcher-speed": speed_table(found["speed"]),
        "chatsearcher-machine": [f"{found['data']}; {spent}. {machine_line(found['machine'])}"],
    }


def photograph_talk_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """The tables of `talking.py`, about the shipped weights."""
    asked, talks = found["asked"], found["talks"]
    by_kind = {"anything": asked, **asked["by kind"]}
    turns = [[name, format_spread(talked)] for name, talked in talks.items() if name != "talks"]
    return {
        "talking-asked": [
            *answers_table(by_kind),
            "",
            f"{asked['of']}. {machine_line(found['machine'])}",
        ],
        "talking-talks": format_table([f"{talks['talks']} conversations", ""], turns),
    }


def chat_table(rows: dict[str, Any]) -> list[str]:
    """One row a training: the three tasks, the average, the paper's average, and the cost."""
    columns: dict[str, Column] = {
        **{f"{task[0]} {metric}": cell_of(format_tenths, task, metric) for task in TASKS for metric in METRICS},
        "**average**": cell_of(format_spread, "average"),
        "paper": cell_of("{:.1f}".format, "paper", "average"),
        "minutes": partial(minutes_cell, digits=0),
        "seeds": cell_of(str, "seeds"),
    }
    return rows_table(rows, columns)


def captions_table(rows: dict[str, Any]) -> list[str]:
    """One row a training: its first stage's text-to-image search, on photos and on scenes."""
    sets = {"flickr8k": "photos", "scenes": "scenes"}
    columns: dict[str, Column] = {
        **{
            f"{said}, {metric}": cell_of(format_tenths, data, metric)
            for data, said in sets.items()
            for metric in METRICS
        },
        **{f"{said}, mean": cell_of(format_spread, data, "mean") for data, said in sets.items()},
        "seeds": lambda row: str(max(row[data]["seeds"] for data in sets if data in row)),
    }
    return rows_table(rows, columns)


def queue_table(found: dict[str, Any], kept: Collection[str]) -> list[str]:
    """The size of the queue: text-to-image search after stage 1, and the average of all three tasks."""
    names = {name.removeprefix("queue of "): name for name in found["chat"] if name.startswith("queue of ")}
    sizes = {**names, "1000": BASE} if BASE in found["chat"] else names
    lines = [["in-batch", "in-batch negatives"]] if "in-batch negatives" in found["chat"] else []
    lines += [[size, sizes[size]] for size in sorted(sizes, key=int)]
    cells = []
    for said, name in lines:
        first = found["captions"].get(name, {})
        means = [cell_of(format_spread, data, "mean")(first) for data in ("flickr8k", "scenes")]
        chat = found["chat"][name]
        cells.append(
            [f"{said}{EARLIER_DATA * (name not in kept)}", *means, format_spread(chat["average"]), str(chat["seeds"])]
        )
    return format_table(["pictures in the queue", "photos, mean", "scenes, mean", "average of t, i, m", "seeds"], cells)


def cirr_table(rows: dict[str, Any]) -> list[str]:
    """One row a system, CIRR's figures."""
    columns: dict[str, Column] = {
        **{metric: cell_of(format_tenths, metric) for metric in ("R@1", "R@5", "R@50", "R_subset@2", "R_subset@3")},
        **{f"**{metric}**": cell_of(format_spread, f"{metric}, interval") for metric in ("R@10", "R_subset@1")},
        "seeds": cell_of(str, "seeds"),
    }
    return rows_table(rows, columns)


VISUAL = ("accuracy", "text only", "majority", "majority by kind", "above text only", "above majority by kind")


def visual_table(rows: dict[str, Any]) -> list[str]:
    """One row a training: its answers about pictures, and what they are above."""
    columns = {figure: cell_of(format_spread, figure) for figure in VISUAL}
    return rows_table(rows, {**columns, "seeds": cell_of(str, "seeds")})


def kinds_table(rows: dict[str, Any]) -> list[str]:
    """The main row's answers by the kind of question."""
    row = rows[BASE]
    kinds = [name.removeprefix("accuracy: ") for name in row if name.startswith("accuracy: ")]
    found = {kind: {one: row[name] for one in ASKED if (name := f"{one}: {kind}") in row} for kind in kinds}
    return answers_table(found)


ASKED = {"accuracy": "accuracy", "text only": "text only", "majority by kind": "majority of the kind"}


def answers_table(kinds: dict[str, Any]) -> list[str]:
    """One row a kind of question: the figures of the answers to it."""
    columns = {said: cell_of(format_spread, figure) for figure, said in ASKED.items()}
    return rows_table(kinds, columns, first="question about")


def shares_table(rows: dict[str, Any]) -> list[str]:
    """One row a training, or a choice of boxes: its shares, a column each."""
    names = dict.fromkeys(name for row in rows.values() for name in row if name not in ("seeds", "of"))
    columns = {name: cell_of(format_spread, name) for name in names}
    named = {name.removeprefix("grounding, "): row for name, row in rows.items()}
    return rows_table(named, {**columns, "seeds": cell_of(str, "seeds")})


def speed_table(speed: dict[str, Any]) -> list[str]:
    """The costs of turns."""
    turns = speed["turn_ms"]
    rows = [
        ["turn 10 over turn 2, equally long", "<= 1.3", f"{speed['turn 10 over turn 2']:.2f}"],
        [
            f"first results of a conversation, {speed['pictures']:,} pictures, p50 (p95)", "<= 300 ms",
            f"{speed['first results, p50 ms']:.0f} ({speed['first results, p95 ms']:.0f}) ms",
        ],
        ["turns 2, 5 and 10, p50", "", f"{turns[1]:.0f}, {turns[4]:.0f}, {turns[9]:.0f} ms"],
        ["going back to turn 5", "", f"{speed['going back, p50 ms']:.0f} ms"],
        ["a turn answered in words, up to the last one", "", f"{speed['a turn answered in words, p50 ms']:.0f} ms"],
        ["all pictures made ready, once", "", f"{speed['all pictures made ready, s']:.0f} s"],
    ]  # fmt: skip
    return [*reach_table(rows), "", machine_line(speed["machine"])]


# -- side by side


def side_by_side_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """The table of all systems, and that of what the protocols themselves count."""
    names = [name for name in found["tests"] if any(name in row["found"] for row in found["systems"].values())]
    return {
        "side-by-side": systems_table(found, names, SHARED),
        "side-by-side-own": systems_table(
            found, [name for name in names if found["tests"][name]["own"] != SHARED], None
        ),
        "side-by-side-tests": tests_table(found, names),
        "side-by-side-machine": [machine_line(found["machine"])],
    }


def systems_table(found: dict[str, Any], names: list[str], metric: str | None) -> list[str]:
    """One row a system, one column a test; `metric`: of all of them, None: each test's own. The best are in bold."""
    of = {name: metric or found["tests"][name]["own"] for name in names}
    systems = found["systems"]
    best = {
        name: max(row["found"][name][of[name]]["mean"] for row in systems.values() if name in row["found"])
        for name in names
    }
    lines = []
    for system, row in systems.items():
        cells = [figure_cell(row["found"].get(name), of[name], best[name]) for name in names]
        lines.append([system, row["trained on"], *cells])
    head = [f"{name}, {of[name]}" if metric is None else name for name in names]
    return format_table(["system", "has learnt from the training part of", *head], lines)


def figure_cell(one: dict[str, Any] | None, metric: str, best: float) -> str:
    """A figure with half the width of its interval, marked where pictures looked for may have been learnt from."""
    if one is None:
        return ""
    figure = one[metric]
    text = f"{format_tenths(figure['mean'])} ± {format_tenths((figure['high'] - figure['low']) / 2)}"
    text = f"**{text}**" if figure["mean"] == best else text
    return f"{text} †" if one.get("flags") else text


def tests_table(found: dict[str, Any], names: list[str]) -> list[str]:
    """The data and the protocol of each column."""
    lines = []
    for name in names:
        test = found["tests"][name]
        talks = max(row["found"][name]["talks"] for row in found["systems"].values() if name in row["found"])
        sizes = [f"{size:,}" for size in test["pictures"]]
        drawn = found["systems"].get("random", {"found": {}})["found"].get(name)
        chance = format_percent(drawn[SHARED]["mean"]) if drawn else ""
        lines.append([name, test["data"], test["protocol"], f"{talks:,}", " / ".join(sizes), chance])
    return format_table(
        ["column", "data", "protocol", "dialogues", "pictures to search in", "R@10 by chance, drawn"], lines
    )
