"""The systems that can be trained, by name, and what a training is asked to do. No torch until one begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from viewfinder.data.files import need_folder
from viewfinder.errors import BadInput, UnknownName
from viewfinder.retrievers.shared.train_plan import TrainPlan

if TYPE_CHECKING:
    from viewfinder.training import TrainingResult


def _drilldown(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.drilldown.train import train

    return train(plan)


def _baseline(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.baselines.train import train

    return train(plan)


def _chatir(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.chatir.train import train

    return train(plan)


def _attributes(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.fashioniq.attribute_training import train_attributes

    return train_attributes(plan)


def _captioner(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.fashioniq.captioner_training import train_captioner

    return train_captioner(plan)


def _fashioniq(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.fashioniq.train import train

    return train(plan)


def _mai(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.mai.train import train

    return train(plan)


def _combiner(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.combiner.train import train

    return train(plan)


def _chatsearcher(plan: TrainPlan) -> TrainingResult:
    from viewfinder.retrievers.chatsearcher.train import train

    return train(plan)


TRAINERS: dict[str, Callable[[TrainPlan], TrainingResult]] = {
    "drilldown": _drilldown,
    "hre": _baseline,
    "r-hre": _baseline,
    "r-re": _baseline,
    "r-rankfusion": _baseline,
    "chatir": _chatir,
    "attributes": _attributes,
    "captioner": _captioner,
    "fashioniq": _fashioniq,
    "mai": _mai,
    "combiner": _combiner,
    "chatsearcher": _chatsearcher,
}


def train_system(plan: TrainPlan) -> TrainingResult:
    """Train a system as planned.

    Raises:
        UnknownName: no such system, or no such preset.
        BadInput: data that is missing or damaged, settings that do not go, or `out` holds a training already.
        EncoderMismatch: `out` or `start` was trained on vectors of another encoder.
    """
    if plan.system not in TRAINERS:
        raise UnknownName(f"no system is called {plan.system!r}; there are: {', '.join(TRAINERS)}")
    for folder in plan.data:
        need_folder(folder)
    # `fit` would say the same, but only once the data is read.
    if not plan.resume and any(plan.out.glob("**/checkpoints/*.safetensors")):
        raise BadInput(f"{plan.out}: holds a training already; go on with it (--resume) or name another folder (--out)")
    return TRAINERS[plan.system](plan)
