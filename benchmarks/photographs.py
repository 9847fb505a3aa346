"""Claims of two papers, tested on real photographs; keeps ranks/photographs.npz and writes results/photographs.json.

    python benchmarks/photographs.py DATA      # flickr8k/, coco/, ade20k-sequences/ ...; what is kept is skipped

Training uses the photographs of the part `fit` with five captions each, validation those of `choose`; ADE20K's are left
out. No training here has seen a picture of the two tests. "photographs" says the five captions of each photograph of
`report` one by one, in a gallery of all of that part; "sequences" says the sentences that one person said about a place
in ADE20K, in their order, in the same gallery and all places. Rows that are compared were trained for the same number
of steps, and a row is kept seed by seed.
"""

from __future__ import annotations

import argparse
import csv
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe_host
from remembering import RememberingEncoder
from rows import (
    MORE,
    UNTRAINED,
    estimate_mean,
    is_kept,
    keep_tasks,
    parameters,
    read_facts,
    read_ranks,
    run,
    write_results,
)
from trainings import Row, Runner, add_run_options, run_jobs

from viewfinder.data import CaptionedPicture
from viewfinder.data.splits import PARTS, names_digest, read_photographs
from viewfinder.encoders import Encoder
from viewfinder.evaluation import Plan, Task, replay_task
from viewfinder.evaluation.evaluate import load_tasks
from viewfinder.evaluation.overlap import list_parts, measure_overlap
from viewfinder.evaluation.pictures import load_pictures, match_pictures
from viewfinder.evaluation.plan import load_system
from viewfinder.evaluation.replay import force_pictures
from viewfinder.evaluation.results import make_task_result

NAME = "photographs"
TURNS = 5
SEQUENCES = "ade20k-sequences"
OF_SEQUENCES = "ADE_"
"""How the pictures of it are called, alone of all sets."""

OTHER_DATA = "other training data"
"""Flag of what is not trained here on `LEARN`: the encoder's head learnt from products, too."""

TESTS = ("photographs", "sequences")
LEARN = "learn"


SHIPPED = ("drilldown", "chatir", "fashioniq", "chatsearcher", "mai")

LONG = ("training.epochs=8", "training.validate_epochs=2")
FURTHER = ("learned=none", "training.learning_rate=3e-4", "training.epochs=3")
"""A training as long and as fast as the stage in which a policy learns."""

LEARNED = ("learned 3x32", "fixed")
"""The first stage of the training in which a policy is learnt."""

ROWS = (
    Row("plain encoder, whole text", "clip-t", ""),
    Row("dialogues", "chatir"),
    Row("captions only", "chatir", settings=("rounds=0",)),
    Row("mask none", "chatir", settings=("mask=none",)),
    Row("R-HRE 96", "r-hre", settings=LONG, seeds=MORE),
    Row("learned 3x32", "drilldown", settings=(*LONG, "learned.epochs=3")),
    Row("fixed 3x32", "drilldown", same_as=LEARNED),
    Row("HRE 96, mean of regions", "hre", settings=(*LONG, "model.pooled=true")),
    Row("R-RankFusion 96", "r-rankfusion", settings=LONG),
    Row("R-RE 96", "r-re", settings=LONG, seeds=MORE),
    Row("fixed 3x32, further", "drilldown", settings=FURTHER, start=LEARNED),
    Row("fixed 3x128", "drilldown", settings=(*LONG, "model.width=128", "learned=none")),
    Row("HRE 384, mean of regions", "hre", settings=(*LONG, "model.width=384", "model.pooled=true")),
    *(Row(f"{system}, as shipped", system, "") for system in ("composer", *SHIPPED)),
)


def main() -> None:
    """Train, rank, keep; write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_run_options(parser, "runs/photographs", processes=1)
    given = parser.parse_args()
    lists = make_folders(given.data.resolve(), given.work)
    rows, encoder = {row.name: row for row in ROWS}, RememberingEncoder()
    learn = (given.work / LEARN,)
    runner = Runner(rows, given.work / "runs", learn, given.work / "features" / LEARN)
    jobs = [
        (row.name, seed, partial(measure, row, seed, runner, given.work, encoder))
        for row in ROWS
        for seed in seeds_of(row)
        if not all(is_kept(NAME, test, row.name, seed) for test in TESTS)
    ]
    given.seeds = [*given.seeds, UNTRAINED]
    run_jobs(jobs, given)
    write_results(NAME, {**lists, "rows": dict(results(runner)), "machine": describe_host()}, by_row=["rows"])


def seeds_of(row: Row) -> tuple[int, ...]:
    """The seeds of a row's trainings, or the one that stands for none."""
    return row.seeds if row.preset else (UNTRAINED,)


def make_folders(data: Path, work: Path) -> dict[str, Any]:
    """Makes the folders to learn from and to search, with captions and vectors; returns their sizes and lists."""
    folders = list_pictures(data)
    for name, pictures in folders.items():
        write_folder(work / name, pictures)
        if not ((vectors := work / "features" / name) / "manifest.json").is_file():
            run("features", str(work / name), "--out", str(vectors))
    return {name: {"pictures": len(some), "list": names_digest(some)} for name, some in folders.items()}


def list_pictures(data: Path) -> dict[str, list[CaptionedPicture]]:
    """The photographs that are learnt from (and chosen on), and those that each test searches."""
    parts = {part: read_photographs(data, part) for part in PARTS}
    learnt = [(name, one) for part in ("fit", "choose") for name, some in parts[part].items() for one in some]
    reported = [one for some in parts["report"].values() for one in some]
    return {
        LEARN: [one for name, one in learnt if name != SEQUENCES and len(one.captions) >= TURNS],
        "photographs": reported,
        "sequences": [*reported, *(one for name, one in learnt if name == SEQUENCES)],
    }


def write_folder(folder: Path, pictures: Sequence[CaptionedPicture]) -> None:
    """The pictures with captions.csv, as far as they are not there."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    with (folder / "captions.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("image", "caption"))
        for picture in pictures:
            table.writerows((picture.path.name, caption) for caption in picture.captions)
            if not (place := folder / "images" / picture.path.name).is_file():
                shutil.copy2(picture.path, place)


def measure(row: Row, seed: int, runner: Runner, work: Path, encoder: Encoder) -> None:
    """Trains a row, ranks both tests and keeps the ranks."""
    weights = runner.train(row, seed)
    for test in TESTS:
        plan = Plan(
            system=row.system, data=work / test, protocol="captions", features=work / "features" / test,
            checkpoint=weights,
        )  # fmt: skip
        retriever = force_pictures(load_system(plan.system, 0, weights))  # shown pictures, whatever it would say
        pictures = load_pictures(plan, encoder, retriever)
        [task] = load_tasks(plan)
        task = match_pictures(of_test(task, test), pictures)
        table = replay_task(task, pictures.gallery(task.gallery), retriever)
        overlap = measure_overlap(task, plan.data, list_parts(retriever, encoder))
        keep_tasks(
            NAME, test, row.name, seed, [replace(make_task_result(task, table, ()), overlap=overlap)],
            f"python benchmarks/photographs.py DATA --rows '{row.name}'", weights=[weights] if weights else [],
            training=runner.folder(row.name, seed) if weights else None, flags=[] if row.preset else [OTHER_DATA],
        )  # fmt: skip
        print(f"{row.name}, seed {seed}, {test}: {np.mean(table.best_st < 10):.3f}", flush=True)


def of_test(task: Task, test: str) -> Task:
    """The task with the dialogues of `TURNS` turns alone; of sequences those of places."""
    chosen = [dialogue for dialogue in task.dialogues if len(dialogue.turns) == TURNS]
    if test == "sequences":
        chosen = [dialogue for dialogue in chosen if dialogue.target.startswith(OF_SEQUENCES)]
    return replace(task, dialogues=tuple(chosen))


def results(runner: Runner) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """R@10 after every turn, size and cost of every row that is kept in all seeds, one of them from here."""
    kept, facts = read_ranks(NAME), read_facts(NAME)["kept"][TESTS[0]]["rows"]
    for row in ROWS:
        files = [runner.weights(row, seed) for seed in seeds_of(row)]
        here = [file for file in files if file is not None and file.is_file()]
        is_whole = all(is_kept(NAME, test, row.name, seed) for seed in seeds_of(row) for test in TESTS)
        if (row.preset and not here) or not is_whole:
            continue
        found = {test: kept[test][row.name].values_ect / 2 < 10 for test in TESTS}
        yield (
            row.name,
            {
                "system": row.system,
                "parameters": parameters(here[0]) if here else 0,
                "minutes": [facts[row.name]["seeds"][str(seed)].get("minutes", 0.0) for seed in seeds_of(row)],
                "R@10": {
                    test: [estimate_mean(found_ect[:, :, turn].astype(np.float64)) for turn in range(TURNS)]
                    for test, found_ect in found.items()
                },
            },
        )


if __name__ == "__main__":
    main()
