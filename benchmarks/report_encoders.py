"""The tables of encoders.json and sentences.json, for report.py: what a model costs in torch, as ONNX and in 8 bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cells import format_table, machine_line


def encoders_table(found: Mapping[str, Any]) -> list[str]:
    """One row a way."""
    rows = []
    for way, finding in found["finding"].items():
        indexing = found["indexing"][way]
        rows.append(
            [
                way,
                f"{found['model']['MB'][way]:,} MB",
                f"{finding['cpu_s']:.1f} s, {finding['peak_MB']:,} MB",
                f"{finding['first_cpu_s']:.1f} s",
                f"{indexing['pictures_per_s']:.1f} ({indexing['times_torch']:.1f} times)",
            ]
        )
    heads = [
        "", "files", "a search: processor, peak memory", "the very first: processor",
        "pictures a second on two threads (over torch)",
    ]  # fmt: skip
    return [*format_table(heads, rows), "", machine_line(found["machine"])]


def sentences_table(found: Mapping[str, Any]) -> list[str]:
    """The network of sentences in float32 and in 8 bits, and what the second gains."""
    ms, memory = found["ms"], found["memory"]
    ways = ("float32", "8 bits")
    times = f"{ms['ratio']:.1f} times ({' to '.join(f'{quartile:.1f}' for quartile in ms['quartiles'])})"
    rows = [
        ["a text, ms of a processor", *(f"{ms[way]:.1f}" for way in ways), times],
        ["private memory, MB", *(str(memory[way]["private_MB"]) for way in ways), ""],
        *(
            [
                f"R@{best}",
                *(f"{100 * kept[way]:.1f} %" for way in ways),
                f"{100 * kept['gain']:+.2f} ({100 * kept['low']:+.2f} to {100 * kept['high']:+.2f})",
            ]
            for best, kept in found["found"].items()
        ),
    ]  # fmt: skip
    about = (
        f"{found['captions']:,} captions, {found['photographs']:,} photographs; cosine of the two vectors of a caption"
        f" {found['cosine']['mean']:.4f} (least {found['cosine']['least']:.4f})"
    )
    return [*format_table(["", *ways, "gain (interval)"], rows), "", about, "", machine_line(found["machine"])]
