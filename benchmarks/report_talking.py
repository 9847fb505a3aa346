"""The tables of chatsearcher.json, talking.json and side_by_side.json, for report.py."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from cells import machine_line, most, percent, spread, table, tenths

TASKS = ("tChat", "iChat", "mChat")
METRICS = ("R@1", "R@5", "R@10")
SHARED = "R@10"
BASE = "ChatSearcher"
EARLIER = " (earlier)"


def talking_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """All tables of `chatsearcher.py`, but for claims. Rows whose ranks are not kept are marked: of earlier data."""
    if not found:
        return {}
    kept = {name for test in found["kept"].values() for name in test["rows"]}

    def marked(part: str) -> dict[str, Any]:
        return {name if name in kept else f"{name}{EARLIER}": row for name, row in found[part].items()}

    spent = f"{found['minutes of training']} minutes of training in all, by the clock"
    return {
        "chatsearcher-chat": chat_table(marked("chat")),
        "chatsearcher-captions": captions_table(marked("captions")),
        "chatsearcher-queue": queue_table(found, kept),
        "chatsearcher-cirr": cirr_table(marked("cirr")),
        "chatsearcher-visual": visual_table(marked("visual")),
        "chatsearcher-kinds": kinds_table(found["visual"]),
        "chatsearcher-decision": decision_table(marked("decision")),
        "chatsearcher-grounding": grounding_table(found["grounding"]),
        "chatsearcher-speed": speed_table(found["speed"]),
        "chatsearcher-machine": [f"{found['data']}; {spent}. {machine_line(found['machine'])}"],
    }


def photograph_talk_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """What `talking.py` found of the shipped weights."""
    asked, talks = found["asked"], found["talks"]
    figures = ("accuracy", "text only", "majority by kind")
    by_kind = {"anything": {figure: asked[figure] for figure in figures}, **asked["by kind"]}
    questions = [[kind, *(spread(row[figure]) for figure in figures)] for kind, row in by_kind.items()]
    turns = [[name, spread(talked)] for name, talked in talks.items() if name != "talks"]
    return {
        "talking-asked": [
            *table(["question about", "accuracy", "text only", "majority of the kind"], questions),
            "",
            f"{asked['of']}. {machine_line(found['machine'])}",
        ],
        "talking-talks": table([f"{talks['talks']} conversations", ""], turns),
    }


def chat_table(rows: dict[str, Any]) -> list[str]:
    """One row a training: the three tasks, the average, the paper's average, and what it cost."""
    head = ["", *(f"{task[0]} {metric}" for task in TASKS for metric in METRICS)]
    head += ["**average**", "paper", "minutes", "seeds"]
    lines = []
    for name, row in rows.items():
        cells = [tenths(row[task][metric]) if task in row else "" for task in TASKS for metric in METRICS]
        paper = row.get("paper", {})
        cells += [spread(row["average"]), f"{paper['average']:.1f}" if paper else ""]
        cells += [", ".join(f"{value:.0f}" for value in row.get("minutes", ())), str(row["seeds"])]
        lines.append([name, *cells])
    return table(head, lines)


def captions_table(rows: dict[str, Any]) -> list[str]:
    """One row a training: its first stage's text-to-image search, on photos and on scenes."""
    sets = {"flickr8k": "photos", "scenes": "scenes"}
    head = ["", *(f"{said}, {metric}" for said in sets.values() for metric in METRICS)]
    head += [*(f"{said}, mean" for said in sets.values()), "seeds"]
    lines = []
    for name, row in rows.items():
        known = [row.get(data, {}) for data in sets]
        cells = [tenths(one[metric]) if one else "" for one in known for metric in METRICS]
        cells += [most(one, "mean") for one in known]
        lines.append([name, *cells, str(max(one.get("seeds", 0) for one in known))])
    return table(head, lines)


def queue_table(found: dict[str, Any], kept: Collection[str]) -> list[str]:
    """The size of the queue: text-to-image search after stage 1, and the average of all three tasks."""
    names = {name.removeprefix("queue of "): name for name in found["chat"] if name.startswith("queue of ")}
    sizes = {**names, "1000": BASE} if BASE in found["chat"] else names
    lines = [["in-batch", "in-batch negatives"]] if "in-batch negatives" in found["chat"] else []
    lines += [[size, sizes[size]] for size in sorted(sizes, key=int)]
    cells = []
    for said, name in lines:
        first = found["captions"].get(name, {})
        means = [most(first.get(data, {}), "mean") for data in ("flickr8k", "scenes")]
        chat = found["chat"][name]
        cells.append([f"{said}{EARLIER * (name not in kept)}", *means, spread(chat["average"]), str(chat["seeds"])])
    return table(["pictures in the queue", "photos, mean", "scenes, mean", "average of t, i, m", "seeds"], cells)


def cirr_table(rows: dict[str, Any]) -> list[str]:
    """One row a system, CIRR's figures."""
    metrics = ("R@1", "R@5", "R@50", "R_subset@2", "R_subset@3")
    head = ["", *metrics, "**R@10**", "**R_subset@1**", "seeds"]
    lines = [
        [name, *(tenths(row[metric]) for metric in metrics), spread(row["R@10, interval"]),
         spread(row["R_subset@1, interval"]), str(row["seeds"])]
        for name, row in rows.items()
    ]  # fmt: skip
    return table(head, lines)


VISUAL = ("accuracy", "text only", "majority", "majority by kind", "above text only", "above majority by kind")


def visual_table(rows: dict[str, Any]) -> list[str]:
    """One row a training: its answers about pictures, and what they are above."""
    return table(
        ["", *VISUAL, "seeds"],
        [[name, *(most(row, figure) for figure in VISUAL), str(row["seeds"])] for name, row in rows.items()],
    )


def kinds_table(rows: dict[str, Any]) -> list[str]:
    """The main row's answers by the kind of question."""
    row: dict[str, Any] = rows.get(BASE) or next(iter(rows.values()), {})
    kinds = [name.removeprefix("accuracy: ") for name in row if name.startswith("accuracy: ")]
    figures = ("accuracy", "text only", "majority by kind")
    return table(
        ["question about", "accuracy", "text only", "majority of the kind"],
        [[kind, *(most(row, f"{figure}: {kind}") for figure in figures)] for kind in kinds],
    )


def decision_table(rows: dict[str, Any]) -> list[str]:
    """One row a training: how often it answers in the right way."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row if name not in ("seeds", "of")))
    return table(
        ["", *names, "seeds"],
        [[name, *(most(row, one) for one in names), str(row["seeds"])] for name, row in rows.items()],
    )


def grounding_table(rows: dict[str, Any]) -> list[str]:
    """One row a choice of boxes: the share of phrases whose thing is found."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row if name not in ("seeds", "of")))
    return table(
        ["", *names, "seeds"],
        [
            [name.removeprefix("grounding, "), *(most(row, one) for one in names), str(row["seeds"])]
            for name, row in rows.items()
        ],
    )


def speed_table(speed: dict[str, Any]) -> list[str]:
    """What turns cost."""
    if not speed:
        return ["(not measured yet)"]
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
    return [*table(["what", "reach", "measured"], rows), "", machine_line(speed["machine"])]


# -- side by side


def side_by_side_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """The table of all systems, and that of what the protocols themselves count; none where nothing is measured."""
    if not found:
        return {}
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
        cells = [cell(row["found"].get(name), of[name], best[name]) for name in names]
        lines.append([system, row["trained on"], *cells])
    head = [f"{name}, {of[name]}" if metric is None else name for name in names]
    return table(["system", "has learnt from the training part of", *head], lines)


def cell(one: dict[str, Any] | None, metric: str, best: float) -> str:
    """A figure with half the width of its interval, marked where pictures looked for may have been learnt from."""
    if one is None:
        return ""
    figure = one[metric]
    text = f"{tenths(figure['mean'])} ± {tenths((figure['high'] - figure['low']) / 2)}"
    text = f"**{text}**" if figure["mean"] == best else text
    return f"{text} †" if one.get("flags") else text


def tests_table(found: dict[str, Any], names: list[str]) -> list[str]:
    """What each column is."""
    lines = []
    for name in names:
        test = found["tests"][name]
        talks = max(row["found"][name]["talks"] for row in found["systems"].values() if name in row["found"])
        sizes = [f"{size:,}" for size in test["pictures"]]
        drawn = found["systems"].get("random", {"found": {}})["found"].get(name)
        chance = percent(drawn[SHARED]["mean"]) if drawn else ""
        lines.append([name, test["data"], test["protocol"], f"{talks:,}", " / ".join(sizes), chance])
    return table(["column", "data", "protocol", "dialogues", "pictures to search in", "R@10 by chance, drawn"], lines)
