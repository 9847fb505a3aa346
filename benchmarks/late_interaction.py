"""Late interaction: how fast, and what the shortcuts lose. Prints the figures and writes results/late_interaction.json.

    python benchmarks/late_interaction.py FEATURES [--only product large million step] [--checkpoint FILE ...]

FEATURES is a folder of regions written by `viewfinder features`; collections are grown from it (`grown_regions`).

product  10,000 pictures x 36 regions: exact scores over the bare matrix product, fastest of three ways to write it
large    50,000 pictures: the time of a query, and how many of the ten that the definition finds are found
million  a million pictures in 8 bits (8 GB of memory, 10 minutes): the same for several ways
step     what a sentence costs in the state of a trained model

All ways take turns in one process with the same number of threads, so that a busy machine slows all of them alike.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from freshness import sign
from grown_regions import Grown
from jaxtyping import Float32, Int64
from machine import described

from viewfinder.conversation import Say
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.query import ResolvedTurn, SentenceEncoder
from viewfinder.retrievers import load_retriever
from viewfinder.search.kernels import top_k
from viewfinder.search.late_interaction import GROUP_SHARE, MAX_RESCORED, late_interaction_near
from viewfinder.search.region_scores import (
    GROUPS,
    RegionBlock,
    RegionCodes,
    group_means,
    late_interaction,
    late_interaction_coarse,
    nearest_group_scores,
    query_vector_scores,
    tile_batches,
)

K = 10
VECTORS = (3, 5, 10)
Rows = Int64[np.ndarray, " k"]
Queries = Sequence[Float32[np.ndarray, "m d"]]


def main() -> None:
    """Run every part, or those named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features", type=Path)
    parser.add_argument("--only", nargs="*", choices=sorted(PARTS), default=list(PARTS))
    parser.add_argument(
        "--checkpoint", type=Path, nargs="*", default=[None], help="of Drill-down; else the one shipped"
    )
    parser.add_argument("--million", type=int, default=1_000_000, help="pictures of that part")
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "late_interaction.json")
    given = parser.parse_args()
    results: dict[str, Any] = json.loads(given.out.read_text()) if given.out.exists() else {}
    for name in given.only:
        results[name] = PARTS[name](given)
        results["machine"] = described()
        sign(results, "late_interaction", [name])
        print(name, json.dumps(results[name], indent=1), flush=True)
        given.out.write_text(json.dumps(results, indent=1) + "\n")


# -- 10,000 pictures: over the bare product


def product(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Exact scores over the fastest bare product of all regions with the queries, for each width and count."""
    rows = []
    for width in (128, 256):
        grown = Grown.of(given.features, width, 10_000)
        block = block_of(grown)
        flat_fd = block.vectors(np.arange(grown.pictures)).reshape(-1, width)
        for vectors in VECTORS:
            [query_md] = grown.queries(1, vectors, 0)
            query_dm = np.ascontiguousarray(query_md.T)
            orders: dict[str, Callable[[], object]] = {
                "regions @ queries.T": partial(np.matmul, flat_fd, query_md.T),
                "regions @ queries, transposed in memory": partial(np.matmul, flat_fd, query_dm),
                "queries @ regions.T": partial(np.matmul, query_md, flat_fd.T),
            }
            scores = {"exact scores": partial(late_interaction, block, query_md)}
            spent = median_ms(orders | scores, given.repeats)
            ours = spent.pop("exact scores")
            rows.append(
                {
                    "pictures": len(block),
                    "width": width,
                    "vectors": vectors,
                    "ratio": round(ours / min(spent.values()), 3),
                    "ours_ms": round(ours, 2),
                    "bare_ms": {order: round(taken, 2) for order, taken in spent.items()},
                }
            )
    return rows


def median_ms(ways: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median milliseconds of each way; the ways take turns, after one round to warm up."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats + 1):
        for name, way in ways.items():
            taken[name].append(timed(way)[1])
    return {name: float(np.median(times[1:])) for name, times in taken.items()}


def timed(way: Callable[[], Any]) -> tuple[Any, float]:
    """A result, and the milliseconds it took."""
    started = time.perf_counter()
    result = way()
    return result, (time.perf_counter() - started) * 1000


def block_of(grown: Grown) -> RegionBlock:
    """The whole collection in memory."""
    pieces = (piece_nrd for _, piece_nrd in grown.pieces())
    return RegionBlock.mapped(tile_batches(pieces, grown.pictures, grown.regions, grown.width), grown.regions)


# -- 50,000 pictures: time, and what is found


def large(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Ways to the best ten of 50,000 pictures; the truth is the definition, written down as it reads."""
    grown = Grown.of(given.features, 128, 50_000)
    block = block_of(grown)
    assert len(block.codes) == grown.pictures  # made on first use
    ways: dict[str, Callable[[Float32[np.ndarray, "m d"]], Rows]] = {
        "exact": lambda query_md: top_k(late_interaction(block, query_md), K)
    } | {f"8 bits, then {candidates} exactly": partial(nearly, block, candidates) for candidates in (10, 20, 100)}
    rows = []
    for vectors in VECTORS:
        queries = grown.queries(given.repeats, vectors, 1)
        truth = [top_k(scores_n, K) for scores_n in defined(grown, queries)]
        rows += [{"pictures": len(block), "vectors": vectors, **row} for row in curve(ways, queries, truth)]
    return rows


def nearly(block: RegionBlock, candidates: int, query_md: Float32[np.ndarray, "m d"]) -> Rows:
    """The best ten with so many candidates."""
    return top_k(late_interaction_near(block, query_md, candidates=candidates), K)


def defined(grown: Grown, queries: Queries) -> Float32[np.ndarray, "q n"]:
    """The definition as it reads: all cosines, softmax with max-subtraction, mean over query vectors."""
    scores_qn = np.empty((len(queries), grown.pictures), np.float32)
    for start, piece_nrd in grown.pieces():
        for query_md, scores_n in zip(queries, scores_qn, strict=True):
            cosines_nmr = np.einsum("nrd,md->nmr", piece_nrd, query_md, optimize=True)
            weights_nmr = np.exp(9 * (cosines_nmr - cosines_nmr.max(-1, keepdims=True)))
            weights_nmr /= weights_nmr.sum(-1, keepdims=True)
            scores_n[start : start + len(piece_nrd)] = (weights_nmr * cosines_nmr).sum(-1).mean(-1)
    return scores_qn


def curve(
    ways: Mapping[str, Callable[[Float32[np.ndarray, "m d"]], Rows]], queries: Queries, truth: Sequence[Rows]
) -> Iterator[dict[str, Any]]:
    """p50 of the time and mean overlap with the true best ten, a row a way; the ways take turns on every query."""
    spent: dict[str, list[float]] = {name: [] for name in ways}
    shared: dict[str, list[float]] = {name: [] for name in ways}
    for name, way in ways.items():
        way(queries[0])
        del name
    for query_md, best_k in zip(queries, truth, strict=True):
        for name, way in ways.items():
            found_k, taken = timed(partial(way, query_md))
            spent[name].append(taken)
            shared[name].append(len(np.intersect1d(found_k, best_k)) / len(best_k))
    for name in ways:
        yield {
            "way": name,
            "p50_ms": round(float(np.median(spent[name])), 2),
            "overlap_at_10": round(float(np.mean(shared[name])), 4),
            "queries": len(queries),
        }


# -- a million pictures


@dataclass(frozen=True)
class Million:
    """A collection in 8 bits: all its regions, and the means of groups of them."""

    codes: RegionCodes
    groups: RegionCodes


def million(given: argparse.Namespace) -> dict[str, Any]:
    """Ways to the best ten of a million pictures; the truth is exact, found while the pictures pass by."""
    grown = Grown.of(given.features, 128, given.million)
    queries = grown.queries(given.repeats, 3, 2)
    stored, truth = coded(grown, queries)
    finders = candidate_finders(stored)
    wanted = np.unique(np.concatenate([find(query_md) for query_md in queries for find in finders.values()]))
    kept = RegionBlock.of(grown.of_rows(wanted))

    def best(find: Callable[[Float32[np.ndarray, "m d"]], Rows], query_md: Float32[np.ndarray, "m d"]) -> Rows:
        found_k = np.sort(find(query_md))
        exact_k = late_interaction(kept.at(np.searchsorted(wanted, found_k)), query_md)
        best_k: Rows = found_k[top_k(exact_k, K)]
        return best_k

    ways = {name: partial(best, find) for name, find in finders.items()}
    return {
        "pictures": grown.pictures,
        "vectors": 3,
        "GB_in_8_bits": round(stored.codes.codes_nrd.nbytes / 1e9, 2),
        "GB_of_groups": round(stored.groups.codes_nrd.nbytes / 1e9, 2),
        "ways": list(curve(ways, queries, truth)),
        "machine": described(),
    }


def candidate_finders(stored: Million) -> dict[str, Callable[[Float32[np.ndarray, "m d"]], Rows]]:
    """Ways to the rows that are then scored exactly."""

    def look(codes: RegionCodes, query_md: Float32[np.ndarray, "m d"]) -> Rows:
        return top_k(late_interaction_coarse(codes, query_md), MAX_RESCORED)

    def look_at_groups(many: int, query_md: Float32[np.ndarray, "m d"]) -> Rows:
        return top_k(nearest_group_scores(stored.groups, query_md), many)

    def look_twice(many: int, query_md: Float32[np.ndarray, "m d"]) -> Rows:
        rows_k = np.sort(look_at_groups(many, query_md))
        best_k: Rows = rows_k[look(stored.codes.at(rows_k), query_md)]
        return best_k

    pictures = len(stored.codes)
    return (
        {f"all regions in 8 bits, then {MAX_RESCORED} exactly": partial(look, stored.codes)}
        | {f"{GROUPS} groups, then {many} exactly": partial(look_at_groups, many) for many in (100, 1000)}
        | {
            f"{GROUPS} groups, then {many:,} in 8 bits, then {MAX_RESCORED} exactly": partial(look_twice, many)
            for many in (round(share * pictures) for share in (GROUP_SHARE / 3, GROUP_SHARE, 2 * GROUP_SHARE))
        }
    )


def coded(grown: Grown, queries: Queries) -> tuple[Million, list[Rows]]:
    """The collection in 8 bits, and the true best ten of every query, in one pass over its pieces."""
    shapes = {"codes": grown.regions, "groups": GROUPS}
    stored = {
        name: RegionCodes(
            np.empty((grown.pictures, count, grown.width), np.uint8), np.empty(grown.pictures, np.float32)
        )
        for name, count in shapes.items()
    }
    best = [(np.empty(0, np.int64), np.empty(0, np.float32))] * len(queries)
    vectors_md = np.concatenate(queries)
    for start, piece_nrd in grown.pieces():
        for name, vectors_nrd in (("codes", piece_nrd), ("groups", group_means(piece_nrd))):
            made = RegionCodes.of(vectors_nrd)
            stored[name].codes_nrd[start : start + len(made)] = made.codes_nrd
            stored[name].steps_n[start : start + len(made)] = made.steps_n
        scores_qn = query_vector_scores(RegionBlock.of(piece_nrd), vectors_md)
        scores_qn = scores_qn.reshape(len(queries), -1, len(piece_nrd)).mean(axis=1)
        best = [merged(known, start, scores_n) for known, scores_n in zip(best, scores_qn, strict=True)]
    return Million(**stored), [rows_k for rows_k, _ in best]


def merged(
    known: tuple[Rows, Float32[np.ndarray, " k"]], start: int, scores_n: Float32[np.ndarray, " n"]
) -> tuple[Rows, Float32[np.ndarray, " k"]]:
    """The best ten so far and the pictures from row `start` on: the best ten of both."""
    new_k = top_k(scores_n, K)
    rows = np.concatenate([known[0], new_k + start])
    scores = np.concatenate([known[1], scores_n[new_k]])
    kept = top_k(scores, K)
    return rows[kept], scores[kept]


# -- a sentence


def step(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Milliseconds of a step with a sentence of 5 to 10 words, without and with the sentence's encoding."""
    encoder = StarterEncoder()
    rows = []
    for path in given.checkpoint:
        retriever = load_retriever("drilldown", path)
        steps, whole = [], []
        for talk in range(21):
            texts = sentences(talk)
            known = dict(zip(texts, encoder.sentences(texts), strict=True))
            steps += talk_ms(retriever, texts, SentenceEncoder(encoder.sentences_version, partial(looked_up, known)))
            fresh = sentences(talk, "then")  # the encoder remembers texts
            whole += talk_ms(retriever, fresh, SentenceEncoder(encoder.sentences_version, encoder.sentences))
        rows.append(
            {
                "checkpoint": "shipped" if path is None else str(path),
                "step_ms": percentiles(steps[10:]),
                "step_and_sentence_ms": percentiles(whole[10:]),
            }
        )
    return rows


def talk_ms(retriever: Any, texts: Sequence[str], vectors: SentenceEncoder) -> list[float]:
    """Milliseconds of each step of a talk."""
    state, spent = retriever.begin(), []
    for number, text in enumerate(texts, start=1):
        turn = ResolvedTurn(Say(text), number, no_words, text, sentences=vectors)
        state, taken = timed(partial(retriever.step, state, turn))
        spent.append(taken)
    return spent


def looked_up(known: Mapping[str, Float32[np.ndarray, " d"]], texts: Sequence[str]) -> Float32[np.ndarray, "n d"]:
    """Sentence vectors that are there already."""
    return np.stack([known[text] for text in texts])


def no_words(texts: Sequence[str]) -> Float32[np.ndarray, "n d"]:
    """Drill-down compares nothing with the words' space."""
    raise AssertionError(f"asked for vectors of {texts}")


def sentences(talk: int, more: str = "") -> list[str]:
    """Ten different sentences of 5 to 10 words."""
    things = ("a red shoe", "two black bags", "a striped shirt", "a small watch", "the long blue dress")
    places = ("at the top left", "near the middle of it", "beside a tree", "in front of the house", "under a lamp")
    turns = range(10 * talk, 10 * talk + 10)
    return [" ".join(f"{things[turn % 5]} {places[turn // 5 % 5]} {more} {turn}".split()) for turn in turns]


def percentiles(spent: Sequence[float]) -> dict[str, float]:
    """p50 and p95."""
    return {"p50": round(float(np.percentile(spent, 50)), 3), "p95": round(float(np.percentile(spent, 95)), 3)}


PARTS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "product": product,
    "large": large,
    "million": million,
    "step": step,
}

if __name__ == "__main__":
    main()
