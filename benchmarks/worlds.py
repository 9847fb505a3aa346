"""How long worlds take to make, with all their files. Writes benchmarks/results/worlds.json.

python benchmarks/worlds.py DATA         # DATA holds fashion-products/
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from machine import described

from viewfinder.worlds import write_world


def main() -> None:
    """Make one world of each sort into a folder that is thrown away."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "worlds.json")
    given = parser.parse_args()
    photos = given.data.resolve() / "fashion-products"
    sorts: dict[str, dict[str, Any]] = {
        "5,000 drawn scenes": {"kind": "scenes", "count": 5000},
        "1,000 scenes of product photos": {"kind": "scenes", "count": 1000, "sprites": photos},
        "a catalogue of 1,000 drawn articles": {"kind": "catalogue", "count": 1000},
        "a catalogue over all product photos": {"kind": "catalogue", "count": 0, "sprites": photos},
    }
    results = {name: measured(**asked) for name, asked in sorts.items()}
    given.out.write_text(json.dumps({"worlds": results, "machine": described()}, indent=1) + "\n")


def measured(**asked: Any) -> dict[str, float]:
    """Seconds by the clock and of all processors, and pictures made."""
    before, started = processors(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        report = write_world(Path(folder) / "world", seed=1, workers=os.cpu_count() or 1, **asked)
        figures = {
            "pictures": report.pictures,
            "seconds": round(time.perf_counter() - started, 1),
            "cpu_seconds": round(processors() - before, 1),
        }
    print(asked, figures, flush=True)
    return figures


def processors() -> float:
    """Seconds of processors so far, of this process and of the workers that ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


if __name__ == "__main__":
    main()
