"""Late fusion of several systems' scores (benchmarks/fusion_fit.py)."""

from pathlib import Path

import numpy as np
import pytest
from fusion_data import COMPARED, Queries, Scored, read_column, write_queries, write_scores
from fusion_fit import NOTHING, Gates, Standardised, choose_routes, fit, fuse, route, standardise

from viewfinder.conversation import Like, Say
from viewfinder.retrievers.one.gates import CONVERSATION, compare_worlds, describe_conversation

PICTURES, DIALOGUES = 60, 80
CONVERSES = ("conversation",)


def make_queries(target_q: list[int], said_q: list[float]) -> Queries:
    """Dialogues of one turn; `said_q` is their number of descriptions."""
    known_qf = np.zeros((len(target_q), len(CONVERSATION)), np.float32)
    known_qf[:, 0] = said_q
    count = len(target_q)
    ids = tuple(map(str, range(count)))
    return Queries(ids, np.arange(count), np.array(target_q), np.ones(count, bool), known_qf, np.eye(3)[0], False)


def make_scored(scores_qn: np.ndarray, sharpness: float = 1.0) -> Scored:
    sharpness_q = np.full(len(scores_qn), sharpness, np.float32)
    return Scored(scores_qn.astype(np.float32), np.zeros(scores_qn.shape, bool), sharpness_q, 1.0)


def two_kinds(seed: int) -> Standardised:
    """The composer finds what is described, drilldown everything else; both are otherwise noise."""
    random = np.random.default_rng(seed)
    described_q = (np.arange(DIALOGUES) % 2).astype(float)
    target_q = random.integers(0, PICTURES, DIALOGUES)
    scored = {}
    for system in COMPARED:
        scores_qn = random.standard_normal((DIALOGUES, PICTURES))
        knows_q = {"composer": described_q, "drilldown": 1 - described_q}.get(system, 0 * described_q)
        scores_qn[np.arange(DIALOGUES), target_q] += 3.5 * knows_q
        scored[system] = make_scored(scores_qn)
    return standardise(
        "both", make_queries(target_q.tolist(), described_q.tolist()), scored, np.eye(3, dtype=np.float32)
    )


def test_scores_are_in_deviations_from_the_mean_or_in_nats_and_silence_adds_nothing() -> None:
    scored = {system: make_scored(np.array([[1.0, 3.0, 5.0, 7.0]]), sharpness=20.0) for system in COMPARED}
    scored["mai"] = make_scored(np.full((1, 4), 9.0))
    one = standardise("one", make_queries([3], [0.0]), scored, np.eye(3, dtype=np.float32))
    assert one.z_qsn[0, 1] == pytest.approx(np.array([-3, -1, 1, 3]) / 5**0.5)  # mean 4, variance (9 + 1 + 1 + 9) / 4
    assert one.z_qsn[0, 0].tolist() == [-60.0, -20.0, 20.0, 60.0]  # the composer says what a lead means
    assert not one.z_qsn[0, COMPARED.index("mai")].any()


def test_scores_are_read_under_another_name_where_a_system_has_other_weights(tmp_path: Path) -> None:
    queries, place = make_queries([0], [0.0]), tmp_path / "scores" / "val" / "cirr" / "0"
    place.mkdir(parents=True)
    write_queries(place, queries)
    for system in (*COMPARED, "another chatir"):
        write_scores(place, system, make_scored(np.full((1, 2), float(len(system)))))
    [(_, shipped)] = read_column(tmp_path, "val", "cirr")
    [(_, own)] = read_column(tmp_path, "val", "cirr", {"chatir": "another chatir", "mai": "mai"})
    assert [shipped[name].scores_qn[0, 0] for name in ("chatir", "mai")] == [6, 3]
    assert {name: one.scores_qn[0, 0] for name, one in own.items()} == {"chatir": 14, "mai": 3}


def test_a_fused_score_is_the_weighted_sum() -> None:
    z_qsn = np.array([[[1.0, 0.0], [0.0, 1.0]]], np.float32)
    assert fuse(z_qsn, np.array([[2.0, 3.0]], np.float32)).tolist() == [[2.0, 3.0]]


def test_gates_learn_whom_to_believe_and_a_sum_cannot() -> None:
    learnt, asked = two_kinds(0), two_kinds(1)
    plain = fit([learnt], NOTHING, 0)
    gates = fit([learnt], CONVERSES, 0, plain)
    weight_qs = gates.weights(asked)
    described_q = asked.queries.conversation_qf[:, 0] > 0
    composer, drilldown = COMPARED.index("composer"), COMPARED.index("drilldown")
    assert (weight_qs[described_q, composer] > weight_qs[described_q, drilldown]).all()
    assert (weight_qs[~described_q, drilldown] > weight_qs[~described_q, composer]).all()
    assert gates.hits(asked).mean() > plain.hits(asked).mean()


def test_systems_of_a_small_share_are_left_out() -> None:
    asked = two_kinds(0)
    at = COMPARED.index("composer")
    a_s = np.full(len(COMPARED), -5.0, np.float32)
    a_s[at] = 5.0
    gates = Gates(NOTHING, a_s, np.zeros((len(COMPARED), 0), np.float32))
    assert gates.hits(asked, least=0.05).tolist() == asked.hits_sq[at].tolist()


def test_a_router_takes_the_best_of_each_kind() -> None:
    routes = choose_routes([two_kinds(0)])
    assert {COMPARED[system] for system in routes.values()} == {"composer", "drilldown"}
    assert route(two_kinds(1), routes).mean() > 0.8


def test_a_conversation_is_described_by_what_was_done() -> None:
    found = dict(zip(CONVERSATION, describe_conversation([Say("a red shirt"), Like("1.jpg", "is blue")]), strict=True))
    assert found["descriptions"] == 1 / 10
    assert found["picks with words"] == 1 / 3
    assert found["turns"] == 1 / 4  # log2 of two turns
    assert found["words of the last turn"] == 2 / 40
    assert not found["looks back"]


def test_a_library_is_described_by_the_world_it_is_like() -> None:
    worlds_wd = np.eye(3, dtype=np.float32)
    found_w = compare_worlds(worlds_wd[1], worlds_wd)
    assert found_w == pytest.approx([-0.5, 1.0, -0.5])  # directions from the centre of three corners
