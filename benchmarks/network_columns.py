"""The network on dialogues about products, and as one more opinion beside those that `one` weighs.

It has learnt from relative captions of training products (Fashion IQ's and CIRR's), and is added to the sum of `one`
as it is: its scores in deviations from their mean, with a weight that is the best on the validation dialogues of a
column. The composer in its place tells what such a weight alone does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from fusion_data import ALL_PHOTOGRAPHS, AS_THEY_ARE, COLUMNS, COMPARED, Part, mean_vectors, read_column
from fusion_fit import MIN_SHARE, Gates, Standardised, fuse, hits, standardise
from jaxtyping import Float, Float32
from network_data import BatchingEncoder, Talks, record, record_column
from remembering import RememberingEncoder
from rows import SEEDS, estimate_mean
from side_by_side import folder_name
from turn_network import TurnNetwork, score_talks

from viewfinder.evaluation import Plan, Task
from viewfinder.evaluation.evaluate import load_tasks
from viewfinder.evaluation.pictures import Pictures, load_pictures, match_pictures
from viewfinder.evaluation.plan import load_system
from viewfinder.metrics import correct_holm, seeded_test
from viewfinder.retrievers.one.gates import PHOTOGRAPHS, WORLDS

LEARNT = ("fashioniq: one turn", "cirr")
"""Columns of whose training part there are dialogues."""

TRIED = (*LEARNT, "mai: combination, captions read", ALL_PHOTOGRAPHS)
MOST = 1500
"""Training dialogues of a task."""

WEIGHTS = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Nats a deviation that are tried on validation."""


def make_columns(data: Path, work: Path, fusion: Path) -> None:
    """Records the dialogues of all columns, as far as that is not done."""
    encoder = BatchingEncoder({})
    for name in LEARNT:
        if not (home := work / "talks" / "learnt" / folder_name(name)).is_dir():
            pictures, tasks = read_training_tasks(name, fusion, encoder)
            known = [match_pictures(task, pictures, MOST) for task in tasks]
            keep(home, [record(task, pictures.gallery(tuple(task.pictures()))) for task in known])
            print("learnt", name, [len(task.dialogues) for task in known], flush=True)
    for name in TRIED:
        for part in ("val", "test"):
            if not (home := work / "talks" / part / folder_name(name)).is_dir():
                keep(home, list(record_column(name, part, fusion, data, encoder)))
                print(part, name, flush=True)


def read_training_tasks(name: str, fusion: Path, encoder: RememberingEncoder) -> tuple[Pictures, list[Task]]:
    """The training dialogues of a column, and their pictures."""
    plan = plan_training(name, fusion)
    return load_pictures(plan, encoder, load_system("composer")), load_tasks(plan)


def plan_training(name: str, fusion: Path) -> Plan:
    """What reads the training dialogues of a column."""
    test = COLUMNS[name].test
    return Plan(
        system="composer", data=fusion / test.data, protocol=test.protocol, task=test.task, split="train",
        features=fusion / "features" / test.data,
    )  # fmt: skip


def keep(home: Path, some: Sequence[Talks]) -> None:
    """Writes the dialogues of the tasks of a column."""
    for number, talks in enumerate(some):
        talks.save(home / f"{number}.npz")


def read_kept(work: Path, part: str, name: str) -> list[Talks]:
    """What `keep` wrote."""
    home = work / "talks" / part / folder_name(name)
    return [Talks.read(home / f"{number}.npz") for number in range(len(list(home.glob("*.npz"))))]


def measure_columns(work: Path, fusion: Path, networks: Sequence[TurnNetwork]) -> dict[str, Any]:
    """Every column: the composer, `one`, the network, and `one` with it; and with the composer in its place."""
    found, tests = dict[str, Any](), dict[str, float]()
    gates = [read_gates(fusion / "gates" / f"one-{seed}.npz") for seed in SEEDS]
    for name in TRIED:
        validation, test = (list(read_both(work, fusion, part, name)) for part in ("val", "test"))
        weight, both_ec = choose_weight(validation, test, gates, networks)
        composer_weight, control_ec = choose_weight(validation, test, gates, [None] * len(gates))
        one_ec = np.stack([end_hits(test, one, None, 0.0) for one in gates])
        alone_sc = np.concatenate([some.hits_sq[:, some.queries.last_q] for some, _ in test], axis=1)
        composer_c, best = alone_sc[0], int(alone_sc.mean(axis=1).argmax())
        network_ec = np.stack([end_hits(test, None, network, 1.0) for network in networks])
        found[name] = {
            "dialogues": len(composer_c),
            "composer": estimate_mean(composer_c[None]),
            "best": COMPARED[best],
            "best found": estimate_mean(alone_sc[best][None]),
            "one": estimate_mean(one_ec),
            "network": estimate_mean(network_ec),
            "network over composer": estimate_mean(network_ec - composer_c),
            "network over best": estimate_mean(network_ec - alone_sc[best]),
            "weight": weight,
            "with one": estimate_mean(both_ec),
            "with one over one": estimate_mean(both_ec - one_ec),
            "with one over best": estimate_mean(both_ec - alone_sc[best]),
            "the composer in its place": {"weight": composer_weight, "found": estimate_mean(control_ec)},
            "with one over that": estimate_mean(both_ec - control_ec),
        }
        tests[name] = seeded_test(both_ec - alone_sc[best])[0]
        print(name, found[name], flush=True)
    for name, p_value in zip(tests, correct_holm(list(tests.values())), strict=True):
        found[name]["with one over best, Holm"] = round(p_value, 4)
    return found


def choose_weight(
    validation: Sequence[tuple[Standardised, Talks]],
    test: Sequence[tuple[Standardised, Talks]],
    gates: Sequence[Gates],
    networks: Sequence[TurnNetwork | None],
) -> tuple[float, Float[np.ndarray, "e c"]]:
    """The weight of an opinion that is the best on validation, and what is found with it on the test."""

    def hear(some: Sequence[tuple[Standardised, Talks]], weight: float) -> Float[np.ndarray, "e c"]:
        return np.stack([end_hits(some, one, network, weight) for one, network in zip(gates, networks, strict=True)])

    weight = max(WEIGHTS, key=lambda nats: (hear(validation, nats).mean(), -nats))
    return weight, hear(test, weight)


def read_gates(file: Path) -> Gates:
    """Gates that fusion.py has fitted."""
    with np.load(file) as kept:
        return Gates(tuple(map(str, kept["known"])), kept["a_s"], kept["w_sx"], float(kept["held"]))


def read_both(
    work: Path, fusion: Path, part: Part, name: str, members: Mapping[str, str] = AS_THEY_ARE
) -> Iterator[tuple[Standardised, Talks]]:
    """The scores of all systems, and the same dialogues as the network reads them; `members`: as `read_column`."""
    means_wd = mean_vectors(fusion)
    column = read_column(fusion, part, name, members)
    for (queries, scored), talks in zip(column, read_kept(work, part, name), strict=True):
        assert (queries.target_q == talks.target_q).all(), "the same dialogues, turn by turn"
        yield standardise(name, queries, scored, means_wd), talks


def end_hits(
    some: Sequence[tuple[Standardised, Talks]], gates: Gates | None, network: TurnNetwork | None, weight: float
) -> Float[np.ndarray, " c"]:
    """Whether the wanted picture is found at the end, by the gates' sum and an opinion with a weight.

    `gates` None: by the opinion alone. `network` None: the opinion is the composer's. In a library of photographs the
    sum is the composer alone, as the rule of `one` is.
    """
    found = []
    for one, talks in some:
        last_q = one.queries.last_q
        total_qn: Float32[np.ndarray, "q n"] = np.zeros(one.out_qn.shape, np.float32)
        if gates is not None and WORLDS[int(np.argmax(one.worlds_w))] == PHOTOGRAPHS:
            total_qn = one.z_qsn[:, 0]
        elif gates is not None:
            total_qn = fuse(one.z_qsn, gates.kept_weights(one, MIN_SHARE))
        if weight:
            composed_qn = talks.scores_qn.astype(np.float32)
            opinion_qn = composed_qn if network is None else score_talks(network, talks, np.unique(talks.dialogue_q))
            total_qn = total_qn + np.float32(weight) * deviations(opinion_qn)
        found.append(hits(total_qn[last_q], one.queries.target_q[last_q], one.out_qn[last_q]))
    return np.concatenate(found)


def deviations(scores_qn: Float32[np.ndarray, "q n"]) -> Float32[np.ndarray, "q n"]:
    """Scores in deviations from the mean of those that are not excluded; 0: excluded."""
    there_qn = np.isfinite(scores_qn)
    kept_qn = np.where(there_qn, scores_qn, np.nan)
    found_qn = (scores_qn - np.nanmean(kept_qn, axis=1, keepdims=True)) / np.nanstd(kept_qn, axis=1, keepdims=True)
    return np.where(there_qn, found_qn, np.float32(0)).astype(np.float32)
