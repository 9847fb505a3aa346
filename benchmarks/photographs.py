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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from machine import described
from rows import (
    MORE,
    SEEDS,
    UNTRAINED,
    facts_of,
    is_kept,
    kept_row,
    measured,
    parameters,
    read_facts,
    read_ranks,
    run,
    write_ranks,
    write_results,
)

from viewfinder.data import CaptionedPicture
from viewfinder.data.splits import PARTS, names_digest, read_photographs
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation import Plan, Task, replay_task
from viewfinder.evaluation.evaluate import load_tasks
from viewfinder.evaluation.overlap import list_parts, measure_overlap
from viewfinder.evaluation.pictures import load_pictures, match_pictures
from viewfinder.evaluation.plan import load_system
from viewfinder.evaluation.replay import pictures_only
from viewfinder.evaluation.results import task_result

NAME = "photographs"
TURNS = 5
SEQUENCES = "ade20k-sequences"
OF_SEQUENCES = "ADE_"
"""How the pictures of it are called, alone of all sets."""

OTHER_DATA = "other training data"
"""Flag of what is not trained here on `LEARN`: the encoder's head learnt from products, too."""

TESTS = ("photographs", "sequences")
LEARN = "learn"


@dataclass(frozen=True)
class Row:
    """A system and how it is trained; without a preset it is not.

    `start` names a row whose first stage is trained further, `first_of` one whose first stage this is.
    """

    name: str
    system: str
    settings: tuple[str, ...] = ()
    preset: str = "lab"
    start: str = ""
    first_of: str = ""
    trained: tuple[int, ...] = SEEDS

    @property
    def seeds(self) -> tuple[int, ...]:
        """Those of its trainings; the one that stands for none."""
        return self.trained if self.preset else (UNTRAINED,)


SHIPPED = ("drilldown", "chatir", "fashioniq", "chatsearcher", "mai")

LONG = ("training.epochs=8", "training.validate_epochs=2")
FURTHER = ("learned=none", "training.learning_rate=3e-4", "training.epochs=3")
"""As long and as fast as the stage in which a policy learns."""

ROWS = (
    Row("plain encoder, whole text", "clip-t", preset=""),
    Row("dialogues", "chatir"),
    Row("captions only", "chatir", ("rounds=0",)),
    Row("mask none", "chatir", ("mask=none",)),
    Row("R-HRE 96", "r-hre", LONG, trained=MORE),
    Row("learned 3x32", "drilldown", (*LONG, "learned.epochs=3")),
    Row("fixed 3x32", "drilldown", first_of="learned 3x32"),
    Row("HRE 96, mean of regions", "hre", (*LONG, "model.pooled=true")),
    Row("R-RankFusion 96", "r-rankfusion", LONG),
    Row("R-RE 96", "r-re", LONG, trained=MORE),
    Row("fixed 3x32, further", "drilldown", FURTHER, start="learned 3x32"),
    Row("fixed 3x128", "drilldown", (*LONG, "model.width=128", "learned=none")),
    Row("HRE 384, mean of regions", "hre", (*LONG, "model.width=384", "model.pooled=true")),
    *(Row(f"{system}, as shipped", system, preset="") for system in ("composer", *SHIPPED)),
)


class KeepingEncoder(StarterEncoder):
    """The starter, which reads a sentence once for all rows."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, Float[np.ndarray, " s"]] = {}

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        """As the starter has them."""
        if new := list(dict.fromkeys(text for text in texts if text not in self._known)):
            self._known |= dict(zip(new, super().sentences(new), strict=True))
        return np.stack([self._known[text] for text in texts])


@dataclass(frozen=True)
class Place:
    """Where everything lies."""

    work: Path
    encoder: KeepingEncoder = field(default_factory=KeepingEncoder)

    def folder(self, row: str, seed: int) -> Path:
        """A training."""
        return self.work / "runs" / f"{row.replace(' ', '-').replace(',', '')}-{seed}"

    def weights(self, row: Row, seed: int) -> Path | None:
        """The network that a row measures."""
        if row.first_of:
            return self.folder(row.first_of, seed) / "fixed" / "best.safetensors"
        return self.folder(row.name, seed) / "best.safetensors" if row.preset else None


def main() -> None:
    """Train, rank, keep; write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/photographs"), help="pictures, vectors and trainings")
    parser.add_argument("--rows", nargs="*", help="these only; the file has all that are done")
    given = parser.parse_args()
    place = Place(given.work)
    lists = make_folders(given.data.resolve(), given.work)
    for row in ROWS:
        for seed in row.seeds if not given.rows or row.name in given.rows else ():
            if not all(is_kept(NAME, test, row.name, seed) for test in TESTS):
                train(row, seed, place)
                keep(row, seed, place)
    write_results(NAME, {**lists, "rows": dict(results(place)), "machine": described()}, by_row=["rows"])


def make_folders(data: Path, work: Path) -> dict[str, Any]:
    """What is learnt from and what is searched, each a folder with captions and vectors; their sizes and lists."""
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


def train(row: Row, seed: int, place: Place) -> None:
    """Train a row, or go on where that was stopped."""
    if row.first_of:
        [whole] = (one for one in ROWS if one.name == row.first_of)
        train(whole, seed, place)
    if not row.preset or row.first_of:
        return
    out = place.folder(row.name, seed)
    settings = [part for setting in row.settings for part in ("--set", setting)]
    if row.start:
        [base] = (one for one in ROWS if one.name == row.start)
        train(base, seed, place)
        settings += ["--start", str(place.folder(base.name, seed) / "fixed" / "best.safetensors")]
    run(
        "train", row.system, "--data", str(place.work / LEARN), "--features", str(place.work / "features" / LEARN),
        "--preset", row.preset, "--seed", str(seed), "--out", str(out), "--resume", *settings,
        log=out.with_suffix(".log"),
    )  # fmt: skip


def keep(row: Row, seed: int, place: Place) -> None:
    """Rank both tests and keep the ranks."""
    weights = place.weights(row, seed)
    for test in TESTS:
        plan = Plan(
            system=row.system, data=place.work / test, protocol="captions", features=place.work / "features" / test,
            checkpoint=weights,
        )  # fmt: skip
        retriever = pictures_only(load_system(plan.system, 0, weights))  # shown pictures, whatever it would say
        pictures = load_pictures(plan, place.encoder, retriever)
        [task] = load_tasks(plan)
        task = match_pictures(of_test(task, test), pictures)
        table = replay_task(task, pictures.gallery(task.gallery), retriever)
        found = kept_row({seed: [task_result(task, table, ())]})
        files, trainings = ([weights], [place.folder(row.name, seed)]) if weights is not None else ([], [])
        overlap = measure_overlap(task, plan.data, list_parts(retriever, place.encoder))
        flags = [*([] if row.preset else [OTHER_DATA]), *overlap.flags]
        facts = facts_of(f"python benchmarks/photographs.py DATA --rows '{row.name}'", files, flags, trainings)
        write_ranks(NAME, test, row.name, found, gallery=len(task.gallery), facts=facts)
        print(f"{row.name}, seed {seed}, {test}: {np.mean(table.best_st < 10):.3f}", flush=True)


def of_test(task: Task, test: str) -> Task:
    """The task with the dialogues of `TURNS` turns alone; of sequences those of places."""
    chosen = [dialogue for dialogue in task.dialogues if len(dialogue.turns) == TURNS]
    if test == "sequences":
        chosen = [dialogue for dialogue in chosen if dialogue.target.startswith(OF_SEQUENCES)]
    return replace(task, dialogues=tuple(chosen))


def results(place: Place) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Of every row that is kept in all seeds, one of them from here: R@10 after every turn, its size and its cost."""
    kept, facts = read_ranks(NAME), read_facts(NAME)["kept"][TESTS[0]]["rows"]
    for row in ROWS:
        here = [file for seed in row.seeds if (file := place.weights(row, seed)) is not None and file.is_file()]
        if (row.preset and not here) or not all(
            is_kept(NAME, test, row.name, seed) for seed in row.seeds for test in TESTS
        ):
            continue
        found = {test: kept[test][row.name].values_ect / 2 < 10 for test in TESTS}
        yield (
            row.name,
            {
                "system": row.system,
                "parameters": parameters(here[0]) if here else 0,
                "minutes": [facts[row.name]["seeds"][str(seed)].get("minutes", 0.0) for seed in row.seeds],
                "R@10": {
                    test: [measured(found_ect[:, :, turn].astype(np.float64)) for turn in range(TURNS)]
                    for test, found_ect in found.items()
                },
            },
        )


if __name__ == "__main__":
    main()
