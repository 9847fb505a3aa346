"""Measures ranking beyond the matrix product it needs, and ChatIR's whole protocol on stand-in vectors.

    python benchmarks/ranks.py [--repeats N]        # writes results/ranks.json

The ways take turns in one process, so that a busy machine slows all of them alike. The bare product gets every
advantage: it writes into memory that it keeps, and the fastest median over both layouts of the gallery and several
block sizes counts. The protocol (2,064 talks x 11 rounds x 50,000 pictures x 256) runs in a separate process, whose
peak memory is measured; random unit vectors stand in for an encoder's, which changes the ranks but not the work.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from freshness import RESULTS
from jaxtyping import Float32
from measuring import time_in_turn, write_figures

from viewfinder.metrics import best_log_rank_integral, has_hit, rank_bounds, ranks_between

TALKS, ROUNDS, PICTURES, WIDTH = 2064, 11, 50_000, 256
QUERIES = 4096
"""Queries of one timing; the protocol has 22,704."""

BLOCKS = (256, 512, 1024)
TIE = 1e-6


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--out", type=Path, default=RESULTS / "ranks.json")
    parser.add_argument("--protocol", action="store_true", help="only run the protocol, and print its figures")
    given = parser.parse_args()
    if given.protocol:
        print(json.dumps(run_protocol()))
        return
    child = subprocess.run([sys.executable, __file__, "--protocol"], check=True, capture_output=True, text=True)
    results = {"kernel": measure_kernel(given.repeats), "protocol": json.loads(child.stdout)}
    write_figures("ranks", results, given.out)
    print(json.dumps(results, indent=1))


def measure_kernel(repeats: int) -> dict[str, Any]:
    """Median seconds of each way, and the ratios to the fastest bare product."""
    queries_qd, gallery_nd = unit(0, QUERIES), unit(1, PICTURES)
    gallery_dn = np.ascontiguousarray(gallery_nd.T)
    random = np.random.default_rng(2)
    targets_q, bias_n = random.integers(0, PICTURES, QUERIES), random.standard_normal(PICTURES, dtype=np.float32)
    ways: dict[str, Callable[[], object]] = {
        f"product of {rows} rows, {layout}": partial(bare_product, queries_qd, matrix, rows)
        for rows in BLOCKS
        for layout, matrix in (("a row a picture", gallery_nd.T), ("a column a picture", gallery_dn))
    }
    ranking: dict[str, Callable[[], object]] = {
        "ranks": lambda: rank_bounds(queries_qd, gallery_nd, targets_q, tie=TIE),
        "ranks with a bias": lambda: rank_bounds(queries_qd, gallery_nd, targets_q, bias_n=bias_n, tie=TIE),
    }
    taken = time_in_turn(ways | ranking, repeats)
    seconds = {name: float(np.median(times)) / 1000 for name, times in taken.items()}
    bare = min(seconds[name] for name in ways)
    return {
        "queries": QUERIES,
        "pictures": PICTURES,
        "width": WIDTH,
        "repeats": repeats,
        "ratio": {name: round(seconds[name] / bare, 3) for name in ranking},
        "median_s": {name: round(spent, 3) for name, spent in seconds.items()},
    }


def bare_product(
    queries_qd: Float32[np.ndarray, "q d"], gallery_dn: Float32[np.ndarray, "d n"], rows: int
) -> Float32[np.ndarray, "b n"]:
    """The product alone, a block of queries at a time into the same memory, as the whole would not fit."""
    scores_bn = np.empty((rows, gallery_dn.shape[1]), np.float32)
    for start in range(0, len(queries_qd), rows):
        block_bd = queries_qd[start : start + rows]
        np.matmul(block_bd, gallery_dn, out=scores_bn[: len(block_bd)])
    return scores_bn


def run_protocol() -> dict[str, Any]:
    """Seconds from vectors to figures, and the peak memory of the process with everything in it."""
    queries_qd, gallery_nd = unit(0, TALKS * ROUNDS), unit(1, PICTURES)
    targets_q = np.repeat(np.random.default_rng(2).integers(0, PICTURES, TALKS), ROUNDS)
    started = time.perf_counter()
    bounds = rank_bounds(queries_qd, gallery_nd, targets_q, tie=TIE)
    ranks_st = ranks_between(*bounds).reshape(TALKS, ROUNDS)
    figures = {
        "hits_at_10": has_hit(10, ranks_st)[:, -1].mean(),
        "average_target_rank": ranks_st[:, -1].mean() + 1,
        "bri": best_log_rank_integral(ranks_st).mean(),
    }
    seconds = time.perf_counter() - started
    return {
        "talks": TALKS,
        "rounds": ROUNDS,
        "pictures": PICTURES,
        "width": WIDTH,
        "seconds": round(seconds, 2),
        "peak_MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "of_random_vectors": {name: round(float(value), 4) for name, value in figures.items()},
    }


def unit(seed: int, count: int) -> Float32[np.ndarray, "n d"]:
    """Random vectors of length 1."""
    vectors_nd = np.random.default_rng(seed).standard_normal((count, WIDTH), dtype=np.float32)
    vectors_nd /= np.linalg.norm(vectors_nd, axis=1, keepdims=True)
    return vectors_nd


if __name__ == "__main__":
    main()
