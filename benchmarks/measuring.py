"""Takes times, and writes figures with what they measure and where; shared by the benchmarks of speed."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from freshness import RESULTS, sign
from machine import describe_host

Result = TypeVar("Result")
Name = TypeVar("Name", bound=Hashable)


def time_call(work: Callable[..., Result], *given: Any) -> tuple[Result, float]:
    """The result of a call, and the milliseconds it took."""
    result, spent_ms, _ = time_call_and_cores(work, *given)
    return result, spent_ms


def time_call_and_cores(work: Callable[..., Result], *given: Any) -> tuple[Result, float, float]:
    """The result of a call, the milliseconds it took, and those of processor time that this process spent on it."""
    at_work, started = time.process_time(), time.perf_counter()
    result = work(*given)
    ended, worked = time.perf_counter(), time.process_time()
    return result, (ended - started) * 1000, (worked - at_work) * 1000


def time_in_turn(ways: Mapping[Name, Callable[[], object]], repeats: int) -> dict[Name, list[float]]:
    """Milliseconds of each way; they take turns, so that a busy moment meets all. The first round only warms up."""
    taken: dict[Name, list[float]] = {name: [] for name in ways}
    for _ in range(repeats + 1):
        for name, way in ways.items():
            taken[name].append(time_call(way)[1])
    return {name: times[1:] for name, times in taken.items()}


def read_figures(file: Path) -> dict[str, Any]:
    """The figures of a result file; none if there is no such file."""
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def write_json(file: Path, results: Mapping[str, Any]) -> None:
    """Writes figures as a result file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def write_figures(name: str, results: dict[str, Any], file: Path, parts: Iterable[str] = ("all",)) -> None:
    """Writes figures that were just measured, beside them this machine and the source files that they measure.

    Args:
        name: that of the result file, without its ending.
        parts: those of the file that were measured.
    """
    results["machine"] = describe_host()
    sign(results, name, parts)
    write_json(file, results)


def measure_parts(name: str, about: str | None, parts: Mapping[str, Callable[[Sequence[Path]], Any]]) -> None:
    """The command line of a benchmark of parts on a folder of pictures: measures all, or those named by `--only`."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("pictures", type=Path)
    parser.add_argument("--only", nargs="*", choices=sorted(parts), default=list(parts))
    parser.add_argument("--out", type=Path, default=RESULTS / f"{name}.json")
    given = parser.parse_args()
    results = read_figures(given.out)
    is_whole = set(given.only) == set(parts)
    for part in given.only:
        found = parts[part](sorted(given.pictures.resolve().glob("*.jpg")))
        results[part] = found if is_whole else found | {"machine": describe_host()}
        print(part, json.dumps(results[part], indent=1), flush=True)
    if is_whole:
        results["machine"] = describe_host()
    sign(results, name, given.only)
    write_json(given.out, results)
