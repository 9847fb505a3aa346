"""Learning what scores mean: fragments, weights and curves by hand, and a drawn world that is told from what is not."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence

import numpy as np
import pytest
from jaxtyping import Float, Float32

from viewfinder.encoders.base import Calibration, unit_rows
from viewfinder.encoders.starter.encoder import NAMES, RAW_WIDTH, VISUAL, Head
from viewfinder.encoders.starter.fit import CaptionedVectors
from viewfinder.search.verdicts import MIN_LIKELY, Judgement, Spread, judge_conversation
from viewfinder.tuning import verdicts
from viewfinder.tuning.verdicts import (
    Photographs,
    balance_by_turn,
    calibrate_collection,
    calibrate_conversations,
    count_familiar,
    fit_expected,
    fit_logistic,
    make_fragment,
)
from viewfinder.wording.stems import stems
from viewfinder.wording.stop_words import WITHOUT_CONTENT

CAPTION = "A brown dog is running on the wide beach with 2 sticks"
COLOURS = ("red", "blue", "green", "black", "white", "brown")
THINGS = ("dog", "horse", "bird", "boat", "house", "tree", "man", "woman", "ball", "car")
PLACES = ("park", "street", "field", "river", "hill", "city")
WIDTH = 48


def test_a_fragment_is_one_to_four_words_side_by_side_without_small_ones() -> None:
    words = "brown dog running wide beach sticks"
    fragments = [make_fragment(CAPTION, random.Random(seed)) for seed in range(200)]
    assert all(fragment in words for fragment in fragments)
    assert {len(fragment.split()) for fragment in fragments} == {1, 2, 3, 4}
    assert not WITHOUT_CONTENT & {word for fragment in fragments for word in fragment.split()}
    assert make_fragment("It is on a.", random.Random(0)) == "It is on a."


def test_what_is_here_and_what_is_not_count_the_same_in_every_turn() -> None:
    turns_k, there_k = np.array([1, 1, 1, 2, 2, 3]), np.array([True, True, False, True, False, True])
    # 1/2 + 1/2 against 1, 1 against 1, and a turn where all is there: none; six in all.
    assert balance_by_turn(turns_k, there_k).tolist() == pytest.approx([0.75, 0.75, 1.5, 1.5, 1.5, 0])


def test_a_known_curve_is_found_whatever_its_features_are_measured_in() -> None:
    rng = np.random.default_rng(0)
    rows_kf = np.stack([rng.normal(0, 1, 5000), rng.normal(0, 100, 5000), np.ones(5000)], axis=1)
    chance_k = 1 / (1 + np.exp(-(2 * rows_kf[:, 0] - 0.01 * rows_kf[:, 1] + 0.5)))
    one, other, bias = fit_logistic(rows_kf, rng.random(5000) < chance_k, np.ones(5000))
    assert (one, other * 100, bias) == pytest.approx((2, -1, 0.5), abs=0.15)
    # Labels that count for nothing are not learnt from.
    weights_k = np.r_[np.ones(2500), np.zeros(2500)]
    labels_k = rng.random(5000) < chance_k
    assert fit_logistic(rows_kf, np.r_[labels_k[:2500], ~labels_k[2500:]], weights_k)[0] == pytest.approx(2, abs=0.3)


# -- a drawn world: a text's vector is the sum of those of its words, a photograph's nearly that of its three words


def sentences(texts: Sequence[str]) -> Float32[np.ndarray, "m s"]:
    rows_ms = np.zeros((len(texts), NAMES), np.float32)
    for row_s, text in zip(rows_ms, texts, strict=True):
        for word in sorted(set(stems(text)) - WITHOUT_CONTENT):
            row_s[:WIDTH] += np.random.default_rng(list(word.encode())).standard_normal(WIDTH)
    return np.asarray(unit_rows(rows_ms), np.float32)


def photographs(count: int, seed: int) -> Photographs:
    """Of the set "flickr" but for each fifth, which may show any thing."""
    rng = np.random.default_rng(seed)
    shown = [[str(rng.choice(words)) for words in (COLOURS, THINGS, PLACES)] for _ in range(count)]
    forms = ("a {} {} in the {}", "there is a {} {} by the {}", "{} {} at some {}")
    texts = tuple(form.format(*words) for words in shown for form in forms)
    raw_nr = np.zeros((count, RAW_WIDTH), np.float32)
    seen_ns = sentences([" ".join(words) for words in shown])[:, :WIDTH]
    raw_nr[:, VISUAL : VISUAL + WIDTH] = seen_ns + 0.05 * rng.standard_normal(seen_ns.shape)
    vectors = CaptionedVectors(raw_nr[None], sentences(texts), np.repeat(np.arange(count), 3), texts)
    return Photographs(vectors, tuple("other" if at % 5 == 0 else "flickr" for at in range(count)))


def world_head() -> Head:
    bank_md = sentences([f"a {colour} thing at the {place}" for colour in COLOURS for place in PLACES])[:, :WIDTH]
    return Head(
        visual_xd=np.zeros((VISUAL, WIDTH), np.float32),
        visual_bias_d=np.zeros(WIDTH, np.float32),
        sentence_mean_s=np.zeros(NAMES, np.float32),
        sentence_sd=np.eye(NAMES, WIDTH, dtype=np.float32),
        names_mean_s=np.zeros(NAMES, np.float32),
        names_mix=1.0,
        bank_md=bank_md,
        labels_ld=np.zeros((0, WIDTH), np.float32),
    )


def test_a_drawn_world_is_told_from_what_is_not_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "KINDS", "dog horse bird boat")
    monkeypatch.setattr(verdicts, "SIZES", (30, 60))
    head, started = world_head(), time.process_time()
    not_there = [f"a {name} with {other}" for name in ("submarine", "volcano", "barcode") for other in ("ice", "gold")]
    known = calibrate_conversations(head, sentences, photographs(60, 1), photographs(120, 2), not_there)
    assert time.process_time() - started < 10  # a second on a machine that does nothing else

    asked = photographs(50, 3)
    pictures_nd = head.pictures(asked.vectors.raw_vnr[0])
    background_n = head.background(pictures_nd)

    def judged(texts: Sequence[str]) -> Judgement:
        texts_md: Float[np.ndarray, "m d"] = head.sentences(sentences(texts), texts)
        said_n = (texts_md.mean(axis=0) @ pictures_nd.T - background_n).astype(np.float32)
        return judge_conversation(known, Spread.of(said_n), lambda rows_k: said_n[rows_k], texts_md, texts)

    there = [judged(asked.vectors.texts[3 * n : 3 * n + 2]) for n in range(50)]
    absent = [
        judged([f"a {name} and a {other}"]) for name in ("tank", "jellyfish", "chart") for other in ("x-ray", "gun")
    ]
    assert np.mean([one.verdict != "nothing" for one in there]) > 0.9
    assert np.mean([one.verdict != "nothing" for one in absent]) < 0.2
    # Of what is there the picture meant is likelier than the others.
    own = [one.matches([n])[0] for n, one in enumerate(there)]
    others = [one.matches([(n + 7) % 50])[0] for n, one in enumerate(there)]
    assert np.mean(own) > 0.7
    assert np.mean(others) < 0.3
    again = calibrate_conversations(head, sentences, photographs(60, 1), photographs(120, 2), not_there)
    assert (again.here, again.match, again.nothing_below) == (known.here, known.match, known.nothing_below)


def test_a_collection_says_itself_what_its_scores_mean() -> None:
    head, shop = world_head(), photographs(150, 4).vectors
    values = [text.split()[:2] for text in shop.texts[2::3]]  # "brown dog at some hill": colour and thing
    seen_nd = head.pictures(shop.raw_vnr[0])
    background_n = head.background(seen_nd)
    # Curves that call everything here and likely.
    hopeful = Calibration((0.0,) * 9 + (5.0,), (0.0,) * 9 + (5.0,), (0.1, 0.1), np.zeros(WIDTH + 1, np.float32))
    known = calibrate_collection(hopeful, head, sentences, shop, (seen_nd, background_n), values)
    held = [" ".join(pair) for pair in values]
    others = [f"{colour} {thing}" for colour in COLOURS for thing in THINGS if f"{colour} {thing}" not in held]

    def likely(text: str) -> tuple[str, list[bool]]:
        texts_md = head.sentences(sentences([text]), [text])
        said_n = (texts_md[0] @ seen_nd.T - background_n).astype(np.float32)
        judged = judge_conversation(known, Spread.of(said_n), lambda rows_k: said_n[rows_k], texts_md, [text])
        best = np.argsort(-said_n)[:10].tolist()
        return judged.verdict, [held[row] == text for row in best if judged.matches([row])[0] >= MIN_LIKELY]

    here, absent = [likely(text) for text in sorted(set(held))], [likely(text) for text in others]
    assert len(absent) >= 3
    assert np.mean([verdict == "found" for verdict, _ in here]) > 0.8
    assert np.mean([verdict == "found" for verdict, _ in absent]) < 0.3
    right = [good for _, found in (*here, *absent) for good in found]
    assert len(right) > 50
    assert np.mean(right) > 0.8
    again = calibrate_collection(hopeful, head, sentences, shop, (seen_nd, background_n), values)
    assert (again.here, again.match, again.nothing_below) == (known.here, known.match, known.nothing_below)


def test_words_of_several_captions_are_familiar_and_those_of_one_or_two_are_not() -> None:
    captions = ["a red dog", "red dogs in the snow", "the dog and a red ball", "two red balls", "a red kite"]
    # Of five captions three have a dog, all have red, two a ball.
    assert count_familiar(captions) == {"dog": round(math.log10(3 / 5), 2), "red": 0.0}


def test_the_score_expected_is_nearer_to_the_score_than_the_mean_is() -> None:
    head, kind = world_head(), photographs(150, 4).vectors
    expected = fit_expected(head, sentences, kind)
    texts_md = head.sentences(kind.captions_ms, kind.texts)
    pictures_nd = head.pictures(kind.raw_vnr[0])
    scores_m = (texts_md * pictures_nd[kind.owners_m]).sum(axis=1) - head.background(pictures_nd)[kind.owners_m]
    assert expected.shape == (WIDTH + 1,)
    assert np.std(scores_m - (texts_md @ expected[:-1] + expected[-1])) < np.std(scores_m)
