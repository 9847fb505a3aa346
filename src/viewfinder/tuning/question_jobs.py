"""The two trainings of questions, each a `training.Job` in a folder of its own. In torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from viewfinder.retrievers.shared.sentences import SentenceVectors
from viewfinder.training import (
    Card,
    OneCycle,
    TrainingJob,
    TrainingResult,
    TrainingSettings,
    fit,
    load_network,
    seed_all,
)
from viewfinder.tuning.foretelling import (
    AnswerColumns,
    AnswerData,
    AnswerNetwork,
    answer_figures,
    answer_loss,
    calibrate_answers,
)
from viewfinder.tuning.pool import PoolEntry
from viewfinder.tuning.question_plan import NetworkSettings, QuestionPlan
from viewfinder.tuning.selecting import SelectorData, SelectorNetwork, selector_figures, selector_loss
from viewfinder.tuning.talks import DialogueSplits

NO_ENCODER = "none"
"""What the card of a network says of the encoder where no picture is involved."""


def train_selector(
    plan: QuestionPlan, talks: DialogueSplits, pool: tuple[PoolEntry, ...], vectors: SentenceVectors
) -> tuple[SelectorNetwork, TrainingResult]:
    """Learns which question of the pool comes next."""
    numbers = plan.settings.selector
    train, val = SelectorData(talks.train, pool, vectors), SelectorData(talks.val, pool, vectors)
    seed_all(plan.seed)
    rows = vectors.rows([question.text for question in pool])
    pool_qs = torch.from_numpy(vectors.matrix_ns[rows]).float()
    asked_q = torch.tensor([float(question.asked) for question in pool])
    network = SelectorNetwork(pool_qs, asked_q, numbers.hidden, numbers.width)
    job = _job(
        plan, numbers, network, "selector", NO_ENCODER,
        batches=partial(train.epoch, numbers.batch),
        loss=selector_loss,
        validate=lambda module: selector_figures(module, val),
    )  # fmt: skip
    return network, _fitted(plan, job, plan.out / "selector")


def train_answers(
    plan: QuestionPlan, talks: DialogueSplits, pool: tuple[PoolEntry, ...], vectors: SentenceVectors, *, fewest: int
) -> tuple[AnswerNetwork, AnswerData, TrainingResult] | None:
    """Learns how pictures answer; the network, calibrated, and the held-out answers. None where too few are known."""
    numbers = plan.settings.answers
    columns = AnswerColumns(pool, vectors)
    train, val = AnswerData(talks.train, pool, columns), AnswerData(talks.val, pool, columns)
    if talks.raw_version is None or len(train) < fewest or not len(val):
        return None
    plan.told(f"answers: {len(train):,} to learn from, {len(val):,} held out")
    seed_all(plan.seed)
    network = AnswerNetwork(columns, talks.train.raw_mg, numbers.hidden, numbers.width)
    job = _job(
        plan, numbers, network, "foretelling", talks.raw_version,
        batches=partial(train.epoch, numbers.batch),
        loss=answer_loss,
        validate=lambda module: answer_figures(module, val),
    )  # fmt: skip
    fitted = _fitted(plan, job, plan.out / "answers")
    if fitted.ended != "asked":
        calibrate_answers(network.eval(), val)
    return network, val, fitted


def _job(
    plan: QuestionPlan,
    numbers: NetworkSettings,
    network: nn.Module,
    name: str,
    encoder: str,
    *,
    batches: Callable[[int, int], Any],
    loss: Callable[..., Any],
    validate: Callable[[nn.Module], Mapping[str, float]],
) -> TrainingJob:
    training = TrainingSettings(
        learning_rate=numbers.learning_rate,
        epochs=numbers.epochs,
        weight_decay=numbers.weight_decay,
        schedule=OneCycle(),
        seed=plan.seed,
    )
    card = Card(system=f"questions/{name}", preset="", encoder=encoder)
    return TrainingJob(network=network, batches=batches, loss=loss, settings=training, card=card, validate=validate)


def _fitted(plan: QuestionPlan, job: TrainingJob, out: Path) -> TrainingResult:
    """Trains, and leaves the best weights in the job's network."""
    fitted = fit(job, out, resume=plan.resume, shown=plan.shown, tensorboard=False, should_stop=plan.should_stop)
    if fitted.ended != "asked":
        load_network(fitted.best, job.network, system=job.card.system, encoder=job.card.encoder)
    job.network.eval()
    return fitted
