"""The tables of chatsearcher.json, talking.json and side_by_side.json, for report.py."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from cells import (
    EARLIER_DATA,
    format_known,
    format_percent,
    format_spread,
    format_table,
    format_tenths,
    machine_line,
    mark_earlier,
    reach_table,
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
    figures = ("accuracy", "text only", "majority by kind")
    by_kind = {"anything": {figure: asked[figure] for figure in figures}, **asked["by kind"]}
    questions = [[kind, *(format_spread(row[figure]) for figure in figures)] for kind, row in by_kind.items()]
    turns = [[name, format_spread(talked)] for name, talked in talks.items() if name != "talks"]
    return {
        "talking-asked": [
            *format_table(["question about", "accuracy", "text only", "majority of the kind"], questions),
            "",
            f"{asked['of']}. {machine_line(found['machine'])}",
        ],
        "talking-talks": format_table([f"{talks['talks']} conversations", ""], turns),
    }


def chat_table(rows: dict[str, Any]) -> list[str]:
    """One row a training: the three tasks, the average, the paper's average, and what it cost."""
    head = ["", *(f"{task[0]} {metric}" for task in TASKS for metric in METRICS)]
    head += ["**average**", "paper", "minutes", "seeds"]
    lines = []
    for name, row in rows.items():
        cells = [format_tenths(row[task][metric]) if task in row else "" for task in TASKS for metric in METRICS]
        paper = row.get("paper", {})
        cells += [format_spread(row["average"]), f"{paper['average']:.1f}" if paper else ""]
        cells += [", ".join(f"{value:.0f}" for value in row.get("minutes", ())), str(row["seeds"])]
        lines.append([name, *cells])
    return format_table(head, lines)


def captions_table(rows: dict[str, Any]) -> list[str]:
    """One row a training: its first stage's text-to-image search, on photos and on scenes."""
    sets = {"flickr8k": "photos", "scenes": "scenes"}
    head = ["", *(f"{said}, {metric}" for said in sets.values() for metric in METRICS)]
    head += [*(f"{said}, mean" for said in sets.values()), "seeds"]
    lines = []
    for name, row in rows.items():
        known = [row.get(data, {}) for data in sets]
        cells = [format_tenths(one[metric]) if one else "" for one in known for metric in METRICS]
        cells += [format_known(one, "mean") for one in known]
        lines.append([name, *cells, str(max(one.get("seeds", 0) for one in known))])
    return format_table(head, lines)


def queue_table(found: dict[str, Any], kept: Collection[str]) -> list[str]:
    """The size of the queue: text-to-image search after stage 1, and the average of all three tasks."""
    names = {name.removeprefix("queue of "): name for name in found["chat"] if name.startswith("queue of ")}
    sizes = {**names, "1000": BASE} if BASE in found["chat"] else names
    lines = [["in-batch", "in-batch negatives"]] if "in-batch negatives" in found["chat"] else []
    lines += [[size, sizes[size]] for size in sorted(sizes, key=int)]
    cells = []
    for said, name in lines:
        first = found["captions"].get(name, {})
        means = [format_known(first.get(data, {}), "mean") for data in ("flickr8k", "scenes")]
        chat = found["chat"][name]
        cells.append(
            [f"{said}{EARLIER_DATA * (name not in kept)}", *means, format_spread(chat["average"]), str(chat["seeds"])]
        )
    return format_table(["pictures in the queue", "photos, mean", "scenes, mean", "average of t, i, m", "seeds"], cells)


def cirr_table(rows: dict[str, Any]) -> list[str]:
    """One row a system, CIRR's figures."""
    metrics = ("R@1", "R@5", "R@50", "R_subset@2", "R_subset@3")
    head = ["", *metrics, "**R@10**", "**R_subset@1**", "seeds"]
    lines = [
        [name, *(format_tenths(row[metric]) for metric in metrics), format_spread(row["R@10, interval"]),
         format_spread(row["R_subset@1, interval"]), str(row["seeds"])]
        for name, row in rows.items()
    ]  # fmt: skip
    return format_table(head, lines)


VISUAL = ("accuracy", "text only", "majority", "majority by kind", "above text only", "above majority by kind")


def visual_table(rows: dict[str, Any]) -> list[str]:
    """One row a training: its answers about pictures, and what they are above."""
    return format_table(
        ["", *VISUAL, "seeds"],
        [[name, *(format_known(row, figure) for figure in VISUAL), str(row["seeds"])] for name, row in rows.items()],
    )


def kinds_table(rows: dict[str, Any]) -> list[str]:
    """The main row's answers by the kind of question."""
    row: dict[str, Any] = rows.get(BASE) or next(iter(rows.values()), {})
    kinds = [name.removeprefix("accuracy: ") for name in row if name.startswith("accuracy: ")]
    figures = ("accuracy", "text only", "majority by kind")
    return format_table(
        ["question about", "accuracy", "text only", "majority of the kind"],
        [[kind, *(format_known(row, f"{figure}: {kind}") for figure in figures)] for kind in kinds],
    )


def shares_table(rows: dict[str, Any]) -> list[str]:
    """One row a training, or a choice of boxes: its shares, a column each."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row if name not in ("seeds", "of")))
    lines = [
        [name.removeprefix("grounding, "), *(format_known(row, one) for one in names), str(row["seeds"])]
        for name, row in rows.items()
    ]
    return format_table(["", *names, "seeds"], lines)


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
