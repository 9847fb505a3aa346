"""What `viewfinder train one` brings on the vectors of another encoder: results/own_network.json.

    python benchmarks/own_network.py DATA [--work runs/fusion] [--out runs/own-network]    # half an hour on one core

The turn network is trained on relative captions, CIRR's queries and sessions about training products of a catalogue
world (fusion_data.py makes it), over vectors of `pseudo_clip`, whose libraries no shipped network reads. Its
validation products say which weights are kept and how much the opinion counts; the test is looked at once, at the end.
What is trained is not trained again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from chat_tests import without_shown
from freshness import RESULTS
from fusion_data import PRODUCTS, make_catalogue
from jaxtyping import Float
from machine import describe_host
from measuring import write_json
from pseudo_clip import PseudoClip
from rows import SEEDS, estimate_mean

from viewfinder.evaluation import Plan
from viewfinder.evaluation.evaluate import load_tasks
from viewfinder.evaluation.pictures import Pictures, load_pictures, match_pictures
from viewfinder.evaluation.plan import load_system
from viewfinder.evaluation.replay import replay_task
from viewfinder.retrievers.one.picks import FolderPicks, PickTask, Record, RecordedTask
from viewfinder.retrievers.one.train import train
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.tuning.picks import record
from viewfinder.weights import read_card

COLUMNS = {
    "fashioniq: one turn": ("fashioniq", "split gallery"), "cirr": ("cirr", None),
    "mai: sessions": ("mai", "sessions all"),
}  # fmt: skip
"""The protocol of each column, and words in the titles of its tasks."""

PRESET, DEPTH = "lab", 10


def main() -> None:
    """Trains with every seed, then measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "--work", type=Path, default=Path("runs/fusion"), help="that of fusion.py, as far as it is made"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/own-network"), help="vectors and networks")
    given = parser.parse_args()
    torch.set_num_threads(1)
    folder, encoder = given.work / "products", PseudoClip()
    make_catalogue(folder, given.data.resolve() / PRODUCTS, seed=1, language="contextual", pairs=4)
    remember = remember_records(encoder)
    for seed in SEEDS:
        train_once(folder, given.out, encoder, seed, remember)
    plan = Plan(system="composer", data=folder, features=given.out / "vectors")
    pictures = load_pictures(plan, encoder, load_system("composer"))
    files = [best_of(given.out, seed) for seed in SEEDS]
    found = {
        "encoder": encoder.name,
        "preset": PRESET,
        "columns": {name: measure_column(name, folder, pictures, files) for name in COLUMNS},
        "validation": [dict(read_card(file).figures) for file in files],
        "nats a deviation": [read_card(file).settings["nats"] for file in files],
        "seeds": list(SEEDS),
        "minutes of training": [read_minutes(given.out, seed) for seed in SEEDS],
        "machine": describe_host(),
    }
    write_json(RESULTS / "own_network.json", found)


def best_of(out: Path, seed: int) -> Path:
    """The network of a seed."""
    return out / f"{PRESET}-{seed}" / "best.safetensors"


def remember_records(encoder: PseudoClip) -> Record:
    """What the composer makes of the dialogues, asked once for all seeds."""
    kept: dict[tuple[PickTask, ...], list[RecordedTask]] = {}

    def remember(read: FolderPicks) -> list[RecordedTask]:
        if read.tasks not in kept:
            kept[read.tasks] = record(read, encoder=encoder, notify=print)
        return kept[read.tasks]

    return remember


def train_once(folder: Path, out: Path, encoder: PseudoClip, seed: int, remember: Record) -> None:
    """Trains the network of a seed as the command does, if that is not done."""
    if not best_of(out, seed).is_file():
        plan = TrainPlan(
            system="one", data=(folder,), preset=PRESET, out=best_of(out, seed).parent, encoder=encoder, seed=seed,
            features=out / "vectors", resume=True, notify=print,
        )  # fmt: skip
        print(seed, train(plan, remember), flush=True)


def read_minutes(out: Path, seed: int) -> float:
    """How long the training of a seed took, without what the composer makes of the dialogues."""
    *_, last = (best_of(out, seed).parent / "network" / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return round(float(json.loads(last)["seconds"]) / 60, 1)


def measure_column(name: str, folder: Path, pictures: Pictures, files: list[Path]) -> dict[str, Any]:
    """R@10 of the composer and of `one` with every network after the last turn of test dialogues."""
    protocol, words = COLUMNS[name]
    plan = Plan(system="composer", data=folder, protocol=protocol, task=words, split="test")
    tasks = [without_shown(match_pictures(task, pictures)) for task in load_tasks(plan)]
    systems = [load_system("composer"), *(load_system("one", checkpoint=file) for file in files)]
    hits_sc = []
    for system in systems:
        found = [replay_task(task, pictures.gallery(tuple(task.pictures())), system) for task in tasks]
        hits_sc.append(np.concatenate([find_hits(table.best_st, table.worst_st) for table in found]))
    composer_c, one_ec = hits_sc[0], np.stack(hits_sc[1:])
    row = {
        "dialogues": len(composer_c),
        "galleries": [len(task.gallery) for task in tasks],
        "composer": estimate_mean(composer_c[None]),
        "one": estimate_mean(one_ec),
        "one over composer": estimate_mean(one_ec - composer_c),
    }
    print(name, row, flush=True)
    return row


def find_hits(best_st: Float[np.ndarray, "s t"], worst_st: Float[np.ndarray, "s t"]) -> Float[np.ndarray, " s"]:
    """Whether the wanted picture is among the first ten after the last turn; equal scores share the mean of ranks."""
    last_s = (~np.isnan(best_st)).sum(axis=1) - 1
    rank_s = (best_st + worst_st)[np.arange(len(last_s)), last_s] / 2
    return np.asarray(rank_s < DEPTH, float)


if __name__ == "__main__":
    main()
