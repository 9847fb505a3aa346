"""The pipelines of ChatSearch (Zhao et al. 2024, Sec. 3.1, Fig. 2 and 3) over captioned pictures, one function each.

They take something that writes, something that finds pictures, and something that describes them: in the paper
GPT-4, CLIP-H over LAION-5B, and BLIP-2-OPT2.7b; here `truth` (what a world knows of its pictures), `written` (any
language model) and `galleries`. What each pipeline produces is described in `worlds.chatsearch`.

The paper does not state the similarity threshold. A ceiling, which the paper does not have, keeps copies of the
reference from being targets: with the reference alone CLIP-i ranks 9.65 % of the targets first (Table 2).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from viewfinder.data.chatsearch import ChatSample, ChatTurn, TextItem
from viewfinder.errors import ViewfinderError
from viewfinder.worlds.chatsearch import MAX_NEIGHBOURS, SUBTASK_OF, Pipeline, turns_with_answer, user_turn


class SampleNotMade(ViewfinderError):
    """A sample cannot be made; the text is the reason, and such cases are counted by it."""


@dataclass(frozen=True)
class ImageTextPair:
    """A picture by its name in the samples, and what is said of it: the I and T of the paper."""

    image: str
    caption: str


@dataclass(frozen=True)
class FoundPicture:
    """A picture that was found, and its similarity to what it was searched with: 1 is the same."""

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
    """Writes what is said; thread-safe. Every method may raise `SampleNotMade` or `LanguageModelFailed`."""

    @property
    def name(self) -> str:
        """The name of the writer, for the record: no address, no path."""
        ...

    def write_dialogue(self, target: ImageTextPair) -> tuple[ChatTurn, ...]:
        """Several rounds of words that end with the user's, and in which the target is only implied."""
        ...

    def write_instruction(self, reference: ImageTextPair, target: ImageTextPair) -> str:
        """Says the main difference from the reference to the target."""
        ...

    def write_two_rounds(self, target: ImageTextPair) -> TwoRounds:
        """A dialogue whose first answer is another picture, and whose second would be the target."""
        ...


@runtime_checkable
class GalleryRetriever(Protocol):
    """Finds pictures among those that samples may show or ask for."""

    @property
    def images(self) -> Sequence[str]:
        """All of them."""
        ...

    def find_nearest(self, image: str, most: int) -> list[FoundPicture]:
        """The pictures most similar to one of them, itself excluded; nearest first."""
        ...

    def find_best(self, text: str, *, without: str) -> FoundPicture:
        """The picture that best answers a text, other than `without`.

        Raises:
            SampleNotMade: there is none.
        """
        ...


@runtime_checkable
class PictureCaptioner(Protocol):
    """Says what a picture shows. Thread-safe."""

    @property
    def name(self) -> str:
        """The name of the captioner, for the record."""
        ...

    def caption(self, image: str) -> str:
        """One sentence.

        Raises:
            SampleNotMade: it has nothing to say of this picture.
        """
        ...


FOUND_ANSWERS = ("Like this?", "Is it this one?", "How about this one?", "Here you are.", "This is what I found.")
"""Said by the assistant along with a found picture; the paper does not specify it."""


@dataclass(frozen=True)
class PipelineParts:
    """The parts that samples are made with.

    Attributes:
        threshold, ceiling: the minimum and maximum similarity of a target to its reference.
        seed: of all random draws.
    """

    generator: TextGenerator
    gallery: GalleryRetriever
    captioner: PictureCaptioner
    threshold: float
    ceiling: float = 1.0
    seed: int = 0

    def draw_random(self, purpose: str, image: str) -> random.Random:
        """Random numbers for a picture, which depend on nothing else that is made nor on the order."""
        return random.Random(f"viewfinder/construct/{self.seed}/{purpose}/{image}")


def make_text_sample(number: int, own: ImageTextPair, parts: PipelineParts) -> ChatSample:
    """A text dialogue about a picture."""
    turns = parts.generator.write_dialogue(own)
    return _make_sample("text", number, turns, own.image, {"caption_target": own.caption})


def make_reference_image_sample(number: int, own: ImageTextPair, parts: PipelineParts) -> ChatSample:
    """MDC-I: the picture is the reference, one of those most similar to it is the target.

    Raises:
        SampleNotMade: none is similar enough, or all are copies of it.
    """
    near = [
        found for found in parts.gallery.find_nearest(own.image, MAX_NEIGHBOURS) if found.likeness >= parts.threshold
    ]
    if not near:
        raise SampleNotMade("no other picture is like the reference enough")
    near = [found for found in near if found.likeness <= parts.ceiling]
    if not near:
        raise SampleNotMade("what is like the reference is a copy of it")
    chosen = parts.draw_random("mdc-i", own.image).choice(near)
    target = ImageTextPair(chosen.image, parts.captioner.caption(chosen.image))
    turns = (user_turn(parts.generator.write_instruction(own, target), own.image),)
    return _make_sample("mdc-i", number, turns, target.image, _make_source(own, target, chosen.likeness))


def make_reference_text_samples(
    number: int, own: ImageTextPair, parts: PipelineParts, wanted: Iterable[Pipeline]
) -> list[ChatSample]:
    """MDC-T in one or both of its forms: the picture is the target, a reference is found for the caption of the first.

    Raises:
        SampleNotMade: nothing is found.
    """
    rounds = parts.generator.write_two_rounds(own)
    found = parts.gallery.find_best(rounds.caption, without=own.image)
    reference = ImageTextPair(found.image, rounds.caption)
    answer = parts.draw_random("mdc-t", own.image).choice(FOUND_ANSWERS)
    turns_of: dict[Pipeline, tuple[ChatTurn, ...]] = {
        "mdc-t": turns_with_answer((user_turn(rounds.request),), answer, reference.image, rounds.change),
        "mdc-t-single": (user_turn(rounds.change, reference.image),),
    }
    source = _make_source(reference, own, found.likeness)
    return [_make_sample(name, number, turns_of[name], own.image, source) for name in turns_of if name in wanted]


def merge_samples(
    texts: Sequence[ChatSample], singles: Sequence[ChatSample], parts: PipelineParts
) -> Iterator[ChatSample]:
    """Context merging: text dialogues, each followed by a single-round sample whose reference is its target.

    If there are several, one is drawn. No text is written for this.
    """
    about: defaultdict[str, list[ChatSample]] = defaultdict(list)
    for single in singles:
        about[single.images()[0]].append(single)
    for text in texts:
        if text.target in about:
            chance = parts.draw_random("merge", text.target)
            single = chance.choice(about[text.target])
            [change] = (item.text for item in single.turns[0].content if isinstance(item, TextItem))
            turns = turns_with_answer(text.turns, chance.choice(FOUND_ANSWERS), text.target, change)
            source = {**single.source, "pipeline": "merge", "of": [text.id, single.id]}
            yield ChatSample(f"merge-{text.id.rpartition('-')[2]}", "mChat", turns, single.target, source)


def _make_sample(
    pipeline: Pipeline, number: int, turns: tuple[ChatTurn, ...], target: str, source: dict[str, str | float]
) -> ChatSample:
    name = f"{pipeline}-{number:06d}"
    return ChatSample(name, SUBTASK_OF[pipeline], turns, target, {"pipeline": pipeline, **source})


def _make_source(reference: ImageTextPair, target: ImageTextPair, likeness: float) -> dict[str, str | float]:
    captions: dict[str, str | float] = {"caption_ref": reference.caption, "caption_target": target.caption}
    return {**captions, "likeness": round(likeness, 4)}
