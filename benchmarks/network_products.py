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
from fusion_fit import Gates, Standardised, standardise
from fusion_talks import MIXED_TALKS, TALKS_COLUMN, Alone, Fused, Lead, lead_talks
from jaxtyping import Float
from machine import describe_host
from measuring import read_figures, write_json
from mixed_products import (
    FOUND,
    MIXED,
    RECORDED,
    Totals,
    add_gates,
    find_all,
    hear_composer,
    lead_mixed,
    record_mixed,
    score_mixed,
    score_networks,
)
from network import TRAININGS, Training, judge, load_network, train
from network_columns import LEARNT, end_hits, keep, read_both, read_gates, read_kept, read_training_tasks
from network_data import BatchingEncoder, Kind, record, record_column
from network_talks import record_talks
from remembering import RememberingEncoder
from report_fusion import GATES_ALONE
from rows import SEEDS, estimate_mean
from side_by_side import READS_CAPTIONS, folder_name
from turn_network import Sizes
from turn_network import TurnNetwork as TrainedNetwork
from turn_reader import TurnReader, deviate

from viewfinder.data.splits import name_pictures
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation.pictures import load_pictures, match_pictures
from viewfinder.evaluation.plan import load_system
from viewfinder.retrievers.one.gates import COMPOSER, MIN_SHARE, PRODUCTS
from viewfinder.retrievers.one.retriever import NETWORK_SYSTEM, SHIPPED_NETWORK
from viewfinder.retrievers.one.turn_network import KINDS, TurnNetwork
from viewfinder.training.checkpoints import write_tensors
from viewfinder.weights import NETWORK, Card, TrainingList

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

CHOSEN_WEIGHTS = WEIGHTS[:6]
"""Of the chosen form: in dialogues that it leads, too, which take long."""


def main() -> None:
    """Records, trains, scores, chooses, ships."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/network"), help="that of network.py, which is made")
    parser.add_argument("--fusion", type=Path, default=Path("runs/fusion"), help="that of fusion.py, which is made")
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
        score_columns(given.work, given.fusion, given.data.resolve(), RememberingEncoder())
    if "choose" in given.only:
        write_json(RESULTS / "network_products.json", choose(given.work, given.fusion, given.data.resolve()))
    if "ship" in given.only:
        ship(given.work, given.fusion)
    if "mixed" in given.only:
        write_json(RESULTS / "mixed_products.json", measure_mixed(given.work, given.fusion, given.data.resolve()))


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


def name_scores(seed: int, form: str = CHOSEN) -> str:
    """The name under which the scores of the network of a seed are kept, beside those of the systems."""
    return f"turns-{folder_name(form.removeprefix('products: '))}-{seed}"


def score_columns(
    work: Path, fusion: Path, data: Path, encoder: RememberingEncoder, seeds: Sequence[int] = SEEDS
) -> None:
    """Scores all columns about products, as far as that is not done; those of all kinds on validation alone."""
    score_mixed(fusion, data, ("val",), encoder)
    networks = {name_scores(seed): partial(load_numpy, CHOSEN, seed, work) for seed in seeds}
    score_networks(fusion, data, "val", networks, encoder)
    for name in list_product_columns(fusion):
        for part in PARTS:
            places = list_places(fusion, part, name)
            if name in READS_CAPTIONS:  # which the network does not read
                plain = list_places(fusion, part, name.partition(",")[0])
                for seed, (one, other) in product(seeds, zip(places, plain, strict=True)):
                    if not (file := one / f"{name_scores(seed)}.npz").is_file():
                        file.hardlink_to(other / file.name)
                continue
            new = [seed for seed in seeds if not (places[-1] / f"{name_scores(seed)}.npz").is_file()]
            if not new:
                continue
            tasks, plan = read_tasks_of(name, part, fusion, data)
            pictures = load_pictures(plan, encoder, load_system("composer"))
            for place, task in zip(places, tasks, strict=True):
                known = without_shown(match_pictures(task, pictures, plan.limit))
                gallery = pictures.gallery(tuple(known.pictures()))
                for seed in new:
                    reader = TurnReader(load_numpy(CHOSEN, seed, work))
                    write_scores(place, name_scores(seed), score_task(known, gallery, reader))
            print(part, name, flush=True)


def list_product_columns(fusion: Path) -> list[str]:
    """The columns of recorded dialogues that are searched in collections like products."""
    return [name for name in COLUMNS if name != FEW_PHOTOS and of_products(fusion, name)]


def read_opinions(some: Sequence[Standardised], fusion: Path, part: Part, name: str, nats: float) -> list[Standardised]:
    """The tasks of a column with what the networks of all seeds add, if they are searched among products."""
    return [
        replace(
            one,
            added_eqn=np.stack(
                [np.float32(nats) * deviate(read_scores(place, name_scores(seed)).scores_qn) for seed in SEEDS]
            ),
        )
        if one.world == PRODUCTS
        else one
        for one, place in zip(some, list_places(fusion, part, name), strict=True)
    ]


# -- chosen on validation


def choose(work: Path, fusion: Path, data: Path) -> dict[str, Any]:
    """All forms on validation, and what the chosen one finds there with every weight."""
    before = read_figures(RESULTS / "network_products.json").get("forms", {})  # what was judged is not judged again
    forms = {name: before.get(name) or judge_form(name, work, fusion) for name in FORMS}
    gates = read_all_gates(fusion)
    found: dict[str, dict[float, float]] = {}
    for name in list_product_columns(fusion):
        known = [standardise(name, *one, mean_vectors(fusion)) for one in read_column(fusion, "val", name)]
        found[name] = {}
        for nats in CHOSEN_WEIGHTS:
            some = read_opinions(known, fusion, "val", name, nats)
            hits = [
                one_gates.hits_with(one, seed, MIN_SHARE)[one.queries.last_q]
                for seed, one_gates in enumerate(gates)
                for one in some
            ]
            found[name][nats] = round(float(np.concatenate(hits).mean()), 4)
        print(name, found[name], flush=True)
    readers = [TurnReader(load_numpy(CHOSEN, seed, work)) for seed in SEEDS]
    leads: dict[str, list[Lead]] = {
        str(nats): [Fused(one, MIN_SHARE, reader, nats) for one, reader in zip(gates, readers, strict=True)]
        for nats in CHOSEN_WEIGHTS
    }
    led = lead_talks(TALKS_COLUMN, fusion, leads, "val")
    found[TALKS_COLUMN] = {nats: round(float(led[str(nats)][:, :, -1].mean()), 4) for nats in CHOSEN_WEIGHTS}
    print(TALKS_COLUMN, found[TALKS_COLUMN], flush=True)
    mixed = choose_mixed(fusion, data, gates, leads)
    every = [*found.values(), *({nats: mean_of(some[nats]) for nats in CHOSEN_WEIGHTS} for some in mixed.values())]
    mean = {nats: float(np.mean([some[nats] for some in every])) for nats in CHOSEN_WEIGHTS}
    return {
        "forms": forms,
        "forms, nats among all kinds": {name: judge_among_all(name, work) for name in (LONGER, CHOSEN)},
        "chosen": CHOSEN,
        "validation": {name: {f"{nats}": hit for nats, hit in some.items()} for name, some in found.items()},
        "mixed": {name: {f"{nats}": some for nats, some in one.items()} for name, one in mixed.items()},
        "mean": {f"{nats}": round(hit, 4) for nats, hit in mean.items()},
        "nats a deviation": max(mean, key=lambda nats: (round(mean[nats], 4), -nats)),
        "machine": describe_host(),
    }


def choose_mixed(
    fusion: Path, data: Path, gates: Sequence[Gates], leads: Mapping[str, Sequence[Lead]]
) -> dict[str, dict[float, dict[str, float]]]:
    """What the chosen form finds with every weight among the validation products of all kinds, by column and metric."""
    found: dict[str, dict[float, dict[str, float]]] = {}
    for name in RECORDED:
        ways = {
            str(nats): [partial(add_gates, one, name_scores(seed), nats) for seed, one in enumerate(gates)]
            for nats in CHOSEN_WEIGHTS
        }
        counted = find_all(name, "val", fusion, data, ways)
        found[name] = {nats: average(counted[str(nats)]) for nats in CHOSEN_WEIGHTS}
        print(name, found[name], flush=True)
    led = lead_mixed(fusion, data, leads, "val")
    found[MIXED_TALKS] = {nats: average(led[str(nats)]) for nats in CHOSEN_WEIGHTS}
    print(MIXED_TALKS, found[MIXED_TALKS], flush=True)
    return found


def average(counted: Mapping[str, Float[np.ndarray, "e c"]]) -> dict[str, float]:
    """The means over dialogues and fits."""
    return {metric: round(float(value_ec.mean()), 4) for metric, value_ec in counted.items()}


def mean_of(counted: Mapping[str, float]) -> float:
    """A column among all kinds, as one figure: whether the wanted picture is found counts as much as each share."""
    return float(np.mean(list(counted.values())))


# -- among products of all kinds

NATS_OF_ONE_KIND = 1.6
"""The weight that validation had chosen for the form that was shipped before, which had never to keep to a kind."""

BEFORE = "one, learnt from one kind"


def measure_mixed(work: Path, fusion: Path, data: Path) -> dict[str, Any]:
    """What is found and kept to among the products of all kinds of a part: by the composer, by `one` without a network,
    with the one that was shipped before, and with this one; and the differences to the first and the third."""
    gates, nats, encoder = read_all_gates(fusion), read_nats(), RememberingEncoder()
    forms = {BEFORE: (LONGER, NATS_OF_ONE_KIND), "one": (CHOSEN, nats)}
    networks = {
        name_scores(seed, form): partial(load_numpy, form, seed, work) for form, _ in forms.values() for seed in SEEDS
    }
    found: dict[str, Any] = {}
    score_mixed(fusion, data, PARTS, encoder)
    for part in PARTS:
        score_networks(fusion, data, part, networks, encoder)
        ways: dict[str, list[Totals]] = {
            COMPOSER: [hear_composer],
            GATES_ALONE: [partial(add_gates, one, None, 0.0) for one in gates],
            **{
                way: [partial(add_gates, one, name_scores(seed, form), nats) for seed, one in enumerate(gates)]
                for way, (form, nats) in forms.items()
            },
        }
        leads: dict[str, list[Lead]] = {
            COMPOSER: [Alone(COMPOSER)],
            GATES_ALONE: [Fused(one, MIN_SHARE) for one in gates],
            **{
                way: [
                    Fused(one, MIN_SHARE, TurnReader(load_numpy(form, seed, work)), nats)
                    for seed, one in enumerate(gates)
                ]
                for way, (form, nats) in forms.items()
            },
        }
        columns = {name: find_all(name, part, fusion, data, ways) for name in RECORDED}
        columns[MIXED_TALKS] = lead_mixed(fusion, data, leads, part)
        found[part] = {name: compare_ways(counted) for name, counted in columns.items()}
        print(part, found[part], flush=True)
    return {"parts": found, "nats a deviation": nats, "seeds": list(SEEDS), "machine": describe_host()}


def compare_ways(counted: Mapping[str, Mapping[str, Float[np.ndarray, "e c"]]]) -> dict[str, Any]:
    """The means of all ways, and by how much `one` is above the composer and above what it was before."""
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
            for way in (COMPOSER, BEFORE)
        },
    }


def read_all_gates(fusion: Path) -> list[Gates]:
    """The gates of `one` of all seeds."""
    return [read_gates(fusion / "gates" / f"one-{seed}.npz") for seed in SEEDS]


def load_numpy(form: str, seed: int, work: Path) -> TurnNetwork:
    """A network that was trained, as the package reads it."""
    return make_numpy(load_network(form, seed, work), 0.0)


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
        both = list(read_both(work, fusion, "val", column))
        with_one = {
            nats: float(np.mean([end_hits(both, *pair, nats) for pair in zip(gates, networks, strict=True)]))
            for nats in WEIGHTS
        }
        found[column] = {
            "nats": round(float(np.mean([judge(one, talks) for one in networks for _, talks in both])), 4),
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
