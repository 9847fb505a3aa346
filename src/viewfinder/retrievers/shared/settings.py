"""Settings that the presets of several systems share. No torch here.

For regions, every default is what the published code does; where the paper differs, its way is an option.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viewfinder.errors import BadInput
from viewfinder.training.presets import TrainingSettings, check_settings


@dataclass(frozen=True, kw_only=True)
class RegionSettings:
    """How vectors of a dialogue look at those of a picture.

    Attributes:
        standardised: whether raw vectors are brought to mean 0 and deviation 1 by statistics of the training set.
    """

    width: int  # D, width of a vector
    word_width: int = 300  # of a word vector
    temperature: float = 9.0  # of the softmax over regions; `divides` divides by it (paper), else multiplied
    divides: bool = False
    share_of_regions: bool = False  # the paper's 1/N in the score
    standardised: bool = False

    def __post_init__(self) -> None:
        check_settings(self, "at least 1", "width", "word_width")
        check_settings(self, "above 0", "temperature")

    @property
    def factor(self) -> float:
        """The factor on cosines inside the softmax."""
        return 1 / self.temperature if self.divides else self.temperature


@dataclass(frozen=True, kw_only=True)
class DescriptionPreset:
    """The fields that the presets of Drill-down and of its baselines share."""

    training: TrainingSettings
    batch: int = 128  # dialogues a step
    turns: int = 0  # sentences of a dialogue; 0: as many as in the data's protocol
    selects: Literal["loss", "recall"] = "loss"  # the validation figure by which the best weights are chosen
    fewest: int = 10  # how often a word must occur to have a vector

    def __post_init__(self) -> None:
        if self.batch < 2:
            raise BadInput(f"batch is {self.batch}; a dialogue needs another one to be told from")
        if self.turns < 0:
            raise BadInput(f"turns is {self.turns}; it must be at least 1, or 0 for as many as the data has")


@dataclass(frozen=True, kw_only=True)
class WordSettings:
    """How words become vectors.

    Attributes:
        words: frozen vectors of the session's encoder (each word as a sentence of its own), frozen ones of the file
            `glove`, or vectors trained with the network ("learned"); "pieces" are those of a published tokeniser.
    """

    words: Literal["encoder", "glove", "learned", "pieces"] = "encoder"
    glove: str = ""  # a text file with a word and its vector on each line
    word_width: int = 300  # of a learned vector
    most_words: int = 8  # how many words (pieces) of a text are read: the first ones

    def __post_init__(self) -> None:
        check_settings(self, "at least 1", "word_width", "most_words")
        if (self.words == "glove") != bool(self.glove):
            raise BadInput("words 'glove' and the file glove go together: set both or neither")
