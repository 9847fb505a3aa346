"""What a step of MIO costs. In a process of its own, without type checks and with one thread."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TIMED = """
import time
import numpy as np, torch
from viewfinder.retrievers.mai import memory, numpy_network
from viewfinder.retrievers.mai.settings import Iteration

torch.set_num_threads(1)
rng = np.random.default_rng(0)


def least(runs, work):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


for form in (Iteration(), Iteration(density="paper", distance="nearest", neighbours=32, drop=0.25)):
    wide_th = rng.standard_normal((64, 768)).astype(np.float32)
    tokens_bth = torch.randn(64, 64, 64)
    step = least(300, lambda: numpy_network.numpy_select_tokens(wide_th, 32, form))
    batched = least(20, lambda: memory.select_tokens(tokens_bth, 32, form))
    looped = least(5, lambda: [memory.select_tokens(tokens_th[None], 32, form) for tokens_th in tokens_bth])
    print(step, batched, looped)
"""


@pytest.mark.long
@pytest.mark.slow
def test_a_step_takes_a_millisecond_at_most_and_a_batched_call_beats_a_loop() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3] / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", TIMED], capture_output=True, text=True, check=True, env=environment)
    for line in done.stdout.splitlines():
        step, batched, looped = map(float, line.split())
        # Issue 8 promises it; the least of 300 runs was 0.18 ms where nine processes shared two cores.
        assert step <= 1e-3
        assert batched < looped
