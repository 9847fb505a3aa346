"""Verdicts on the whole conversation: what counts as said, the curves by hand, and live searches that are judged."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Answer, Conversation, Like, Question, Reject, Say, Turn
from viewfinder.encoders.base import Calibration
from viewfinder.evaluation.pictures import Pictures
from viewfinder.query import Part, Query
from viewfinder.questioners.photographs import REMEMBER
from viewfinder.retrievers import Composer, Retriever
from viewfinder.search.gallery import Gallery
from viewfinder.search.judging import judge_texts
from viewfinder.search.scores import score_all
from viewfinder.search.verdicts import (
    UNHEARD,
    Judgement,
    Spread,
    conversation_features,
    curve,
    expected_score,
    judge_conversation,
    mean_familiarity,
)
from viewfinder.session.said import texts_said
from viewfinder.session.session import Session
from viewfinder.testing import COLOURS, ColourEncoder, tiny_snapshot

NAMES = list(COLOURS)
LOOKS = [(top, bottom) for top in NAMES for bottom in NAMES]
KNOWN = Calibration((0.0,) * 8 + (20.0, -8.0), (0.0,) * 8 + (20.0, -6.0), (0.5, 0.5), np.zeros(49, np.float32))
"""By the score alone: it is here from 0.4 on, and a picture is even odds at 0.3."""

ENCODER = ColourEncoder(calibration=KNOWN)
OPEN = Question("What else do you remember of it?", attribute=REMEMBER)
WHICH_TOP = Question("Which top is it?", ("red", "blue", "something else", "don't know"), attribute="top")


def gallery_of(count: int = len(LOOKS), encoder: ColourEncoder = ENCODER) -> Gallery:
    looks = LOOKS[:count]
    return Gallery(tiny_snapshot(looks, [{"top": (top,)} for top, _ in looks], encoder=encoder), encoder)


def session(retriever: Retriever[Any] | None = None, gallery: Gallery | None = None) -> Session:
    return Session(gallery or gallery_of(), retriever or Composer(), None, memo=ByteCache())


def judged_by(calibration: Calibration, said_n: np.ndarray, text: str) -> Judgement:
    return judge_conversation(calibration, Spread.of(said_n), lambda rows_k: said_n[rows_k], np.zeros((1, 48)), [text])


def said(*turns: Turn) -> tuple[str, ...]:
    conversation = Conversation()
    for turn in turns:
        conversation = conversation.then(turn)
    return texts_said(conversation.path())


# -- what was said


def test_descriptions_and_answers_to_open_questions_count_without_what_is_not_wanted() -> None:
    assert said(Say("a dog without a collar"), Answer(OPEN, "on grass"), Say(" in the sun ")) == (
        "a dog",
        "on grass",
        "in the sun",
    )


def test_a_correction_counts_together_with_what_it_corrects() -> None:
    assert said(Say("dogs on grass"), Say("no, two of them")) == ("dogs on grass", "dogs on grass, two of them")


@pytest.mark.parametrize(
    "turn",
    [
        Reject((), "a cat"),
        Reject(("p001",)),
        Like("p001", "but brown"),
        Say("no people"),
        Answer(WHICH_TOP, "red"),
        Answer(Question("Is there a dog?"), "yes"),
        Answer(OPEN, "don't know"),
        Answer(OPEN, ""),
    ],
)
def test_what_is_rejected_chosen_or_not_known_is_no_description(turn: Turn) -> None:
    assert said(Say("a dog"), turn) == ("a dog",)


# -- features and curves


def test_the_features_of_twelve_pictures_by_hand() -> None:
    said_n = (np.arange(12) / 10).astype(np.float32)
    features_f = conversation_features(Spread.of(said_n), 0.7, -2.5, ["a red dog", "on grass"])
    # The ten best are 0.2 to 1.1, mean 0.65; of 0 to 11, mean 5.5, the variance is (12^2 - 1) / 12; 2.5 words a turn.
    by_hand = [0.65, math.sqrt(143 / 12) / 10, 0.55, 0.7, math.log10(12), 2.5, 2, -2.5]
    np.testing.assert_allclose(features_f, by_hand, atol=1e-6)


def test_words_and_turns_count_up_to_a_limit() -> None:
    features_f = conversation_features(Spread.of(np.zeros(3, np.float32)), 0.0, 0.0, 7 * ["word " * 20])
    assert features_f[-3:-1].tolist() == [13, 5]


def test_words_are_familiar_as_the_mean_of_their_shares_of_captions() -> None:
    familiar = {"dog": -1.0, "lawn": -3.5}
    # (-1 - 5) / 2: no caption has "submarine", and "the", "in" and "a" mean nothing.
    assert mean_familiarity(familiar, ["the dog in a submarine"]) == pytest.approx(-3.0)
    # A caption of a picture that was found has "lawns": (-1 - 2) / 2.
    assert mean_familiarity(familiar, ["dogs", "on the lawn"], {"lawn"}) == pytest.approx(-1.5)
    assert mean_familiarity(familiar, ["a", "of the"]) == UNHEARD


def test_the_score_expected_is_the_mean_over_the_texts() -> None:
    known = replace(KNOWN, expected=np.array([1.0, 2.0, 0.5], np.float32))
    # (1 + 0.5 + 2 + 0.5) / 2
    assert expected_score(known, np.eye(2)) == pytest.approx(2.0)


def test_the_curve_is_the_logistic_of_features_score_and_bias() -> None:
    # 2 x 0.5 - 1 x 2 + 3 x 0.4 - 0.7 = -0.5
    assert curve((2.0, -1.0, 3.0, -0.7), np.array([0.5, 2.0]), 0.4) == pytest.approx(1 / (1 + math.exp(0.5)))
    assert curve((1e6, 0.0), np.zeros(0), -1.0) < 1e-9  # nothing overflows


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("score", "here"), [(0.39, False), (0.41, True)])
def test_a_collection_of_one_picture_is_judged_by_its_score(score: float, here: bool) -> None:
    judged = judged_by(KNOWN, np.array([score], np.float32), "red")
    assert judged.features_f.tolist() == pytest.approx([score, 0, score, 0, 0, 1, 1, UNHEARD])
    assert (judged.verdict != "nothing") == here
    assert judged.matches([0])[0] == pytest.approx(1 / (1 + math.exp(-(20 * score - 6))), abs=1e-5)


@pytest.mark.parametrize(("text", "here"), [("a red dog on grass", False), ("a red dog lies on grass", True)])
def test_fragments_and_sentences_have_limits_of_their_own(text: str, here: bool) -> None:
    said_n = np.array([0.4], np.float32)  # even odds
    known = replace(KNOWN, nothing_below=(0.7, 0.3))
    assert judged_by(known, said_n, text).verdict == ("found" if here else "nothing")


# -- a gallery


def test_scores_of_a_plain_query_are_used_again_and_judged_alike() -> None:
    gallery, texts = gallery_of(), ("red", "blue over green")
    parts = [
        Part("words", at, text, 1.0, ENCODER.words([text])[0], centred=True) for at, text in enumerate(texts, start=1)
    ]
    plain = Query(tuple(parts))
    scores = score_all(gallery, plain)
    again = judge_texts(gallery, texts, plain, scores)
    assert again is not None
    np.testing.assert_array_equal(again.scores_at(np.arange(len(gallery))), scores.total_n)
    for other in (
        replace(plain, parts=(*parts, replace(parts[0], kind="picture"))),
        replace(plain, parts=(parts[0], replace(parts[1], weight=-1.0))),
        # A system that reads the same words as another vector.
        replace(plain, parts=(parts[0], replace(parts[1], vector_d=ENCODER.words(["white"])[0]))),
    ):
        own = judge_texts(gallery, texts, other, score_all(gallery, other))
        assert own is not None
        two = np.array([0, 7])
        np.testing.assert_allclose(own.scores_at(two), again.scores_at(two), atol=1e-6)
        np.testing.assert_allclose(own.features_f, again.features_f, atol=1e-6)


def test_without_words_or_pictures_nothing_is_judged() -> None:
    query = Query(())
    for gallery, texts in (
        (gallery_of(), ()),
        (gallery_of(0), ("red",)),
    ):
        assert judge_texts(gallery, texts, query, score_all(gallery, query)) is None


# -- live searches


def test_what_is_there_is_found_and_what_is_not_is_said() -> None:
    hits = session().say("green over blue")
    assert (hits.verdict, hits[0].match) == ("found", "likely")
    assert LOOKS[int(hits[0].id[1:])] == ("green", "blue")
    assert session().say("a submarine").verdict == "nothing"


def test_between_nothing_and_likelier_than_not_it_is_unsure() -> None:
    # By the first curve nothing is here, by the second the best hit is no more than "maybe" it.
    here, match = (*KNOWN.here[:-1], -40.0), (0.0,) * 9 + (-1.0,)
    unsure = ColourEncoder(calibration=replace(KNOWN, here=here, match=match, nothing_below=(0.0, 0.0)))
    assert session(gallery=gallery_of(encoder=unsure)).say("green over blue").verdict == "unsure"


def test_a_verdict_stays_when_an_answer_is_chosen() -> None:
    live = session()
    first = live.say("blue over green")
    answered = live.take(Answer(WHICH_TOP, "blue"))
    assert live.ranking().query.evidence
    assert (first.verdict, answered.verdict) == ("found", "found")
    assert (answered[0].id, answered[0].match) == (first[0].id, first[0].match)


def test_a_submarine_is_not_there_whatever_is_chosen() -> None:
    live = session()
    live.say("a submarine")
    assert live.take(Answer(WHICH_TOP, "red")).verdict == "nothing"


def test_without_words_how_far_a_picture_stands_out_decides() -> None:
    # Of 64 pictures one is the very same; the curves, by which all scores of likeness are high, are not asked.
    unmeasured = session(gallery=gallery_of(encoder=ColourEncoder()))
    assert session().like("p010").verdict == unmeasured.like("p010").verdict


def test_words_that_captions_of_the_best_pictures_have_are_known_here() -> None:
    # By how common the words are, alone: as many captions as one of a hundred are even odds.
    by_words = (0.0,) * 7 + (5.0, 0.0, 12.0)
    encoder = ColourEncoder(calibration=replace(KNOWN, here=by_words, match=by_words))
    pictures = Pictures(("a", "b"), encoder.words(["red", "blue"]), encoder)
    captions = {"a": "a submarine that surfaces"}
    for gallery, verdict in ((pictures.gallery(), "nothing"), (pictures.gallery(captions=captions), "found")):
        assert session(gallery=gallery).say("a submarine").verdict == verdict
