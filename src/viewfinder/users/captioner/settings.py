"""The settings of a relative captioner: the part of presets.toml that says how its network is built. No torch here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viewfinder.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class PictureReading:
    """The settings of all captioners: how the two pictures are read, and how long captions are.

    Attributes:
        image: the part of a picture's raw vector that is read: all, all on one scale, or its principal components.
        components: for "whitened": how many.
        attributes: how many predicted attributes of each picture are read; 0: none.
        most_words: maximum words of a spoken caption, counting <start> but not the end.
        learnt_words: words of a caption that training reads, after which it ends (published: 64); 0: `most_words`,
            and a longer one does not end there.
        dropout: in training.
    """

    image: Literal["raw", "standardised", "whitened"] = "raw"
    components: int = 256
    attributes: int = 8
    most_words: int = 8
    learnt_words: int = 0
    dropout: float = 0.1

    def __post_init__(self) -> None:
        if min(self.components, self.most_words - 1) < 1 or self.attributes < 0 or not 0 <= self.dropout < 1:
            raise BadInput("components and most_words - 1 are at least 1, attributes at least 0, dropout from 0 to 1")
        if self.learnt_words < 0:
            raise BadInput(f"learnt_words is {self.learnt_words}; it is at least 0")


@dataclass(frozen=True, kw_only=True)
class TransformerCaptioner(PictureReading):
    """The encoder-decoder; every default is the published simulator's.

    Attributes:
        width, layers, heads, hidden: of encoder and decoder, `layers` each.
        join: how the vectors of the two pictures become one; the paper subtracts the target's from the shown one's.
    """

    kind: Literal["transformer"] = "transformer"
    width: int = 512
    layers: int = 6
    heads: int = 8
    hidden: int = 2048
    join: Literal["multiply", "subtract"] = "multiply"

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.width, self.layers, self.heads, self.hidden) < 1 or self.width % self.heads or self.width % 2:
            raise BadInput(f"a width of {self.width} must be even and a multiple of {self.heads} heads, all above 0")


@dataclass(frozen=True, kw_only=True)
class RecurrentCaptioner(PictureReading):
    """The captioner of Guo et al. (2018): an LSTM that attends to [target; target - shown]; most_words is 16 there.

    Attributes:
        width: of words, attention and state.
    """

    kind: Literal["recurrent"] = "recurrent"
    width: int = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width < 1:
            raise BadInput(f"width is {self.width}; it must be at least 1")


CaptionerModel = TransformerCaptioner | RecurrentCaptioner
