"""Settings of a baseline and of its training: the tables of presets.toml. No torch here.

Every default is what the published code does, except how the context begins; where the paper differs, the paper's
way is an option.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from viewfinder.retrievers.shared.settings import DescriptionPreset, RegionSettings

System = Literal["hre", "r-hre", "r-re", "r-rankfusion"]

SYSTEMS: tuple[System, ...] = get_args(System)


@dataclass(frozen=True, kw_only=True)
class BaselineSettings(RegionSettings):
    """The network of any of the four.

    Attributes:
        pooled: whether hre reads the mean of a picture's regions rather than the vector of the whole: it then sees
            what the others see, even if an encoder says more of the whole.
        context_begins: how the matrices of the GRU over sentences are initialised: each "apart", as Drill-down's are;
            or those of its three gates "stacked" as one (published), which makes them 1 / sqrt(2) as large.
    """

    width: int = 1280
    pooled: bool = False
    context_begins: Literal["apart", "stacked"] = "apart"


@dataclass(frozen=True, kw_only=True)
class BaselineLossSettings:
    """The loss of a training."""

    kind: Literal["hardest", "every"] = "hardest"  # the hardest decoy of the batch (published), or every decoy
    margin: float = 0.2  # by which the right picture must be ahead of a decoy


@dataclass(frozen=True, kw_only=True)
class BaselinePreset(DescriptionPreset):
    """A table of presets.toml."""

    model: BaselineSettings
    loss: BaselineLossSettings
