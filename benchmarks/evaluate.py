"""The rows that every system must beat, on every protocol. Writes results/evaluate.json.

    python benchmarks/evaluate.py DATA       # DATA holds flickr8k/ and fashion-products/

Makes two worlds (drawn scenes, and FashionIQ-like data over the real product photos), evaluates what needs no training,
and keeps the ranks that claims refer to. Nothing is fitted here.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from chat_tests import MeasuredRow, Place, rank_chat, replay_tasks, without_shown
from chat_tests import keep as keep_chat
from machine import describe_host
from rows import UNTRAINED, keep_tasks, write_results

from viewfinder.encoders import load_encoder
from viewfinder.encoders.features import features
from viewfinder.evaluation import Plan, Run, evaluate, read_run, write_run
from viewfinder.evaluation.report import write_report
from viewfinder.worlds import write_world

SYSTEMS = ("random", "clip-i", "clip-t", "clip-ti", "composer")
TALKING = ("composer+oracle", "composer+oracle+information_gain")
"""System, simulated user and what asks: on the scenes, by ChatIR's protocol."""

SCENES, SEED, MAX_TALKS = 8000, 7, 2000
"""Scenes that are drawn, of which 1,018 are for testing; their seed; and the limit of talks."""

SHOWN = {"R@10", "Hits@10", "P", "BRI", "mean R@1,5,10,20", "mean R@5,8"}
"""Figures that go into the committed file; the run folders have all."""


def main() -> None:
    """Make the data, run everything, write one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/benchmarks"), help="worlds, vectors and runs")
    parser.add_argument("--only", choices=("figures", "claims"))
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    data = data_sets(given.data.resolve(), given.work)
    for name, folder in data.items():
        features(folder, load_encoder("starter"), out=given.work / "features" / name)
    if given.only != "claims":
        names = [f"{name}/{system}" for name in data for system in SYSTEMS] + [f"scenes/{system}" for system in TALKING]
        with ProcessPoolExecutor(given.processes, mp_context=get_context("spawn")) as pool:
            jobs = {name: pool.submit(run_one, data[name.partition("/")[0]], name, given.work) for name in names}
            runs = {name: job.result() for name, job in jobs.items()}
        result = {
            "data": {"scenes": f"{SCENES:,} drawn scenes, seed {SEED}, contextual language; test split"},
            "runs": {name: list_figures(run) for name, run in runs.items()},
            "machine": describe_host(),
        }
        write_results("evaluate", result)
    if given.only != "figures":
        for system in SYSTEMS:
            keep_one_turn(system, data["products"], given.work)
            out = given.work / "runs" / "chat" / system
            row = MeasuredRow(system, None, out, Place(given.work, data), system, UNTRAINED)
            rank_chat(row, out)
            keep_chat(row, "chat", out, "evaluate", "scenes, ")


def run_one(folder: Path, name: str, work: Path) -> Run:
    """One system on one data set: "scenes/clip-t", or with a user who talks: "scenes/composer+oracle"."""
    data, _, told = name.partition("/")
    system, user, questioner = (*told.split("+"), None, None)[:3]
    protocol = None if user is None else "chatir"
    plan = Plan(
        system=str(system), data=folder, protocol=protocol, user=user, questioner=questioner, limit=MAX_TALKS,
        features=work / "features" / data,
    )  # fmt: skip
    done = evaluate(
        plan, load_encoder("starter"), work / "runs" / name, notify=lambda line: print(name, line, flush=True)
    )
    write_run(done.run)
    write_report(done.run, done.examples)
    return done.run


def data_sets(data: Path, work: Path) -> dict[str, Path]:
    """The folders to evaluate on; worlds are made (or found whole from the last time)."""
    scenes, products = work / "scenes", work / "products"
    write_world(scenes, kind="scenes", count=SCENES, seed=SEED, language="contextual")
    write_world(products, kind="catalogue", count=0, seed=SEED, sprites=data / "fashion-products")
    return {"scenes": scenes, "products": products, "flickr8k": data / "flickr8k"}


def list_figures(run: Run) -> list[dict[str, Any]]:
    """The figures of a run that are shown, rounded: the file is read by people too."""
    return [
        {"task": task.title}
        | {key: round(value, 4) if isinstance(value, float) else value for key, value in record.items()}
        for task in run.tasks
        for figure in task.figures
        if figure.name.metric in SHOWN and not figure.setting
        for record in [figure.measure.to_json()]
    ]


def keep_one_turn(system: str, products: Path, work: Path) -> None:
    """Keeps the ranks of one turn about a product, kind by kind; the product shown is not searched."""
    plan = Plan(
        system=system, data=products, protocol="fashioniq", task="split gallery",
        features=work / "features" / "products",
    )  # fmt: skip
    out = work / "runs" / "one-turn" / system
    replay_tasks(plan, out, without_shown)
    for task in read_run(out).tasks:
        test, command = f"products, {task.title.split(', ')[1]}", "python benchmarks/evaluate.py DATA --only claims"
        keep_tasks("evaluate", test, system, UNTRAINED, [task], command)


if __name__ == "__main__":
    main()
