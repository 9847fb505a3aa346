"""Writes the tables of docs/benchmarks.md and README.md from benchmarks/results/*.json; nothing is typed by hand.

python benchmarks/report.py            # `--check` only says whether the pages are up to date
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def main() -> None:
    """Rewrite the parts between `<!-- name -->` and `<!-- end -->`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    quality, speed = (json.loads((RESULTS / f"{name}.json").read_text()) for name in ("quality", "speed"))
    parts = {
        "quality": quality_table(quality),
        "speed": speed_table(speed),
        "machine": machine(quality["machine"], speed["machine"]),
        "figures": short_table(quality, speed),
    }
    stale = False
    for page in (ROOT / "docs" / "benchmarks.md", ROOT / "README.md"):
        before = page.read_text(encoding="utf-8")
        after = before
        for name, lines in parts.items():
            head, mark, tail = after.partition(f"<!-- {name} -->\n")
            if mark:
                after = head + mark + "\n".join(lines) + "\n<!-- end -->" + tail.partition("<!-- end -->")[2]
        stale |= after != before
        if not check:
            page.write_text(after, encoding="utf-8")
    if check and stale:
        sys.exit("docs/benchmarks.md or README.md differs from the results: run benchmarks/report.py")


def quality_table(quality: dict[str, Any]) -> list[str]:
    """One row a figure: what, reach, measured with its interval."""
    photos, verdicts, products = quality["photos"], quality["verdicts"], quality["products"]
    names, catalogue = products["tuned on names"], products["tuned on catalogue"]
    colour = "like this but <colour>"
    rows = [
        ("text to photo, first caption, R@10", ">= 52 %", photos["R@10 after turn 1"]),
        *(
            (f"... after caption {turn} said as turn {turn}", "rising", photos[f"R@10 after turn {turn}"])
            for turn in (2, 3, 4)
        ),
        ("five captions said as five turns, R@10 at turn 5", ">= 64 %", photos["R@10 after turn 5"]),
        ("product name to photo, tuned on names, R@10", ">= 84 %", names["R@10"]),
        ("the same, R@1", ">= 40 %", names["R@1"]),
        ("product name to photo, tuned on the catalogue, R@10", ">= 84 %", catalogue["R@10"]),
        ("the same, R@1", ">= 40 %", catalogue["R@1"]),
        ('"like this one but `colour`", tuned on names', ">= 60 %", names[colour]),
        ('"like this one but `colour`", tuned on the catalogue', ">= 60 %", catalogue[colour]),
        (
            "the same, where the pool has its catalogue too",
            "",
            products["tuned on catalogue, which the pool has too"][colour],
        ),
        ('described and there: answered "found"', "", verdicts['"found" to what is there']),
        ('described and there: answered "nothing like that here"', "", verdicts['"nothing" to what is there']),
        ('not there: answered "nothing like that here"', "", verdicts['"nothing" to what is not']),
        ('not there: answered "found"', "", verdicts['"found" to what is not']),
    ]
    return ["| what | reach | measured | 95 % interval |", "|---|---|---|---|"] + [
        f"| {what} | {reach} | {percent(found['mean'])} | {percent(found['low'])} to {percent(found['high'])} |"
        for what, reach, found in rows
    ]


def speed_table(speed: dict[str, Any]) -> list[str]:
    """One row a figure."""
    finding, beyond = speed["finding"], speed["memory"]["beyond_MiB"]
    rows = [
        (
            "indexing, over a bare loop that decodes and encodes in as many processes",
            ">= 0.85",
            f"{speed['indexing']['ratio']:.2f} ({speed['indexing']['add_per_second']:.0f} pictures a second)",
        ),
        (
            "`find` in a warm session at 50,000 pictures, over encoding the words + one exact scan, p50",
            "<= 1.5",
            f"{finding['ratio']:.2f} ({finding['find_ms']:.1f} ms; words {finding['words_ms']:.1f}, "
            f"scan {finding['scan_ms']:.1f})",
        ),
        ("turn 20 over turn 2 of one talk", "<= 1.1", f"{speed['long_talks']['ratio']:.2f}"),
        ("a question at 50,000 pictures", "<= 30 ms", f"{speed['asking']['question_ms']:.1f} ms"),
        (
            "memory of indexing 10,000 pictures, peak beyond that of 100",
            "< 600 MB",
            f"{beyond['10000']} MiB (2,500 pictures: {beyond['2500']} MiB)",
        ),
        ("cold start of `viewfinder --help`", "< 0.4 s", f"{speed['cold_start']['help_s']:.2f} s"),
        ("cold start of `viewfinder find`, 2,000 pictures", "< 3.5 s", f"{speed['cold_start']['find_s']:.2f} s"),
    ]
    return ["| what | reach | measured |", "|---|---|---|"] + [f"| {a} | {b} | {c} |" for a, b, c in rows]


def short_table(quality: dict[str, Any], speed: dict[str, Any]) -> list[str]:
    """What the README's first screen has room for."""
    photos, products = quality["photos"], quality["products"]
    return [
        "| | |",
        "|---|---|",
        f"| one sentence, 335 photos: among the first ten | {percent(photos['R@10 after turn 1']['mean'])} |",
        f"| five sentences, one a turn | {percent(photos['R@10 after turn 5']['mean'])} |",
        f"| product by its name, 1,501 photos, after `tune` | {percent(products['tuned on names']['R@10']['mean'])} |",
        f"| a turn at 50,000 pictures | {speed['finding']['find_ms']:.0f} ms |",
    ]


def machine(*machines: dict[str, str]) -> list[str]:
    """Where and when."""
    return [
        f"{found['processor']}; {found['date']}; Python {found['python']}, "
        + ", ".join(f"{name} {found[name]}" for name in ("numpy", "onnxruntime", "lancedb", "pillow"))
        for found in machines[:1]
    ] + [f"(speed: {machines[1]['date']})"]


def percent(share: float) -> str:
    """A share as people read it."""
    return f"{100 * share:.1f} %"


if __name__ == "__main__":
    main()
