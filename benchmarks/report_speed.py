"""The tables of speed.json and serving.json, for report.py: figures beside their aims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from cells import machine_line, reach_table


class Aim(NamedTuple):
    """A line of a table: a part of the results, what is measured, the aim, and the figures.

    `what` and `figures` are templates: {name} is a figure of the part, {apart} the machine if it was measured apart.
    """

    part: str
    what: str
    reach: str
    figures: str


SPEED = (
    Aim(
        "indexing", "indexing, over a bare loop that decodes and encodes in as many processes", ">= 0.95",
        "{ratio:.2f} ({add_per_second:.0f} pictures a second){apart}",
    ),
    Aim(
        "large_pictures", "... of pictures of 12 megapixels, {megabytes:.1f} MB each", "",
        "{ratio:.2f} ({per_second_of_a_core:.0f} pictures a second of a core){apart}",
    ),
    Aim(
        "finding", "`find` in a warm session at 50,000 pictures, over encoding the words + one exact scan, p50",
        "<= 1.2", "{ratio:.2f} ({find_ms:.1f} ms; words {words_ms:.1f}, scan {scan_ms:.1f})",
    ),
    Aim("long_talks", "turn 20 over turn 2 of one conversation", "<= 1.1", "{ratio:.2f}"),
    Aim("asking", "a question at 50,000 pictures", "<= 30 ms", "{question_ms:.1f} ms"),
    Aim(
        "memory", "memory of indexing 10,000 pictures, peak beyond that of 100", "< 600 MB",
        "{beyond_10000} MiB (2,500 pictures: {beyond_2500} MiB){apart}",
    ),
    Aim("cold_start", "cold start of `viewfinder --help`", "< 0.4 s", "{help_s:.2f} s{apart}"),
    Aim("cold_start", "cold start of `viewfinder find`, 2,000 pictures", "< 0.8 s", "{find_s:.2f} s{apart}"),
    Aim("cold_start", "its first run after an install", "< 3 s", "{first_run_s:.2f} s{apart}"),
    Aim(
        "batches", "pictures a second of a core, by how many the network reads at once (`add`: 8)", "",
        "{rates}{apart}",
    ),
)  # fmt: skip

SERVING = (
    Aim(
        "turns", "a turn at 50,000 pictures, text to first results, over the same turn in process, p50", "<= 1.3",
        "{ratio:.2f} ({p50_ms:.1f} ms; in process {engine_ms:.1f})",
    ),
    Aim("turns", "its p99 over its p50", "<= 3", "{p99_over_p50:.1f} ({p99_ms:.1f} ms)"),
    Aim(
        "crowd", "{people} people at once without a pause, {seconds} s: errors", "0", "{errors} in {turns:,} turns",
    ),
    Aim("crowd", "their p95 over the p50 of one person", "<= 40", "{p95_over_single_p50:.0f} ({p95_ms:.0f} ms)"),
    Aim(
        "crowd", "their turns a second over those of the engine alone", ">= 0.85",
        "{throughput_ratio:.2f} ({turns_per_s:.0f} of {engine_turns_per_s:.0f}); "
        "{throughput_ratio_of_what_locust_left:.2f} of what locust left of the cores, of which it took "
        "{locust_share_of_cores:.0%}{apart}",
    ),
    Aim(
        "workers", "the same with `--workers {workers}`, over the engine in {workers} processes", ">= 0.85",
        "{throughput_ratio:.2f} ({turns_per_s:.0f} of {engine_turns_per_s:.0f}); {cpu_ratio:.2f} by the time that a "
        "turn computes{apart}",
    ),
    Aim(
        "paint", "first paint of a conversation with 200 results", "< 1 s",
        "{results_painted_s:.2f} s ({results_on_screen} on the screen; something is there after {first_paint_s:.2f} s, "
        "all pictures after {all_pictures_s:.2f} s)",
    ),
    Aim(
        "paint", "script and style that are loaded before the first pictures", "< 120 kB",
        "{first_kb:.0f} kB ({script_and_style_kb:.0f} kB with what is loaded when needed)",
    ),
    Aim(
        "indexing", "a turn while pictures are added, p95 over that of an idle server", "<= 3",
        "{ratio:.1f} ({busy_p95_ms:.0f} ms, {idle_p95_ms:.0f} ms; {added_meanwhile:,} pictures came in)",
    ),
    Aim(
        "memory", "states of all retrievers", "one bounded cache",
        "{states_mb:.1f} MB after {sessions} conversations, at most {states_limit_mb} MB",
    ),
    Aim(
        "idle", "{conversations} open conversations in which nobody says anything: share of a core", "that of none",
        "{share_of_a_core_with:.1%}; without them {share_of_a_core_without:.1%}",
    ),
    Aim(
        "idle", "memory of each of them, beyond the states of its retriever", "< 100 kB",
        "{kb_per_conversation:.0f} kB; {sessions_in_memory} of them are in memory at a time",
    ),
)  # fmt: skip

PAGE = (
    Aim(
        "cold", "the page with nothing kept, at {kB_per_s} kB/s and {latency_ms} ms a request: first picture", "< 3 s",
        "{first_picture_ms} ms ({first_picture_p10_ms} to {first_picture_p90_ms})",
    ),
    Aim(
        "enter", "Enter to the first picture that fits, {pictures:,} photographs", "< 150 ms",
        "{picture_ms} ms ({picture_p10_ms} to {picture_p90_ms})",
    ),
    Aim("enter", "Enter to the next question", "< 250 ms", "{question_ms} ms ({question_p10_ms} to {question_p90_ms})"),
)  # fmt: skip


def speed_table(speed: dict[str, Any]) -> list[str]:
    """The figures of `speed.py`."""
    beyond = {f"beyond_{count}": peak for count, peak in speed["memory"]["beyond_MiB"].items()}
    rates = ", ".join(f"{size}: {rate:.0f}" for size, rate in speed["batches"]["per_second"].items())
    parts = {"memory": speed["memory"] | beyond, "batches": speed["batches"] | {"rates": rates}}
    return aims_table(SPEED, speed | parts)


def serving_table(serving: dict[str, Any]) -> list[str]:
    """The figures of `serving.py`: the costs of the server, alone and with many people."""
    return [*aims_table(SERVING, serving), "", machine_line(serving["machine"])]


def page_table(page: dict[str, Any]) -> list[str]:
    """The figures of `page.py`: how soon somebody sees something."""
    return [*aims_table(PAGE, page), "", machine_line(page["machine"])]


def aims_table(aims: Iterable[Aim], results: Mapping[str, Any]) -> list[str]:
    """Lines of a table of aims, each filled with the figures of its part; shares are written as "12 %"."""
    lines = []
    for aim in aims:
        part = results[aim.part]
        known = part.get("machine")
        apart = f" ({known['processor']}, {known['date']})" if known else ""
        figures = aim.figures.replace("{apart}", "").format(**part).replace("%", " %")
        lines.append([aim.what.format(**part), aim.reach, figures + apart * ("{apart}" in aim.figures)])
    return reach_table(lines)
