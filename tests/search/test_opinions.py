"""What other systems make of a conversation, added to a query."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.evaluation.replay import rank_queries
from viewfinder.query import Opinion, Part, Query
from viewfinder.search.explanation import explain_hits
from viewfinder.search.gallery import Gallery
from viewfinder.search.ranking import Ranking
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


def sum_adds(entries: list[dict[str, Any]]) -> float:
    return sum(float(entry["adds"]) for entry in entries)


def test_what_an_opinion_adds_is_told_with_its_turn_and_sums_to_the_score() -> None:
    asked, rows_k = ask_two(), np.arange(len(GALLERY))
    total_n = score_all(GALLERY, asked).total_n
    for row, why in zip(rows_k, explain_hits(GALLERY, asked, rows_k), strict=True):
        assert [turn["parts"] for turn in why["turns"]] == [[FIRST], ["what clip-t makes of all that was said"]]
        assert sum_adds(why["turns"]) == pytest.approx(total_n[row], abs=1e-4)


def test_each_system_stands_apart_from_what_was_said_at_its_turn() -> None:
    asked = ask_two()
    [theirs] = asked.opinions
    asked = replace(asked, opinions=(replace(theirs, turn=1), replace(theirs, turn=1, system="mai", nats=-0.5)))
    rows_k = np.arange(len(GALLERY))
    own_n = score_all(GALLERY, replace(asked, opinions=())).total_n
    theirs_n = score_all(GALLERY, theirs.query).total_n
    standing_n = (theirs_n - theirs_n.mean()) / theirs_n.std() / 10.0
    for row, why in zip(rows_k, explain_hits(GALLERY, asked, rows_k), strict=True):
        [turn] = why["turns"]
        told = {entry["system"]: (entry["turn"], entry["adds"]) for entry in why["systems"]}
        expected = {"": own_n[row], "clip-t": 1.5 * standing_n[row], "mai": -0.5 * standing_n[row]}
        assert {system: turn for system, (turn, _) in told.items()} == dict.fromkeys(expected, 1)
        assert [adds for _, adds in told.values()] == pytest.approx(list(expected.values()), abs=1e-4)
        assert sum_adds(why["systems"]) == pytest.approx(turn["adds"], abs=1e-9)
        assert sum(abs(entry["share"]) for entry in why["systems"]) == pytest.approx(1, abs=2e-3)
        assert turn["parts"] == [part for entry in why["systems"] for part in entry["parts"]]


WORDS = st.sampled_from(list(COLOURS))
OPINIONS = st.tuples(st.sampled_from(("clip-t", "mai", "drilldown")), st.integers(1, 4), WORDS, st.floats(-4, 4))


@given(
    said=st.lists(st.tuples(st.integers(1, 4), WORDS), min_size=1, max_size=4),
    opinions=st.lists(OPINIONS, max_size=4),
    sharpness=st.floats(0.5, 40),
)
def test_turns_and_systems_sum_to_the_score_whatever_is_asked(
    said: list[tuple[int, str]], opinions: list[tuple[str, int, str, float]], sharpness: float
) -> None:
    parts = tuple(replace(say(text, turn).parts[0], weight=1.0 + at) for at, (turn, text) in enumerate(said))
    heard = tuple(Opinion(system, turn, say(text), nats) for system, turn, text, nats in opinions)
    asked, rows_k = Query(parts, sharpness=sharpness, opinions=heard), np.arange(len(GALLERY))
    for score, why in zip(score_all(GALLERY, asked).total_n, explain_hits(GALLERY, asked, rows_k), strict=True):
        assert sum_adds(why["turns"]) == pytest.approx(score, abs=1e-4)
        assert sum_adds(why.get("systems", why["turns"])) == pytest.approx(score, abs=1e-4)
        assert ("systems" in why) == bool(heard)


def test_a_system_that_says_the_same_of_all_has_no_line() -> None:
    nothing = Query((Part("value", 1, "top: plaid", 1.0, value=("top", "plaid")),))
    silent = Opinion("mai", 2, nothing, 3.0)
    asked = ask_two()
    told = explain_hits(GALLERY, replace(asked, opinions=(*asked.opinions, silent)), np.arange(3))
    assert told == explain_hits(GALLERY, asked, np.arange(3))
    assert explain_hits(GALLERY, replace(asked, opinions=(silent,)), np.arange(1))[0].keys() == {"turns"}


def test_scores_are_shown_times_the_factor_of_the_query_and_ranked_as_they_are() -> None:
    own, shown = Ranking(GALLERY, ask_two()), Ranking(GALLERY, replace(ask_two(), shown_factor=0.25))
    for hit, other in zip(own.hits(16, explained=True), shown.hits(16, explained=True), strict=True):
        assert (hit.id, hit.match) == (other.id, other.match)
        assert other.score == pytest.approx(0.25 * hit.score, abs=1e-4)
        assert sum_adds(other.why["systems"]) == pytest.approx(other.score, abs=1e-4)
        assert [entry["share"] for entry in other.why["turns"]] == [entry["share"] for entry in hit.why["turns"]]


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
