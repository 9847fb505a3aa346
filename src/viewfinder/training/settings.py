"""The settings of a training, as in a preset: optimiser, schedule, lengths, what is kept. No torch here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from viewfinder.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class Constant:
    """A constant learning rate."""

    kind: Literal["constant"] = "constant"


@dataclass(frozen=True, kw_only=True)
class Exponential:
    """Times `factor` after every epoch, never below `floor` (ChatIR, Sec. 3: 0.93 down to 1e-6)."""

    kind: Literal["exponential"] = "exponential"
    factor: float = 0.93
    floor: float = 1e-6


@dataclass(frozen=True, kw_only=True)
class Noam:
    """learning_rate * width^-0.5 * min(s^-0.5, s * warmup^-1.5) at step s = 1, 2, ... (Vaswani et al. 2017, Eq. 3).

    The learning rate is the factor in front: 2.0 for Fashion IQ's captioner.
    """

    kind: Literal["noam"] = "noam"
    width: int = 512
    warmup: int = 4000


@dataclass(frozen=True, kw_only=True)
class WarmupCosine:
    """Linearly up over `warmup` steps, then down half a cosine to zero at the last step (ChatSearcher, Sec. 4.3)."""

    kind: Literal["warmup_cosine"] = "warmup_cosine"
    warmup: int = 0


@dataclass(frozen=True, kw_only=True)
class OneCycle:
    """torch's OneCycleLR with cosines (MAI, SPRC): up to the learning rate, then down; beta1 goes the other way."""

    kind: Literal["one_cycle"] = "one_cycle"
    rising: float = 0.3  # share of all steps
    start_divisor: float = 25.0  # the first rate is learning_rate / start_divisor
    end_divisor: float = 1e4  # the last rate is the first one / end_divisor


@dataclass(frozen=True, kw_only=True)
class HalveOnPlateau:
    """Fashion IQ's rule: smaller and smaller steps once the training no longer improves.

    An epoch whose mean training figure does not beat the best one so far by `gain` is counted. From the
    `patience`-th counted epoch on, each one multiplies the learning rate by `factor` and restarts the optimiser. Only
    a new best at validation resets the count; neither a gain nor a halving does. The training ends when the rate falls
    below `floor` times the first one.

    If it `watches` validation (its attribute predictor), a validation without a new best is counted; every
    `patience` of them multiply the rate, and the optimiser keeps its state.
    """

    kind: Literal["halve_on_plateau"] = "halve_on_plateau"
    watches: Literal["training", "validation"] = "training"
    figure: str = "loss"  # of the training: "loss" or a figure that the loss function returns
    higher: bool = False  # whether higher is better
    gain: float = 1e-3
    patience: int = 2
    factor: float = 0.5
    floor: float = 0.1


Schedule = Constant | Exponential | Noam | WarmupCosine | OneCycle | HalveOnPlateau


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How to train. At least one of `epochs` and `steps` says when to end; a step is one update of the weights.

    Raises:
        BadInput: a number out of range, or no end.
    """

    learning_rate: float
    epochs: int | None = None
    steps: int | None = None
    optimiser: Literal["adam", "adamw"] = "adamw"
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    schedule: Schedule = field(default_factory=Constant)
    clip_norm: float | None = None
    accumulate: int = 1  # batches a step
    precision: Literal["no", "fp16", "bf16"] = "no"
    seed: int = 0
    validate_epochs: int | None = 1  # validate after every so many epochs
    validate_offset: int = 0  # so many epochs later: with 1, every three epochs are 1, 4, 7 (Fashion IQ's code)
    validate_steps: int | None = None  # and after every so many steps
    patience: int | None = None  # validations without a new best before stopping
    log_every: int = 20  # steps
    save_every: int = 500  # steps; a checkpoint is also written after every epoch
    keep: int = 2  # checkpoints

    def __post_init__(self) -> None:
        if self.epochs is None and self.steps is None:
            raise BadInput("epochs or steps must say when the training ends")
        check_settings(self, "above 0", "learning_rate", "eps", "clip_norm")
        check_settings(self, "at least 1", "epochs", "steps", "accumulate", "validate_epochs", "validate_steps")
        check_settings(self, "at least 1", "patience", "log_every", "save_every", "keep")
        check_settings(self, "at least 0", "validate_offset")


Rule = Literal["at least 1", "at least 0", "above 0", "from 0 to 1", "at least 0 and below 1"]

FITS: Mapping[Rule, Callable[[float], bool]] = {
    "at least 1": lambda value: value >= 1,
    "at least 0": lambda value: value >= 0,
    "above 0": lambda value: value > 0,
    "from 0 to 1": lambda value: 0 <= value <= 1,
    "at least 0 and below 1": lambda value: 0 <= value < 1,
}


def check_settings(settings: object, rule: Rule, *names: str) -> None:
    """Checks that these numbers obey the rule; None is skipped. Raises BadInput: one does not; it is named."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not FITS[rule](value):
            raise BadInput(f"{name} is {value}; it must be {rule}")
