"""What reading sentences in 8 bits costs and finds, beside the same network in float32: results/sentences.json.

    python benchmarks/sentences.py DATA --work FOLDER         # DATA holds flickr8k/, flickr8k-more/ ...

Captions of photographs of `report` are looked for among all captioned photographs, by either network under the shipped
head; ranks are compared caption by caption. Both read in one thread, in turn. The memory is that of a process of each,
after it has read a few texts. Vectors of the photographs are kept in FOLDER.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from freshness import RESULTS
from jaxtyping import Float, Float32, Int64
from measuring import time_call_and_cores, write_figures
from scale_vectors import Photographs, read_vectors
from tokenizers import BertWordPieceTokenizer

from viewfinder.data.splits import part_of, read_photographs
from viewfinder.encoders.base import unit_rows
from viewfinder.encoders.onnx import inference_session
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.encoders.starter.encoder import VOCABULARY, sentence_encoder
from viewfinder.encoders.starter.sentence_network import MAX_TOKENS, find_model
from viewfinder.metrics import difference_interval

CAPTIONS = 3
"""Captions of each photograph that are looked for."""

TIMED = 300
BEST = (1, 10, 100)

Read = Callable[[str], Float[np.ndarray, " s"]]


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=RESULTS / "sentences.json")
    parser.add_argument("--memory-of", choices=["float32", "8 bits"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.memory_of:
        print(json.dumps(measure_memory(given.memory_of)))
        return
    encoder = StarterEncoder()
    photos = read_vectors(given.data.resolve(), given.work, encoder)
    texts, rows_m = list_captions(given.data.resolve())
    ways = {"float32": open_whole(), "8 bits": sentence_encoder().compute}
    vectors = {name: np.stack([read(text) for text in texts]) for name, read in ways.items()}
    ranks = {name: find_ranks(encoder, photos, vectors_ms, texts, rows_m) for name, vectors_ms in vectors.items()}
    cosines_m = (unit_rows(vectors["float32"]) * unit_rows(vectors["8 bits"])).sum(axis=1)
    results: dict[str, Any] = {
        "photographs": len(photos.vectors_nd), "captions": len(texts),
        "cosine": {"mean": round(float(cosines_m.mean()), 5), "least": round(float(cosines_m.min()), 5)},
        "found": {str(best): compare(ranks, best) for best in BEST},
        "ms": time_ways(ways, texts[:TIMED]),
        "memory": {name: memory_of(given.data, given.work, name) for name in ways},
    }  # fmt: skip
    write_figures("sentences", results, given.out)
    print(json.dumps(results, indent=1))


def open_whole() -> Read:
    """The network of the package in float32, as it would be run without ours."""
    network, tokenizer = inference_session(find_model(), threads=1), BertWordPieceTokenizer(str(VOCABULARY))
    tokenizer.enable_truncation(MAX_TOKENS)

    def read(text: str) -> Float[np.ndarray, " s"]:
        ids_1t = np.array([tokenizer.encode(text).ids], np.int64)
        feed = {"input_ids": ids_1t, "attention_mask": np.ones_like(ids_1t), "token_type_ids": np.zeros_like(ids_1t)}
        mean_s = network.run(None, feed)[0][0].mean(axis=0)
        return np.asarray(mean_s / np.linalg.norm(mean_s))

    return read


def list_captions(data: Path) -> tuple[list[str], Int64[np.ndarray, " m"]]:
    """Captions of photographs of `report`, and the rows of these photographs among all."""
    pictures = [picture for found in read_photographs(data).values() for picture in found]
    asked = [
        (text, row)
        for row, picture in enumerate(pictures)
        if part_of(picture.path.name) == "report"
        for text in picture.captions[:CAPTIONS]
    ]
    return [text for text, _ in asked], np.array([row for _, row in asked], np.int64)


def find_ranks(
    encoder: StarterEncoder,
    photos: Photographs,
    vectors_ms: Float32[np.ndarray, "m s"],
    texts: list[str],
    rows_m: Int64[np.ndarray, " m"],
) -> Int64[np.ndarray, " m"]:
    """How many photographs are likelier than the one that each caption was written for."""
    asked_md = encoder.head.sentences(vectors_ms, texts)
    scores_mn = asked_md @ photos.vectors_nd.T - encoder.head.background(photos.vectors_nd)
    own_m1 = np.take_along_axis(scores_mn, rows_m[:, None], axis=1)
    return np.asarray((scores_mn > own_m1).sum(axis=1), np.int64)


def compare(ranks: Mapping[str, Int64[np.ndarray, " m"]], best: int) -> dict[str, float]:
    """The share of captions whose photograph is among so many best, by both; what 8 bits gain, and its interval."""
    whole_m, small_m = (ranks[name] < best for name in ("float32", "8 bits"))
    gain = difference_interval(small_m.astype(float), whole_m.astype(float))
    return {
        "float32": round(float(whole_m.mean()), 4), "8 bits": round(float(small_m.mean()), 4),
        "gain": round(gain.mean, 4), "low": round(gain.low, 4), "high": round(gain.high, 4),
    }  # fmt: skip


def time_ways(ways: Mapping[str, Read], texts: list[str]) -> dict[str, Any]:
    """Milliseconds of processor time of a text by either, in turn, and the median of their ratios."""
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for text in texts:
        for name, read in ways.items():
            spent[name].append(time_call_and_cores(read, text)[2])
    found: dict[str, Any] = {name: round(float(np.median(times)), 2) for name, times in spent.items()}
    ratios = np.array(spent["float32"]) / np.array(spent["8 bits"])
    return found | {
        "ratio": round(float(np.median(ratios)), 2),
        "quartiles": np.quantile(ratios, [0.25, 0.75]).tolist(),
    }


def memory_of(data: Path, work: Path, name: str) -> dict[str, int]:
    """Megabytes of a process that reads by this network."""
    command = [sys.executable, __file__, str(data), "--work", str(work), "--memory-of", name]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(said.strip().splitlines()[-1]))


def measure_memory(name: str) -> dict[str, int]:
    """What this process's private memory grows by when it opens a network and reads."""
    before = _count_private()
    read = open_whole() if name == "float32" else sentence_encoder().compute
    for text in ("a dog in the snow", "two children on a beach", "a red bus"):
        read(text)
    return {"private_MB": (_count_private() - before) // 1_000_000}


def _count_private() -> int:
    used = psutil.Process().memory_info()
    return int(used.rss - used.shared)


if __name__ == "__main__":
    main()
