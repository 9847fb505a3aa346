"""Does late fusion of all shipped systems lead everywhere? Writes results/fusion.json.

    python benchmarks/fusion.py DATA [--only make score fit]      # what is made or scored is skipped
    python benchmarks/fusion.py DATA --only ship                  # writes the gates of seed 0 into the package
    python benchmarks/fusion.py DATA --only one                   # "one" with the turn network (network_products.py)

For every column of side_by_side.py, and for all photographs that nothing has learnt from, the shipped systems score
all pictures after every turn. Ways to use all of them are fitted on validation dialogues of the same columns, about
pictures that no system has learnt from (though the weights of some were chosen on them), and in the words of training,
where test dialogues of scenes and catalogue have others:

sum      scores on scales of their own, added with one weight a system
gates    the same, with weights that depend on the conversation, the library, and how much each system's best stands out
early    gates that know the conversation and the library alone, so that systems of no weight need not run
one      early gates, fitted without photographs and used without systems of small shares; in a library of photographs
         the composer alone: the retriever of this name
router   for each kind of conversation the system that was best on validation

Differences are to the system that is the best of a column on the test itself: a harder mark than any system that could
be chosen before it. "left out": the gates of "one", fitted without the validation dialogues of that column.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from freshness import RESULTS
from fusion_data import (
    ALL_PHOTOGRAPHS,
    COLUMNS,
    PARTS,
    SMALL,
    Part,
    make_folders,
    mean_vectors,
    read_column,
    read_tasks_of,
    score_columns,
    score_task,
)
from fusion_fit import (
    ALL,
    BEFORE,
    NOTHING,
    Gates,
    Routes,
    Standardised,
    choose_routes,
    ends_of,
    fit,
    fuse,
    hits,
    route,
    standardise,
)
from fusion_talks import (
    LED,
    PEOPLE_COLUMN,
    TALKS_COLUMN,
    Alone,
    Fused,
    Lead,
    lead_talks,
    open_halls,
    score_validation_talks,
)
from jaxtyping import Float
from machine import describe_host
from measuring import read_figures, write_json
from network import load_network
from network_products import CHOSEN, list_product_columns, make_numpy, read_nats, read_opinions
from report_fusion import GATES_ALONE
from rows import SEEDS, estimate_mean
from side_by_side import SHARED, TESTS, folder_name
from turn_reader import TurnReader

from viewfinder.data.splits import name_pictures
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation.pictures import load_pictures, match_pictures
from viewfinder.evaluation.plan import load_system
from viewfinder.evaluation.replay import RegionScorer, force_pictures
from viewfinder.metrics import correct_holm, seeded_test
from viewfinder.retrievers.one.gates import COMPOSER, INPUTS, MIN_SHARE, PHOTOGRAPHS, SYSTEMS, WORLDS
from viewfinder.retrievers.one.retriever import SHIPPED, SYSTEM
from viewfinder.training.checkpoints import write_tensors
from viewfinder.weights import NETWORK, Card, TrainingList

STEPS = ("make", "score", "fit", "ship", "one")

TIMED = 20
"""Dialogues of which turns are timed."""

COMPANION_NATS = (0.1, 0.2, 0.4, 0.8)
"""Weights that a system may have beside the composer on photographs."""

OF_PHOTOGRAPHS = (SMALL, ALL_PHOTOGRAPHS, PEOPLE_COLUMN)

Way = Callable[[Standardised], Float[np.ndarray, " q"]]


def main() -> None:
    """Make the data, score, fit, write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/fusion"), help="worlds, vectors and scores")
    parser.add_argument("--network", type=Path, default=Path("runs/network"), help="that of network_products.py")
    parser.add_argument("--only", nargs="*", choices=STEPS, default=STEPS[:3])
    parser.add_argument("--columns", nargs="*", choices=tuple(COLUMNS), default=tuple(COLUMNS), help="score these")
    given = parser.parse_args()
    data = given.data.resolve()
    if "make" in given.only:
        make_folders(data, given.work)
    if "score" in given.only:
        score_columns(given.work, data, PARTS, given.columns)
        if tuple(given.columns) == tuple(COLUMNS):
            score_validation_talks(given.work)
    if "fit" in given.only:
        write_json(RESULTS / "fusion.json", results(given.work, data))
    if "ship" in given.only:
        ship_gates(given.work, data)
    if "one" in given.only:
        write_json(RESULTS / "fusion.json", measure_one(given.work, given.network))


def results(work: Path, data: Path) -> dict[str, Any]:
    """All figures."""
    validation = [one for name in (*COLUMNS, *LED) if name != SMALL for one in read(work, "val", name)]
    fitted = fit_all(validation, work)
    routes = choose_routes(validation)
    ways: dict[str, list[Way]] = {
        **{name: [gates.hits for gates in some] for name, some in fitted.items()},
        "one": [partial(guard, gates, seed) for seed, gates in enumerate(fitted["one"])],
        "router": [lambda one: route(one, routes)],
    }
    columns: dict[str, Any] = {}
    turns: dict[str, Any] = {}
    for name in COLUMNS:
        test = list(read(work, "test", name))
        others = fit_without(validation, name, work)
        columns[name] = figures(test, ways | {"left out": [others.hits]}, fitted) | beyond_the_box(name)
        if name in OF_PHOTOGRAPHS:
            turns[name] = by_turn(test, ways)
        print(name, {way: found[SHARED] for way, found in columns[name]["ways"].items()}, flush=True)
    for name in LED:
        leading = {"early": [Fused(gates) for gates in fitted["early"]]}
        if name == TALKS_COLUMN:
            leading["one"] = [Fused(gates, MIN_SHARE) for gates in fitted["one"]]
            leading["left out"] = [Fused(fit_without(validation, name, work), MIN_SHARE)]
        columns[name], turns[name] = talks(name, work, leading, validation, routes)
        columns[name] |= beyond_the_box(name)
    return {
        "columns": columns,
        "photographs by turn": turns,
        "photographs, one beside the composer": list_companions(validation, read(work, "test", ALL_PHOTOGRAPHS)),
        "seeds": list(SEEDS),
        "weights of the sum": {
            system: [round(float(softplus(one.a_s[at])), 3) for one in fitted["sum"]]
            for at, system in enumerate(SYSTEMS)
        },
        "gates of one": [{"a": spell(one.a_s), "W": [spell(row_x) for row_x in one.w_sx]} for one in fitted["one"]],
        "ms a turn": time_turns(work, data),
        "numbers": {name: int(some[0].a_s.size + some[0].w_sx.size) for name, some in fitted.items()},
        "validation, nats": {name: [round(one.held, 4) for one in some] for name, some in fitted.items()},
        "machine": describe_host(),
    }


def ship_gates(work: Path, data: Path) -> None:
    """Writes the gates of the first seed into the package, with the list of the pictures that they were fitted on."""
    gates, encoder = fit_elsewhere((), work, SEEDS[0]), StarterEncoder()
    wanted = set[str]()
    for name in COLUMNS:
        if name not in OF_PHOTOGRAPHS:
            tasks, plan = read_tasks_of(name, "val", work, data)
            keys = {
                one for task in tasks for dialogue in task.dialogues for one in (dialogue.target, *dialogue.targets)
            }
            wanted.update(*name_pictures(plan.data, sorted(keys)).values())
    talks = {dialogue.target for hall in open_halls(TALKS_COLUMN, work, "val") for dialogue in hall.task.dialogues}
    wanted.update(*name_pictures(work / TESTS[TALKS_COLUMN].data, sorted(talks)).values())
    card = Card(
        system=SYSTEM, preset="validation", encoder=encoder.raw_version,
        settings={"encoder_version": encoder.version, "systems": SYSTEMS, "inputs": INPUTS, "worlds": WORLDS},
        figures={"nats on the dialogues that said when to stop": round(gates.held, 4)},
        trained_on=TrainingList.of(wanted).encode(),
    )  # fmt: skip
    arrays = {"means_wd": mean_vectors(work), "a_s": gates.a_s, "w_sx": gates.w_sx}
    tensors = {name: torch.from_numpy(np.asarray(array, np.float32)) for name, array in arrays.items()}
    write_tensors(SHIPPED, tensors, asdict(card), schema=NETWORK)
    print(SHIPPED, len(wanted), "pictures", flush=True)


def guard(gates: Gates, seed: int, one: Standardised) -> Float[np.ndarray, " q"]:
    """What gates find without systems of small shares, with a turn network's opinion among products; in libraries of
    photographs the composer searches alone."""
    if one.world == PHOTOGRAPHS:
        return np.asarray(one.hits_sq[SYSTEMS.index(COMPOSER)])
    return gates.hits_with(one, seed, MIN_SHARE)


def measure_one(work: Path, networks: Path) -> dict[str, Any]:
    """All figures, those of "one" measured again, with a turn network for each seed.

    And how likely a lead as large as that over a column's best is without one, corrected for all columns.
    """
    found, nats = read_figures(RESULTS / "fusion.json"), read_nats()
    fitted, of_products = [fit_elsewhere((), work, seed) for seed in SEEDS], list_product_columns(work)
    leads_over_best = dict[str, Float[np.ndarray, "e c"]]()
    for name in COLUMNS:
        test = read(work, "test", name)
        if name in of_products:
            test = read_opinions(test, work, "test", name, nats)
        alone_sc = np.concatenate([one.hits_sq[:, one.queries.last_q] for one in test], axis=1)
        here = np.stack([last(test, partial(guard, gates, seed)) for seed, gates in enumerate(fitted)])
        gates_alone = [last(test, partial(gates.hits, least=MIN_SHARE)) for gates in fitted]
        without = np.stack(gates_alone) if name in of_products else None
        alone = dict(zip(SYSTEMS, alone_sc, strict=True))
        leads_over_best[name] = keep_one(found["columns"][name], alone, here, without)
        print(name, found["columns"][name]["ways"]["one"], flush=True)
    network_of = {seed: make_numpy(load_network(CHOSEN, seed, networks), nats) for seed in SEEDS}
    leads: dict[str, Sequence[Lead]] = {
        **{system: [Alone(system)] for system in ALONE[TALKS_COLUMN]},
        "one": [
            Fused(gates, MIN_SHARE, TurnReader(network_of[seed]), nats)
            for seed, gates in zip(SEEDS, fitted, strict=True)
        ],
        GATES_ALONE: [Fused(gates, MIN_SHARE) for gates in fitted],
    }
    held = lead_talks(TALKS_COLUMN, work, leads)
    composer_ct = held["composer"][0]
    found["photographs by turn"][TALKS_COLUMN]["one"] = [
        {SHARED: estimate_mean(hits_ec), "difference": estimate_mean(hits_ec - composer_c)}
        for hits_ec, composer_c in zip(np.moveaxis(held["one"], 2, 0), composer_ct.T, strict=True)
    ]
    alone = {system: held[system][0][:, -1] for system in ALONE[TALKS_COLUMN]}
    leads_over_best[TALKS_COLUMN] = keep_one(
        found["columns"][TALKS_COLUMN], alone, held["one"][:, :, -1], held[GATES_ALONE][:, :, -1]
    )
    p_values = [seeded_test(lead_ec)[0] for lead_ec in leads_over_best.values()]
    for name, p_value in zip(leads_over_best, correct_holm(p_values), strict=True):
        found["columns"][name]["one over best, Holm"] = round(p_value, 4)
    return found | {"machine of one": describe_host()}


def keep_one(
    column: dict[str, Any],
    alone: Mapping[str, Float[np.ndarray, " c"]],
    here: Float[np.ndarray, "e c"],
    without: Float[np.ndarray, "e c"] | None,
) -> Float[np.ndarray, "e c"]:
    """Writes what "one" finds into a column, and without a turn network, where it has one; returns by how much it is
    above the best."""
    measured = compare(alone, {"one": here} | ({} if without is None else {GATES_ALONE: without}))
    column |= {"best": measured["best"], "systems": measured["systems"]}
    column["ways"] |= measured["ways"]
    if without is not None:
        column["one over gates alone"] = estimate_mean(here - without)
    return np.asarray(here - alone[measured["best"]])


ALONE = {TALKS_COLUMN: ("composer", "fashioniq"), PEOPLE_COLUMN: ("composer",)}
"""The systems that lead dialogues of their own in the test: in other columns all do."""


def talks(
    name: str, work: Path, leading: Mapping[str, Sequence[Fused]], validation: Sequence[Standardised], routes: Routes
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The dialogues that some systems and ways lead themselves: at their end, and turn by turn against the composer.

    The router, where a kind of dialogue is known from validation, keeps to the system that is its choice at the end.
    """
    leads: dict[str, Sequence[Lead]] = {**{system: [Alone(system)] for system in ALONE[name]}, **leading}
    found = lead_talks(name, work, leads)
    alone = {system: found.pop(system)[0] for system in ALONE[name]}
    ends = [kind for one in validation if one.column == name for kind in ends_of(one)]
    if ends and (chosen := SYSTEMS[routes[max(set(ends), key=ends.count)]]) in alone:
        found["router"] = alone[chosen][None]
    if name in OF_PHOTOGRAPHS:
        found["one"] = alone[COMPOSER][None]  # as its rule says
    ended = compare(
        {system: hits_ct[:, -1] for system, hits_ct in alone.items()},
        {way: hits_ect[:, :, -1] for way, hits_ect in found.items()},
    )
    turns = {
        "composer": [{SHARED: estimate_mean(hits_c[None])} for hits_c in alone["composer"].T],
        **{
            way: [
                {SHARED: estimate_mean(hits_ec), "difference": estimate_mean(hits_ec - composer_c)}
                for hits_ec, composer_c in zip(np.moveaxis(hits_ect, 2, 0), alone["composer"].T, strict=True)
            ]
            for way, hits_ect in found.items()
        },
    }
    return {"dialogues": len(alone["composer"]), **ended}, turns


def fit_without(validation: Sequence[Standardised], name: str, work: Path) -> Gates:
    """Gates that have seen no validation dialogue of a column, and none of photographs."""
    if name in OF_PHOTOGRAPHS:
        return fit_elsewhere(validation, work, SEEDS[0])
    apart = [one for one in validation if one.column not in (name, *OF_PHOTOGRAPHS)]
    return fit_once(work / "gates" / f"without-{folder_name(name)}.npz", partial(fit, apart, BEFORE, SEEDS[0]))


def fit_elsewhere(validation: Sequence[Standardised], work: Path, seed: int) -> Gates:
    """The gates of "one": they have seen no validation dialogue about photographs."""
    elsewhere = [one for one in validation if one.column not in OF_PHOTOGRAPHS]
    return fit_once(work / "gates" / f"one-{seed}.npz", partial(fit, elsewhere, BEFORE, seed))


def fit_once(file: Path, make: Callable[[], Gates]) -> Gates:
    """Gates that are kept in a file, fitted if there is none."""
    if not file.is_file():
        gates = make()
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, known=np.array(gates.known, dtype=str), a_s=gates.a_s, w_sx=gates.w_sx, held=gates.held)
        print(file.stem, round(gates.held, 4), flush=True)
    with np.load(file) as kept:
        return Gates(tuple(map(str, kept["known"])), kept["a_s"], kept["w_sx"], float(kept["held"]))


def fit_all(validation: Sequence[Standardised], work: Path) -> dict[str, list[Gates]]:
    """The sums and gates of all seeds."""
    home, found = work / "gates", dict[str, list[Gates]]()
    for seed in SEEDS:
        start = fit_once(home / f"sum-{seed}.npz", partial(fit, validation, NOTHING, seed))
        found.setdefault("sum", []).append(start)
        for name, known in (("gates", ALL), ("early", BEFORE)):
            gates = fit_once(home / f"{name}-{seed}.npz", partial(fit, validation, known, seed, start))
            found.setdefault(name, []).append(gates)
        found.setdefault("one", []).append(fit_elsewhere(validation, work, seed))
    return found


def read(work: Path, part: Part, name: str) -> list[Standardised]:
    """The tasks of a column, standardised."""
    return [standardise(name, queries, scored, mean_vectors(work)) for queries, scored in read_column(work, part, name)]


def time_turns(work: Path, data: Path) -> dict[str, float]:
    """Milliseconds that a turn of each system takes in dialogues about photographs, its texts encoded anew."""
    [task], plan = read_tasks_of(ALL_PHOTOGRAPHS, "test", work, data)
    found: dict[str, list[float]] = {system: [] for system in SYSTEMS}
    for system in SYSTEMS:
        encoder, retriever = StarterEncoder(), force_pictures(load_system(system))
        pictures = load_pictures(plan, encoder, retriever)
        known = match_pictures(task, pictures, TIMED)
        gallery, regions = pictures.gallery(known.gallery), dict[str, RegionScorer]()
        first, *_ = known.dialogues
        score_task(replace(known, dialogues=(first,)), gallery, retriever, regions)  # it prepares the pictures
        found[system] = [
            score_task(replace(known, dialogues=(one,)), gallery, retriever, regions).ms_a_turn
            for one in known.dialogues
        ]
    return {system: round(float(np.median(ms)), 1) for system, ms in found.items()}


def last(test: Sequence[Standardised], way: Way) -> Float[np.ndarray, " c"]:
    """What a way finds after the last turn of every dialogue."""
    return np.concatenate([way(one)[one.queries.last_q] for one in test])


def figures(
    test: Sequence[Standardised], ways: Mapping[str, Sequence[Way]], fitted: Mapping[str, Sequence[Gates]]
) -> dict[str, Any]:
    """Every system and every way after the last turn, and the differences of the ways to the best system."""
    alone_sc = np.concatenate([one.hits_sq[:, one.queries.last_q] for one in test], axis=1)
    alone = dict(zip(SYSTEMS, alone_sc, strict=True))
    found = {name: np.stack([last(test, way) for way in some]) for name, some in ways.items()}
    shares = [
        (weight_qs / weight_qs.sum(axis=1, keepdims=True))[one.queries.last_q]
        for one in test
        for weight_qs in [np.mean([gates.weights(one) for gates in fitted["one"]], axis=0)]
    ]
    return {
        "dialogues": len(next(iter(alone.values()))),
        "pictures": sorted({one.z_qsn.shape[2] for one in test}),
        **compare(alone, found),
        "shares": dict(zip(SYSTEMS, np.concatenate(shares).mean(axis=0).round(3).tolist(), strict=True)),
    }


def beyond_the_box(name: str) -> dict[str, Any]:
    """The best row of side_by_side.json whose weights are not shipped, if any: its dialogues are the same."""
    rows = read_figures(RESULTS / "side_by_side.json")["systems"]
    others = {
        system: row["found"][name][SHARED]
        for system, row in rows.items()
        if row["weights"] != ["in the box"] and name in row["found"]
    }
    best = max(others, key=lambda system: float(others[system]["mean"]), default=None)
    return {} if best is None else {"not in the box": {"system": best, **others[best]}}


def compare(
    alone: Mapping[str, Float[np.ndarray, " c"]], found: Mapping[str, Float[np.ndarray, "e c"]]
) -> dict[str, Any]:
    """Systems, ways, and the differences of ways to the best system."""
    best = max(alone, key=lambda system: float(alone[system].mean()))
    return {
        "best": best,
        "systems": {system: estimate_mean(hits_c[None]) for system, hits_c in alone.items()},
        "any of them": estimate_mean(np.max(list(alone.values()), axis=0)[None]),
        "ways": {
            name: {SHARED: estimate_mean(hits_ec), "difference": estimate_mean(hits_ec - alone[best])}
            for name, hits_ec in found.items()
        },
    }


def by_turn(test: Sequence[Standardised], ways: Mapping[str, Sequence[Way]]) -> dict[str, Any]:
    """The composer and all ways after each turn, and the differences to the composer."""
    [one] = test
    turn_q = np.concatenate([np.arange(count) for count in np.bincount(one.queries.dialogue_q)])
    composer_q = one.hits_sq[SYSTEMS.index("composer")]
    found: dict[str, Any] = {"composer": [], **{name: [] for name in ways}}
    for turn in range(int(turn_q.max()) + 1):
        at_q = turn_q == turn
        found["composer"].append({SHARED: estimate_mean(composer_q[None, at_q])})
        for name, some in ways.items():
            hits_ec = np.stack([way(one)[at_q] for way in some])
            difference = estimate_mean(hits_ec - composer_q[at_q])
            found[name].append({SHARED: estimate_mean(hits_ec), "difference": difference})
    return found


def list_companions(validation: Sequence[Standardised], test: Sequence[Standardised]) -> dict[str, Any]:
    """For each system what it finds on photographs beside the composer, with the weight that is best on validation."""
    known = [one for one in validation if one.column in OF_PHOTOGRAPHS]
    composer, found = SYSTEMS.index(COMPOSER), dict[str, Any]()
    for at, system in enumerate(SYSTEMS):
        if at != composer:
            ways = {nats: partial(hear_two, at, nats) for nats in COMPANION_NATS}
            best = max(ways, key=lambda nats: float(last(known, ways[nats]).mean()))
            hits_c = last(test, ways[best])
            alone_c = np.concatenate([one.hits_sq[composer, one.queries.last_q] for one in test])
            means = {SHARED: estimate_mean(hits_c[None]), "difference": estimate_mean((hits_c - alone_c)[None])}
            found[system] = {"nats a deviation": best, **means}
    return found


def hear_two(system: int, nats: float, one: Standardised) -> Float[np.ndarray, " q"]:
    """What the composer finds with one other system beside it."""
    weight_s = np.zeros(len(SYSTEMS), np.float32)
    weight_s[[SYSTEMS.index(COMPOSER), system]] = 1.0, nats
    fused_qn = fuse(one.z_qsn, np.tile(weight_s, (len(one.z_qsn), 1)))
    return hits(fused_qn, one.queries.target_q, one.out_qn)


def spell(row_n: Float[np.ndarray, " n"]) -> str:
    """Numbers on one line."""
    return " ".join(f"{number:.3f}" for number in row_n)


def softplus(value: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """ln (1 + e^value)."""
    return np.asarray(np.logaddexp(0, value))


if __name__ == "__main__":
    main()
