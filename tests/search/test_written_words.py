"""Words of captions and catalogue as text: which pictures have them, and what that does to a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from viewfinder.byte_cache import ByteCache
from viewfinder.encoders.base import Calibration
from viewfinder.retrievers import Composer
from viewfinder.retrievers.plain_clip import PlainClip
from viewfinder.search.gallery import Gallery
from viewfinder.search.hits import Hits
from viewfinder.search.judging import judge_texts
from viewfinder.search.verdicts import MIN_LIKELY, mean_odds
from viewfinder.search.written_words import (
    FREE_WORDS,
    MIN_USUAL,
    NAMING,
    SAID_IF_NOT,
    SAID_IF_NOWHERE,
    SAID_IF_THERE,
    UNUSUAL,
    WordIndex,
    build_entries,
    rows_of_all,
    said_words,
)
from viewfinder.session.said import texts_said
from viewfinder.session.session import Session
from viewfinder.testing import COLOURS, ColourEncoder, tiny_snapshot

LOOKS = [(top, bottom) for top in COLOURS for bottom in COLOURS]
NEVER = Calibration((0.0,) * 9 + (-9.0,), (0.0,) * 9 + (-9.0,), (0.0, 0.0), np.zeros(49, np.float32))
"""By its looks, no picture is what was said."""

SHOES = {3: "Nike Airliner WR-200", 4: "Nike Runner 7", 9: "Doctor Palm Men's Sandals"}


def gallery(
    written: Mapping[int, str] = SHOES, *, match_words: bool = True, calibration: Calibration | None = None
) -> Gallery:
    encoder = ColourEncoder(calibration=calibration)
    known = [{"name": (written[at],)} if at in written else {} for at in range(len(LOOKS))]
    return Gallery(tiny_snapshot(LOOKS, known, encoder=encoder), encoder, match_words=match_words)


def index_of(written: Mapping[int, str]) -> WordIndex:
    return WordIndex([(0, build_entries(gallery(written).snapshot))], len(LOOKS))


def search(text: str, where: Gallery, retriever: Any = None) -> tuple[Hits, Session]:
    session = Session(where, retriever or Composer(), None, n=len(LOOKS), memo=ByteCache())
    return session.say(text), session


def ids(hits: Hits) -> list[str]:
    return [hit.id for hit in hits]


def judged(session: Session) -> tuple[str, set[str]]:
    """The verdict and the likely pictures by what was said and written, whatever is shown first."""
    ranking = session.ranking()
    found = judge_texts(ranking.gallery, texts_said(session.conversation.path()), ranking.query, ranking.scores)
    assert found is not None
    chances = found.matches(range(len(LOOKS)))
    return found.verdict, {f"p{row:03}" for row, chance in enumerate(chances) if chance >= MIN_LIKELY}


def matched(session: Session) -> list[str]:
    """The texts that count as words."""
    return [match.text for match in session.ranking().query.word_matches]


@pytest.mark.parametrize(
    ("word", "rows"),
    [("nik", [3, 4]), ("wr200", [3]), ("200", [3]), ("7", [4]), ("man", [9]), ("sandal", [9]), ("adidas", [])],
)
def test_a_word_leads_to_the_pictures_that_have_it(word: str, rows: list[int]) -> None:
    assert index_of(SHOES).rows(word).tolist() == rows


def test_a_file_with_a_catalogue_row_is_found_by_its_name_as_a_shop_types_it() -> None:
    index = index_of(SHOES)
    assert index.rows("p003").tolist() == [3]
    assert index.rows("p002").tolist() == []  # a photograph of which nothing is written
    _, session = search("P003", gallery(calibration=NEVER))
    assert judged(session) == ("found", {"p003"})


def nats_of(index: WordIndex, text: str, share_of: Callable[[str], float]) -> np.ndarray:
    """The likelihood ratios of a text for all pictures."""
    ratios = index.likelihood_ratios(index.find(text), share_of)
    assert ratios is not None
    return ratios.at(np.arange(len(LOOKS)))


@pytest.mark.parametrize(("said", "same"), [("name: airliner", "airliner"), ("names p004", "p004")])
def test_the_name_of_a_column_before_a_word_changes_nothing(said: str, same: str) -> None:
    index, seldom = WordIndex([(0, build_entries(gallery().snapshot))], len(LOOKS), ["Name"]), lambda word: 0.0
    np.testing.assert_array_equal(nats_of(index, said, seldom), nats_of(index, same, seldom))
    assert matched(search(said, gallery())[1]) == [said]


def test_the_name_of_a_column_is_a_word_where_it_is_written_too() -> None:
    index = WordIndex([(0, build_entries(gallery().snapshot))], len(LOOKS), ["nike"])
    assert rows_of_all(index.find("nike airliner").values()).tolist() == [3]
    assert rows_of_all(index.find("nike").values()).tolist() == [3, 4]


def test_words_are_found_in_whatever_way_they_are_written() -> None:
    index = index_of(SHOES)
    for said in ("NIKE airliners", "airliner by Nike", "nike wr200", "Nike WR-200"):
        assert [len(index.rows(word)) > 0 for word in said_words(said)] == [True] * len(said_words(said))


def test_the_likelihood_ratio_of_a_name_by_hand() -> None:
    nats_n = nats_of(index_of(SHOES), "nike runner", lambda word: 0.0)
    count = len(LOOKS)
    nike, runner = SAID_IF_THERE / max(2 / count, MIN_USUAL), SAID_IF_THERE / max(1 / count, MIN_USUAL)
    both, one = NAMING * nike * runner, NAMING * nike * SAID_IF_NOT
    assert nats_n[[4, 3, 0]].tolist() == pytest.approx([np.log1p(both), np.log1p(one), 0.0], 1e-4, abs=1e-3)


def test_a_word_that_people_say_often_anyway_tells_less() -> None:
    index = index_of(SHOES)
    rare = nats_of(index, "palm", lambda word: 0.0)
    common = nats_of(index, "palm", lambda word: 0.5)
    assert rare[9] > common[9] > common[0] >= 0


def test_a_picture_is_found_by_its_name_and_the_reason_says_so() -> None:
    hits, session = search("nike airliner wr-200", gallery())
    assert ids(hits)[0] == "p003"
    assert session.rank_of("p003") == 0
    [turn] = hits[0].why["turns"]
    assert turn["parts"] == ["nike airliner wr-200", 'written of it: "nike airliner wr-200"']
    assert turn["adds"] == pytest.approx(hits[0].score, abs=1e-3)


def test_a_name_finds_its_picture_with_any_retriever() -> None:
    hits, _ = search("doctor palm men's sandals", gallery(), PlainClip("clip-t", text=True, image=False))
    assert ids(hits)[0] == "p009"


def test_a_sentence_in_which_a_word_happens_to_be_a_value_is_ranked_as_if_nothing_were_written() -> None:
    said = "a red top over blue trousers on somebody who stands below a palm beside the water"
    assert ids(search(said, gallery())[0]) == ids(search(said, gallery(match_words=False))[0])


def test_where_nothing_is_written_nothing_is_looked_for() -> None:
    nothing = gallery({}).written
    assert nothing is not None and nothing.words is None
    assert gallery(match_words=False).written is None
    assert matched(search("nike airliner", gallery({}))[1]) == []


def test_a_picture_that_is_picked_takes_the_place_of_the_name_said_before() -> None:
    _, session = search("nike airliner", gallery())
    session.like("p009")
    assert matched(session) == []
    session.back_to(1)
    assert matched(session) == ["nike airliner"]


def test_what_is_not_wanted_is_no_name() -> None:
    _, session = search("a red top, not nike", gallery())
    assert matched(session) == []


def test_bayes_adds_what_is_written_to_what_is_seen_in_the_verdict_and_in_each_match() -> None:
    # By what is seen a picture is meant with odds of 1 to e**3, whatever its score.
    flat = Calibration((0.0,) * 9 + (-3.0,), (0.0,) * 9 + (-3.0,), (0.01, 0.01), np.zeros(49, np.float32))
    named, _ = search("nike airliner wr-200", gallery(calibration=flat))
    matches = {hit.id: hit.match for hit in named}
    assert (named.verdict, matches["p003"], matches["p009"]) == ("found", "likely", "unlikely")
    unnamed, _ = search("nike airliner wr-200", gallery({}, calibration=flat))
    assert unnamed.verdict == "unsure"
    assert {hit.match for hit in unnamed} == {"unlikely"}


@pytest.mark.parametrize(
    ("said", "verdict", "likely"),
    [
        ("nike", "found", {"p003", "p004"}),
        ("runners by nike", "found", {"p004"}),  # "by" says nothing
        ("nike sandals", "unsure", set()),  # both are here, but of no picture
        ("reebok", "unsure", set()),
        ("the", "unsure", set()),
    ],
)
def test_a_picture_of_which_all_that_was_said_is_written_is_what_was_said(
    said: str, verdict: str, likely: set[str]
) -> None:
    _, session = search(said, gallery(calibration=NEVER))
    assert judged(session) == (verdict, likely)


def test_words_of_several_turns_must_all_be_written_of_a_picture() -> None:
    _, session = search("nike", gallery(calibration=NEVER))
    session.say("an airliner")
    assert judged(session) == ("found", {"p003"})
    session.say("with sandals")
    assert judged(session) == ("unsure", set())


def test_the_mean_of_odds_is_that_of_the_slow_way_and_does_not_overflow() -> None:
    nats_n = np.array([0.0, 0.0, 3.0, 5.0], np.float32)
    assert mean_odds(nats_n) == pytest.approx(float(np.log(np.exp(nats_n).mean())))
    assert mean_odds(np.array([2000.0, 0.0], np.float32)) == pytest.approx(2000 - np.log(2))


def test_what_is_left_out_for_speed_would_have_told_nothing() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{at}" for at in range(12)]
    written = {row: " ".join(rng.choice(words, 5, p=np.arange(1, 13) / 78)) for row in range(len(LOOKS))}
    index = index_of(written)
    for _ in range(30):
        said = [str(word) for word in rng.permutation(words)[: int(rng.integers(1, 8))]]
        nats_n = nats_of(index, " ".join(said), lambda word: 0.0)
        strange = max(sum(len(index.rows(word)) == 0 for word in said) - FREE_WORDS, 0)
        for row, text in written.items():
            ratio = NAMING * SAID_IF_NOWHERE**strange
            for word in (word for word in said if len(index.rows(word))):
                usual = len(index.rows(word)) / len(LOOKS) * UNUSUAL  # none of them is English
                ratio *= SAID_IF_THERE / usual if word in text.split() else SAID_IF_NOT
            assert nats_n[row] == pytest.approx(np.log1p(ratio), abs=0.01)


def test_a_whole_value_tells_more_than_a_part_of_one_by_hand() -> None:
    index = WordIndex([(0, build_entries(gallery({0: "blue", 1: "turquoise blue"}).snapshot))], len(LOOKS))
    found, values = index.find("blue"), index.find_values("blue")
    assert [rows_k.tolist() for rows_k in values] == [[0]]
    ratios = index.likelihood_ratios(found, lambda word: 0.25, values=values)
    assert ratios is not None
    # Both say it: the odds of naming are 0.4 * 0.5 / 0.25; for the whole value four times as much.
    blue = NAMING * SAID_IF_THERE / 0.25
    assert ratios.at(np.arange(3))[:2].tolist() == pytest.approx([np.log1p(4 * blue), np.log1p(blue)], 1e-4)


def test_the_longest_values_in_a_text_are_found_and_none_overlaps_another() -> None:
    index = index_of({0: "casual shoes", 1: "casual", 2: "shoes", 3: "blue"})
    values = index.find_values("blue casual shoes")
    assert [rows_k.tolist() for rows_k in values] == [[0], [3]]


def test_where_little_of_what_people_say_is_written_whoever_says_such_words_names() -> None:
    index = index_of({0: "blue handbag", 1: "red handbag"})
    # "dog" is said as often as the others together, and is written nowhere.
    shares = {"blu": np.log10(0.1), "handbag": np.log10(0.1), "dog": np.log10(0.2), "a": 0.0}
    assert index.measure_coverage(shares) == pytest.approx(0.5)
    [nats_all, nats_half] = [
        found.at(np.zeros(1, np.int64))[0]
        for found in (index.likelihood_ratios(index.find("blue handbag"), lambda _: 0.1, part) for part in (1.0, 0.4))
        if found is not None
    ]
    # Two words, each 0.8 / 0.4 times likelier of somebody who names.
    assert np.expm1(nats_half) == pytest.approx(2**2 * np.expm1(nats_all), 1e-4)


def test_a_shirt_is_no_t_shirt() -> None:
    index = index_of({0: "Grey T-Shirt", 1: "Grey Shirt"})
    assert index.rows("shirt").tolist() == [1]
    assert index.rows("tshirt").tolist() == [0]
