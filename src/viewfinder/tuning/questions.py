"""Trains questions (`viewfinder train questions`): OUT/questions.safetensors, and the two trainings beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from viewfinder.encoders.features.sentences import SentenceVectors
from viewfinder.errors import BadInput
from viewfinder.questioners.trained import NO_PICTURES, SYSTEM
from viewfinder.tuning.dialogues import DialogueSplits, read_dialogue_splits, read_unfamiliar_pictures
from viewfinder.tuning.pool import PoolEntry, build_pool
from viewfinder.tuning.question_plan import QuestionPlan, QuestionReport
from viewfinder.weights import NETWORK, Card, TrainingList

if TYPE_CHECKING:
    from viewfinder.tuning.question_networks import HeldOutAnswers

FILE = "questions.safetensors"
MIN_ANSWERS = 100
"""With fewer answers to learn from, none is predicted."""

DRAWN = 10.0
"""How many held-out answers the mean of all questions counts for in the accuracy of one."""


def train_questions(plan: QuestionPlan) -> QuestionReport:
    """Builds the pool, learns which question comes next and, if there are pictures, how they answer.

    Raises:
        BadInput: no dialogues, or damaged ones; `out` holds a training already.
    """
    plan.check_out()
    dialogues = read_dialogue_splits(plan)
    pool = build_pool(dialogues.train.dialogues, plan.settings.pool)
    if not pool:
        raise BadInput(
            f"{plan.data[0]}: no question is asked {plan.settings.pool.fewest} times; more dialogues are needed"
        )
    plan.notify(f"pool: {len(pool):,} questions of {len({question.meaning for question in pool}):,} meanings")
    answers = [answer for question in pool if question.predicted for answer in question.answers]
    texts = [*dialogues.train.texts, *dialogues.val.texts, *(question.text for question in pool), *answers]
    return _train_networks(plan, dialogues, pool, plan.sentences(texts))


def _train_networks(
    plan: QuestionPlan, dialogues: DialogueSplits, pool: tuple[PoolEntry, ...], vectors: SentenceVectors
) -> QuestionReport:
    """Both trainings, and the file with their result."""
    import torch

    from viewfinder.training.checkpoints import write_tensors
    from viewfinder.tuning import question_networks as networks

    selector, fitted = networks.train_selector(plan, dialogues, pool, vectors)
    figures = {f"selector/{name}": value for name, value in fitted.figures.items()}
    stopped = QuestionReport(None, len(pool), 0, figures)
    if fitted.ended == "asked":
        return stopped
    arrays, told, names = selector.arrays(), None, dialogues.train.names
    answering = networks.train_answers(plan, dialogues, pool, vectors, fewest=MIN_ANSWERS)
    if answering is None:
        pool = tuple(replace(question, predicted=False) for question in pool)
    else:
        network, held_out, fitted = answering
        if fitted.ended == "asked":
            return stopped
        arrays |= network.arrays()
        if plan.against:
            against_mg, others = read_unfamiliar_pictures(plan, plan.against)
            names |= others
            arrays |= networks.fit_familiarity(network, dialogues.train.raw_mg, against_mg)
        told = networks.measure_answers(network, held_out)
        figures |= {f"answers/{name}": value for name, value in networks.answer_figures(network, held_out).items()}
    predicted = len({question.meaning for question in pool if question.predicted})
    settings = {
        "questions": question_records(pool, told), "sentences": vectors.version, "trained": asdict(plan.settings),
        "data": [place.name for place in plan.data], "against": [place.name for place in plan.against],
        "seed": plan.seed,
    }  # fmt: skip
    encoder = dialogues.raw_version if predicted else None
    card = Card(
        system=SYSTEM, preset="", encoder=encoder or NO_PICTURES, settings=settings, figures=figures,
        trained_on=TrainingList.of(names).encode(),
    )  # fmt: skip
    half = {name: array.detach().to(torch.float16) for name, array in arrays.items()}
    write_tensors(plan.out / FILE, half, asdict(card), schema=NETWORK)
    return QuestionReport(plan.out / FILE, len(pool), predicted, figures)


def question_records(pool: Sequence[PoolEntry], told: HeldOutAnswers | None) -> list[dict[str, Any]]:
    """The pool as the card has it: `PoolQuestion` without what its text says."""
    total = sum(question.asked for question in pool)
    measured = {} if told is None else measure_accuracies(told)
    unmeasured = measured.get(None, (0.0, 0.0))
    records = []
    for question in pool:
        accuracy, baseline = measured.get(question.meaning, unmeasured) if question.predicted else (0.0, 0.0)
        records.append({
            "text": question.text, "answers": list(question.answers if question.predicted else question.answers[:6]),
            "frequency": round(question.asked / total, 6),
            "can_tell": round(1 - question.unknown / (question.told + 2), 4),
            "foretold": question.predicted, "accuracy": accuracy, "baseline": baseline, "meaning": question.meaning,
        })  # fmt: skip
    return records


def measure_accuracies(told: HeldOutAnswers) -> dict[int | None, tuple[float, float]]:
    """By question: how often the likeliest answer was right, and how often the most frequent one; None: overall."""
    overall = float(told.right_n.mean()), float(told.plain_n.mean())
    found: dict[int | None, tuple[float, float]] = {None: overall}
    for question in np.unique(told.question_n).tolist():
        mine = told.question_n == question
        count = int(mine.sum())
        right, plain = (
            round((float(hits_n[mine].sum()) + DRAWN * mean) / (count + DRAWN), 4)
            for hits_n, mean in zip((told.right_n, told.plain_n), overall, strict=True)
        )
        found[question] = right, plain
    return found
