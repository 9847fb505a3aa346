"""Questions about the whole of a scene: where it is, at what time of day, indoors or out, what the background shows.

Each function answers one kind of question; None where there is no answer to be had.
"""

from __future__ import annotations

import re

from viewfinder.users.lexicon import LIGHTS, PLACE_WORDS, SCENERY, UNSURE_LIGHTS, UNSURE_PLACES, strip_lead_in
from viewfinder.users.phrases import KnownScene
from viewfinder.users.text import yes_or_no
from viewfinder.worlds.words import PLACE_NOUNS


def answer_scenery(scene: KnownScene, what: str) -> str | None:
    """Whether the background shows something that is no thing: the sea, a fence."""
    word = re.sub(r"^(?:an?|any|the|some) ", "", what)
    if word not in SCENERY or not scene.truth.place:
        return None
    sure, unsure = SCENERY[word]
    if scene.truth.place in sure:
        return "yes"
    return None if scene.truth.place in unsure else "no"


def place_name(place: str) -> str:
    """A background as one says it: "a beach"."""
    return PLACE_NOUNS[place][0] if place in PLACE_NOUNS else place


def answer_place(scene: KnownScene) -> str | None:
    """ "Where is it?" """
    return place_name(scene.truth.place) or None


def answer_light(scene: KnownScene) -> str | None:
    """ "What is the light like?" """
    return scene.truth.light or None


def answer_hour(scene: KnownScene) -> str | None:
    """ "What time of day is it?": indoors nothing tells."""
    return None if scene.truth.light == "indoors" else answer_light(scene)


def answer_setting(scene: KnownScene, said: str) -> str | None:
    """ "Is it at night?", "is it by the sea or in the mountains?": place, hour, indoors or out."""
    if " or " in said:
        options = said.split(" or ")
        known = [_is_it(scene, option) for option in options]
        if known.count(True) == 1 and len(options) == 2:
            return options[known.index(True)]
        return None if None in known or any(known) else "neither"
    return yes_or_no(_is_it(scene, said))


_INSIDE = frozenset({"indoors", "indoor", "inside", "indoor scene", "inside a building", "in a building"})
_OUTSIDE = frozenset({"outdoors", "outdoor", "outside", "outdoor scene", "open air", "outside in the open"})


def _is_it(scene: KnownScene, said: str) -> bool | None:
    word = strip_lead_in(said)
    if word in _INSIDE or word in _OUTSIDE:
        return (scene.truth.light == "indoors") == (word in _INSIDE) if scene.truth.light else None
    if any(word in synonyms for synonyms in LIGHTS.values()):
        return _is_called(word, scene.truth.light, LIGHTS, UNSURE_LIGHTS)
    return _is_called(word, scene.truth.place, PLACE_WORDS, UNSURE_PLACES)


def _is_called(
    word: str, truth: str, words: dict[str, frozenset[str]], unsure: dict[str, frozenset[str]]
) -> bool | None:
    """Whether what is true goes by a word; None where no value does, or where one may argue."""
    if not truth or not any(word in synonyms for synonyms in words.values()):
        return None
    if word in words.get(truth, frozenset()):
        return True
    # Indoors nothing tells the hour.
    return None if truth == "indoors" or truth in unsure.get(word, frozenset()) else False
