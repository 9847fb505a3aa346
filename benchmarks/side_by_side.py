"""The row that no paper has: every system of the box on the protocols of all papers; writes results/side_by_side.json.

    python benchmarks/side_by_side.py DATA     # DATA holds flickr8k/; what is done is skipped

Every system reads every talk as well as it can (adapters report each turn that was reworded), searches the same gallery
and is measured on the same talks. Systems are used as shipped, and not trained on what they are tested on unless the
table says so. Needs the scenes and the catalogue that chatir.py and fashioniq.py make, and their vectors.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from chat_tests import replay_tasks, without_shown
from freshness import RESULTS
from jaxtyping import Float
from machine import describe_host
from measuring import write_json
from remembering import RememberingEncoder
from rows import estimate_mean, is_measured, overlap_flags

from viewfinder.data.captions import read_captioned
from viewfinder.data.splits import split_of
from viewfinder.encoders import Encoder
from viewfinder.errors import ViewfinderError
from viewfinder.evaluation import Plan, Run, Task, evaluate, read_run, write_run
from viewfinder.evaluation.figures import LAST_TURN, metric_values, values_per_dialogue
from viewfinder.evaluation.results import TaskResult

TALKS = 200
"""Maximum number of dialogues of a task, taken evenly."""

SHARED = "R@10"
"""The metric by which all protocols are compared, after the last turn."""


@dataclass(frozen=True)
class Test:
    """A test of all systems: a folder, a protocol, and the words that its tasks have in their titles.

    `own` is what the protocol itself counts; the figures are those after the last turn. `unseen`: only talks about
    pictures of the test split, where a protocol knows no splits. `captions`: whether what is written about pictures
    may be read. `simulated`: nothing is recorded, a simulated user talks. Elsewhere pictures that a talk shows are not
    searched, unless an earlier turn looks for them.
    """

    data: str
    protocol: str
    own: str
    task: str | None = None
    limit: int | None = TALKS
    unseen: bool = False
    captions: bool = False
    simulated: bool = False


TESTS = {
    "drilldown: ten things of a scene": Test("scenes", "drilldown", "R@10"),
    "chatir: ten answers": Test("scenes", "chatir", "Hits@10"),
    "tChat": Test("scenes", "chatsearch", "R@10", "tchat"),
    "iChat": Test("scenes", "chatsearch", "R@10", "ichat"),
    "mChat": Test("scenes", "chatsearch", "R@10", "mchat"),
    "fashioniq: one turn": Test("products", "fashioniq", "R@10", "split gallery"),
    "fashioniq: five turns": Test("products", "fashioniq", "P", "dialogue", limit=100, simulated=True),
    "mai: rollback": Test("products", "mai", "mean R@1,5,10,20", "rollback"),
    "mai: combination": Test("products", "mai", "mean R@1,5,10,20", "combination"),
    "mai: sessions": Test("products", "mai", "mean R@5,8", "sessions all"),
    "photos: five captions": Test("flickr8k", "captions", "R@1", limit=None, unseen=True),
    "cirr": Test("cirr", "cirr", "R_subset@1"),
}
READS_CAPTIONS = {
    f"{name}, captions read": Test("products", "mai", "mean R@1,5,10,20", name.partition(": ")[2], captions=True)
    for name in ("mai: rollback", "mai: combination")
}
"""Tests for the one system that reads what is written about pictures."""

NOTHING = "nothing beyond the encoder, whose head learnt from products and photos"
TRAINED = {
    "random": "nothing",
    "clip-t": NOTHING,
    "clip-ti": NOTHING,
    "composer": NOTHING,
    "drilldown": "scenes: descriptions of things; photos: captions; products: names",
    "chatir": "scenes: dialogues; photos: captions; products: names",
    "fashioniq": "products: relative captions, talks with a simulated user, names; photos: captions",
    "combiner": "products: MAI's transactions",
    "mai": "products: MAI's transactions; photos: captions",
    "chatsearcher": "scenes: dialogues of all three kinds, captions, questions, edits; products and photos: captions, "
    "and questions about photos",
    "drilldown, trained anew": "scenes: descriptions of things",
    "chatir, trained anew": "scenes: dialogues",
    "mai, trained anew": "products: MAI's transactions",
}
"""The systems, and what their weights have learnt from: training splits of the same worlds. No row has seen a
picture of a test. "trained anew" are weights of benchmarks/drilldown.py (fixed 3x128, first stage), dialogues.py and
mai.py, given with `--weights`."""

Folders = Mapping[str, Path]


def main() -> None:
    """Evaluate what is not evaluated yet, write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--scenes", type=Path, default=Path("runs/chatir/scenes"))
    parser.add_argument("--products", type=Path, default=Path("runs/fashioniq/products"))
    parser.add_argument("--cirr", type=Path, default=Path("runs/chatsearcher/cirr"))
    parser.add_argument("--features", type=Path, default=Path("runs/chatsearcher/features"), help="a folder a data set")
    parser.add_argument("--work", type=Path, default=Path("runs/side_by_side"), help="where runs go")
    parser.add_argument("--weights", nargs="*", default=(), metavar="SYSTEM=FILE", help="in place of those in the box")
    parser.add_argument("--systems", nargs="*", default=tuple(TRAINED), help="do these; the file has all that are done")
    parser.add_argument("--tests", nargs="*", default=tuple(TESTS), help="likewise")
    parser.add_argument("--out", type=Path, default=RESULTS / "side_by_side.json")
    given = parser.parse_args()
    folders = {
        "scenes": given.scenes, "products": given.products, "cirr": given.cirr,
        "flickr8k": given.data.resolve() / "flickr8k",
    }  # fmt: skip
    weights = {name: Path(file) for name, _, file in (one.partition("=") for one in given.weights)}
    encoder = RememberingEncoder()
    for system in given.systems:
        if "anew" in system and system not in weights:
            print(f"{system}: left out, it needs --weights '{system}=FILE'", flush=True)
            continue
        for name, test in tests_of(system).items():
            if (name in given.tests or name in READS_CAPTIONS) and folders[test.data].is_dir():
                plan = plan_of(system, test, folders, given.features, weights.get(system))
                seen = list_test_pictures(folders[test.data]) if test.unseen else None
                evaluate_once(
                    plan,
                    encoder,
                    given.work / folder_name(system) / folder_name(name),
                    simulated=test.simulated,
                    among=seen,
                )
    write_json(given.out, results(given.work))


def tests_of(system: str) -> dict[str, Test]:
    """The tests of a system."""
    return {**TESTS, **(READS_CAPTIONS if system.startswith("mai") else {})}


def plan_of(system: str, test: Test, folders: Folders, features: Path, checkpoint: Path | None) -> Plan:
    """A test of a system."""
    return Plan(
        system=system.partition(",")[0], data=folders[test.data], protocol=test.protocol, task=test.task,
        limit=test.limit, features=features / test.data, captions=test.captions, checkpoint=checkpoint,
    )  # fmt: skip


def evaluate_once(
    plan: Plan, encoder: Encoder, out: Path, *, simulated: bool, among: frozenset[str] | None = None
) -> None:
    """Evaluates unless it is done, `among` these talks only; a system without weights is told and left out."""
    if is_measured(out):
        return

    def choose_talks(task: Task) -> Task:
        kept = tuple(talk for talk in task.dialogues if among is None or talk.id in among)
        return without_shown(replace(task, dialogues=kept))

    try:
        if simulated:
            write_run(evaluate(plan, encoder, out, notify=lambda line: print(out, line, flush=True)).run)
        else:
            replay_tasks(plan, out, choose_talks, encoder)
    except ViewfinderError as error:
        print(f"{out}: left out, {error}", flush=True)


def folder_name(name: str) -> str:
    """The name of a test or a system, for a folder."""
    return "-".join(name.replace(":", "").replace(",", "").split())


# -- results


def results(work: Path) -> dict[str, Any]:
    """All that is measured so far, and the most that chance gives."""
    rows = {system: row_of(work / folder_name(system), tests_of(system)) for system in TRAINED}
    return {
        "talks": TALKS,
        "tests": {name: about(work, name, test) for name, test in {**TESTS, **READS_CAPTIONS}.items()},
        "systems": {system: {"trained on": TRAINED[system], **row} for system, row in rows.items() if row["found"]},
        "machine": describe_host(),
    }


def about(work: Path, name: str, test: Test) -> dict[str, Any]:
    """The description of a test: its data, protocol and metric, and the sizes of its galleries."""
    runs = [
        read_run(folder) for system in TRAINED if is_measured(folder := work / folder_name(system) / folder_name(name))
    ]
    galleries = sorted({task.ranks.gallery_size for run in runs for task in run.tasks})
    return {"data": test.data, "protocol": test.protocol, "own": test.own, "pictures": galleries}


def row_of(folder: Path, tests: Mapping[str, Test]) -> dict[str, Any]:
    """A system's figures, test by test."""
    runs = {name: read_run(folder / folder_name(name)) for name in tests if is_measured(folder / folder_name(name))}
    found = {name: figures_of(run, tests[name]) for name, run in runs.items()}
    weights = {run.provenance.options.get("checkpoint", "in the box") for run in runs.values()}
    return {"weights": sorted(weights), "found": found}


def figures_of(run: Run, test: Test) -> dict[str, Any]:
    """The shared measure and the protocol's own, over the talks of all tasks, and what to know of its pictures."""
    own_s, shared_s = (np.concatenate([last(metric, task) for task in run.tasks]) for metric in (test.own, SHARED))
    flags = [flag for flag in overlap_flags(run.tasks) if "texts" not in flag]
    figures = {SHARED: estimate_mean(shared_s[None]), test.own: estimate_mean(own_s[None])}
    return {"talks": len(shared_s), **figures, "flags": flags}


def last(metric: str, task: TaskResult) -> Float[np.ndarray, " s"]:
    """One value a talk, after its last turn."""
    return np.asarray(values_per_dialogue(metric_values(metric, task.ranks), LAST_TURN, "", task.settings))


def list_test_pictures(folder: Path) -> frozenset[str]:
    """The pictures that no training of a captioned folder has seen."""
    return frozenset(one.path.name for one in read_captioned(folder)[0] if split_of(one.path) == "test")


if __name__ == "__main__":
    main()
