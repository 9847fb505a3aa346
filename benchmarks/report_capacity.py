"""The tables and the plot of capacity.json, for report.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cells import format_interval, format_percent, format_table, machine_line
from plots import Plot

COLOURS = {1: "#c2571a", 2: "#1b6ca8", 3: "#2e7d4f"}


def capacity_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """All tables of `capacity.py`."""
    return {
        "capacity-costs": costs_table(found["turns"], found["paper"]),
        "capacity-plan": plan_table(found["paper"]),
        "capacity-indexed": indexed_table(found["indexed"], found["paper"]),
        "capacity-fleet": fleet_table(found["fleet"]),
        "capacity-assumed": assumed_lines(found["fleet"]),
        "capacity-small": small_table(found["small"]),
        "capacity-machine": [machine_line(found["machine"])],
    }


def costs_table(turns: dict[str, Any], paper: dict[str, Any]) -> list[str]:
    """The cost of a turn at each size, and the line through these."""
    rows = [[f"{row['pictures']:,}", f"{row['core_ms']:.1f} ms"] for row in turns["rows"]]
    line = (
        f"{paper['core_ms_a_turn']:.1f} ms a turn with what the server adds, and "
        f"{turns['core_ns_a_picture']:.0f} ns more a picture; {turns['bytes_a_picture']:,} bytes a picture that "
        f"searching maps, beside {turns['process_mb']:,} MB of the process"
    )
    return [*format_table(["pictures", "a turn with its question, time of a core"], rows), "", line + "."]


def plan_table(paper: dict[str, Any]) -> list[str]:
    """One row a number of pictures; people in columns."""
    people = sorted({row["people"] for row in paper["rows"]})
    pictures = sorted({row["pictures"] for row in paper["rows"]})
    cells = {(row["pictures"], row["people"]): row for row in paper["rows"]}
    rows = []
    for count in pictures:
        first = cells[count, people[0]]
        told = [f"{cells[count, n]['cores']:,} cores, ${cells[count, n]['dollars_a_month']:,}" for n in people]
        rows.append([f"{count:,}", f"{first['one_core_s']:.2f} s", f"{_gigabytes(first['memory_gb'])}", *told])
    assumed = (
        f"{paper['turns_a_minute']} turns a minute of each, cores busy {100 * paper['busy']:.0f} % of the time; "
        f"dollars a month at ${paper['core_hour']} a core-hour, ${paper['gigabyte_hour']} a GB-hour: all assumed."
    )
    head = ["pictures", "a turn on one core", "memory", *(f"{n:,} people" for n in people)]
    return [*format_table(head, rows), "", assumed]


def _gigabytes(memory: float) -> str:
    return f"{memory:,.0f} GB" if memory >= 1 else f"{memory:.1f} GB"


def indexed_table(indexed: dict[str, Any], paper: dict[str, Any]) -> list[str]:
    """The plan over an index."""
    scan = indexed["scan"]
    lines = (
        f"{indexed['core_ms_a_turn']:.1f} ms a turn with what the server adds, and "
        f"{indexed['core_ns_a_picture']:.1f} ns more a picture, measured up to {indexed['largest']:,} pictures; "
        "beyond, computed. Memory is that of one process.",
        "",
        "The two plans are not made of equal turns. A turn here is a search for a sentence that was never said before, "
        "without the question that follows it, and matrix products used both cores; in the plan above a turn includes "
        f"its question, on one thread. A scan measured like the turns here takes {scan['core_ms_a_turn']:.1f} ms and "
        f"{scan['core_ns_a_picture']:.0f} ns more a picture, so compare "
        f"{indexed['core_ns_a_picture']:.1f} with {scan['core_ns_a_picture']:.0f} ns, and not the first figures.",
    )
    return [*plan_table({**paper, **indexed}), "", *lines]


def fleet_table(fleet: dict[str, Any]) -> list[str]:
    """One row a number of replicas and a load."""
    rows = [
        [
            str(row["replicas"]),
            f"{100 * row['load']:.0f} % ({row['load'] * fleet['most_per_s']:.1f}/s)",
            "yes" if row["asked_twice"] else "no",
            *(_milliseconds(row[f"p{share}_ms"]) for share in (50, 95, 99)),
            format_interval(row["incomplete"]),
        ]
        for row in fleet["rows"]
    ]
    head = ["replicas", "queries, of what one can", "asked twice", "p50", "p95", "p99", "answers that lack a shard"]
    theory = ", ".join(
        f"{share:.2%} with {replicas}" for replicas, share in enumerate(fleet["incomplete_in_theory"], start=1)
    )
    return [*format_table(head, rows), "", f"Theory, if failures were noticed at once: {theory}."]


def _milliseconds(found: dict[str, float]) -> str:
    return f"{found['mean']:,.0f} ms ({found['low']:,.0f} to {found['high']:,.0f})"


def assumed_lines(fleet: dict[str, Any]) -> list[str]:
    """The assumptions of the simulation."""
    return [
        f"{fleet['pictures']:,} pictures on {fleet['shards']} shards; a replica has {fleet['cores']} cores. Measured: "
        f"a shard takes {fleet['scan_ms']:,.0f} ms of a core, its p99 is {fleet['p99_over_p50']} times that. Assumed: "
        f"{format_percent(fleet['stragglers'])} of scans take {fleet['slower']:.0f} times as long; a replica runs "
        f"{fleet['up_h']:.0f} h, is back after {fleet['repair_min']:.0f} min, and is still asked for "
        f"{fleet['noticed_s']:.0f} s after it failed; another one is asked after {fleet['hedge_ms']:,} ms, and after "
        f"{fleet['deadline_ms']:,} ms the answer goes out without the shard. {fleet['episodes']} runs of "
        f"{fleet['queries']} queries each, 95 % intervals over runs."
    ]


def small_table(small: dict[str, Any]) -> list[str]:
    """The times of two real processes beside those of the simulation."""
    rows = [
        [f"{100 * row['load']:.0f} %", who, *(f"{row[who][f'p{share}_ms']:,.0f} ms" for share in (50, 95, 99))]
        for row in small["rows"]
        for who in ("measured", "simulated")
    ]
    told = (
        f"Two shards of {small['pictures']:,} pictures in two processes, {small['repeats']} times {small['queries']} "
        f"queries a load, medians over the {small['repeats']}; a scan took {small['scan_ms']:.0f} ms, under load "
        f"{small['scans_under_load_over_alone']:.2f} times as long as between. {small['others_running']:.1f} programs "
        "wanted the two cores on average."
    )
    return [*format_table(["load", "", "p50", "p95", "p99"], rows), "", told]


def capacity_plot(found: dict[str, Any]) -> Plot:
    """The time of an answer of a fleet under load."""
    return Plot("capacity.svg", found["fleet"]["rows"], paint_fleet)


def paint_fleet(axes: Any, rows_of_all: Sequence[dict[str, Any]]) -> None:
    """The 99th percentile over the load, a line a number of replicas."""
    for replicas, colour in COLOURS.items():
        for asked_twice in (False, True):
            rows = [r for r in rows_of_all if (r["replicas"], r["asked_twice"]) == (replicas, asked_twice)]
            if rows:
                middle = [row["p99_ms"]["mean"] for row in rows]
                ends = [[row["p99_ms"]["mean"] - row["p99_ms"]["low"] for row in rows]]
                ends += [[row["p99_ms"]["high"] - row["p99_ms"]["mean"] for row in rows]]
                axes.errorbar(
                    [100 * row["load"] for row in rows], middle, yerr=ends, color=colour, marker="o", markersize=4,
                    linestyle="-" if asked_twice or replicas == 1 else ":", elinewidth=0.8,
                    label=f"{replicas} replica{'s' * (replicas > 1)}{', asked twice' * asked_twice}",
                )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlabel("queries, % of what one replica of every shard can answer")
    axes.set_ylabel("p99 of an answer, ms")
    axes.legend(frameon=False, fontsize=8)
