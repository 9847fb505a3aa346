"""Writes the tables of docs and README.md from benchmarks/results/*.json; nothing is typed by hand.

python benchmarks/report.py            # `--check` only says whether the pages are up to date, recomputes every interval
                                       # and verdict from the ranks that are kept, and lists speed figures that are
                                       # older than a change to what they measure (freshness.py)
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from cells import (
    Column,
    cell_of,
    count_cell,
    format_interval,
    format_percent,
    format_spread,
    format_table,
    format_tenths,
    machine_line,
    mark_earlier,
    minutes_cell,
    ratio_cell,
    reach_table,
    rows_table,
)
from claims import Judged, judge_claims, read_claims
from freshness import RESULTS, ROOT, check_freshness, read_overdue, stale_figures
from measuring import read_figures
from report_any_encoder import encoder_parts
from report_basic import basic_parts
from report_capacity import capacity_parts, capacity_plot
from report_claims import claim_parts, claims_plot, few_seeds
from report_conversations import conversation_parts, conversations_plot, minds_parts, short_rows
from report_describing import describing_parts
from report_encoders import encoders_table, sentences_table
from report_fusion import fusion_parts, one_time_table
from report_mai import mai_parts
from report_mixture import mixture_parts
from report_network import mixed_parts, network_parts, own_network_parts, products_parts, ruled_out_table
from report_people import people_parts
from report_scale import scale_parts, scale_plot
from report_sharded import sharded_parts
from report_since import since_parts
from report_speed import page_table, serving_table, speed_table
from report_talking import photograph_talk_parts, side_by_side_parts, talking_parts
from rows import KeptRow, read_ranks

AS_SHIPPED = ", as shipped"


def main() -> None:
    """Rewrite the parts between `<!-- name -->` and `<!-- end -->`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--few-seeds", action="store_true", help="list verdicts of fewer than three seeds, and end")
    given = parser.parse_args()
    if given.few_seeds:
        few = few_seeds((ROOT / "docs" / "claims.md").read_text(encoding="utf-8"))
        sys.exit("\n".join(few) if few else 0)
    results = {file.stem: read_figures(file) for file in RESULTS.glob("*.json")}
    judged = judge_claims(read_claims())
    parts = make_parts(results, judged)
    stale = False
    for page in (*sorted((ROOT / "docs").glob("**/*.md")), ROOT / "README.md"):
        before = page.read_text(encoding="utf-8")
        after = fill_parts(before, parts)
        stale |= after != before
        if after != before and not given.check:
            page.write_text(after, encoding="utf-8")
    plots = (
        claims_plot(judged),
        conversations_plot(results["conversations"]),
        capacity_plot(results["capacity"]),
        scale_plot(results["scale"]),
    )
    for plot in plots:
        stale |= plot.renew(ROOT / "docs" / "images", check=given.check)
    if given.check:
        waiting, wrong = check_freshness(stale_figures(), read_overdue())
        print(*(f"{line}\n" for line in waiting), sep="", end="")
        if stale:
            wrong.append("docs or README.md differ from the results: run benchmarks/report.py")
        sys.exit("\n".join(wrong) or 0)


def make_parts(results: dict[str, dict[str, Any]], judged: Sequence[Judged]) -> dict[str, list[str]]:
    """The lines of all parts of the pages, by their names."""
    quality, speed, worlds = results["quality"], results["speed"], results["worlds"]
    drilldown, dialogues, fashion = results["drilldown"], results["dialogues"], results["fashioniq"]
    return {
        **claim_parts(judged),
        "dialogues-heard": heard_table(dialogues["heard"]),
        "dialogues-asked": asked_table(dialogues["asked"]),
        "dialogues-machine": [data_line(dialogues)],
        "asking": asking_table(results["asking"]),
        "fashion-captioners": captioners_table(fashion["captioners"]),
        **fashion_parts(fashion, read_ranks("fashioniq")),
        "fashion-machine": [data_line(fashion)],
        "fashion-speed": feedback_table(results["feedback"]),
        **mai_parts(results["mai"], read_ranks("mai")),
        "mai-speed": iteration_table(results["iteration"]),
        **talking_parts(results["chatsearcher"]),
        **photograph_talk_parts(results["talking"]),
        **side_by_side_parts(results["side_by_side"]),
        **fusion_parts(results["fusion"]),
        "one-time": one_time_table(results["one_time"]),
        **network_parts(results["network"]),
        **products_parts(results["network_products"]),
        **mixed_parts(results["mixed_products"], results["mixed_networks"]),
        **own_network_parts(results["own_network"]),
        "ruled-out": ruled_out_table(results["ruled_out"]),
        **mixture_parts(results["mixture"]),
        **basic_parts(results["basic"]),
        **conversation_parts(results["conversations"]),
        **minds_parts(results["changing_minds"]),
        **capacity_parts(results["capacity"]),
        **sharded_parts(results["sharded"]),
        **photographs_parts(results["photographs"]),
        **scale_parts(
            results["scale"], results["capacity"], results["index_codes"], results["scale_large"], results["start"]
        ),
        **since_parts(results["since"]),
        "drilldown-rows": drilldown_table(drilldown["rows"]),
        "drilldown-turns": turns_table(drilldown["rows"]),
        "drilldown-rates": rates_table(drilldown["validation recall by learning rate"]),
        "drilldown-machine": [data_line(drilldown)],
        "claims-machine": [machine_line(results["evaluate"]["machine"])],
        "rows": rows_tables(results["evaluate"]["runs"]),
        "chatir": chatir_table(results["chatir"], results["ranks"]),
        "worlds": worlds_table(worlds["worlds"]),
        "language": language_table(worlds["language"]),
        "late-interaction": late_interaction_tables(results["late_interaction"]),
        "encoders": encoders_table(results["encoders"]),
        "sentences": sentences_table(results["sentences"]),
        "installed": installed_line(results["installed"]),
        "quality": quality_table(quality),
        "verdicts-here": verdicts_here_table(results["verdicts_here"]),
        **people_parts(results["people"]),
        **describing_parts(results["describing"]),
        **encoder_parts(results["any_encoder"]),
        "shop": shop_table(quality["shop"]),
        "heads": heads_table(quality["heads"]),
        "speed": speed_table(speed),
        "twins": twins_table(results["twins"]),
        "attack": attack_table(results["attack"]),
        "serving": serving_table(results["serving"]),
        "page": page_table(results["page"]),
        "machine": [machine_line(quality["machine"]), f"(speed: {speed['machine']['date']})"],
        "figures": [*short_table(quality, speed), *short_rows(results["conversations"])],
    }


def fill_parts(page: str, parts: dict[str, list[str]]) -> str:
    """A page with the lines of each part between `<!-- name -->` and `<!-- end -->`."""
    for name, lines in parts.items():
        head, mark, tail = page.partition(f"<!-- {name} -->\n")
        if mark:
            page = head + mark + "\n".join(lines) + "\n<!-- end -->" + tail.partition("<!-- end -->")[2]
    return page


def data_line(result: dict[str, Any]) -> str:
    """The data of a benchmark, and the machine that it ran on."""
    return f"{result['data']}. {machine_line(result['machine'])}"


def attack_rows(attacks: list[dict[str, Any]]) -> list[str]:
    """One row an attack of tests/hostile: its rounds, how often something broke, what was measured."""
    rows = []
    for row in attacks:
        figures = {name: value for name, value in row["figures"].items() if name not in ("broken", "minutes", "seed")}
        told = ", ".join(f"{name.replace('_', ' ')}: {_number(value)}" for name, value in figures.items())
        broken = row["figures"].get("broken", len(row["broken"]))
        rows.append([row["attack"], _number(row["rounds"]), _number(broken) if broken else "nothing", told])
    return format_table(["attack", "rounds", "broken", "figures"], rows)


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def attack_table(attacked: dict[str, Any]) -> list[str]:
    """The last `make attack`."""
    last = f"{attacked['minutes']} minutes, seed {attacked['seed']}. {machine_line(attacked['machine'])}"
    if again := attacked.get("again"):
        last += f". Run once more, after what they had found was mended: {', '.join(again)}"
    return [*attack_rows(attacked["attacks"]), "", last]


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
    cells = [
        [
            what,
            reach,
            format_percent(found["mean"]),
            f"{format_percent(found['low'])} to {format_percent(found['high'])}",
        ]
        for what, reach, found in rows
    ]
    return format_table(["what", "reach", "measured", "95 % interval"], cells)


def verdicts_here_table(measured: dict[str, Any]) -> list[str]:
    """One row a figure and a column a gallery: by the encoder's curves, and on the library's own scale."""
    galleries = measured["galleries"]
    named = sorted({name for figures in galleries.values() for name in figures["now"]}, key=_place_of_figure)
    rows = []
    for name in named:
        cells = []
        for figures in galleries.values():
            before, now = figures["before"].get(name), figures["now"].get(name)
            told = "" if now is None else format_spread(now)
            cells.append(told if before is None or now is None else f"{format_percent(before['mean'])}; {told}")
        rows.append([name, *cells])
    head = ["before; now", *(f"{name} ({figures['pictures']:,})" for name, figures in galleries.items())]
    about = f"`benchmarks/verdicts_here.py`, part {measured['part']}, {measured['seeds']} draws of every gallery. "
    return [*format_table(head, rows), "", about + machine_line(measured["machine"])]


def _place_of_figure(name: str) -> tuple[int, str]:
    starts = ('"nothing", though', '"nothing"', '"found"', '"unlikely"', "likely", "maybe", "unlikely", "among")
    return next(at for at, start in enumerate(starts) if name.startswith(start)), name


def shop_table(shop: dict[str, Any]) -> list[str]:
    """A shop's own and new items, by name and by kind, and what it is told; a column a way to look."""
    ways = [name for name, figures in shop.items() if isinstance(figures, dict)]
    rows = [[what, *(format_spread(shop[way][what]) for way in ways)] for what in shop[ways[0]]]
    return format_table(["", *ways], rows)


def heads_table(rows: list[dict[str, Any]]) -> list[str]:
    """The gain from each part of the training."""
    columns = {name: cell_of(format_spread, name) for name in rows[0] if name not in ("what", "seeds")}
    return rows_table({row["what"]: row for row in rows}, {**columns, "seeds": cell_of(str, "seeds")})


def twins_table(twins: dict[str, Any]) -> list[str]:
    """One row a network: its exported graph beside its numpy twin."""
    columns: dict[str, Column] = {
        "largest difference": cell_of("{:.1e}".format, "largest difference"),
        "time, graph over twin": cell_of(ratio_cell, "graph over twin"),
        "twin": cell_of("{:.2f} ms".format, "twin, ms"),
        "graph on disk": cell_of("{:,} kB".format, "graph, kB"),
        "loading the graph": cell_of("{:.0f} ms".format, "loading the graph, ms"),
    }
    about = f"`benchmarks/twins.py`, {machine_line(twins['machine'])}."
    return ["", *rows_table(twins["graphs"], columns, first="network"), "", about]


def installed_line(installed: dict[str, Any]) -> list[str]:
    """How large the base is on disk."""
    size = f"{installed['site_packages_MB']:,} MB in {installed['packages']} packages"
    where = f"{installed['machine']['date']}, Python {installed['machine']['python']}"
    return [f"The wheel in an empty environment: {size}, without torch; reach: < 800 MB ({where})."]


def short_table(quality: dict[str, Any], speed: dict[str, Any]) -> list[str]:
    """The few figures of the README's first screen."""
    photos, shop = quality["photos"], quality["shop"]

    def first(how: str, whose: str) -> str:
        return format_percent(shop[how][f"{whose}, R@1"]["mean"])

    rows = [
        ["one sentence, 1,000 photos: among the first ten", format_percent(photos["R@10 after turn 1"]["mean"])],
        ["five sentences, one a turn", format_percent(photos["R@10 after turn 5"]["mean"])],
        [
            f"a shop's {shop['own']:,} own items by name: the first, by pictures alone", first("pictures alone", "own"),
        ],
        ["... after `tune` on them", first("pictures alone, tuned on own", "own")],
        [
            f"... new items that `tune` has not seen, after it (before: {first('pictures alone', 'new')})",
            first("pictures alone, tuned on own", "new"),
        ],
        [
            "... with the catalogue as text, without `tune`: among the first ten",
            format_percent(shop["with the catalogue"]["own, R@10"]["mean"]),
        ],
        ["a turn at 50,000 pictures", f"{speed['finding']['find_ms']:.0f} ms"],
    ]  # fmt: skip
    return format_table(["", ""], rows)


def iteration_table(cost: dict[str, Any]) -> list[str]:
    """The cost of a turn of MAI besides reading words."""
    rows = [
        (
            f"MIO, 32 of 64 tokens of {row['width']} numbers, {row['form']}",
            "<= 1 ms",
            f"{row['one_ms']:.2f} ms; {row['talks']} dialogues in one call {row['batched_ms']:.0f} ms, one by one "
            f"{row['looped_ms']:.0f} ms",
        )
        for row in cost["iteration"]
    ]
    for row in cost["scoring"]:
        what = f"scores of {cost['pictures']:,} pictures of {row['width']} numbers, over the bare product"
        rows.append((what, "<= 1.5", f"{row['ratio']:.2f} ({row['ours_ms']:.1f} ms, {row['bare_ms']:.1f} ms)"))
    for memory, by_turn in cost["step_ms"].items():
        cells = ", ".join(f"{ms:.1f} ms at turn {turn}" for turn, ms in by_turn.items())
        rows.append((f"a step of `lab`, memory {memory}", "", cells))
    return [*reach_table(rows), "", machine_line(cost["machine"])]


def captioners_table(rows: dict[str, Any]) -> list[str]:
    """One row a captioner: the figures of its captions, x 100, and its cost."""
    columns: dict[str, Column] = {
        "BLEU-4, each seed": lambda row: ", ".join(map(format_tenths, row["BLEU-4"])),
        **{metric: cell_of(format_spread, metric) for metric in ("ROUGE-L", "CIDEr-D")},
        "parameters": cell_of(count_cell, "parameters"),
        "minutes of training": minutes_cell,
    }
    return rows_table(rows, columns)


def fashion_parts(fashion: dict[str, Any], kept: dict[str, dict[str, KeptRow]]) -> dict[str, list[str]]:
    """Dialogues by user, and one turn. Rows whose ranks are not kept are marked: they are of earlier data."""
    first_turns = {f"{name}, first turn" for name in kept.get("talks, oracle", {})}
    return {
        **{
            f"fashion-talks-{user}": talks_table(mark_earlier(rows, kept.get(f"talks, {user}", {})))
            for user, rows in fashion["talks"].items()
        },
        "fashion-single": single_table(mark_earlier(fashion["single"], first_turns | kept.get("one turn", {}).keys())),
    }


def talks_table(rows: dict[str, Any]) -> list[str]:
    """One row a retriever: P, R@10 and R@50 after turns 1, 3 and 5."""
    means = [(metric, turn) for turn in ("1", "3", "5") for metric in ("P", "R@10", "R@50")][:-2]
    columns: dict[str, Column] = {
        **{f"{metric}, turn {turn}": cell_of(format_percent, metric, turn, "mean") for metric, turn in means},
        **{f"{metric}, turn 5": cell_of(format_interval, metric, "5") for metric in ("R@10", "R@50")},
        "parameters": cell_of(count_cell, "parameters"),
        "minutes": minutes_cell,
        "seeds": cell_of(str, "seeds"),
    }
    return rows_table(rows, columns)


def single_table(rows: dict[str, Any]) -> list[str]:
    """One row a composition: R@10 and R@50 in both galleries."""
    names = dict.fromkeys(name for row in rows.values() for name in row if name != "seeds")
    columns = {name: cell_of(format_interval, name) for name in names}
    return rows_table(rows, {**columns, "seeds": cell_of(str, "seeds")})


def feedback_table(feedback: dict[str, Any]) -> list[str]:
    """The cost of a turn of relative feedback, weights by weights."""
    head = ["turn 1", "turn 5", "of that encoding, turn 5", "one scan"]
    head += ["a turn over encoding and one scan, reach: <= 1.5", "turn 5 over turn 1, reach: < 2"]
    lines = []
    for row in feedback["rows"]:
        times = (row["turn_ms"][0], row["turn_ms"][-1], row["encode_ms"][-1], row["scan_ms"][-1])
        cells = [*(f"{value:.1f} ms" for value in times), f"{row['ratio']:.2f}", f"{row['turn_5_over_turn_1']:.2f}"]
        lines.append([row["weights"], row["words"], *cells])
    return [
        *format_table(["weights", "words", *head], lines),
        "",
        f"{feedback['pictures']:,} pictures. {machine_line(feedback['machine'])}",
    ]


def heard_table(rows: dict[str, Any]) -> list[str]:
    """One row a training of the dialogue encoder: Hits@10 by round, the mean rank at the end, and the cost."""
    columns: dict[str, Column] = {
        **{f"Hits@10, round {at}": cell_of(format_percent, "Hits@10", at, "mean") for at in ("0", "1", "3", "5")},
        "Hits@10, round 10": cell_of(format_interval, "Hits@10", "10"),
        "R@10, round 10": cell_of(format_percent, "R@10", "10", "mean"),
        "mean rank": cell_of("{:.0f}".format, "mean rank", "10"),
        "minutes of training": minutes_cell,
    }
    return rows_table(rows, columns)


def photos_table(rows: dict[str, Any]) -> list[str]:
    """R@10 on photographs, turn by turn, and the flags of a row."""
    turns = max(len(row["R@10"]) for row in rows.values())
    columns: dict[str, Column] = {f"R@10, turn {at + 1}": cell_of(format_interval, "R@10", at) for at in range(turns)}
    return rows_table(rows, {**columns, "flags": lambda row: ", ".join(row["flags"])})


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
    shipped = {name.removesuffix(AS_SHIPPED): row for name, row in rows.items() if name.endswith(AS_SHIPPED)}
    turns = len(next(iter(shipped.values()))["R@10"])
    columns = {f"R@10, turn {at + 1}": cell_of(format_interval, "R@10", at) for at in range(turns)}
    table = rows_table(shipped, columns, first="system")
    parts["shipped-photographs"] = [*table, "", f"Photographs: {searched}"]
    return parts


def asked_table(rows: dict[str, Any]) -> list[str]:
    """One row a questioner: Hits@10 by round, how varied it was, and how long it took."""
    columns: dict[str, Column] = {
        **{f"Hits@10, round {at}": cell_of(format_percent, "Hits@10", at, "mean") for at in ("0", "1", "2", "3", "5")},
        "Hits@10, round 10": cell_of(format_interval, "Hits@10", "10"),
        "repeated, of 10": cell_of(ratio_cell, "repeated questions"),
        "different words": cell_of("{:.1f}".format, "unique tokens"),
        "don't know": cell_of(format_percent, "don't know"),
        "asked by another": cell_of(format_percent, "by another"),
        "ms a question": lambda row: f"{row.get('median_ms', 0.0):,.0f}",
        "dialogues x seeds": lambda row: f"{row['talks']} x {row['seeds']}",
    }
    return rows_table(rows, columns)


def asking_table(asking: dict[str, Any]) -> list[str]:
    """The time to choose a question, by retriever and learnt questions."""
    head, lines = ["retriever", "learnt questions", "a question, p50, reach: <= 30 ms", "p95"], []
    for row in asking["rows"]:
        what = "those of the scenes" if row["questions"] == "learnt" else row["questions"]
        lines.append([row["retriever"], what, f"{row['p50_ms']:.0f} ms", f"{row['p95_ms']:.0f} ms"])
    return [*format_table(head, lines), "", f"{asking['pictures']:,} pictures. {machine_line(asking['machine'])}"]


def drilldown_table(rows: dict[str, Any]) -> list[str]:
    """One row a trained network: its size, its training's minutes and its recalls; the one that finds most first."""
    columns: dict[str, Column] = {
        "numbers of a query": cell_of(str, "query_numbers"),
        "parameters": cell_of(count_cell, "parameters"),
        "minutes of training": minutes_cell,
        **{metric: cell_of(format_interval, "mean", metric) for metric in ("R@1", "R@5", "R@10")},
    }
    return rows_table(most_found_first(rows), columns)


def rates_table(rows: dict[str, dict[str, float]]) -> list[str]:
    """The validation recall at every learning rate that was tried; the one that was chosen is bold."""
    rates = list(next(iter(rows.values())))
    head, lines = [f"rate {rate}" for rate in rates], []
    for name, found in rows.items():
        best = max(found, key=found.__getitem__)
        cells = [
            f"**{format_percent(recall)}**" if rate == best else format_percent(recall)
            for rate, recall in found.items()
        ]
        lines.append([name, *cells])
    return format_table(["", *head], lines)


def most_found_first(rows: dict[str, Any]) -> dict[str, Any]:
    """Rows by R@10 over all turns."""
    return dict(sorted(rows.items(), key=lambda item: item[1]["mean"]["R@10"]["mean"], reverse=True))


def turns_table(rows: dict[str, Any]) -> list[str]:
    """R@10 after some of the turns."""
    path = ("by turn", "R@10")
    columns = {f"turn {at}": cell_of(format_percent, *path, at - 1, "mean") for at in (1, 2, 3, 5, 7, 10)}
    return rows_table(most_found_first(rows), columns)


def rows_tables(runs: dict[str, list[dict[str, Any]]]) -> list[str]:
    """One table a data set: first and last turn of every task, a column a system."""
    lines: list[str] = []
    for data in dict.fromkeys(name.partition("/")[0] for name in runs):
        systems = [name.partition("/")[2] for name in runs if name.startswith(f"{data}/")]
        found = {system: {row_key(row): row for row in runs[f"{data}/{system}"]} for system in systems}
        rows = [
            [task, f"{metric} {at}", *(format_figure(found[system].get((task, metric, at))) for system in systems)]
            for task, metric, at in ends(runs[f"{data}/{systems[0]}"])
        ]
        lines += [f"**{data}**", "", *format_table(["task", "figure", *systems], rows), ""]
    return lines[:-1]


def row_key(row: dict[str, Any]) -> tuple[str, str, str]:
    """The key of a figure among those of its run."""
    return row["task"], row["metric"], row["at"]


def ends(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The first and the last moment of every task and metric."""
    moments: dict[tuple[str, str], list[str]] = {}
    for task, metric, at in map(row_key, rows):
        moments.setdefault((task, metric), []).append(at)
    return [(*key, at) for key, ats in moments.items() for at in dict.fromkeys((ats[0], ats[-1]))]


def format_figure(row: dict[str, Any] | None) -> str:
    """A figure with half the width of its interval."""
    if row is None:
        return ""
    scale = 1 if row["metric"] in ("BRI", "median rank", "rank") else 100
    return f"{scale * row['mean']:.1f} ± {scale * (row['high'] - row['low']) / 2:.1f}"


def chatir_table(chatir: dict[str, Any], kernel: dict[str, Any]) -> list[str]:
    """Time and memory of the whole protocol, and of the kernel alone."""
    rows = [
        [
            system, f"{found['talks']:,} dialogues x 11 rounds, {found['pool']:,} pictures",
            f"{found['seconds']:.1f} s", f"{found['peak_MiB']:,} MiB",
        ]
        for system, found in chatir["systems"].items()
    ]  # fmt: skip
    whole, ratio = kernel["protocol"], kernel["kernel"]["ratio"]["ranks"]
    size = f"the same; {ratio:.2f} x its matrix product"
    rows.append(["rank kernel alone", size, f"{whole['seconds']:.1f} s", f"{whole['peak_MiB']:,} MiB"])
    rows.append(["reach", "", "< 60 s, kernel <= 1.5 x", "< 1,430 MiB (1.5 GB)"])
    return format_table(["system", "size", "time", "peak memory"], rows)


def worlds_table(worlds: dict[str, dict[str, float]]) -> list[str]:
    """Time of making a world with all its files."""
    columns: dict[str, Column] = {
        "time": cell_of("{:.0f} s".format, "seconds"),
        "processors, a picture": lambda found: f"{1000 * found['cpu_seconds'] / found['pictures']:.0f} ms",
    }
    return rows_table(worlds, columns, first="world")


def language_table(language: dict[str, dict[str, float]]) -> list[str]:
    """How much drawn worlds give away in each language: shares in per cent, counts as they are."""

    def format_leak(name: str, value: float) -> str:
        return f"{value:,.0f}" if name.endswith(("dialogues", "median")) else f"{100 * value:.1f} %"

    names = list(next(iter(language.values())))
    rows = [[name, *(format_leak(name, found[name]) for found in language.values())] for name in names]
    return format_table(["", *language], rows)


def late_interaction_tables(found: dict[str, Any]) -> list[str]:
    """Exact scores over the bare product; what 50,000 and a million pictures cost, and what shortcuts lose; a step."""
    product = []
    for row in found["product"]:
        order, bare = min(row["bare_ms"].items(), key=lambda item: item[1])
        what = f"{row['width']} numbers, {row['vectors']} query vectors"
        product.append([what, f"{bare:.1f} ms", f"`{order}`", f"{row['ours_ms']:.1f} ms", f"{row['ratio']:.2f}"])
    whole = found["million"]
    sizes = f"{whole['GB_in_8_bits']} GB in 8 bits, {whole['GB_of_groups']} GB of groups"
    head = [
        "exact scores of 10,000 pictures x 36 regions",
        "bare product",
        "its fastest order",
        "ours",
        "reach: <= 2 x",
    ]
    million = [f"{whole['pictures']:,} pictures ({sizes}): way", "p50", "overlap@10"]
    step = ["a sentence: model", "a step, p50 (p95), reach: <= 2 ms", "with the sentence's encoding"]
    large = ["50,000 pictures, 128 numbers: way", "query vectors", "p50, reach: <= 80 ms", "overlap@10, >= 0.99"]
    steps = [
        [row["checkpoint"], *(f"{row[part]['p50']:.2f} ({row[part]['p95']:.2f}) ms" for part in STEPS)]
        for row in found["step"]
    ]
    return [
        *format_table(head, product), "",
        *format_table(large, [way_cells(row, str(row["vectors"])) for row in found["large"]]), "",
        *format_table(million, map(way_cells, whole["ways"])), "",
        *format_table(step, steps),
        "", machine_line(found["machine"]), "", f"A million: {machine_line(whole['machine'])}",
    ]  # fmt: skip


STEPS = ("step_ms", "step_and_sentence_ms")


def way_cells(row: dict[str, Any], *between: str) -> list[str]:
    """The cells of one way to the best ten."""
    return [row["way"], *between, f"{row['p50_ms']:.1f} ms", f"{row['overlap_at_10']:.3f}"]


if __name__ == "__main__":
    main()
