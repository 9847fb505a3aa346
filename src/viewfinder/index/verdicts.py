"""Whether what a conversation asks for is here at all, and which hits are it: judged on all that was said so far.

Whatever the retriever, what was said is compared with the collection in the encoder's own space. How far the best
pictures come towards the score that a picture which is meant usually has (`Calibration.expected`), how they stand out,
how much was said and how large the collection is: two logistic curves turn that into chances, fitted on photographs
with people who speak in sentences and in fragments (`tuning.verdicts`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.conversation import Answer, Node, Say, is_dont_know
from viewfinder.encoders.base import Calibration
from viewfinder.index.scores import LIKELY, Verdict
from viewfinder.questioners.information_gain.photograph_options import REMEMBER
from viewfinder.retrievers.composer import split_clauses

FEATURES = ("crowd", "deviation", "mean", "expected", "log size", "words", "turns")
"""The mean of the ten best scores, the deviation and mean of all, the score expected, log10 of the number of pictures,
words a turn (13 at most), turns (5 at most). A score follows in every curve, and 1."""

CROWD, MOST_WORDS, MOST_TURNS = 10, 13, 5

SENTENCE = 6
"""Words a turn, on average, from which on people speak in sentences."""


def texts_said(path: Sequence[Node]) -> tuple[str, ...]:
    """The descriptions of a conversation: what was said of the picture wanted, without what it is not."""
    texts = []
    for node in path:
        match node.turn:
            case Say(text):
                texts.append(split_clauses(text).wanted)
            case Answer(question, text) if question.attribute == REMEMBER and not is_dont_know(text):
                texts.append(split_clauses(text).wanted)
    return tuple(filter(None, texts))


def conversation_features(
    said_n: Float32[np.ndarray, " n"], expected: float, texts: Sequence[str]
) -> Float[np.ndarray, " f"]:
    """The `FEATURES` of what was said: `said_n` are the scores of all pictures for all texts together."""
    count = min(CROWD, len(said_n))
    best = np.partition(said_n, len(said_n) - count)[len(said_n) - count :]
    words = float(np.mean([len(text.split()) for text in texts]))
    return np.array(
        [
            float(best.mean()), float(said_n.std()), float(said_n.mean()), expected, math.log10(len(said_n)),
            min(words, MOST_WORDS), min(len(texts), MOST_TURNS),
        ]
    )  # fmt: skip


def is_in_sentences(features_f: Float[np.ndarray, " f"]) -> bool:
    """Whether what was said are sentences rather than fragments, by its features."""
    return bool(features_f[FEATURES.index("words")] >= SENTENCE)


def expected_score(calibration: Calibration, texts_md: Float[np.ndarray, "m d"]) -> float:
    """The score that a picture which texts are about usually has, by their vectors; the mean over the texts."""
    return float((texts_md @ calibration.expected[:-1] + calibration.expected[-1]).mean())


def curve(weights: Sequence[float], features_f: Float[np.ndarray, " f"], score: float) -> float:
    """A chance: the logistic of the weighted features and the score, the bias last."""
    logit = float(np.dot(weights, [*features_f, score, 1.0]))
    return 1 / (1 + math.exp(-min(max(logit, -50.0), 50.0)))


@dataclass(frozen=True, eq=False)
class Judgement:
    """What was said, judged against a collection; `said_n` are the pictures' scores for it."""

    calibration: Calibration
    features_f: Float[np.ndarray, " f"]
    said_n: Float32[np.ndarray, " n"]

    @cached_property
    def verdict(self) -> Verdict:
        """Whether what was said is here: found where that is likelier than not."""
        chance = curve(self.calibration.here, self.features_f, float(self.said_n.max()))
        limit = self.calibration.nothing_below[is_in_sentences(self.features_f)]
        return "nothing" if chance < limit else "found" if chance >= LIKELY else "unsure"

    def match(self, row: int) -> float:
        """The chance that a picture is what was said."""
        return curve(self.calibration.match, self.features_f, float(self.said_n[row]))


def judge_conversation(
    calibration: Calibration,
    said_n: Float32[np.ndarray, " n"],
    texts_md: Float[np.ndarray, "m d"],
    texts: Sequence[str],
) -> Judgement:
    """The judgement of `texts` (vectors `texts_md`) on a collection of at least one picture."""
    features_f = conversation_features(said_n, expected_score(calibration, texts_md), texts)
    return Judgement(calibration, features_f, said_n)
