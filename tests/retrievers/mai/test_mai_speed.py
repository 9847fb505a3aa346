"""What a turn costs on a large gallery, as ratios within one run. In a process of its own, without type checks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TIMED = """
import time
import numpy as np, torch
from viewfinder.retrievers.shared.network import WordVectors
from viewfinder.retrievers.mai import numpy_network

from viewfinder.retrievers.mai.network import MaiNetwork
from viewfinder.retrievers.mai.settings import Model
from viewfinder.search.region_scores import RegionBlock, single_vector_scores

torch.set_num_threads(1)
rng = np.random.default_rng(0)
PICTURES, TURNS = 50_000, 8


def drawn(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def clock(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


settings = Model(words="learned")
network = MaiNetwork(settings, 2560, 1, WordVectors(settings, None, 20))
arrays = {name: array.numpy().astype(np.float32) for name, array in network.state_dict().items()}
seen = numpy_network.numpy_components(arrays, settings, drawn(1, 2560), None)
said = numpy_network.ModificationInput(seen, drawn(9, 64), drawn(13, 64))
carried = [numpy_network.NOTHING_CARRIED]
for _ in range(TURNS):
    after, query_d = numpy_network.numpy_encode_turn(arrays, settings, carried[-1], said)
    carried.append(after)

matrix_nd = drawn(PICTURES, 64)
block = RegionBlock.of(matrix_nd[:, None])
rounds = [
    (
        clock(lambda: matrix_nd @ query_d),
        clock(lambda: single_vector_scores(block, query_d)),
        clock(lambda: numpy_network.numpy_encode_turn(arrays, settings, carried[1], said)),
        clock(lambda: numpy_network.numpy_encode_turn(arrays, settings, carried[TURNS], said)),
    )
    for _ in range(60)
]
print(*(min(times) for times in zip(*rounds)))
"""


@pytest.mark.long
@pytest.mark.slow
def test_50_000_pictures_are_one_scan_and_the_eighth_turn_costs_what_the_second_does() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3] / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", TIMED], capture_output=True, text=True, check=True, env=environment)
    product, scan, second, eighth = (float(part) for part in done.stdout.split())
    # What is promised is 1.5 (benchmarks/iteration.py); machines that run tests are noisy.
    assert scan < 3 * product
    assert eighth < 1.5 * second
