"""What one would ask for who sees one scene and wants another: "the same, but in the snow and without the bus"."""

from __future__ import annotations

from collections.abc import Callable

from viewfinder.worlds.kinds import SIZES
from viewfinder.worlds.phrases import Speaker, absent_kinds, colour_word, counted, described, noun, nouns, spot
from viewfinder.worlds.scene import Scene, Thing
from viewfinder.worlds.words import (
    LIGHT_WORDS,
    NUMBERS,
    PATTERN_ADJECTIVES,
    SIZE_WORDS,
    WHERE,
    join_with_and,
    with_article,
)

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
