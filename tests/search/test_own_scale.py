"""A library's own scale: standings, features and curves by hand, and verdicts that marks never contradict."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Say
from viewfinder.encoders.starter.encoder import SAYINGS, read_sentences, sentence_encoder
from viewfinder.query import Query
from viewfinder.retrievers import Composer
from viewfinder.search import own_scale
from viewfinder.search.gallery import Gallery
from viewfinder.search.judging import judge_texts
from viewfinder.search.own_scale import (
    COMMON,
    FEATURES,
    Curves,
    OwnJudgement,
    OwnScale,
    measure_levels,
    measure_usual,
    own_features,
    read_curves,
    read_sayings,
)
from viewfinder.search.scores import score_all
from viewfinder.search.verdicts import MIN_LIKELY, MIN_MAYBE, agree_verdict, fall_along
from viewfinder.session.session import Session
from viewfinder.testing import COLOURS, ColourEncoder, tiny_snapshot

SAID_BD = np.eye(2, dtype=np.float32)
SEEN_ND = np.array([[0.6, 0.8], [1.0, 0.0]], np.float32)
BACKGROUND_N = np.array([0.3, 0.1], np.float32)
NAMES = list(COLOURS)
LOOKS = [(top, bottom) for top in NAMES for bottom in NAMES]


def scale() -> OwnScale:
    return OwnScale.of(SEEN_ND, BACKGROUND_N, SAID_BD)


def test_the_level_of_a_picture_is_mean_and_deviation_of_its_likeness_to_the_sayings() -> None:
    # 0.6 and 0.8: mean 0.7, each 0.1 from it; 1 and 0: mean 0.5, each 0.5 from it.
    np.testing.assert_allclose(measure_levels(SEEN_ND, SAID_BD), [[0.7, 0.1], [0.5, 0.5]], atol=1e-6)


def test_the_standing_of_a_score_is_in_deviations_of_the_very_picture() -> None:
    # A score of 0.6 over a background of 0.3 is a likeness of 0.9: (0.9 - 0.7) / 0.1 = 2. Then (1.0 - 0.5) / 0.5 = 1.
    np.testing.assert_allclose(scale().stand(np.array([0.6, 0.9]), np.array([0, 1])), [2.0, 1.0], atol=1e-5)


def test_pictures_of_another_kind_change_no_standing() -> None:
    elsewhere_nd = np.tile(np.array([[0.0, -5.0]], np.float32), (50, 1))
    mixed = OwnScale.of(
        np.concatenate([SEEN_ND, elsewhere_nd]), np.concatenate([BACKGROUND_N, np.zeros(50, np.float32)]), SAID_BD
    )
    two, scores_k = np.array([0, 1]), np.array([0.6, 0.9])
    np.testing.assert_allclose(mixed.stand(scores_k, two), scale().stand(scores_k, two), atol=1e-6)


def test_a_picture_that_scores_the_same_for_everything_has_a_finite_standing() -> None:
    flat = OwnScale.of(np.zeros((1, 2), np.float32), np.zeros(1, np.float32), SAID_BD)
    assert flat.stand(np.array([0.002]), np.array([0])).tolist() == pytest.approx([2.0])


def test_the_usual_standing_is_the_median_over_the_sayings(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of the first saying the pictures stand at (0.6 - 0.7) / 0.1 = -1 and (1 - 0.5) / 0.5 = 1, of the second at 1 and
    # -1. Both are among the ten best: means of 0. With one best, these are by their scores 0.3 and 0.9, then 0.5 and
    # -0.1: standings of 1 and 1.
    assert scale().usual == pytest.approx(0.0, abs=1e-5)
    monkeypatch.setattr(own_scale, "CROWD", 1)
    assert scale().usual == pytest.approx(1.0, abs=1e-5)
    monkeypatch.setattr(own_scale, "AT_ONCE", 1)
    assert scale().usual == pytest.approx(1.0, abs=1e-5)


def test_the_usual_standing_of_many_pictures_is_measured_in_parts_and_with_fewer_sayings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = np.random.default_rng(0)
    seen_nd, said_bd = (drawn.standard_normal((count, 8)).astype(np.float32) for count in (500, 200))
    background_n = drawn.standard_normal(500).astype(np.float32)
    levels_n2 = measure_levels(seen_nd, said_bd)
    score_nb = seen_nd @ said_bd.T - background_n[:, None]
    standing_nb = (seen_nd @ said_bd.T - levels_n2[:, :1]) / levels_n2[:, 1:]
    best_kb = np.argsort(-score_nb, axis=0)[:10]
    by_hand_b = np.take_along_axis(standing_nb, best_kb, axis=0).mean(axis=0)
    monkeypatch.setattr(own_scale, "AT_ONCE", 64)
    assert measure_usual(seen_nd, background_n, levels_n2, said_bd) == pytest.approx(np.median(by_hand_b), abs=1e-5)
    monkeypatch.setattr(own_scale, "MAX_SCORES", 50_000)  # half of 500 x 200: every second saying
    fewer = measure_usual(seen_nd, background_n, levels_n2, said_bd)
    assert fewer == pytest.approx(np.median(by_hand_b[::2]), abs=1e-5)


def test_what_is_usual_among_very_many_is_estimated_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = np.random.default_rng(2)
    seen_nd, said_bd = (drawn.standard_normal((count, 32)).astype(np.float32) for count in (20_000, 100))
    background_n = np.zeros(20_000, np.float32)
    levels_n2 = measure_levels(seen_nd, said_bd)
    whole = measure_usual(seen_nd, background_n, levels_n2, said_bd)
    few = measure_usual(seen_nd[:2000], background_n[:2000], levels_n2[:2000], said_bd)
    monkeypatch.setattr(own_scale, "MAX_SAMPLED", 2000)
    estimated = measure_usual(seen_nd, background_n, levels_n2, said_bd)
    assert few < whole - 0.4
    assert estimated == pytest.approx(whole, abs=0.1)


def test_of_no_pictures_nothing_is_usual() -> None:
    none_nd = np.zeros((0, 2), np.float32)
    assert measure_usual(none_nd, np.zeros(0, np.float32), measure_levels(none_nd, SAID_BD), SAID_BD) == 0.0


def test_the_features_by_hand() -> None:
    said_md = np.array([[1.0, 0.0], [0.0, 1.0]])
    features_f = own_features(scale(), np.array([3.0, 1.0]), said_md, COMMON - 0.5)
    # Standings: mean 2, best 3. Nothing is usual. Both sayings are as near to (0.5, 0.5) as 0.5. Its length is
    # sqrt(0.5); two turns; words half a power of ten rarer than common ones.
    assert dict(zip(FEATURES, features_f.tolist(), strict=True)) == pytest.approx(
        {
            "crowd": 2.0, "best": 3.0, "usual": 0.0, "near": 0.5, "generic": 0.5, "length": math.sqrt(0.5),
            "turns": 2, "rare": 0.5,
        }, abs=1e-6,
    )  # fmt: skip
    assert own_features(scale(), np.ones(2), said_md, -1.0)[-1] == 0.0
    assert own_features(scale(), np.ones(2), said_md, None)[-1] == 0.0


def test_curves_are_the_logistic_of_features_standing_and_place() -> None:
    # Here: 2 x crowd - 3 = 1. Hits: 1 x crowd + 2 x standing - 1 x log place - 6.
    curves = Curves((2.0, *(0.0,) * 7, -3.0), (1.0, *(0.0,) * 7, 2.0, -1.0, -6.0), (0.1, 0.9))
    features_f = np.array([2.0, *(0.0,) * 7])
    judged = OwnJudgement(curves, scale(), features_f, False, lambda rows_k: np.array([0.6, 0.9])[rows_k])
    assert judged.chance == pytest.approx(1 / (1 + math.exp(-1)))
    # Standings of 2 and 1: 2 + 4 - 0 - 6 = 0, and 2 + 2 - log 2 - 6.
    assert judged.matches([0, 1]) == pytest.approx([0.5, 1 / (1 + math.exp(2 + math.log(2)))], abs=1e-5)
    assert judged.verdict == "found"
    spoken = OwnJudgement(curves, scale(), features_f, True, judged.scores_at)
    assert spoken.verdict == "nothing"  # sentences have a limit of 0.9 here
    written = OwnJudgement(curves, scale(), features_f, False, judged.scores_at, np.array([0.0, 50.0], np.float32))
    assert written.matches([0, 1])[1] == pytest.approx(1.0)
    assert written.chance > 1 - 1e-6


@pytest.mark.parametrize("verdict", ["found", "unsure", "nothing"])
def test_a_verdict_never_contradicts_the_first_mark(verdict: str) -> None:
    assert agree_verdict(verdict, MIN_LIKELY) == "found"  # type: ignore[arg-type]
    assert agree_verdict(verdict, MIN_MAYBE) == ("found" if verdict == "found" else "unsure")  # type: ignore[arg-type]
    unlikely = agree_verdict(verdict, MIN_MAYBE - 1e-6)  # type: ignore[arg-type]
    assert unlikely == ("nothing" if verdict == "nothing" else "unsure")


def test_chances_never_rise_down_the_list() -> None:
    drawn = np.random.default_rng(1).random(200).tolist()
    fallen = fall_along(drawn)
    assert all(later <= earlier for earlier, later in pairwise(fallen))
    assert fallen[0] == drawn[0]
    assert all(after <= before for before, after in zip(drawn, fallen, strict=True))


# -- live searches


def live(encoder: ColourEncoder | None = None) -> Session:
    encoder = encoder or ColourEncoder()
    return Session(Gallery(tiny_snapshot(LOOKS, encoder=encoder), encoder), Composer(), None, memo=ByteCache())


def test_an_encoder_without_a_calibration_is_judged_on_the_librarys_own_scale() -> None:
    gallery = Gallery(tiny_snapshot(LOOKS), ColourEncoder())
    judged = judge_texts(gallery, ("red",), Query(()), score_all(gallery, Query(())))
    assert isinstance(judged, OwnJudgement)
    assert judged.features_f[FEATURES.index("rare")] == 0.0


@pytest.mark.parametrize("text", [*NAMES, "red over blue", "a submarine", "white over white, or black", "x"])
def test_header_and_marks_agree_on_every_page(text: str) -> None:
    session = live()
    hits = session.take(Say(text))
    ranking = session.ranking()
    order = {"likely": 2, "maybe": 1, "unlikely": 0}
    pages = [hit for start in range(0, 60, 20) for hit in ranking.hits(20, start)]
    assert [hit.match for hit in pages[: len(hits)]] == [hit.match for hit in hits]
    marks = [order[hit.match] for hit in pages]
    assert marks == sorted(marks, reverse=True)
    if hits.verdict == "found":
        assert marks[0] > 0
    if hits.verdict == "nothing":
        assert marks[0] == 0
    if marks[0] == 2:
        assert hits.verdict == "found"


def test_the_scale_is_kept_with_the_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = ColourEncoder()
    snapshot = tiny_snapshot(LOOKS, encoder=encoder)
    first = Gallery(snapshot, encoder).measures.own_scale

    def never(*_: object) -> None:
        raise AssertionError("computed twice")

    monkeypatch.setattr("viewfinder.search.measures.measure_levels", never)
    monkeypatch.setattr(ColourEncoder, "words", never)
    again = Gallery(snapshot, encoder).measures.own_scale
    np.testing.assert_array_equal(again.levels_n2, first.levels_n2)
    assert again.usual == first.usual


# -- what ships


def test_the_sayings_are_many_and_each_is_there_once() -> None:
    sayings = read_sayings()
    assert len(sayings) == len(set(sayings)) > 400
    assert all(text == text.strip() and text for text in sayings)


def test_the_starter_knows_the_sayings_as_its_network_reads_them() -> None:
    known, encoder = read_sentences(SAYINGS), sentence_encoder()
    assert tuple(known) == read_sayings()
    for text in read_sayings()[::60]:
        np.testing.assert_allclose(known[text], encoder.compute(text), atol=2e-2)  # 8 bits round by the processor
        np.testing.assert_array_equal(encoder([text])[0], known[text])


def test_the_shipped_curves_fit_the_features_and_point_the_right_way() -> None:
    curves = read_curves()
    assert (len(curves.here), len(curves.match)) == (len(FEATURES) + 1, len(FEATURES) + 3)
    assert curves.here[FEATURES.index("best")] > 0 > curves.here[FEATURES.index("usual")]
    assert curves.match[-3] > 0
    assert all(0 < limit < MIN_LIKELY for limit in curves.nothing_below)
