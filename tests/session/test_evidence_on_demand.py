"""Answers about a collection with an index, computed of the pictures that matter, beside those computed of all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from tests.search.shards_here import ShardsHere
from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Answer, Question, Reject, Say, Turn
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation.pictures import Pictures
from viewfinder.query import ComputedRatios, LikelihoodRatios, Ratios
from viewfinder.questioners.photographs import facets
from viewfinder.retrievers import Composer
from viewfinder.search import indexed_pictures, turn_scores
from viewfinder.search.approximate import build_index
from viewfinder.search.gallery import Gallery
from viewfinder.search.index_files import queries_like
from viewfinder.search.indexed_pictures import IndexedPictures
from viewfinder.search.near_scores import NearScores
from viewfinder.session.evidence import weigh_answer
from viewfinder.session.facts import weigh_fact
from viewfinder.session.session import Session

pytest.importorskip("faiss", reason="the extra `scale` is not installed")

COUNT = 6000
SEEN = ("a dog runs in the snow", "a man climbs a rock", "children play on a beach", "a woman rides a horse on grass",
        "two men in a street at night", "a black cat sleeps indoors", "a red car", "mountains and a lake")  # fmt: skip


@cache
def encoder() -> StarterEncoder:
    return StarterEncoder()


@cache
def vectors() -> np.ndarray:
    """Pictures between two sentences, as the starter would see them."""
    drawn, said_md = np.random.default_rng(0), encoder().words(SEEN)
    first, second = drawn.integers(len(SEEN), size=(2, COUNT))
    vectors_nd = 0.4 * (said_md[first] + said_md[second]) + drawn.standard_normal((COUNT, said_md.shape[1])) / 14
    return np.asarray(vectors_nd / np.linalg.norm(vectors_nd, axis=1, keepdims=True), np.float32)


@cache
def gallery(*, indexed: bool) -> Gallery:
    made = Pictures(tuple(f"{at:05}" for at in range(COUNT)), vectors(), encoder()).gallery()
    found = Gallery(made.snapshot, made.encoder, match_words=True)
    if indexed:
        index = build_index(made.snapshot.ids, vectors(), found.measures.background_n, queries_like(found, count=240))
        found.indexed = IndexedPictures(index, made.snapshot.ids)
    return found


def ask(name: str) -> Question:
    facet = next(facet for facet in facets() if facet.name == name)
    return Question(facet.question, (*facet.labels[:4], "something else", "don't know"), attribute=facet.name)


def answered(name: str, at: int) -> Answer:
    question = ask(name)
    return Answer(question, question.choices[at])


TALKS: list[Sequence[Turn]] = [
    [Say("a dog"), answered("place", 1)],
    [Say("somebody outside"), answered("who", 0), answered("indoors", 0), answered("time of day", 0)],
    [Say("an animal"), answered("thing", 1)],
    [Say("a street"), Reject(text="people")],
]


@pytest.fixture(autouse=True)
def few_is_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of this collection so many candidates are computed as of a large one."""
    monkeypatch.setattr(indexed_pictures, "SCANNED", 100)
    for name, count in (("CANDIDATES", 300), ("FITTED_CANDIDATES", 600), ("MAX_COMPUTED", 500)):
        monkeypatch.setattr(turn_scores, name, count)


def search(over: Gallery, talk: Sequence[Turn]) -> Session:
    session = Session(over, Composer(), None, memo=ByteCache())
    for turn in talk:
        session.take(turn)
    return session


@pytest.mark.parametrize("talk", TALKS)
def test_a_talk_finds_the_same_as_where_all_pictures_are_weighed(talk: Sequence[Turn]) -> None:
    near, scan = (search(gallery(indexed=indexed), talk).ranking() for indexed in (True, False))
    assert isinstance(near.scores, NearScores)
    assert any(isinstance(known.ratios(), ComputedRatios) for known in near.query.evidence)
    found, expected = near.hits(10), scan.hits(10)
    assert len({hit.id for hit in found} & {hit.id for hit in expected}) >= 9
    assert near.verdict == scan.verdict
    # What is said of each picture is exact; only what it is said of on average is estimated, alike for all of them.
    scores = {hit.id: hit.score for hit in expected}
    shifts = [hit.score - scores[hit.id] for hit in found if hit.id in scores]
    assert max(shifts) - min(shifts) < 5e-4
    assert max(map(abs, shifts)) < 0.01


def sharded(*without: int) -> Gallery:
    """The pictures in three shards with an index each, but for those `without`."""
    known = gallery(indexed=False)
    found, here = (Gallery(known.snapshot, known.encoder, match_words=True) for _ in range(2))
    shards = ShardsHere(here, 3, may_index=True, is_indexed=True)
    background_n = known.measures.background_n
    for number, part in enumerate(shards.parts):
        if number not in without:
            rows_p, ids = np.arange(part.start, part.stop), known.snapshot.ids[part]
            asked = queries_like(known, rows_p, 120)
            made = build_index(ids, vectors()[part], background_n[part], asked)
            shards.indexes = {**shards.indexes, number: IndexedPictures(made, ids)}
    found.shards = shards
    return found


@pytest.mark.parametrize("without", [(), (1,)])
def test_shards_name_the_pictures_of_which_answers_are_computed(without: tuple[int, ...]) -> None:
    over = sharded(*without)
    for talk in TALKS:
        near, one = search(over, talk).ranking(), search(gallery(indexed=True), talk).ranking()
        assert any(isinstance(known.ratios(), ComputedRatios) for known in near.query.evidence)
        found, expected = near.hits(10), one.hits(10)
        assert len({hit.id for hit in found} & {hit.id for hit in expected}) >= 9
        assert near.verdict == one.verdict
        scores = {hit.id: hit.score for hit in expected}
        assert [hit.score for hit in found if hit.id in scores] == pytest.approx(
            [scores[hit.id] for hit in found if hit.id in scores], abs=1e-5
        )


def test_shards_are_asked_again_for_what_lies_further_down(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("CANDIDATES", 100), ("FITTED_CANDIDATES", 200), ("MAX_COMPUTED", 150)):
        monkeypatch.setattr(turn_scores, name, count)
    near, scan = search(sharded(), TALKS[0]).ranking(), search(gallery(indexed=False), TALKS[0]).ranking()
    found, expected = near.best(250).tolist(), scan.best(250).tolist()
    assert isinstance(near.scores, NearScores)
    assert len(set(found)) == 250 and len({*found} & {*expected}) >= 200


@pytest.mark.parametrize("talk", TALKS)
def test_how_scores_lie_is_estimated_within_its_error(talk: Sequence[Turn]) -> None:
    near, scan = (search(gallery(indexed=indexed), talk).ranking().scores.spread for indexed in (True, False))
    assert near.deviation == pytest.approx(scan.deviation, rel=0.06)
    assert near.mean == pytest.approx(scan.mean, abs=0.1 * scan.deviation)


def test_further_down_than_the_candidates_reach_more_are_searched_for_and_then_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, count in (("CANDIDATES", 100), ("FITTED_CANDIDATES", 200), ("MAX_COMPUTED", 150), ("MAX_DEEP", 300)):
        monkeypatch.setattr(turn_scores, name, count)
    near, scan = (search(gallery(indexed=indexed), TALKS[0]).ranking() for indexed in (True, False))
    found, expected = near.best(250).tolist(), scan.best(250).tolist()
    assert isinstance(near.scores, NearScores)
    assert len(set(found)) == 250 and len({*found} & {*expected}) >= 200
    assert near.best(COUNT).tolist()[:5] == expected[:5] and not isinstance(near.scores, NearScores)


def test_the_rank_of_a_picture_after_answers_is_all_but_that_of_a_scan() -> None:
    near, scan = (search(gallery(indexed=indexed), TALKS[1]) for indexed in (True, False))
    for picture in ("00000", "01234", "05999"):
        assert near.rank_of(picture) == pytest.approx(scan.rank_of(picture), abs=COUNT / 500)


def check_alike(found: Ratios | None, expected: Ratios | None) -> None:
    """Raises AssertionError where ratios of some rows are not those of all but for a number that all share."""
    assert isinstance(found, ComputedRatios) and isinstance(expected, LikelihoodRatios)
    rows_k = np.array([5, 17, 900, 5999])
    all_n = np.zeros(COUNT, np.float32)
    found.add_to(all_n, 1.0)
    np.testing.assert_allclose(found.at(rows_k), all_n[rows_k], atol=1e-5)
    shift_n = all_n - expected.nats_k
    assert np.ptp(shift_n) < 0.02 and abs(shift_n[0]) < 0.1
    assert all_n.max() <= found.highest


def test_ratios_of_some_pictures_are_those_of_all_of_them() -> None:
    near, scan = gallery(indexed=True), gallery(indexed=False)
    for name in ("place", "who", "thing"):  # one choice, one choice, several that may be true together
        check_alike(weigh_answer(near, answered(name, 0)), weigh_answer(scan, answered(name, 0)))


def test_that_something_is_absent_is_counted_on_a_sample() -> None:
    near, scan = (search(gallery(indexed=indexed), TALKS[3]) for indexed in (True, False))
    counts = []
    for session in (near, scan):
        hits = session.say("a beach without dogs")
        assert hits.reading is not None
        [fact] = hits.reading.facts
        counts.append(fact.pictures)
    assert counts[0] == pytest.approx(counts[1], rel=0.05)
    [told] = [known for known in near.ranking().query.evidence if "dogs" in known.label]
    assert isinstance(told.ratios(), ComputedRatios)


def test_a_fact_that_no_picture_tells_is_none() -> None:
    from viewfinder.wording.fact_phrases import FactPhrase

    assert weigh_fact(FactPhrase("person", "Ann", 0, 3, values=("Ann",)), gallery(indexed=True)) is None
