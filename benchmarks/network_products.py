"""The network over turns that `one` has for products: trained, chosen on validation, and written into the package.

    python benchmarks/network_products.py DATA [--only talks train score choose]   # what is done is skipped
    python benchmarks/network_products.py DATA --only ship mixed

network.py found that a network that has learnt from relative captions of products adds to what `one` finds. Here
are simpler forms of it, with one vector, which a query of the engine can hold; they have learnt from all training
captions of Fashion IQ's and CIRR's kind, from MAI's sessions and from Fashion IQ's talks of five turns, about training
pictures alone; the last ones also among the products of all kinds, and from wishes about these (mixed_products.py). The
turns that they have learnt from are pictures that are picked, so of other turns they say nothing. fusion.py measures
`one` with the form and the weight that validation has chosen (results/network_products.json); what it finds and keeps
to among products of all kinds is in results/mixed_products.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from chat_tests import without_shown
from freshness import RESULTS
from fusion_data import (
    COLUMNS,
    PARTS,
    Part,
    list_places,
    mean_vectors,
    read_column,
    read_scores,
    read_tasks_of,
    score_task,
    write_scores,
)
from fusion_data import (
    SMALL as FEW_PHOTOS,
)
from fusion_fit import MIN_SHARE, Gates, Standardised, standardise
from fusion_talks import MIXED_TALKS, TALKS_COLUMN, Alone, Fused, Lead, lead_talks
from jaxtyping import Float
from machine import describe_host
from measuring import read_figures, write_json
from mixed_products import (
    FOUND,
    MIXED,
    RECORDED,
    Way,
    add_gates,
    find_all,
    hear_composer,
    lead_mixed,
    record_mixed,
    score_mixed,
    score_network,
)
from network import TRAININGS, Training, judge, load_network, train
from network_columns import LEARNT, end_hits, keep, read_both, read_gates, read_kept, read_training_tasks
from network_data import BatchingEncoder, Kind, record, record_column
from network_talks import record_talks
from own_systems import load_own, members_for
from remembering import RememberingEncoder
from report_fusion import AS_SHIPPED, GATES_ALONE
from rows import SEEDS, estimate_mean
from side_by_side import READS_CAPTIONS, folder_name
from turn_network import Sizes
from turn_network import TurnNetwork as TrainedNetwork
from turn_reader import TurnReader, deviate

from viewfinder.data.splits import name_pictures
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation.pictures import load_pictures, match_pictures
from viewfinder.evaluation.plan import load_system
from viewfinder.retrievers.one.gates import ASKED, COMPOSER, PRODUCTS, SYSTEMS
from viewfinder.retrievers.one.retriever import NETWORK_SYSTEM, SHIPPED_NETWORK
from viewfinder.retrievers.one.turn_network import KINDS, TurnNetwork
from viewfinder.training.checkpoints import write_tensors
from viewfinder.weights import NETWORK, Card, TrainingList, load_system_weights

KEPT = "learnt-all"
"""The folder of what is learnt from."""

ONE, SMALL = Sizes(slots=1, free=True), Sizes(width=128, layers=1, slots=1, free=True)
PRODUCTS_ALONE = Training(ONE, people=(), products=True, steps=400, seeds=SEEDS)
SIX = "captions of products alone, with vectors of its own"
SESSIONS = "mai: sessions"
SEVERAL_TURNS = (*LEARNT, SESSIONS, TALKS_COLUMN)
"""Columns of which training has dialogues of several turns, too."""

FIRST_TURNS = "products: one vector, small, longer, from all captions"
ALL_CAPTIONS = replace(PRODUCTS_ALONE, sizes=SMALL, steps=2500, kept=KEPT)
TALKS, LAST_TURN = "products: and from talks of several turns", "products: the same, the last turn alone"
LONGER = "products: and from talks of several turns, longer"
OF_ONE_KIND = replace(ALL_CAPTIONS, columns=SEVERAL_TURNS, steps=6000)
ALL_KINDS = "products: and among products of all kinds, with wishes"
OF_ALL_KINDS = replace(OF_ONE_KIND, columns=(*SEVERAL_TURNS, *MIXED), negatives=2000, steps=8000)
FORMS: dict[str, Training] = {
    SIX: TRAININGS[SIX],
    "products: one vector": PRODUCTS_ALONE,
    "products: one vector, small": replace(PRODUCTS_ALONE, sizes=SMALL),
    "products: one vector, small, longer": replace(PRODUCTS_ALONE, sizes=SMALL, steps=2500),
    FIRST_TURNS: ALL_CAPTIONS,
    TALKS: replace(ALL_CAPTIONS, columns=SEVERAL_TURNS),
    LONGER: OF_ONE_KIND,
    LAST_TURN: replace(ALL_CAPTIONS, columns=SEVERAL_TURNS, sizes=replace(SMALL, history=False)),
    ALL_KINDS: OF_ALL_KINDS,
}
"""Forms that are tried, from the one that network.py chose to the one that is shipped."""

CHOSEN = ALL_KINDS

WEIGHTS = (0.0, 0.4, 0.8, 1.6, 2.4, 3.2, 4.8, 6.4)
"""Nats a deviation that are tried on validation with every form."""

SAME_MEAN = 0.001
"""The smallest weight whose mean is within this of the best one's is chosen."""

WEIGHTS_OF_CHOSEN = (0.0, 1.6, 2.4, 3.2)
"""Of the shipped network: in dialogues that `one` leads, too, which take long."""


def main() -> None:
    """Records, trains, scores, chooses, ships."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/network"), help="that of network.py, which is made")
    parser.add_argument("--fusion", type=Path, default=Path("runs/fusion"), help="that of fusion.py, which is made")
    parser.add_argument("--mixture", type=Path, default=Path("runs/mixture"), help="that of mixture.py")
    steps = ("talks", "train", "score", "choose", "ship", "mixed")
    parser.add_argument("--only", nargs="*", choices=steps, default=steps[:4])
    given = parser.parse_args()
    torch.set_num_threads(1)
    if "talks" in given.only:
        make_talks(given.work, given.fusion, given.data.resolve())
    if "train" in given.only:
        for name, training in FORMS.items():
            for seed in training.seeds:
                train(name, seed, given.work, training)
    if "score" in given.only:
        score_columns(given.fusion, given.mixture, given.data.resolve(), RememberingEncoder())
    if "choose" in given.only:
        found = choose(given.work, given.fusion, given.mixture, given.data.resolve())
        write_json(RESULTS / "network_products.json", found)
    if "ship" in given.only:
        ship(given.work, given.fusion)
    if "mixed" in given.only:
        found = measure_mixed(given.fusion, given.mixture, given.data.resolve())
        write_json(RESULTS / "mixed_products.json", found)


def make_talks(work: Path, fusion: Path, data: Path) -> None:
    """Records all training dialogues, and those of validation that network.py has not."""
    encoder = BatchingEncoder({})
    for name in (*LEARNT, SESSIONS):
        if not (home := work / "talks" / KEPT / folder_name(name)).is_dir():
            pictures, tasks = read_training_tasks(name, fusion, encoder)
            known = [match_pictures(task, pictures, None) for task in tasks]
            keep(home, [record(task, pictures.gallery(tuple(task.pictures()))) for task in known])
            print(name, [(len(task.dialogues), len(task.gallery), len(task.pictures())) for task in known], flush=True)
    if not (home := work / "talks" / "val" / folder_name(SESSIONS)).is_dir():
        keep(home, list(record_column(SESSIONS, "val", fusion, data, encoder)))
    parts: dict[str, Literal["train", "val"]] = {KEPT: "train", "val": "val"}
    for folder, part in parts.items():
        if not (home := work / "talks" / folder / folder_name(TALKS_COLUMN)).is_dir():
            keep(home, list(record_talks(fusion, part)))
        for name in MIXED:
            if not (home := work / "talks" / folder / folder_name(name)).is_dir():
                keep(home, list(record_mixed(name, part, fusion, data, encoder)))
                print(folder, name, flush=True)


def of_products(work: Path, name: str) -> bool:
    """Whether a column is searched in collections that are like products."""
    return standardise(name, *next(read_column(work, "test", name)), mean_vectors(work)).world == PRODUCTS


def read_nats() -> float:
    """The weight that validation has chosen."""
    return float(read_figures(RESULTS / "network_products.json")["nats a deviation"])


SCORES = "turns"
"""The name under which the scores of the shipped network are kept, beside those of the systems."""


def load_shipped_network() -> TurnNetwork:
    """The network of the package."""
    return TurnNetwork.of(load_system_weights(NETWORK_SYSTEM, None, SHIPPED_NETWORK))


def score_columns(fusion: Path, mixture: Path, data: Path, encoder: RememberingEncoder) -> None:
    """Scores all columns about products by the shipped network, as far as that is not done."""
    reader = TurnReader(load_shipped_network())
    score_mixed(fusion, mixture, data, encoder)
    score_network(SCORES, reader, fusion, data, encoder)
    for name, part in product(list_product_columns(fusion), PARTS):
        places = list_places(fusion, part, name)
        if (places[-1] / f"{SCORES}.npz").is_file():
            continue
        if name in READS_CAPTIONS:  # which the network does not read
            for one, other in zip(places, list_places(fusion, part, name.partition(",")[0]), strict=True):
                (one / f"{SCORES}.npz").hardlink_to(other / f"{SCORES}.npz")
            continue
        tasks, plan = read_tasks_of(name, part, fusion, data)
        pictures = load_pictures(plan, encoder, load_system("composer"))
        for place, task in zip(places, tasks, strict=True):
            known = without_shown(match_pictures(task, pictures, plan.limit))
            gallery = pictures.gallery(tuple(known.pictures()))
            write_scores(place, SCORES, score_task(known, gallery, reader))
        print(part, name, flush=True)


def list_product_columns(fusion: Path) -> list[str]:
    """The columns of recorded dialogues that are searched in collections like products."""
    return [name for name in COLUMNS if name != FEW_PHOTOS and of_products(fusion, name)]


def read_opinions(some: Sequence[Standardised], fusion: Path, part: Part, name: str, nats: float) -> list[Standardised]:
    """The tasks of a column with what the network adds, if they are searched among products."""
    return [
        replace(one, added_qn=np.float32(nats) * deviate(read_scores(place, SCORES).scores_qn))
        if one.world == PRODUCTS
        else one
        for one, place in zip(some, list_places(fusion, part, name), strict=True)
    ]


# -- chosen on validation


def choose(work: Path, fusion: Path, mixture: Path, data: Path) -> dict[str, Any]:
    """All forms on validation, and what `one` finds there with every weight of the shipped network."""
    before = read_figures(RESULTS / "network_products.json")  # what was judged is not judged again
    forms = {name: before.get("forms", {}).get(name) or judge_form(name, work, fusion) for name in FORMS}
    among_all = before.get("forms, nats among all kinds") or {
        name: judge_among_all(name, work) for name in (LONGER, CHOSEN)
    }
    gates = read_all_gates(fusion)
    found: dict[str, dict[float, float]] = {}
    for name in list_product_columns(fusion):
        known = [
            [standardise(name, *one, mean_vectors(fusion), ASKED) for one in read_column(fusion, "val", name, members)]
            for members in map(members_for, SEEDS)
        ]
        found[name] = {}
        for nats in WEIGHTS_OF_CHOSEN:
            hits = [
                one_gates.hits_with(one)[one.queries.last_q]
                for one_gates, some in zip(gates, known, strict=True)
                for one in read_opinions(some, fusion, "val", name, nats)
            ]
            found[name][nats] = round(float(np.concatenate(hits).mean()), 4)
        print(name, found[name], flush=True)
    leads = {str(nats): lead_one(gates, mixture, nats) for nats in WEIGHTS_OF_CHOSEN}
    led = lead_talks(TALKS_COLUMN, fusion, leads, "val")
    found[TALKS_COLUMN] = {nats: round(float(led[str(nats)][:, :, -1].mean()), 4) for nats in WEIGHTS_OF_CHOSEN}
    print(TALKS_COLUMN, found[TALKS_COLUMN], flush=True)
    mixed = choose_mixed(fusion, data, gates, leads)
    every = [*found.values(), *({nats: mean_of(some[nats]) for nats in WEIGHTS_OF_CHOSEN} for some in mixed.values())]
    mean = {nats: float(np.mean([some[nats] for some in every])) for nats in WEIGHTS_OF_CHOSEN}
    return {
        "forms": forms,
        "forms, nats among all kinds": among_all,
        "chosen": CHOSEN,
        "validation": {name: {f"{nats}": hit for nats, hit in some.items()} for name, some in found.items()},
        "mixed": {name: {f"{nats}": some for nats, some in one.items()} for name, one in mixed.items()},
        "mean": {f"{nats}": round(hit, 4) for nats, hit in mean.items()},
        "nats a deviation": min(nats for nats in mean if mean[nats] > max(mean.values()) - SAME_MEAN),
        "machine": describe_host(),
    }


def lead_one(gates: Sequence[Gates], mixture: Path, nats: float) -> list[Lead]:
    """`one` of every seed, with a weight of the shipped network; 0: without."""
    reader = TurnReader(load_shipped_network()) if nats else None
    own = [load_own(mixture, seed) for seed in SEEDS]
    return [Fused(one, 0.0, reader, nats, some, SYSTEMS, ASKED) for one, some in zip(gates, own, strict=True)]


def choose_mixed(
    fusion: Path, data: Path, gates: Sequence[Gates], leads: Mapping[str, Sequence[Lead]]
) -> dict[str, dict[float, dict[str, float]]]:
    """What is found with every weight among the validation products of all kinds, by column and metric."""
    found: dict[str, dict[float, dict[str, float]]] = {}
    for name in RECORDED:
        ways = {str(nats): add_all_gates(gates, nats) for nats in WEIGHTS_OF_CHOSEN}
        counted = find_all(name, "val", fusion, data, ways)
        found[name] = {nats: average(counted[str(nats)]) for nats in WEIGHTS_OF_CHOSEN}
        print(name, found[name], flush=True)
    led = lead_mixed(fusion, data, leads, "val")
    found[MIXED_TALKS] = {nats: average(led[str(nats)]) for nats in WEIGHTS_OF_CHOSEN}
    print(MIXED_TALKS, found[MIXED_TALKS], flush=True)
    return found


def add_all_gates(gates: Sequence[Gates], nats: float) -> list[Way]:
    """`one` of every seed, with a weight of the shipped network; 0: without."""
    return [
        Way(partial(add_gates, one, SCORES if nats else None, nats), members_for(seed))
        for seed, one in enumerate(gates)
    ]


def average(counted: Mapping[str, Float[np.ndarray, "e c"]]) -> dict[str, float]:
    """The means over dialogues and fits."""
    return {metric: round(float(value_ec.mean()), 4) for metric, value_ec in counted.items()}


def mean_of(counted: Mapping[str, float]) -> float:
    """A column among all kinds, as one figure: whether the wanted picture is found counts as much as each share."""
    return float(np.mean(list(counted.values())))


# -- among products of all kinds


def measure_mixed(fusion: Path, mixture: Path, data: Path) -> dict[str, Any]:
    """What is found and kept to among the products of all kinds of a part: by the composer, by `one` without the turn
    network, of shipped systems, and as it is; and its differences to the first and the third."""
    gates, before, nats, found = read_all_gates(fusion), read_shipped_gates(fusion), read_nats(), dict[str, Any]()
    reader = TurnReader(load_shipped_network())
    for part in PARTS:
        ways: dict[str, list[Way]] = {
            COMPOSER: [Way(hear_composer)],
            GATES_ALONE: add_all_gates(gates, 0.0),
            AS_SHIPPED: [Way(partial(add_gates, one, SCORES, nats, least=MIN_SHARE)) for one in before],
            "one": add_all_gates(gates, nats),
        }
        leads: dict[str, list[Lead]] = {
            COMPOSER: [Alone(COMPOSER)],
            GATES_ALONE: lead_one(gates, mixture, 0.0),
            AS_SHIPPED: [Fused(one, MIN_SHARE, reader, nats) for one in before],
            "one": lead_one(gates, mixture, nats),
        }
        columns = {name: find_all(name, part, fusion, data, ways) for name in RECORDED}
        columns[MIXED_TALKS] = lead_mixed(fusion, data, leads, part)
        found[part] = {name: compare_ways(counted) for name, counted in columns.items()}
        print(part, found[part], flush=True)
    return {"parts": found, "nats a deviation": nats, "seeds": list(SEEDS), "machine": describe_host()}


def compare_ways(counted: Mapping[str, Mapping[str, Float[np.ndarray, "e c"]]]) -> dict[str, Any]:
    """The means of all ways, and by how much `one` is above the composer and above the one of shipped systems."""
    metrics = list(counted["one"])
    return {
        "dialogues": counted["one"][FOUND].shape[1],
        "ways": {
            way: {metric: estimate_mean(value_ec) for metric, value_ec in some.items()} for way, some in counted.items()
        },
        **{
            f"one over {way}": {
                metric: estimate_mean(counted["one"][metric] - counted[way][metric]) for metric in metrics
            }
            for way in (COMPOSER, AS_SHIPPED)
        },
    }


def read_shipped_gates(fusion: Path) -> list[Gates]:
    """The gates of the shipped systems of all seeds."""
    return [read_gates(fusion / "gates" / f"one-{seed}.npz") for seed in SEEDS]


def read_all_gates(fusion: Path) -> list[Gates]:
    """The gates of `one` of all seeds."""
    return [read_gates(fusion / "gates" / f"asked-{seed}.npz") for seed in SEEDS]


def judge_form(name: str, work: Path, fusion: Path) -> dict[str, Any]:
    """The size of a form, and what it finds on validation of the columns that it has learnt for, at the best weight.

    Of dialogues that it leads itself there is no scoring by the systems here: how unlikely the wanted picture is.
    """
    networks = [load_network(name, seed, work) for seed in SEEDS]
    gates = read_all_gates(fusion)
    found: dict[str, Any] = {"numbers": sum(one.numel() for one in networks[0].parameters())}
    for column in FORMS[name].columns:
        if column in MIXED:
            continue
        if column == TALKS_COLUMN:
            talks = read_kept(work, "val", column)
            found[column] = {"nats": round(float(np.mean([judge(one, some) for one in networks for some in talks])), 4)}
            continue
        both = [list(read_both(work, fusion, "val", column, members_for(seed))) for seed in SEEDS]
        with_one = {
            nats: float(np.mean([end_hits(*three, nats) for three in zip(both, gates, networks, strict=True)]))
            for nats in WEIGHTS
        }
        found[column] = {
            "nats": round(float(np.mean([judge(one, talks) for one in networks for _, talks in both[0]])), 4),
            "one": round(with_one[0.0], 4),
            "with one": round(max(with_one.values()), 4),
        }
    print(name, found, flush=True)
    return found


def judge_among_all(name: str, work: Path) -> dict[str, float]:
    """How unlikely the wanted picture is by a form alone among the validation products of all kinds, by column."""
    networks = [load_network(name, seed, work) for seed in SEEDS]
    return {
        column: round(
            float(np.mean([judge(one, some) for one in networks for some in read_kept(work, "val", column)])), 4
        )
        for column in MIXED
    }


# -- the package


def make_numpy(network: TrainedNetwork, nats: float) -> TurnNetwork:
    """A network as the package reads it."""
    arrays = {name: value.half().float().numpy() for name, value in list_tensors(network).items()}
    return TurnNetwork(arrays, StarterEncoder().version, network.sizes.layers, network.sizes.heads, nats)


def list_tensors(network: TrainedNetwork) -> dict[str, torch.Tensor]:
    """The numbers of a network of one vector that reads all turns, by the names that `one` knows them by."""
    sizes = network.sizes
    assert sizes.slots == 1 and sizes.free and sizes.residual and sizes.history
    state, found = network.state_dict(), dict[str, torch.Tensor]()
    kinds = [Kind.PICKED, Kind.BUT, Kind.UNWANTED, Kind.COMPOSED]
    assert tuple(kind.name.lower() for kind in kinds) == KINDS
    found["kinds"] = state["kind.weight"][kinds] + state["back.weight"][0]  # no turn that it reads goes back
    found["turns"] = state["turn.weight"]
    renamed = {"vector": "vector", "asks": "asks", "answers": "answers", "own": "own", "body.norm": "last"}
    for layer in range(network.sizes.layers):
        theirs, ours = f"body.layers.{layer}", f"layers.{layer}"
        names = (
            ("self_attn.out_proj", "attended"), ("linear1", "inner"), ("linear2", "outer"), ("norm1", "norm1"),
            ("norm2", "norm2"),
        )  # fmt: skip
        renamed |= {f"{theirs}.{name}": f"{ours}.{own}" for name, own in names}
        for kind in ("weight", "bias"):
            found[f"{ours}.inputs.{kind}"] = state[f"{theirs}.self_attn.in_proj_{kind}"]
    for name, own in renamed.items():
        found |= {f"{own}.{kind}": state[f"{name}.{kind}"] for kind in ("weight", "bias")}
    found |= {f"gate.{kind}": state[f"gates.{kind}"][1:] for kind in ("weight", "bias")}
    return found


def ship(work: Path, fusion: Path) -> None:
    """Writes the network of the first seed into the package, with the list of the pictures that it has learnt from."""
    network, encoder = load_network(CHOSEN, SEEDS[0], work), StarterEncoder()
    learnt = set[str]()
    for name in (*LEARNT, SESSIONS):  # those of the talks are among these, which have all training products
        _, tasks = read_training_tasks(name, fusion, BatchingEncoder({}))
        keys = {key for task in tasks for key in task.pictures()}
        learnt.update(*name_pictures(fusion / COLUMNS[name].test.data, sorted(keys)).values())
    settings = {
        "encoder_version": encoder.version, "layers": network.sizes.layers, "heads": network.sizes.heads,
        "nats": read_nats(),
    }  # fmt: skip
    card = Card(
        system=NETWORK_SYSTEM, preset="validation", encoder=encoder.raw_version, settings=settings,
        trained_on=TrainingList.of(learnt).encode(),
    )  # fmt: skip
    tensors = {name: value.half() for name, value in list_tensors(network).items()}
    write_tensors(SHIPPED_NETWORK, tensors, asdict(card), schema=NETWORK)
    print(SHIPPED_NETWORK, SHIPPED_NETWORK.stat().st_size, len(learnt), "pictures", flush=True)


if __name__ == "__main__":
    main()
