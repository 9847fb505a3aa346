"""What a score means: the chance that a picture of this score is the one that is meant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float32

from viewfinder.encoders.base import Calibration
from viewfinder.retrievers import Query

Match = Literal["likely", "maybe", "unlikely"]
Verdict = Literal["found", "unsure", "nothing"]

LIKELY, MAYBE = 0.5, 0.25
"""Chances above which a hit is called likely, or maybe; see docs/benchmarks.md for what they come to."""

OUTLIER_WEIGHT, OUTLIER_BIAS = 2.0, -6.0
"""Without a calibration: a hit three standard deviations above the collection's mean has an even chance."""


@dataclass(frozen=True)
class ChanceOf:
    """score -> chance, for one query on one collection: logistic in the score and in its outlierness there."""

    mean: float
    deviation: float
    score_weight: float
    outlier_weight: float
    bias: float

    def __call__(self, score: float) -> float:
        """The chance that a picture of this score is one that is meant."""
        # In a collection of one picture, or of equal ones, nothing stands out; scores are rounded to 1e-4 on the way.
        outlier = (score - self.mean) / max(self.deviation, 1e-3)
        logit = min(max(self.score_weight * score + self.outlier_weight * outlier + self.bias, -50.0), 50.0)
        return 1 / (1 + math.exp(-logit))


def calibrate(query: Query, total_n: Float32[np.ndarray, " n"], calibration: Calibration | None) -> ChanceOf:
    """The encoder's calibration, for this query on this collection.

    It was learnt on descriptions in the space of words. Where pictures, catalogue values or regions take part, scores
    lie elsewhere, so only their outlierness counts.
    """
    known = calibration if all(part.kind == "words" for part in query.parts) else None
    weights = (
        (known.score_weight, known.outlier_weight, known.bias)
        if known is not None
        else (0.0, OUTLIER_WEIGHT, OUTLIER_BIAS)
    )
    if not len(total_n):
        return ChanceOf(0.0, 0.0, *weights)
    return ChanceOf(float(total_n.mean()), float(total_n.std()), *weights)


def judge_match(chance: float) -> Match:
    """The word for a chance."""
    return "likely" if chance >= LIKELY else "maybe" if chance >= MAYBE else "unlikely"


def judge_result(best_chance: float | None) -> Verdict:
    """The word for a whole result: by its best hit, None where there is none."""
    if best_chance is None or best_chance < MAYBE:
        return "nothing"
    return "found" if best_chance >= LIKELY else "unsure"
