"""Measures the cost of a turn of MAI besides reading words. Prints the figures and writes results/iteration.json.

    python benchmarks/iteration.py

It times the choice of the tokens to carry (MIO), 32 of 64, for one talk in numpy and for many in one batched call in
torch; a step of a network of `lab`'s size after few turns and after many; and scoring 50,000 pictures as the engine
does, beside one bare product of their matrix and the query. All run on one thread. Networks have random weights, since
times do not depend on training. Each time is the least of all rounds: other load on the machine can only add to it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from freshness import RESULTS
from measuring import time_in_turn, write_figures
from threadpoolctl import threadpool_limits

from viewfinder.retrievers.mai import memory, numpy_network
from viewfinder.retrievers.mai.network import MaiNetwork
from viewfinder.retrievers.mai.numpy_network import NOTHING_CARRIED, CarriedTokens
from viewfinder.retrievers.mai.settings import Iteration, Model
from viewfinder.retrievers.shared.network import WordVectors
from viewfinder.search.region_scores import RegionBlock, single_vector_scores

PICTURES = 50_000
WIDTHS = (64, 256)
"""Numbers of a picture: of `lab`, and of the paper."""

SIZES = {"lab": 64, "paper": 768}
FORMS = {
    "TCFormer's form": Iteration(),
    "the paper's words": Iteration(density="paper", distance="nearest", neighbours=32),
}
TOKENS, KEPT, TALKS = 64, 32, 64
TURNS = (1, 2, 10, 20)
RAW = 2560


def main() -> None:
    """Measure everything once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--out", type=Path, default=RESULTS / "iteration.json")
    given = parser.parse_args()
    torch.set_num_threads(1)
    threadpool_limits(1)
    rng = np.random.default_rng(0)
    results = {
        "pictures": PICTURES,
        "iteration": [measure_iteration(name, width, rng, given.rounds) for name in FORMS for width in SIZES.values()],
        "step_ms": measure_steps(rng, given.rounds),
        "scoring": [measure_scoring(width, rng, given.rounds) for width in WIDTHS],
    }
    write_figures("iteration", results, given.out)
    print(json.dumps(results, indent=1))


def measure_iteration(form: str, width: int, rng: np.random.Generator, rounds: int) -> dict[str, Any]:
    """One talk's choice in numpy; that of many talks in one call, and one after the other."""
    tokens_bth = rng.standard_normal((TALKS, TOKENS, width), dtype=np.float32)
    torch_bth, settings = torch.from_numpy(tokens_bth), FORMS[form]
    works: list[Callable[[], object]] = [
        lambda: numpy_network.numpy_select_tokens(tokens_bth[0], KEPT, settings),
        lambda: memory.select_tokens(torch_bth, KEPT, settings),
        lambda: [memory.select_tokens(tokens_th[None], KEPT, settings) for tokens_th in torch_bth],
    ]
    one, batched, looped = least_ms(works, rounds)
    return {
        "form": form,
        "width": width,
        "talks": TALKS,
        "one_ms": round(float(one), 3),
        "batched_ms": round(float(batched), 2),
        "looped_ms": round(float(looped), 2),
    }


def measure_steps(rng: np.random.Generator, rounds: int) -> dict[str, dict[str, float]]:
    """A step at some turns of a talk, by what is carried: all tokens, or those that MIO keeps."""
    found = {}
    for kind in ("mio", "concatenation"):
        settings = Model(words="learned", memory=kind)
        network = MaiNetwork(settings, RAW, 1, WordVectors(settings, None, 20))
        arrays = {name: array.numpy().astype(np.float32) for name, array in network.state_dict().items()}
        said = numpy_network.ModificationInput(
            numpy_network.numpy_components(arrays, settings, rng.standard_normal((1, RAW), dtype=np.float32), None),
            rng.standard_normal((9, settings.width), dtype=np.float32),
            rng.standard_normal((13, settings.width), dtype=np.float32),
        )
        carried: list[CarriedTokens] = [NOTHING_CARRIED]
        for _ in range(max(TURNS)):
            carried.append(numpy_network.numpy_encode_turn(arrays, settings, carried[-1], said)[0])
        works = [partial(numpy_network.numpy_encode_turn, arrays, settings, carried[turn - 1], said) for turn in TURNS]
        times = least_ms(works, rounds)
        found[kind] = {str(turn): round(float(ms), 2) for turn, ms in zip(TURNS, times, strict=True)}
    return found


def measure_scoring(width: int, rng: np.random.Generator, rounds: int) -> dict[str, Any]:
    """All pictures, one vector each: the engine's scores over the bare product, in its faster order."""
    matrix_nd = rng.standard_normal((PICTURES, width), dtype=np.float32)
    query_d = rng.standard_normal(width, dtype=np.float32)
    block = RegionBlock.of(matrix_nd[:, None])
    works: list[Callable[[], object]] = [
        lambda: matrix_nd @ query_d,
        lambda: matrix_nd @ query_d[:, None],
        lambda: single_vector_scores(block, query_d),
    ]
    *orders, ours = least_ms(works, rounds)
    bare = min(orders)
    return {"width": width, "bare_ms": round(bare, 2), "ours_ms": round(ours, 2), "ratio": round(ours / bare, 2)}


def least_ms(works: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The least milliseconds of each piece of work."""
    return [min(times) for times in time_in_turn(dict(enumerate(works)), rounds).values()]


if __name__ == "__main__":
    main()
