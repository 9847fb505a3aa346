"""What a turn costs, as ratios within one run. In a process of its own, without type checks and with one thread."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TIMED = """
import time
from dataclasses import asdict

import numpy as np, torch
from viewfinder.conversation import Like, Say
from viewfinder.query import Picture, ResolvedTurn
from viewfinder.retrievers.chatsearcher.network import draw_language_model
from viewfinder.retrievers.chatsearcher.network import ChatSearcherNetwork, InputSizes
from viewfinder.retrievers.chatsearcher.sequence import train_tokenizer
from viewfinder.retrievers.chatsearcher.retriever import ChatSearcher
from viewfinder.retrievers.chatsearcher.settings import ChatSearcherLossSettings, ChatSearcherSettings
from viewfinder.search.region_scores import RegionBlock, single_vector_scores
from viewfinder.weights import Card, Weights

torch.set_num_threads(1)
torch.manual_seed(0)
rng = np.random.default_rng(0)
PICTURES = 50_000
SAID = "a man in a red coat walks two dogs along the beach at dusk"

settings = ChatSearcherSettings()
tokeniser = train_tokenizer(["USER: ASSISTANT: " + SAID] * 3, settings.pieces)
language = draw_language_model(settings, tokeniser)
network = ChatSearcherNetwork(settings, ChatSearcherLossSettings(), InputSizes(2560, 36, 1280, 384), language)
arrays = {name: array.numpy().astype(np.float32) for name, array in network.state_dict().items()}
known = {"model": asdict(settings), "loss": asdict(ChatSearcherLossSettings()), "tokeniser": asdict(tokeniser)}
known |= {"image_first": True, "leaning": float("inf"), "language": network.shape, "sentences_version": ""}
retriever = ChatSearcher(Weights(arrays, Card(system="chatsearcher", preset="", encoder="e", settings=known), "0"))
talking = retriever.with_picture_bias(float("-inf"))
raw = {"raw": rng.standard_normal(2560).astype(np.float32)}
raw["raw regions"] = rng.standard_normal((36, 1280)).astype(np.float16)


def turn(number, said=None):
    pictures = (Picture("p", raw),) if isinstance(said, Like) else ()
    return ResolvedTurn(said or Say(SAID), number, words=None, text=SAID, pictures=pictures)


def clock(work):
    start = time.process_time()  # not what other processes take meanwhile
    work()
    return time.process_time() - start


states = [retriever.begin()]
for number in range(1, 10):
    states.append(retriever.step(states[-1], turn(number)))
assert not states[-1].forgot
block = RegionBlock.of(rng.standard_normal((PICTURES, 1, settings.retrieval), dtype=np.float32))


def first_results():
    state = retriever.step(retriever.begin(), turn(1))
    return single_vector_scores(block, retriever.query(state).parts[0].vector_d).argmax()


rounds = [
    (
        clock(lambda: retriever.step(states[1], turn(2))),
        clock(lambda: retriever.step(states[9], turn(10))),
        clock(first_results),
        clock(lambda: retriever.step(states[1], turn(2, Like("p", SAID)))),
        clock(lambda: "".join(talking.reply(talking.step(states[1], turn(2))))),
    )
    for _ in range(30)
]
print(*(min(times) for times in zip(*rounds)))
"""


@pytest.mark.long
@pytest.mark.slow
def test_the_tenth_turn_costs_what_the_second_does_and_results_come_at_once() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3] / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", TIMED], capture_output=True, text=True, check=True, env=environment)
    second, tenth, first_results, _, _ = (float(part) for part in done.stdout.split())
    # Issue 9 promises 1.3 and 300 ms; machines that run tests are noisy.
    assert tenth < 1.5 * second
    assert first_results < 0.3
