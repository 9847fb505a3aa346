"""The two trainings of questions, each a `training.Job` in a folder of its own. In torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from viewfinder.retrievers.shared.sentences import SentenceVectors
from viewfinder.training import Card, Fitted, Job, OneCycle, Training, fit, load_network, seed_all
from viewfinder.tuning.foretelling import (
    AnswerData,
    Columns,
    ForetellingNetwork,
    calibrate,
    foretelling_figures,
    foretelling_loss,
)
from viewfinder.tuning.pool import Pooled
from viewfinder.tuning.question_plan import Network, QuestionPlan
from viewfinder.tuning.selecting import SelectorNetwork, TalkData, selector_figures, selector_loss
from viewfinder.tuning.talks import TalkSplits

NO_ENCODER = "none"
"""What the card of a network says of the encoder where no picture is involved."""


def train_selector(
    plan: QuestionPlan, talks: TalkSplits, pool: tuple[Pooled, ...], vectors: SentenceVectors
) -> tuple[SelectorNetwork, Fitted]:
    """Learns which question of the pool comes next."""
    numbers = plan.settings.selector
    train, val = TalkData(talks.train, pool, vectors), TalkData(talks.val, pool, vectors)
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


def train_foretelling(
    plan: QuestionPlan, talks: TalkSplits, pool: tuple[Pooled, ...], vectors: SentenceVectors, *, fewest: int
) -> tuple[ForetellingNetwork, AnswerData, Fitted] | None:
    """Learns how pictures answer; the network, calibrated, and the held-out answers. None where too few are known."""
    numbers = plan.settings.answers
    columns = Columns(pool, vectors)
    train, val = AnswerData(talks.train, pool, columns), AnswerData(talks.val, pool, columns)
    if talks.raw_version is None or len(train) < fewest or not len(val):
        return None
    plan.told(f"answers: {len(train):,} to learn from, {len(val):,} held out")
    seed_all(plan.seed)
    network = ForetellingNetwork(columns, talks.train.raw_mg, numbers.hidden, numbers.width)
    job = _job(
        plan, numbers, network, "foretelling", talks.raw_version,
        batches=partial(train.epoch, numbers.batch),
        loss=foretelling_loss,
        validate=lambda module: foretelling_figures(module, val),
    )  # fmt: skip
    fitted = _fitted(plan, job, plan.out / "answers")
    if fitted.ended != "asked":
        calibrate(network.eval(), val)
    return network, val, fitted


def _job(
    plan: QuestionPlan,
    numbers: Network,
    network: nn.Module,
    name: str,
    encoder: str,
    *,
    batches: Callable[[int, int], Any],
    loss: Callable[..., Any],
    validate: Callable[[nn.Module], Mapping[str, float]],
) -> Job:
    training = Training(
        learning_rate=numbers.learning_rate,
        epochs=numbers.epochs,
        weight_decay=numbers.weight_decay,
        schedule=OneCycle(),
        seed=plan.seed,
    )
    card = Card(system=f"questions/{name}", preset="", encoder=encoder)
    return Job(network=network, batches=batches, loss=loss, settings=training, card=card, validate=validate)


def _fitted(plan: QuestionPlan, job: Job, out: Path) -> Fitted:
    """Trains, and leaves the best weights in the job's network."""
    fitted = fit(job, out, resume=plan.resume, shown=plan.shown, tensorboard=False, should_stop=plan.should_stop)
    if fitted.ended != "asked":
        load_network(fitted.best, job.network, system=job.card.system, encoder=job.card.encoder)
    job.network.eval()
    return fitted
