"""What does a turn of `one` cost beside the composer's, where others are asked? Writes results/one_time.json.

    python benchmarks/one_time.py [--fusion FOLDER] [--pictures 50000]      # FOLDER: that of fusion.py, which is made

Products of the catalogue and drawn scenes, each as often as it takes, a little different every time. The two take turns
at conversations of the same kinds of turns, in words that neither has read before, with weights that are loaded. Among
photographs `one` is the composer.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from freshness import RESULTS
from jaxtyping import Float, Float16, Float32
from machine import describe_host
from measuring import time_call_and_cores, write_json

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Like, Reject, Say, Turn
from viewfinder.encoders.features import Features, features
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation.pictures import Pictures
from viewfinder.retrievers import Retriever, load_retriever
from viewfinder.search.gallery import Gallery
from viewfinder.search.turn_scores import warm_scores
from viewfinder.session.session import Session

NOISE = 0.02
TURNS, TALKS = 20, 12

SAID = {
    "products": (
        ("red", "blue", "black", "white", "green", "brown", "grey", "pink", "yellow", "purple"),
        (
            "shirt", "t-shirt", "casual shoes", "handbag", "watch", "dress", "jacket", "pair of trousers", "belt",
            "scarf",
        ),
        (
            "with stripes", "with a collar", "of leather", "for men", "for women", "with a print", "with long sleeves",
            "with laces", "with a logo", "without a pattern", "with buttons", "for children",
        ),
    ),
    "scenes": (
        ("red", "blue", "striped", "white", "green", "brown", "large", "small", "yellow", "purple"),
        ("shoe", "sweater", "handbag", "watch", "dress", "jacket", "backpack", "belt", "scarf", "cap"),
        (
            "on a beach", "on the left", "on the right", "in a room", "on the grass", "behind a shirt", "in front",
            "above a watch", "at night", "near the water", "beside a bag", "far away",
        ),
    ),
}  # fmt: skip
"""Adjectives, things and details that are said in each world."""


@dataclass(frozen=True, eq=False)
class Repeated:
    """Raw vectors of pictures that are each one of `source`."""

    source: Features
    row_of: dict[str, int]

    @property
    def raw_version(self) -> str:
        """That of the source."""
        return self.source.raw_version

    def batches(
        self, ids: Sequence[str], *, regions: bool
    ) -> Iterator[tuple[Float[np.ndarray, "b g"], Float16[np.ndarray, "b r e"] | None]]:
        """As `RawVectors` says."""
        regions_nre = self.source.regions_nre
        for start in range(0, len(ids), 512):
            rows_b = np.array([self.row_of[key] for key in ids[start : start + 512]])
            yield self.source.raw_nd[rows_b], regions_nre[rows_b] if regions and regions_nre is not None else None


def main() -> None:
    """Measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fusion", type=Path, default=Path("runs/fusion"))
    parser.add_argument("--pictures", type=int, default=50_000)
    parser.add_argument("--out", type=Path, default=RESULTS / "one_time.json")
    given = parser.parse_args()
    found = {world: measure(open_gallery(given.fusion, world, given.pictures), world) for world in SAID}
    write_json(given.out, {"pictures": given.pictures, "talks": TALKS, "worlds": found, "machine": describe_host()})


def open_gallery(fusion: Path, world: str, count: int) -> Gallery:
    """So many pictures of a world, as all systems read them."""
    encoder = StarterEncoder()
    source = features(fusion / world, encoder, regions=True, out=fusion / "features" / world)
    keys = tuple(f"p{at:06}" for at in range(count))
    rows_n, rng = np.arange(count) % len(source), np.random.default_rng(0)
    vectors_nd: Float32[np.ndarray, "n d"] = encoder.project(source.raw_nd[:]).astype(np.float32)[rows_n]
    vectors_nd += rng.standard_normal(vectors_nd.shape, np.float32) * np.float32(NOISE)
    vectors_nd /= np.linalg.norm(vectors_nd, axis=1, keepdims=True)
    raw = Repeated(source, dict(zip(keys, rows_n.tolist(), strict=True)))
    return warm_scores(Pictures(keys, vectors_nd, encoder, raw=raw).gallery())


def measure(gallery: Gallery, world: str) -> dict[str, Any]:
    """Milliseconds of every turn of both, and their ratios."""
    said = [f"a {' '.join(words)}" for words in product(*SAID[world])]
    random.Random(0).shuffle(said)
    words, spent = iter(said), dict[str, list[list[tuple[float, float]]]]()
    retrievers = {name: load_retriever(name) for name in ("composer", "one")}
    for talk in range(TALKS + 1):
        for name in sorted(retrievers, reverse=bool(talk % 2)):
            times = time_talk(gallery, retrievers[name], words)
            if talk:  # the first prepares the pictures and loads the weights
                spent.setdefault(name, []).append(times)
        print(
            world, talk, {name: round(statistics.median(cpu for _, cpu in some[-1]), 1) for name, some in spent.items()}
        )
    turn_tc = {name: np.array([[cpu for _, cpu in talk] for talk in some]).T for name, some in spent.items()}
    wall_tc = {name: np.array([[wall for wall, _ in talk] for talk in some]).T for name, some in spent.items()}
    ratio_c = turn_tc["one"].mean(axis=0) / turn_tc["composer"].mean(axis=0)
    late = {name: times[-3:].mean(axis=0) / times[1:4].mean(axis=0) for name, times in turn_tc.items()}
    return {
        "cpu_ms": {name: np.median(times, axis=1).round(1).tolist() for name, times in turn_tc.items()},
        "ms": {name: round(float(np.median(times)), 1) for name, times in wall_tc.items()},
        "one over composer": describe_spread(ratio_c),
        "last three turns over second to fourth": {name: describe_spread(late_c) for name, late_c in late.items()},
    }


def describe_spread(values_c: Float[np.ndarray, " c"]) -> dict[str, float]:
    """The median and the range of the talks."""
    return {
        "median": round(float(np.median(values_c)), 2),
        "low": round(float(values_c.min()), 2),
        "high": round(float(values_c.max()), 2),
    }


def time_talk(gallery: Gallery, retriever: Retriever[Any], words: Iterator[str]) -> list[tuple[float, float]]:
    """A talk of twenty turns: described, picked with words, rejected, picked, over and over."""
    session, times = Session(gallery, retriever, None, memo=ByteCache()), list[tuple[float, float]]()
    shown: Sequence[str] = ()
    for number in range(TURNS):
        turn: Turn
        match number % 4:
            case 0:
                turn = Say(next(words))
            case 2:
                turn = Reject((shown[-1],))
            case _:
                turn = Like(shown[number % 3], next(words))
        found, wall_ms, cpu_ms = time_call_and_cores(session.search, turn)
        times.append((wall_ms, cpu_ms))
        shown = [hit.id for hit in found]
    return times


if __name__ == "__main__":
    main()
