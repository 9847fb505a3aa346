"""The approximate index against a scan: what it finds, what it says of itself, how it grows and what damage does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Bool, Float32, Int64

from viewfinder.search import approximate, indexed_pictures
from viewfinder.search.approximate import (
    ENOUGH_OF_SAYINGS,
    ApproximateIndex,
    Queries,
    UnusableIndex,
    as_query,
    build_index,
    exact_best,
    load_card,
    load_index,
    measure_index,
    save_index,
    with_background,
)
from viewfinder.search.indexed_pictures import IndexedPictures, find_rows, split_layers, spread_rows
from viewfinder.search.samples import Moments

faiss = pytest.importorskip("faiss", reason="the extra `scale` is not installed")

COUNT, WIDTH = 3000, 20
IDS = [f"{at:05}" for at in range(COUNT)]


def made(seed: int = 0) -> tuple[Float32[np.ndarray, "n d"], Float32[np.ndarray, " n"]]:
    """Pictures in groups, as those of a collection are, and a background for each."""
    rng = np.random.default_rng(seed)
    groups_gd, near_nd = rng.normal(size=(40, WIDTH)), rng.normal(scale=0.4, size=(COUNT, WIDTH))
    vectors_nd = groups_gd[rng.integers(40, size=COUNT)] + near_nd
    vectors_nd /= np.linalg.norm(vectors_nd, axis=1, keepdims=True)
    return vectors_nd.astype(np.float32), rng.normal(scale=0.1, size=COUNT).astype(np.float32)


VECTORS_ND, BACKGROUND_N = made()
AGAINST_M = np.arange(60) % 3 == 2
ASKED_MW = with_background(made(1)[0][:60], np.full(60, -1.0))
ASKED = Queries(ASKED_MW, AGAINST_M, "pictures")


def index_of(rows: slice = slice(None)) -> ApproximateIndex:
    return build_index(IDS[rows], VECTORS_ND[rows], BACKGROUND_N[rows], ASKED)


INDEX = index_of()


def best_by_scan(
    query_w: Float32[np.ndarray, " w"], count: int, allowed_n: Bool[np.ndarray, " n"] | None = None
) -> Int64[np.ndarray, " k"]:
    scores_n = with_background(VECTORS_ND, BACKGROUND_N) @ query_w
    if allowed_n is not None:
        scores_n = np.where(allowed_n, scores_n, -np.inf)
    return np.argsort(-scores_n, kind="stable")[:count]


def test_a_query_with_a_background_is_one_inner_product() -> None:
    query_w = as_query(VECTORS_ND[3], 0.5)
    expected_n = VECTORS_ND @ VECTORS_ND[3] - 0.5 * BACKGROUND_N
    np.testing.assert_allclose(with_background(VECTORS_ND, BACKGROUND_N) @ query_w, expected_n, atol=1e-6)
    assert len(query_w) % 16 == 0


def test_the_best_of_all_are_found_block_by_block_as_by_one_sort() -> None:
    found_mk = exact_best(VECTORS_ND, BACKGROUND_N, ASKED_MW[:5], 10)
    for query_w, found_k in zip(ASKED_MW, found_mk, strict=False):
        assert set(found_k.tolist()) == set(best_by_scan(query_w, 10).tolist())


def test_the_recall_on_the_card_holds_for_queries_that_chose_nothing() -> None:
    others_mw = with_background(made(2)[0][:100], np.full(100, -1.0))
    found = [np.isin(best_by_scan(each_w, 10), INDEX.search(each_w, 1000)).mean() for each_w in others_mw]
    assert INDEX.card.recall >= 0.95
    assert np.mean(found) >= INDEX.card.recall - 0.05


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_a_filter_leaves_only_what_it_allows_and_the_best_of_that(share: float) -> None:
    allowed_n = np.random.default_rng(3).random(COUNT) < share
    recalls = []
    for query_w in ASKED_MW[:40]:
        slots_k = INDEX.search(query_w, 100, allowed_s=allowed_n)
        assert allowed_n[slots_k].all()
        recalls.append(np.isin(best_by_scan(query_w, 10, allowed_n), slots_k).mean())
    assert np.mean(recalls) >= 0.9


def test_what_is_read_back_finds_the_same(tmp_path: Path) -> None:
    save_index(INDEX, tmp_path / "index.npz")
    again = load_index(tmp_path / "index.npz", WIDTH)
    assert load_card(tmp_path / "index.npz") == (INDEX.card, COUNT)
    assert again.card == INDEX.card
    assert again.ids_s.tolist() == [picture.encode() for picture in IDS]
    np.testing.assert_array_equal(again.search(ASKED_MW[0], 50), INDEX.search(ASKED_MW[0], 50))
    (tmp_path / "index.npz").unlink()  # what is mapped stays
    np.testing.assert_array_equal(again.search(ASKED_MW[1], 50), INDEX.search(ASKED_MW[1], 50))


def test_one_that_grows_is_read_for_itself(tmp_path: Path) -> None:
    save_index(index_of(slice(0, 2900)), tmp_path / "index.npz")
    again = load_index(tmp_path / "index.npz", WIDTH, grows=True)
    again.add(IDS[2900:], with_background(VECTORS_ND[2900:], BACKGROUND_N[2900:]))
    assert len(again) == COUNT
    assert load_card(tmp_path / "index.npz")[1] == 2900


def test_damage_is_found_when_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "index.npz"
    save_index(INDEX, file)
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 1
    file.write_bytes(content)
    with pytest.raises(UnusableIndex, match="CRC"):
        load_index(file, WIDTH)


def test_pictures_added_later_are_found_as_well_as_the_first() -> None:
    grown = index_of(slice(0, 2000))
    grown.add(IDS[2000:], with_background(VECTORS_ND[2000:], BACKGROUND_N[2000:]))
    assert len(grown) == COUNT
    indexed = IndexedPictures(grown, IDS)
    assert not len(indexed.lacking_k)
    recalls = [np.isin(best_by_scan(each_w, 10), indexed.best(each_w, 300, None)).mean() for each_w in ASKED_MW]
    assert np.mean(recalls) >= 0.9


def test_pictures_that_an_index_lacks_are_candidates_and_those_that_went_are_none() -> None:
    old = index_of(slice(0, 2900))
    now = IDS[100:]  # a hundred went, a hundred came
    indexed = IndexedPictures(old, now)
    assert indexed.gone == 100
    assert indexed.lacking_k.tolist() == list(range(2800, 2900))
    rows_c = indexed.candidates([(ASKED_MW[0], 50)])
    assert set(range(2800, 2900)) <= set(rows_c.tolist())
    wanted = [row for row in best_by_scan(ASKED_MW[0], 60).tolist() if row >= 100][:10]
    assert set(wanted) <= {int(now[row]) for row in rows_c.tolist()}
    none_n = np.zeros(len(now), bool)
    none_n[5] = True
    assert indexed.candidates([(ASKED_MW[0], 50)], allowed_n=none_n).tolist() == [5]


@pytest.mark.parametrize("share", [0.5, 0.1, 0.05])
def test_of_pictures_that_a_filter_allows_as_many_are_found_as_of_all(share: float) -> None:
    indexed = IndexedPictures(INDEX, IDS)
    likeness_n = VECTORS_ND @ np.random.default_rng(5).normal(size=WIDTH)
    alike_n = likeness_n >= np.quantile(likeness_n, 1 - share)  # they lie in few lists, and not those of the query
    recalls = []
    for each_w in ASKED_MW:
        best = [row for row in best_by_scan(each_w, COUNT).tolist() if alike_n[row]][:10]
        recalls.append(np.isin(best, indexed.best(each_w, 50, alike_n)).mean())
    assert np.mean(recalls) >= 0.95


def test_what_a_prior_lifts_is_among_the_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexed_pictures, "SCANNED", 30)  # layers of more pictures go through the index
    indexed = IndexedPictures(INDEX, IDS)
    worst = best_by_scan(ASKED_MW[0], COUNT)[-20:]
    prior_n = np.zeros(COUNT, np.float32)
    prior_n[worst] = 5.0
    rows_c = indexed.candidates([(ASKED_MW[0], 50)], prior_n=prior_n)
    assert set(worst.tolist()) <= set(rows_c.tolist())
    assert np.isin(best_by_scan(ASKED_MW[0], 10), rows_c).mean() >= 0.9
    assert len(rows_c) < 200


def test_layers_hold_every_allowed_picture_once_highest_prior_first() -> None:
    prior_n = np.random.default_rng(4).normal(size=COUNT).astype(np.float32)
    allowed_n = np.arange(COUNT) % 3 == 0
    layers = list(split_layers(prior_n, allowed_n))
    masks = [layer_n for layer_n in layers if layer_n is not None]
    np.testing.assert_array_equal(np.sum(masks, axis=0), allowed_n)
    assert 3 <= len(masks) <= 4
    assert prior_n[masks[0]].min() >= prior_n[masks[1]].max()
    assert [each is None for each in split_layers(None, None)] == [True]
    assert len(list(split_layers(np.zeros(COUNT, np.float32), None))) == 1  # nothing to tell apart


def test_what_few_pictures_have_is_a_layer_of_its_own_where_every_other_one_has_the_same_prior() -> None:
    count = 100_000
    prior_n = np.where(np.arange(count) % 2 == 0, np.float32(4.3e-5), np.float32(0.0022525387))
    prior_n[8:400] = 0.6
    assert np.flatnonzero(next(split_layers(prior_n, None))).tolist() == list(range(8, 400))  # type: ignore[arg-type]
    assert len(np.unique(spread_rows(count, 4096))) == 4096


def test_moments_give_the_mean_and_the_deviation_of_the_scores() -> None:
    all_nw = with_background(VECTORS_ND, BACKGROUND_N)
    scores_n = all_nw @ ASKED_MW[0]
    mean, deviation = Moments.of(all_nw).measure(ASKED_MW[0])
    assert mean == pytest.approx(float(scores_n.mean()), abs=1e-5)
    assert deviation == pytest.approx(float(scores_n.std()), abs=1e-5)


def of_two_kinds(seed: int = 0) -> tuple[Float32[np.ndarray, "n d"], Float32[np.ndarray, " n"]]:
    """2,000 pictures, and 900 of another kind that came later: spread out, in dimensions that the first hardly use."""
    rng = np.random.default_rng(seed)
    first_nd = VECTORS_ND[:2000] * np.array([1.0] * 10 + [0.02] * 10)
    later_nd = rng.normal(size=(900, WIDTH)) * np.array([0.02] * 10 + [1.0] * 10)
    vectors_nd = np.concatenate([first_nd, later_nd])
    vectors_nd /= np.linalg.norm(vectors_nd, axis=1, keepdims=True)
    return vectors_nd.astype(np.float32), np.zeros(2900, np.float32)


def near(vectors_nd: Float32[np.ndarray, "n d"], count: int, seed: int) -> Queries:
    rng = np.random.default_rng(seed)
    chosen_md = vectors_nd[rng.choice(len(vectors_nd), count)] + rng.normal(scale=0.1, size=(count, WIDTH))
    return Queries(with_background(chosen_md, np.zeros(count)), np.arange(count) % 3 == 2, "pictures")


def test_pictures_of_another_kind_are_measured_by_themselves_and_a_new_index_finds_them() -> None:
    vectors_nd, background_n = of_two_kinds()
    ids = [f"{at:05}" for at in range(2900)]
    grown = build_index(ids[:2000], vectors_nd[:2000], background_n[:2000], near(vectors_nd[:2000], 120, 1))
    assert grown.card.recall > 0.9
    assert grown.card.recall_added is None
    grown.add(ids[2000:], with_background(vectors_nd[2000:], background_n[2000:]))
    asked = near(vectors_nd[:2000], 120, 2).joined(near(vectors_nd[2000:], 120, 3))
    card = measure_index(grown, np.arange(2900), vectors_nd, background_n, asked)
    others = near(vectors_nd[2000:], 200, 4)
    best_mk = exact_best(vectors_nd, background_n, others.vectors_mw, 10)
    shares = [
        np.isin(best_k, grown.search(each_w, 1000, against=bool(against))).mean()
        for best_k, each_w, against in zip(best_mk, others.vectors_mw, others.against_m, strict=True)
    ]
    assert card.recall_added is not None
    assert card.recall_added < 0.9
    assert card.recall_added == pytest.approx(np.mean(shares), abs=0.05)
    assert card.least_recall == card.recall_added
    anew = build_index(ids, vectors_nd, background_n, asked)
    assert anew.card.least_recall > 0.95


def test_lists_are_looked_into_until_sayings_that_hold_for_no_picture_find_enough() -> None:
    rng = np.random.default_rng(5)
    far_md = rng.normal(size=(60, WIDTH))  # like no picture: the best of all lie in many lists
    sayings_bw = with_background(far_md / np.linalg.norm(far_md, axis=1, keepdims=True), np.zeros(60))
    asked = near(VECTORS_ND, 120, 1)
    plain, both = (
        build_index(IDS, VECTORS_ND, np.zeros(COUNT, np.float32), queries)
        for queries in (asked, replace(asked, sayings_bw=sayings_bw))
    )
    assert both.card.probes > plain.card.probes
    assert both.card.probes_against >= both.card.probes
    best_mk = exact_best(VECTORS_ND, np.zeros(COUNT, np.float32), sayings_bw, 10)
    shares = [
        np.isin(best_k, both.search(each_w, 1000)).mean() for best_k, each_w in zip(best_mk, sayings_bw, strict=True)
    ]
    assert np.mean(shares) >= ENOUGH_OF_SAYINGS


IDS_OF_ROWS = st.lists(st.integers(0, 60), unique=True, max_size=40)


@given(IDS_OF_ROWS, IDS_OF_ROWS, st.booleans(), st.sampled_from([1, 3, 5000]), st.sampled_from([1, 4, 4096]))
def test_rows_are_found_whatever_came_went_or_moved(
    rows: list[int], slots: list[int], are_sorted: bool, runs: int, ahead: int
) -> None:
    if are_sorted:  # as a snapshot that was made anew is, and an index of one
        rows, slots = sorted(rows), sorted(slots)
    place = {number: row for row, number in enumerate(rows)}
    ids_n, ids_s = (np.array([f"{number:03}" for number in some], "S3") for some in (rows, slots))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexed_pictures, "MAX_RUNS", runs)
        patch.setattr(indexed_pictures, "LOOKED_AHEAD", ahead)
        patch.setattr(indexed_pictures, "COMPARED_AT_ONCE", 2)
        assert find_rows(ids_n, ids_s).tolist() == [place.get(number, -1) for number in slots]


def test_what_went_is_not_found_and_is_not_missed_when_recall_is_measured() -> None:
    row_s = np.arange(COUNT) - 100  # the first hundred have gone
    row_s[:100] = -1
    card = measure_index(INDEX, row_s, VECTORS_ND[100:], BACKGROUND_N[100:], ASKED)
    assert card.recall > 0.95
    assert card.queries == (60, "pictures")


def test_where_codes_lose_pictures_as_few_lists_are_looked_into_as_find_as_much_as_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(approximate, "MEASURED_FROM", 10)  # of two bits, the best ten hold not all of the exact ten
    best_mk = exact_best(VECTORS_ND, BACKGROUND_N, ASKED_MW, 10)

    def recall(probes: int) -> float:
        return float(approximate._recalls(INDEX.lists, ASKED_MW, best_mk, probes).mean())

    chosen, all_lists = approximate._find_fewest(INDEX.lists, [(ASKED_MW, best_mk)], 0.98), INDEX.card.lists
    assert recall(all_lists) < 0.98
    assert chosen < all_lists
    assert recall(chosen) >= recall(all_lists) - approximate.SAME_RECALL
