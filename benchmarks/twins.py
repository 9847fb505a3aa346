"""Could an exported graph replace the numpy twin of a trained network? Writes results/twins.json.

    python benchmarks/twins.py

Three networks with the shipped weights are exported to ONNX and run beside what a search runs: Drill-down's state
updater and its projection of regions, and ChatIR's dialogue encoder. The script reports the largest difference of the
numbers, the time of the graph over that of the twin (the median of alternating runs, in one process, on one thread
each), and what the graph adds: bytes on disk and milliseconds of loading.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from freshness import RESULTS
from measuring import time_call, write_figures
from threadpoolctl import threadpool_limits
from torch import nn

from viewfinder.encoders.onnx import inference_session
from viewfinder.retrievers.chatir.network import SentenceDialogueEncoder
from viewfinder.retrievers.chatir.numpy_network import encode_dialogue, feed_forward
from viewfinder.retrievers.chatir.settings import ModelSettings as ChatirSettings
from viewfinder.retrievers.drilldown.network import DrilldownNetwork
from viewfinder.retrievers.drilldown.settings import DrilldownSettings
from viewfinder.retrievers.shared.network import InputWidths
from viewfinder.retrievers.shared.numpy_network import numpy_project_regions, numpy_update_cell
from viewfinder.training.checkpoints import load_network
from viewfinder.training.presets import read_card_settings
from viewfinder.weights import read_weights

SYSTEMS = Path(__file__).parents[1] / "src" / "viewfinder" / "retrievers"
ENCODER = "starter-raw-1"
SENTENCE, REGION, WHOLE, REGIONS = 384, 1280, 2560, 36
PICTURES, ROUNDS, TIMES = 100, 5, 300
Arrays = Sequence[np.ndarray[Any, Any]]


def main() -> None:
    """Compare all three, and write what came of it."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        found = {**compare_drilldown(rng, Path(folder)), **compare_chatir(rng, Path(folder))}
    results: dict[str, Any] = {"graphs": found, "turns": TIMES}
    write_figures("twins", results, RESULTS / "twins.json")
    print(json.dumps(results, indent=1))


def compare_drilldown(rng: np.random.Generator, folder: Path) -> dict[str, Any]:
    """The state updater (three states), and the regions of pictures."""
    file = SYSTEMS / "drilldown" / "modern.safetensors"
    weights = read_weights(file)
    settings = read_card_settings(DrilldownSettings, weights.card)
    network = DrilldownNetwork(settings, InputWidths(REGION, WHOLE, SENTENCE, len(weights.card.settings["words"])))
    load_network(file, network, system="drilldown", encoder=ENCODER)
    shape = (settings.slots, settings.width)
    queries_md, states_md = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    regions_nke = rng.standard_normal((PICTURES, REGIONS, REGION)).astype(np.float32)
    return {
        "Drill-down, state updater": compare(
            network.update,
            (queries_md, states_md),
            lambda: numpy_update_cell(weights.arrays, "update", queries_md, states_md),
            folder / "update.onnx",
        ),
        f"Drill-down, regions of {PICTURES} pictures": compare(
            network.project,
            (regions_nke,),
            lambda: numpy_project_regions(weights.arrays, "project", regions_nke),
            folder / "project.onnx",
            times=9,
        ),
    }


def compare_chatir(rng: np.random.Generator, folder: Path) -> dict[str, Any]:
    """A dialogue of a caption and some rounds; the twin keeps the tokens of what was said before."""
    file = SYSTEMS / "chatir" / "lab.safetensors"
    weights = read_weights(file)
    settings = read_card_settings(ChatirSettings, weights.card)
    network = SentenceDialogueEncoder(settings, WHOLE, SENTENCE)
    load_network(file, network, system="chatir", encoder=ENCODER)
    caption_1s = rng.standard_normal((1, SENTENCE)).astype(np.float32)
    rounds_1ts = rng.standard_normal((1, ROUNDS, 2 * SENTENCE)).astype(np.float32)
    caption = feed_forward(weights.arrays, "caption", caption_1s[0])
    kept = [feed_forward(weights.arrays, "round", said) for said in rounds_1ts[0]]

    def turn() -> np.ndarray[Any, Any]:
        newest = feed_forward(weights.arrays, "round", rounds_1ts[0, -1])
        return encode_dialogue(weights.arrays, settings, caption, [*kept[:-1], newest])[None]

    inputs = (caption_1s, rounds_1ts, np.ones((1, 1 + ROUNDS), bool))
    return {f"ChatIR, a turn after {ROUNDS - 1} rounds": compare(Reads(network), inputs, turn, folder / "read.onnx")}


class Reads(nn.Module):
    """`DialogueEncoder.encode_dialogues` as what a module computes, for the exporter."""

    def __init__(self, network: SentenceDialogueEncoder) -> None:
        super().__init__()
        self.network = network

    def forward(self, *said: torch.Tensor) -> torch.Tensor:
        """Unit vectors of dialogues."""
        return self.network.encode_dialogues(*said)


def compare(
    network: nn.Module, inputs: Arrays, twin: Callable[[], np.ndarray[Any, Any]], file: Path, *, times: int = TIMES
) -> dict[str, float]:
    """One network, exported, beside its twin."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        names = [f"in{at}" for at in range(len(inputs))]
        tensors = tuple(torch.from_numpy(array) for array in inputs)
        torch.onnx.export(network.eval(), tensors, str(file), input_names=names, opset_version=17, dynamo=False)
    session, loading_ms = time_call(partial(inference_session, file, threads=1))
    given = dict(zip(names, inputs, strict=True))

    def graph() -> np.ndarray[Any, Any]:
        return np.asarray(session.run(None, given)[0])

    ratios, twins = [], []
    for _ in range(times):
        twin_ms, graph_ms = time_call(twin)[1], time_call(graph)[1]
        ratios.append(graph_ms / twin_ms)
        twins.append(twin_ms)
    return {
        "largest difference": float(np.abs(graph() - twin()).max()),
        "graph over twin": round(statistics.median(ratios), 2),
        "twin, ms": round(statistics.median(twins), 3),
        "graph, kB": round(file.stat().st_size / 1000),
        "loading the graph, ms": round(loading_ms, 1),
    }


if __name__ == "__main__":
    main()
