"""Settings of the turn network and of its training: the tables of presets.toml. No torch here."""

from __future__ import annotations

from dataclasses import dataclass, field

from viewfinder.errors import BadInput
from viewfinder.training.presets import TrainingSettings, check_settings


@dataclass(frozen=True, kw_only=True)
class TurnNetworkSettings:
    """The sizes of the network; those of the shipped one."""

    width: int = 128
    layers: int = 1
    heads: int = 4
    dropout: float = 0.2  # in training

    def __post_init__(self) -> None:
        check_settings(self, "at least 1", "width", "layers", "heads")
        check_settings(self, "at least 0 and below 1", "dropout")
        if self.width % self.heads:
            raise BadInput(f"a width of {self.width} must be a multiple of {self.heads} heads")


@dataclass(frozen=True, kw_only=True)
class TurnNetworkPreset:
    """A table of presets.toml.

    Attributes:
        batch: turns a step; all of them look for pictures in the same gallery.
        pictures: how many pictures the wanted ones are told from at a step, drawn anew each time.
        among_all: the share of steps in which these are drawn from all pictures of the data set instead of the
            gallery: a library has products of all kinds, and Fashion IQ's galleries are of one.
    """

    training: TrainingSettings
    model: TurnNetworkSettings = field(default_factory=TurnNetworkSettings)
    batch: int = 64
    pictures: int = 2000
    among_all: float = 0.5

    def __post_init__(self) -> None:
        check_settings(self, "at least 1", "batch", "pictures")
        check_settings(self, "from 0 to 1", "among_all")
