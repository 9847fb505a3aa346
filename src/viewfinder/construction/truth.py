"""A world's truth as writer and gallery: sentences are made from what is known to be there, so they are true.

Neighbours are similar by their truth (`worlds.chatsearch`), and a text finds the picture that it is a caption of, or
else the one whose captions share the most rare words with it.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import get_args

from viewfinder.construction.pipelines import FoundPicture, ImageTextPair, SampleNotMade, TwoRounds
from viewfinder.data.chatsearch import ChatTurn
from viewfinder.data.files import read_json
from viewfinder.data.truth import PictureTruth, read_truth
from viewfinder.errors import BadInput
from viewfinder.worlds.chatsearch import (
    WISHES,
    make_leaning_wish,
    nearest_scenes,
    request_phrase,
    scene_likeness,
    text_dialogue_turns,
)
from viewfinder.worlds.grammar import Speaker, change_instruction, make_speaker
from viewfinder.worlds.kinds import Kind, Light
from viewfinder.worlds.making import MARKER
from viewfinder.worlds.scene import Scene, Thing
from viewfinder.worlds.stock import DRAWN, Stock
from viewfinder.worlds.words import Language

_WORD = re.compile(r"[a-z]+")


MAX_NEAR = 10
"""Scenes whose similarity to another is known."""


@dataclass(frozen=True, eq=False)
class CaptionedWorld:
    """Scenes and captions by the picture's name, in the world's order, and how its people speak; the
    `GalleryRetriever` of a world.
    """

    scenes: Mapping[str, Scene]
    captions: Mapping[str, Sequence[str]]
    language: Language = "explicit"

    @cached_property
    def images(self) -> tuple[str, ...]:
        """The names of all."""
        return tuple(self.scenes)

    def find_nearest(self, image: str, most: int = MAX_NEAR) -> list[FoundPicture]:
        """By similarity of the truth."""
        near = [self.images[at] for at in self._near[image][:most]]
        return [FoundPicture(other, scene_likeness(self.scenes[image], self.scenes[other])) for other in near]

    def find_best(self, text: str, *, without: str) -> FoundPicture:
        """The only picture with this caption; else the one with the most words in common, rare ones first.

        `likeness` is the share of the text's words, weighted by rarity (idf), that its captions have.
        """
        exact = self.own_captions.get(_fold_words(text), without)
        if exact != without:
            return FoundPicture(exact, 1.0)
        # The text's words that occur in captions, in its order, and how rare they are there.
        known = [word for word in dict.fromkeys(_WORD.findall(text.lower())) if word in self._words]
        rarities = {word: math.log(len(self.images) / len(self._words[word])) for word in known}
        scores: defaultdict[str, float] = defaultdict(float)
        for word, rarity in rarities.items():
            for image, times in self._words[word].items():
                scores[image] += rarity * times / len(self.captions[image])
        scores.pop(without, None)
        best = max(scores, key=lambda image: (scores[image], image), default=None)
        if best is None or not scores[best]:
            raise SampleNotMade("no picture answers the caption that was written")
        return FoundPicture(best, scores[best] / sum(rarities.values()))

    @cached_property
    def own_captions(self) -> Mapping[str, str]:
        """The picture of every caption that no other picture has."""
        said = Counter(_fold_words(caption) for captions in self.captions.values() for caption in set(captions))
        pairs = ((_fold_words(caption), image) for image, captions in self.captions.items() for caption in captions)
        return {caption: image for caption, image in pairs if said[caption] == 1}

    @cached_property
    def _near(self) -> Mapping[str, tuple[int, ...]]:
        near = nearest_scenes(list(self.scenes.values()), most=MAX_NEAR, least=0.0)
        return dict(zip(self.images, near, strict=True))

    @cached_property
    def _words(self) -> Mapping[str, Counter[str]]:
        """The number of captions of each picture in which a word occurs, by word."""
        found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for image in self.images:
            for caption in self.captions[image]:
                for word in set(_WORD.findall(caption.lower())):
                    found[word][image] += 1
        return found


def read_world(folder: Path, captions: Mapping[str, Sequence[str]]) -> CaptionedWorld:
    """The captioned scenes of a world, by their names there ("images/000000000001.jpg").

    Raises:
        BadInput: the folder is no world of scenes, or none of its pictures has a caption.
    """
    truths = read_truth(folder)
    if not any(truth.things for truth in truths.values()):
        raise BadInput(f"{folder}: a world of goods, whose truth has no scenes; name a language model as --generator")
    marker = read_json(folder / MARKER, dict)
    stock = _rebuild_stock(truths.values()) if "sprites" in marker else DRAWN
    seed = marker.get("seed", 0)
    named = ((name, truths[file]) for name in captions if (file := PurePosixPath(name).name) in truths)
    scenes = {name: scene_from_truth(truth, seed, stock) for name, truth in named}
    if not scenes:
        raise BadInput(f"{folder}: none of its captioned pictures is in its truth; make the world again")
    language: Language = "contextual" if marker.get("language") == "contextual" else "explicit"
    return CaptionedWorld(scenes, {name: captions[name] for name in scenes}, language)


def scene_from_truth(truth: PictureTruth, seed: int, stock: Stock) -> Scene:
    """A picture's truth as the scene that it was drawn from."""
    number = int(PurePosixPath(truth.image).stem)
    light: Light | None = next((name for name in get_args(Light) if name == truth.light), None)
    if light is None:
        raise BadInput(f"{truth.image}: the light {truth.light!r} is none of a world of scenes; make the world again")
    things: list[Thing] = []
    for known in truth.things:
        faces = next(side for side in ("left", "right", "") if side == known.faces)
        things.append(Thing(known.number, known.kind, known.colour, known.size, known.pattern, faces, known.box))
    return Scene(seed, number, truth.place, light, tuple(things), stock)


def _rebuild_stock(truths: Collection[PictureTruth]) -> Stock:
    """The kinds of a world of products, as far as its truth tells.

    The photograph of a product may show others too, so no kind is ever said to be absent.
    """
    things = {thing.kind: thing for truth in truths for thing in truth.things}
    kinds = {name: Kind(height=64, aspect=1.0, patterned=False, shows=frozenset(things)) for name in sorted(things)}
    return Stock(kinds, {name: things[name].nouns for name in kinds})


@dataclass(frozen=True)
class TruthWriter:
    """The `TextGenerator` of a world."""

    world: CaptionedWorld
    seed: int = 0
    name: str = "world"

    def write_dialogue(self, target: ImageTextPair) -> tuple[ChatTurn, ...]:
        """Two or three things about the scene."""
        return text_dialogue_turns(self._make_speaker(target.image, "dialogue"), self.world.language)

    def write_instruction(self, reference: ImageTextPair, target: ImageTextPair) -> str:
        """The main differences between two scenes."""
        speaker = self._make_speaker(target.image, f"instruction/{reference.image}")
        return change_instruction(speaker, self._find_scene(reference.image))

    def write_two_rounds(self, target: ImageTextPair) -> TwoRounds:
        """First asks for a scene similar to the target, identified by a caption that only it has."""
        speaker = self._make_speaker(target.image, "two rounds")
        own, captions = self.world.own_captions, self.world.captions
        near = [found.image for found in self.world.find_nearest(target.image)]
        ways = {image: next((said for said in captions[image] if _fold_words(said) in own), "") for image in near}
        known = [(image, caption) for image, caption in ways.items() if caption]
        if not known:
            raise SampleNotMade("no scene like it has a caption of its own")
        image, caption = speaker.pick(known)
        if self.world.language == "contextual":
            wish = make_leaning_wish(self._make_speaker(target.image, f"leaning/{image}"), self._find_scene(image))
            if wish is not None:
                return TwoRounds(f"{speaker.pick(WISHES)} {wish.request}", caption, wish.change)
        asked = f"{speaker.pick(WISHES)} {request_phrase(self._make_speaker(image, 'request'))}"
        return TwoRounds(asked, caption, self.write_instruction(ImageTextPair(image, caption), target))

    def _make_speaker(self, image: str, purpose: str) -> Speaker:
        return make_speaker(self._find_scene(image), f"construct/{self.seed}/{purpose}")

    def _find_scene(self, image: str) -> Scene:
        if image not in self.world.scenes:
            raise SampleNotMade("the truth of a picture is not known")
        return self.world.scenes[image]


def _fold_words(caption: str) -> str:
    return " ".join(_WORD.findall(caption.lower()))
