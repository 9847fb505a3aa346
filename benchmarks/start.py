"""How soon does it begin? Cold `find`, and a server's first page and search; writes results/start.json.

    python benchmarks/start.py LIBRARY [LIBRARY ...] [--before SOURCE] [--repeats 5] [--note TEXT]

Every run is a process of its own, and the sources take turns: this checkout, `--before` (the `src` of another one), and
as floors interpreters that import numpy and ONNX Runtime, or those and LanceDB. Processor seconds, those of all threads
of the process, also mean something on a busy machine; seconds by the clock are of an idle one only.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from freshness import RESULTS
from measuring import read_figures, write_figures

import viewfinder

OURS = Path(viewfinder.__file__).parents[1]
FLOORS = {"floor": "import numpy, onnxruntime", "floor_with_lancedb": "import numpy, onnxruntime, lancedb"}
FIND = (
    "import sys; from viewfinder.cli import main; sys.argv = ['viewfinder', 'find', 'a red shirt', *{options}]; main()"
)
SERVE = "import sys; from viewfinder.cli import main; sys.argv = ['viewfinder', 'serve', *{options}]; main()"
PATIENCE_S = 300


def main() -> None:
    """Measures the libraries one after another, and writes the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", type=Path, nargs="+")
    parser.add_argument("--before", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--note", default="", help="what else the machine did meanwhile")
    parser.add_argument("--out", type=Path, default=RESULTS / "start.json")
    given = parser.parse_args()
    sources = {"now": OURS} | ({"before": given.before.resolve()} if given.before else {})
    results = read_figures(given.out)
    for folder in given.libraries:
        count = viewfinder.open(folder).status()["pictures"]
        found = {
            "find": measure_finding(folder, sources, given.repeats),
            "serve": measure_serving(folder, sources, given.repeats),
            "load": round(os.getloadavg()[1], 1),
            "note": given.note,
        }
        results[str(count)] = found
        print(count, json.dumps(found, indent=1), flush=True)
        write_figures("start", results, given.out)


def measure_finding(folder: Path, sources: Mapping[str, Path], repeats: int) -> dict[str, dict[str, float]]:
    """Processor seconds and seconds of `find`, and of the floors; the first round is not counted."""
    options = ["--library", str(folder.resolve())]
    ways = {name: (FIND.format(options=options), source) for name, source in sources.items()}
    ways |= {name: (code, OURS) for name, code in FLOORS.items()}
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(repeats + 1):
        for name, (code, source) in ways.items():
            spent[name].append(time_process(code, source))
    return {name: summarise(times[1:]) for name, times in spent.items()}


def time_process(code: str, source: Path) -> tuple[float, float]:
    """Processor seconds and seconds of an interpreter that runs some code with the package of a source folder."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, env=environment(source))
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, code
    return used.ru_utime + used.ru_stime, time.perf_counter() - started


def environment(source: Path) -> dict[str, str]:
    """This process's, with another source folder first; compiled modules are kept, as after an install."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": str(source)}


def summarise(times: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Medians, and the least of the processor seconds, in which others disturbed least."""
    used, waited = zip(*times, strict=True)
    return {
        "processor_s": round(statistics.median(used), 3),
        "least_processor_s": round(min(used), 3),
        "s": round(statistics.median(waited), 3),
    }


def measure_serving(folder: Path, sources: Mapping[str, Path], repeats: int) -> dict[str, dict[str, dict[str, float]]]:
    """From the start of a server to its first page, and on to the answer of the first search."""
    spent: dict[str, list[list[tuple[float, float]]]] = {name: [] for name in sources}
    for _ in range(repeats + 1):
        for name, source in sources.items():
            spent[name].append(time_server(folder, source))
    return {
        name: {
            step: summarise([run[place] for run in runs[1:]])
            for place, step in enumerate(("first_page", "first_search"))
        }
        for name, runs in spent.items()
    }


def time_server(folder: Path, source: Path) -> list[tuple[float, float]]:
    """Processor seconds and seconds of a fresh server to its first page and to its first answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--library", str(folder.resolve()), "--port", str(port)]
    started = time.perf_counter()
    server = psutil.Popen(
        [sys.executable, "-c", SERVE.format(options=options)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(source),
    )  # fmt: skip
    try:
        ask(port, "/")
        page = spent_by(server), time.perf_counter() - started
        session = json.loads(ask(port, "/api/v1/sessions", {}))["id"]
        ask(port, f"/api/v1/sessions/{session}/turns", {"say": "a red shirt"})
        return [page, (spent_by(server), time.perf_counter() - started)]
    finally:
        server.terminate()
        server.wait()


def spent_by(server: psutil.Process) -> float:
    """Processor seconds of a process so far."""
    used = server.cpu_times()
    return float(used.user + used.system)


def ask(port: int, path: str, body: Mapping[str, Any] | None = None) -> bytes:
    """What a server answers, asked until it is there."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with suppress(ConnectionError, urllib.error.URLError):
            request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return bytes(answer.read())
        time.sleep(0.01)
    raise TimeoutError(path)


if __name__ == "__main__":
    main()
