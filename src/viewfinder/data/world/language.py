"""What people would say of a scene: captions, and phrases for its regions. Everything said is true.

Sentences come from templates with synonyms, ellipsis, comparatives and (4 % of region phrases) negation.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from viewfinder.data.world.kinds import HEIGHT, KINDS, PLACES, WIDTH, Box
from viewfinder.data.world.scene import Relation, Scene, Thing, area
from viewfinder.data.world.words import (
    COLOUR_WORDS,
    FLOATS,
    FRONTED,
    LIGHT_WORDS,
    NOUNS,
    NUMBERS,
    PART_WORDS,
    PATTERN_ADJECTIVES,
    PATTERN_NOUNS,
    PATTERN_TAILS,
    PLACE_NOUNS,
    PREDICATE_WORDS,
    SIZE_WORDS,
    SKY_WORDS,
    STANDS,
    WHERE,
    listed,
    spot_words,
    with_article,
)

CAPTIONS = 5
FEWEST_REGIONS, MOST_REGIONS = 12, 20
NEGATED = 0.036
_WHOLE: Box = (0, 0, WIDTH, HEIGHT)


@dataclass(frozen=True)
class Region:
    """A phrase about a part of the picture, with the things and the relation that it speaks of."""

    phrase: str
    box: Box
    things: tuple[Thing, ...] = ()
    relation: Relation | None = None


@dataclass(frozen=True)
class _Talk:
    """A scene, the chance with which words are chosen, and relations worth saying."""

    scene: Scene
    rng: random.Random
    relations: tuple[Relation, ...]

    def one(self, words: Sequence[str]) -> str:
        return self.rng.choice(words)

    def thing(self) -> Thing:
        return self.rng.choice(self.scene.things)


def regions(scene: Scene) -> list[Region]:
    """Phrases about regions of the scene, 12 to 20, no two alike in lower case."""
    talk = _talk(scene, "regions")
    wanted = talk.rng.randint(FEWEST_REGIONS, MOST_REGIONS)
    said: dict[str, Region] = {}
    while len(said) < wanted:
        region = _negation(talk) if talk.rng.random() < NEGATED else _statement(talk)
        if region is not None:
            said.setdefault(region.phrase.lower(), region)
    return list(said.values())


def captions(scene: Scene) -> list[str]:
    """Five captions with different things in view: main thing, list, relation, numbers, place."""
    talk = _talk(scene, "captions")
    said = [
        _main_caption(talk),
        _list_caption(talk),
        _relation_caption(talk),
        _count_caption(talk),
        _place_caption(talk),
    ]
    talk.rng.shuffle(said)
    return [_written(talk, caption) for caption in said]


def _talk(scene: Scene, purpose: str) -> _Talk:
    rng = random.Random(f"viewfinder/{purpose}/{scene.seed}/{scene.number}")
    return _Talk(scene, rng, tuple(relation for relation in scene.relations() if _is_natural(relation)))


def _is_natural(relation: Relation) -> bool:
    """Of things that stand on the same ground nobody says that one is above the other."""
    zones = {KINDS[relation.subject.kind].zone, KINDS[relation.object.kind].zone}
    return relation.predicate not in {"above", "below"} or len(zones) > 1


# Noun phrases


def _noun(talk: _Talk, kind: str) -> str:
    return talk.rng.choice(NOUNS[kind])[0]


def _nouns(talk: _Talk, kind: str) -> str:
    return talk.rng.choice(NOUNS[kind])[1]


def _colour(talk: _Talk, thing: Thing) -> str:
    # The first word is the usual one.
    words = COLOUR_WORDS.get(thing.colour, (thing.colour,))
    return words[0] if talk.rng.random() < 0.8 else talk.one(words)


def _described(talk: _Talk, thing: Thing, *, size: float = 0.35, colour: float = 0.85, pattern: float = 0.5) -> str:
    """A noun with some of its adjectives, each with the given chance; no article."""
    adjectives: list[str] = []
    tail = ""
    if talk.rng.random() < (size if thing.size != "medium" else size / 4):
        adjectives.append(talk.one(SIZE_WORDS[thing.size]))
    looks: list[str] = []
    if talk.rng.random() < colour:
        looks.append(_colour(talk, thing))
    if talk.rng.random() < (pattern if thing.pattern != "plain" else pattern / 10) and KINDS[thing.kind].patterned:
        if thing.pattern in PATTERN_TAILS and talk.rng.random() < 0.4:
            tail = f" {talk.one(PATTERN_TAILS[thing.pattern])}"
        else:
            looks.insert(talk.rng.randint(0, len(looks)), talk.one(PATTERN_ADJECTIVES[thing.pattern]))
    return " ".join([*adjectives, *looks, _noun(talk, thing.kind)]) + tail


def _a(talk: _Talk, thing: Thing, **chances: float) -> str:
    """As `_described`, with an article unless ellipsis drops it."""
    phrase = _described(talk, thing, **chances)
    return phrase if talk.rng.random() < 0.2 else with_article(phrase)


def _stands(talk: _Talk, thing: Thing) -> str:
    zone = KINDS[thing.kind].zone
    return talk.one(STANDS[talk.scene.place] if zone == "ground" else FLOATS[zone])


# Region phrases


def _statement(talk: _Talk) -> Region | None:
    makers, weights = zip(*_STATEMENTS, strict=True)
    maker: Callable[[_Talk], Region | None] = talk.rng.choices(makers, weights=weights)[0]
    return maker(talk)


def _look_region(talk: _Talk) -> Region:
    thing = talk.thing()
    return Region(_a(talk, thing), thing.box, (thing,))


def _full_region(talk: _Talk) -> Region:
    thing = talk.thing()
    return Region(_a(talk, thing, size=1.0, colour=1.0, pattern=1.0), thing.box, (thing,))


def _spot_region(talk: _Talk) -> Region:
    thing = talk.thing()
    spot = talk.one(spot_words(thing.column, thing.row))
    return Region(f"{_a(talk, thing, size=0.2)} {spot}", thing.box, (thing,))


def _stand_region(talk: _Talk) -> Region:
    thing = talk.thing()
    return Region(f"{_a(talk, thing)} {_stands(talk, thing)}", thing.box, (thing,))


def _sentence_region(talk: _Talk) -> Region:
    """A whole sentence: "the cup is small and yellow", "the kite has stripes"."""
    thing = talk.thing()
    noun, colour = _noun(talk, thing.kind), _colour(talk, thing)
    sentences = [
        f"the {noun} is {colour}",
        f"{noun} is {colour}",
        f"the {noun} is {talk.one(SIZE_WORDS[thing.size])} and {colour}",
    ]
    if thing.pattern in PATTERN_NOUNS:
        sentences.append(f"the {noun} has {PATTERN_NOUNS[thing.pattern]}")
    return Region(talk.one(sentences), thing.box, (thing,))


def _facing_region(talk: _Talk) -> Region | None:
    fronted = [thing for thing in talk.scene.things if thing.kind in FRONTED]
    if not fronted:
        return None
    thing = talk.rng.choice(fronted)
    verb = talk.one((f"facing {thing.faces}", f"that faces {thing.faces}", f"turned to the {thing.faces}"))
    return Region(f"{_a(talk, thing, size=0.1)} {verb}", thing.box, (thing,))


def _relation_region(talk: _Talk) -> Region | None:
    if not talk.relations:
        return None
    relation = talk.rng.choice(talk.relations)
    subject, other = relation.subject, relation.object
    verb = talk.one(PREDICATE_WORDS[relation.predicate])
    named = with_article(_described(talk, other, size=0.15, pattern=0.3))
    phrase = f"{_a(talk, subject, size=0.2)} {verb} {named}"
    if subject.kind == other.kind and talk.rng.random() < 0.5:
        phrase = f"{_a(talk, subject)} {verb} {_another(talk, other)}"
    return Region(phrase, _around((subject, other)), (subject, other), relation)


def _another(talk: _Talk, thing: Thing) -> str:
    """A thing of a kind that has just been named."""
    return talk.one((f"another {_colour(talk, thing)} one", f"a {talk.one(SIZE_WORDS[thing.size])} one", "another one"))


def _larger_region(talk: _Talk) -> Region | None:
    """A comparison: of two things of one kind, or of things that clearly differ in size."""
    subject, other = talk.rng.sample(talk.scene.things, 2)
    if area(subject.box) < 1.6 * area(other.box):
        return None
    bigger, smaller = talk.one(("bigger", "larger")), "smaller"
    if subject.kind == other.kind:
        if talk.scene.counts()[subject.kind] != 2:
            return None
        pair = _nouns(talk, subject.kind)
        turned = talk.rng.random() < 0.5
        meant, word = (other, smaller) if turned else (subject, bigger)
        phrase = talk.one((f"the {word} of the two {pair}", f"the {word} one of two {pair}"))
        return Region(phrase, meant.box, (meant,))
    named = with_article(_described(talk, subject, size=0.0))
    phrase = f"{named} {bigger} than the {_described(talk, other, size=0.0)}"
    return Region(phrase, _around((subject, other)), (subject, other))


def _group_region(talk: _Talk) -> Region | None:
    """All things of a kind at once."""
    repeated = [kind for kind, count in talk.scene.counts().items() if count > 1]
    if not repeated:
        return None
    kind = talk.rng.choice(repeated)
    group = tuple(thing for thing in talk.scene.things if thing.kind == kind)
    return Region(talk.one(_group_words(talk, group)), _around(group), group)


def _group_words(talk: _Talk, group: Sequence[Thing]) -> list[str]:
    nouns, number = _nouns(talk, group[0].kind), NUMBERS[len(group)]
    words = [
        f"{number} {nouns}",
        f"{number} {nouns} {_stands(talk, group[0])}",
        f"a group of {number} {nouns}",
    ]
    colours = [_colour(talk, thing) for thing in group]
    if len({thing.colour for thing in group}) == 1:
        words.append(f"{number} {colours[0]} {nouns}")
    else:
        words.append(f"{number} {nouns}, {listed([f'one {colour}' for colour in colours])}")
    if len({thing.size for thing in group}) == len(group):
        words.append(f"{nouns} of different sizes")
    return words


def _part_region(talk: _Talk) -> Region:
    parts = PLACES[talk.scene.place].parts
    name = talk.one(tuple(parts))
    words = SKY_WORDS[talk.scene.light] if name == "sky" else PART_WORDS[name]
    return Region(talk.one(words), parts[name])


_STATEMENTS: tuple[tuple[Callable[[_Talk], Region | None], float], ...] = (
    (_look_region, 3),
    (_full_region, 2),
    (_spot_region, 2.5),
    (_stand_region, 2),
    (_sentence_region, 2),
    (_facing_region, 0.6),
    (_relation_region, 4),
    (_larger_region, 1),
    (_group_region, 0.7),
    (_part_region, 2),
)


def _negation(talk: _Talk) -> Region:
    """Something that is not there, or a thing that is not so."""
    thing = talk.thing()
    noun = _noun(talk, thing.kind)
    other_patterns = [name for name in PATTERN_NOUNS if name != thing.pattern]
    if talk.rng.random() < 0.35 and KINDS[thing.kind].patterned:
        return Region(f"{with_article(noun)} without {PATTERN_NOUNS[talk.one(other_patterns)]}", thing.box, (thing,))
    if talk.rng.random() < 0.25:
        wrong = talk.one([colour for colour in KINDS[thing.kind].colours if colour != thing.colour])
        return Region(f"{with_article(noun)} that is not {wrong}", thing.box, (thing,))
    absent = talk.one(absent_kinds(talk.scene))
    one, many = talk.rng.choice(NOUNS[absent])
    phrases = (
        f"no {many} here",
        f"there is no {one}",
        f"not a single {one} in sight",
        f"{many} are nowhere to be seen",
    )
    return Region(talk.one(phrases), _WHOLE)


def absent_kinds(scene: Scene) -> list[str]:
    """Kinds of which nothing can be seen, neither as a thing nor in the background."""
    seen = set(scene.counts()) | PLACES[scene.place].shows | ({"star"} if scene.light == "night" else set())
    return [kind for kind in KINDS if kind not in seen]


def _around(things: Sequence[Thing]) -> Box:
    """The smallest box around all of them."""
    left, top = min(thing.box[0] for thing in things), min(thing.box[1] for thing in things)
    right = max(thing.box[0] + thing.box[2] for thing in things)
    return (left, top, right - left, max(thing.bottom for thing in things) - top)


# Captions


def _where(talk: _Talk) -> str:
    """Place and, now and then, the hour."""
    where = talk.one(WHERE[talk.scene.place])
    hour = talk.one(LIGHT_WORDS[talk.scene.light])
    tell_hour = hour and talk.scene.place != "city" and talk.rng.random() < 0.3
    return f"{where} {hour}" if tell_hour else where


def _main_caption(talk: _Talk) -> str:
    main = with_article(_described(talk, talk.scene.main(), size=0.7, colour=1.0))
    return talk.one((f"{main} {_where(talk)}", f"there is {main} {_where(talk)}", f"picture of {main} {_where(talk)}"))


def _list_caption(talk: _Talk) -> str:
    things = talk.rng.sample(talk.scene.things, min(len(talk.scene.things), talk.rng.choice((2, 3))))
    if talk.rng.random() < 0.3:
        place = talk.one(PLACE_NOUNS[talk.scene.place])
        return ", ".join([*(_described(talk, thing, size=0.2) for thing in things), place])
    named = listed([with_article(_described(talk, thing, size=0.2)) for thing in things])
    return f"{named} {_where(talk)}"


def _relation_caption(talk: _Talk) -> str:
    region = _relation_region(talk)
    if region is None:
        return f"{_a(talk, talk.thing())} {_where(talk)}"
    return region.phrase if talk.rng.random() < 0.4 else f"{_where(talk)}, {region.phrase}"


def _count_caption(talk: _Talk) -> str:
    """How many there are of some kinds; never of all of them."""
    counts = talk.scene.counts().most_common()
    told = counts[: talk.rng.choice((1, 2))]
    named = listed([_counted(talk, kind, count) for kind, count in told])
    verb = "are" if told[0][1] > 1 else "is"
    return talk.one(
        (
            f"there {verb} {named} {_where(talk)}",
            f"{named} {_where(talk)}",
            f"{_where(talk)} one sees {named}",
        )
    )


def _counted(talk: _Talk, kind: str, count: int) -> str:
    return with_article(_noun(talk, kind)) if count == 1 else f"{NUMBERS[count]} {_nouns(talk, kind)}"


def _place_caption(talk: _Talk) -> str:
    place, thing = talk.one(PLACE_NOUNS[talk.scene.place]), talk.thing()
    hour = "" if talk.scene.place == "city" else talk.one(LIGHT_WORDS[talk.scene.light])
    scene = f"{place} {hour}".strip()
    spot = talk.one(spot_words(thing.column, thing.row))
    named = with_article(_described(talk, thing))
    return talk.one((f"{scene} with {named}", f"{scene} with {named} {spot}", f"{scene}, {named} {spot}"))


def _written(talk: _Talk, caption: str) -> str:
    """Capital and full stop, as most people write them."""
    style = talk.rng.random()
    if style < 0.2:
        return caption
    return caption[0].upper() + caption[1:] + ("." if style < 0.7 else "")
