"""What several systems can set: the parts of their presets that are the same. No torch here.

Of regions, every default is what the published code does; where the paper says otherwise, its way is an option.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viewfinder.errors import BadInput
from viewfinder.training.settings import check_at_least_one


@dataclass(frozen=True, kw_only=True)
class RegionSettings:
    """How vectors of a dialogue look at those of a picture.

    Attributes:
        width: D, numbers of a vector.
        word_width: numbers of a word vector.
        temperature: of the softmax over regions; `divides` as the paper has it, else multiplied.
        share_of_regions: the paper's 1/N in the score.
        standardised: whether raw vectors are brought to mean 0 and deviation 1 by numbers of the training set.
    """

    width: int
    word_width: int = 300
    temperature: float = 9.0
    divides: bool = False
    share_of_regions: bool = False
    standardised: bool = False

    def __post_init__(self) -> None:
        check_at_least_one(self, "width", "word_width")
        if not self.temperature > 0:
            raise BadInput(f"temperature is {self.temperature}; it must be above 0")

    @property
    def factor(self) -> float:
        """What cosines are multiplied by under the softmax."""
        return 1 / self.temperature if self.divides else self.temperature


@dataclass(frozen=True, kw_only=True)
class WordSettings:
    """How words become vectors.

    Attributes:
        words: frozen vectors of the session's encoder (each word as a sentence of its own), frozen ones of the file
            `glove`, or vectors that are trained along ("learned"); "pieces" are those of a published tokeniser.
        glove: a text file, a word and its numbers a line.
        word_width: numbers of a learned vector.
        most_words: words (pieces) of a text that are read, the first ones.
    """

    words: Literal["encoder", "glove", "learned", "pieces"] = "encoder"
    glove: str = ""
    word_width: int = 300
    most_words: int = 8

    def __post_init__(self) -> None:
        check_at_least_one(self, "word_width", "most_words")
        if (self.words == "glove") != bool(self.glove):
            raise BadInput("words 'glove' and the file glove go together: set both or neither")
