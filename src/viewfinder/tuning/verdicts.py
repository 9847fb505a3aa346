"""Learning what scores mean: the curves of `index.scores`, from conversations about photographs of `choose`.

People speak in sentences or in fragments of one to four words, in one to three turns. "Not here" is a photograph of a
kind of thing that no caption of the gallery names, because the set has none or because all of them were removed, or
something that no photograph shows. A hit is what was said if it is the photograph meant, if its captions have all
words that were said, or if one of them says nearly the same.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from viewfinder.encoders.base import Calibration
from viewfinder.encoders.starter.encoder import Head
from viewfinder.encoders.starter.fit import CaptionedVectors
from viewfinder.query import Query
from viewfinder.search.verdicts import (
    FEATURES,
    UNHEARD,
    Spread,
    conversation_features,
    curve,
    is_in_sentences,
    mean_familiarity,
    mean_odds,
)
from viewfinder.users.photographs import cut_fragment
from viewfinder.wording.stems import stems
from viewfinder.wording.stop_words import WITHOUT_CONTENT, content_stems

KINDS = """
dog horse bird cat bicycle boat snow beach guitar pool mountain skateboard football soccer basketball tennis motorcycle
train bus kitchen bathroom bedroom toilet sink shower towel cabinet stove refrigerator oven microwave pizza cake donut
sandwich banana broccoli giraffe elephant zebra sheep cow airplane laptop keyboard monitor desk lamp curtain clock vase
surfboard frisbee umbrella kite teddy suitcase scissors hydrant meter tent fountain
"""
"""Things that are missing from a gallery."""

NEARLY_THE_SAME = 0.6
"""Cosine of sentence vectors above which another caption says what was said."""

LOST = 0.035
"""Of the conversations whose picture is among the first ten, the share that may be told "nothing like that here", in
sentences and in fragments alike."""

SIZES = (150, 450, 1200)
"""Sizes of the galleries that are searched."""

STYLES = ("sentences", "fragments", "mixed")

MAIN = "flickr"
"""Prefix of the sets that galleries are drawn from."""

MIN_FAMILIAR_CAPTIONS = 3
"""A word counts as known if so many captions have it."""

MAX_TURNS = 3
JUDGED_HITS = (0, 1, 2, 5, 9)
EXPECTED_RIDGE = 3.0


@dataclass(frozen=True)
class Sample:
    """One turn of a conversation, judged."""

    turn: int
    features_f: Float[np.ndarray, " f"]
    best: float
    rank: int | None  # of the picture meant; None: there is none
    hits: tuple[tuple[float, bool], ...]  # scores, and whether they are what was said

    @property
    def spoken(self) -> bool:
        """Whether it was said in sentences."""
        return is_in_sentences(self.features_f)


@dataclass(frozen=True)
class Photographs:
    """Photographs as vectors, and the set of each."""

    vectors: CaptionedVectors
    sets: tuple[str, ...]


Texts = Callable[[Sequence[str]], Float[np.ndarray, "m s"]]
"""Texts to sentence vectors."""


MIN_WORD_LENGTH = 3
"""Letters of a word in a fragment."""


def make_fragment(caption: str, rng: random.Random) -> str:
    """A few words of a caption, as people type them."""
    return cut_fragment(caption, rng, WITHOUT_CONTENT, MIN_WORD_LENGTH)


def calibrate_conversations(
    head: Head, sentences: Texts, choose: Photographs, fit: Photographs, not_there: Sequence[str], *, seed: int = 0
) -> Calibration:
    """The curves for a head; `fit` fills galleries and tells what scores to expect, `choose` is searched for."""
    rng = random.Random(seed)
    expected = fit_expected(head, sentences, fit.vectors.of(np.arange(0, len(fit.vectors), 3)))
    gallery = _Gallery(head, sentences, expected, choose, fit)
    samples = [sample for style in STYLES for sample in _hold_conversations(gallery, style, not_there, rng)]
    judged = [sample for sample in samples if sample.rank is None or sample.rank < 10]
    there = np.array([sample.rank is not None for sample in judged])
    here = fit_logistic(
        np.stack([[*sample.features_f, sample.best, 1.0] for sample in judged]),
        there,
        balance_by_turn(np.array([sample.turn for sample in judged]), there),
    )
    hits = [(sample.features_f, score, good) for sample in samples for score, good in sample.hits]
    match = fit_logistic(
        np.stack([[*features_f, score, 1.0] for features_f, score, _ in hits]),
        np.array([good for *_, good in hits]),
        np.ones(len(hits)),
    )
    found = [(one.spoken, curve(here, one.features_f, one.best)) for one in judged if one.rank is not None]
    # With little data, all those found may have spoken alike.
    fragments, spoken = (
        float(np.quantile([chance for way, chance in found if way == wanted] or [chance for _, chance in found], LOST))
        for wanted in (False, True)
    )
    return Calibration(here, match, (fragments, spoken), expected, gallery.familiar, is_own=False)


def count_familiar(captions: Sequence[str]) -> dict[str, float]:
    """`Calibration.familiar` of captions: log10 of the share of every stem that is not too rare, rounded."""
    counts = Counter(word for caption in captions for word in set(content_stems([caption])))
    return {
        word: round(math.log10(count / len(captions)), 2)
        for word, count in sorted(counts.items())
        if count >= MIN_FAMILIAR_CAPTIONS
    }


def balance_by_turn(turns_k: Int[np.ndarray, " k"], there_k: Bool[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
    """Weights that make what is here and what is not count the same in every turn; 0 in turns with only one of them.

    Conversations about what is not here are shorter: otherwise a second turn would count as a sign of being here.
    """
    weights_k = np.zeros(len(turns_k))
    for turn in np.unique(turns_k):
        sides = [np.flatnonzero((turns_k == turn) & (there_k == side)) for side in (True, False)]
        if all(map(len, sides)):
            for rows in sides:
                weights_k[rows] = 1 / len(rows)
    return np.asarray(weights_k * (len(weights_k) / max(weights_k.sum(), 1e-9)))


def fit_expected(
    head: Head, sentences: Texts, kind: CaptionedVectors, seed: int = 0
) -> Float32[np.ndarray, " weights"]:
    """Ridge regression of a picture's score for its own captions, and fragments of them, on the texts' vectors."""
    rng = random.Random(seed)
    pictures_nd = head.pictures(kind.raw_vnr[0].astype(np.float32))
    background_n = head.background(pictures_nd)
    texts = [*kind.texts, *(make_fragment(text, rng) for text in kind.texts)]
    vectors_md = head.sentences(np.concatenate([kind.captions_ms, sentences(texts[len(kind.texts) :])]), texts)
    owners_m = np.concatenate([kind.owners_m, kind.owners_m])
    scores_m = (vectors_md * pictures_nd[owners_m]).sum(axis=1) - background_n[owners_m]
    mean_d, mean = vectors_md.mean(axis=0), scores_m.mean()
    centred_md = vectors_md - mean_d
    gram_dd = centred_md.T @ centred_md + EXPECTED_RIDGE * np.eye(len(mean_d))
    weights_d = np.linalg.solve(gram_dd, centred_md.T @ (scores_m - mean))
    return np.asarray([*weights_d, mean - mean_d @ weights_d], np.float32)


def fit_logistic(
    rows_kf: Float[np.ndarray, "k f"], labels_k: Bool[np.ndarray, " k"], weights_k: Float[np.ndarray, " k"]
) -> tuple[float, ...]:
    """Weights of a logistic regression, the last column being 1."""
    from sklearn.linear_model import LogisticRegression

    deviation_f = rows_kf[:, :-1].std(axis=0) + 1e-9
    found = LogisticRegression(max_iter=5000)
    found.fit(rows_kf[:, :-1] / deviation_f, labels_k, sample_weight=weights_k)
    return (*(found.coef_[0] / deviation_f).tolist(), float(found.intercept_[0]))


Written = Callable[[str], Float32[np.ndarray, " n"] | None]
"""How much likelier each picture's written texts make it that a text is said of it, in nats; None: not at all."""

NEAR = 1.0
"""How strongly the curves of a collection are tied to those of photographs: like so many examples."""

MAX_ASKED = 400
"""How many pictures of a collection are asked for."""

SHARES_NEW = (0.0, 0.2)
"""Possible shares of a collection's pictures that are newer than what was learnt."""

MAX_TRIES = 4
"""Fragments, or pairs of values, of which the most specific is asked."""


def calibrate_collection(
    known: Calibration,
    head: Head,
    sentences: Texts,
    kind: CaptionedVectors,
    new: tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]],
    values: Sequence[Sequence[str]],
    written: Written | None = None,
    *,
    seed: int = 0,
) -> Calibration:
    """The curves for a head on the collection it has learnt, near those that are `known`.

    Every picture is asked for by a text about it, by a fragment or by two of its `values`: once in the full collection,
    and once without all pictures of which these words hold. `new` are vectors and backgrounds of the pictures as a head
    that has not learnt them sees them: half of those asked for, and none or some of the others, are taken to be new.
    """
    rng = random.Random(seed)
    expected = fit_expected(head, sentences, kind)
    own_nd = head.pictures(kind.raw_vnr[0])
    own_n, (new_nd, new_n) = head.background(own_nd), new
    drawn = np.random.default_rng(seed)
    own = count_familiar(kind.texts)
    familiar = {
        word: max(known.familiar.get(word, UNHEARD), own.get(word, UNHEARD)) for word in (*known.familiar, *own)
    }
    texts_n: list[list[str]] = [[] for _ in own_nd]
    for owner, text in zip(kind.owners_m.tolist(), kind.texts, strict=True):
        texts_n[owner].append(text)
    words_n = [set(stems(" ".join((*texts, *held)))) for texts, held in zip(texts_n, values, strict=True)]
    judged = _Judged()
    for n in rng.sample(range(len(own_nd)), min(MAX_ASKED, len(own_nd))):
        # Of several ways to say it, the one that fits fewest: near fits are hardest to tell from what is meant.
        text, meant_n = min(
            ((said, _find_holding(said, words_n)) for said in _word_request(texts_n[n], values[n], rng)),
            key=lambda tried: int(tried[1].sum()),
        )
        meant_n[n] = True
        vector_d = head.sentences(sentences([text]), [text])[0]
        as_new_n = drawn.random(len(own_nd)) < rng.choice(SHARES_NEW)
        as_new_n[meant_n] = rng.random() < 0.5
        score_n = np.where(as_new_n, new_nd @ vector_d - new_n, own_nd @ vector_d - own_n).astype(np.float32)
        nats_n = None if written is None else written(text)
        nats_n = np.zeros(len(score_n), np.float32) if nats_n is None else nats_n
        told = (text, float(vector_d @ expected[:-1] + expected[-1]), mean_familiarity(familiar, [text]))
        judged.add(told, score_n, nats_n, meant_n)
    here_f, match_f = _fit_near(known.here, judged.here), _fit_near(known.match, judged.matches)
    return Calibration(here_f, match_f, judged.nothing_below(here_f, known.nothing_below), expected, familiar)


_Example = tuple[list[float], bool, float]
"""Features with a 1 at their end, the label, and the nats that written texts add."""


@dataclass
class _Judged:
    """Judged searches: is the wanted picture here, was each hit meant, was it asked for in a sentence?"""

    here: list[_Example] = field(default_factory=list)
    matches: list[_Example] = field(default_factory=list)
    spoken: list[bool] = field(default_factory=list)

    def add(
        self,
        told: tuple[str, float, float],
        score_n: Float32[np.ndarray, " n"],
        nats_n: Float32[np.ndarray, " n"],
        meant_n: Bool[np.ndarray, " n"],
    ) -> None:
        """A text, its usual score and how familiar it is: asked for in the collection, then without all it means."""
        text, usual, familiarity = told
        for rows_k in (np.arange(len(score_n)), np.flatnonzero(~meant_n)):
            if not len(rows_k):
                continue
            said_k, nats_k, is_here = score_n[rows_k], nats_n[rows_k], len(rows_k) == len(score_n)
            features_f = conversation_features(Spread.of(said_k), usual, familiarity, [text])
            features_f[FEATURES.index("log size")] = math.log10(len(score_n))  # must not reveal that some were removed
            order_k = np.argsort(-(said_k + nats_k / Query(()).sharpness), kind="stable")
            if is_here and not meant_n[order_k[:10]].any():
                continue
            self.here.append(([*features_f, float(said_k.max()), 1.0], is_here, mean_odds(nats_k)))
            self.spoken.append(is_in_sentences(features_f))
            self.matches += [
                ([*features_f, float(said_k[at]), 1.0], bool(meant_n[rows_k[at]]), float(nats_k[at]))
                for at in (order_k[place] for place in JUDGED_HITS if place < len(order_k))
            ]

    def nothing_below(self, here_f: Sequence[float], known: tuple[float, float]) -> tuple[float, float]:
        """Chances below which an answer is "nothing", for fragments and for sentences; the known ones if none was."""
        chances = [
            (way, 1 / (1 + math.exp(-(float(np.dot(here_f, row)) + nats))))
            for way, (row, is_here, nats) in zip(self.spoken, self.here, strict=True)
            if is_here
        ]
        fragments, sentence = (
            float(np.quantile([chance for way, chance in chances if way == wanted] or [known[wanted]], LOST))
            for wanted in (False, True)
        )
        return fragments, sentence


def _find_holding(text: str, words_n: Sequence[set[str]]) -> Bool[np.ndarray, " n"]:
    """Which pictures have all meaningful words of a text."""
    wanted = set(content_stems([text]))
    return np.array([wanted <= words for words in words_n])


def _word_request(texts: Sequence[str], values: Sequence[str], rng: random.Random) -> list[str]:
    """Words by which a picture may be searched for: a text about it, fragments of one, or two of its values."""
    way, text = rng.randrange(3), rng.choice(texts) if texts else " ".join(values)
    if way == 2 and len(values) > 1:
        return [" ".join(rng.sample(list(values), 2)).lower() for _ in range(MAX_TRIES)]
    return [text] if way == 0 else [make_fragment(text, rng) for _ in range(MAX_TRIES)]


def _fit_near(known: Sequence[float], judged: Sequence[_Example]) -> tuple[float, ...]:
    """Weights of a logistic regression near known ones, by Newton's method: rows, labels, and a known offset."""
    rows_kf, labels_k, nats_k = (np.array(column, np.float64) for column in zip(*judged, strict=True))
    mean_f = np.append(rows_kf[:, :-1].mean(axis=0), 0.0)
    scale_f = np.where(rows_kf.std(axis=0) > 1e-6, rows_kf.std(axis=0), 1.0)  # constant features tell nothing
    start_f = np.asarray(known) * scale_f
    start_f[-1] += float(np.dot(known, mean_f))
    rows_kf, weights_f = (rows_kf - mean_f) / scale_f, start_f.copy()
    for _ in range(50):
        chance_k = 1 / (1 + np.exp(-np.clip(rows_kf @ weights_f + nats_k, -50, 50)))
        slope_f = rows_kf.T @ (chance_k - labels_k) + NEAR * (weights_f - start_f)
        bend_ff = (rows_kf * (chance_k * (1 - chance_k))[:, None]).T @ rows_kf + NEAR * np.eye(len(weights_f))
        step_f = np.linalg.solve(bend_ff, slope_f)
        weights_f -= step_f / max(np.abs(step_f).max(), 1.0)  # a full step could overshoot
        if np.abs(step_f).max() < 1e-8:
            break
    weights_f /= scale_f
    weights_f[-1] -= float(np.dot(weights_f, mean_f))
    return tuple(weights_f.tolist())


def _hold_conversations(
    gallery: _Gallery, style: str, not_there: Sequence[str], rng: random.Random
) -> Iterator[Sample]:
    asked_n = [n for n in range(gallery.asked) if len(gallery.captions[n]) >= MAX_TURNS]
    for size in SIZES:
        rows_k = gallery.draw(size, rng)
        for n in rng.sample(asked_n, min(150, len(asked_n))):
            texts = [_word_turn(text, style, rng) for text in gallery.captions[n][:MAX_TURNS]]
            yield from gallery.ask(texts, np.union1d(rows_k, [n]), n)
        for text in rng.sample(list(not_there), min(40, len(not_there))):
            yield from gallery.ask([_word_turn(text, style, rng)], rows_k, None)
        for kind in KINDS.split():
            rest_k = np.array([n for n in rows_k if not gallery.names(n, kind)], np.int64)
            elsewhere = [n for n in gallery.others if gallery.names(n, kind)]
            for n in rng.sample(elsewhere, min(3, len(elsewhere))):
                said = [text for text in gallery.captions[n] if kind in text.lower()][:MAX_TURNS]
                texts = [_word_turn(text, style, rng, about=kind) for text in said]
                yield from gallery.ask(texts, rest_k, None)


def _word_turn(text: str, style: str, rng: random.Random, about: str = "") -> str:
    """The text, or a fragment of it that has `about` in it, if one of twenty does."""
    if style == STYLES[0] or (style == STYLES[2] and rng.random() < 0.5):
        return text
    tried = [make_fragment(text, rng) for _ in range(20 if about else 1)]
    return next((fragment for fragment in tried if about in fragment), tried[0])


class _Gallery:
    """The photographs of both parts, those asked about first, in the space of a head.

    Galleries are drawn from the sets with most pictures (`MAIN`); the `others` are asked for as "not here".
    """

    def __init__(
        self,
        head: Head,
        sentences: Texts,
        expected: Float32[np.ndarray, " weights"],
        choose: Photographs,
        fit: Photographs,
    ) -> None:
        self._head, self._sentences, self._expected = head, sentences, expected
        kinds = (choose.vectors, fit.vectors)
        self.asked = len(choose.vectors)
        self._pictures_nd = np.concatenate([head.pictures(kind.raw_vnr[0].astype(np.float32)) for kind in kinds])
        self._background_n = head.background(self._pictures_nd)
        self.captions: list[list[str]] = [[] for _ in self._pictures_nd]
        self._rows_of: list[list[int]] = [[] for _ in self._pictures_nd]
        owners_m = np.concatenate([choose.vectors.owners_m, fit.vectors.owners_m + self.asked])
        for m, (owner, text) in enumerate(zip(owners_m.tolist(), (*kinds[0].texts, *kinds[1].texts), strict=True)):
            self.captions[owner].append(text)
            self._rows_of[owner].append(m)
        self._words = [{word for text in texts for word in stems(text)} for texts in self.captions]
        self._captions_ms = np.concatenate([kind.captions_ms for kind in kinds])
        self.familiar = count_familiar(fit.vectors.texts)
        is_main = [name.startswith(MAIN) for name in (*choose.sets, *fit.sets)]
        self._main = [n for n, main in enumerate(is_main) if main]
        self.others = [n for n, main in enumerate(is_main) if not main]

    def draw(self, size: int, rng: random.Random) -> Int[np.ndarray, " k"]:
        """First photographs that no head was fitted on, then others as filling."""
        own = [n for n in self._main if n < self.asked]
        more = [n for n in self._main if n >= self.asked]
        chosen = rng.sample(own, min(size, len(own)))
        return np.array(sorted([*chosen, *rng.sample(more, min(max(size - len(chosen), 0), len(more)))]), np.int64)

    def names(self, n: int, kind: str) -> bool:
        """Whether a caption of a photograph names a kind of thing."""
        return any(kind in text.lower() for text in self.captions[n])

    def ask(self, texts: Sequence[str], rows_k: Int[np.ndarray, " k"], meant: int | None) -> Iterator[Sample]:
        """The judged state of a conversation after each of its turns."""
        if not texts or not len(rows_k):
            return
        said_ms = self._sentences(texts)
        texts_md = self._head.sentences(said_ms, texts)
        scores_mk = texts_md @ self._pictures_nd[rows_k].T - self._background_n[rows_k]
        usual_m = texts_md @ self._expected[:-1] + self._expected[-1]
        for turn in range(1, len(texts) + 1):
            said_k = scores_mk[:turn].mean(axis=0).astype(np.float32)
            familiar = mean_familiarity(self.familiar, texts[:turn])
            features_f = conversation_features(Spread.of(said_k), float(usual_m[:turn].mean()), familiar, texts[:turn])
            order_k = np.argsort(-said_k, kind="stable")
            rank = None if meant is None else int(np.flatnonzero(rows_k[order_k] == meant)[0])
            judged = [order_k[at] for at in JUDGED_HITS if at < len(order_k)]
            is_said = [self._is_said(rows_k[at], meant, texts[:turn], said_ms[:turn]) for at in judged]
            hits = tuple(zip(said_k[judged].tolist(), is_said, strict=True))
            yield Sample(turn, features_f, float(said_k.max()), rank, hits)

    def _is_said(self, n: int, meant: int | None, texts: Sequence[str], said_ms: Float[np.ndarray, "m s"]) -> bool:
        wanted = set(content_stems(texts))
        if n == meant or wanted <= self._words[n]:
            return True
        mean_s = said_ms.mean(axis=0)
        likeness = self._captions_ms[self._rows_of[n]] @ (mean_s / np.linalg.norm(mean_s))
        return bool(likeness.max(initial=0.0) > NEARLY_THE_SAME)
