"""Trained questions on disk: one safetensors file, the pool's texts in its card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.questioners.base import PictureProjection
from viewfinder.questioners.trained.askable import required_mentions
from viewfinder.questioners.trained.selector import QuestionSelector
from viewfinder.questioners.trained.trained import AnswerPredictor, PoolQuestion, TrainedQuestions
from viewfinder.training.weights import Weights, check_card, damaged_file, read_weights

SYSTEM = "questions"
SHIPPED = Path(__file__).with_name("photos.safetensors")
NO_PICTURES = ""
"""What the card of questions that nothing is foretold to says of the encoder."""


def load_trained_questions(path: Path | str) -> TrainedQuestions:
    """What `viewfinder train questions` wrote; kept per process until the file changes.

    Raises:
        BadInput: missing, damaged, or something else.
        NewerLibrary: written by a later version.
    """
    place = Path(path).expanduser()
    changed = place.stat().st_mtime_ns if place.is_file() else 0
    return _load(place.absolute(), changed)


def shipped() -> TrainedQuestions | None:
    """The questions in the box: everyday photos, in our own words. None where there are none."""
    return load_trained_questions(SHIPPED) if SHIPPED.is_file() else None


@lru_cache(maxsize=4)
def _load(path: Path, changed: int) -> TrainedQuestions:
    weights = read_weights(path)
    check_card(path, weights.card, system=SYSTEM)
    try:
        return _questions(weights)
    except (KeyError, TypeError, ValueError) as error:
        raise damaged_file(path, repr(error)) from error


def _questions(weights: Weights) -> TrainedQuestions:
    settings = weights.card.settings
    questions = tuple(_question(record) for record in settings["questions"])
    return TrainedQuestions(
        questions=questions,
        sentences_version=settings["sentences"],
        card=weights.card,
        selector=QuestionSelector.of(weights.arrays),
        answering=_answering(weights, questions) if weights.card.encoder != NO_PICTURES else None,
    )


def _question(record: Mapping[str, Any]) -> PoolQuestion:
    text = record["text"]
    known = {
        **record,
        "text": text[:1].upper() + text[1:],
        "answers": tuple(record["answers"]),
        "needs": required_mentions(text),
    }
    return PoolQuestion(**known)


def _answering(weights: Weights, questions: tuple[PoolQuestion, ...]) -> AnswerPredictor:
    arrays = {name.removeprefix("answering."): array for name, array in weights.arrays.items()}
    sight = PictureProjection(
        name=f"{SYSTEM}-{weights.fingerprint}",
        raw_version=weights.card.encoder,
        width=len(arrays["out_kh"]),
        project=partial(_look, arrays),
    )
    first_q = np.full(len(questions), -1, np.intp)
    taken = 0
    for q, question in enumerate(questions):
        if question.foretold:
            first_q[q] = taken if question.meaning == q else first_q[question.meaning]
            taken += len(question.answers) if question.meaning == q else 0
    if taken != len(arrays["towers_ak"]):
        raise ValueError(f"{taken} answers, but vectors of {len(arrays['towers_ak'])}")
    own = sorted({int(first) for first in first_q if first >= 0})
    return AnswerPredictor(
        sight, arrays["towers_ak"], bound_biases(arrays["towers_ak"], arrays["bias_a"], own), first_q
    )


def bound_biases(
    towers_ak: Float32[np.ndarray, "a k"], bias_a: Float32[np.ndarray, " a"], starts: Sequence[int]
) -> Float32[np.ndarray, " a"]:
    """Biases moved, alike within each question, so that no logit of a unit vector is above 0: safe to be raised."""
    highest_a = bias_a + np.linalg.norm(towers_ak, axis=1)
    highest_m = np.maximum.reduceat(highest_a, starts)
    return np.asarray(bias_a - np.repeat(highest_m, np.diff([*starts, len(bias_a)])), np.float32)


def _look(arrays: Mapping[str, np.ndarray], raw_ng: Float[np.ndarray, "n g"]) -> Float32[np.ndarray, "n k"]:
    """Raw vectors, standardised, through the network, to unit length; shorter if such pictures were not learnt from."""
    plain_ng = (np.asarray(raw_ng, np.float32) - arrays["mean_g"]) / arrays["deviation_g"]
    hidden_nh = np.maximum(plain_ng @ arrays["in_hg"].T + arrays["in_h"], 0)
    seen_nk = hidden_nh @ arrays["out_kh"].T + arrays["out_k"]
    unit_nk = seen_nk / np.maximum(np.linalg.norm(seen_nk, axis=1, keepdims=True), 1e-12)
    if "familiar_g" in arrays:
        unit_nk *= 0.5 + 0.5 * np.tanh((plain_ng @ arrays["familiar_g"] + arrays["familiar"]) / 2)[:, None]
    return np.asarray(unit_nk, np.float32)
