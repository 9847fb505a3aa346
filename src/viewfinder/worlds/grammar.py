"""The grammar of scenes: how things are named and described, and what sets one scene apart from another.

A `Speaker` chooses the words; `change_instruction` says how a wanted scene differs from the one shown: "the same, but
in the snow and without the bus". Every statement is true.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from viewfinder.wording.nouns import join_with_and, with_article
from viewfinder.wording.numbers import NUMBERS
from viewfinder.worlds.kinds import PLACES, SIZES, Kind
from viewfinder.worlds.scene import Relation, Scene, Thing
from viewfinder.worlds.words import (
    COLOUR_FAMILIES,
    COLOUR_WORDS,
    FLOATS,
    LIGHT_WORDS,
    PATTERN_ADJECTIVES,
    PATTERN_TAILS,
    SIZE_WORDS,
    STANDS,
    WHERE,
    spot_words,
)

_Option = TypeVar("_Option")


@dataclass(frozen=True)
class Speaker:
    """Speaks of a scene in words chosen at random, always the same ones for the same seed.

    `relations` are those worth saying: things on the same ground are not said to be above one another.
    """

    scene: Scene
    rng: random.Random
    relations: tuple[Relation, ...]

    def pick(self, options: Sequence[_Option]) -> _Option:
        """One of several ways to say something, or of several things."""
        return self.rng.choice(options)

    def chance(self, share: float) -> bool:
        """True in this share of the cases."""
        return self.rng.random() < share

    def kind_of(self, thing: Thing) -> Kind:
        """Facts about the kind of a thing."""
        return self.scene.stock.kinds[thing.kind]

    def knows_pattern(self, thing: Thing) -> bool:
        """Whether a thing is of a kind that comes in patterns, and its own is known."""
        return thing.pattern != "" and (self.kind_of(thing).patterned or thing.product != "")

    def noun(self, kind: str) -> str:
        """A word for one of a kind."""
        return self.pick(self.scene.stock.nouns[kind])[0]

    def plural(self, kind: str) -> str:
        """A word for several of a kind."""
        return self.pick(self.scene.stock.nouns[kind])[1]

    def count(self, kind: str, number: int) -> str:
        """A number of things of a kind: "a cup", "two mugs"."""
        return with_article(self.noun(kind)) if number == 1 else f"{NUMBERS[number]} {self.plural(kind)}"

    def colour_word(self, thing: Thing) -> str:
        """A word for a thing's colour, mostly the usual one, which stands first."""
        words = COLOUR_WORDS.get(thing.colour, (thing.colour,))
        return words[0] if self.chance(0.8) else self.pick(words)

    def other_colours(self, thing: Thing) -> list[str]:
        """Colours in which its kind comes and that cannot be mistaken for its own."""
        return [colour for colour in self.kind_of(thing).colours if _find_family(colour) != _find_family(thing.colour)]

    def describe(self, thing: Thing, *, size: float = 0.35, colour: float = 0.85, pattern: float = 0.5) -> str:
        """A noun with some of its adjectives, each with the given chance; no article."""
        # That a thing is of medium size, or plain, is rarely worth saying.
        chance_of_size = size if thing.size != "medium" else size / 4
        sizes = [self.pick(SIZE_WORDS[thing.size])] if self.chance(chance_of_size) else []
        looks = [self.colour_word(thing)] if self.chance(colour) else []
        tail = ""
        tell = self.chance(pattern if thing.pattern != "plain" else pattern / 10)
        if tell and self.knows_pattern(thing):
            if thing.pattern in PATTERN_TAILS and self.chance(0.4):
                tail = f" {self.pick(PATTERN_TAILS[thing.pattern])}"
            else:
                looks.insert(self.rng.randint(0, len(looks)), self.pick(PATTERN_ADJECTIVES[thing.pattern]))
        return " ".join([*sizes, *looks, self.noun(thing.kind)]) + tail

    def mention(self, thing: Thing, **chances: float) -> str:
        """A description (see `describe`) with an article, unless ellipsis drops it."""
        phrase = self.describe(thing, **chances)
        return phrase if self.chance(0.2) else with_article(phrase)

    def pinpoint(self, thing: Thing, *, hide: str = "") -> str:
        """A name by which one finds a thing in its scene ("the cat", "the smaller dog", "the dog on the left"), or "".

        `hide` is what the name must not tell: "colour", "size" or "column".
        """
        word = self.noun(thing.kind)
        others = [other for other in self.scene.of_kind(thing.kind) if other != thing]
        if not others:
            return f"the {word}"
        ways = [name for name in ("colour", "size", "column") if name != hide and _tells_apart(thing, others, name)]
        match self.pick(ways) if ways else "":
            case "colour":
                return f"the {self.colour_word(thing)} {word}"
            case "size":
                return f"the {self.pick(SIZE_WORDS[thing.size])} {word}"
            case "column":
                return f"the {word} {spot_words(thing.column, 'centre')[0]}"
            case _:
                return ""

    def spot(self, thing: Thing) -> str:
        """The part of the picture in which a thing is."""
        return self.pick(spot_words(thing.column, thing.row))

    def footing(self, thing: Thing) -> str:
        """The ground on which a thing stands or floats."""
        zone = self.kind_of(thing).zone
        return self.pick(STANDS[self.scene.place] if zone == "ground" else FLOATS[zone])

    def setting(self, *, hour: float = 0.3) -> str:
        """The place and, with the given chance, the hour."""
        place, when = self.pick(WHERE[self.scene.place]), self.pick(LIGHT_WORDS[self.scene.light])
        return f"{place} {when}" if when and self.scene.place != "city" and self.chance(hour) else place


def make_speaker(scene: Scene, purpose: str) -> Speaker:
    """A speaker who says the same words for the same scene and purpose, always."""
    kinds = scene.stock.kinds
    natural = (
        relation
        for relation in scene.relations
        if relation.predicate not in {"above", "below"}
        or kinds[relation.subject.kind].zone != kinds[relation.object.kind].zone
    )
    return Speaker(scene, random.Random(f"viewfinder/{purpose}/{scene.seed}/{scene.number}"), tuple(natural))


def _find_family(colour: str) -> str:
    return COLOUR_FAMILIES.get(colour, colour)


def _tells_apart(thing: Thing, others: Sequence[Thing], name: str) -> bool:
    if name == "colour":
        return _find_family(thing.colour) not in [_find_family(other.colour) for other in others]
    return all(getattr(thing, name) != getattr(other, name) for other in others)


def list_absent_kinds(scene: Scene) -> list[str]:
    """Kinds of which nothing can be seen: neither as a thing, nor in the background, nor along with a thing."""
    seen = set(scene.counts()) | PLACES[scene.place].shows | ({"star"} if scene.light == "night" else set())
    seen = seen.union(*(scene.stock.kinds[kind].shows for kind in scene.counts()))
    return [kind for kind in scene.stock.kinds if kind not in seen]


# What sets one scene apart from another

MAX_CHANGES = 3

_OPENINGS = (
    *("", "", "same kind of picture, but ", "like this, but "),
    *("i want this, only ", "something like it, only ", "now "),
)

_Ranked = list[tuple[int, str]]
"""Clauses, each with its rank: the lower, the sooner it is said."""


def change_instruction(speaker: Speaker, before: Scene) -> str:
    """The main differences from `before` to the speaker's scene, up to three, as a user would say them."""
    clauses = change_clauses(speaker, before)[:MAX_CHANGES]
    return speaker.pick(_OPENINGS) + join_with_and(clauses)


def change_clauses(speaker: Speaker, before: Scene) -> list[str]:
    """All differences worth saying from `before` to the speaker's scene, the main ones first; at least one."""
    after = speaker.scene
    found: _Ranked = []
    if after.place != before.place:
        found.append((0, speaker.pick(WHERE[after.place])))
    elif after.light != before.light:
        found.append((1, speaker.pick(LIGHT_WORDS[after.light])))
    for kind in after.counts():
        found += _list_kind_changes(speaker, before, kind)
    gone = set(list_absent_kinds(after))
    found += [(2, _say_without(speaker, kind, count)) for kind, count in before.counts().items() if kind in gone]
    if not found:
        main = after.main()
        found = [(9, f"with {with_article(speaker.describe(main, size=1.0, colour=1.0))} {speaker.spot(main)}")]
    # Within one rank in any order, so that it is not always the first kind that is spoken of.
    speaker.rng.shuffle(found)
    return [clause for _, clause in sorted(found, key=lambda ranked: ranked[0])]


# The same, leaning on what was said before


@dataclass(frozen=True)
class Ellipsis:
    """A wish that leans on another one: what was asked for first, and what is said on seeing `before`.

    Attributes:
        place: where the first wish was, or "".
        things: of what it was; all of it holds for both scenes.
        change: what is different now, as it follows "is there one": "in the same place, but at night".
    """

    place: str
    things: str
    change: str

    @property
    def request(self) -> str:
        """The first wish as the object of a sentence."""
        return f"{self.things or 'something'} {self.place}".strip()


def lean_on(speaker: Speaker, before: Scene, *, spoken: bool = True) -> Ellipsis | None:
    """A wish that leads from `before` to the speaker's scene and names nothing that stays; None if nothing stays.

    `spoken`: whether things were spoken of before, so that one may call them "the same" or "it".
    """
    after = speaker.scene
    shared = [kind for kind in after.counts() if before.of_kind(kind)] if spoken else []
    told = speaker.rng.sample(shared, min(len(shared), 2))
    stays = after.place == before.place
    if not told and not stays:
        return None
    if stays:
        head = speaker.pick(("in the same place", "in the very same place", "at the same spot"))
    else:
        head = f"with {'the same ones' if len(told) > 1 else 'the same'}, {speaker.pick(WHERE[after.place])}"
    changes = [speaker.pick(LIGHT_WORDS[after.light])] if stays and after.light != before.light else []
    changes += _list_pronoun_changes(speaker, before, told) if len(told) == 1 else []
    new = [kind for kind in after.counts() if kind not in before.counts()]
    # Elsewhere, a place and a looked-at thing would say it all: there the new thing goes without its looks.
    looks = 0.4 if stays else 0.0
    for kind in speaker.rng.sample(new, min(len(new), 1)):
        things = after.of_kind(kind)
        named = with_article(speaker.describe(things[0], size=0.0, colour=looks, pattern=0.0))
        changes.append(f"with {named}" if len(things) == 1 else f"with {speaker.count(kind, len(things))}")
    gone = sorted(set(list_absent_kinds(after)) & set(before.counts()))
    lost = [f"without the {speaker.noun(kind)}" for kind in gone if len(before.of_kind(kind)) == 1]
    changes += speaker.rng.sample(lost, min(len(lost), 1))
    said = join_with_and(changes[:MAX_CHANGES]) if changes else "from another side"
    return Ellipsis(
        speaker.pick(WHERE[after.place]) if stays else "",
        join_with_and([_name_what_stays(speaker, before, kind) for kind in told]) if told else "",
        f"{head}, {speaker.pick(('but ', 'only ', ''))}{said}",
    )


def _name_what_stays(speaker: Speaker, before: Scene, kind: str) -> str:
    """Things of a kind, as far as they are alike in both scenes."""
    old, new = before.of_kind(kind), speaker.scene.of_kind(kind)
    if len(new) > 1 and len(old) == len(new):
        return speaker.count(kind, len(new))
    alike = len(old) == len(new) == 1 and old[0].colour == new[0].colour
    return with_article(f"{speaker.colour_word(new[0])} {speaker.noun(kind)}" if alike else speaker.noun(kind))


def _list_pronoun_changes(speaker: Speaker, before: Scene, told: Sequence[str]) -> list[str]:
    """Differences of the only kind of thing that was spoken of, which is called "it"."""
    old, new = before.of_kind(told[0]), speaker.scene.of_kind(told[0])
    if len(new) > 1 and len(old) != len(new):
        return [f"with {NUMBERS[len(new)]} of them"]
    if len(old) == len(new) == 1 and old[0].colour != new[0].colour:
        return [f"with it in {speaker.colour_word(new[0])}"]
    return []


def _list_kind_changes(speaker: Speaker, before: Scene, kind: str) -> _Ranked:
    """Differences of the things of a kind that the new scene has."""
    old, new = before.of_kind(kind), speaker.scene.of_kind(kind)
    if not old:
        return [(1, _say_with(speaker, new))]
    if len(old) != len(new):
        named = f"just one {speaker.noun(kind)}" if len(new) == 1 else speaker.count(kind, len(new))
        was = NUMBERS[len(old)]
        return [(2, speaker.pick((f"with {named}", f"with {named} instead of {was}", f"{named}, not {was}")))]
    if len(new) > 1:
        return []
    return list(_list_look_changes(speaker, old[0], new[0]))


def _say_with(speaker: Speaker, new: Sequence[Thing]) -> str:
    if len(new) > 1:
        return speaker.pick([f"{verb} {speaker.count(new[0].kind, len(new))}" for verb in ("with", "add")])
    named = with_article(speaker.describe(new[0], size=0.3, colour=0.9))
    ways = (f"with {named}", f"add {named}", f"with {named} {speaker.spot(new[0])}", f"there should be {named}")
    return speaker.pick(ways)


def _say_without(speaker: Speaker, kind: str, count: int) -> str:
    word, verb = (speaker.noun(kind), "is") if count == 1 else (speaker.plural(kind), "are")
    ways = (f"without the {word}", f"no {word} this time", f"leave out the {word}", f"the {word} {verb} not there")
    return speaker.pick(ways)


def _list_look_changes(speaker: Speaker, old: Thing, new: Thing) -> Iterator[tuple[int, str]]:
    """Differences of the only thing of a kind."""
    if old.colour != new.colour:
        word, colour = speaker.noun(new.kind), speaker.colour_word(new)
        ways: tuple[str, ...] = (
            f"the {word} should be {colour}",
            f"make the {word} {colour}",
            f"with {with_article(f'{colour} {word}')} instead of the {old.colour} one",
            f"the {word} is {colour}, not {old.colour}",
        )
        yield 3, speaker.pick(ways)
    if old.pattern and new.pattern and old.pattern != new.pattern:
        yield 4, f"the {speaker.noun(new.kind)} is {speaker.pick(PATTERN_ADJECTIVES[new.pattern])}"
    if old.size != new.size:
        grown = "bigger" if SIZES[new.size] > SIZES[old.size] else "smaller"
        word = speaker.noun(new.kind)
        ways = (f"with {with_article(f'{grown} {word}')}", f"the {word} is {speaker.pick(SIZE_WORDS[new.size])}")
        yield 5, speaker.pick(ways)
    if old.column != new.column:
        yield 6, f"the {speaker.noun(new.kind)} {speaker.spot(new)}"
