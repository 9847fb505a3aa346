"""Scores of a query over a gallery: what parts add, what is excluded, and what a score means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.errors import UnknownName
from viewfinder.query import Part, Query
from viewfinder.search.explanation import share_parts
from viewfinder.search.gallery import Gallery
from viewfinder.search.picture_reading import read_picture
from viewfinder.search.samples import Samples
from viewfinder.search.scores import score_all
from viewfinder.testing import COLOURS, ColourEncoder, tiny_snapshot

LOOKS = [(top, bottom) for top in list(COLOURS)[:4] for bottom in list(COLOURS)[:4]]
ATTRIBUTES = [{"top": (top,), "either": (top, bottom)} for top, bottom in LOOKS]
ENCODER = ColourEncoder()
GALLERY = Gallery(tiny_snapshot(LOOKS, ATTRIBUTES), ENCODER)
CASES = st.tuples(
    st.sampled_from(["words", "picture", "value"]),
    st.sampled_from(list(COLOURS)[:4]),
    st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.6, 1.0, 2.0]),
    st.booleans(),
    st.sampled_from([None, 0.0, 1.0]),
)
Case = tuple[str, str, float, bool, float | None]


def part(
    kind: str, said: str, weight: float = 1.0, *, turn: int = 1, centred: bool = True, beyond: float | None = None
) -> Part:
    if kind == "value":
        return Part("value", turn, f"top: {said}", weight, value=("top", said))
    vector_d = ENCODER.words([said])[0]
    return Part("words" if kind == "words" else "picture", turn, said, weight, vector_d, centred=centred, beyond=beyond)


def query(cases: list[Case]) -> Query:
    parts = (
        part(kind, said, weight, turn=at, centred=centred, beyond=beyond)
        for at, (kind, said, weight, centred, beyond) in enumerate(cases)
    )
    return Query(tuple(parts))


@settings(deadline=None)
@given(st.lists(CASES, max_size=6))
def test_what_the_parts_add_sums_to_the_score(cases: list[Case]) -> None:
    asked = query(cases)
    rows = np.arange(len(GALLERY))
    shares_np = share_parts(GALLERY, asked, rows)
    assert shares_np.shape == (len(GALLERY), len(cases))
    np.testing.assert_allclose(shares_np.sum(axis=1), score_all(GALLERY, asked).total_n, atol=1e-5)


@settings(deadline=None)
@given(st.lists(CASES, max_size=6))
def test_scores_are_those_of_one_picture_and_one_part_at_a_time(cases: list[Case]) -> None:
    asked = query(cases)
    weight = sum(part.weight for part in asked.parts if part.weight > 0) or 1.0
    for row in (0, 5, 15):
        slow = 0.0
        for one in asked.parts:
            if one.value is not None:
                slow += one.weight * (LOOKS[row][0] == one.value[1])
            elif one.vector_d is not None:
                likeness_n = GALLERY.snapshot.matrix_nd @ one.vector_d - GALLERY.measures.background_n * one.centred
                level = 0.0 if one.beyond is None else likeness_n.mean() + one.beyond * likeness_n.std()
                counts = float(likeness_n[row] - level)
                slow += one.weight * (counts if one.beyond is None else max(counts, 0.0))
        assert score_all(GALLERY, asked).total_n[row] == pytest.approx(slow / weight, abs=1e-5)


def test_what_is_unwanted_is_held_against_pictures_that_show_it_and_no_others() -> None:
    wanted = part("words", "red")
    unwanted = part("words", "blue", -1.0, beyond=1.0)
    before_n, after_n = (score_all(GALLERY, Query(parts)).total_n for parts in ((wanted,), (wanted, unwanted)))
    with_blue_n = np.array(["blue" in look for look in LOOKS])
    np.testing.assert_allclose(after_n[~with_blue_n], before_n[~with_blue_n], atol=1e-6)
    both_blue = LOOKS.index(("blue", "blue"))
    assert after_n[both_blue] < before_n[both_blue]


def test_how_likeness_to_a_vector_is_spread_is_measured_once_of_all_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    red_d = ENCODER.words(["red"])[0]
    likeness_n = GALLERY.snapshot.matrix_nd @ red_d - 0.5 * GALLERY.measures.background_n
    assert GALLERY.measures.measure_spread(red_d, 0.5) == pytest.approx((likeness_n.mean(), likeness_n.std()), abs=1e-5)
    monkeypatch.setattr(Samples, "measure_moments", lambda self: pytest.fail("they are kept beside the snapshot"))
    opened_again = Gallery(GALLERY.snapshot, ENCODER)
    assert opened_again.measures.measure_spread(red_d, 0.5) == GALLERY.measures.measure_spread(red_d, 0.5)


def test_two_parts_that_say_the_same_count_twice() -> None:
    once = score_all(GALLERY, Query((part("words", "red", 0.5), part("words", "blue"))))
    twice = score_all(GALLERY, Query((part("words", "red", 0.25), part("words", "red", 0.25), part("words", "blue"))))
    np.testing.assert_allclose(once.total_n, twice.total_n, atol=1e-6)


def test_a_query_for_nothing_gives_every_picture_the_same_score() -> None:
    scores = score_all(GALLERY, Query(()))
    assert not scores.total_n.any()
    assert share_parts(GALLERY, Query(()), np.arange(3)).shape == (3, 0)


def test_the_best_picture_is_the_one_that_was_described() -> None:
    vector_d = ENCODER.words(["green over blue"])[0]
    rows = score_all(GALLERY, Query((Part("words", 1, "", 1.0, vector_d),))).best(3)
    assert LOOKS[rows[0]] == ("green", "blue")


def test_excluded_pictures_are_never_among_the_best_and_the_rest_fills_their_place() -> None:
    excluded = frozenset({"p000", "p004", "nobody"})
    scores = score_all(GALLERY, Query((part("words", "red"),), excluded=excluded))
    rows = scores.best(len(GALLERY))
    assert len(rows) == len(GALLERY) - 2
    assert not {0, 4} & set(rows.tolist())


def test_a_filter_is_applied_before_ranking_so_that_k_is_filled() -> None:
    scores = score_all(GALLERY, Query((part("words", "red"),)))
    rows = scores.best(4, GALLERY.snapshot.where({"top": "blue"}))
    assert [LOOKS[row][0] for row in rows] == ["blue"] * 4


def test_equal_scores_come_in_the_order_of_ids() -> None:
    scores = score_all(GALLERY, Query((part("value", "blue"),)))
    assert scores.best(6).tolist() == [8, 9, 10, 11, 0, 1]


def test_a_column_that_has_gone_since_scores_nothing() -> None:
    gone = Query((Part("value", 1, "size: small", 1.0, value=("size", "small")), part("words", "red")))
    assert score_all(GALLERY, gone).best(1).tolist() == [0]
    assert share_parts(GALLERY, gone, np.array([0]))[0, 0] == 0


def test_one_of_several_values_of_a_picture_is_enough() -> None:
    asked = Query((Part("value", 1, "either: blue", 1.0, value=("either", "blue")),))
    assert score_all(GALLERY, asked).total_n.tolist() == [float("blue" in look) for look in LOOKS]


def test_an_unknown_picture_is_said_with_what_to_do() -> None:
    with pytest.raises(UnknownName, match="no picture in this library has the id 'p999'; ids are what `find` prints"):
        read_picture(GALLERY, "p999")


def test_a_picture_brings_its_vector_and_its_attributes() -> None:
    picture = read_picture(GALLERY, "p001")
    assert picture.attributes == {"top": ("red",), "either": ("red", "green")}
    np.testing.assert_array_equal(picture.vectors["global"], GALLERY.snapshot.matrix_nd[1])


@pytest.mark.filterwarnings("error")
def test_a_gallery_without_pictures_answers_with_none() -> None:
    empty = Gallery(tiny_snapshot([]), ENCODER)
    scores = score_all(empty, Query((part("words", "red"),)))
    assert scores.best(10).tolist() == []
    assert len(empty.tags.phrases_td) > 0
