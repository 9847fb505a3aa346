"""Each specialist trained further on the same mixture as all others; writes results/mixture.json.

    python benchmarks/mixture.py DATA [--only make train score report] [--systems chatir drilldown]

`one` has learnt from every world; the specialists that it is compared with, each from its own and a little more. Here
each starts from its shipped weights and goes on learning from all training dialogues of all worlds, through the
adapters of the live product, with its own trainer (mixture_lessons.py, mixture_trainers.py); the validation dialogues
of all kinds say which weights are kept. Then each is measured on the test columns of docs/systems/one.md, beside
the shipped weights and beside `one`. The weights are not shipped. What is done is skipped.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from chat_tests import without_shown
from freshness import RESULTS
from fusion import fit_elsewhere, guard, last, read
from fusion_data import COLUMNS, read_tasks_of, score_task
from fusion_fit import hits
from fusion_talks import TALKS_COLUMN, Alone, Fused, Hall, Heard, hear_out, lead_talks, open_halls
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
from network import load_network
from network_data import read_in_batches
from network_products import CHOSEN, list_product_columns, make_numpy, read_nats, read_opinions
from remembering import RememberingEncoder
from rows import SEEDS, estimate_mean, minutes
from side_by_side import READS_CAPTIONS, SHARED, folder_name
from turn_reader import TurnReader

from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation.pictures import load_pictures, match_pictures
from viewfinder.evaluation.plan import load_system
from viewfinder.evaluation.replay import force_pictures
from viewfinder.retrievers import Retriever
from viewfinder.retrievers.one.gates import MIN_SHARE, SYSTEMS
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.retrievers.trainers import train_system
from viewfinder.users.captioner.captioner import SHIPPED as CAPTIONER

STEPS = ("make", "train", "score", "report")
SEED = 0
BEST = "best.safetensors"

Columns = dict[str, Float[np.ndarray, " c"]]


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


WORDS = "a picked picture as the words that describe it, then what is said of it"
PAIRS = "a sentence without a picture as a description"
LONGER = "chatir, longer"
RECIPES = {
    "chatir": Recipe(
        "lab",
        ("training.epochs=4", "training.learning_rate=5e-4"),
        patch_chatir,
        f"the first sentence as a caption, then rounds; {WORDS}",
    ),
    LONGER: Recipe(
        "lab",
        ("training.epochs=6", "training.learning_rate=5e-4"),
        patch_chatir,
        "the same; added when the first were measured, as validation was still rising at its end",
    ),
    "drilldown": Recipe(
        "modern",
        ("turns=5", "training.epochs=2", "training.validate_epochs=1", "training.learning_rate=1e-3"),
        patch_drilldown,
        f"an answer as a sentence; {WORDS}",
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
"""In the order of their cost. What follows a comma tells trainings of one system apart."""


def main() -> None:
    """Make the data, train, score, write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/mixture"), help="dialogues, vectors, weights, hits")
    parser.add_argument("--fusion", type=Path, default=Path("runs/fusion"), help="that of fusion.py, which is made")
    parser.add_argument("--network", type=Path, default=Path("runs/network"), help="that of network_products.py")
    parser.add_argument("--only", nargs="*", choices=STEPS, default=STEPS)
    parser.add_argument("--systems", nargs="*", choices=tuple(RECIPES), default=tuple(RECIPES))
    given = parser.parse_args()
    torch.set_num_threads(1)
    data = given.data.resolve()
    if "make" in given.only:
        make_folders(data, given.work, given.fusion)
    for system in given.systems:
        if "train" in given.only:
            train(system, given.work)
        if "score" in given.only:
            score(system, given.work, given.fusion, data)
    if "report" in given.only:
        write_json(RESULTS / "mixture.json", results(given.work, given.fusion, given.network))


def system_of(training: str) -> str:
    """The system that is trained."""
    return training.partition(",")[0]


class BatchingStarter(StarterEncoder):
    """Reads many sentences at once, which takes half as long; vectors are the same to six digits."""

    def sentences(self, texts: Sequence[str]) -> Float32[np.ndarray, "n s"]:
        """Sentence vectors."""
        return read_in_batches(texts)


def train(system: str, work: Path) -> None:
    """Trains a system from its shipped weights on the mixture, unless it is done; notes what it took."""
    out, recipe, system = work / "runs" / folder_name(system), RECIPES[system], system_of(system)
    if (out / "facts.json").is_file():
        return
    shipped = import_module(f"viewfinder.retrievers.{system}.retriever").SHIPPED
    retriever = load_system(system)
    mixture: Mixture = {"train": read_lessons(work, "train"), "val": read_lessons(work, "val")}
    simulator = (f"simulator='{CAPTIONER}'",) if system == "fashioniq" else ()
    plan = TrainPlan(
        system=system, data=(work / SCENES,), preset=recipe.preset, out=out, encoder=BatchingStarter(), resume=True,
        overrides=(*recipe.settings, *simulator), seed=SEED, features=work / "features", start=shipped,
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
    print(system, facts, flush=True)


# -- measured


def load_retrained(system: str, work: Path) -> Retriever[Any]:
    """A system with the weights of the mixture."""
    return force_pictures(load_system(system_of(system), 0, work / "runs" / folder_name(system) / BEST))


@dataclass(frozen=True, eq=False)
class Retrained:
    """A system with other weights than the shipped ones leads a dialogue."""

    name: str
    readers: Mapping[str, Retriever[Any]] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """Its name."""
        return f"mixture-{self.name}"

    @property
    def systems(self) -> tuple[str, ...]:
        """Itself."""
        return (self.name,)

    def total(self, heard: Heard, hall: Hall) -> Float32[np.ndarray, " n"]:
        """Its scores."""
        return heard.scores[self.name]


def score(system: str, work: Path, fusion: Path, data: Path) -> None:
    """Whether a system finds what is wanted, after the last turn of every test dialogue; columns that are done are
    skipped."""
    retriever, encoder = load_retrained(system, work), RememberingEncoder()
    home = work / "hits" / folder_name(system)
    home.mkdir(parents=True, exist_ok=True)
    for name in COLUMNS:
        if (file := home / f"{folder_name(name)}.npy").is_file() or (name in READS_CAPTIONS and system != "mai"):
            continue
        tasks, plan = read_tasks_of(name, "test", fusion, data)
        pictures, found = load_pictures(plan, encoder, retriever), []
        for task, one in zip(tasks, read(fusion, "test", name), strict=True):
            known = without_shown(match_pictures(task, pictures, plan.limit))
            gallery = pictures.gallery(tuple(known.pictures()), known.captions if plan.captions else None)
            scored = score_task(known, gallery, retriever)
            found.append(hits(scored.scores_qn, one.queries.target_q, scored.out_qn)[one.queries.last_q])
        np.save(file, np.concatenate(found))
        print(system, name, np.concatenate(found).mean().round(3), flush=True)
    if not (file := home / f"{folder_name(TALKS_COLUMN)}.npy").is_file():
        lead = Retrained(system, {system: retriever})
        halls = open_halls(TALKS_COLUMN, fusion, "test", ("drilldown",))
        ended = [list(hear_out(hall, one, lead))[-1] for hall in halls for one in hall.task.dialogues]
        np.save(file, np.array(ended))
        print(system, TALKS_COLUMN, np.mean(ended).round(3), flush=True)


def read_hits(system: str, work: Path) -> Columns:
    """What `score` wrote; where a system does not read captions, as without them."""
    found = {}
    for name in (*COLUMNS, TALKS_COLUMN):
        read_as = name.partition(",")[0] if name in READS_CAPTIONS and system != "mai" else name
        found[name] = np.load(work / "hits" / folder_name(system) / f"{folder_name(read_as)}.npy")
    return found


def measure_one(fusion: Path, networks: Path) -> tuple[dict[str, Columns], dict[str, Float[np.ndarray, "e c"]]]:
    """What the shipped systems find, and what "one" does, as fusion.py has them, dialogue by dialogue."""
    nats, of_products = read_nats(), list_product_columns(fusion)
    fitted = [fit_elsewhere((), fusion, seed) for seed in SEEDS]
    shipped: dict[str, Columns] = {system: {} for system in SYSTEMS}
    ours: dict[str, Float[np.ndarray, "e c"]] = {}
    for name in COLUMNS:
        test = read(fusion, "test", name)
        if name in of_products:
            test = read_opinions(test, fusion, "test", name, nats)
        for system, found_c in zip(
            SYSTEMS, np.concatenate([one.hits_sq[:, one.queries.last_q] for one in test], axis=1), strict=True
        ):
            shipped[system][name] = found_c
        ours[name] = np.stack([last(test, partial(guard, gates, seed)) for seed, gates in enumerate(fitted)])
    networks_of = [make_numpy(load_network(CHOSEN, seed, networks), nats) for seed in SEEDS]
    leads = [
        Fused(gates, MIN_SHARE, TurnReader(network), nats) for gates, network in zip(fitted, networks_of, strict=True)
    ]
    held = lead_talks(
        TALKS_COLUMN, fusion, {"one": leads, "composer": [Alone("composer")], "fashioniq": [Alone("fashioniq")]}
    )
    for system in ("composer", "fashioniq"):
        shipped[system][TALKS_COLUMN] = held[system][0][:, -1]
    ours[TALKS_COLUMN] = held["one"][:, :, -1]
    return shipped, ours


def results(work: Path, fusion: Path, networks: Path) -> dict[str, Any]:
    """Every column: "one", the shipped and the retrained specialists, and what "one" is ahead of the best retrained.

    That is the one that is best on the test itself: a harder mark than any that could be chosen before it.
    """
    done = [
        system
        for system in RECIPES
        if (work / "hits" / folder_name(system) / f"{folder_name(TALKS_COLUMN)}.npy").is_file()
    ]
    retrained = {system: read_hits(system, work) for system in done}
    shipped, ours = measure_one(fusion, networks)
    columns: dict[str, Any] = {}
    for name, one_ec in ours.items():
        best = max(done, key=lambda system: float(retrained[system][name].mean()))
        columns[name] = {
            "dialogues": one_ec.shape[1],
            "one": estimate_mean(one_ec),
            "shipped": {system: estimate_mean(found[name][None]) for system, found in shipped.items() if name in found},
            "retrained": {system: estimate_mean(found[name][None]) for system, found in retrained.items()},
            "retrained over shipped": {
                system: estimate_mean((found[name] - shipped[system_of(system)][name])[None])
                for system, found in retrained.items()
                if name in shipped[system_of(system)]
            },
            "best retrained": best,
            "one over best retrained": estimate_mean(one_ec - retrained[best][name]),
        }
        print(name, best, columns[name]["one"], columns[name]["one over best retrained"], flush=True)
    return {
        "columns": columns,
        "systems": {
            system: {
                "preset": RECIPES[system].preset,
                "settings": list(RECIPES[system].settings),
                "reads": RECIPES[system].reads,
                **json.loads((work / "runs" / folder_name(system) / "facts.json").read_text()),
                "minutes": round(minutes(work / "runs" / folder_name(system)), 1),
            }
            for system in done
        },
        "metric": SHARED,
        "kinds": list(KINDS),
        "start": "the shipped weights",
        "seed of trainings": SEED,
        "seeds of one": list(SEEDS),
        "machine": describe_host(),
    }


if __name__ == "__main__":
    main()
