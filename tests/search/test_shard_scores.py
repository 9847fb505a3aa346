"""Turns over shards beside the same turns over a scan of all: the same pictures, order, scores, reasons, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.search.shards_here import ShardsHere
from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Answer, Keep, Like, Question, Reject, Say, Turn
from viewfinder.encoders.base import Calibration, Vocabulary
from viewfinder.evaluation.pictures import Pictures
from viewfinder.query import Query
from viewfinder.retrievers import Composer
from viewfinder.search.gallery import Gallery
from viewfinder.search.kernels import TOGETHER, row_products
from viewfinder.search.near_scores import NearScores
from viewfinder.search.shard_scores import (
    Addition,
    ShardQuestion,
    make_answer,
    merge_moments,
    split_rows,
    split_rows_again,
)
from viewfinder.session.session import Session
from viewfinder.store.snapshot import Snapshot
from viewfinder.testing import COLOURS, ColourEncoder

NAMES = list(COLOURS)
COUNT = 3000
BY_SCORE = (0.0,) * 8
KNOWN = Calibration((*BY_SCORE, 20.0, -12.0), (*BY_SCORE, 20.0, -12.0), (0.5, 0.5), np.zeros(49, np.float32))
PLAIN = ColourEncoder()
ENCODER = ColourEncoder(calibration=KNOWN, vocabulary=Vocabulary(tuple(NAMES), PLAIN.words(NAMES)))


def drawn(ordered: int | None = None) -> Snapshot:
    """Pictures of two colours each; some fifty of each kind, so most scores are those of fifty pictures."""
    tops, bottoms = np.random.default_rng(0).integers(len(NAMES), size=(2, COUNT))
    looks = [f"{NAMES[top]} over {NAMES[bottom]}" for top, bottom in zip(tops, bottoms, strict=True)]
    keys = tuple(f"p{at:04}" for at in range(COUNT))
    known = {key: {"top": (NAMES[top],)} for key, top in zip(keys, tops, strict=True)}
    found = Pictures(keys, ENCODER.words(looks).astype(np.float32), ENCODER, attributes=known).gallery().snapshot
    if ordered is None:
        return found
    # As a snapshot that grew: what was added later stands behind, whatever its id is.
    order = np.random.default_rng(1).permutation(COUNT)
    order[:ordered].sort()
    return Snapshot(
        np.ascontiguousarray(found.matrix_nd[order]), found._table.take(order), {},
        space=found.space, generation="grown", folder=None, ordered=ordered,
    )  # fmt: skip


def sharded(snapshot: Snapshot, count: int = 7, *lost: int) -> Gallery:
    made = Gallery(snapshot, ENCODER)
    made.shards = ShardsHere(Gallery(snapshot, ENCODER), count, frozenset(lost))
    return made


ORDERED = drawn()
SCAN = Gallery(ORDERED, ENCODER)


def session(over: Gallery, where: Mapping[str, str] | None = None, n: int = 10) -> Session:
    return Session(over, Composer(), None, n=n, where=where, memo=ByteCache())


WHICH_TOP = Question("Which top is it?", ("red", "blue", "green", "don't know"), attribute="top")
TALKS: list[tuple[Sequence[Turn], Mapping[str, str] | None]] = [
    ([Say("red over blue")], None),
    ([Say("green"), Say("green over white")], None),
    ([Say("red over blue"), Reject(("p0003", "p0004"), "without green")], None),
    ([Say("yellow"), Like("p0007")], None),
    ([Say("yellow"), Like("p0007", "green")], None),
    ([Say("white"), Keep("top", 1)], None),
    ([Say("white"), Answer(WHICH_TOP, "blue")], None),
    ([Say("red over blue")], {"top": "red"}),
    ([Say("red over blue"), Reject(("p0003",)), Like("p0008")], {"top": "red|blue|green|white"}),
]


@pytest.mark.parametrize(("talk", "where"), TALKS)
@pytest.mark.parametrize("count", [2, 7])
def test_shards_answer_as_one_machine_does_ties_included(
    talk: Sequence[Turn], where: Mapping[str, str] | None, count: int
) -> None:
    parted, scan = session(sharded(ORDERED, count), where, n=300), session(SCAN, where, n=300)
    for turn in talk:
        found, expected = parted.take(turn), scan.take(turn)
        assert list(found) == list(expected)  # rank, id, path, score, match
        assert [hit.why for hit in found] == [hit.why for hit in expected]
        assert (found.verdict, found.missing) == (expected.verdict, 0)
    one, other = parted.ranking(), scan.ranking()
    assert isinstance(one.scores, NearScores)
    assert one.total == other.total
    assert one.best(1000).tolist() == other.best(1000).tolist()
    assert one.scores.crowd_k.tolist() == other.scores.crowd_k.tolist()
    assert vars(one.scores.spread) == pytest.approx(vars(other.scores.spread), abs=1e-6)


@pytest.mark.parametrize("count", [1, 63, 64, 200, 1500])
def test_a_rows_products_do_not_depend_on_the_rows_beside_it(count: int) -> None:
    rng = np.random.default_rng(0)
    rows_nd, others_md = (rng.normal(size=(some, 48)).astype(np.float32) for some in (count, 9))
    whole_nm = row_products(rows_nd, others_md)
    np.testing.assert_allclose(whole_nm, rows_nd @ others_md.T, atol=1e-5)
    for part in split_rows(count, 5, TOGETHER):
        assert np.array_equal(row_products(rows_nd[part], others_md), whole_nm[part])


def test_pictures_that_came_later_tie_in_the_order_of_ids() -> None:
    grown = drawn(ordered=2000)
    parted, scan = session(sharded(grown, 5), n=400), session(Gallery(grown, ENCODER), n=400)
    assert list(parted.say("red over blue")) == list(scan.say("red over blue"))


def test_who_looks_further_down_than_shards_reach_gets_the_whole_order() -> None:
    parted, scan = session(sharded(ORDERED), n=COUNT), session(SCAN, n=COUNT)
    assert list(parted.say("red over blue")) == list(scan.say("red over blue"))
    assert parted.rank_bounds("p0017") == scan.rank_bounds("p0017")


def test_the_question_after_a_turn_is_the_same() -> None:
    asked = []
    for over in (sharded(ORDERED), SCAN):
        chat = Session(over, Composer(), "information_gain", memo=ByteCache())
        chat.say("something")
        asked.append(chat.question)
    assert asked[0] is not None
    assert asked[0] == asked[1]


def test_rows_that_could_not_be_searched_are_named_and_the_rest_is_exact() -> None:
    whole, parted = session(SCAN, n=400), session(sharded(ORDERED, 3, 1), n=400)
    expected, found = whole.say("red over blue"), parted.say("red over blue")
    [part] = [split_rows(COUNT, 3, 64)[1]]
    assert found.missing == part.stop - part.start
    gone = set(ORDERED.ids[part])
    ids = [hit.id for hit in whole.ranking().hits(COUNT) if hit.id not in gone][:400]
    assert [hit.id for hit in found] == ids
    assert parted.ranking().total == COUNT - found.missing
    assert found.to_json()["missing"] == found.missing
    assert "missing" not in expected.to_json()


def test_a_turn_of_which_nothing_could_be_searched_says_so() -> None:
    parted = session(sharded(ORDERED, 2, 0, 1))
    found = parted.say("red over blue")
    assert (len(found), found.missing, found.verdict) == (0, COUNT, "nothing")


def test_moments_of_parts_are_those_of_the_whole_far_from_zero_too() -> None:
    scores_n = np.random.default_rng(3).normal(1000.0, 0.1, 999).astype(np.float32)
    parts = [
        make_answer(scores_n[part], ShardQuestion(Query(()), part.start, part.stop), None)
        for part in split_rows(999, 4, 64)
    ]
    exact_n = scores_n.astype(np.float64)
    assert merge_moments(parts) == pytest.approx((exact_n.mean(), exact_n.std()), rel=1e-9)
    assert merge_moments([]) == (0.0, 0.0)


@pytest.mark.parametrize(("size", "count"), [(0, 3), (5, 3), (64, 1), (1000, 3), (1000, 40), (129, 2)])
def test_parts_are_all_rows_in_order_and_begin_at_whole_steps(size: int, count: int) -> None:
    parts = split_rows(size, count, 64)
    assert np.concatenate([np.zeros(0), *(np.arange(it.start, it.stop) for it in parts)]).tolist() == list(range(size))
    assert all(part.start % 64 == 0 for part in parts)
    assert len(parts) <= count


def test_parts_begin_where_they_did_until_the_last_has_taken_too_much() -> None:
    before = split_rows(640, 2, 64)
    assert before == [slice(0, 320), slice(320, 640)]
    # 200 more: all in the last part, which has 520 of 840, less than 1.5 times its half.
    assert split_rows_again(840, [0, 320], 2, 64) == [slice(0, 320), slice(320, 840)]
    # The first picture of a part stands elsewhere after a rebuild: the part begins at the step before it.
    assert split_rows_again(840, [5, 400], 2, 64) == [slice(0, 384), slice(384, 840)]
    # 700 more: the last part would have 1020 of 1340, more than 1.5 times 670.
    assert split_rows_again(1340, [0, 320], 2, 64) is None
    assert split_rows_again(640, [0, None], 2, 64) is None  # that picture has gone
    assert split_rows_again(640, [], 2, 64) is None


def test_what_is_added_to_few_rows_is_cut_and_spread_as_if_to_all() -> None:
    few = Addition(np.array([1.0, 2.0, 3.0], np.float32), np.array([5, 64, 70]))
    assert few.spread(100).nonzero()[0].tolist() == [5, 64, 70]
    for part in (slice(0, 64), slice(64, 70), slice(70, 100)):
        cut = few.cut(part)
        assert cut.spread(part.stop - part.start).tolist() == few.spread(100)[part].tolist()
        assert Addition(few.spread(100)).cut(part).spread(0).tolist() == few.spread(100)[part].tolist()


def test_an_answer_holds_no_more_than_a_merge_needs() -> None:
    scores_n = np.arange(5000, dtype=np.float32)
    question = ShardQuestion(Query(()), 100, 5100, allowed_b=np.packbits(scores_n < 3000))
    answer = make_answer(scores_n, question, None)
    assert len(answer.rows_c) == 1010
    assert replace(answer).rows_c[-1] == 5099
