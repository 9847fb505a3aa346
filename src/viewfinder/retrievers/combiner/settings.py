"""Settings of a Combiner and of its training: the tables of presets.toml. No torch here.

Every default is what the published code does, except how repeated targets count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viewfinder.errors import BadInput
from viewfinder.training.presets import TrainingSettings, check_settings

Repeats = Literal["left_out", "wrong"]


@dataclass(frozen=True, kw_only=True)
class CombinerSettings:
    """The network, and how a conversation is given to it.

    Attributes:
        projection, hidden: widths of the projected text and picture, and of the layers after that.
        memory: what is carried from turn to turn: nothing (published), or a GRU's state over the queries so far.
        texts: how a modification becomes a vector: as a "whole", or as the mean of its numbered "clauses".
        rollback: a turn that goes back to an earlier picture is read with that one ("replace"), or as any other turn.
    """

    projection: int = 2560
    hidden: int = 5120
    dropout: float = 0.5  # in training
    memory: Literal["none", "gru"] = "none"
    texts: Literal["whole", "clauses"] = "whole"
    rollback: Literal["replace", "ignore"] = "ignore"

    def __post_init__(self) -> None:
        check_settings(self, "at least 1", "projection", "hidden")
        check_settings(self, "at least 0 and below 1", "dropout")


@dataclass(frozen=True, kw_only=True)
class CombinerPreset:
    """A table of presets.toml.

    Attributes:
        repeats: how a target counts that another row of the batch shares: it is "left_out" of what that row is told
            from; or counts as any "wrong" answer (published).
        selects: the validation figure by which the best weights are chosen: of all turns, or of the last.
    """

    model: CombinerSettings
    training: TrainingSettings
    scale: float = 100.0  # the factor on scores in the loss
    repeats: Repeats = "left_out"
    sources: tuple[str, ...] = ()  # sources of the data to learn from; empty: all of them
    transactions: int = 0  # how many of a source at most, the first ones; 0: all
    batch: int = 4096  # transactions a step
    exclude_shown: bool = False  # whether a picture is ruled out once the user said how the wanted one differs
    selects: Literal["recall", "last"] = "recall"

    def __post_init__(self) -> None:
        check_settings(self, "above 0", "scale")
        check_settings(self, "at least 0", "transactions")
        if self.batch < 2:
            raise BadInput(f"batch is {self.batch}; a transaction needs another one to be told from")
