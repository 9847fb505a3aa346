"""Late interaction at 10,000 pictures x 36 regions x 128 numbers and 6 query vectors, measured side by side.

    python benchmarks/late_interaction.py [--pictures N] [--repeats N] [--json]

Prints the median of each way in milliseconds, its ratio to the bare matrix product of the same run, and how
many of the exact best ten it finds. All ways take turns, so that a busy machine slows all of them alike.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float32

from viewfinder.stores.exact import RegionBlock, late_interaction, late_interaction_top, top_k

REGIONS, WIDTH, QUERIES = 36, 128, 6


def unit(seed: int, *shape: int) -> Float32[np.ndarray, ...]:
    """Random vectors of unit length along the last axis."""
    vectors = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors


def naive(
    regions_nrd: Float32[np.ndarray, "n r d"], queries_md: Float32[np.ndarray, "m d"]
) -> Float32[np.ndarray, " n"]:
    """The definition, written down as it reads: einsum, softmax with max-subtraction, mean."""
    cosines = np.einsum("nrd,md->nmr", regions_nrd, queries_md, optimize=True)
    weights = np.exp(9 * (cosines - cosines.max(-1, keepdims=True)))
    weights /= weights.sum(-1, keepdims=True)
    return np.asarray((weights * cosines).sum(-1).mean(-1))


def measure(ways: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median milliseconds of each way; the ways take turns."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way()
    for _ in range(repeats):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            taken[name].append((time.perf_counter() - start) * 1000)
    return {name: float(np.median(times)) for name, times in taken.items()}


def compare(pictures: int, repeats: int) -> dict[str, Any]:
    """Times, ratios and overlaps as one JSON object."""
    regions_nrd = unit(0, pictures, REGIONS, WIDTH)
    queries_md = unit(1, QUERIES, WIDTH)
    block = RegionBlock.of(regions_nrd)
    flat = regions_nrd.reshape(-1, WIDTH)
    milliseconds = measure(
        {
            "one read of the memory": flat.sum,
            "bare matrix product": lambda: flat @ queries_md.T,
            "naive einsum": lambda: naive(regions_nrd, queries_md),
            "ours, float32": lambda: top_k(late_interaction(block, queries_md), 10),
            "ours, 8 bits then 100 exactly": lambda: late_interaction_top(block, queries_md, 10),
        },
        repeats,
    )
    bare = milliseconds["bare matrix product"]
    return {
        "pictures": pictures,
        "regions": REGIONS,
        "width": WIDTH,
        "queries": QUERIES,
        "machine": platform.processor() or platform.machine(),
        "milliseconds": milliseconds,
        "ratio_to_bare_product": {name: taken / bare for name, taken in milliseconds.items()},
        "overlap_at_10": overlaps(regions_nrd, block, trials=10),
    }


def overlaps(regions_nrd: Float32[np.ndarray, "n r d"], block: RegionBlock, trials: int) -> dict[str, float]:
    """Share of the naive best ten that each way finds, mean over `trials` sets of query vectors."""
    found: dict[str, list[float]] = {"ours, float32": [], "ours, 8 bits then 100 exactly": []}
    for trial in range(trials):
        queries_md = unit(100 + trial, QUERIES, WIDTH)
        truth = set(top_k(naive(regions_nrd, queries_md), 10).tolist())
        exact = top_k(late_interaction(block, queries_md), 10)
        coarse, _ = late_interaction_top(block, queries_md, 10)
        for name, rows in zip(found, (exact, coarse), strict=True):
            found[name].append(len(truth & set(rows.tolist())) / len(truth))
    return {name: float(np.mean(values)) for name, values in found.items()}


def main() -> None:
    """Reads the arguments, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    result = compare(arguments.pictures, arguments.repeats)
    if arguments.json:
        print(json.dumps(result))
        return
    print(f"{result['pictures']} x {REGIONS} x {WIDTH}, {QUERIES} query vectors, on {result['machine']}")
    for name, taken in result["milliseconds"].items():
        ratio = result["ratio_to_bare_product"][name]
        overlap = result["overlap_at_10"].get(name)
        print(
            f"  {name:32} {taken:7.1f} ms   x {ratio:5.2f}"
            + ("" if overlap is None else f"   overlap@10 {overlap:.3f}")
        )


if __name__ == "__main__":
    main()
