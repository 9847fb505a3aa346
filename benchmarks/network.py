"""A network over turns in place of gates: does it find more than the composer it starts from? results/network.json.

    python benchmarks/network.py DATA [--only talks train measure]      # what is made or trained is skipped

People talk about photographs of `fit` in sessions of the composer (network_data.py); networks of several sizes, and
without some of their parts, learn to add to its scores (turn_network.py). They are stopped and chosen on photographs of
`choose`, and measured once on those of `report`, from which nothing has learnt.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from freshness import RESULTS
from jaxtyping import Float, Int
from machine import describe_host
from measuring import write_json
from network_columns import LEARNT, make_columns, measure_columns, read_kept
from network_data import Sitting, Talks, make_talks
from rows import SEEDS, estimate_mean
from turn_network import Sizes, TurnNetwork, loss_of, score_talks

BATCH, RATE, DECAY, WARM = 64, 6e-4, 0.05, 40
NEW = 0.04
"""Share of a step in the mean of the last ones."""

JUDGED_EACH = 25
"""Steps after which a network is judged on validation; the best one is kept."""


FEW_STEPS = 150
"""Of networks that lack a part or more: the whole one is nearly at its best by then."""


@dataclass(frozen=True)
class Training:
    """What a network learns from: whose conversations, which share of them, for how many steps.

    `products`: and from relative captions of products (network_columns.py), of these `columns`; `kept`: the folder that
    they are in. `negatives`: of a larger gallery, so many pictures are drawn anew at every step; None: all.
    """

    sizes: Sizes = field(default_factory=Sizes)
    people: tuple[str, ...] = ("captions", "mixed")
    share: float = 1.0
    products: bool = False
    kept: str = "learnt"
    columns: tuple[str, ...] = LEARNT
    negatives: int | None = None
    steps: int = FEW_STEPS
    seeds: tuple[int, ...] = (0,)


MAIN, PRODUCTS = "network", "captions of products alone"
TRAININGS: dict[str, Training] = {
    MAIN: Training(steps=250, seeds=(0, 1, 2)),
    "with vectors of its own": Training(Sizes(free=True), steps=500),
    "without the residual": Training(Sizes(residual=False, free=True), steps=500),
    "one vector": Training(Sizes(slots=1)),
    "the last turn alone": Training(Sizes(history=False)),
    "captions alone": Training(people=("captions",)),
    "mixed people alone": Training(people=("mixed",)),
    "30 % of the photographs": Training(share=0.3),
    "10 % of the photographs": Training(share=0.1),
    "width 80": Training(Sizes(width=80)),
    "width 288, three layers": Training(Sizes(width=288, layers=3)),
    **{
        name: Training(Sizes(free=free), people=(), products=True, steps=400, seeds=(0, 1, 2))
        for name, free in ((PRODUCTS, False), (f"{PRODUCTS}, with vectors of its own", True))
    },
}


def main() -> None:
    """Talk, train, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/network"), help="vectors, conversations, networks")
    parser.add_argument("--fusion", type=Path, default=Path("runs/fusion"), help="that of fusion.py, which is made")
    parser.add_argument(
        "--only", nargs="*", choices=("talks", "train", "measure"), default=["talks", "train", "measure"]
    )
    parser.add_argument("--networks", nargs="*", choices=tuple(TRAININGS), default=tuple(TRAININGS))
    given = parser.parse_args()
    torch.set_num_threads(1)
    if "talks" in given.only:
        make_talks(given.data.resolve(), given.work, given.fusion)
        make_columns(given.data.resolve(), given.work, given.fusion)
    if "train" in given.only:
        for name in given.networks:
            for seed in TRAININGS[name].seeds:
                train(name, seed, given.work, TRAININGS[name])
    if "measure" in given.only:
        write_json(RESULTS / "network.json", measure(given.work, given.fusion))


# -- training


def train(name: str, seed: int, work: Path, training: Training) -> None:
    """Trains a network, if that is not done, and keeps the step that is best on validation."""
    file = file_of(name, seed, work)
    if file.is_file():
        return
    started = time.perf_counter()
    halls = read_training(work, training)
    validation = read_validation(work, training)
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    network = TurnNetwork(training.sizes)
    averaged = deepcopy(network)  # of the last steps: it is judged and kept
    optimiser = torch.optim.AdamW(network.parameters(), RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, warm_then_cosine(training.steps))
    chance_h = np.array([len(dialogues) for _, dialogues in halls], float)
    best, curve, lost = (np.inf, averaged.state_dict()), list[dict[str, float]](), list[float]()
    for step in range(training.steps + 1):
        if step % JUDGED_EACH == 0:
            held = {name: float(np.mean([judge(averaged, one) for one in some])) for name, some in validation.items()}
            held_mean = float(np.mean(list(held.values())))
            curve.append({"step": step, "learnt": float(np.mean(lost[-JUDGED_EACH:] or [np.nan])), **held})
            print(name, seed, curve[-1], f"{time.perf_counter() - started:.0f} s", flush=True)
            if held_mean < best[0]:
                best = held_mean, {key: value.clone() for key, value in averaged.state_dict().items()}
        talks, dialogues = halls[random.choice(len(halls), p=chance_h / chance_h.sum())]
        network.train()
        chosen, pictures = np.sort(random.choice(dialogues, min(BATCH, len(dialogues)), replace=False)), None
        if training.negatives is not None and training.negatives < len(talks.pictures_nd):
            pictures = random.choice(len(talks.pictures_nd), training.negatives, replace=False)
        loss = loss_of(network, talks, chosen, pictures)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        with torch.no_grad():
            for mean, new in zip(averaged.parameters(), network.parameters(), strict=True):
                mean.lerp_(new, NEW)
        lost.append(float(loss.detach()))
    file.parent.mkdir(parents=True, exist_ok=True)
    minutes = (time.perf_counter() - started) / 60
    torch.save({"state": best[1], "sizes": asdict(training.sizes), "curve": curve, "minutes": minutes}, file)


def read_validation(work: Path, training: Training) -> dict[str, list[Talks]]:
    """What says when to stop: photographs, or products if nothing else is learnt from."""
    if not training.people:
        return {name: read_kept(work, "val", name) for name in training.columns}
    return {people: [read_talks(work, Sitting("val", people, 0))] for people in ("captions", "mixed")}


def warm_then_cosine(steps: int) -> Callable[[int], float]:
    """The factor of the learning rate at each step."""
    return lambda step: min((step + 1) / WARM, 0.5 + 0.5 * float(np.cos(np.pi * min(step / steps, 1.0))))


def file_of(name: str, seed: int, work: Path) -> Path:
    """Where a network is kept."""
    return work / "networks" / f"{name.replace(' ', '-').replace('%', 'percent')}-{seed}.pt"


def load_network(name: str, seed: int, work: Path) -> TurnNetwork:
    """A network that was trained."""
    kept = torch.load(file_of(name, seed, work))
    network = TurnNetwork(Sizes(**kept["sizes"]))
    network.load_state_dict(kept["state"])
    return network.eval()


def read_talks(work: Path, sitting: Sitting) -> Talks:
    """The conversations of a sitting."""
    return Talks.read(work / "talks" / sitting.name)


def read_training(work: Path, training: Training) -> list[tuple[Talks, Int[np.ndarray, " c"]]]:
    """The conversations to learn from, each sitting with the numbers of those that count."""
    random, found = np.random.default_rng(0), []
    for file in sorted((work / "talks" / "fit").glob("*.npz")):
        if file.name.partition("-")[0] in training.people:
            talks = calibrate(Talks.read(file))
            dialogues = np.unique(talks.dialogue_q)
            count = max(round(training.share * len(dialogues)), 1)
            found.append((talks, np.sort(random.permutation(dialogues)[:count])))
    if training.products:
        found += [
            (calibrate(talks), np.unique(talks.dialogue_q))
            for name in training.columns
            for talks in read_kept(work, training.kept, name)
        ]
    return found


SCALES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4)
"""Factors of scores that are tried."""

JUDGED = 200
"""Validation conversations of each kind that say when to stop."""


def judge(network: TurnNetwork | None, talks: Talks) -> float:
    """The cross entropy of the wanted picture in nats, at the best of some temperatures: ranks count, not scales.

    None: of the composer.
    """
    dialogues = np.unique(talks.dialogue_q)
    chosen = dialogues[np.linspace(0, len(dialogues) - 1, min(JUDGED, len(dialogues))).astype(int)]
    chosen_q = np.isin(talks.dialogue_q, chosen)
    scores_qn = talks.scores_qn[chosen_q].astype(np.float32) if network is None else score_talks(network, talks, chosen)
    return min(measure_nats(scores_qn * scale, talks.target_q[chosen_q]) for scale in SCALES)


def measure_nats(scores_qn: Float[np.ndarray, "q n"], target_q: Int[np.ndarray, " q"]) -> float:
    """The mean cross entropy; a wanted picture that is excluded does not count."""
    wanted_q = scores_qn[np.arange(len(target_q)), target_q]
    best_q1 = scores_qn.max(axis=1, keepdims=True)
    whole_q = np.log(np.exp(scores_qn - best_q1).sum(axis=1)) + best_q1[:, 0]
    there_q = np.isfinite(wanted_q)
    return float((whole_q - wanted_q)[there_q].mean())


def calibrate(talks: Talks) -> Talks:
    """The same with the composer's scores on the scale on which they are the best probabilities.

    A head that has learnt from fewer photographs knows less, and its leads mean less.
    """
    scores_qn = talks.scores_qn.astype(np.float32)
    best = min(SCALES, key=lambda scale: measure_nats(scores_qn * scale, talks.target_q))
    return replace(talks, scores_qn=(scores_qn * best).astype(np.float16))


# -- figures


def find_hits(network: TurnNetwork | None, talks: Talks, depth: int = 10) -> Float[np.ndarray, "c t"]:
    """Whether the wanted picture is among the first ten after every turn; None: by the composer.

    A conversation that ends early keeps what it has found.
    """
    dialogues, turns = np.unique(talks.dialogue_q), int(talks.turn_q.max()) + 1
    found_ct = np.full((len(dialogues), turns), np.nan)
    for some in np.array_split(dialogues, -(-len(dialogues) // 100)):
        chosen_q = np.isin(talks.dialogue_q, some)
        scores_qn = (
            talks.scores_qn[chosen_q].astype(np.float32) if network is None else score_talks(network, talks, some)
        )
        wanted_q1 = np.take_along_axis(scores_qn, talks.target_q[chosen_q][:, None], axis=1)
        found_ct[np.searchsorted(dialogues, talks.dialogue_q[chosen_q]), talks.turn_q[chosen_q]] = (
            scores_qn > wanted_q1
        ).sum(axis=1) < depth
    for turn in range(1, turns):
        found_ct[:, turn] = np.where(np.isnan(found_ct[:, turn]), found_ct[:, turn - 1], found_ct[:, turn])
    return found_ct


def measure(work: Path, fusion: Path) -> dict[str, Any]:
    """All figures."""
    trained = {
        name: seeds
        for name, training in TRAININGS.items()
        if (seeds := [seed for seed in training.seeds if file_of(name, seed, work).is_file()])
    }
    told = {name: describe_training(name, seeds, work) for name, seeds in trained.items()}
    chosen = min(
        (name for name in told if name.startswith(PRODUCTS)), key=lambda name: sum(told[name]["nats"].values())
    )
    return {
        "photographs": measure_photographs(work, trained),
        "trainings": told,
        "learnt from": count_learnt(work),
        "columns": measure_columns(work, fusion, [load_network(chosen, seed, work) for seed in SEEDS]),
        "columns, network": chosen,
        "machine": describe_host(),
    }


def measure_photographs(work: Path, trained: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """R@10 turn by turn, and the differences to the composer: of all networks on validation, of one on the test."""
    found = {}
    for part, people in ((part, people) for part in ("val", "test") for people in ("captions", "mixed")):
        talks = read_talks(work, Sitting(part, people, 0))
        composer_ct = find_hits(None, talks)
        rows: dict[str, Any] = {"composer": [{"R@10": estimate_mean(hits_c[None])} for hits_c in composer_ct.T]}
        for name, seeds in trained.items():
            if not name.startswith(PRODUCTS) and (part == "val" or name == MAIN):
                hits_ect = np.stack([find_hits(load_network(name, seed, work), talks) for seed in seeds])
                rows[name] = [
                    {"R@10": estimate_mean(hits_ec), "difference": estimate_mean(hits_ec - composer_c)}
                    for hits_ec, composer_c in zip(np.moveaxis(hits_ect, 2, 0), composer_ct.T, strict=True)
                ]
        found[f"{part}, {people}"] = {"dialogues": len(composer_ct), "pictures": len(talks.pictures_nd), "rows": rows}
        print(part, people, {name: [one["R@10"]["mean"] for one in row] for name, row in rows.items()}, flush=True)
    return found


def describe_training(name: str, seeds: Sequence[int], work: Path) -> dict[str, Any]:
    """The size of a network, the minutes of its training, and its best figures on validation."""
    kept = [torch.load(file_of(name, seed, work)) for seed in seeds]
    judged = [name for name in kept[0]["curve"][0] if name not in ("step", "learnt")]
    best = [min(one["curve"], key=lambda at: sum(at[name] for name in judged)) for one in kept]
    return {
        "seeds": list(seeds),
        "numbers": sum(value.numel() for value in kept[0]["state"].values()),
        "minutes": round(float(np.mean([one["minutes"] for one in kept])), 1),
        "steps": [at["step"] for at in best],
        "nats": {people: round(float(np.mean([at[people] for at in best])), 4) for people in judged},
        "nats of the composer": {
            people: round(float(np.mean([judge(None, one) for one in some])), 4)
            for people, some in read_validation(work, TRAININGS[name]).items()
        },
    }


def count_learnt(work: Path) -> dict[str, int]:
    """How many conversations were learnt from, by people, and about how many photographs."""
    found: dict[str, int] = {}
    for file in sorted((work / "talks" / "fit").glob("*.npz")):
        people = file.name.partition("-")[0]
        found[people] = found.get(people, 0) + len(np.unique(Talks.read(file).dialogue_q))
    return found


if __name__ == "__main__":
    main()
