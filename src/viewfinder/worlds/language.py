"""What people would say of a scene: captions, and phrases for its regions. Everything said is true.

Sentences come from templates with synonyms, ellipsis, comparatives and (4 % of region phrases) negation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from viewfinder.worlds.grammar import (
    Speaker,
    absent_kinds,
    colour_word,
    counted,
    described,
    knows_pattern,
    noun,
    nouns,
    other_colours,
    some,
    speaker_for,
    spot,
    stands,
    where,
)
from viewfinder.worlds.kinds import HEIGHT, PLACES, WIDTH, Box
from viewfinder.worlds.scene import Relation, Scene, Thing, box_area
from viewfinder.worlds.words import (
    FRONTED,
    LIGHT_WORDS,
    NUMBERS,
    PART_WORDS,
    PATTERN_NOUNS,
    PLACE_NOUNS,
    PREDICATE_WORDS,
    SIZE_WORDS,
    SKY_WORDS,
    join_with_and,
    with_article,
)

CAPTIONS = 5
FEWEST_REGIONS, MOST_REGIONS = 12, 20
NEGATED = 0.036
_WHOLE: Box = (0, 0, WIDTH, HEIGHT)


@dataclass(frozen=True)
class RegionPhrase:
    """A phrase about a part of the picture, with the things and the relation that it speaks of."""

    phrase: str
    box: Box
    things: tuple[Thing, ...] = ()
    relation: Relation | None = None


def describe_regions(scene: Scene) -> list[RegionPhrase]:
    """Phrases about regions of the scene, 12 to 20, no two alike in lower case."""
    talk = speaker_for(scene, "regions")
    wanted = talk.rng.randint(FEWEST_REGIONS, MOST_REGIONS)
    said: dict[str, RegionPhrase] = {}
    while len(said) < wanted:
        region = _negation(talk) if talk.rng.random() < NEGATED else _statement(talk)
        if region is not None:
            said.setdefault(region.phrase.lower(), region)
    return list(said.values())


def caption_scene(scene: Scene) -> list[str]:
    """Five captions with different things in view: main thing, list, relation, numbers, place."""
    talk = speaker_for(scene, "captions")
    said = [
        _main_caption(talk),
        _list_caption(talk),
        _relation_caption(talk),
        _count_caption(talk),
        _place_caption(talk),
    ]
    talk.rng.shuffle(said)
    return [_written(talk, caption) for caption in said]


# Region phrases


def _statement(talk: Speaker) -> RegionPhrase | None:
    makers, weights = zip(*_STATEMENTS, strict=True)
    maker: Callable[[Speaker], RegionPhrase | None] = talk.rng.choices(makers, weights=weights)[0]
    return maker(talk)


def _look_region(talk: Speaker) -> RegionPhrase:
    thing = talk.thing()
    return RegionPhrase(some(talk, thing), thing.box, (thing,))


def _full_region(talk: Speaker) -> RegionPhrase:
    thing = talk.thing()
    return RegionPhrase(some(talk, thing, size=1.0, colour=1.0, pattern=1.0), thing.box, (thing,))


def _spot_region(talk: Speaker) -> RegionPhrase:
    thing = talk.thing()
    at = spot(talk, thing)
    return RegionPhrase(f"{some(talk, thing, size=0.2)} {at}", thing.box, (thing,))


def _stand_region(talk: Speaker) -> RegionPhrase:
    thing = talk.thing()
    return RegionPhrase(f"{some(talk, thing)} {stands(talk, thing)}", thing.box, (thing,))


def _sentence_region(talk: Speaker) -> RegionPhrase:
    """A whole sentence: "the cup is small and yellow", "the kite has stripes"."""
    thing = talk.thing()
    word, colour = noun(talk, thing.kind), colour_word(talk, thing)
    sentences = [
        f"the {word} is {colour}",
        f"{word} is {colour}",
        f"the {word} is {talk.one(SIZE_WORDS[thing.size])} and {colour}",
    ]
    if thing.pattern in PATTERN_NOUNS and knows_pattern(talk, thing):
        sentences.append(f"the {word} has {PATTERN_NOUNS[thing.pattern]}")
    return RegionPhrase(talk.one(sentences), thing.box, (thing,))


def _facing_region(talk: Speaker) -> RegionPhrase | None:
    fronted = [thing for thing in talk.scene.things if thing.kind in FRONTED and thing.faces]
    if not fronted:
        return None
    thing = talk.rng.choice(fronted)
    verb = talk.one((f"facing {thing.faces}", f"that faces {thing.faces}", f"turned to the {thing.faces}"))
    return RegionPhrase(f"{some(talk, thing, size=0.1)} {verb}", thing.box, (thing,))


def _relation_region(talk: Speaker) -> RegionPhrase | None:
    if not talk.relations:
        return None
    relation = talk.rng.choice(talk.relations)
    subject, other = relation.subject, relation.object
    verb = talk.one(PREDICATE_WORDS[relation.predicate])
    named = with_article(described(talk, other, size=0.15, pattern=0.3))
    phrase = f"{some(talk, subject, size=0.2)} {verb} {named}"
    if subject.kind == other.kind and talk.rng.random() < 0.5:
        phrase = f"{some(talk, subject)} {verb} {_another(talk, other)}"
    return RegionPhrase(phrase, _around((subject, other)), (subject, other), relation)


def _another(talk: Speaker, thing: Thing) -> str:
    """A thing of a kind that has just been named."""
    return talk.one(
        (f"another {colour_word(talk, thing)} one", f"a {talk.one(SIZE_WORDS[thing.size])} one", "another one")
    )


def _larger_region(talk: Speaker) -> RegionPhrase | None:
    """A comparison: of two things of one kind, or of things that clearly differ in size."""
    subject, other = talk.rng.sample(talk.scene.things, 2)
    if box_area(subject.box) < 1.6 * box_area(other.box):
        return None
    bigger, smaller = talk.one(("bigger", "larger")), "smaller"
    if subject.kind == other.kind:
        if talk.scene.counts()[subject.kind] != 2:
            return None
        pair = nouns(talk, subject.kind)
        turned = talk.rng.random() < 0.5
        meant, word = (other, smaller) if turned else (subject, bigger)
        phrase = talk.one((f"the {word} of the two {pair}", f"the {word} one of two {pair}"))
        return RegionPhrase(phrase, meant.box, (meant,))
    named = with_article(described(talk, subject, size=0.0))
    phrase = f"{named} {bigger} than the {described(talk, other, size=0.0)}"
    return RegionPhrase(phrase, _around((subject, other)), (subject, other))


def _group_region(talk: Speaker) -> RegionPhrase | None:
    """All things of a kind at once."""
    repeated = [kind for kind, count in talk.scene.counts().items() if count > 1]
    if not repeated:
        return None
    kind = talk.rng.choice(repeated)
    group = tuple(thing for thing in talk.scene.things if thing.kind == kind)
    return RegionPhrase(talk.one(_group_words(talk, group)), _around(group), group)


def _group_words(talk: Speaker, group: Sequence[Thing]) -> list[str]:
    named, number = nouns(talk, group[0].kind), NUMBERS[len(group)]
    words = [
        f"{number} {named}",
        f"{number} {named} {stands(talk, group[0])}",
        f"a group of {number} {named}",
    ]
    colours = [colour_word(talk, thing) for thing in group]
    if len({thing.colour for thing in group}) == 1:
        words.append(f"{number} {colours[0]} {named}")
    else:
        words.append(f"{number} {named}, {join_with_and([f'one {colour}' for colour in colours])}")
    if len({thing.size for thing in group}) == len(group):
        words.append(f"{named} of different sizes")
    return words


def _part_region(talk: Speaker) -> RegionPhrase:
    parts = PLACES[talk.scene.place].parts
    name = talk.one(tuple(parts))
    words = SKY_WORDS[talk.scene.light] if name == "sky" else PART_WORDS[name]
    return RegionPhrase(talk.one(words), parts[name])


_STATEMENTS: tuple[tuple[Callable[[Speaker], RegionPhrase | None], float], ...] = (
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


def _negation(talk: Speaker) -> RegionPhrase | None:
    """Something that is not there, or a thing that is not so."""
    thing = talk.thing()
    word = noun(talk, thing.kind)
    other_patterns = [name for name in PATTERN_NOUNS if name != thing.pattern]
    if talk.rng.random() < 0.35 and talk.kind(thing).patterned:
        return RegionPhrase(
            f"{with_article(word)} without {PATTERN_NOUNS[talk.one(other_patterns)]}", thing.box, (thing,)
        )
    wrong, absent = other_colours(talk, thing), absent_kinds(talk.scene)
    if wrong and (talk.rng.random() < 0.25 or not absent):
        return RegionPhrase(f"{with_article(word)} that is not {talk.one(wrong)}", thing.box, (thing,))
    if not absent:
        return None
    one, many = talk.rng.choice(talk.scene.stock.nouns[talk.one(absent)])
    phrases = (
        f"no {many} here",
        f"there is no {one}",
        f"not a single {one} in sight",
        f"{many} are nowhere to be seen",
    )
    return RegionPhrase(talk.one(phrases), _WHOLE)


def _around(things: Sequence[Thing]) -> Box:
    """The smallest box around all of them."""
    left, top = min(thing.box[0] for thing in things), min(thing.box[1] for thing in things)
    right = max(thing.box[0] + thing.box[2] for thing in things)
    return (left, top, right - left, max(thing.bottom for thing in things) - top)


# Captions


def _main_caption(talk: Speaker) -> str:
    main = with_article(described(talk, talk.scene.main(), size=0.7, colour=1.0))
    return talk.one((f"{main} {where(talk)}", f"there is {main} {where(talk)}", f"picture of {main} {where(talk)}"))


def _list_caption(talk: Speaker) -> str:
    things = talk.rng.sample(talk.scene.things, min(len(talk.scene.things), talk.rng.choice((2, 3))))
    if talk.rng.random() < 0.3:
        place = talk.one(PLACE_NOUNS[talk.scene.place])
        return ", ".join([*(described(talk, thing, size=0.2) for thing in things), place])
    named = join_with_and([with_article(described(talk, thing, size=0.2)) for thing in things])
    return f"{named} {where(talk)}"


def _relation_caption(talk: Speaker) -> str:
    region = _relation_region(talk)
    if region is None:
        return f"{some(talk, talk.thing())} {where(talk)}"
    return region.phrase if talk.rng.random() < 0.4 else f"{where(talk)}, {region.phrase}"


def _count_caption(talk: Speaker) -> str:
    """How many there are of some kinds; never of all of them."""
    counts = talk.scene.counts().most_common()
    told = counts[: talk.rng.choice((1, 2))]
    named = join_with_and([counted(talk, kind, count) for kind, count in told])
    verb = "are" if told[0][1] > 1 else "is"
    return talk.one(
        (
            f"there {verb} {named} {where(talk)}",
            f"{named} {where(talk)}",
            f"{where(talk)} one sees {named}",
        )
    )


def _place_caption(talk: Speaker) -> str:
    place, thing = talk.one(PLACE_NOUNS[talk.scene.place]), talk.thing()
    hour = "" if talk.scene.place == "city" else talk.one(LIGHT_WORDS[talk.scene.light])
    scene = f"{place} {hour}".strip()
    at = spot(talk, thing)
    named = with_article(described(talk, thing))
    return talk.one((f"{scene} with {named}", f"{scene} with {named} {at}", f"{scene}, {named} {at}"))


def _written(talk: Speaker, caption: str) -> str:
    """Capital and full stop, as most people write them."""
    style = talk.rng.random()
    if style < 0.2:
        return caption
    return caption[0].upper() + caption[1:] + ("." if style < 0.7 else "")
