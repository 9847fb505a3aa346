"""How things of a scene are spoken of: noun phrases, places, what is there and what is not.

What one would ask for who sees one scene and wants another: "the same, but in the snow and without the bus".
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from viewfinder.worlds.kinds import PLACES, SIZES, Kind
from viewfinder.worlds.scene import Relation, Scene, Thing
from viewfinder.worlds.words import (
    COLOUR_FAMILIES,
    COLOUR_WORDS,
    FLOATS,
    LIGHT_WORDS,
    NUMBERS,
    PATTERN_ADJECTIVES,
    PATTERN_TAILS,
    SIZE_WORDS,
    STANDS,
    WHERE,
    join_with_and,
    spot_words,
    with_article,
)


@dataclass(frozen=True)
class Speaker:
    """A scene, the chance with which words are chosen, and relations worth saying."""

    scene: Scene
    rng: random.Random
    relations: tuple[Relation, ...]

    def one(self, words: Sequence[str]) -> str:
        """One of several ways to say something."""
        return self.rng.choice(words)

    def thing(self) -> Thing:
        """Any thing of the scene."""
        return self.rng.choice(self.scene.things)

    def kind(self, thing: Thing) -> Kind:
        """What is known of all things of its kind."""
        return self.scene.stock.kinds[thing.kind]

    def chance(self, share: float) -> bool:
        """True in this share of the cases."""
        return self.rng.random() < share


def speaker_for(scene: Scene, purpose: str) -> Speaker:
    """The same words for the same scene and purpose, always."""
    rng = random.Random(f"viewfinder/{purpose}/{scene.seed}/{scene.number}")
    return Speaker(scene, rng, tuple(relation for relation in scene.relations() if _is_natural(scene, relation)))


def _is_natural(scene: Scene, relation: Relation) -> bool:
    """Of things that stand on the same ground nobody says that one is above the other."""
    zones = {scene.stock.kinds[thing.kind].zone for thing in (relation.subject, relation.object)}
    return relation.predicate not in {"above", "below"} or len(zones) > 1


def noun(talk: Speaker, kind: str) -> str:
    """A word for one of a kind."""
    return talk.rng.choice(talk.scene.stock.nouns[kind])[0]


def nouns(talk: Speaker, kind: str) -> str:
    """A word for several of a kind."""
    return talk.rng.choice(talk.scene.stock.nouns[kind])[1]


def colour_word(talk: Speaker, thing: Thing) -> str:
    """A word for a thing's colour."""
    # The first word is the usual one.
    words = COLOUR_WORDS.get(thing.colour, (thing.colour,))
    return words[0] if talk.rng.random() < 0.8 else talk.one(words)


def described(talk: Speaker, thing: Thing, *, size: float = 0.35, colour: float = 0.85, pattern: float = 0.5) -> str:
    """A noun with some of its adjectives, each with the given chance; no article."""
    adjectives: list[str] = []
    tail = ""
    if talk.rng.random() < (size if thing.size != "medium" else size / 4):
        adjectives.append(talk.one(SIZE_WORDS[thing.size]))
    looks: list[str] = []
    if talk.rng.random() < colour:
        looks.append(colour_word(talk, thing))
    tell = talk.rng.random() < (pattern if thing.pattern != "plain" else pattern / 10)
    if tell and knows_pattern(talk, thing):
        if thing.pattern in PATTERN_TAILS and talk.rng.random() < 0.4:
            tail = f" {talk.one(PATTERN_TAILS[thing.pattern])}"
        else:
            looks.insert(talk.rng.randint(0, len(looks)), talk.one(PATTERN_ADJECTIVES[thing.pattern]))
    return " ".join([*adjectives, *looks, noun(talk, thing.kind)]) + tail


def knows_pattern(talk: Speaker, thing: Thing) -> bool:
    """Whether it is of a kind that comes in patterns, and its own is known."""
    return thing.pattern != "" and (talk.kind(thing).patterned or thing.product != "")


def some(talk: Speaker, thing: Thing, **chances: float) -> str:
    """As `described`, with an article unless ellipsis drops it."""
    phrase = described(talk, thing, **chances)
    return phrase if talk.rng.random() < 0.2 else with_article(phrase)


def stands(talk: Speaker, thing: Thing) -> str:
    """Where a thing is, by what it stands or floats on."""
    zone = talk.kind(thing).zone
    return talk.one(STANDS[talk.scene.place] if zone == "ground" else FLOATS[zone])


def where(talk: Speaker) -> str:
    """Place and, now and then, the hour."""
    place = talk.one(WHERE[talk.scene.place])
    hour = talk.one(LIGHT_WORDS[talk.scene.light])
    tell_hour = hour and talk.scene.place != "city" and talk.rng.random() < 0.3
    return f"{place} {hour}" if tell_hour else place


def counted(talk: Speaker, kind: str, count: int) -> str:
    """So many of a kind."""
    return with_article(noun(talk, kind)) if count == 1 else f"{NUMBERS[count]} {nouns(talk, kind)}"


def other_colours(talk: Speaker, thing: Thing) -> list[str]:
    """Colours in which its kind comes, and which nobody would take for its own."""
    own = COLOUR_FAMILIES.get(thing.colour, thing.colour)
    return [colour for colour in talk.kind(thing).colours if COLOUR_FAMILIES.get(colour, colour) != own]


def the(talk: Speaker, thing: Thing, *, hide: str = "") -> str:
    """A name by which one finds a thing in its scene ("the cat", "the smaller dog", "the dog on the left"), or "".

    `hide` is what the name must not tell: "colour", "size" or "column".
    """
    word = noun(talk, thing.kind)
    others = [other for other in talk.scene.things if other.kind == thing.kind and other != thing]
    if not others:
        return f"the {word}"
    ways = [name for name in ("colour", "size", "column") if name != hide and _is_sole(thing, others, name)]
    match talk.one(ways) if ways else "":
        case "colour":
            return f"the {colour_word(talk, thing)} {word}"
        case "size":
            return f"the {talk.one(SIZE_WORDS[thing.size])} {word}"
        case "column":
            return f"the {word} {'in the middle' if thing.column == 'middle' else f'on the {thing.column}'}"
        case _:
            return ""


def _is_sole(thing: Thing, others: Sequence[Thing], name: str) -> bool:
    if name == "colour":
        families = [COLOUR_FAMILIES.get(other.colour, other.colour) for other in others]
        return COLOUR_FAMILIES.get(thing.colour, thing.colour) not in families
    return all(getattr(thing, name) != getattr(other, name) for other in others)


def spot(talk: Speaker, thing: Thing) -> str:
    """In which part of the picture a thing is."""
    return talk.one(spot_words(thing.column, thing.row))


def absent_kinds(scene: Scene) -> list[str]:
    """Kinds of which nothing can be seen: neither as a thing, nor in the background, nor along with a thing."""
    seen = set(scene.counts()) | PLACES[scene.place].shows | ({"star"} if scene.light == "night" else set())
    seen = seen.union(*(scene.stock.kinds[kind].shows for kind in scene.counts()))
    return [kind for kind in scene.stock.kinds if kind not in seen]


MOST_CHANGES = 3

_OPENINGS = (
    "",
    "",
    "same kind of picture, but ",
    "like this, but ",
    "i want this, only ",
    "something like it, only ",
    "now ",
)


def change_instruction(talk: Speaker, before: Scene) -> str:
    """The main differences from `before` to the scene of the talk, up to three, as a user would say them."""
    clauses = change_clauses(talk, before)[:MOST_CHANGES]
    return talk.one(_OPENINGS) + join_with_and(clauses)


def change_clauses(talk: Speaker, before: Scene) -> list[str]:
    """All differences worth saying from `before` to the scene of the talk, the main ones first; at least one."""
    after = talk.scene
    found = [*_setting(talk, before)]
    for kind in after.counts():
        found += _kind_changes(talk, before, kind)
    gone = set(absent_kinds(after))
    found += [(2, _without(talk, kind, count)) for kind, count in before.counts().items() if kind in gone]
    if not found:
        thing = after.main()
        found = [(9, f"with {with_article(described(talk, thing, size=1.0, colour=1.0))} {spot(talk, thing)}")]
    # Within one rank in any order, so that it is not always the first kind that is spoken of.
    talk.rng.shuffle(found)
    return [clause for _, clause in sorted(found, key=lambda ranked: ranked[0])]


Ranked = list[tuple[int, str]]


def _setting(talk: Speaker, before: Scene) -> Ranked:
    """Another place, another hour."""
    after = talk.scene
    if after.place != before.place:
        return [(0, talk.one(WHERE[after.place]))]
    if after.light != before.light:
        return [(1, talk.one(LIGHT_WORDS[after.light]))]
    return []


def _kind_changes(talk: Speaker, before: Scene, kind: str) -> Ranked:
    """What is different about the things of a kind that the new scene has."""
    old = [thing for thing in before.things if thing.kind == kind]
    new = [thing for thing in talk.scene.things if thing.kind == kind]
    if not old:
        return [(1, _with(talk, new))]
    if len(old) != len(new):
        return [(2, _counted(talk, kind, len(old), len(new)))]
    if len(new) > 1:
        return []
    return [ranked for change in _LOOKS for ranked in change(talk, old[0], new[0])]


def _with(talk: Speaker, new: list[Thing]) -> str:
    if len(new) > 1:
        return talk.one((f"with {counted(talk, new[0].kind, len(new))}", f"add {counted(talk, new[0].kind, len(new))}"))
    named = with_article(described(talk, new[0], size=0.3, colour=0.9))
    return talk.one((f"with {named}", f"add {named}", f"with {named} {spot(talk, new[0])}", f"there should be {named}"))


def _without(talk: Speaker, kind: str, count: int) -> str:
    word, verb = (noun(talk, kind), "is") if count == 1 else (nouns(talk, kind), "are")
    ways = (f"without the {word}", f"no {word} this time", f"leave out the {word}", f"the {word} {verb} not there")
    return talk.one(ways)


def _counted(talk: Speaker, kind: str, old: int, new: int) -> str:
    """How many there are now; now and then, how many there were."""
    named = f"just one {noun(talk, kind)}" if new == 1 else counted(talk, kind, new)
    return talk.one((f"with {named}", f"with {named} instead of {NUMBERS[old]}", f"{named}, not {NUMBERS[old]}"))


def _colour(talk: Speaker, old: Thing, new: Thing) -> Ranked:
    if old.colour == new.colour:
        return []
    word, colour = noun(talk, new.kind), colour_word(talk, new)
    ways = (
        f"the {word} should be {colour}",
        f"make the {word} {colour}",
        f"with {with_article(f'{colour} {word}')} instead of the {old.colour} one",
        f"the {word} is {colour}, not {old.colour}",
    )
    return [(3, talk.one(ways))]


def _pattern(talk: Speaker, old: Thing, new: Thing) -> Ranked:
    if old.pattern == new.pattern or not old.pattern or not new.pattern:
        return []
    return [(4, f"the {noun(talk, new.kind)} is {talk.one(PATTERN_ADJECTIVES[new.pattern])}")]


def _size(talk: Speaker, old: Thing, new: Thing) -> Ranked:
    if old.size == new.size:
        return []
    sizes = list(SIZES)
    grown = "bigger" if sizes.index(new.size) > sizes.index(old.size) else "smaller"
    word = noun(talk, new.kind)
    return [
        (5, talk.one((f"with {with_article(f'{grown} {word}')}", f"the {word} is {talk.one(SIZE_WORDS[new.size])}")))
    ]


def _position(talk: Speaker, old: Thing, new: Thing) -> Ranked:
    if old.column == new.column:
        return []
    return [(6, f"the {noun(talk, new.kind)} {spot(talk, new)}")]


_LOOKS: tuple[Callable[[Speaker, Thing, Thing], Ranked], ...] = (_colour, _pattern, _size, _position)
