"""ChatIR's protocol at full size: 2,064 real dialogues, 11 rounds, a pool of 50,000. Writes results/chatir.json.

    python benchmarks/chatir.py DATA         # DATA holds chatir/

The pictures of the pool are not here, so vectors stand in for them and for the words (directions drawn from a hash).
The script measures reading, the steps of the talks, ranking and the figures with their intervals. Time and memory are
those of a separate process. With vectors that know nothing, Hits@10 must come out as chance.

For claims.toml it also counts repeated questions and different words in the released dialogues of every questioner
(ChatIR, section 4.2); that needs no pictures, and `--only questions` does nothing else.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from machine import describe_host
from rows import UNTRAINED, KeptRow, facts_of, write_ranks, write_results

from viewfinder.data.dialogues import read_dialogues
from viewfinder.metrics import count_repeated_questions, count_unique_tokens
from viewfinder.testing import ColourEncoder

WIDTH = 256
FILE = "Human_BLIP2"
QUESTIONERS = ("Human_BLIP2", "ChatGPT_BLIP2", "Unanswered_ChatGPT_BLIP2", "FLAN_ALPACA_XXL_BLIP2")


class StandIn(ColourEncoder):
    """An encoder that knows nothing: every text is a direction of its own."""

    def words(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Unit vectors drawn from a hash of each text."""
        return np.stack([_draw_direction(text) for text in texts])

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        """The vectors of `words`."""
        return self.words(texts)

    def background(self, pictures_nd: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Zeros: nothing is known of it."""
        return np.zeros(len(pictures_nd), np.float32)


def _draw_direction(text: str) -> Float[np.ndarray, " d"]:
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
    drawn_d = np.random.default_rng(seed).standard_normal(WIDTH).astype(np.float32)
    unit_d: Float[np.ndarray, " d"] = drawn_d / np.linalg.norm(drawn_d)
    return unit_d


def main() -> None:
    """Measures both systems, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--system", help="measure this one here, and print its figures")
    parser.add_argument("--only", choices=("questions",))
    given = parser.parse_args()
    if given.system:
        print(json.dumps(measure_system(given.data, given.system)))
        return
    keep_questions(given.data)
    if given.only:
        return
    results = {}
    for system in ("clip-t", "composer"):
        command = [sys.executable, __file__, str(given.data), "--system", system]
        results[system] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(system, results[system], flush=True)
    write_results("chatir", {"talks": FILE, "systems": results, "machine": describe_host()})


def keep_questions(data: Path) -> None:
    """Keeps of every released dialogue how much of it was asked before, and its different words, by questioner."""
    for file in QUESTIONERS:
        dialogues, _ = read_dialogues(data / "chatir" / "dialogues" / f"{file}.json")
        asked = [[one.question for one in dialogue.rounds] for dialogue in dialogues]
        counted = {
            "repeated questions": count_repeated_questions(asked) / np.array([len(questions) for questions in asked]),
            "different words": count_unique_tokens(asked) / 100,
        }
        ids = tuple(dialogue.image for dialogue in dialogues)
        for test, value_c in counted.items():
            found = KeptRow(ids, (UNTRAINED,), value_c[None, :, None].astype(np.float32))
            facts = facts_of("python benchmarks/chatir.py DATA --only questions")
            write_ranks("chatir", test, file, found, gallery=0, facts=facts)


def measure_system(data: Path, system: str) -> dict[str, float]:
    """Seconds, peak memory, and Hits@10 after the last round beside what chance would have."""
    from viewfinder.evaluation import compute_figures, replay_task
    from viewfinder.evaluation.pictures import Pictures
    from viewfinder.evaluation.plan import load_system
    from viewfinder.evaluation.protocols import read_tasks

    started = time.perf_counter()
    [task] = [task for task in read_tasks(data / "chatir", "chatir", "val") if task.name == FILE]
    keys = tuple(sorted(task.gallery))
    vectors_nd = np.random.default_rng(0).standard_normal((len(keys), WIDTH)).astype(np.float32)
    vectors_nd /= np.linalg.norm(vectors_nd, axis=1, keepdims=True)
    gallery = Pictures(keys, vectors_nd, StandIn()).gallery()
    table = replay_task(task, gallery, load_system(system))
    found = {(figure.name.metric, figure.name.at): figure.measure.interval for figure in compute_figures(task, table)}
    hits = found["Hits@10", "round 10"]
    return {
        "seconds": round(time.perf_counter() - started, 1),
        "peak_MiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "talks": len(task.dialogues),
        "pool": len(keys),
        "hits_at_10_after_round_10": hits.mean,
        "low": hits.low,
        "high": hits.high,
        "of_chance": 1 - (1 - 10 / len(keys)) ** 11,
    }


if __name__ == "__main__":
    main()
