"""The systems that can be trained, by name. No torch until a training begins."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from viewfinder.data.files import need_folder
from viewfinder.errors import BadInput, UnknownName
from viewfinder.retrievers.shared.train_plan import TrainPlan

if TYPE_CHECKING:
    from viewfinder.training import TrainingResult


def _trainer(module: str, name: str = "train") -> Callable[[TrainPlan], TrainingResult]:
    """A function of a module, which is imported when it is called, as torch comes with it."""

    def train(plan: TrainPlan) -> TrainingResult:
        result: TrainingResult = getattr(import_module(module), name)(plan)
        return result

    return train


TRAINERS: dict[str, Callable[[TrainPlan], TrainingResult]] = {
    "drilldown": _trainer("viewfinder.retrievers.drilldown.train"),
    "hre": _trainer("viewfinder.retrievers.baselines.train"),
    "r-hre": _trainer("viewfinder.retrievers.baselines.train"),
    "r-re": _trainer("viewfinder.retrievers.baselines.train"),
    "r-rankfusion": _trainer("viewfinder.retrievers.baselines.train"),
    "chatir": _trainer("viewfinder.retrievers.chatir.train"),
    "attributes": _trainer("viewfinder.retrievers.fashioniq.attribute_training", "train_attributes"),
    "captioner": _trainer("viewfinder.retrievers.fashioniq.captioner_training", "train_captioner"),
    "fashioniq": _trainer("viewfinder.retrievers.fashioniq.train"),
    "mai": _trainer("viewfinder.retrievers.mai.train"),
    "combiner": _trainer("viewfinder.retrievers.combiner.train"),
    "chatsearcher": _trainer("viewfinder.retrievers.chatsearcher.train"),
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
