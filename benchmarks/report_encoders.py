"""The table of encoders.json, for report.py: what a model costs in torch and as ONNX."""

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
