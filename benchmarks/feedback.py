"""Measures a turn of relative feedback at 50,000 pictures. Prints the figures and writes results/feedback.json.

    python benchmarks/feedback.py DATA [--features DIR] [--checkpoint FILE ...] [--talks 20]

DATA holds pictures and Fashion IQ's captions. Raw vectors are repeated up to the size with a little noise, as in
`asking.py`. Every talk picks the best picture five times and says a recorded caption of it: once in words that were
said before, whose vectors are kept, and once with a new word in every turn. The script measures `Session.search`, a
turn up to its results. Beside it, in the same talk, it measures `encode`, words to vectors and one step of the network
on the history so far; and `scan`, one product of the pictures' vectors and the query.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import product, repeat
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
from asking import grow_gallery
from freshness import RESULTS
from jaxtyping import Float, Float32
from measuring import time_call, write_figures

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Like
from viewfinder.data.fashion_iq import fashion_kinds, join_captions, read_fashion_iq
from viewfinder.retrievers import load_retriever
from viewfinder.search.gallery import Gallery
from viewfinder.search.kernels import dot_scores
from viewfinder.search.regions import find_block
from viewfinder.session.session import Session

SIZE = 50_000
TURNS = 5
WARM = 2
"""Talks before any time is taken: what is made of all pictures is made at the first."""


def main() -> None:
    """Measure the weights in the box and those named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--features", type=Path, help="where the vectors of DATA are kept")
    parser.add_argument("--checkpoint", type=Path, nargs="*", default=[], help="besides those in the box")
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--talks", type=int, default=20)
    parser.add_argument("--out", type=Path, default=RESULTS / "feedback.json")
    given = parser.parse_args()
    gallery = grow_gallery(given.data, given.features, given.size)
    rows = []
    unheard = map("".join, product(ascii_lowercase, repeat=5))
    for checkpoint in (None, *given.checkpoint):
        retriever = load_retriever("fashioniq", checkpoint)
        for words, begins in (("known", repeat("")), ("one new", unheard)):
            said = captions(given.data, begins)
            known = {"weights": weights_name(checkpoint), "words": words}
            rows.append({**known, **measure_turns(gallery, retriever, said, given.talks)})
            print(json.dumps(rows[-1]), flush=True)
    write_figures("feedback", {"pictures": given.size, "rows": rows}, given.out)


def weights_name(checkpoint: Path | None) -> str:
    """The name of a row: the preset that the weights were trained by."""
    from viewfinder.weights import read_card

    return "in the box" if checkpoint is None else read_card(checkpoint).preset


def captions(data: Path, begins: Iterator[str]) -> Iterator[str]:
    """Joined captions of the validation pairs, over and over, each begun by the next word."""
    pairs = [pair for kind in fashion_kinds(data) for pair in read_fashion_iq(data, kind, "val")[0].pairs]
    while True:
        yield from (f"{next(begins)} {join_captions(pair.captions)}".strip() for pair in pairs)


def measure_turns(gallery: Gallery, retriever: Any, said: Iterator[str], talks: int) -> dict[str, Any]:
    """Medians over the talks, turn by turn."""
    space = retriever.reads.space
    assert space is not None
    matrix_nd = find_block(gallery, space).vectors(np.arange(len(gallery)))[:, 0]
    turn_ts: list[Any] = []
    encode_ts: list[Any] = []
    scan_ts: list[Any] = []
    for number in range(WARM + talks):
        times = talk(gallery, retriever, matrix_nd, said, start=number)
        if number >= WARM:
            for kept, one in zip((turn_ts, encode_ts, scan_ts), zip(*times, strict=True), strict=True):
                kept.append(one)
    turn_t, encode_t, scan_t = (np.median(np.array(kept), axis=0) for kept in (turn_ts, encode_ts, scan_ts))
    return {
        "turn_ms": rounded(turn_t),
        "encode_ms": rounded(encode_t),
        "scan_ms": rounded(scan_t),
        "ratio": round(float(turn_t.sum() / (encode_t + scan_t).sum()), 2),
        "turn_5_over_turn_1": round(float(turn_t[-1] / turn_t[0]), 2),
        "encode_5_over_encode_1": round(float(encode_t[-1] / encode_t[0]), 2),
    }


def rounded(times_t: Float[np.ndarray, " t"]) -> list[float]:
    """Times rounded to hundredths."""
    return [round(float(one), 2) for one in times_t]


class Timed:
    """A retriever that notes how long its steps take."""

    def __init__(self, retriever: Any) -> None:
        self._retriever = retriever
        self.step_ms = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._retriever, name)

    def step(self, state: Any, turn: Any) -> Any:
        """The step, timed: words to vectors, and the network on the history."""
        after, self.step_ms = time_call(self._retriever.step, state, turn)
        return after


def talk(
    gallery: Gallery, retriever: Any, matrix_nd: Float32[np.ndarray, "n d"], said: Iterator[str], start: int
) -> list[tuple[float, float, float]]:
    """Five turns: milliseconds of each, of its encoding, and of one scan."""
    watched = Timed(retriever)
    session = Session(gallery, watched, None, n=10, memo=ByteCache())
    liked, times = gallery.snapshot.ids[start], []
    for _ in range(TURNS):
        hits, turn_ms = time_call(session.search, Like(liked, next(said)))
        _, scan_ms = time_call(dot_scores, matrix_nd, np.ones(matrix_nd.shape[1], np.float32))
        times.append((turn_ms, watched.step_ms, scan_ms))
        liked = hits[0].id
    return times


if __name__ == "__main__":
    main()
