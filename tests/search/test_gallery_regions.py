"""Galleries of many vectors a picture: scores, shares, attention and boxes, followed by hand and on real regions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float, Float16, Float32

from viewfinder.errors import EncoderMismatch, LibraryError
from viewfinder.query import Part, Query, RawPictures, RegionSpace
from viewfinder.search import late_interaction as score_module
from viewfinder.search.explanation import explain_hits, share_parts
from viewfinder.search.gallery import Gallery
from viewfinder.search.raw_vectors import Boxed, RawVectors
from viewfinder.search.region_scores import RegionBlock
from viewfinder.search.regions import compute_attention, find_block, find_boxes
from viewfinder.search.scores import score_all
from viewfinder.search.verdicts import outlier_chance
from viewfinder.store.snapshot import Snapshot
from viewfinder.testing import COLOURS, ColourEncoder, TinyRaw, tiny_snapshot

Array = Float[np.ndarray, "..."]

X, Y = np.array([1.0, 0.0]), np.array([0.0, 1.0])
BY_HAND = np.array([[X, Y], [X, X], [Y, 0 * X]])
"""Three pictures of two regions of two numbers; the last has one region only."""

LOOKS = [(top, bottom) for top in list(COLOURS)[:4] for bottom in list(COLOURS)[:4]]
ENCODER = ColourEncoder()
SLOTS = st.lists(
    st.tuples(st.sampled_from(list(COLOURS)), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=1, max_size=5
)
PATIENT = settings(deadline=None, max_examples=25)


@dataclass(frozen=True, eq=False)
class Given:
    """Raw regions as they are given; the global vector of a picture is the sum of its regions."""

    regions_nre: Float16[np.ndarray, "n r e"]
    raw_version: str = "by-hand-1"

    def batches(
        self, ids: Sequence[str], *, regions: bool
    ) -> Iterator[tuple[Float[np.ndarray, "b g"], Float16[np.ndarray, "b r e"] | None]]:
        for name in ids:
            regions_1re = self.regions_nre[int(name[1:])][None]
            yield regions_1re.sum(axis=1).astype(np.float32), regions_1re if regions else None


@dataclass(frozen=True, eq=False)
class Detected(Given):
    """The same from a detector that says where it looked."""

    def boxes(self, picture_id: str) -> Float[np.ndarray, "_boxes 4"]:
        return np.array([[0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0]])


def as_given(raw: RawPictures) -> Float32[np.ndarray, "n k d"]:
    assert raw.regions_nre is not None
    return raw.regions_nre.astype(np.float32)


def as_units(raw: RawPictures) -> Float32[np.ndarray, "n k d"]:
    assert raw.regions_nre is not None
    assert raw.regions_nre.dtype == np.float16
    long_nre = raw.regions_nre.astype(np.float32)
    return np.asarray(long_nre / np.maximum(np.linalg.norm(long_nre, axis=-1, keepdims=True), 1e-6))


def whole_only(raw: RawPictures) -> Float32[np.ndarray, "n k d"]:
    assert raw.regions_nre is None
    return np.asarray(raw.whole_ng[:, None], np.float32)


LN3 = math.log(3.0)
HAND = RegionSpace("by-hand", "by-hand-1", as_given, regions=2, width=2, temperature=LN3)
"""With a temperature of ln 3, cosines 1 and 0 have weights 3 : 1."""
COLOUR = RegionSpace("colour", ENCODER.raw_version, as_units, regions=36, width=3)


def by_hand(raw: RawVectors | None = None) -> Gallery:
    return Gallery(tiny_snapshot([("red", "red")] * 3), ENCODER, raw or Given(BY_HAND.astype(np.float16)))


def in_colour(looks: Sequence[tuple[str, str]] = LOOKS, without: Sequence[str] = ()) -> Gallery:
    return Gallery(tiny_snapshot(looks), ENCODER, TinyRaw(looks, frozenset(without)))


def asked(*slots: tuple[Array, float], compare: str = "late_interaction", space: RegionSpace = HAND) -> Query:
    parts = tuple(Part("regions", at, f"slot {at}", weight, vector) for at, (vector, weight) in enumerate(slots, 1))
    return Query(parts, space, "rank_fusion" if compare == "rank_fusion" else "late_interaction")


def seen(*slots: tuple[str, float], compare: str = "late_interaction") -> Query:
    vectors = [np.array(COLOURS[name]) / 255 - 0.5 for name, _ in slots]
    units = [vector / np.linalg.norm(vector) for vector in vectors]
    return asked(*zip(units, (weight for _, weight in slots), strict=True), compare=compare, space=COLOUR)


GALLERY = in_colour()
ROWS = np.arange(len(LOOKS))


def test_late_interaction_by_hand() -> None:
    # x: the first picture 3/4 x 1 + 1/4 x 0, the second 1, the third 0; y: 3/4, 0 and, beside its missing region, 3/4.
    total_n = score_all(by_hand(), asked((X, 1.0), (Y, 0.5))).total_n
    np.testing.assert_allclose(total_n, [0.75, 1 / 1.5, 0.375 / 1.5], atol=1e-6)


def test_shares_and_attention_by_hand() -> None:
    gallery, query, rows = by_hand(), asked((X, 1.0), (Y, 0.5)), np.array([2, 0])
    np.testing.assert_allclose(share_parts(gallery, query, rows), [[0, 0.25], [0.5, 0.25]], atol=1e-6)
    expected = [[[1 / 2, 1 / 2], [3 / 4, 1 / 4]], [[3 / 4, 1 / 4], [1 / 4, 3 / 4]]]
    np.testing.assert_allclose(compute_attention(gallery, query, rows), expected, atol=1e-6)


def test_rank_fusion_by_hand() -> None:
    # x ranks them 2, 1, 3 and y 1.5, 3, 1.5 (a tie): 3.5, 4 and 4.5 of the 2 x 3 places there are.
    gallery, query = by_hand(), asked((X, 1.0), (Y, 0.5), compare="rank_fusion")
    scores = score_all(gallery, query)
    np.testing.assert_allclose(scores.total_n, [-3.5 / 6, -4 / 6, -4.5 / 6], atol=1e-6)
    expected = [[-3 / 6, -1.5 / 6], [-2 / 6, -1.5 / 6]]
    for known in (None, scores):
        np.testing.assert_allclose(share_parts(gallery, query, np.array([2, 0]), known), expected, atol=1e-6)


def test_a_space_of_whole_pictures_reads_no_regions() -> None:
    whole = replace(HAND, name="whole", project=whole_only, regions=1, reads_regions=False)
    gallery = by_hand()
    total_n = score_all(gallery, asked((X, 1.0), space=whole)).total_n
    np.testing.assert_allclose(total_n, [1, 2, 0])  # the sums of the regions, along x
    assert compute_attention(gallery, asked((X, 1.0), space=whole), np.array([1])).tolist() == [[[1.0]]]
    assert find_boxes(gallery, 0, whole).tolist() == [[0, 0, 1, 1]]


@PATIENT
@given(SLOTS, st.sampled_from(["late_interaction", "rank_fusion"]))
def test_shares_sum_to_the_scores(slots: list[tuple[str, float]], compare: str) -> None:
    query = seen(*slots, compare=compare)
    scores = score_all(GALLERY, query)
    np.testing.assert_allclose(share_parts(GALLERY, query, ROWS, scores).sum(axis=1), scores.total_n, atol=1e-5)
    np.testing.assert_allclose(share_parts(GALLERY, query, ROWS), share_parts(GALLERY, query, ROWS, scores), atol=1e-6)


@PATIENT
@given(SLOTS)
def test_attention_adds_up_to_one_and_says_where_shares_come_from(slots: list[tuple[str, float]]) -> None:
    query = seen(*slots)
    looks_kmr = compute_attention(GALLERY, query, ROWS)
    np.testing.assert_allclose(looks_kmr.sum(axis=-1), 1, atol=1e-5)
    regions_krd = find_block(GALLERY, COLOUR).vectors(ROWS)
    vectors_md = np.stack([part.vector_d for part in query.parts if part.vector_d is not None])
    cosines_kmr = vectors_md @ regions_krd.transpose(0, 2, 1)
    weights_m = np.array([weight for _, weight in slots])
    expected_km = weights_m / (weights_m.sum() or 1.0) * (looks_kmr * cosines_kmr).sum(axis=-1)
    np.testing.assert_allclose(share_parts(GALLERY, query, ROWS), expected_km, atol=1e-5)


@PATIENT
@given(SLOTS, st.sampled_from(["late_interaction", "rank_fusion"]))
def test_all_slots_twice_score_like_once(slots: list[tuple[str, float]], compare: str) -> None:
    once, twice = (score_all(GALLERY, seen(*(slots * times), compare=compare)) for times in (1, 2))
    np.testing.assert_allclose(once.total_n, twice.total_n, atol=1e-5)


@PATIENT
@given(SLOTS, st.sampled_from(["late_interaction", "rank_fusion"]))
def test_scores_do_not_depend_on_the_order_of_slots(slots: list[tuple[str, float]], compare: str) -> None:
    there, back = (score_all(GALLERY, seen(*some, compare=compare)) for some in (slots, slots[::-1]))
    np.testing.assert_allclose(there.total_n, back.total_n, atol=1e-5)


def test_the_picture_that_has_all_that_was_said_comes_first() -> None:
    rows = score_all(GALLERY, seen(("blue", 1.0), ("green", 1.0))).best(2)
    assert {LOOKS[row] for row in rows} == {("green", "blue"), ("blue", "green")}


def test_copies_of_a_picture_tie_and_come_in_the_order_of_ids() -> None:
    gallery = in_colour([*LOOKS[:3], *LOOKS[:3]])
    for compare in ("late_interaction", "rank_fusion"):
        total_n = score_all(gallery, seen(("green", 1.0), compare=compare)).total_n
        assert score_all(gallery, seen(("green", 1.0), compare=compare)).best(2).tolist() == [1, 4]
        np.testing.assert_allclose(total_n[:3], total_n[3:], atol=1e-6)


def test_a_slot_without_weight_changes_nothing_and_slots_without_any_find_nothing() -> None:
    sure, unsure = seen(("blue", 1.0)), seen(("blue", 1.0), ("red", 0.0))
    np.testing.assert_allclose(score_all(GALLERY, sure).total_n, score_all(GALLERY, unsure).total_n, atol=1e-6)
    assert not score_all(GALLERY, seen(("blue", 0.0))).total_n.any()
    assert not share_parts(GALLERY, seen(("blue", 0.0)), ROWS).any()


def test_before_anything_is_said_no_picture_is_projected() -> None:
    looks = TinyRaw(LOOKS)
    gallery = Gallery(tiny_snapshot(LOOKS), ENCODER, looks)
    nothing = Query((), COLOUR, "late_interaction")
    assert not score_all(gallery, nothing).total_n.any()
    assert share_parts(gallery, nothing, ROWS[:3]).shape == (3, 0)
    assert compute_attention(gallery, nothing, ROWS[:3]).shape == (3, 0, 36)
    assert explain_hits(gallery, nothing, ROWS[:2]) == [{"turns": []}] * 2
    assert looks.reads == []


def test_a_picture_without_regions_is_like_nothing_and_looked_at_evenly() -> None:
    gallery = in_colour(without=["p005"])
    query = seen(("green", 1.0))
    assert score_all(gallery, query).total_n[5] == 0
    np.testing.assert_allclose(compute_attention(gallery, query, np.array([5])), 1 / 36, atol=1e-6)


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("compare", ["late_interaction", "rank_fusion"])
def test_a_collection_of_no_picture_or_one(count: int, compare: str) -> None:
    gallery, query = in_colour(LOOKS[:count]), seen(("red", 1.0), ("blue", 1.0), compare=compare)
    scores = score_all(gallery, query)
    rows = scores.best(10)
    assert rows.tolist() == list(range(count))
    assert share_parts(gallery, query, rows, scores).shape == (count, 2)
    assert compute_attention(gallery, query, rows).shape == (count, 2, 36)
    mean, deviation = scores.total_n.sum() / max(count, 1), 0.0  # of one picture, or none
    assert all(outlier_chance(float(total), float(mean), deviation) < 0.25 for total in scores.total_n)


def test_other_raw_vectors_than_a_system_was_trained_on_are_refused_in_one_line() -> None:
    other = replace(COLOUR, raw_version="colours-raw-2")
    query = asked((X, 1.0), space=other)
    with pytest.raises(EncoderMismatch, match="colour was trained on colours-raw-2, and these pictures have") as said:
        score_all(GALLERY, query)
    assert "\n" not in str(said.value)
    with pytest.raises(LibraryError, match="colour reads raw vectors"):
        score_all(Gallery(GALLERY.snapshot, ENCODER), seen(("red", 1.0)))


def test_words_cannot_be_compared_with_regions() -> None:
    words = Query((Part("words", 1, "red", 1.0, X),), HAND, "late_interaction")
    with pytest.raises(ValueError, match="compares vectors of kind 'regions', and this query has words"):
        score_all(by_hand(), words)


def test_excluded_pictures_and_filters_hold_for_regions_too() -> None:
    scores = score_all(GALLERY, replace(seen(("red", 1.0)), excluded=frozenset({"p000", "gone"})))
    assert 0 not in scores.best(99).tolist()
    allowed_n = np.array([top == "blue" for top, _ in LOOKS])
    assert [LOOKS[row][0] for row in scores.best(4, allowed_n)] == ["blue"] * 4


def test_the_block_is_made_once_and_found_by_the_next_process(tmp_path: Path) -> None:
    totals, reads = [], []
    for _ in range(2):
        raw = TinyRaw(LOOKS)
        snapshot = tiny_snapshot(LOOKS)
        snapshot.folder = tmp_path
        gallery = Gallery(snapshot, ENCODER, raw)
        totals += [score_all(gallery, seen(("red", 1.0))).total_n for _ in range(2)]
        reads.append(sum(raw.reads))
    assert reads == [len(LOOKS), 0]
    assert all((total_n == totals[0]).all() for total_n in totals)


def test_a_large_block_keeps_pictures_in_their_order() -> None:
    gallery, query = in_colour([LOOKS[at * 7 % 16] for at in range(150)]), seen(("red", 1.0), ("green", 0.5))
    rows = np.arange(150) * 7 % 16
    np.testing.assert_allclose(score_all(gallery, query).total_n, score_all(GALLERY, query).total_n[rows], atol=1e-5)
    np.testing.assert_allclose(
        share_parts(gallery, query, np.arange(150)), share_parts(GALLERY, query, rows), atol=1e-5
    )


@pytest.mark.parametrize("compare", ["late_interaction", "rank_fusion"])
def test_a_turn_costs_one_pass_over_all_pictures(monkeypatch: pytest.MonkeyPatch, compare: str) -> None:
    passes: list[int] = []

    def counted(kernel: Callable[..., Array]) -> Callable[..., Array]:
        def counting(block: RegionBlock, *args: Any, **kwargs: Any) -> Array:
            passes.append(len(block))
            return kernel(block, *args, **kwargs)

        return counting

    for name in ("late_interaction", "query_vector_scores"):
        monkeypatch.setattr(score_module, name, counted(getattr(score_module, name)))
    query = seen(("red", 1.0), ("blue", 1.0), compare=compare)
    scores = score_all(GALLERY, query)
    explain_hits(GALLERY, query, scores.best(3), scores)
    assert passes == ([len(LOOKS), 3] if compare == "late_interaction" else [len(LOOKS)])


# -- many pictures


@pytest.fixture(scope="module")
def many() -> Gallery:
    names = list(COLOURS)
    return in_colour([(names[at % 8], names[at * 3 // 8 % 8]) for at in range(600)])


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_module, "MAX_EXACT", 100)


@pytest.mark.usefixtures("few_are_many")
def test_beyond_many_pictures_the_best_are_scored_in_full_and_the_rest_nearly(many: Gallery) -> None:
    query = seen(("red", 1.0), ("purple", 0.5))
    near, full = score_all(many, query), score_all(many, query, exact=True)
    best = full.best(10)
    assert near.best(10).tolist() == best.tolist()
    np.testing.assert_allclose(near.total_n[best], full.total_n[best], atol=1e-6)
    np.testing.assert_allclose(share_parts(many, query, best).sum(axis=1), near.total_n[best], atol=1e-5)
    assert 1e-5 < np.abs(near.total_n - full.total_n).max() < 0.05


@pytest.mark.usefixtures("few_are_many")
def test_a_filter_that_leaves_nothing_finds_nothing(many: Gallery) -> None:
    allowed_n = np.zeros(600, dtype=bool)
    assert score_all(many, seen(("red", 1.0)), allowed_n=allowed_n).best(10, allowed_n).tolist() == []


@pytest.mark.usefixtures("few_are_many")
def test_a_filter_leaves_exact_scores_and_chances_as_they_were(many: Gallery) -> None:
    query = replace(seen(("red", 1.0)), excluded=frozenset({"p590"}))
    allowed_n = np.arange(600) >= 580
    near, full = score_all(many, query, allowed_n=allowed_n), score_all(many, query, exact=True)
    rows = near.best(99, allowed_n)
    assert rows.tolist() == full.best(99, allowed_n).tolist()
    assert len(rows) == 19
    np.testing.assert_allclose(near.total_n[rows], full.total_n[rows], atol=1e-6)
    top = float(full.total_n[rows[0]])
    one, other = (outlier_chance(top, float(n.mean()), float(n.std())) for n in (near.total_n, full.total_n))
    assert one == pytest.approx(other, abs=0.02)


# -- boxes


def test_boxes_are_shares_of_the_picture_and_the_whole_comes_last() -> None:
    boxes_r4 = find_boxes(GALLERY, 3)
    np.testing.assert_allclose(boxes_r4[[0, 35]], [[0, 0, 1 / 6, 1 / 6], [5 / 6, 5 / 6, 1, 1]], atol=1e-6)
    with_whole = find_boxes(GALLERY, 3, replace(COLOUR, regions=37, has_whole=True))
    np.testing.assert_array_equal(with_whole, [*boxes_r4, [0, 0, 1, 1]])


def test_boxes_of_a_detector_are_its_own_and_unknown_where_it_does_not_say() -> None:
    detected = Detected(BY_HAND.astype(np.float16))
    assert isinstance(detected, Boxed)
    assert find_boxes(by_hand(detected), 0, HAND).tolist() == [[0, 0, 0.5, 1], [0.5, 0, 1, 1]]
    assert find_boxes(by_hand(), 0, HAND).shape == (0, 4)
    assert find_boxes(by_hand(), 0, replace(HAND, regions=3, has_whole=True)).shape == (0, 4)


def test_boxes_of_a_picture_of_unknown_size_are_those_of_a_square() -> None:
    table = GALLERY.snapshot._table
    zeros = table.set_column(table.schema.get_field_index("width"), "width", [[0] * len(LOOKS)])
    sizeless = Snapshot(GALLERY.snapshot.matrix_nd, zeros, {}, space="", generation="", folder=None)
    np.testing.assert_allclose(find_boxes(Gallery(sizeless, ENCODER), 0), find_boxes(GALLERY, 0), atol=1e-6)


def test_why_says_what_every_slot_looks_at() -> None:
    query = seen(("green", 1.0), ("blue", 1.0))
    row = LOOKS.index(("green", "blue"))
    [why] = explain_hits(GALLERY, query, np.array([row]))
    green, blue = why["regions"]["slots"]
    assert len(why["regions"]["boxes"]) == len(green["weights"]) == 36
    assert sum(green["weights"][:18]) > 0.9  # the upper half
    assert sum(blue["weights"][18:]) > 0.9
    assert green["adds"] + blue["adds"] == pytest.approx(score_all(GALLERY, query).total_n[row], abs=2e-4)
