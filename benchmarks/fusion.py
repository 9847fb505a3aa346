"""Does late fusion of all shipped systems lead everywhere? Writes results/fusion.json.

    python benchmarks/fusion.py DATA [--only make score fit]      # what is made or scored is skipped
    python benchmarks/fusion.py DATA --only own                   # scores those that mixture.py has trained for "one"
    python benchmarks/fusion.py DATA --only members               # which systems "one" needs, on validation
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
         the composer alone. The retriever of this name asks some systems only, in each world others (`ASKED`), has some
         for its own, which have learnt from all dialogues (`OWN_WEIGHTS`), and gates that are fitted to these: the
         figures of --only one
router   for each kind of conversation the system that was best on validation

Differences are to the system that is the best of a column on the test itself: a harder mark than any system that could
be chosen before it. "left out": the gates of "one", fitted without the validation dialogues of that column.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from freshness import RESULTS
from fusion_data import (
    ALL_PHOTOGRAPHS,
    AS_THEY_ARE,
    COLUMNS,
    COMPARED,
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
    MIN_SHARE,
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
from jaxtyping import Float, Float32
from machine import describe_host
from measuring import read_figures, write_json
from network_products import list_product_columns, load_shipped_network, read_nats, read_opinions
from own_systems import list_own, load_all_own, load_own, load_retrained, members_for
from report_fusion import AS_SHIPPED, GATES_ALONE, OF_THE_WORLD
from rows import SEEDS, estimate_mean
from side_by_side import SHARED, TESTS, folder_name
from turn_reader import TurnReader

from viewfinder.data.splits import name_pictures
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation.pictures import load_pictures, match_pictures
from viewfinder.evaluation.plan import load_system
from viewfinder.evaluation.replay import RegionScorer, force_pictures
from viewfinder.metrics import correct_holm, seeded_test
from viewfinder.retrievers.one.gates import ASKED, COMPOSER, INPUTS, PHOTOGRAPHS, SYSTEMS, WORLDS
from viewfinder.retrievers.one.retriever import SHIPPED, SYSTEM
from viewfinder.training.checkpoints import write_tensors
from viewfinder.weights import NETWORK, Card, TrainingList

STEPS = ("make", "score", "fit", "own", "members", "ship", "one")

TIMED = 20
"""Dialogues of which turns are timed."""

COMPANION_NATS = (0.1, 0.2, 0.4, 0.8)
"""Weights that a system may have beside the composer on photographs."""

FEWER = "validation, of fewer systems"
"""Where results/fusion.json has what `leave_out` finds."""

OF_PHOTOGRAPHS = (SMALL, ALL_PHOTOGRAPHS, PEOPLE_COLUMN)

TOLD = tuple(name for name in (*COLUMNS, TALKS_COLUMN) if name not in OF_PHOTOGRAPHS)
"""The columns on whose validation dialogues the gates of "one" are fitted."""

Way = Callable[[Standardised], Float[np.ndarray, " q"]]


def main() -> None:
    """Make the data, score, fit, write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/fusion"), help="worlds, vectors and scores")
    parser.add_argument("--mixture", type=Path, default=Path("runs/mixture"), help="that of mixture.py")
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
    if "own" in given.only:
        own = load_all_own(given.mixture)
        loaders = {name: partial(load_retrained, *one, given.mixture) for name, one in list_own().items()}
        score_columns(given.work, data, PARTS, given.columns, loaders)
        if tuple(given.columns) == tuple(COLUMNS):
            score_validation_talks(given.work, own)
    if "members" in given.only:
        found = read_figures(RESULTS / "fusion.json")
        write_json(RESULTS / "fusion.json", found | {FEWER: leave_out(given.work, found.get(FEWER, {}))})
    if "ship" in given.only:
        ship_gates(given.work, data)
    if "one" in given.only:
        write_json(RESULTS / "fusion.json", measure_one(given.work, given.mixture))


def results(work: Path, data: Path) -> dict[str, Any]:
    """All figures."""
    validation = [one for name in (*COLUMNS, *LED) if name != SMALL for one in read(work, "val", name)]
    fitted = fit_all(validation, work)
    routes = choose_routes(validation)
    ways: dict[str, list[Way]] = {
        **{name: [gates.hits for gates in some] for name, some in fitted.items()},
        "one": [partial(guard, gates) for gates in fitted["one"]],
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
            for at, system in enumerate(COMPARED)
        },
        "gates of one": [{"a": spell(one.a_s), "W": [spell(row_x) for row_x in one.w_sx]} for one in fitted["one"]],
        "ms a turn": time_turns(work, data),
        "numbers": {name: int(some[0].a_s.size + some[0].w_sx.size) for name, some in fitted.items()},
        "validation, nats": {name: [round(one.held, 4) for one in some] for name, some in fitted.items()},
        "machine": describe_host(),
    }


def ship_gates(work: Path, data: Path) -> None:
    """Writes the gates of the first seed into the package, with the list of the pictures that they were fitted on."""
    gates, encoder = fit_own(work, SEEDS[0]), StarterEncoder()
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
        settings={
            "encoder_version": encoder.version, "systems": SYSTEMS, "asked": ASKED, "inputs": INPUTS, "worlds": WORLDS,
        },
        figures={"nats on the dialogues that said when to stop": round(gates.held, 4)},
        trained_on=TrainingList.of(wanted).encode(),
    )  # fmt: skip
    arrays = {"means_wd": mean_vectors(work), "a_s": gates.a_s, "w_sx": gates.w_sx}
    tensors = {name: torch.from_numpy(np.asarray(array, np.float32)) for name, array in arrays.items()}
    write_tensors(SHIPPED, tensors, asdict(card), schema=NETWORK)
    print(SHIPPED, len(wanted), "pictures", flush=True)


def guard(gates: Gates, one: Standardised, least: float = MIN_SHARE) -> Float[np.ndarray, " q"]:
    """What gates find without systems of small shares, with a turn network's opinion among products; in libraries of
    photographs the composer searches alone."""
    if one.world == PHOTOGRAPHS:
        return np.asarray(one.hits_sq[0])
    return gates.hits_with(one, least)


@dataclass(frozen=True, eq=False)
class Measured:
    """Whether what is wanted is among the first ten after the last turn of the test dialogues of a column.

    Attributes:
        alone: by a shipped system.
        one_ec: by "one".
        ablated: by "one" without the turn network, and with the shipped systems in place of those for its own.
        shares: of the systems that "one" asks in all weights, by their names.
        by_turn: by "one" and the composer after every turn, of dialogues that they lead themselves.
    """

    alone: Mapping[str, Float[np.ndarray, " c"]]
    one_ec: Float[np.ndarray, "e c"]
    ablated: Mapping[str, Float[np.ndarray, "e c"]]
    shares: Mapping[str, float]
    by_turn: tuple[Float[np.ndarray, "e c t"], Float[np.ndarray, "c t"]] | None = None


def measure_ways(work: Path, mixture: Path) -> Iterator[tuple[str, Measured]]:
    """Every column but that of people: "one" of every seed, with systems of its own and gates that are fitted to them.

    The turn network is the shipped one.
    """
    nats, of_products = read_nats(), list_product_columns(work)
    fitted, before = ([make(work, seed) for seed in SEEDS] for make in (fit_own, fit_shipped))
    for name in COLUMNS:
        shipped = hear_network(read(work, "test", name), work, name, nats, of_products)
        alone_sc = np.concatenate([one.hits_sq[:, one.queries.last_q] for one in shipped], axis=1)
        found: dict[str, list[Float[np.ndarray, " c"]]] = {}
        shares: list[Float[np.ndarray, "q s"]] = []
        for seed, gates in enumerate(fitted):
            test = read_asked(work, "test", name, seed)
            shares += [share_weights(one, weigh_asked(gates, one)) for one in test]
            found.setdefault(GATES_ALONE, []).append(last(test, gates.hits))
            heard = hear_network(test, work, name, nats, of_products)
            found.setdefault("one", []).append(last(heard, partial(guard, gates, least=0.0)))
            found.setdefault(AS_SHIPPED, []).append(last(shipped, partial(guard, before[seed])))
        ways = {way: np.stack(some) for way, some in found.items() if name in of_products or way != GATES_ALONE}
        share_s = np.concatenate(shares).mean(axis=0).round(3).tolist()
        alone, of_systems = dict(zip(COMPARED, alone_sc, strict=True)), dict(zip(SYSTEMS, share_s, strict=True))
        yield name, Measured(alone, ways.pop("one"), ways, of_systems)
    reader = TurnReader(load_shipped_network())
    ours = list(zip(fitted, [load_own(mixture, seed) for seed in SEEDS], strict=True))
    leads: dict[str, Sequence[Lead]] = {
        **{system: [Alone(system)] for system in ALONE[TALKS_COLUMN]},
        "one": [Fused(gates, 0.0, reader, nats, own, SYSTEMS, ASKED) for gates, own in ours],
        GATES_ALONE: [Fused(gates, own=own, members=SYSTEMS, asked=ASKED) for gates, own in ours],
        AS_SHIPPED: [Fused(gates, MIN_SHARE, reader, nats) for gates in before],
    }
    held = lead_talks(TALKS_COLUMN, work, leads)
    yield (
        TALKS_COLUMN,
        Measured(
            {system: held[system][0][:, -1] for system in ALONE[TALKS_COLUMN]},
            held["one"][:, :, -1],
            {way: held[way][:, :, -1] for way in (GATES_ALONE, AS_SHIPPED)},
            {},
            (held["one"], held[COMPOSER][0]),
        ),
    )


def hear_network(
    some: Sequence[Standardised], work: Path, name: str, nats: float, of_products: Sequence[str]
) -> Sequence[Standardised]:
    """Test tasks with what the turn network adds, in a column about products."""
    return read_opinions(some, work, "test", name, nats) if name in of_products else some


def measure_one(work: Path, mixture: Path) -> dict[str, Any]:
    """All figures, those of "one" measured again, with systems of its own for each seed.

    And how likely a lead as large as that over a column's best is without one, corrected for all columns.
    """
    found, leads_over_best = read_figures(RESULTS / "fusion.json"), dict[str, Float[np.ndarray, "e c"]]()
    for name, measured in measure_ways(work, mixture):
        leads_over_best[name] = keep_one(found["columns"][name], measured)
        print(name, found["columns"][name]["ways"]["one"], flush=True)
        if measured.by_turn is not None:
            one_ect, composer_ct = measured.by_turn
            found["photographs by turn"][name]["one"] = [
                {SHARED: estimate_mean(hits_ec), "difference": estimate_mean(hits_ec - composer_c)}
                for hits_ec, composer_c in zip(np.moveaxis(one_ect, 2, 0), composer_ct.T, strict=True)
            ]
    p_values = [seeded_test(lead_ec)[0] for lead_ec in leads_over_best.values()]
    for name, p_value in zip(leads_over_best, correct_holm(p_values), strict=True):
        found["columns"][name]["one over best, Holm"] = round(p_value, 4)
    return found | {"machine of one": describe_host()}


def keep_one(column: dict[str, Any], measured: Measured) -> Float[np.ndarray, "e c"]:
    """Writes what "one" finds into a column, and without a part of it; returns by how much it is above the best."""
    compared = compare(measured.alone, {"one": measured.one_ec, **measured.ablated})
    column |= {"best": compared["best"], "systems": compared["systems"]}
    column["ways"] |= compared["ways"]
    if measured.shares:
        column["shares"] = measured.shares
    for way, found_ec in measured.ablated.items():
        column[f"one over {way.removeprefix('one, ')}"] = estimate_mean(measured.one_ec - found_ec)
    return np.asarray(measured.one_ec - measured.alone[compared["best"]])


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
    if ends and (chosen := COMPARED[routes[max(set(ends), key=ends.count)]]) in alone:
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


def fit_own(work: Path, seed: int) -> Gates:
    """The gates of the retriever "one", for the systems that it has for its own in the fit with this seed."""

    def make() -> Gates:
        validation = [one for name in TOLD for one in read_asked(work, "val", name, seed)]
        return fit(validation, BEFORE, seed)

    return fit_once(work / "gates" / f"asked-{seed}.npz", make)


def leave_out(work: Path, known: Mapping[str, Any]) -> dict[str, Any]:
    """What gates of fewer systems find on validation, without the turn network: nats where they stop, and R@10.

    What is `known` is not fitted again.
    """
    ways = {"all": COMPARED, "one": SYSTEMS, OF_THE_WORLD: SYSTEMS} | {
        f"without {system}": tuple(one for one in COMPARED if one != system) for system in COMPARED[1:]
    }
    found: dict[str, Any] = {
        way: known.get(way) or {"systems": list(systems), "nats": [], SHARED: []} for way, systems in ways.items()
    }
    new = [way for way, one in found.items() if len(one["nats"]) < len(SEEDS)]
    for seed in SEEDS if new else ():
        members = {system: members_for(seed).get(system, system) for system in COMPARED}
        columns = {name: read(work, "val", name, members) for name in TOLD}
        for way in new:
            at = [COMPARED.index(system) for system in ways[way]]
            fewer = {
                name: [replace(one, z_qsn=one.z_qsn[:, at], hits_sq=one.hits_sq[at]) for one in some]
                for name, some in columns.items()
            }
            if way == OF_THE_WORLD:
                fewer = {name: read_asked(work, "val", name, seed) for name in TOLD}
            gates = fit([one for some in fewer.values() for one in some], BEFORE, seed)
            least = 0.0 if way == OF_THE_WORLD else MIN_SHARE
            hit = [last(some, partial(gates.hits, least=least)).mean() for some in fewer.values()]
            found[way]["nats"].append(round(gates.held, 4))
            found[way][SHARED].append(round(float(np.mean(hit)), 4))
            print(way, seed, found[way], flush=True)
    return found


def fit_shipped(work: Path, seed: int) -> Gates:
    """Gates that are fitted alike, for the shipped systems."""
    columns = [name for name in (*COLUMNS, TALKS_COLUMN) if name != SMALL]
    return fit_elsewhere([one for name in columns for one in read(work, "val", name)], work, seed)


def fit_elsewhere(validation: Sequence[Standardised], work: Path, seed: int) -> Gates:
    """The gates of "one" of shipped systems: they have seen no validation dialogue about photographs."""
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


def read(work: Path, part: Part, name: str, members: Mapping[str, str] = AS_THEY_ARE) -> list[Standardised]:
    """The tasks of a column, standardised; `members`: as `read_column`."""
    column = read_column(work, part, name, members)
    return [standardise(name, queries, scored, mean_vectors(work)) for queries, scored in column]


def read_asked(work: Path, part: Part, name: str, seed: int) -> list[Standardised]:
    """The tasks of a column as "one" hears them in a fit: systems for its own, and only those that it asks there."""
    column = read_column(work, part, name, members_for(seed))
    return [standardise(name, *one, mean_vectors(work), ASKED) for one in column]


def time_turns(work: Path, data: Path) -> dict[str, float]:
    """Milliseconds that a turn of each system takes in dialogues about photographs, its texts encoded anew."""
    [task], plan = read_tasks_of(ALL_PHOTOGRAPHS, "test", work, data)
    found: dict[str, list[float]] = {system: [] for system in COMPARED}
    for system in COMPARED:
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
    alone = dict(zip(COMPARED, alone_sc, strict=True))
    found = {name: np.stack([last(test, way) for way in some]) for name, some in ways.items()}
    shares = [share_weights(one, gates.kept_weights(one, MIN_SHARE)) for gates in fitted["one"] for one in test]
    return {
        "dialogues": len(next(iter(alone.values()))),
        "pictures": sorted({one.z_qsn.shape[2] for one in test}),
        **compare(alone, found),
        "shares": dict(zip(COMPARED, np.concatenate(shares).mean(axis=0).round(3).tolist(), strict=True)),
    }


def weigh_asked(gates: Gates, one: Standardised) -> Float32[np.ndarray, "q s"]:
    """The weights of the systems that "one" asks among such pictures, 0 for others."""
    return np.where([system in ASKED[one.world] for system in SYSTEMS], gates.weights(one), np.float32(0))


def share_weights(one: Standardised, weight_qs: Float32[np.ndarray, "q s"]) -> Float32[np.ndarray, "q s"]:
    """The share of each system in the weights after the last turn of each dialogue."""
    last_qs = weight_qs[one.queries.last_q]
    return np.asarray(last_qs / last_qs.sum(axis=1, keepdims=True))


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
    composer_q = one.hits_sq[COMPARED.index("composer")]
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
    composer, found = COMPARED.index(COMPOSER), dict[str, Any]()
    for at, system in enumerate(COMPARED):
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
    weight_s = np.zeros(len(COMPARED), np.float32)
    weight_s[[COMPARED.index(COMPOSER), system]] = 1.0, nats
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
