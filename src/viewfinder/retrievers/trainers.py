"""The systems that can be trained, by name. Torch is imported only when training begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from viewfinder.data.files import need_folder
from viewfinder.errors import BadInput, UnknownName
from viewfinder.retrievers import PLUGINS
from viewfinder.retrievers.shared.train_plan import TrainPlan

if TYPE_CHECKING:
    from viewfinder.training import TrainingResult

Trainer = Callable[[TrainPlan], "TrainingResult"]


def _train_drilldown(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.drilldown.train import train

    return train(plan)


def _train_baseline(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.baselines.train import train

    return train(plan)


def _train_chatir(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.chatir.train import train

    return train(plan)


def _train_attributes(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.fashioniq.attribute_training import train_attributes

    return train_attributes(plan)


def _train_captioner(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.fashioniq.captioner_training import train_captioner

    return train_captioner(plan)


def _train_fashioniq(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.fashioniq.train import train

    return train(plan)


def _train_mai(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.mai.train import train

    return train(plan)


def _train_combiner(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.combiner.train import train

    return train(plan)


def _train_chatsearcher(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.chatsearcher.train import train

    return train(plan)


TRAINERS: dict[str, Trainer] = {
    "drilldown": _train_drilldown,
    "hre": _train_baseline,
    "r-hre": _train_baseline,
    "r-re": _train_baseline,
    "r-rankfusion": _train_baseline,
    "chatir": _train_chatir,
    "attributes": _train_attributes,
    "captioner": _train_captioner,
    "fashioniq": _train_fashioniq,
    "mai": _train_mai,
    "combiner": _train_combiner,
    "chatsearcher": _train_chatsearcher,
}
"""The function that trains each system; its module, and with it torch, is imported when training begins."""


def find_trainer(system: str, *others: str) -> Trainer:
    """The function that trains a system: ours, or the `train` of another package's class.

    Raises:
        UnknownName: there is none; the message lists those that exist, `others` first.
        BadInput: that class cannot be trained, or cannot be imported; or its training is begun elsewhere.
    """
    if system in TRAINERS:
        return TRAINERS[system]
    if system == "one":  # which stands above this folder
        raise BadInput("one is trained by viewfinder.tuning.picks.train_one, because its training asks a search")
    if (found := PLUGINS.find(system)) is None:
        raise UnknownName(f"no system is called {system!r}; there are: {', '.join((*others, *TRAINERS))}")
    trainer: Trainer | None = getattr(found, "train", None)
    if trainer is None:
        raise BadInput(f"{system} is not trained: what it names has no function `train`, called with a TrainPlan")
    return trainer


def train_system(plan: TrainPlan, trainer: Trainer | None = None) -> TrainingResult:
    """Train a system as planned; `trainer`: what trains it, if that is not here (`tuning.picks.train_one`).

    Raises:
        UnknownName: no such system, or no such preset.
        BadInput: data is missing or damaged, settings do not fit, or `out` already holds a training.
        EncoderMismatch: `out` or `start` was trained on vectors of another encoder.
    """
    trainer = trainer or find_trainer(plan.system)
    for folder in plan.data:
        need_folder(folder)
    plan.check_out()
    return trainer(plan)
