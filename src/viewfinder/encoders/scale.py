"""The scale of an encoder's likeness: what brings it to that of the encoder in the box.

Cosines of a picture and a text deviate by 0.12 with the starter, by 0.03 with CLIP; two pictures are alike by 0.2 or by
0.5. All that stands above a ranking (weights of a query's parts, probabilities, verdicts, heatmaps) was chosen on the
starter's. So likeness is multiplied by what makes it deviate as the starter's does. That is measured in the library
itself, by some hundred texts of which most hold for nothing in it, or follows from the temperature that a checkpoint
learnt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float32

BACKGROUND_SHARE = 0.3
"""How much of the mean likeness of a picture to the sayings is its background, for encoders that know none. On `choose`
all of it costs the starter, whose head needs none, 1.4 points of captions that find their photograph among the first
ten; this much costs nothing, and takes hub pictures down where there are any."""


@dataclass(frozen=True)
class Scale:
    """What brings an encoder's likeness to the scale of the starter.

    Attributes:
        words: the likeness of a picture and a text is multiplied by this.
        pictures: the same of two pictures.
        texts: that of two texts is multiplied by the first and then moved by the second.
        level: the usual likeness of a picture and a text that says nothing of it, as the encoder gives it.
    """

    words: float = 1.0
    pictures: float = 1.0
    texts: tuple[float, float] = (1.0, 0.0)
    level: float = 0.0

    @cached_property
    def is_of_box(self) -> bool:
        """Whether it changes nothing."""
        return self == BOX

    def move_texts(self, likeness: float) -> float:
        """The likeness of two texts on the starter's scale."""
        slope, offset = self.texts
        return slope * likeness + offset


BOX = Scale()
"""The scale of the starter: it changes nothing."""


def find_scale(encoder: Any) -> Scale | None:
    """The scale that an encoder brings along, as `scale`; None: it is to be measured in a library."""
    found = getattr(encoder, "scale", None)
    return found if isinstance(found, Scale) else None


def find_temperature(encoder: Any) -> float | None:
    """What an encoder's likeness is multiplied by to be in nats, as `logit_scale`; None: it does not say."""
    found = getattr(encoder, "logit_scale", None)
    return float(found) if isinstance(found, int | float) and math.isfinite(found) and found > 0 else None


def share_background(mean_n: Float32[np.ndarray, " n"], level: float) -> Float32[np.ndarray, " n"]:
    """The background of pictures by their mean likeness to the sayings: the usual level, and a share of what is beyond.

    With the level in it, what fits nothing scores about 0, as with the starter.
    """
    return np.asarray(level + BACKGROUND_SHARE * (mean_n - level), np.float32)
