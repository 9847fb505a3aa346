"""Each specialist trained further on the same mixture as all others; writes results/mixture.json.

    python benchmarks/mixture.py DATA [--only make train score report] [--systems chatir drilldown]
    python benchmarks/mixture.py DATA --only ship      # writes those that `one` has for its own into the package

`one` has learnt from every world; the specialists that it is compared with, each from its own and a little more. Here
each starts from its shipped weights and goes on learning from all training dialogues of all worlds, through the
adapters of the live product, with its own trainer (mixture_lessons.py, mixture_trainers.py); the validation dialogues
of all kinds say which weights are kept. Then each is measured on the test columns of docs/systems/one.md, beside
the shipped weights and beside `one`, which has some of them for its own (`OWN_WEIGHTS`); these are trained three times,
as its gates are fitted. What is done is skipped; the report reads what `fusion.py --only own` has scored.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from chat_tests import without_shown
from freshness import RESULTS
from fusion import measure_ways
from fusion_data import COLUMNS, list_queries, read_scores, read_tasks_of, score_task
from fusion_fit import hits
from fusion_talks import TALKS_COLUMN, Alone, hear_out, open_halls
from jaxtyping import Float, Float32
from machine import describe_host
from measuring import write_json
from mixture_lessons import KINDS, SCENES, make_folders, read_lessons
from mixture_trainers import (
    Mixture,
    patch_chatir,
    patch_chatsearcher,
    patch_drilldown,
    patch_fashioniq,
    patch_mai,
    widen_vocabulary,
)
from network_data import read_in_batches
from own_systems import BEST, load_retrained, name_own, run_of
from remembering import RememberingEncoder
from rows import SEEDS, estimate_mean, minutes
from side_by_side import READS_CAPTIONS, SHARED, folder_name

from viewfinder.data.splits import name_pictures
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation.pictures import load_pictures, match_pictures
from viewfinder.evaluation.plan import load_system
from viewfinder.retrievers import Retriever
from viewfinder.retrievers.one.retriever import OWN_WEIGHTS
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.retrievers.trainers import train_system
from viewfinder.training.checkpoints import read_tensors, write_tensors
from viewfinder.users.captioner.captioner import SHIPPED as CAPTIONER
from viewfinder.weights import NETWORK, TrainingList, join_lists, read_card

STEPS = ("make", "train", "score", "report", "ship")


@dataclass(frozen=True)
class Recipe:
    """How a specialist goes on learning.

    `reads`: what becomes of the dialogues of others, in words. `wider`: it knows words by a list, which gets those of
    the mixture.
    """

    preset: str
    settings: tuple[str, ...]
    patches: Callable[[Mixture, Retriever[Any]], Iterator[Any]]
    reads: str
    wider: bool = False
    seeds: tuple[int, ...] = SEEDS[:1]


WORDS = "a picked picture as the words that describe it, then what is said of it"
PAIRS = "a sentence without a picture as a description"
RECIPES = {
    "chatir": Recipe(
        "lab",
        ("training.epochs=10", "training.learning_rate=5e-4"),
        patch_chatir,
        f"the first sentence as a caption, then rounds; {WORDS}",
        seeds=SEEDS,
    ),
    "drilldown": Recipe(
        "modern",
        ("turns=5", "training.epochs=5", "training.validate_epochs=1", "training.learning_rate=1e-3"),
        patch_drilldown,
        f"an answer as a sentence; {WORDS}",
        seeds=SEEDS,
    ),
    "fashioniq": Recipe(
        "modern",
        ("training.steps=300", "training.validate_steps=100", "training.learning_rate=5e-4"),
        patch_fashioniq,
        f"a picked picture with what is said of it, one turn at a time, and then its simulated user; {PAIRS}",
        wider=True,
    ),
    "chatsearcher": Recipe(
        "modern",
        (
            "comparison=none",
            "instruction.lessons=16000",
            "instruction.training.validate_steps=250",
            "instruction.training.learning_rate=5e-4",
            "instruction.mixture={tchat=1.0, ichat=1.0, mchat=1.0, visual=1.0, edits=1.0, requests=1.0}",
        ),
        patch_chatsearcher,
        "all turns as they are, with pictures and questions",
    ),
    "mai": Recipe(
        "modern",
        ("training.steps=400", "training.validate_steps=200", "training.learning_rate=5e-4"),
        patch_mai,
        f"all turns as they are, of long dialogues five; {PAIRS}, of a picture of zeros",
        wider=True,
    ),
}


def main() -> None:
    """Make the data, train, score, write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/mixture"), help="dialogues, vectors, weights, hits")
    parser.add_argument("--fusion", type=Path, default=Path("runs/fusion"), help="that of fusion.py, which is made")
    parser.add_argument("--only", nargs="*", choices=STEPS, default=STEPS[:4])
    parser.add_argument("--systems", nargs="*", choices=tuple(RECIPES), default=tuple(RECIPES))
    parser.add_argument("--seeds", nargs="*", type=int, choices=SEEDS, default=SEEDS, help="train and score these")
    given = parser.parse_args()
    torch.set_num_threads(1)
    data = given.data.resolve()
    if "make" in given.only:
        make_folders(data, given.work, given.fusion)
    for system in given.systems:
        for seed in sorted({*RECIPES[system].seeds} & {*given.seeds}):
            if "train" in given.only:
                train(system, seed, given.work)
            if "score" in given.only:
                score(system, seed, given.work, given.fusion, data)
    if "ship" in given.only:
        ship(given.work)
    if "report" in given.only:
        write_json(RESULTS / "mixture.json", results(given.work, given.fusion))


def find_shipped(system: str) -> Path:
    """Where the shipped weights of a system are."""
    place: Path = import_module(f"viewfinder.retrievers.{system}.retriever").SHIPPED
    return place


class BatchingStarter(StarterEncoder):
    """Reads many sentences at once, which takes half as long; vectors are the same to six digits."""

    def sentences(self, texts: Sequence[str]) -> Float32[np.ndarray, "n s"]:
        """Sentence vectors."""
        return read_in_batches(texts)


def train(system: str, seed: int, work: Path) -> None:
    """Trains a system from its shipped weights on the mixture, unless it is done; notes what it took."""
    out, recipe = run_of(system, seed, work), RECIPES[system]
    if (out / "facts.json").is_file():
        return
    shipped = find_shipped(system)
    retriever = load_system(system)
    mixture: Mixture = {"train": read_lessons(work, "train"), "val": read_lessons(work, "val")}
    simulator = (f"simulator='{CAPTIONER}'",) if system == "fashioniq" else ()
    plan = TrainPlan(
        system=system, data=(work / SCENES,), preset=recipe.preset, out=out, encoder=BatchingStarter(), resume=True,
        overrides=(*recipe.settings, *simulator), seed=seed, features=work / "features", start=shipped,
        shown=False, tensorboard=False, notify=partial(print, flush=True),
    )  # fmt: skip
    if recipe.wider:
        plan = replace(plan, start=widen_vocabulary(shipped, mixture, work / f"start-{system}.safetensors"))
    with ExitStack() as stack:
        for one in recipe.patches(mixture, retriever):
            stack.enter_context(one)
        print(system, "begins", flush=True)
        found = train_system(plan)
    facts = {
        "steps": found.step,
        "kept after": found.best_step,
        "validation": {name: round(figure, 4) for name, figure in found.figures.items()},
        "dialogues": {one.name: len(one) for one in mixture["train"]},
    }
    (out / "facts.json").write_text(json.dumps(facts))
    print(system, seed, facts, flush=True)


# -- measured


def score(system: str, seed: int, work: Path, fusion: Path, data: Path) -> None:
    """Whether a system finds what is wanted, after the last turn of every test dialogue; columns that are done are
    skipped, and scores that fusion.py has made for `one` are taken."""
    retriever, encoder = load_retrained(system, seed, work), RememberingEncoder()
    home = hits_of(system, seed, work)
    home.mkdir(parents=True, exist_ok=True)
    for name in COLUMNS:
        if (file := home / f"{folder_name(name)}.npy").is_file() or (name in READS_CAPTIONS and system != "mai"):
            continue
        tasks, plan = read_tasks_of(name, "test", fusion, data)
        pictures, found = load_pictures(plan, encoder, retriever), []
        for number, task in enumerate(tasks):
            known = without_shown(match_pictures(task, pictures, plan.limit))
            gallery = pictures.gallery(tuple(known.pictures()), known.captions if plan.captions else None)
            place = fusion / "scores" / "test" / folder_name(name) / str(number)
            is_done = (place / f"{name_own(system, seed)}.npz").is_file()
            scored = read_scores(place, name_own(system, seed)) if is_done else score_task(known, gallery, retriever)
            queries = list_queries(known, gallery, captions=False)
            found.append(hits(scored.scores_qn, queries.target_q, scored.out_qn)[queries.last_q])
        np.save(file, np.concatenate(found))
        print(system, seed, name, np.concatenate(found).mean().round(3), flush=True)
    if not (file := home / f"{folder_name(TALKS_COLUMN)}.npy").is_file():
        lead = Alone(system, {system: retriever})
        halls = open_halls(TALKS_COLUMN, fusion, "test", ("drilldown",))
        ended = [list(hear_out(hall, one, lead))[-1] for hall in halls for one in hall.task.dialogues]
        np.save(file, np.array(ended))
        print(system, seed, TALKS_COLUMN, np.mean(ended).round(3), flush=True)


def hits_of(system: str, seed: int, work: Path) -> Path:
    """The folder of what a trained system finds."""
    return work / "hits" / name_own(system, seed)


def read_hits(system: str, work: Path) -> dict[str, Float[np.ndarray, "e c"]]:
    """What `score` wrote, of every training; where a system does not read captions, as without them."""
    found = {}
    for name in (*COLUMNS, TALKS_COLUMN):
        read_as = name.partition(",")[0] if name in READS_CAPTIONS and system != "mai" else name
        files = [hits_of(system, seed, work) / f"{folder_name(read_as)}.npy" for seed in RECIPES[system].seeds]
        found[name] = np.stack([np.load(file) for file in files])
    return found


def results(work: Path, fusion: Path) -> dict[str, Any]:
    """Every column: "one", the shipped and the retrained specialists, and what "one" is ahead of the best retrained.

    That is the one that is best on the test itself: a harder mark than any that could be chosen before it.
    """
    retrained = {system: read_hits(system, work) for system in RECIPES}
    columns: dict[str, Any] = {}
    for name, measured in measure_ways(fusion, work):
        best = max(retrained, key=lambda system: float(retrained[system][name].mean()))
        columns[name] = {
            "dialogues": measured.one_ec.shape[1],
            "one": estimate_mean(measured.one_ec),
            "shipped": {system: estimate_mean(found_c[None]) for system, found_c in measured.alone.items()},
            "retrained": {system: estimate_mean(found[name]) for system, found in retrained.items()},
            "retrained over shipped": {
                system: estimate_mean(found[name] - measured.alone[system])
                for system, found in retrained.items()
                if system in measured.alone
            },
            "best retrained": best,
            "one over best retrained": estimate_mean(measured.one_ec - retrained[best][name]),
        }
        print(name, best, columns[name]["one"], columns[name]["one over best retrained"], flush=True)
    return {
        "columns": columns,
        "systems": {
            system: {
                "preset": recipe.preset,
                "settings": list(recipe.settings),
                "reads": recipe.reads,
                "seeds": list(recipe.seeds),
                **json.loads((run_of(system, 0, work) / "facts.json").read_text()),
                "minutes": round(minutes(run_of(system, 0, work)), 1),
            }
            for system, recipe in RECIPES.items()
        },
        "metric": SHARED,
        "kinds": list(KINDS),
        "start": "the shipped weights",
        "seeds of one": list(SEEDS),
        "machine": describe_host(),
    }


# -- the package


def ship(work: Path) -> None:
    """Writes what `one` has for its own into the package, of the first seed: in half precision, and with the list of
    all pictures that it has learnt from."""
    learnt = set[str]()
    for lessons in read_lessons(work, "train"):
        keys = {key for task in lessons.tasks for key in task.pictures()}
        learnt.update(*name_pictures(lessons.folder, sorted(keys)).values())
    for system, place in OWN_WEIGHTS.items():
        tensors, record = read_tensors(run_of(system, 0, work) / BEST, schema=NETWORK)
        record["trained_on"] = join_lists(read_card(find_shipped(system)).trained_on, TrainingList.of(learnt).encode())
        halves = {name: one.half() if one.dtype == torch.float32 else one for name, one in tensors.items()}
        write_tensors(place, halves, record, schema=NETWORK)
        print(place, place.stat().st_size, len(TrainingList.decode(record["trained_on"])), "pictures", flush=True)


if __name__ == "__main__":
    main()
