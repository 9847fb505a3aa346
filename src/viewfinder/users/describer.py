"""Describers: what is seen in a picture, one sentence at a time, from captions or from the truth."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from viewfinder.data.truth import PictureTruth, ThingTruth
from viewfinder.errors import UnknownName
from viewfinder.users.backdrop import place_name
from viewfinder.users.goods import attribute_head, finest_attributes
from viewfinder.users.naming import find_picture
from viewfinder.users.oracle import find_truth
from viewfinder.users.scenes import count_things, describe_thing
from viewfinder.users.text import number_word
from viewfinder.worlds.catalogue.statements import indefinite, phrases_of
from viewfinder.worlds.catalogue.vocabulary import FACETS
from viewfinder.worlds.words import LIGHT_WORDS, WHERE, join_with_and, spot_words, with_article

Sentences = Callable[[str], Sequence[str]]
"""All that can be said of a picture, a sentence each, in the order in which it is said."""


class SentenceDescriber:
    """A `Describer` that says what `sayings` hold one after the other, and then begins again."""

    def __init__(self, sayings: Sentences) -> None:
        self._sayings = sayings
        self._told: Counter[str] = Counter()

    def describe(self, picture: str) -> str:
        """The next sentence about a picture."""
        said = self._sayings(picture)
        at = self._told[picture] % len(said)
        self._told[picture] += 1
        return said[at]


def caption_sentences(captions: Mapping[str, Sequence[str]], *, seed: int = 0) -> Sentences:
    """The captions of each picture, in an order of the seed's choosing.

    The sayings raise UnknownName for a picture without captions.
    """

    def sayings(picture: str) -> Sequence[str]:
        said = find_picture(captions, picture)
        if not said:
            raise UnknownName(f"{picture}: nobody has captioned this picture; {len(captions)} others have captions")
        return _shuffled(said, f"{seed}/{picture}")

    return sayings


def truth_sentences(truths: Mapping[str, PictureTruth], *, seed: int = 0) -> Sentences:
    """What the truth holds of each picture: first what stands out, then the rest in an order of the seed's choosing.

    The sayings raise UnknownName for a picture that the world does not have.
    """

    def sayings(picture: str) -> Sequence[str]:
        truth = find_truth(truths, picture)
        first, *rest = _of_scene(truth) if truth.things else _of_goods(truth)
        return [first, *_shuffled(rest, f"{seed}/{picture}")]

    return sayings


def _shuffled(said: Sequence[str], seed: str) -> list[str]:
    order = list(said)
    random.Random(f"viewfinder/sayings/{seed}").shuffle(order)
    return order


def _of_scene(truth: PictureTruth) -> list[str]:
    main = max(truth.things, key=lambda thing: (thing.box[2] * thing.box[3], -thing.number))
    where = WHERE.get(truth.place, (truth.place,))[0]
    others = [thing for thing in truth.things if thing is not main]
    return [
        f"{describe_thing(main)} {where}".strip(),
        f"{place_name(truth.place)} {LIGHT_WORDS.get(truth.light, (truth.light,))[0]}".strip(),
        count_things(truth.things),
        *(f"{describe_thing(thing)} {spot_words(thing.column, thing.row)[0]}" for thing in others),
        *_groups(truth.things),
        *_relations(truth),
    ]


def _groups(things: Sequence[ThingTruth]) -> list[str]:
    """Kinds of which there are several, with their colours."""
    said = []
    for nouns, number in Counter(thing.nouns[0] for thing in things).items():
        colours = [thing.colour for thing in things if thing.nouns[0] == nouns]
        if number > 1:
            looks = f", {join_with_and([f'one {colour}' for colour in colours])}" if len(set(colours)) > 1 else ""
            said.append(f"{number_word(number)} {nouns[1]}{looks}")
    return said


def _relations(truth: PictureTruth) -> list[str]:
    things = {thing.number: thing for thing in truth.things}
    return [
        f"{_short(things[subject])} {predicate} {_short(things[other])}"
        for subject, predicate, other in truth.relations
        if subject < other
    ]


def _short(thing: ThingTruth) -> str:
    return with_article(f"{thing.colour} {thing.nouns[0][0]}".strip())


def _of_goods(truth: PictureTruth) -> list[str]:
    """What it is, with its colour; then all else that people would say of it. The name only where that is all."""
    known = finest_attributes(truth)
    noun = next(iter(known.get("kind", ())), truth.category.lower())
    colours = [words[0].lower() for name, words in known.items() if words and attribute_head(name) == "colour"]
    first = indefinite(" ".join([*colours[:1], noun])) if noun else truth.title or "something"
    said = (phrase for name, words in known.items() for word in words if (phrase := _phrase(name, word.lower())))
    return [first, *dict.fromkeys(said)]


def _phrase(name: str, word: str) -> str:
    if name in FACETS:
        return f"it {phrases_of(name, word)[0]}" if FACETS[name].said and name not in {"kind", "colour"} else ""
    return "" if attribute_head(name) == "colour" else word
