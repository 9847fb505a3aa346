"""How many cores, how much memory and how much money do pictures and people take? Writes results/capacity.json.

    python benchmarks/capacity.py        # 15 minutes; `--only paper indexed people fleet` only computes

`turns` measures what a turn costs at several sizes; `small` runs two shards in processes of their own and compares the
simulation with them; `paper`, `indexed`, `people` and `fleet` only compute, from `turns`, serving.json and scale.json.
Costs are seconds of a core (CPU time), so they also hold on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from capacity_model import (
    Answers,
    Failures,
    Fleet,
    always,
    lognormal_of,
    resampled,
    share_incomplete_in_theory,
    simulate_fleet,
    with_stragglers,
)
from freshness import RESULTS, sign
from machine import describe_host
from measuring import read_figures, write_json
from speed import library_of_vectors, phrases
from threadpoolctl import threadpool_limits

from viewfinder.conversation import Say
from viewfinder.library import Library
from viewfinder.search.index_files import pays
from viewfinder.search.kernels import dot_scores, top_k

SIZES = (10_000, 100_000, 200_000)
"""Pictures at which whole turns are measured."""

TALKS = 8
"""Conversations of ten turns each that are held at every size."""

TURNS_A_MINUTE = 4
"""Turns a minute of one person who talks: assumed."""

BUSY = 0.6
"""How busy cores may be on average, so that answers do not queue: assumed, the simulation shows what it means."""

CORE_HOUR, GIGABYTE_HOUR = 0.04, 0.005
"""Prices in dollars, about what clouds ask for: assumed; put your own."""

ADVISED, ADVISED_PEOPLE = {200_000: "a scan", 1_000_000: "the index", 3_000_000: "the index"}, (10, 100, 1_000)
"""Collections and crowds for which docs/scale.md gives advice."""

PICTURES = (100_000, 1_000_000, 10_000_000, 100_000_000)
PEOPLE = (10, 100, 1_000, 10_000)


def main() -> None:
    """Run every part, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--out", type=Path, default=RESULTS / "capacity.json")
    given = parser.parse_args()
    results = read_figures(given.out)
    for name in given.only:
        results[name] = PARTS[name](results)
        print(name, json.dumps(results[name], indent=1), flush=True)
        if name in MEASURED:
            results["machine"] = describe_host()
        sign(results, "capacity", [name])
        write_json(given.out, results)


# -- what a turn costs


def measure_turns(results: dict[str, Any]) -> dict[str, Any]:
    """Seconds of a core that a turn with its question takes at several sizes, a line through them, bytes a picture."""
    del results
    process_mb = round(measure_process() / 1e6)  # before the large libraries are there
    spent: dict[int, list[float]] = {size: [] for size in SIZES}
    with ExitStack() as stack:
        libraries = {size: stack.enter_context(library_of_vectors(size)) for size in SIZES}
        stack.enter_context(threadpool_limits(1, user_api="blas"))
        for talk in range(TALKS + 1):  # one for each size in turn, the first of all to warm up
            for size, library in libraries.items():
                chat, times = library.chat(n=50), []
                for text in phrases(80)[talk * 10 % 80 :][:10]:
                    started = time.process_time()
                    chat.search(Say(f"{text} {talk}"))
                    chat.follow_up()
                    times.append(time.process_time() - started)
                spent[size] += times if talk else []
        mapped = {size: _count_mapped_bytes(library) for size, library in libraries.items()}
    rows = [
        {"pictures": size, "core_ms": 1000 * statistics.median(spent[size]), "bytes": mapped[size]} for size in SIZES
    ]
    start_ms, slope_ms = line_through([(row["pictures"], row["core_ms"]) for row in rows])
    return {
        "rows": [{**row, "core_ms": round(row["core_ms"], 2)} for row in rows],
        "core_ms_a_turn": round(start_ms, 2),
        "core_ns_a_picture": round(1e6 * slope_ms, 1),
        "bytes_a_picture": round((rows[-1]["bytes"] - rows[0]["bytes"]) / (SIZES[-1] - SIZES[0])),
        "process_mb": process_mb,
    }


def measure_process() -> int:
    """Bytes that a process has to itself which searches the smallest library, beside what it maps."""
    with library_of_vectors(SIZES[0]) as library:
        chat = library.chat(n=50)
        chat.search(Say("a dog in the snow"))
        chat.follow_up()
        return int(psutil.Process().memory_full_info().uss)


def _count_mapped_bytes(library: Library) -> int:
    """Bytes of the files that searching maps: the snapshot of a library, and what is derived from it."""
    folder = library.gallery().snapshot.folder
    assert folder is not None, "the snapshot of a library in a scratch folder is written"
    return sum(file.stat().st_size for file in folder.iterdir())


@dataclass(frozen=True)
class Costs:
    """The costs of a turn: seconds of a core whatever the size, and for every picture; bytes a picture."""

    core_s: float
    core_s_a_picture: float
    bytes_a_picture: float
    process_bytes: float

    @staticmethod
    def of(turns: dict[str, Any], crowd: dict[str, Any], cores: int) -> Costs:
        """The costs from measured turns, and from what the server adds to those of the engine (serving.json)."""
        server_s = cores / crowd["turns_per_s"] - cores / crowd["engine_turns_per_s"]
        return Costs(
            turns["core_ms_a_turn"] / 1000 + server_s,
            turns["core_ns_a_picture"] / 1e9,
            turns["bytes_a_picture"],
            turns["process_mb"] * 1e6,
        )


def plan(costs: Costs, pictures: int, people: int) -> dict[str, Any]:
    """Cores, memory and dollars a month that so many people take who look for something in so many pictures."""
    turns_per_s = people * TURNS_A_MINUTE / 60
    cores = math.ceil(turns_per_s * (costs.core_s + costs.core_s_a_picture * pictures) / BUSY)
    gigabytes = (costs.bytes_a_picture * pictures + costs.process_bytes) / 1e9
    hours = 730
    return {
        "pictures": pictures,
        "people": people,
        "turns_per_s": round(turns_per_s, 2),
        "cores": cores,
        "memory_gb": round(gigabytes, 1),
        "dollars_a_month": round(hours * (cores * CORE_HOUR + gigabytes * GIGABYTE_HOUR)),
        "one_core_s": round(costs.core_s + costs.core_s_a_picture * pictures, 3),
    }


def plan_indexed(results: dict[str, Any]) -> dict[str, Any]:
    """The plan for turns over an index, as far as scale.py has measured them; empty where it has not.

    Those are searches without a question, and memory is that of a process that took some; `scan` is the line through
    scans that were measured in the same way.
    """
    sizes = _read_measured_sizes()
    if len(sizes) < 2:
        return {}
    costs, scan = _fit_costs(sizes, "index"), _fit_costs(sizes, "scan")
    return {
        "core_ms_a_turn": round(1000 * costs.core_s, 2),
        "core_ns_a_picture": round(1e9 * costs.core_s_a_picture, 2),
        "scan": {
            "core_ms_a_turn": round(1000 * scan.core_s, 2),
            "core_ns_a_picture": round(1e9 * scan.core_s_a_picture, 1),
        },
        "largest": max(sizes),
        "rows": [plan(costs, pictures, people) for pictures in PICTURES if pays(pictures) for people in PEOPLE],
    }


def advise(results: dict[str, Any]) -> dict[str, Any]:
    """Cores for some pictures and people, by the way in which so many pictures are searched."""
    sizes = _read_measured_sizes()
    if len(sizes) < 2:
        return {}
    costs = {"a scan": _add_server_costs(results["turns"]), "the index": _fit_costs(sizes, "index")}
    plans = [plan(costs[how], pictures, people) for pictures, how in ADVISED.items() for people in ADVISED_PEOPLE]
    return {
        "by": {str(pictures): how for pictures, how in ADVISED.items()},
        "rows": [{name: row[name] for name in ("pictures", "people", "turns_per_s", "cores")} for row in plans],
    }


def _read_measured_sizes() -> dict[int, dict[str, Any]]:
    """The results of scale.py by size, of sizes at which turns were measured."""
    sizes = read_figures(RESULTS / "scale.json").get("sizes", {})
    return {int(size): found for size, found in sizes.items() if "turns" in found}


def _fit_costs(sizes: dict[int, dict[str, Any]], way: str) -> Costs:
    """The line through what turns with the index or by a scan cost, memory that of a process with an index."""
    start_ms, slope_ms = line_through([(size, found["turns"][way]["cpu_ms"]) for size, found in sizes.items()])
    start_mb, slope_mb = line_through([(size, found["memory"]["resident_MB"]) for size, found in sizes.items()])
    return _add_server_costs(
        {
            "core_ms_a_turn": start_ms,
            "core_ns_a_picture": 1e6 * slope_ms,
            "bytes_a_picture": 1e6 * slope_mb,
            "process_mb": start_mb,
        }
    )


def line_through(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Height at 0 and slope of the line that fits best; neither below 0, which no cost is."""
    slope, start = np.polyfit([x for x, _ in points], [y for _, y in points], 1)
    return max(float(start), 0.0), max(float(slope), 0.0)


def _add_server_costs(turns: dict[str, Any]) -> Costs:
    serving = read_figures(RESULTS / "serving.json")
    cores = int(serving["machine"]["processor"].rsplit(", ", 1)[1].split()[0])
    return Costs.of(turns, serving["crowd"], cores)


def plan_on_paper(results: dict[str, Any]) -> dict[str, Any]:
    """The table of pictures and people, for the exact scan."""
    costs = _add_server_costs(results["turns"])
    return {
        "turns_a_minute": TURNS_A_MINUTE,
        "busy": BUSY,
        "core_hour": CORE_HOUR,
        "gigabyte_hour": GIGABYTE_HOUR,
        "core_ms_a_turn": round(1000 * costs.core_s, 2),
        "rows": [plan(costs, pictures, people) for pictures in PICTURES for people in PEOPLE],
    }


# -- a hundred million pictures


ALL_PICTURES, SHARDS, CORES = 100_000_000, 32, 2
EPISODES, QUERIES, WARM_UP = 30, 100, 30
"""Each episode begins with failures as they would be found after a long time."""

LOADS = (0.2, 0.4, 0.6, 0.8)
"""Shares of what one replica of every shard could answer."""

STRAGGLERS, SLOWER = 0.01, 5.0
UP_S, REPAIR_S, NOTICED_S = 8 * 3600.0, 600.0, 10.0
HEDGE, DEADLINE = 2.0, 8.0
"""Waiting times, as multiples of the median time of a scan."""


def simulate_large(results: dict[str, Any]) -> dict[str, Any]:
    """A hundred million pictures on 32 shards that scan: how long answers take, and how many lack a shard."""
    scan_s = results["turns"]["core_ns_a_picture"] / 1e9 * ALL_PICTURES / SHARDS
    return simulate_shards(scan_s, results["paper"]["core_ms_a_turn"] / 1000)


def simulate_shards(
    scan_s: float, around_s: float, *, most_replicas: int = 3, loads: Sequence[float] = LOADS
) -> dict[str, Any]:
    """A hundred million pictures on 32 shards, each taking `scan_s` of a core, and the coordinator `around_s`."""
    spread = read_figures(RESULTS / "serving.json")["turns"]["p99_over_p50"]
    scans = with_stragglers(lognormal_of(scan_s, scan_s * spread), STRAGGLERS, SLOWER)
    failures = Failures(UP_S, REPAIR_S, NOTICED_S)
    most_per_s = CORES / scan_s
    rows: list[dict[str, Any]] = []
    for replicas in range(1, most_replicas + 1):
        for load in loads:
            for hedge in (False, True)[: 1 if replicas == 1 else 2]:
                fleet = Fleet(
                    SHARDS, scans, replicas, CORES, lognormal_of(around_s, around_s * spread), failures,
                    hedge_s=HEDGE * scan_s if hedge else None, deadline_s=DEADLINE * scan_s,
                )  # fmt: skip
                runs = [
                    simulate_fleet(fleet, load * most_per_s, QUERIES, warm_up=WARM_UP, seed=100 * len(rows) + episode)
                    for episode in range(EPISODES)
                ]
                rows.append({"replicas": replicas, "load": load, "asked_twice": hedge, **summarise(runs)})
                print(rows[-1], flush=True)
    return {
        "pictures": ALL_PICTURES,
        "shards": SHARDS,
        "cores": CORES,
        "scan_ms": round(1000 * scan_s, 1),
        "most_per_s": round(most_per_s, 2),
        "p99_over_p50": spread,
        "stragglers": STRAGGLERS,
        "slower": SLOWER,
        "up_h": UP_S / 3600,
        "repair_min": REPAIR_S / 60,
        "noticed_s": NOTICED_S,
        "hedge_ms": round(1000 * HEDGE * scan_s),
        "deadline_ms": round(1000 * DEADLINE * scan_s),
        "episodes": EPISODES,
        "queries": QUERIES,
        "incomplete_in_theory": [share_incomplete_in_theory(SHARDS, n, failures.share_down) for n in (1, 2, 3)],
        "rows": rows,
    }


def summarise(runs: Sequence[Answers]) -> dict[str, Any]:
    """Percentiles in ms and the share of answers that lack a shard; 95 % intervals over runs (bootstrap, seed 0)."""
    rng = np.random.default_rng(0)
    samples = [rng.integers(len(runs), size=len(runs)) for _ in range(200)]

    def figure(of: Any) -> dict[str, float]:
        low, high = np.percentile([of([runs[at] for at in sample]) for sample in samples], [2.5, 97.5])
        return {"mean": float(of(runs)), "low": float(low), "high": float(high)}

    def percentile_ms(share: int) -> dict[str, float]:
        found = figure(lambda some: 1000 * np.percentile(np.concatenate([run.seconds for run in some]), share))
        return {name: round(value, 1) for name, value in found.items()}

    return {
        **{f"p{share}_ms": percentile_ms(share) for share in (50, 95, 99)},
        "incomplete": figure(lambda some: statistics.fmean(run.share_incomplete for run in some)),
    }


# -- two real shards


WIDTH, SHARD_PICTURES = 256, 50_000
REPEATS, CLOSED, OPEN = 5, 100, 200
REAL_LOADS = (0.2, 0.4, 0.6)


@dataclass(frozen=True)
class ShardRun:
    """Queries that two shards answered: when each was due, and for each shard when its scan began and ended (q, s)."""

    due_q: np.ndarray
    began_qs: np.ndarray
    ended_qs: np.ndarray

    @property
    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The three arrays of the run."""
        return self.due_q, self.began_qs, self.ended_qs

    @property
    def seconds_q(self) -> np.ndarray:
        """Seconds of each query, from the time it was due to the answer of the last shard."""
        return np.asarray(self.ended_qs.max(axis=1) - self.due_q)

    @property
    def scans_qs(self) -> np.ndarray:
        """How long the scans took."""
        return np.asarray(self.ended_qs - self.began_qs)


def serve_shard(pipe: Connection, pictures: int, seed: int) -> None:
    """One shard: a matrix as the engine has it, scanned with one thread for every query that comes; None ends it."""
    rng = np.random.default_rng(seed)
    matrix_nd = rng.standard_normal((pictures, WIDTH), dtype=np.float32)
    query_d = matrix_nd[0].copy()
    with threadpool_limits(1, user_api="blas"):
        top_k(dot_scores(matrix_nd, query_d), 10)
        pipe.send(0)
        while (number := pipe.recv()) is not None:
            began = time.monotonic()
            top_k(dot_scores(matrix_nd, query_d), 10)
            pipe.send((number, began, time.monotonic()))


class Shards:
    """Two shards in processes of their own."""

    def __init__(self, pictures: int, count: int = 2) -> None:
        context = get_context("spawn")
        pairs = [context.Pipe() for _ in range(count)]
        self._pipes = [ours for ours, _ in pairs]
        for seed, (_, theirs) in enumerate(pairs):
            context.Process(target=serve_shard, args=(theirs, pictures, seed), daemon=True).start()
        for pipe in self._pipes:
            pipe.recv()  # its matrix is made

    def close(self) -> None:
        """Ends them."""
        for pipe in self._pipes:
            pipe.send(None)

    def ask(self, waits_s: Sequence[float] | None, queries: int) -> ShardRun:
        """Queries after such pauses, whatever is still being answered; None: each when the one before is answered."""
        due_q = np.zeros(queries)
        times_qst = np.zeros((queries, len(self._pipes), 2))

        def collect(shard: int, count: int) -> None:
            for _ in range(count):
                number, *times = self._pipes[shard].recv()
                times_qst[number, shard] = times

        if waits_s is None:
            for number in range(queries):
                due_q[number] = time.monotonic()
                self._send(number)
                for shard in range(len(self._pipes)):
                    collect(shard, 1)
        else:
            readers = [threading.Thread(target=collect, args=(s, queries)) for s in range(len(self._pipes))]
            for reader in readers:
                reader.start()
            due_q = time.monotonic() + 0.1 + np.cumsum(waits_s)
            for number in range(queries):
                time.sleep(max(0.0, due_q[number] - time.monotonic()))
                self._send(number)
            for reader in readers:
                reader.join()
        return ShardRun(due_q, times_qst[:, :, 0], times_qst[:, :, 1])

    def _send(self, number: int) -> None:
        for pipe in self._pipes:
            pipe.send(number)


def compare_small(results: dict[str, Any], pictures: int = SHARD_PICTURES, repeats: int = REPEATS) -> dict[str, Any]:
    """Two real shards under a Poisson load beside the simulation of the same.

    The simulation knows what scans take from queries asked one by one, before and after each run: other programs on the
    machine make them slower and faster by the minute.
    """
    del results
    shards = Shards(pictures)
    rng = random.Random(0)
    measured: dict[float, list[np.ndarray]] = {load: [] for load in REAL_LOADS}
    simulated: dict[float, list[np.ndarray]] = {load: [] for load in REAL_LOADS}
    scans, slower, running = [], [], []
    try:
        for repeat in range(repeats):
            for load in REAL_LOADS:
                before = shards.ask(None, CLOSED)
                rate = load / float(before.scans_qs.mean(axis=0).max())
                run = shards.ask([rng.expovariate(rate) for _ in range(OPEN)], OPEN)
                alone = ShardRun(*map(np.concatenate, zip(before.parts, shards.ask(None, CLOSED).parts, strict=True)))
                running.append(os.getloadavg()[0])
                measured[load].append(run.seconds_q)
                scans.append(float(np.median(alone.scans_qs)))
                slower.append(float(run.scans_qs.mean() / alone.scans_qs.mean()))
                around_s = float(np.median(alone.seconds_q - alone.scans_qs.max(axis=1)))
                fleet = Fleet(2, resampled(alone.scans_qs.tolist()), draw_coordinator=always(around_s))
                simulated[load].append(np.array(simulate_fleet(fleet, rate, 8000, warm_up=200, seed=repeat).seconds))
                print(load, percentiles_ms(measured[load][-1:]), percentiles_ms(simulated[load][-1:]), flush=True)
    finally:
        shards.close()
    return {
        "pictures": pictures,
        "repeats": repeats,
        "queries": OPEN,
        "scan_ms": round(1000 * statistics.median(scans), 2),
        "scans_under_load_over_alone": round(statistics.median(slower), 3),
        "others_running": round(statistics.median(running), 1),
        "rows": [
            {
                "load": load,
                "measured": middle_of(measured[load]),
                "simulated": middle_of(simulated[load]),
            }
            for load in REAL_LOADS
        ],
    }


def middle_of(seconds_of_repeats: Sequence[np.ndarray]) -> dict[str, float]:
    """The medians over repeats of their percentiles: one repeat that something else held up does not decide."""
    each = [percentiles_ms([seconds]) for seconds in seconds_of_repeats]
    return {name: round(statistics.median(one[name] for one in each), 1) for name in each[0]}


def percentiles_ms(seconds_of_repeats: Sequence[Sequence[float] | np.ndarray]) -> dict[str, float]:
    """p50, p95 and p99 of all repeats together."""
    together = np.concatenate([np.asarray(some) for some in seconds_of_repeats])
    return {f"p{share}_ms": round(1000 * float(np.percentile(together, share)), 1) for share in (50, 95, 99)}


PARTS = {
    "small": compare_small,
    "turns": measure_turns,
    "paper": plan_on_paper,
    "indexed": plan_indexed,
    "people": advise,
    "fleet": simulate_large,
}

MEASURED = ("small", "turns")
"""The others compute from figures of whatever machine these ran on."""

if __name__ == "__main__":
    main()
