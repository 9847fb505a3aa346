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
from viewfinder.retrievers.fashioniq import numpy_network
from viewfinder.retrievers.fashioniq.retriever import DistanceEmbedding
from viewfinder.retrievers.fashioniq.network import TransformerRetriever
from viewfinder.retrievers.fashioniq.settings import TransformerModel
from viewfinder.retrievers.shared.network import WordVectors
from viewfinder.search.region_scores import RegionBlock, single_vector_scores

torch.set_num_threads(1)
rng = np.random.default_rng(0)
sizes = dict(width=128, layers=2, heads=4, hidden=256, padding_mask=True, words="learned")
PICTURES, TURNS = 50_000, 5


def clock(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def scan(query_h):
    single_vector_scores(block, lifting.query(query_h))


vectors_nh = rng.standard_normal((PICTURES, 128)).astype(np.float32)
lifting = DistanceEmbedding(float(np.linalg.norm(vectors_nh, axis=1).max()))
block = RegionBlock.of(lifting.pictures(vectors_nh)[:, None])
words_ls = rng.standard_normal((6, 300)).astype(np.float32)
said = numpy_network.FeedbackVectors(words_ls, tuple(range(1, 9)), vectors_nh[0])
for history in ("incremental", "whole"):
    settings = TransformerModel(**sizes, history=history)
    network = TransformerRetriever(settings, 8, WordVectors(settings, None, 20), 100)
    arrays = {name: array.numpy() for name, array in network.state_dict().items()}
    states, query_h = [None], None
    for _ in range(TURNS):
        state, query_h = numpy_network.numpy_step_transformer(arrays, settings, states[-1], said)
        states.append(state)

    def step(turn):
        return numpy_network.numpy_step_transformer(arrays, settings, states[turn], said)[1]

    rounds = [
        (clock(lambda: step(0)), clock(lambda: step(4)), clock(lambda: scan(query_h)),
         clock(lambda: scan(step(0))), clock(lambda: scan(step(4))))
        for _ in range(40)
    ]
    print(*(min(times) for times in zip(*rounds)))
"""


@pytest.mark.long
@pytest.mark.slow
def test_a_turn_on_50_000_pictures_is_encoding_plus_one_scan_and_late_turns_cost_no_more() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3] / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", TIMED], capture_output=True, text=True, check=True, env=environment)
    incremental, whole = ([float(part) for part in line.split()] for line in done.stdout.splitlines())
    for _, fifth, scan, first_turn, fifth_turn in (incremental, whole):
        # What is promised is 1.5 and 2 (benchmarks/feedback.py); machines that run tests are noisy.
        assert fifth_turn < 3 * (fifth + scan)
        assert fifth_turn < 4 * first_turn
    assert incremental[1] < whole[1]  # its own 18 tokens, not all 90
