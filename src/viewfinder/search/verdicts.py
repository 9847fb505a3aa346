"""The meaning of scores: is the wanted picture here at all, and which hits are it?"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from statistics import fmean
from typing import Literal

import numpy as np
from jaxtyping import Float, Float32, Int64

from viewfinder.encoders.base import Calibration
from viewfinder.search.kernels import top_k
from viewfinder.wording.stems import stems
from viewfinder.wording.stop_words import WITHOUT_CONTENT, content_stems

Match = Literal["likely", "maybe", "unlikely"]
Verdict = Literal["found", "unsure", "nothing"]

MIN_LIKELY, MIN_MAYBE = 0.5, 0.2
"""Chances above which a hit is called likely, or maybe; docs/benchmarks.md tells what they amount to."""

OUTLIER_WEIGHT, OUTLIER_BIAS = 2.0, -6.0
"""Without a calibration: a hit three standard deviations above the collection's mean has an even chance."""


def outlier_chance(score: float, mean: float, deviation: float) -> float:
    """The chance that a picture is meant, by how far its score stands out in the collection, on a logistic curve.

    For conversations without words, and for encoders without a calibration.
    """
    # In a collection of one picture, or of equal ones, nothing stands out; scores were rounded to 1e-4 before.
    outlier = (score - mean) / max(deviation, 1e-3)
    return 1 / (1 + math.exp(-min(max(OUTLIER_WEIGHT * outlier + OUTLIER_BIAS, -50.0), 50.0)))


def judge_matches(chances: Iterable[float]) -> list[Match]:
    """The words for chances."""
    return ["likely" if chance >= MIN_LIKELY else "maybe" if chance >= MIN_MAYBE else "unlikely" for chance in chances]


def judge_result(best_chance: float | None) -> Verdict:
    """The word for a whole result, by the chance of its best hit; None if there is no hit."""
    if best_chance is None or best_chance < MIN_MAYBE:
        return "nothing"
    return "found" if best_chance >= MIN_LIKELY else "unsure"


def agree_verdict(verdict: Verdict, best_chance: float) -> Verdict:
    """The verdict that goes with the chance of the best hit: never "found" above a first hit that is unlikely.

    Nor "nothing" above one that may be it, nor a doubt above a likely one: what is shown contradicts no header.
    """
    if best_chance >= MIN_LIKELY:
        return "found"
    if best_chance >= MIN_MAYBE:
        return "found" if verdict == "found" else "unsure"
    return "nothing" if verdict == "nothing" else "unsure"


def fall_along(chances: Sequence[float]) -> list[float]:
    """Chances that never rise down the list: no hit is likelier than one that is shown before it.

    >>> fall_along([0.4, 0.6, 0.2])
    [0.4, 0.4, 0.2]
    """
    return list(accumulate(chances, min))


# -- what was said, judged against a collection
# Whatever the retriever, what was said is compared with the collection in the encoder's own space. Two logistic curves
# turn this into chances: how near the best pictures come to the usual score of a picture that is meant, how far they
# stand out, how much was said, in how common words, and how large the collection is. They were fitted on photographs
# with people who speak in sentences and in fragments (`tuning.verdicts`).

FEATURES = ("crowd", "deviation", "mean", "expected", "log size", "words", "turns", "familiar")
"""The mean of the ten best scores, the deviation and mean of all, the score expected, log10 of the number of pictures,
words a turn (13 at most), turns (5 at most), how common the words are. Every curve then has a score, and 1."""

UNHEARD, NAMED_HERE = -5.0, -2.0
"""log10 of the share of captions that have a word: for a word in no caption, and the least for one in a caption of the
best pictures of the collection itself."""

CROWD, MAX_WORDS_COUNTED, MAX_TURNS_COUNTED = 10, 13, 5

MIN_SENTENCE_WORDS = 6
"""From this many words per turn on average, people speak in sentences."""


def mean_familiarity(familiar: Mapping[str, float], texts: Iterable[str], named: Collection[str] = ()) -> float:
    """How common the words said are: the mean log10 of the share of captions that have each; `named` are known here."""
    words = content_stems(texts)
    shares = [max(familiar.get(word, UNHEARD), NAMED_HERE if word in named else UNHEARD) for word in words]
    return fmean(shares) if shares else UNHEARD


def find_unheard(familiar: Mapping[str, float], text: str) -> tuple[str, ...]:
    """The words of a text that are in no caption which the encoder learnt from, where they are half of it or more.

    Such a text is of another language, about something rare, or misspelt.

    >>> known = {"dog": -1.0, "snow": -1.5}
    >>> find_unheard(known, "a dog in the snow"), find_unheard(known, "ein Hund im Schnee")
    ((), ('ein', 'Hund', 'Schnee'))
    """
    words = [word for word in re.findall(r"[^\W\d_]+", text) if len(word) > 2 or not word.isascii()]
    content = [word for word in dict.fromkeys(words) if word.lower() not in WITHOUT_CONTENT]
    unheard = tuple(word for word in content if not any(stem in familiar for stem in stems(word)))
    return unheard if 2 * len(unheard) >= len(content) else ()


@dataclass(frozen=True)
class Spread:
    """The distribution of a collection's scores: of how many, the mean of the `CROWD` best, the best of all."""

    size: int
    mean: float
    deviation: float
    crowd: float
    highest: float

    @staticmethod
    def of(total_n: Float32[np.ndarray, " n"], best_c: Float32[np.ndarray, " c"] | None = None) -> Spread:
        """The spread of the scores of all pictures, at least one; `best_c`: the best of them, where they are known."""
        mean = total_n.mean()
        centred_n = total_n - mean  # a dot product is one pass, where `std` makes three
        deviation = math.sqrt(np.dot(centred_n, centred_n) / len(total_n))
        return Spread.of_best(total_n if best_c is None else best_c, len(total_n), float(mean), deviation)

    @staticmethod
    def of_best(best_c: Float32[np.ndarray, " c"], size: int, mean: float, deviation: float) -> Spread:
        """The spread if `best_c` holds the best of `size` pictures, whose mean and deviation are known."""
        crowd_k = best_c[top_k(best_c, CROWD)]
        return Spread(size, mean, deviation, float(crowd_k.mean()), float(crowd_k[0]))


def conversation_features(
    said: Spread, expected: float, familiar: float, texts: Sequence[str]
) -> Float[np.ndarray, " f"]:
    """The `FEATURES` of what was said: `said` are the scores of all pictures for all texts together."""
    words = fmean(len(text.split()) for text in texts)
    return np.array(
        [
            said.crowd, said.deviation, said.mean, expected, math.log10(said.size),
            min(words, MAX_WORDS_COUNTED), min(len(texts), MAX_TURNS_COUNTED), familiar,
        ]
    )  # fmt: skip


def speaks_in_sentences(texts: Sequence[str]) -> bool:
    """Whether people spoke in sentences rather than fragments.

    >>> speaks_in_sentences(["a dog runs over the beach"]), speaks_in_sentences(["dog beach", "brown"])
    (True, False)
    """
    return fmean(len(text.split()) for text in texts) >= MIN_SENTENCE_WORDS


def is_in_sentences(features_f: Float[np.ndarray, " f"]) -> bool:
    """Whether people spoke in sentences rather than fragments, by the features."""
    return bool(features_f[FEATURES.index("words")] >= MIN_SENTENCE_WORDS)


def expected_score(calibration: Calibration, texts_md: Float[np.ndarray, "m d"]) -> float:
    """The usual score of a picture that the texts are about, by their vectors; the mean over the texts."""
    return float((texts_md @ calibration.expected[:-1] + calibration.expected[-1]).mean())


def curve(weights: Sequence[float], features_f: Float[np.ndarray, " f"], score: float, nats: float = 0.0) -> float:
    """A chance: the logistic of the weighted features and the score, the bias last; `nats` is other evidence."""
    *weights_f, slope, bias = weights
    logit = float(np.dot(weights_f, features_f)) + bias + slope * score + nats
    return 1 / (1 + math.exp(-min(max(logit, -50.0), 50.0)))


def curves(
    weights: Sequence[float],
    features_f: Float[np.ndarray, " f"],
    scores_k: Float[np.ndarray, " k"],
    nats_k: Float[np.ndarray, " k"] | float = 0.0,
) -> Float[np.ndarray, " k"]:
    """`curve` for several scores at once."""
    *weights_f, slope, bias = weights
    logits_k = np.dot(weights_f, features_f) + bias + slope * scores_k + nats_k
    return np.asarray(1 / (1 + np.exp(-np.clip(logits_k, -50.0, 50.0))))


def mean_odds(nats_n: Float32[np.ndarray, " n"]) -> float:
    """The logarithm of the mean of likelihood ratios given as logarithms, most of them 0."""
    telling_k = nats_n[nats_n != 0].astype(np.float64)
    highest = telling_k.max(initial=0.0)
    whole = np.exp(telling_k - highest).sum() + (len(nats_n) - len(telling_k)) * np.exp(-highest)
    return float(np.log(whole / len(nats_n)) + highest)


CERTAIN_NATS = 50.0
"""Nats that settle it: a picture of which every word said is written is what was said, however it looks."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """The texts of a conversation judged against a collection.

    `scores_at` gives pictures' scores for it, `highest` is the best picture's; `written_n` says how much likelier each
    is meant given what is written about it, in nats: Bayes' rule adds that to the log odds. `CERTAIN_NATS`: every word
    is written about it.
    """

    calibration: Calibration
    features_f: Float[np.ndarray, " f"]
    highest: float
    scores_at: Callable[[Int64[np.ndarray, " k"]], Float[np.ndarray, " k"]]
    written_n: Float32[np.ndarray, " n"] | None = None

    @cached_property
    def verdict(self) -> Verdict:
        """Whether what was said is here: found if that is likelier than not."""
        # If it is here, any picture may be meant: the mean over all of them.
        written = 0.0 if self.written_n is None else mean_odds(self.written_n)
        chance = curve(self.calibration.here, self.features_f, self.highest, written)
        limit = self.calibration.nothing_below[is_in_sentences(self.features_f)]
        return "nothing" if chance < limit else "found" if chance >= MIN_LIKELY else "unsure"

    def matches(self, rows: Sequence[int]) -> list[float]:
        """The chances of some pictures."""
        rows_k = np.asarray(rows, np.int64)
        scores_k = self.scores_at(rows_k).astype(np.float64)
        written_k = 0.0 if self.written_n is None else self.written_n[rows_k].astype(np.float64)
        return [float(chance) for chance in curves(self.calibration.match, self.features_f, scores_k, written_k)]


def judge_conversation(
    calibration: Calibration,
    said: Spread,
    scores_at: Callable[[Int64[np.ndarray, " k"]], Float[np.ndarray, " k"]],
    texts_md: Float[np.ndarray, "m d"],
    texts: Sequence[str],
    named: Collection[str] = (),
) -> Judgement:
    """The judgement of `texts` (vectors `texts_md`) on a collection of at least one picture.

    `said` is the spread of all pictures' scores for them, `scores_at` gives those of some; `named`: stems that captions
    of the best pictures have.
    """
    familiar = mean_familiarity(calibration.familiar, texts, named)
    features_f = conversation_features(said, expected_score(calibration, texts_md), familiar, texts)
    return Judgement(calibration, features_f, said.highest, scores_at)
