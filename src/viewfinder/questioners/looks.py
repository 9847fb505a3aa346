"""Looks of a whole picture that no caption mentions and its pixels show: black and white, dark, bright.

They are predicted from the starter's vectors, so that pictures which were added long ago need not be read again.
`tuning.looks` trains the network on photographs and on copies of them without their colours, darkened or lit up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from viewfinder.questioners.photographs import PhotographLabels
from viewfinder.wording.look_phrases import BLACK_AND_WHITE, BRIGHT, DARK

SHIPPED_LOOKS = Path(__file__).with_name("looks.safetensors")
SYSTEM = "looks"

LOOKS = (BLACK_AND_WHITE, DARK, BRIGHT)
"""What can be told, in the order of the network's columns."""


@dataclass(frozen=True, eq=False)
class PictureLooks(PhotographLabels):
    """Predicts which of `LOOKS` a picture has, as `PhotographLabels` predicts what it shows."""

    file: Path = SHIPPED_LOOKS

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """`LOOKS`."""
        return LOOKS


@cache
def picture_looks() -> PictureLooks:
    """The network that comes with the package."""
    return PictureLooks()
