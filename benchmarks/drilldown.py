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
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe_host
from rows import (
    MORE,
    SEEDS,
    UNTRAINED,
    KeptRow,
    estimate_mean,
    is_kept,
    is_measured,
    keep_tasks,
    parameters,
    read_facts,
    read_ranks,
    run,
    write_results,
)
from trainings import Row, Runner, add_run_options, evaluate_system, make_world, run_jobs

from viewfinder.evaluation import read_run
from viewfinder.retrievers.drilldown.retriever import SHIPPED

COUNT, WORLD_SEED = 8000, 5
TEST = "scenes"
ONE = (0,)
DEPTHS = (1, 5, 10)
RATES_TRIED = "validation recall by learning rate"
"""The key of the recalls at each learning rate, in the results."""


@dataclass(frozen=True)
class SceneRow(Row):
    """A row of the table; `numbers` is the size of its query, and of `rates` validation chooses one with seed 0."""

    numbers: int = 96
    rates: tuple[str, ...] = ()


RATES = ("3e-3", "1e-3", "3e-4")
"""Learning rates that are tried for wide networks; the preset's is that of narrow ones, the published code has 2e-4."""


def slots(count: int, width: int) -> tuple[str, ...]:
    """The settings of M slots of D numbers, trained with slots taken in turn."""
    return (f"model.slots={count}", f"model.width={width}", "learned=none")


# "fixed" continues the first stage of "learned" at the second stage's rate and length, with slots still in turn,
# so that both have seen the same.
ON = ("learned=none", "training.learning_rate=3e-4", "training.epochs=4")
FIRST_STAGE = ("learned 3x32", "fixed")
CHAIN = (
    SceneRow("learned 3x32", "drilldown"),
    SceneRow("fixed 3x32", "drilldown", settings=ON, start=FIRST_STAGE),
    SceneRow("R-HRE 96", "r-hre"),
    SceneRow("R-RE 96", "r-re"),
    SceneRow("HRE 96", "hre"),
    SceneRow("R-RankFusion 96", "r-rankfusion"),
    SceneRow("modern 3x32", "drilldown", "modern", ("model.width=32",)),
    SceneRow("fixed 3x32, first stage", "drilldown", same_as=FIRST_STAGE),
)
CONTROL = (
    SceneRow("modern 3x32, regions only", "drilldown", "modern", ("model.width=32", "model.whole=false")),
    SceneRow("in the box, 3x128", "drilldown", "", seeds=ONE, numbers=384),
    SceneRow("composer, not trained on this", "composer", "", seeds=ONE, numbers=256),
    # An encoder may say more about the whole picture than about its regions; here both see the same numbers.
    SceneRow("HRE 96, mean of regions", "hre", settings=("model.pooled=true",)),
)
GRID = tuple(
    SceneRow(f"fixed {m}x{d}, first stage", "drilldown", settings=slots(m, d), numbers=m * d, seeds=seeds, rates=rates)
    for m, d, seeds, rates in (
        (1, 32, SEEDS, ()), (5, 32, MORE, ()), (10, 32, SEEDS, ()), (1, 160, MORE, ()), (3, 128, SEEDS, RATES),
    )
)  # fmt: skip
# The paper's own sizes: three vectors of 128 numbers against one of as many, or of 1,280.
WIDE = tuple(
    SceneRow(f"{name} {width}{', mean of regions' if pooled else ''}", name.lower(),
             settings=(f"model.width={width}", *(("model.pooled=true",) if pooled else ())), numbers=width, rates=RATES)
    for name, width, pooled in (
        ("R-HRE", 384, False), ("R-HRE", 1280, False), ("R-RE", 1280, False), ("HRE", 1280, True),
        ("R-RankFusion", 1280, False),
    )
)  # fmt: skip
STRICT = (
    SceneRow(
        "fixed 3x32, published loss", "drilldown",
        settings=("learned=none", "loss.kind=hardest", "model.standardised=false", "training.learning_rate=2e-4",
                  "training.epochs=6"),
        seeds=ONE,
    ),
)  # fmt: skip
ROWS = {"chain": CHAIN, "grid": (*CONTROL, *WIDE, *GRID, *STRICT)}


def main() -> None:
    """Train, evaluate, write one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_run_options(parser, "runs/drilldown", tuple(ROWS))
    given = parser.parse_args()
    runner = runner_of(given.work)
    make_world(runner.data[0], given.data.resolve() / "fashion-products", "scenes", COUNT, WORLD_SEED)
    run("features", runner.data[0], "--regions", "--out", runner.features)
    wanted = [row for part in given.only for row in ROWS[part]]
    untried = [row for row in wanted if 0 in given.seeds and not tried_rates(row, given.work)]
    run_jobs([(row.name, 0, partial(runner.train, at_rate(row, r), 0)) for row in untried for r in row.rates], given)
    left = [(row, s) for row in wanted for s in row.seeds if not is_kept("drilldown", TEST, row.name, s)]
    run_jobs([(row.name, seed, partial(measure, row, seed, given.work)) for row, seed in left], given)
    kept = read_ranks("drilldown").get(TEST, {})
    every = [row for some in ROWS.values() for row in some]
    done = [row for row in every if row.name in kept and is_whole(row, kept[row.name]) and is_here(row, given.work)]
    result = {
        "data": f"{COUNT:,} scenes of product photos, seed {WORLD_SEED}, contextual language; 10 turns",
        "rows": {row.name: figures(row, kept[row.name], given.work) for row in done},
        RATES_TRIED: {row.name: found for row in every if (found := tried_rates(row, given.work))},
        "machine": describe_host(),
    }
    write_results("drilldown", result, by_row=["rows", RATES_TRIED])


def runner_of(work: Path) -> Runner:
    """The runner of all rows, on the scenes in `work`."""
    rows = {row.name: row for some in ROWS.values() for row in some}
    return Runner(rows, work / "runs", (work / TEST,), work / "features" / TEST)


def measure(row: SceneRow, seed: int, work: Path) -> None:
    """Trains a row, ranks the test scenes and keeps the ranks, as far as that is not done."""
    runner, began = runner_of(work), time.monotonic()
    chosen = at_rate(row, chosen_rate(row, work))
    out = runner.folder(chosen.name, seed)
    if is_measured(out / "test"):
        return
    runner.train(chosen, seed)
    weights = checkpoint(row, seed, work)
    options = ("--protocol", "drilldown")
    evaluate_system(row.system, out / "test", runner.data[0], runner.features, *options, weights=weights)
    keep_tasks(
        "drilldown", TEST, row.name, seed if row.preset else UNTRAINED, read_run(out / "test").tasks,
        f"python benchmarks/drilldown.py DATA --rows '{row.name}'", weights=[weights] if weights else [],
        training=out if weights else None,
    )  # fmt: skip
    print(f"{row.name}, seed {seed}: {time.monotonic() - began:.0f} s", flush=True)


def at_rate(row: SceneRow, rate: str) -> SceneRow:
    """A row that is trained at a learning rate; "" is the preset's."""
    settings = (*row.settings, f"training.learning_rate={rate}")
    return replace(row, name=f"{row.name} at {rate}", settings=settings) if rate else row


def chosen_rate(row: SceneRow, work: Path) -> str:
    """The learning rate at which seed 0 finds most in validation, once all were tried; "" where it is the preset's."""
    found = tried_rates(row, work)
    return max(found, key=found.__getitem__, default="")


def tried_rates(row: SceneRow, work: Path) -> dict[str, float]:
    """The validation recall at every rate of a row, with seed 0, here or where the results come from; else nothing."""
    runner = runner_of(work)
    found = {rate: validated_recall(runner.folder(at_rate(row, rate).name, 0)) for rate in row.rates}
    if None in found.values():
        return dict(read_facts("drilldown").get(RATES_TRIED, {}).get(row.name, {}))
    return {rate: recall for rate, recall in found.items() if recall is not None}


def validated_recall(out: Path) -> float | None:
    """The validation recall of the weights that a training kept, those of the lowest loss; None: not there yet."""
    log = out / "log.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    figures = [one["figures"] for one in map(json.loads, lines) if one["kind"] == "validation"]
    return float(min(figures, key=lambda each: each["loss"])["recall"]) if figures else None


def checkpoint(row: SceneRow, seed: int, work: Path) -> Path | None:
    """The file of the network that a row measures; None for the composer, which has none."""
    if not row.preset:
        return None if row.system == "composer" else SHIPPED
    return runner_of(work).weights(at_rate(row, chosen_rate(row, work)), seed)


def is_whole(row: SceneRow, kept: KeptRow) -> bool:
    """Whether the ranks of all its seeds are kept."""
    return set(row.seeds if row.preset else (UNTRAINED,)) <= set(kept.seeds)


def is_here(row: SceneRow, work: Path) -> bool:
    """Whether a network of the row lies here, so that its parameters can be counted."""
    return row.system == "composer" or bool(networks(row, work))


def networks(row: SceneRow, work: Path) -> list[Path]:
    """The networks of a row that lie here, seed by seed."""
    files = [checkpoint(row, seed, work) for seed in row.seeds]
    return [file for file in files if file is not None and file.is_file()]


def figures(row: SceneRow, kept: KeptRow, work: Path) -> dict[str, Any]:
    """The figures of a row: R@1, R@5, R@10 over all turns, and R@10 by turn."""
    ranks_est = kept.values_ect / 2
    found_10 = (ranks_est < 10).astype(np.float64)
    by_seed = read_facts("drilldown")["kept"][TEST]["rows"][row.name]["seeds"]
    weights = networks(row, work)
    return {
        "seeds": list(row.seeds),
        "parameters": parameters(weights[0]) if weights else 0,
        "query_numbers": row.numbers,
        "minutes": [by_seed[str(seed)]["minutes"] for seed in kept.seeds],
        "mean": {f"R@{depth}": estimate_mean((ranks_est < depth).astype(np.float64).mean(axis=2)) for depth in DEPTHS},
        "by turn": {"R@10": [estimate_mean(found_10[:, :, turn]) for turn in range(ranks_est.shape[2])]},
    }


if __name__ == "__main__":
    main()
