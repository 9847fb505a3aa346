"""Turns over an approximate index beside the same turns over a scan: hits, scores, verdicts, how all scores lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from tests.search.talks import RED_OVER_BLUE, TALKS, WHICH_TOP, session
from viewfinder.conversation import Answer, Like, Reject, Say, Turn
from viewfinder.encoders.base import Calibration, Vocabulary
from viewfinder.encoders.scale import Scale
from viewfinder.evaluation.pictures import Pictures
from viewfinder.query import Part, Query
from viewfinder.search import indexed_pictures, judging, parts, samples, scores, turn_scores
from viewfinder.search.approximate import as_query, build_index
from viewfinder.search.gallery import Gallery
from viewfinder.search.index_files import queries_like
from viewfinder.search.indexed_pictures import IndexedPictures
from viewfinder.search.near_scores import NearScores
from viewfinder.search.parts import vocabulary_likeness, vocabulary_vectors
from viewfinder.search.turn_scores import fit_query
from viewfinder.search.verdicts import Judgement
from viewfinder.testing import COLOURS, ColourEncoder

pytest.importorskip("faiss", reason="the extra `scale` is not installed")

NAMES = list(COLOURS)
COUNT = 4000
BY_SCORE = (0.0,) * 8
KNOWN = Calibration((*BY_SCORE, 20.0, -12.0), (*BY_SCORE, 20.0, -12.0), (0.5, 0.5), np.zeros(49, np.float32))
PLAIN = ColourEncoder()
ENCODER = ColourEncoder(calibration=KNOWN, vocabulary=Vocabulary(tuple(NAMES), PLAIN.words(NAMES)))


def pictures() -> Pictures:
    """Two colours each, in a light of its own."""
    rng = np.random.default_rng(0)
    tops, bottoms = rng.integers(len(NAMES), size=(2, COUNT))
    looks = [f"{NAMES[top]} over {NAMES[bottom]}" for top, bottom in zip(tops, bottoms, strict=True)]
    vectors_nd = ENCODER.words(looks) + rng.normal(scale=0.1, size=(COUNT, 48))
    vectors_nd /= np.linalg.norm(vectors_nd, axis=1, keepdims=True)
    keys = tuple(f"{at:05}" for at in range(COUNT))
    known = {key: {"top": (NAMES[top],)} for key, top in zip(keys, tops, strict=True)}
    return Pictures(keys, vectors_nd.astype(np.float32), ENCODER, attributes=known)


SCAN = pictures().gallery()


def near_gallery() -> Gallery:
    found = pictures().gallery()
    asked = queries_like(found)
    assert asked.kind == "words"
    index = build_index(found.snapshot.ids, found.snapshot.matrix_nd, found.measures.background_n, asked)
    found.indexed = IndexedPictures(index, found.snapshot.ids)
    return found


NEAR = near_gallery()


@pytest.fixture(autouse=True)
def few_is_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is scanned in full, and how many candidates there are, as small beside this collection as in a large one."""
    monkeypatch.setattr(indexed_pictures, "SCANNED", 100)
    monkeypatch.setattr(scores, "MAX_KEPT_PICTURES", 100)
    monkeypatch.setattr(turn_scores, "CANDIDATES", 300)
    monkeypatch.setattr(turn_scores, "FITTED_CANDIDATES", 600)


@pytest.mark.parametrize(("talk", "where"), TALKS)
def test_a_turn_finds_the_same_with_an_index_as_by_a_scan(
    talk: Sequence[Turn], where: Mapping[str, str] | None
) -> None:
    near, scan = session(NEAR, where), session(SCAN, where)
    for turn in talk:
        found, expected = near.take(turn), scan.take(turn)
    assert isinstance(near.ranking().scores, NearScores)
    assert len({hit.id for hit in found} & {hit.id for hit in expected}) >= 8
    assert found.verdict == expected.verdict
    assert near.ranking().total == scan.ranking().total
    both = {hit.id: hit for hit in expected}
    for hit in found:
        if hit.id in both:
            assert hit.score == pytest.approx(both[hit.id].score, abs=2e-4)
            assert hit.match == both[hit.id].match
            assert hit.why["turns"] == both[hit.id].why["turns"]


def test_verdicts_of_many_sentences_are_those_of_a_scan() -> None:
    texts = [f"{one} over {other}" for one in NAMES for other in NAMES] + [f"a thing {at}" for at in range(40)]
    given = [(session(NEAR).search(Say(text)).verdict, session(SCAN).search(Say(text)).verdict) for text in texts]
    assert len({expected for _, expected in given}) > 1
    assert np.mean([found == expected for found, expected in given]) >= 0.99


TALKS_IN_WORDS: list[Sequence[Turn]] = [
    RED_OVER_BLUE,
    [Say("green"), Say("a white one")],
    [Say("yellow"), Say("over black"), Say("and some red"), Answer(WHICH_TOP, "red")],
    [Say("white"), Answer(WHICH_TOP, "blue")],
    [Say("a thing nobody knows"), Say("with another")],
]


@pytest.mark.parametrize("talk", TALKS_IN_WORDS)
def test_what_was_said_is_judged_by_the_best_of_the_query_as_by_all_pictures(
    talk: Sequence[Turn], monkeypatch: pytest.MonkeyPatch
) -> None:
    by_all = session(SCAN)
    expected = [(hits.verdict, [hit.match for hit in hits]) for hits in map(by_all.take, talk)]
    judged_by_all = by_all.ranking()._judgement
    assert isinstance(judged_by_all, Judgement)
    monkeypatch.setattr(judging, "MIN_ESTIMATED", COUNT)
    by_best = session(pictures().gallery())  # its memory is its own
    assert [(hits.verdict, [hit.match for hit in hits]) for hits in map(by_best.take, talk)] == expected
    judged_by_best = by_best.ranking()._judgement
    assert isinstance(judged_by_best, Judgement)
    little = 0.02 * by_all.ranking().scores.spread.deviation
    np.testing.assert_allclose(judged_by_best.features_f, judged_by_all.features_f, atol=little)
    assert judged_by_best.highest == pytest.approx(judged_by_all.highest, abs=little)


def test_rejected_pictures_are_not_found_and_their_places_are_filled() -> None:
    near = session(NEAR, n=200)
    shown = near.take(Say("red over blue"))
    after = near.take(Reject(tuple(hit.id for hit in shown)))
    assert len(after) == 200
    assert not {hit.id for hit in shown} & {hit.id for hit in after}


def test_who_looks_further_down_than_the_candidates_reach_gets_the_whole_order() -> None:
    near, scan = session(NEAR, n=COUNT), session(SCAN, n=COUNT)
    assert [hit.id for hit in near.say("red over blue")] == [hit.id for hit in scan.say("red over blue")]


def test_the_rank_of_a_picture_is_exact() -> None:
    near, scan = session(NEAR), session(SCAN)
    near.say("red over blue")
    scan.say("red over blue")
    for picture in ("00000", "01234", "03999"):
        assert near.rank_bounds(picture) == scan.rank_bounds(picture)


def test_pages_far_down_after_a_picture_with_a_change_are_those_of_a_scan() -> None:
    talk, _ = TALKS[4]
    near, scan = session(NEAR), session(SCAN)
    for turn in talk:
        near.take(turn)
        scan.take(turn)
    pages = [{hit.id for hit in which.ranking().hits(1000, start=500)} for which in (near, scan)]
    assert len(pages[0] & pages[1]) >= 950


@pytest.mark.parametrize("talk", [TALKS[0][0], TALKS[2][0], TALKS[4][0], TALKS[5][0]])
def test_how_the_scores_of_all_lie_is_told_within_its_error(talk: Sequence[Turn]) -> None:
    near, scan = session(NEAR), session(SCAN)
    for turn in talk:
        near.take(turn)
        scan.take(turn)
    found, expected = near.ranking().scores.spread, scan.ranking().scores.spread
    error = expected.deviation / np.sqrt(samples.SMALL_SAMPLE)
    assert found.mean == pytest.approx(expected.mean, abs=4 * error)
    assert found.deviation == pytest.approx(expected.deviation, rel=0.05)
    assert found.size == expected.size


def test_scores_of_pictures_that_are_no_candidates_are_computed() -> None:
    near, scan = session(NEAR), session(SCAN)
    near.say("red over blue")
    scan.say("red over blue")
    rows_r = np.array([0, 17, 3999])
    np.testing.assert_allclose(near.ranking().scores.at(rows_r), scan.ranking().scores.at(rows_r), atol=1e-6)


def test_a_fitted_query_puts_the_best_first_though_scores_are_no_inner_product() -> None:
    rng = np.random.default_rng(2)
    vectors_kw = rng.normal(size=(2000, 8)).astype(np.float32)
    vectors_kw /= np.linalg.norm(vectors_kw, axis=1, keepdims=True)
    scores_k = np.exp(4 * vectors_kw[:, 0] + vectors_kw[:, 1]).astype(np.float32)
    order_k = np.argsort(-(vectors_kw @ fit_query(vectors_kw, scores_k)))
    assert np.isin(np.argsort(-scores_k)[:20], order_k[:200]).mean() >= 0.9


def test_an_index_serves_a_snapshot_whose_rows_are_out_of_the_order_of_ids() -> None:
    assert NEAR.indexed is not None
    order = np.random.default_rng(1).permutation(COUNT)
    ids = [SCAN.snapshot.ids[row] for row in order]
    over = IndexedPictures(NEAR.indexed.index, ids)
    assert over.gone == 0 and not len(over.lacking_k)
    query_w = as_query(ENCODER.words(["red over blue"])[0], 1.0)
    found = [ids[row] for row in over.candidates([(query_w, 20)])]
    assert sorted(found) == [SCAN.snapshot.ids[row] for row in NEAR.indexed.candidates([(query_w, 20)])]


def test_of_equal_candidates_the_first_id_comes_first_wherever_its_row_stands() -> None:
    rows_c = np.array([3, 5, 8, 9])
    total_c = np.array([1.0, 2.0, 1.0, 1.0], np.float32)
    ids = ["z"] * 3 + ["d", "z", "e", "z", "z", "a", "c"]
    scores = NearScores(
        rows_c, total_c, np.zeros(0, np.int64), 10, lambda rows_r: np.zeros(len(rows_r), np.float32),
        lambda: (0.0, 1.0), ids=ids,
    )  # fmt: skip
    assert [ids[row] for row in scores.best(3)] == ["e", "a", "c"]


def test_rivals_are_measured_once_over_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    over, measured = near_gallery(), list[int]()

    def count(*given: Any) -> np.ndarray:
        measured.append(1)
        return parts.measure_rivals(*given)

    monkeypatch.setattr(turn_scores, "measure_rivals", count)
    for name in ("red", "green"):
        part = Part("contrast", 0, name, 1.0, PLAIN.words([name])[0], rivals_rd=PLAIN.words(NAMES))
        likeness_k = scores.measure_likeness(over, part, over.measures.samples.rows_k)
        moments = turn_scores.estimate_moments(over, Query((part,)))
        assert moments == pytest.approx((likeness_k.mean(), likeness_k.std()), rel=1e-5)
    assert len(measured) == 1


def test_an_answer_is_judged_by_the_scores_of_the_description_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = list[int]()

    def count(*given: Any) -> Any:
        searched.append(1)
        return turn_scores.score_turn(*given)

    monkeypatch.setattr(judging, "score_turn", count)
    talk = session(near_gallery())
    described = talk.take(Say("red over blue")).verdict
    answered = talk.take(Answer(WHICH_TOP, "red")).verdict
    assert searched == []
    scanned = session(SCAN)
    assert [described, answered] == [
        scanned.take(turn).verdict for turn in (Say("red over blue"), Answer(WHICH_TOP, "red"))
    ]


@pytest.mark.parametrize(("factor", "searches"), [(2.0, 0), (1.0, 1)])
def test_scores_on_another_scale_than_the_judged_one_are_not_kept(
    factor: float, searches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    over, texts, searched = near_gallery(), ["red over blue"], list[int]()
    over.measures.scale = Scale(words=2.0)

    def count(*given: Any) -> Any:
        searched.append(1)
        return turn_scores.score_turn(*given)

    monkeypatch.setattr(judging, "score_turn", count)
    said = Part("words", 0, texts[0], 1.0, over.encode_said(texts[0])[0], centred=True, factor=factor)
    liked = Part("picture", 1, "", 1.0, over.snapshot.matrix_nd[7])
    for parts_of_turn in ((said,), (said, liked)):  # what was said alone, and then with a picture
        query = Query(parts_of_turn)
        judging.judge_texts(over, texts, query, turn_scores.score_turn(over, query))
    assert len(searched) == searches


def test_a_change_that_stays_is_compared_with_all_pictures_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = list[int]()

    def count(vectors_nd: np.ndarray, *given: Any, **named: Any) -> np.ndarray:
        compared.append(len(vectors_nd))
        return parts.contrast_scores(vectors_nd, *given, **named)

    monkeypatch.setattr(scores, "contrast_scores", count)
    turns: list[Turn] = [Say("yellow"), Like("00007", "green"), Say("over blue")]
    keeps, forgets = pictures().gallery(), pictures().gallery()
    forgets.memory.limit(0)
    found = []
    for over, times in ((keeps, 1), (forgets, 2)):
        talk = session(over)
        found.append([[(hit.id, hit.score) for hit in talk.take(turn)] for turn in turns])
        assert compared.count(COUNT) == times
        compared.clear()
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_of_many_pictures_words_are_kept_in_half_precision_and_likeness_is_the_same(
    monkeypatch: pytest.MonkeyPatch, kind: type
) -> None:
    gallery = pictures().gallery()
    monkeypatch.setattr(scores, "MAX_KEPT_PICTURES", COUNT)
    monkeypatch.setattr(scores, "HALVED_FROM", COUNT + (kind is np.float32))
    assert ENCODER.vocabulary is not None
    vector_l = vocabulary_vectors(gallery.snapshot.matrix_nd[:1], ENCODER.vocabulary)[0]
    expected_n = vocabulary_likeness(gallery.snapshot.matrix_nd, ENCODER.vocabulary, vector_l)
    few_k = np.arange(7, COUNT, 100)
    for rows in (scores.EVERY_ROW, few_k):
        found_k = scores.measure_likeness_in_words(gallery, vector_l, rows)
        np.testing.assert_allclose(found_k, expected_n[rows], atol=1e-3 if kind is np.float16 else 2e-6)
    kept_nl = gallery.snapshot.derived(f"vocabulary-{ENCODER.version}", lambda snapshot: np.empty(0), by_row=True)
    assert kept_nl.dtype == np.dtype(kind)
    assert kept_nl.shape == (COUNT, len(NAMES))
