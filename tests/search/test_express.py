"""Queries for encoders of another scale: likeness, probabilities and rankings are those of the box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from jaxtyping import Float

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Like, Reject, Say
from viewfinder.encoders.scale import BOX, Scale
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.query import SHARPNESS, Part, Query
from viewfinder.retrievers import Composer
from viewfinder.retrievers.plain_clip import PlainClip
from viewfinder.search.approximate import build_index
from viewfinder.search.gallery import Gallery
from viewfinder.search.grounding import compare_crops
from viewfinder.search.index_files import choose_sayings, queries_like
from viewfinder.search.indexed_pictures import IndexedPictures
from viewfinder.search.judging import judge_texts
from viewfinder.search.near_scores import NearScores
from viewfinder.search.own_scale import FEATURES, SMALL, OwnJudgement, curves_for, measure_length, read_curves
from viewfinder.search.raw_vectors import Companion
from viewfinder.search.scores import Scores, express_query, score_all
from viewfinder.search.turn_scores import score_turn
from viewfinder.session.session import Session
from viewfinder.testing import COLOURS, ColourEncoder, TinyRaw, tiny_snapshot

NAMES = list(COLOURS)
LOOKS = [(top, bottom) for top in NAMES for bottom in NAMES]
DIM_WORDS, DIM_PICTURES = 0.4, 0.6


class Colours(ColourEncoder):
    """Colours as another package's encoder gives them: it says nothing of its scale, and knows no background."""

    name = "unscaled"
    scale: ClassVar[Any] = None

    def background(self, pictures_nd: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        return np.zeros(len(pictures_nd), np.float32)


class Dim(Colours):
    """The same with an offset: pictures have 0.6 of their length in common, and texts 0.4 of it."""

    name = "dim"
    raw_version: str = "dim-raw-1"

    def project(self, raw_nd: Float[np.ndarray, "n raw"]) -> Float[np.ndarray, "n d"]:
        return _offset(super().project(raw_nd), DIM_PICTURES)

    def words(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        return _offset(ColourEncoder().words(texts), DIM_WORDS)


def _offset(units_nd: Float[np.ndarray, "n d"], share: float) -> Float[np.ndarray, "n d"]:
    offset_n1 = np.full((len(units_nd), 1), np.sqrt(1 - share**2))
    return np.concatenate([share * units_nd, offset_n1], axis=1).astype(np.float32)


def gallery_of(encoder: ColourEncoder) -> Gallery:
    return Gallery(tiny_snapshot(LOOKS, encoder=encoder), encoder)


def talk(encoder: ColourEncoder) -> Session:
    return Session(gallery_of(encoder), Composer(), None, memo=ByteCache())


def test_an_encoder_with_an_offset_has_the_scale_that_undoes_it() -> None:
    plain, dim = gallery_of(Colours()).measures.scale, gallery_of(Dim()).measures.scale
    assert dim.words / plain.words == pytest.approx(1 / (DIM_WORDS * DIM_PICTURES), rel=1e-3)
    assert dim.pictures / plain.pictures == pytest.approx(1 / DIM_PICTURES**2, rel=1e-3)
    assert dim.texts[0] / plain.texts[0] == pytest.approx(1 / DIM_WORDS**2, rel=1e-3)


@pytest.mark.parametrize(
    "turns",
    [[Say("red over blue")], [Say("red"), Say("no green")], [Say("red"), Like("p009", "but blue")], [Like("p003")]],
)
def test_an_encoder_with_an_offset_finds_the_same_with_the_same_probabilities(turns: list[Any]) -> None:
    plain, dim = talk(Colours()), talk(Dim())
    for turn in turns:
        expected, hits = plain.take(turn), dim.take(turn)
    assert [hit.id for hit in hits[:5]] == [hit.id for hit in expected[:5]]
    rows_k = np.arange(len(LOOKS))
    chances = [
        session.ranking().query.sharpness * session.ranking().scores.at(rows_k).astype(np.float64)
        for session in (plain, dim)
    ]
    apart = [one - one[0] for one in chances]
    np.testing.assert_allclose(apart[1], apart[0], atol=0.02)
    assert hits.verdict == expected.verdict
    assert [hit.match for hit in hits] == [hit.match for hit in expected]


def test_reasons_add_up_to_the_score_on_the_scale_of_the_box() -> None:
    session = talk(Dim())
    session.say("red over blue")
    hits = session.take(Reject((), "green"))
    for hit in hits[:3]:
        assert sum(entry["adds"] for entry in hit.why["turns"]) == pytest.approx(hit.score, abs=2e-3)


def test_the_box_is_left_as_it_is() -> None:
    gallery, query = gallery_of(ColourEncoder()), Query((Part("words", 1, "red", 1.0, np.ones(48)),), on_box_scale=True)
    assert gallery.measures.scale == BOX and express_query(query, gallery.measures.scale) is query


def test_a_system_that_compares_likeness_as_it_is_only_gets_the_sharpness() -> None:
    gallery = gallery_of(Dim())
    plain = PlainClip("clip-t", text=True, image=False)
    said = Part("words", 1, "red", 1.0, np.ones(49, np.float32))
    query = express_query(Query((said,)), gallery.measures.scale)
    assert plain.query(plain.begin()).on_box_scale is False
    assert query.sharpness == pytest.approx(SHARPNESS * gallery.measures.scale.words) and query.parts[0].factor == 1.0
    learnt = replace(query, sharpness=35.0)
    assert express_query(learnt, gallery.measures.scale) is learnt, "a sharpness that was learnt stays"


def test_the_background_of_an_encoder_that_knows_none_is_part_of_its_likeness_to_the_sayings() -> None:
    gallery = gallery_of(Dim())
    mean_n = (gallery.snapshot.matrix_nd @ gallery.measures.sayings_bd.T).mean(axis=1)
    level = np.median(mean_n)
    np.testing.assert_allclose(gallery.measures.background_n, level + 0.3 * (mean_n - level), atol=1e-5)


def test_the_length_of_what_was_said_is_that_of_the_box() -> None:
    # Two unit vectors that are alike by 0.8: on a scale on which that is 0.2, their mean has sqrt((1 + 0.2) / 2).
    texts_md = np.array([[1.0, 0.0], [0.8, 0.6]])
    assert measure_length(texts_md, Scale(2.0, 2.0, (3.0, -2.2))) == pytest.approx(np.sqrt(0.6))
    assert measure_length(texts_md) == pytest.approx(np.sqrt(0.9))
    assert measure_length(texts_md[:1], Scale(2.0, 2.0, (3.0, -2.2))) == pytest.approx(1.0)


def test_nothing_is_said_more_rarely_in_small_libraries_and_with_other_encoders() -> None:
    gallery = gallery_of(Dim())
    query = express_query(Query(()), gallery.measures.scale)
    judged = judge_texts(gallery, ("red",), query, score_all(gallery, query))
    assert isinstance(judged, OwnJudgement)
    assert judged.curves == curves_for(10_000, of_box=False) == curves_for(30, of_box=True)
    assert max(judged.curves.nothing_below) < min(read_curves().nothing_below)
    assert judged.curves.here == read_curves().here
    assert curves_for(SMALL, of_box=True) == read_curves()


def test_the_starter_beside_another_encoder_knows_which_words_are_rare() -> None:
    def rareness(text: str, *, beside: bool) -> float:
        gallery = gallery_of(Dim())
        raw = TinyRaw(LOOKS, raw_version=StarterEncoder.raw_version)
        gallery.companion = Companion(raw, StarterEncoder) if beside else None
        judged = judge_texts(gallery, (text,), Query(()), score_all(gallery, Query(())))
        assert isinstance(judged, OwnJudgement)
        return float(judged.features_f[FEATURES.index("rare")])

    assert rareness("a walrus in the snow", beside=True) > 0.5
    assert rareness("a dog in the snow", beside=True) == 0
    assert rareness("ein Hund im Schnee", beside=True) == 0, "another language is no rare thing"
    assert rareness("a walrus in the snow", beside=False) == 0


# -- heatmaps and lists


def test_crops_are_compared_in_units_of_what_they_differ_by() -> None:
    crops_cd, sayings_bd = np.eye(2), np.array([[0.1, 0.0], [0.0, 0.1]])
    # Each saying fits the crops by 0.1 and 0: they differ by 0.05, as the starter's do by 0.0652. On average they fit
    # both crops by 0.05, of which 0.3 is taken away.
    likeness_tc = np.array([[0.2, 0.1]])
    compared = compare_crops(likeness_tc, crops_cd, sayings_bd, most=100.0)
    np.testing.assert_allclose(compared, (likeness_tc - 0.3 * 0.05) * 0.0652 / 0.05, rtol=1e-5)
    bounded = compare_crops(likeness_tc, crops_cd, sayings_bd, most=1.2)
    np.testing.assert_allclose(bounded, (likeness_tc - 0.3 * 0.05) * 1.2, rtol=1e-5)


def test_every_picture_gets_the_saying_that_fits_it_better_than_others() -> None:
    # The first saying fits all, the second the second picture, the third the first. The third gets what is left.
    likeness_kb = np.array([[0.9, 0.1, 0.3], [0.9, 0.5, 0.1], [0.9, 0.1, 0.1]])
    assert choose_sayings(likeness_kb).tolist()[:2] == [[2, 0], [1, 0]]
    assert len(choose_sayings(np.ones((9, 3)))) == 9, "once all are taken, they are free again"


def test_lists_are_chosen_on_sayings_where_nothing_is_written() -> None:
    unscaled, box = queries_like(gallery_of(Dim()), count=30), queries_like(gallery_of(ColourEncoder()), count=30)
    assert (unscaled.kind, box.kind) == ("sayings", "pictures")
    assert len(unscaled) == 30 and unscaled.against_m.sum() == 10
    sayings_bd = gallery_of(Dim()).measures.sayings_bd
    plain_md = unscaled.vectors_mw[::3, : sayings_bd.shape[1]]
    assert all(np.abs(sayings_bd - said_d).max(axis=1).min() < 1e-5 for said_d in plain_md), "a third are just sayings"


def test_an_index_finds_what_a_scan_does_on_any_scale() -> None:
    pytest.importorskip("faiss")
    gallery = gallery_of(Dim())
    scanned = gallery_of(Dim())
    ids, matrix_nd = gallery.snapshot.ids, gallery.snapshot.matrix_nd
    made = build_index(ids, matrix_nd, gallery.measures.background_n, queries_like(gallery, count=40), lists=4)
    gallery.indexed = IndexedPictures(made, ids)
    parts = (
        Part("words", 1, "red", 1.0, gallery.encode_texts(["red"])[0], centred=True),
        Part("picture", 2, "this picture", 0.6, np.asarray(matrix_nd[7])),
    )
    near, whole = (
        score_turn(one, express_query(Query(parts, on_box_scale=True), one.measures.scale))
        for one in (gallery, scanned)
    )
    assert isinstance(near, NearScores) and isinstance(whole, Scores)
    assert near.best(10).tolist() == whole.best(10).tolist()
    np.testing.assert_allclose(near.at(near.best(10)), whole.at(whole.best(10)), atol=1e-5)
    assert near.spread.deviation == pytest.approx(whole.spread.deviation, rel=1e-3)
