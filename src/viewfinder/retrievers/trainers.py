"""The systems that can be trained, by name. Torch is imported only when training begins."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from viewfinder.data.files import need_folder
from viewfinder.errors import BadInput, UnknownName
from viewfinder.retrievers import PLUGINS
from viewfinder.retrievers.shared.train_plan import TrainPlan

if TYPE_CHECKING:
    from viewfinder.training import TrainingResult

TRAINERS = {
    "drilldown": "drilldown.train:train",
    "hre": "baselines.train:train",
    "r-hre": "baselines.train:train",
    "r-re": "baselines.train:train",
    "r-rankfusion": "baselines.train:train",
    "chatir": "chatir.train:train",
    "attributes": "fashioniq.attribute_training:train_attributes",
    "captioner": "fashioniq.captioner_training:train_captioner",
    "fashioniq": "fashioniq.train:train",
    "mai": "mai.train:train",
    "combiner": "combiner.train:train",
    "chatsearcher": "chatsearcher.train:train",
}
"""Which function of which module trains a system; imported when needed, because it brings in torch."""


def find_trainer(system: str, *others: str) -> Callable[[TrainPlan], TrainingResult]:
    """The function that trains a system: ours, or the `train` of another package's class.

    Raises:
        UnknownName: there is none; the message lists those that exist, `others` first.
        BadInput: that class cannot be trained, or cannot be imported.
    """
    if system in TRAINERS:
        return _train_ours
    if (found := PLUGINS.find(system)) is None:
        raise UnknownName(f"no system is called {system!r}; there are: {', '.join((*others, *TRAINERS))}")
    trainer: Callable[[TrainPlan], TrainingResult] | None = getattr(found, "train", None)
    if trainer is None:
        raise BadInput(f"{system} is not trained: what it names has no function `train`, called with a TrainPlan")
    return trainer


def _train_ours(plan: TrainPlan) -> TrainingResult:
    module, _, function = TRAINERS[plan.system].partition(":")
    result: TrainingResult = getattr(import_module(f"viewfinder.retrievers.{module}"), function)(plan)
    return result


def train_system(plan: TrainPlan) -> TrainingResult:
    """Train a system as planned.

    Raises:
        UnknownName: no such system, or no such preset.
        BadInput: data is missing or damaged, settings do not fit, or `out` already holds a training.
        EncoderMismatch: `out` or `start` was trained on vectors of another encoder.
    """
    trainer = find_trainer(plan.system)
    for folder in plan.data:
        need_folder(folder)
    # `fit` would raise the same, but only after the data is read.
    if not plan.resume and any(plan.out.glob("**/checkpoints/*.safetensors")):
        raise BadInput(f"{plan.out}: holds a training already; go on with it (--resume) or name another folder (--out)")
    return trainer(plan)
