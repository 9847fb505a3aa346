"""What a system brings to its training, and what it gets back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from viewfinder.errors import BadInput
from viewfinder.training.settings import TrainingSettings
from viewfinder.training.weights import Card

Figures = Mapping[str, Tensor | float | int]
Loss = Callable[[nn.Module, Any], tuple[Tensor, Figures]]


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """One training of one network.

    network: made after `seed_all`, so that its first weights are the same in every run and process. What must survive
        an interruption besides weights (a queue of negatives, say) belongs into its buffers.
    batches: (epoch, seed) -> the batches of an epoch (from 1): the same ones whenever it is asked, since a resumed
        training skips those already used. Tensors in them are moved to the device. `shuffled` makes such batches.
        With several processes each takes the batches rank, rank + processes, ...
    loss: (network, batch) -> a scalar and figures to log (on all processes the same names). It may call
        any part of the network.
    validate: network, in eval mode and without gradients -> figures. Called on the main process alone, so it must
        gather nothing; its random numbers are the same every time and do not touch those of the training.
    selects: the validation figure that chooses `best.safetensors`; `higher` says whether more of it is better.
        Without `validate`, the weights of the last step are the best.
    trainable: which parameters train, by name; None leaves `requires_grad` as it is.
    before_step: called with the network in eval mode and without gradients before every step (Fashion IQ: embed the
        gallery again).
    may_leave_unused: in some steps some trainable parameters get no gradient; matters to several processes only.
    """

    network: nn.Module
    batches: Callable[[int, int], Iterable[Any]]
    loss: Loss
    settings: TrainingSettings
    card: Card
    validate: Callable[[nn.Module], Figures] | None = None
    selects: str = "loss"
    higher: bool = False
    trainable: Callable[[str], bool] | None = None
    before_step: Callable[[nn.Module], None] | None = None
    may_leave_unused: bool = False

    def __post_init__(self) -> None:
        if self.settings.patience is not None and self.validate is None:
            raise BadInput("patience counts validations, but this training has none; leave patience out")

    def choose_trainable(self) -> list[nn.Parameter]:
        """Freeze what does not train; the parameters that do.

        Raises:
            BadInput: there are none.
        """
        if self.trainable is not None:
            for name, parameter in self.network.named_parameters():
                parameter.requires_grad_(self.trainable(name))
        chosen = [parameter for parameter in self.network.parameters() if parameter.requires_grad]
        if not chosen:
            raise BadInput("no parameter of the network is trainable; check which names are chosen")
        return chosen


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """How a training ended.

    `ended` is "epochs", "steps", "patience", "schedule" or "asked" (by `should_stop`: resume to go on). `best` is the
    file of the best network, `figures` what validation measured with it; a training that was asked to stop before its
    first validation has no such file yet.
    """

    ended: str
    step: int
    epoch: int
    best: Path
    best_step: int
    figures: Mapping[str, float] = field(default_factory=dict)
