"""What other systems make of a conversation, added to a query."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from viewfinder.evaluation.replay import rank_queries
from viewfinder.query import Opinion, Part, Query
from viewfinder.search.explanation import explain_hits
from viewfinder.search.gallery import Gallery
from viewfinder.search.scores import score_all, score_rows, weigh_opinion
from viewfinder.testing import COLOURS, ColourEncoder, tiny_snapshot

LOOKS = [(top, bottom) for top in list(COLOURS)[:4] for bottom in list(COLOURS)[:4]]
ENCODER = ColourEncoder()
GALLERY = Gallery(tiny_snapshot(LOOKS), ENCODER)
FIRST, SECOND = list(COLOURS)[:2]


def say(text: str, turn: int = 1, **query: float) -> Query:
    return Query((Part("words", turn, text, 1.0, ENCODER.words([text])[0]),), **query)  # type: ignore[arg-type]


def ask_two(nats: float = 1.5) -> Query:
    return replace(say(FIRST, sharpness=10.0), opinions=(Opinion("clip-t", 2, say(SECOND), nats),))


def test_an_opinion_adds_its_nats_for_every_deviation_above_the_mean() -> None:
    own_n, theirs_n = (score_all(GALLERY, say(text)).total_n for text in (FIRST, SECOND))
    expected_n = own_n + 1.5 * (theirs_n - theirs_n.mean()) / theirs_n.std() / 10.0
    np.testing.assert_allclose(score_all(GALLERY, ask_two()).total_n, expected_n, atol=1e-6)
    some_k = np.array([3, 0, 7])
    np.testing.assert_allclose(score_rows(GALLERY, ask_two(), some_k), expected_n[some_k], atol=1e-6)


def test_an_opinion_that_is_the_same_of_all_pictures_adds_nothing() -> None:
    nothing = Query((Part("value", 1, "top: plaid", 1.0, value=("top", "plaid")),))
    assert weigh_opinion(GALLERY, Opinion("clip-t", 1, nothing, 3.0)) is None
    assert weigh_opinion(GALLERY, Opinion("clip-t", 1, Query(()), 3.0)) is None
    asked = replace(say(FIRST), opinions=(Opinion("clip-t", 1, nothing, 3.0),))
    assert (score_all(GALLERY, asked).total_n == score_all(GALLERY, say(FIRST)).total_n).all()


def test_what_an_opinion_adds_is_told_with_its_turn_and_sums_to_the_score() -> None:
    asked, rows_k = ask_two(), np.arange(len(GALLERY))
    total_n = score_all(GALLERY, asked).total_n
    for row, why in zip(rows_k, explain_hits(GALLERY, asked, rows_k), strict=True):
        assert [turn["parts"] for turn in why["turns"]] == [[FIRST], ["what clip-t makes of all that was said"]]
        assert sum(turn["adds"] for turn in why["turns"]) == pytest.approx(total_n[row], abs=2e-4)


def test_other_words_are_another_opinion() -> None:
    here, there = (weigh_opinion(GALLERY, Opinion("clip-t", 1, say(text), 1.0)) for text in (FIRST, SECOND))
    assert here is not None and there is not None
    assert not np.allclose(here.at(np.arange(len(GALLERY))), there.at(np.arange(len(GALLERY))))


def test_recorded_dialogues_are_ranked_with_opinions() -> None:
    ids = GALLERY.snapshot.ids
    total_n = score_all(GALLERY, ask_two()).total_n
    best_st, worst_st = rank_queries(GALLERY, ids, 1, [(at, 0, ask_two()) for at in range(len(ids))])
    above_n = [int((total_n > score + 1e-5).sum()) for score in total_n]
    assert best_st[:, 0].tolist() == above_n
    assert (worst_st >= best_st).all()
