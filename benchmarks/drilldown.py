"""Drill-down, its baselines and its ablations, trained and measured; writes results/drilldown.json.

    python benchmarks/drilldown.py DATA      # holds fashion-products/; rows whose ranks are kept are skipped

Trains every row on a world of 8,000 scenes of product photos (13 of 16 for training, 1 for validation) with the
presets `lab` and `modern`, three seeds each, one processor per training, and ranks the test scenes by ten descriptions,
which are in other words than those learnt from (contextual language).
`--only chain` leaves the ablations out. photographs.py does the same on real photographs.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from machine import described
from rows import (
    MORE,
    SEEDS,
    UNTRAINED,
    KeptRow,
    facts_of,
    is_kept,
    is_measured,
    kept_row,
    measured,
    overlap_flags,
    parameters,
    read_facts,
    read_ranks,
    run,
    write_ranks,
    write_results,
)

from viewfinder.evaluation import read_run
from viewfinder.retrievers.drilldown.retriever import SHIPPED

COUNT, WORLD_SEED = 8000, 5
TEST = "scenes"
ONE = (0,)
DEPTHS = (1, 5, 10)
RATES_TRIED = "validation recall by learning rate"
"""Its name in the results."""


@dataclass(frozen=True)
class Row:
    """One row of the table: how it is trained.

    `start` names a row whose first stage it goes on from; `first_of` one whose first stage it is, with no training of
    its own. Without a preset it is the network in the box. `rates` are tried with seed 0, and validation chooses.
    """

    name: str
    system: str
    preset: str = "lab"
    settings: tuple[str, ...] = ()
    start: str = ""
    first_of: str = ""
    seeds: tuple[int, ...] = SEEDS
    numbers: int = 96
    rates: tuple[str, ...] = ()


RATES = ("3e-3", "1e-3", "3e-4")
"""Of wide networks: the preset's rate is that of narrow ones, the published code's of wide ones is 2e-4."""


def slots(count: int, width: int) -> tuple[str, ...]:
    """The settings of M slots of D numbers, trained with slots taken in turn."""
    return (f"model.slots={count}", f"model.width={width}", "learned=none")


# "fixed" continues the first stage of "learned" at the second stage's rate and length, with slots still in turn,
# so that both have seen the same.
ON = ("learned=none", "training.learning_rate=3e-4", "training.epochs=4")
CHAIN = (
    Row("learned 3x32", "drilldown"),
    Row("fixed 3x32", "drilldown", settings=ON, start="learned 3x32"),
    Row("R-HRE 96", "r-hre"),
    Row("R-RE 96", "r-re"),
    Row("HRE 96", "hre"),
    Row("R-RankFusion 96", "r-rankfusion"),
    Row("modern 3x32", "drilldown", "modern", ("model.width=32",)),
    Row("fixed 3x32, first stage", "drilldown", first_of="learned 3x32"),
)
CONTROL = (
    Row("modern 3x32, regions only", "drilldown", "modern", ("model.width=32", "model.whole=false")),
    Row("in the box, 3x128", "drilldown", "", seeds=ONE, numbers=384),
    Row("composer, not trained on this", "composer", "", seeds=ONE, numbers=256),
    # An encoder may say more about the whole picture than about its regions; here both see the same numbers.
    Row("HRE 96, mean of regions", "hre", settings=("model.pooled=true",)),
)
GRID = tuple(
    Row(f"fixed {m}x{d}, first stage", "drilldown", settings=slots(m, d), numbers=m * d, seeds=seeds, rates=rates)
    for m, d, seeds, rates in (
        (1, 32, SEEDS, ()), (5, 32, MORE, ()), (10, 32, SEEDS, ()), (1, 160, MORE, ()), (3, 128, SEEDS, RATES),
    )
)  # fmt: skip
# The paper's own sizes: three vectors of 128 numbers against one of as many, or of 1,280.
WIDE = tuple(
    Row(f"{name} {width}{', mean of regions' if pooled else ''}", name.lower(),
        settings=(f"model.width={width}", *(("model.pooled=true",) if pooled else ())), numbers=width, rates=RATES)
    for name, width, pooled in (
        ("R-HRE", 384, False), ("R-HRE", 1280, False), ("R-RE", 1280, False), ("HRE", 1280, True),
        ("R-RankFusion", 1280, False),
    )
)  # fmt: skip
STRICT = (
    Row(
        "fixed 3x32, published loss", "drilldown",
        settings=("learned=none", "loss.kind=hardest", "model.standardised=false", "training.learning_rate=2e-4",
                  "training.epochs=6"),
        seeds=ONE,
    ),
)  # fmt: skip


def main() -> None:
    """Train, evaluate, write one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/drilldown"), help="the world, vectors and runs")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", choices=("chain", "grid"))
    parser.add_argument("--rows", nargs="*", help="train these only; the file has all done")
    parser.add_argument("--seeds", type=int, nargs="*", default=MORE, help="likewise")
    given = parser.parse_args()
    scenes = make_world(given.data.resolve(), given.work)
    rows = {"chain": CHAIN, "grid": (*CONTROL, *WIDE, *GRID, *STRICT)}
    wanted = [row for part, some in rows.items() if given.only in (None, part) for row in some]
    wanted = [row for row in wanted if not given.rows or row.name in given.rows]
    with ThreadPoolExecutor(given.processes) as pool:
        untried = [row for row in wanted if 0 in given.seeds and not tried_rates(row, given.work)]
        for trial in [pool.submit(train, row, 0, scenes, rate) for row in untried for rate in row.rates]:
            trial.result()
        for depends in (False, True):
            jobs = [
                pool.submit(one, row, seed, scenes)
                for row in wanted
                for seed in given.seeds
                if seed in row.seeds
                and bool(row.start or row.first_of) == depends
                and not is_kept("drilldown", TEST, row.name, seed)
            ]
            for job in jobs:
                job.result()
    kept = read_ranks("drilldown").get(TEST, {})
    every = [row for some in rows.values() for row in some]
    done = [row for row in every if row.name in kept and is_whole(row, kept[row.name]) and is_here(row, given.work)]
    result = {
        "data": f"{COUNT:,} scenes of product photos, seed {WORLD_SEED}, contextual language; 10 turns",
        "rows": {row.name: figures(row, kept[row.name], given.work) for row in done},
        RATES_TRIED: {row.name: found for row in every if (found := tried_rates(row, given.work))},
        "machine": described(),
    }
    write_results("drilldown", result, by_row=["rows", RATES_TRIED])


def make_world(data: Path, work: Path) -> Path:
    """The scenes, made or found whole from the last time, and their vectors."""
    scenes = work / TEST
    if not (scenes / "world.json").is_file():
        run(
            "world", str(scenes), "--kind", "scenes", "--count", str(COUNT), "--seed", str(WORLD_SEED),
            "--language", "contextual", "--sprites", str(data / "fashion-products"),
        )  # fmt: skip
    run("features", str(scenes), "--regions", "--out", str(work / "features" / TEST))
    return scenes


def one(row: Row, seed: int, scenes: Path) -> None:
    """Train a row and evaluate it, as far as that is not done."""
    work = scenes.parent
    if is_done(row, seed, work):
        return
    out = folder(row, seed, work)
    began = time.monotonic()
    train(row, seed, scenes)
    weights = [] if row.system == "composer" else ["--checkpoint", str(checkpoint(row, seed, work))]
    run(
        "evaluate", row.system, "--data", str(scenes), "--features", str(work / "features" / TEST), "--protocol",
        "drilldown", "--split", "test", *weights, "--out", str(out / "test"), log=out.with_suffix(".log"),
    )  # fmt: skip
    keep(row, seed, work)
    print(f"{row.name}, seed {seed}: {time.monotonic() - began:.0f} s", flush=True)


def train(row: Row, seed: int, scenes: Path, rate: str = "") -> None:
    """Train a row, and before it the row whose first stage it is or goes on from; as far as that is not done.

    At a rate that is tried, or else the one that was chosen.
    """
    work = scenes.parent
    rate = rate or chosen_rate(row, work)
    for base in CHAIN:
        if base.name in (row.start, row.first_of):
            train(base, seed, scenes)
    if not row.preset or row.first_of:
        return
    out = folder(row, seed, work, rate)
    settings = (*row.settings, *((f"training.learning_rate={rate}",) if rate else ()))
    start = ["--start", str(first_stage(row.start, seed, work))] if row.start else []
    run(
        "train", row.system, "--data", str(scenes), "--features", str(work / "features" / TEST), "--preset",
        row.preset, "--seed", str(seed), "--out", str(out), "--resume", *start,
        *(part for setting in settings for part in ("--set", setting)), log=out.with_suffix(".log"),
    )  # fmt: skip


def chosen_rate(row: Row, work: Path) -> str:
    """The learning rate at which seed 0 finds most in validation, once all were tried; "" where it is the preset's."""
    found = tried_rates(row, work)
    return max(found, key=found.__getitem__, default="")


def tried_rates(row: Row, work: Path) -> dict[str, float]:
    """What validation found at every rate of a row, with seed 0, here or where the results come from; else nothing."""
    found = {rate: validated_recall(folder(row, 0, work, rate)) for rate in row.rates}
    if None in found.values():
        return dict(read_facts("drilldown").get(RATES_TRIED, {}).get(row.name, {}))
    return {rate: recall for rate, recall in found.items() if recall is not None}


def validated_recall(out: Path) -> float | None:
    """What validation found with the weights that a training kept, those of the lowest loss; None: not there yet."""
    log = out / "log.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    figures = [one["figures"] for one in map(json.loads, lines) if one["kind"] == "validation"]
    return float(min(figures, key=lambda each: each["loss"])["recall"]) if figures else None


def folder(row: Row, seed: int, work: Path, rate: str = "") -> Path:
    """Where a training lies: the one at a rate that is tried, or else the one that was chosen."""
    rate = rate or chosen_rate(row, work)
    at = f"-at-{rate}" if rate else ""
    return work / "runs" / f"{row.name.replace(' ', '-').replace(',', '')}{at}-{seed}"


def checkpoint(row: Row, seed: int, work: Path) -> Path:
    """The network that a row measures."""
    if not row.preset:
        return SHIPPED
    return first_stage(row.first_of, seed, work) if row.first_of else folder(row, seed, work) / "best.safetensors"


def first_stage(name: str, seed: int, work: Path) -> Path:
    """The network of a row of the chain after its first stage."""
    row = next(row for row in CHAIN if row.name == name)
    return folder(row, seed, work) / "fixed" / "best.safetensors"


def is_done(row: Row, seed: int, work: Path) -> bool:
    """Whether a row was measured."""
    return is_measured(folder(row, seed, work) / "test")


def keep(row: Row, seed: int, work: Path) -> None:
    """Keeps the ranks of a row, and what they are ranks of."""
    [task] = read_run(folder(row, seed, work) / "test").tasks
    weights = [] if row.system == "composer" else [checkpoint(row, seed, work)]
    trainings = [folder(row, seed, work)] if weights else []
    flags = ["own data", *overlap_flags([task])]
    facts = facts_of(f"python benchmarks/drilldown.py DATA --rows '{row.name}'", weights, flags, trainings)
    found = kept_row({seed if row.preset else UNTRAINED: [task]})
    write_ranks("drilldown", TEST, row.name, found, gallery=task.ranks.gallery_size, facts=facts)


def is_whole(row: Row, kept: KeptRow) -> bool:
    """Whether the ranks of all its seeds are kept."""
    return set(row.seeds if row.preset else (UNTRAINED,)) <= set(kept.seeds)


def is_here(row: Row, work: Path) -> bool:
    """Whether a network of the row lies here, so that its parameters can be counted."""
    return row.system == "composer" or any(checkpoint(row, seed, work).is_file() for seed in row.seeds)


def figures(row: Row, kept: KeptRow, work: Path) -> dict[str, Any]:
    """What is shown of a row: R@1, R@5, R@10 over all turns, and R@10 by turn."""
    ranks_est = kept.values_ect / 2
    found_10 = (ranks_est < 10).astype(np.float64)
    by_seed = read_facts("drilldown")["kept"][TEST]["rows"][row.name]["seeds"]
    weights = [file for seed in row.seeds if (file := checkpoint(row, seed, work)).is_file()]
    return {
        "seeds": list(row.seeds),
        "parameters": 0 if row.system == "composer" else parameters(weights[0]),
        "query_numbers": row.numbers,
        "minutes": [by_seed[str(seed)]["minutes"] for seed in kept.seeds],
        "mean": {f"R@{depth}": measured((ranks_est < depth).astype(np.float64).mean(axis=2)) for depth in DEPTHS},
        "by turn": {"R@10": [measured(found_10[:, :, turn]) for turn in range(ranks_est.shape[2])]},
    }


if __name__ == "__main__":
    main()
