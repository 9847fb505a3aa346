"""How much each system's opinion counts, by what was said so far and what is searched: numpy only.

The weight of a system is w = ln(1 + exp(a + W x)). `x` holds numbers of the conversation (`describe_conversation`), the
likeness of the collection to the worlds that the systems have learnt from (`compare_worlds`), and whether it has
captions. `a` and `W` were fitted on validation dialogues (benchmarks/fusion.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.conversation import Answer, Like, Reject, Say, Show, Turn
from viewfinder.query import Collection
from viewfinder.wording.modifications import parse_ordinal_reference

COMPOSER = "composer"
SYSTEMS = (COMPOSER, "drilldown", "chatir", "mai", "chatsearcher")
"""The systems that the gates weigh, the composer first."""

WORLDS = SCENES, PRODUCTS, PHOTOGRAPHS = ("scenes", "products", "photographs")
"""What the trained systems have learnt from."""

ASKED = {
    SCENES: (COMPOSER, "drilldown", "chatir", "chatsearcher"),
    PRODUCTS: (COMPOSER, "chatir", "mai"),
    PHOTOGRAPHS: (COMPOSER,),
}
"""Who is asked in each. What others add there was not seen on validation (docs/systems/one.md)."""

CONVERSATION = (
    "descriptions", "answers", "picks with words", "picks without words", "rejections", "looks back",
    "the last turn has a picture", "turns", "words of the last turn",
)  # fmt: skip
"""What the gates know of a conversation, each a number of about 0 to 1."""

INPUTS = (*CONVERSATION, *WORLDS, "captions")

MIN_PICTURES = 10
"""Of fewer, the mean says little of a world, and the deviations of scores nothing of what stands out."""


@dataclass(frozen=True, eq=False)
class Gates:
    """The weights of all systems for a conversation in a collection.

    Attributes:
        encoder_version: of the encoder on whose vectors `means_wd` were taken.
        means_wd: the mean vector of the training pictures of each world.
        a_s, w_sx: the numbers of the formula above.
    """

    encoder_version: str
    means_wd: Float32[np.ndarray, "w d"]
    a_s: Float32[np.ndarray, " s"]
    w_sx: Float32[np.ndarray, "s x"]

    def find_world(self, collection: Collection) -> str:
        """The world that a collection is most like: photographs, if another encoder made its vectors or it is small."""
        if collection.encoder_version != self.encoder_version or collection.pictures < MIN_PICTURES:
            return PHOTOGRAPHS
        return WORLDS[int(np.argmax(compare_worlds(collection.mean_d, self.means_wd)))]

    def weigh(self, turns: Sequence[Turn], collection: Collection) -> Mapping[str, float]:
        """The weights of the systems that are asked, the composer's first."""
        worlds_w = compare_worlds(collection.mean_d, self.means_wd)
        x_x = np.array([*describe_conversation(turns), *worlds_w, float(collection.has_captions)], np.float32)
        weights = dict(zip(SYSTEMS, np.logaddexp(0, self.a_s + self.w_sx @ x_x).tolist(), strict=True))
        return {name: weights[name] for name in ASKED[self.find_world(collection)]}


def compare_worlds(mean_d: Float[np.ndarray, " d"], means_wd: Float32[np.ndarray, "w d"]) -> Float32[np.ndarray, " w"]:
    """The cosine of a collection's mean vector with those of the worlds, all less the mean of the worlds.

    >>> compare_worlds(np.array([2.0, 0.0]), np.array([[2.0, 0.0], [0.0, 0.0]], np.float32)).tolist()
    [1.0, -1.0]
    """
    centre_d = means_wd.mean(axis=0)
    own_d, worlds_wd = mean_d - centre_d, means_wd - centre_d
    lengths_w = np.linalg.norm(worlds_wd, axis=1) * np.linalg.norm(own_d)
    return np.asarray(worlds_wd @ own_d / np.maximum(lengths_w, np.finfo(np.float32).tiny), np.float32)


def describe_conversation(turns: Sequence[Turn]) -> list[float]:
    """The numbers that `CONVERSATION` names, of the turns so far; there must be at least one."""
    picks = [turn for turn in turns if isinstance(turn, Like | Show)]
    last = turns[-1]
    words = "" if isinstance(last, Reject) else getattr(last, "text", "")
    return [
        sum(isinstance(turn, Say) for turn in turns) / 10,
        sum(isinstance(turn, Answer) for turn in turns) / 10,
        sum(bool(turn.text) for turn in picks) / 3,
        sum(not turn.text for turn in picks) / 3,
        sum(isinstance(turn, Reject) for turn in turns) / 3,
        float(isinstance(last, Like) and looks_at_earlier(last)),
        float(isinstance(last, Like | Show)),
        math.log2(len(turns)) / 4,
        min(len(words.split()), 40) / 40,
    ]


def looks_at_earlier(turn: Like) -> bool:
    """Whether a pick goes back to an earlier turn, by its number or in its words."""
    return turn.turn is not None or parse_ordinal_reference(turn.text) is not None
