"""Turns over shards of which each has an index, beside the same turns over a scan and over one index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.search.shards_here import ShardsHere
from tests.search.talks import TALKS, session
from viewfinder.conversation import Reject, Say, Turn
from viewfinder.encoders.base import Calibration, Vocabulary
from viewfinder.evaluation.pictures import Pictures
from viewfinder.search import indexed_pictures, scores, turn_scores
from viewfinder.search.approximate import build_index
from viewfinder.search.gallery import Gallery
from viewfinder.search.index_files import queries_like
from viewfinder.search.indexed_pictures import IndexedPictures
from viewfinder.search.near_scores import NearScores
from viewfinder.testing import COLOURS, ColourEncoder

pytest.importorskip("faiss", reason="the extra `scale` is not installed")

NAMES = list(COLOURS)
COUNT, SHARDS = 4000, 3
BY_SCORE = (0.0,) * 8
KNOWN = Calibration((*BY_SCORE, 20.0, -12.0), (*BY_SCORE, 20.0, -12.0), (0.5, 0.5), np.zeros(49, np.float32))
PLAIN = ColourEncoder()
ENCODER = ColourEncoder(calibration=KNOWN, vocabulary=Vocabulary(tuple(NAMES), PLAIN.words(NAMES)))


def drawn() -> Gallery:
    """Two colours each, in a light of its own."""
    rng = np.random.default_rng(0)
    tops, bottoms = rng.integers(len(NAMES), size=(2, COUNT))
    looks = [f"{NAMES[top]} over {NAMES[bottom]}" for top, bottom in zip(tops, bottoms, strict=True)]
    vectors_nd = ENCODER.words(looks) + rng.normal(scale=0.1, size=(COUNT, 48))
    vectors_nd /= np.linalg.norm(vectors_nd, axis=1, keepdims=True)
    keys = tuple(f"{at:05}" for at in range(COUNT))
    known = {key: {"top": (NAMES[top],)} for key, top in zip(keys, tops, strict=True)}
    return Pictures(keys, vectors_nd.astype(np.float32), ENCODER, attributes=known).gallery()


SCAN = drawn()


@cache
def index_of(start: int, stop: int, *, finds_all: bool) -> IndexedPictures:
    """The index of a part; one that finds all looks into every list."""
    part, rows_p = slice(start, stop), np.arange(start, stop)
    ids, matrix_nd = SCAN.snapshot.ids[part], SCAN.snapshot.matrix_nd[part]
    made = build_index(ids, matrix_nd, SCAN.measures.background_n[part], queries_like(SCAN, rows_p, 100))
    if finds_all:
        made.card = replace(made.card, probes=made.card.lists, probes_against=made.card.lists)
    return IndexedPictures(made, ids)


def sharded(*without: int, finds_all: bool = False, lost: int | None = None) -> Gallery:
    """A gallery whose shards have an index each, but for those `without`."""
    found = drawn()
    here = ShardsHere(drawn(), SHARDS, frozenset() if lost is None else frozenset({lost}))
    here.may_index, here.is_indexed = True, not without
    here.indexes = {
        number: index_of(part.start, part.stop, finds_all=finds_all)
        for number, part in enumerate(here.parts)
        if number not in without
    }  # fmt: skip
    found.shards = here
    return found


@pytest.fixture(autouse=True)
def few_is_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is scanned in full, and how many candidates there are, as small beside this collection as in a large one."""
    monkeypatch.setattr(indexed_pictures, "SCANNED", 50)
    monkeypatch.setattr(scores, "MAX_KEPT_PICTURES", 100)
    for name, count in (("CANDIDATES", 300), ("FITTED_CANDIDATES", 600), ("MAX_COMPUTED", 500)):
        monkeypatch.setattr(turn_scores, name, count)


@pytest.mark.parametrize(("talk", "where"), TALKS)
@pytest.mark.parametrize("without", [(), (1,), (0, 1, 2)])
def test_a_turn_finds_in_indexed_shards_what_a_scan_finds(
    talk: Sequence[Turn], where: Mapping[str, str] | None, without: tuple[int, ...]
) -> None:
    near, scan = session(sharded(*without), where), session(SCAN, where)
    for turn in talk:
        found, expected = near.take(turn), scan.take(turn)
    assert isinstance(near.ranking().scores, NearScores)
    ids, expected_ids = ([hit.id for hit in hits] for hits in (found, expected))
    assert len({*ids} & {*expected_ids}) >= (10 if len(without) == SHARDS else 8)
    assert (found.verdict, found.missing) == (expected.verdict, 0)
    assert near.ranking().total == scan.ranking().total
    scored = {hit.id: hit for hit in expected}
    for hit in found:
        if hit.id in scored:
            assert hit.score == pytest.approx(scored[hit.id].score, abs=2e-4)
            assert hit.match == scored[hit.id].match


@pytest.mark.parametrize(("talk", "where"), TALKS)
def test_where_every_list_is_looked_into_and_all_is_scored_the_order_is_that_of_a_scan(
    talk: Sequence[Turn], where: Mapping[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CANDIDATES", "FITTED_CANDIDATES", "MAX_COMPUTED"):
        monkeypatch.setattr(turn_scores, name, COUNT)
    near, scan = session(sharded(finds_all=True), where), session(SCAN, where)
    for turn in talk:
        near.take(turn)
        scan.take(turn)
    assert isinstance(near.ranking().scores, NearScores)
    found_k, expected_k = near.ranking().best(500), scan.ranking().best(500)
    np.testing.assert_allclose(
        near.ranking().scores.at(found_k), scan.ranking().scores.at(expected_k), atol=2e-6
    )  # fmt: skip
    at = [hit.id for hit in scan.ranking().hits(100)]
    assert [hit.id for hit in near.ranking().hits(100)] == at


@pytest.mark.parametrize("talk", [TALKS[0][0], TALKS[4][0], TALKS[5][0]])
def test_how_the_scores_of_all_lie_is_told_as_by_one_index(talk: Sequence[Turn]) -> None:
    alone = drawn()
    alone.indexed = index_of(0, COUNT, finds_all=False)
    near, one = session(sharded()), session(alone)
    for turn in talk:
        near.take(turn)
        one.take(turn)
    found, expected = near.ranking().scores.spread, one.ranking().scores.spread
    assert (found.mean, found.deviation) == pytest.approx((expected.mean, expected.deviation), abs=1e-6)


def test_what_was_excluded_is_not_found_and_its_places_are_filled() -> None:
    near = session(sharded(), n=100)
    shown = near.take(Say("red over blue"))
    after = near.take(Reject(tuple(hit.id for hit in shown)))
    assert len(after) == 100
    assert not {hit.id for hit in shown} & {hit.id for hit in after}


def test_rows_of_a_shard_that_is_lost_are_named_and_the_rest_is_found() -> None:
    near, scan = session(sharded(lost=1), n=5), session(SCAN, n=COUNT)
    found, [part] = near.say("red over blue"), [sharded().shards.parts[1]]  # type: ignore[union-attr]
    assert found.missing == part.stop - part.start
    gone = set(SCAN.snapshot.ids[part])
    expected = [hit.id for hit in scan.say("red over blue") if hit.id not in gone][:5]
    assert [hit.id for hit in found] == expected
