"""Writes the tables of docs and README.md from benchmarks/results/*.json; nothing is typed by hand.

python benchmarks/report.py            # `--check` only says whether the pages are up to date, recomputes every interval
                                       # and verdict from the ranks that are kept, and lists speed figures that are
                                       # older than a change to what they measure (freshness.py)
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Container
from pathlib import Path
from typing import Any

from cells import interval, machine_line, percent, spread, table
from claims import judge_claims, read_claims
from freshness import check_freshness, read_overdue, stale_figures
from plots import Plot
from report_capacity import capacity_parts, capacity_plot
from report_claims import claim_parts, claims_plot, few_seeds
from report_conversations import conversation_parts, curves, short_rows
from report_mai import mai_parts
from report_scale import scale_parts, scale_plot
from report_talking import photograph_talk_parts, side_by_side_parts, talking_parts
from rows import KeptRow, read_ranks

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
AS_SHIPPED = ", as shipped"
LABORATORY = ("evaluate", "chatir", "ranks", "worlds")
PLOTS = {"capacity": capacity_plot, "scale": scale_plot}
"""By the results that they show."""


def main() -> None:
    """Rewrite the parts between `<!-- name -->` and `<!-- end -->`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--few-seeds", action="store_true", help="list verdicts of fewer than three seeds, and end")
    given = parser.parse_args()
    check = given.check
    if given.few_seeds:
        few = few_seeds((ROOT / "docs" / "claims.md").read_text(encoding="utf-8"))
        sys.exit("\n".join(few) if few else 0)
    quality, speed = (json.loads((RESULTS / f"{name}.json").read_text()) for name in ("quality", "speed"))
    evaluated, chatir, kernel, worlds = (json.loads((RESULTS / f"{name}.json").read_text()) for name in LABORATORY)
    drilldown = json.loads((RESULTS / "drilldown.json").read_text())
    dialogues = json.loads((RESULTS / "dialogues.json").read_text())
    fashion = json.loads((RESULTS / "fashioniq.json").read_text())
    mai = json.loads((RESULTS / "mai.json").read_text())
    talking, side_by_side = known("chatsearcher"), known("side_by_side")
    conversations = known("conversations")
    judged = judge_claims(read_claims())
    parts = {
        **claim_parts(judged),
        "dialogues-heard": heard_table(dialogues["heard"]),
        "dialogues-asked": asked_table(dialogues["asked"]),
        "dialogues-machine": [f"{dialogues['data']}. {machine_line(dialogues['machine'])}"],
        "asking": asking_table(json.loads((RESULTS / "asking.json").read_text())),
        "fashion-captioners": captioners_table(fashion["captioners"]),
        **fashion_parts(fashion, read_ranks("fashioniq")),
        "fashion-machine": [f"{fashion['data']}. {machine_line(fashion['machine'])}"],
        "fashion-speed": feedback_table(json.loads((RESULTS / "feedback.json").read_text())),
        **mai_parts(mai, read_ranks("mai")),
        "mai-speed": iteration_table(json.loads((RESULTS / "iteration.json").read_text())),
        **talking_parts(talking),
        **photograph_talk_parts(json.loads((RESULTS / "talking.json").read_text())),
        **side_by_side_parts(side_by_side),
        **conversation_parts(conversations),
        **capacity_parts(known("capacity")),
        **photographs_parts(known("photographs")),
        **scale_parts(known("scale"), known("capacity")),
        "drilldown-rows": drilldown_table(drilldown["rows"]),
        "drilldown-turns": turns_table(drilldown["rows"]),
        "drilldown-rates": rates_table(drilldown["validation recall by learning rate"]),
        "drilldown-machine": [f"{drilldown['data']}. {machine_line(drilldown['machine'])}"],
        "claims-machine": [machine_line(evaluated["machine"])],
        "rows": rows_tables(evaluated["runs"]),
        "chatir": chatir_table(chatir, kernel),
        "worlds": worlds_table(worlds["worlds"]),
        "language": language_table(worlds.get("language", {})),
        "late-interaction": late_interaction_tables(json.loads((RESULTS / "late_interaction.json").read_text())),
        "installed": installed_line(known("installed")),
        "quality": quality_table(quality),
        "shop": shop_table(quality["shop"]),
        "heads": heads_table(quality["heads"]),
        "speed": speed_table(speed),
        "twins": twins_table(json.loads((RESULTS / "twins.json").read_text())),
        "attack": attack_table(known("attack")),
        "serving": serving_table(json.loads((RESULTS / "serving.json").read_text())),
        "machine": machine(quality["machine"], speed["machine"]),
        "figures": [*short_table(quality, speed), *short_rows(conversations)],
    }
    stale = False
    docs = (
        "architecture.md",
        "benchmarks.md",
        "capacity.md",
        "claims.md",
        "reliability.md",
        "scale.md",
        "server.md",
        "systems/chatir.md",
        "systems/chatsearcher.md",
        "systems/drilldown.md",
        "systems/fashioniq.md",
        "systems/index.md",
        "systems/mai.md",
    )
    for page in (*(ROOT / "docs" / name for name in docs), ROOT / "README.md"):
        before = page.read_text(encoding="utf-8")
        after = before
        for name, lines in parts.items():
            head, mark, tail = after.partition(f"<!-- {name} -->\n")
            if mark:
                after = head + mark + "\n".join(lines) + "\n<!-- end -->" + tail.partition("<!-- end -->")[2]
        stale |= after != before
        if not check:
            page.write_text(after, encoding="utf-8")
    if conversations:
        drawing = ROOT / "docs" / "images" / "conversations.svg"
        stale |= not drawing.is_file() or drawing.read_text(encoding="utf-8") != curves(conversations)
        if not check:
            drawing.write_text(curves(conversations), encoding="utf-8")
    plots: list[Plot] = [claims_plot(judged)]
    plots += [make(found) for name, make in PLOTS.items() if (found := known(name))]
    for plot in plots:
        stale |= plot.renew(ROOT / "docs" / "images", check=check)
    if check:
        waiting, wrong = check_freshness(stale_figures(), read_overdue())
        print(*(f"{line}\n" for line in waiting), sep="", end="")
        if stale:
            wrong.append("docs or README.md differ from the results: run benchmarks/report.py")
        sys.exit("\n".join(wrong) or 0)


def attack_rows(attacks: list[dict[str, Any]]) -> list[str]:
    """One row an attack of tests/hostile: its rounds, how often something broke, what was measured."""
    rows = []
    for row in attacks:
        figures = {name: value for name, value in row["figures"].items() if name not in ("broken", "minutes", "seed")}
        told = ", ".join(f"{name.replace('_', ' ')}: {_number(value)}" for name, value in figures.items())
        broken = row["figures"].get("broken", len(row["broken"]))
        rows.append([row["attack"], _number(row["rounds"]), _number(broken) if broken else "nothing", told])
    return table(["attack", "rounds", "broken", "figures"], rows)


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def attack_table(attacked: dict[str, Any]) -> list[str]:
    """The last `make attack`."""
    if not attacked:
        return ["Not run yet."]
    last = f"{attacked['minutes']} minutes, seed {attacked['seed']}. {machine_line(attacked['machine'])}"
    if again := attacked.get("again"):
        last += f". Run once more, after what they had found was mended: {', '.join(again)}"
    return [*attack_rows(attacked["attacks"]), "", last]


def known(name: str) -> dict[str, Any]:
    """What a benchmark has written; nothing, if it has not been run yet."""
    file = RESULTS / f"{name}.json"
    return dict(json.loads(file.read_text())) if file.is_file() else {}


def quality_table(quality: dict[str, Any]) -> list[str]:
    """One row a figure: what, reach, measured with its interval."""
    photos, verdicts = quality["photos"], quality["verdicts"]
    rows = [
        ("text to photo, first caption, R@1", ">= 28 %", photos["R@1 after turn 1"]),
        ("the same, R@10", ">= 70 %", photos["R@10 after turn 1"]),
        *(
            (f"... after caption {turn} said as turn {turn}", "rising", photos[f"R@10 after turn {turn}"])
            for turn in (2, 3, 4)
        ),
        ("five captions said as five turns, R@10 at turn 5", ">= 84 %", photos["R@10 after turn 5"]),
        ('described and there: answered "found"', "", verdicts['"found" to what is there']),
        ('described and there: answered "nothing like that here"', "", verdicts['"nothing" to what is there']),
        ('not there: answered "nothing like that here"', "", verdicts['"nothing" to what is not']),
        ('not there: answered "found"', "", verdicts['"found" to what is not']),
    ]
    return ["| what | reach | measured | 95 % interval |", "|---|---|---|---|"] + [
        f"| {what} | {reach} | {percent(found['mean'])} | {percent(found['low'])} to {percent(found['high'])} |"
        for what, reach, found in rows
    ]


def shop_table(shop: dict[str, Any]) -> list[str]:
    """A shop's own and new items, by name and by kind, and what it is told; a column a way to look."""
    ways = [name for name, figures in shop.items() if isinstance(figures, dict)]
    rows = [
        f"| {what} | " + " | ".join(_with_interval(shop[way][what]) for way in ways) + " |" for what in shop[ways[0]]
    ]
    return [f"| | {' | '.join(ways)} |", "|---" * (len(ways) + 1) + "|", *rows]


def _with_interval(found: dict[str, float]) -> str:
    return f"{100 * found['mean']:.1f} ({100 * found['low']:.1f} to {100 * found['high']:.1f})"


def heads_table(rows: list[dict[str, Any]]) -> list[str]:
    """What each part of the training brings."""
    names = [name for name in rows[0] if name not in ("what", "seeds")]
    cells = [[row["what"], *(spread(row[name]) for name in names), str(row["seeds"])] for row in rows]
    return table(["", *names, "seeds"], cells)


def serving_table(serving: dict[str, Any]) -> list[str]:
    """What the server adds, and what many people do to it."""
    turns, crowd, memory = serving["turns"], serving["crowd"], serving["memory"]
    indexing, paint = serving["indexing"], serving["paint"]
    rows = [
        (
            "a turn at 50,000 pictures, text to first results, over the same turn in process, p50",
            "<= 1.3",
            f"{turns['ratio']:.2f} ({turns['p50_ms']:.1f} ms; in process {turns['engine_ms']:.1f})",
        ),
        ("its p99 over its p50", "<= 3", f"{turns['p99_over_p50']:.1f} ({turns['p99_ms']:.1f} ms)"),
        (
            f"{crowd['people']} people at once without a pause, {crowd['seconds']} s: errors",
            "0",
            f"{crowd['errors']} in {crowd['turns']:,} turns",
        ),
        (
            "their p95 over the p50 of one person",
            "<= 40",
            f"{crowd['p95_over_single_p50']:.0f} ({crowd['p95_ms']:.0f} ms)",
        ),
        (
            "their turns a second over those of the engine alone",
            ">= 0.85",
            f"{crowd['throughput_ratio']:.2f} ({crowd['turns_per_s']:.0f} of {crowd['engine_turns_per_s']:.0f}); "
            f"{crowd['throughput_ratio_of_what_locust_left']:.2f} of what locust left of the cores, of which it took "
            f"{100 * crowd['locust_share_of_cores']:.0f} %{on_machine(crowd)}",
        ),
        (
            "first paint of a conversation with 200 results",
            "< 1 s",
            f"{paint['results_painted_s']:.2f} s ({paint['results_on_screen']} on the screen; something is there after "
            f"{paint['first_paint_s']:.2f} s, all pictures after {paint['all_pictures_s']:.2f} s)",
        ),
        (
            "script and style that are loaded before the first pictures",
            "< 120 kB",
            f"{paint['first_kb']:.0f} kB ({paint['script_and_style_kb']:.0f} kB with what is loaded when needed)",
        ),
        (
            "a turn while pictures are added, p95 over that of an idle server",
            "<= 3",
            f"{indexing['ratio']:.1f} ({indexing['busy_p95_ms']:.0f} ms, {indexing['idle_p95_ms']:.0f} ms; "
            f"{indexing['added_meanwhile']:,} pictures came in)",
        ),
        (
            "states of all retrievers",
            "one bounded cache",
            f"{memory['states_mb']:.1f} MB after {memory['sessions']} conversations, "
            f"at most {memory['states_limit_mb']} MB",
        ),
    ]
    if (several := serving.get("workers")) is not None:
        rows.insert(
            5,
            (
                f"the same with `--workers {several['workers']}`, over the engine in {several['workers']} processes",
                ">= 0.85",
                f"{several['throughput_ratio']:.2f} ({several['turns_per_s']:.0f} of "
                f"{several['engine_turns_per_s']:.0f}); {several['cpu_ratio']:.2f} by the time that a turn computes"
                f"{on_machine(several)}",
            ),
        )
    if (idle := serving.get("idle")) is not None:
        rows += [
            (
                f"{idle['conversations']} open conversations in which nobody says anything: share of a core",
                "that of none",
                f"{100 * idle['share_of_a_core_with']:.1f} %; without them "
                f"{100 * idle['share_of_a_core_without']:.1f} %",
            ),
            (
                "memory of each of them, beyond the states of its retriever",
                "< 100 kB",
                f"{idle['kb_per_conversation']:.0f} kB; {idle['sessions_in_memory']} of them are in memory at a time",
            ),
        ]
    head = ["| what | reach | measured |", "|---|---|---|"]
    return [
        *head,
        *(f"| {what} | {reach} | {measured} |" for what, reach, measured in rows),
        "",
        machine_line(serving["machine"]),
    ]


def twins_table(twins: dict[str, Any]) -> list[str]:
    """One row a network: its exported graph beside its numpy twin."""
    rows = [
        [
            name,
            f"{row['largest difference']:.1e}",
            f"{row['graph over twin']:.2f}",
            f"{row['twin, ms']:.2f} ms",
            f"{row['graph, kB']:,} kB",
            f"{row['loading the graph, ms']:.0f} ms",
        ]
        for name, row in twins["graphs"].items()
    ]
    head = ["network", "largest difference", "time, graph over twin", "twin", "graph on disk", "loading the graph"]
    return ["", *table(head, rows), "", f"`benchmarks/twins.py`, {machine_line(twins['machine'])}."]


def on_machine(part: dict[str, Any]) -> str:
    """Where and when a part was measured, if not where the rest was."""
    known = part.get("machine")
    return f" ({known['processor']}, {known['date']})" if known else ""


def speed_table(speed: dict[str, Any]) -> list[str]:
    """One row a figure."""
    finding, beyond, cold = speed["finding"], speed["memory"]["beyond_MiB"], speed["cold_start"]
    rows = [
        (
            "indexing, over a bare loop that decodes and encodes in as many processes",
            ">= 0.95",
            f"{speed['indexing']['ratio']:.2f} ({speed['indexing']['add_per_second']:.0f} pictures a second)"
            f"{on_machine(speed['indexing'])}",
        ),
        (
            "`find` in a warm session at 50,000 pictures, over encoding the words + one exact scan, p50",
            "<= 1.2",
            f"{finding['ratio']:.2f} ({finding['find_ms']:.1f} ms; words {finding['words_ms']:.1f}, "
            f"scan {finding['scan_ms']:.1f})",
        ),
        ("turn 20 over turn 2 of one conversation", "<= 1.1", f"{speed['long_talks']['ratio']:.2f}"),
        ("a question at 50,000 pictures", "<= 30 ms", f"{speed['asking']['question_ms']:.1f} ms"),
        (
            "memory of indexing 10,000 pictures, peak beyond that of 100",
            "< 600 MB",
            f"{beyond['10000']} MiB (2,500 pictures: {beyond['2500']} MiB){on_machine(speed['memory'])}",
        ),
        ("cold start of `viewfinder --help`", "< 0.4 s", f"{cold['help_s']:.2f} s{on_machine(cold)}"),
        ("cold start of `viewfinder find`, 2,000 pictures", "< 0.8 s", f"{cold['find_s']:.2f} s{on_machine(cold)}"),
    ]
    if (large := speed.get("large_pictures")) is not None:
        told = f"{large['ratio']:.2f} ({large['per_second_of_a_core']:.0f} pictures a second of a core)"
        what = f"... of pictures of 12 megapixels, {large['megabytes']:.1f} MB each"
        rows.insert(1, (what, "", told + on_machine(large)))
    if "first_run_s" in cold:
        rows.append(("its first run after an install", "< 3 s", f"{cold['first_run_s']:.2f} s{on_machine(cold)}"))
    if (batches := speed.get("batches")) is not None:
        rates = ", ".join(f"{size}: {rate:.0f}" for size, rate in batches["per_second"].items())
        told = rates + on_machine(batches)
        rows.append(("pictures a second of a core, by how many the network reads at once (`add`: 8)", "", told))
    return ["| what | reach | measured |", "|---|---|---|"] + [f"| {a} | {b} | {c} |" for a, b, c in rows]


def installed_line(installed: dict[str, Any]) -> list[str]:
    """How large the base is on disk."""
    if not installed:
        return []
    size = f"{installed['site_packages_MB']:,} MB in {installed['packages']} packages"
    where = f"{installed['machine']['date']}, Python {installed['machine']['python']}"
    return [f"The wheel in an empty environment: {size}, without torch; reach: < 800 MB ({where})."]


def short_table(quality: dict[str, Any], speed: dict[str, Any]) -> list[str]:
    """What the README's first screen has room for."""
    photos, shop = quality["photos"], quality["shop"]

    def first(how: str, whose: str) -> str:
        return percent(shop[how][f"{whose}, R@1"]["mean"])

    return [
        "| | |",
        "|---|---|",
        f"| one sentence, 1,000 photos: among the first ten | {percent(photos['R@10 after turn 1']['mean'])} |",
        f"| five sentences, one a turn | {percent(photos['R@10 after turn 5']['mean'])} |",
        f"| a shop's {shop['own']:,} own items by name: the first, by pictures alone "
        f"| {first('pictures alone', 'own')} |",
        f"| ... after `tune` on them | {first('pictures alone, tuned on own', 'own')} |",
        f"| ... new items that `tune` has not seen, after it (before: {first('pictures alone', 'new')}) | "
        f"{first('pictures alone, tuned on own', 'new')} |",
        f"| ... with the catalogue as text, without `tune`: among the first ten | "
        f"{percent(shop['with the catalogue']['own, R@10']['mean'])} |",
        f"| a turn at 50,000 pictures | {speed['finding']['find_ms']:.0f} ms |",
    ]


def iteration_table(cost: dict[str, Any]) -> list[str]:
    """What a turn of MAI costs besides reading words."""
    lines = ["| what | reach | measured |", "|---|---|---|"]
    for row in cost["iteration"]:
        lines.append(
            f"| MIO, 32 of 64 tokens of {row['width']} numbers, {row['form']} | <= 1 ms | {row['one_ms']:.2f} ms; "
            f"{row['talks']} dialogues in one call {row['batched_ms']:.0f} ms, one by one {row['looped_ms']:.0f} ms |"
        )
    for row in cost["scoring"]:
        what = f"scores of {cost['pictures']:,} pictures of {row['width']} numbers, over the bare product"
        lines.append(f"| {what} | <= 1.5 | {row['ratio']:.2f} ({row['ours_ms']:.1f} ms, {row['bare_ms']:.1f} ms) |")
    for memory, by_turn in cost["step_ms"].items():
        cells = ", ".join(f"{ms:.1f} ms at turn {turn}" for turn, ms in by_turn.items())
        lines.append(f"| a step of `lab`, memory {memory} | | {cells} |")
    return [*lines, "", machine_line(cost["machine"])]


def captioners_table(rows: dict[str, Any]) -> list[str]:
    """One row a captioner: what its captions are worth, x 100, and what it cost."""
    head = ["BLEU-4, each seed", "ROUGE-L", "CIDEr-D", "parameters", "minutes of training"]
    lines = ["| | " + " | ".join(head) + " |", "|---|" + "---|" * len(head)]
    for name, row in rows.items():
        cells = [", ".join(f"{100 * value:.1f}" for value in row["BLEU-4"])]
        cells += [interval(row[metric]).replace(" %", "") for metric in ("ROUGE-L", "CIDEr-D")]
        cells += [f"{row['parameters']:,}", ", ".join(f"{value:.1f}" for value in row["minutes"])]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def fashion_parts(fashion: dict[str, Any], kept: dict[str, dict[str, KeptRow]]) -> dict[str, list[str]]:
    """Dialogues by user, and one turn. Rows whose ranks are not kept are marked: they are of earlier data."""

    def marked(rows: dict[str, Any], known: Container[str]) -> dict[str, Any]:
        return {name if name in known else f"{name} (earlier)": row for name, row in rows.items()}

    first_turns = {f"{name}, first turn" for name in kept.get("talks, oracle", {})}
    return {
        **{
            f"fashion-talks-{user}": talks_table(marked(rows, kept.get(f"talks, {user}", {})))
            for user, rows in fashion["talks"].items()
        },
        "fashion-single": single_table(marked(fashion["single"], first_turns | kept.get("one turn", {}).keys())),
    }


def talks_table(rows: dict[str, Any]) -> list[str]:
    """One row a retriever: P, R@10 and R@50 after turns 1, 3 and 5."""
    columns = [(metric, turn) for turn in ("1", "3", "5") for metric in ("P", "R@10", "R@50")]
    head = [*(f"{metric}, turn {turn}" for metric, turn in columns), "parameters", "minutes", "seeds"]
    lines = ["| | " + " | ".join(head) + " |", "|---|" + "---|" * len(head)]
    for name, row in rows.items():
        cells = [percent(row[metric][turn]["mean"]) for metric, turn in columns[:-2]]
        cells += [interval(row[metric][turn]) for metric, turn in columns[-2:]]
        minutes = ", ".join(f"{value:.1f}" for value in row["minutes"] if value)
        cells += [f"{row['parameters']:,}", minutes, str(row["seeds"])]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def single_table(rows: dict[str, Any]) -> list[str]:
    """One row a composition: R@10 and R@50 in both galleries."""
    columns = list(dict.fromkeys(name for row in rows.values() for name in row if name != "seeds"))
    lines = ["| | " + " | ".join(columns) + " | seeds |", "|---|" + "---|" * (len(columns) + 1)]
    for name, row in rows.items():
        cells = [interval(row[column]) if column in row else "" for column in columns]
        lines.append(f"| {name} | {' | '.join(cells)} | {row['seeds']} |")
    return lines


def feedback_table(feedback: dict[str, Any]) -> list[str]:
    """What a turn of relative feedback costs, weights by weights."""
    head = ["turn 1", "turn 5", "of that encoding, turn 5", "one scan"]
    head += ["a turn over encoding and one scan, reach: <= 1.5", "turn 5 over turn 1, reach: < 2"]
    lines = ["| weights | words | " + " | ".join(head) + " |", "|---|---|" + "---|" * len(head)]
    for row in feedback["rows"]:
        times = (row["turn_ms"][0], row["turn_ms"][-1], row["encode_ms"][-1], row["scan_ms"][-1])
        cells = [*(f"{value:.1f} ms" for value in times), f"{row['ratio']:.2f}", f"{row['turn_5_over_turn_1']:.2f}"]
        lines.append(f"| {row['weights']} | {row['words']} | {' | '.join(cells)} |")
    return [*lines, "", f"{feedback['pictures']:,} pictures. {machine_line(feedback['machine'])}"]


def heard_table(rows: dict[str, Any]) -> list[str]:
    """One row a training of the dialogue encoder: Hits@10 by round, the mean rank at the end, and what it cost."""
    rounds = (0, 1, 3, 5, 10)
    head = [*(f"Hits@10, round {at}" for at in rounds), "R@10, round 10", "mean rank", "minutes of training"]
    lines = ["| | " + " | ".join(head) + " |", "|---|" + "---|" * len(head)]
    for name, row in rows.items():
        cells = [percent(row["Hits@10"][str(at)]["mean"]) for at in rounds[:-1]]
        cells += [interval(row["Hits@10"]["10"]), percent(row["R@10"]["10"]["mean"]), f"{row['mean rank']['10']:.0f}"]
        cells.append(", ".join(f"{value:.1f}" for value in row.get("minutes", ()) if value))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def photos_table(rows: dict[str, Any]) -> list[str]:
    """R@10 on photographs, turn by turn, and what a reader should know of a row."""
    turns = range(1, 1 + max(len(row["R@10"]) for row in rows.values()))
    cells = [[name, *map(interval, row["R@10"]), ", ".join(row["flags"])] for name, row in rows.items()]
    return table(["", *(f"R@10, turn {turn}" for turn in turns), "flags"], cells)


def photographs_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """Systems on photographs that no training of photographs.py has seen: for the page of each, and all as shipped."""
    searched = f"{found['photographs']['pictures']:,} to search. {machine_line(found['machine'])}"
    kept = found["kept"]["photographs"]["rows"]
    rows = {
        name: {"R@10": row["R@10"]["photographs"], "flags": kept[name]["flags"]} for name, row in found["rows"].items()
    }
    pages: dict[str, tuple[str, ...]] = {
        "chatir": ("chatir", "clip-t"),
        "fashioniq": ("fashioniq", "composer"),
        "mai": ("mai", "composer"),
        "chatsearcher": ("chatsearcher", "composer"),
        "drilldown": ("drilldown", "r-hre", "r-re", "hre", "r-rankfusion", "composer"),
    }
    parts = {}
    for page, systems in pages.items():
        chosen = {name: row for name, row in rows.items() if found["rows"][name]["system"] in systems}
        about = f"{found['learn']['pictures']:,} photographs to learn from; {searched}"
        parts[f"{page}-photographs"] = [*photos_table(chosen), "", about]
    shipped = [
        [name.removesuffix(AS_SHIPPED), *map(interval, row["R@10"])]
        for name, row in rows.items()
        if name.endswith(AS_SHIPPED)
    ]
    head = ["system", *(f"R@10, turn {turn}" for turn in range(1, len(shipped[0])))]
    parts["shipped-photographs"] = [*table(head, shipped), "", f"Photographs: {searched}"]
    return parts


def asked_table(rows: dict[str, Any]) -> list[str]:
    """One row a questioner: Hits@10 by round, how varied it was, and how long it took."""
    rounds = (0, 1, 2, 3, 5, 10)
    head = [*(f"Hits@10, round {at}" for at in rounds), "repeated, of 10", "different words", "don't know"]
    head += ["asked by another", "ms a question", "dialogues x seeds"]
    lines = ["| | " + " | ".join(head) + " |", "|---|" + "---|" * len(head)]
    for name, row in rows.items():
        cells = [percent(row["Hits@10"][str(at)]["mean"]) for at in rounds[:-1]]
        cells += [interval(row["Hits@10"]["10"]), f"{row['repeated questions']:.2f}", f"{row['unique tokens']:.1f}"]
        cells += [percent(row[name]) for name in ("don't know", "by another")]
        cells += [f"{row.get('median_ms', 0.0):,.0f}", f"{row['talks']} x {row['seeds']}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def asking_table(asking: dict[str, Any]) -> list[str]:
    """What it takes to choose a question, by retriever and learnt questions."""
    lines = ["| retriever | learnt questions | a question, p50, reach: <= 30 ms | p95 |", "|---|---|---|---|"]
    for row in asking["rows"]:
        what = "those of the scenes" if row["questions"] == "learnt" else row["questions"]
        lines.append(f"| {row['retriever']} | {what} | {row['p50_ms']:.0f} ms | {row['p95_ms']:.0f} ms |")
    return [*lines, "", f"{asking['pictures']:,} pictures. {machine_line(asking['machine'])}"]


def drilldown_table(rows: dict[str, Any]) -> list[str]:
    """One row a trained network: its size, how long it took, what it finds; the one that finds most first."""
    lines = [
        "| | numbers of a query | parameters | minutes of training | R@1 | R@5 | R@10 |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in most_found_first(rows):
        found = " | ".join(interval(row["mean"][metric]) for metric in ("R@1", "R@5", "R@10"))
        minutes = ", ".join(f"{value:.1f}" for value in row["minutes"] if value)
        lines.append(f"| {name} | {row['query_numbers']} | {row['parameters']:,} | {minutes} | {found} |")
    return lines


def rates_table(rows: dict[str, dict[str, float]]) -> list[str]:
    """What validation found at every learning rate that was tried; the one that was chosen is bold."""
    rates = list(next(iter(rows.values())))
    lines = ["| | " + " | ".join(f"rate {rate}" for rate in rates) + " |", "|---|" + "---|" * len(rates)]
    for name, found in rows.items():
        best = max(found, key=found.__getitem__)
        cells = [f"**{percent(recall)}**" if rate == best else percent(recall) for rate, recall in found.items()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def most_found_first(rows: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Rows by R@10 over all turns."""
    return sorted(rows.items(), key=lambda item: item[1]["mean"]["R@10"]["mean"], reverse=True)


def turns_table(rows: dict[str, Any]) -> list[str]:
    """R@10 after some of the turns."""
    turns = (1, 2, 3, 5, 7, 10)
    lines = ["| | " + " | ".join(f"turn {turn}" for turn in turns) + " |", "|---|" + "---|" * len(turns)]
    for name, row in most_found_first(rows):
        means = [found["mean"] for found in row["by turn"]["R@10"]]
        cells = [percent(means[turn - 1]) if turn <= len(means) else "" for turn in turns]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def rows_tables(runs: dict[str, list[dict[str, Any]]]) -> list[str]:
    """One table a data set: first and last turn of every task, a column a system."""
    lines: list[str] = []
    for data in dict.fromkeys(name.partition("/")[0] for name in runs):
        systems = [name.partition("/")[2] for name in runs if name.startswith(f"{data}/")]
        lines += [f"**{data}**", "", f"| task | figure | {' | '.join(systems)} |", "|---|---|" + "---|" * len(systems)]
        found = {system: {row_key(row): row for row in runs[f"{data}/{system}"]} for system in systems}
        for task, metric, at in ends(runs[f"{data}/{systems[0]}"]):
            cells = [measured(found[system].get((task, metric, at))) for system in systems]
            lines.append(f"| {task} | {metric} {at} | {' | '.join(cells)} |")
        lines.append("")
    return lines[:-1]


def row_key(row: dict[str, Any]) -> tuple[str, str, str]:
    """What tells a figure from the others of a run."""
    return row["task"], row["metric"], row["at"]


def ends(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The first and the last moment of every task and metric."""
    moments: dict[tuple[str, str], list[str]] = {}
    for task, metric, at in map(row_key, rows):
        moments.setdefault((task, metric), []).append(at)
    return [(*key, at) for key, ats in moments.items() for at in dict.fromkeys((ats[0], ats[-1]))]


def measured(row: dict[str, Any] | None) -> str:
    """A figure with half the width of its interval."""
    if row is None:
        return ""
    scale = 1 if row["metric"] in ("BRI", "median rank", "rank") else 100
    return f"{scale * row['mean']:.1f} ± {scale * (row['high'] - row['low']) / 2:.1f}"


def chatir_table(chatir: dict[str, Any], kernel: dict[str, Any]) -> list[str]:
    """Time and memory of the whole protocol, and of the kernel alone."""
    rows = [
        f"| {system} | {found['talks']:,} dialogues x 11 rounds, {found['pool']:,} pictures | {found['seconds']:.1f} s "
        f"| {found['peak_MiB']:,} MiB |"
        for system, found in chatir["systems"].items()
    ]
    whole, ratio = kernel["protocol"], kernel["kernel"]["ratio"]["ranks"]
    size = f"the same; {ratio:.2f} x its matrix product"
    rows.append(f"| rank kernel alone | {size} | {whole['seconds']:.1f} s | {whole['peak_MiB']:,} MiB |")
    reach = "| reach | | < 60 s, kernel <= 1.5 x | < 1,430 MiB (1.5 GB) |"
    return ["| system | size | time | peak memory |", "|---|---|---|---|", *rows, reach]


def worlds_table(worlds: dict[str, dict[str, float]]) -> list[str]:
    """Time of making a world with all its files."""
    rows = [
        f"| {name} | {found['seconds']:.0f} s | {1000 * found['cpu_seconds'] / found['pictures']:.0f} ms |"
        for name, found in worlds.items()
    ]
    return ["| world | time | processors, a picture |", "|---|---|---|", *rows]


def language_table(language: dict[str, dict[str, float]]) -> list[str]:
    """What drawn worlds give away in each language: shares in per cent, counts as they are."""
    if not language:
        return []

    def shown(name: str, value: float) -> str:
        return f"{value:,.0f}" if name.endswith(("dialogues", "median")) else f"{100 * value:.1f} %"

    names = list(next(iter(language.values())))
    rows = [f"| {name} | {' | '.join(shown(name, found[name]) for found in language.values())} |" for name in names]
    return [f"| | {' | '.join(language)} |", "|---|" + "---|" * len(language), *rows]


def late_interaction_tables(found: dict[str, Any]) -> list[str]:
    """Exact scores over the bare product; what 50,000 and a million pictures cost, and what shortcuts lose; a step."""
    lines = [
        "| exact scores of 10,000 pictures x 36 regions | bare product | its fastest order | ours | reach: <= 2 x |",
        "|---|---|---|---|---|",
    ]
    for row in found["product"]:
        order, bare = min(row["bare_ms"].items(), key=lambda item: item[1])
        what = f"{row['width']} numbers, {row['vectors']} query vectors"
        lines.append(f"| {what} | {bare:.1f} ms | `{order}` | {row['ours_ms']:.1f} ms | {row['ratio']:.2f} |")
    whole = found["million"]
    lines += ["", "| 50,000 pictures, 128 numbers: way | query vectors | p50, reach: <= 80 ms | overlap@10, >= 0.99 |"]
    lines += ["|---|---|---|---|", *(way_line(row, row["vectors"]) for row in found["large"])]
    sizes = f"{whole['GB_in_8_bits']} GB in 8 bits, {whole['GB_of_groups']} GB of groups"
    lines += ["", f"| {whole['pictures']:,} pictures ({sizes}): way | p50 | overlap@10 |"]
    lines += ["|---|---|---|", *(way_line(row) for row in whole["ways"])]
    lines += ["", "| a sentence: model | a step, p50 (p95), reach: <= 2 ms | with the sentence's encoding |"]
    lines += ["|---|---|---|"]
    for row in found["step"]:
        cells = (f"{row[part]['p50']:.2f} ({row[part]['p95']:.2f}) ms" for part in ("step_ms", "step_and_sentence_ms"))
        lines.append(f"| {row['checkpoint']} | {' | '.join(cells)} |")
    return [*lines, "", machine_line(found["machine"]), "", f"A million: {machine_line(whole['machine'])}"]


def way_line(row: dict[str, Any], *between: object) -> str:
    """One way to the best ten."""
    cells = (row["way"], *between, f"{row['p50_ms']:.1f} ms", f"{row['overlap_at_10']:.3f}")
    return f"| {' | '.join(map(str, cells))} |"


def points(share: float) -> str:
    """A difference of shares in points."""
    return f"{100 * share:+.1f}"


def machine(*machines: dict[str, str]) -> list[str]:
    """Where and when."""
    return [machine_line(machines[0]), f"(speed: {machines[1]['date']})"]


if __name__ == "__main__":
    main()
