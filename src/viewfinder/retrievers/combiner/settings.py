"""What a Combiner is, and how it is trained: the tables of presets.toml. No torch here.

Every default is what the published code does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viewfinder.errors import BadInput
from viewfinder.training.settings import TrainingSettings, check_at_least_one


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The network, and how a conversation is brought to it.

    Attributes:
        projection, hidden: numbers that text and picture become, and numbers of the layers after that.
        dropout: in training.
        memory: what is carried from turn to turn: nothing (published), or a GRU's state over the queries so far.
        texts: how a modification becomes a vector: as a "whole", or as the mean of its numbered "clauses".
        rollback: of a turn that goes back to an earlier picture: read with that one ("replace"), or as any other turn.
    """

    projection: int = 2560
    hidden: int = 5120
    dropout: float = 0.5
    memory: Literal["none", "gru"] = "none"
    texts: Literal["whole", "clauses"] = "whole"
    rollback: Literal["replace", "ignore"] = "ignore"

    def __post_init__(self) -> None:
        check_at_least_one(self, "projection", "hidden")
        if not 0 <= self.dropout < 1:
            raise BadInput(f"dropout is {self.dropout}; it must be at least 0 and below 1")


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A table of presets.toml.

    Attributes:
        scale: what scores are multiplied by in the loss.
        sources: sources of the data to learn from; none: all that there are.
        transactions: of a source at most, the first ones; 0: all.
        batch: transactions a step.
        exclude_shown: whether a picture goes out once it was said how the wanted one differs.
        selects: the validation figure by which the best weights are chosen: of all turns, or of the last.
    """

    model: ModelSettings
    training: TrainingSettings
    scale: float = 100.0
    sources: tuple[str, ...] = ()
    transactions: int = 0
    batch: int = 4096
    exclude_shown: bool = False
    selects: Literal["recall", "last"] = "recall"

    def __post_init__(self) -> None:
        if not self.scale > 0:
            raise BadInput(f"scale is {self.scale}; it must be above 0")
        if self.transactions < 0:
            raise BadInput(f"transactions is {self.transactions}; it must be at least 0")
        if self.batch < 2:
            raise BadInput(f"batch is {self.batch}; a transaction needs another one to be told from")
