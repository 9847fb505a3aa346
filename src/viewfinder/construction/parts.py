"""What the pipelines are given: something that writes, something that finds pictures, something that describes them.

The paper's are GPT-4, CLIP-H over LAION-5B, and BLIP-2-OPT2.7b (Zhao et al. 2024, Sec. 3.1). Ours: `truth` (what a
world knows of its pictures), `written` (any language model), `galleries` and `captioners`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from viewfinder.data.chatsearch import ChatTurn
from viewfinder.errors import ViewfinderError


class SampleNotMade(ViewfinderError):
    """A sample cannot be made; the text is the reason, by which such cases are counted."""


@dataclass(frozen=True)
class ImageTextPair:
    """A picture by its name in the samples, and what is said of it: the I and T of the paper."""

    image: str
    caption: str


@dataclass(frozen=True)
class FoundPicture:
    """A picture that was found, and how like it is to what it was looked for with: 1 is the same."""

    image: str
    likeness: float


@dataclass(frozen=True)
class TwoRounds:
    """A request, the caption of the picture that would answer it (T2), and the change that leads to the target."""

    request: str
    caption: str
    change: str


@runtime_checkable
class TextGenerator(Protocol):
    """Writes what is said. Every method may raise `NotMade`, or `LanguageModelFailed`. Many threads may call it."""

    @property
    def name(self) -> str:
        """What wrote, for the record: no address, no path."""
        ...

    def dialogue(self, target: ImageTextPair) -> tuple[ChatTurn, ...]:
        """Several rounds of words that end with the user's, and in which the target is only implied."""
        ...

    def instruction(self, reference: ImageTextPair, target: ImageTextPair) -> str:
        """What somebody says who has the reference and wants the target: the main difference."""
        ...

    def two_rounds(self, target: ImageTextPair) -> TwoRounds:
        """A talk whose first answer is another picture, and whose second one would be the target."""
        ...


@runtime_checkable
class GalleryRetriever(Protocol):
    """Finds pictures among those that samples may show and ask for."""

    @property
    def images(self) -> Sequence[str]:
        """All of them."""
        ...

    def nearest(self, image: str, most: int) -> list[FoundPicture]:
        """The pictures most like one of them, itself left out; the nearest first."""
        ...

    def found(self, text: str, *, without: str) -> FoundPicture:
        """The picture that answers a text best, another than `without`.

        Raises:
            NotMade: there is none.
        """
        ...


@runtime_checkable
class Captioner(Protocol):
    """Says what a picture shows. Many threads may call it."""

    @property
    def name(self) -> str:
        """What described, for the record."""
        ...

    def caption(self, image: str) -> str:
        """One sentence.

        Raises:
            NotMade: it has nothing to say of this picture.
        """
        ...
