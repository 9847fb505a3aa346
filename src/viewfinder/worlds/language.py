"""What people would say of a scene: captions, and phrases for its regions. Everything said is true.

Sentences come from templates with synonyms, ellipsis, comparatives and (4 % of region phrases) negation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from viewfinder.worlds.grammar import Speaker, absent_kinds, speaker_for
from viewfinder.worlds.kinds import HEIGHT, PLACES, WIDTH, Box
from viewfinder.worlds.scene import CLEARLY_LARGER, Relation, Scene, Thing, box_area
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
MIN_REGIONS, MAX_REGIONS = 12, 20
NEGATED = 0.036


@dataclass(frozen=True)
class RegionPhrase:
    """A phrase about a part of the picture, with the things and the relation that it speaks of."""

    phrase: str
    box: Box
    things: tuple[Thing, ...] = ()
    relation: Relation | None = None


def describe_regions(scene: Scene) -> list[RegionPhrase]:
    """Phrases about regions of the scene, 12 to 20, no two alike in lower case."""
    speaker = speaker_for(scene, "regions")
    wanted = speaker.rng.randint(MIN_REGIONS, MAX_REGIONS)
    makers, weights = zip(*_STATEMENTS, strict=True)
    said: dict[str, RegionPhrase] = {}
    while len(said) < wanted:
        maker = _negation if speaker.chance(NEGATED) else speaker.rng.choices(makers, weights=weights)[0]
        region: RegionPhrase | None = maker(speaker)
        if region is not None:
            said.setdefault(region.phrase.lower(), region)
    return list(said.values())


def caption_scene(scene: Scene) -> list[str]:
    """Five captions with different things in view: main thing, list, relation, numbers, place."""
    speaker = speaker_for(scene, "captions")
    makers = (_main_caption, _list_caption, _relation_caption, _count_caption, _place_caption)
    said = [make(speaker) for make in makers]
    speaker.rng.shuffle(said)
    return [_capitalized(speaker, caption) for caption in said]


# Region phrases


def _thing_region(say: Callable[[Speaker, Thing], str], speaker: Speaker) -> RegionPhrase:
    thing = speaker.pick(speaker.scene.things)
    return RegionPhrase(say(speaker, thing), thing.box, (thing,))


def _phrase_with_spot(speaker: Speaker, thing: Thing) -> str:
    at = speaker.spot(thing)
    return f"{speaker.mention(thing, size=0.2)} {at}"


def _sentence(speaker: Speaker, thing: Thing) -> str:
    """A whole sentence: "the cup is small and yellow", "the kite has stripes"."""
    word, colour = speaker.noun(thing.kind), speaker.colour_word(thing)
    sentences = [
        f"the {word} is {colour}",
        f"{word} is {colour}",
        f"the {word} is {speaker.pick(SIZE_WORDS[thing.size])} and {colour}",
    ]
    if thing.pattern in PATTERN_NOUNS and speaker.knows_pattern(thing):
        sentences.append(f"the {word} has {PATTERN_NOUNS[thing.pattern]}")
    return speaker.pick(sentences)


def _facing_region(speaker: Speaker) -> RegionPhrase | None:
    fronted = [thing for thing in speaker.scene.things if thing.kind in FRONTED and thing.faces]
    if not fronted:
        return None
    thing = speaker.pick(fronted)
    verb = speaker.pick((f"facing {thing.faces}", f"that faces {thing.faces}", f"turned to the {thing.faces}"))
    return RegionPhrase(f"{speaker.mention(thing, size=0.1)} {verb}", thing.box, (thing,))


def _relation_region(speaker: Speaker) -> RegionPhrase | None:
    if not speaker.relations:
        return None
    relation = speaker.pick(speaker.relations)
    subject, other = relation.subject, relation.object
    verb = speaker.pick(PREDICATE_WORDS[relation.predicate])
    named = with_article(speaker.describe(other, size=0.15, pattern=0.3))
    phrase = f"{speaker.mention(subject, size=0.2)} {verb} {named}"
    if subject.kind == other.kind and speaker.chance(0.5):
        # Of a kind that has just been named one says "another one".
        first = speaker.mention(subject)
        coloured, sized = speaker.colour_word(other), speaker.pick(SIZE_WORDS[other.size])
        another = speaker.pick((f"another {coloured} one", f"a {sized} one", "another one"))
        phrase = f"{first} {verb} {another}"
    return RegionPhrase(phrase, _box_around((subject, other)), (subject, other), relation)


def _larger_region(speaker: Speaker) -> RegionPhrase | None:
    """A comparison: of two things of one kind, or of things that clearly differ in size."""
    subject, other = speaker.rng.sample(speaker.scene.things, 2)
    if box_area(subject.box) < CLEARLY_LARGER * box_area(other.box):
        return None
    bigger, smaller = speaker.pick(("bigger", "larger")), "smaller"
    if subject.kind == other.kind:
        if speaker.scene.counts()[subject.kind] != 2:
            return None
        pair = speaker.plural(subject.kind)
        meant, word = (other, smaller) if speaker.chance(0.5) else (subject, bigger)
        phrase = speaker.pick((f"the {word} of the two {pair}", f"the {word} one of two {pair}"))
        return RegionPhrase(phrase, meant.box, (meant,))
    named = with_article(speaker.describe(subject, size=0.0))
    phrase = f"{named} {bigger} than the {speaker.describe(other, size=0.0)}"
    return RegionPhrase(phrase, _box_around((subject, other)), (subject, other))


def _group_region(speaker: Speaker) -> RegionPhrase | None:
    """All things of a kind at once."""
    repeated = [kind for kind, count in speaker.scene.counts().items() if count > 1]
    if not repeated:
        return None
    kind = speaker.pick(repeated)
    group = speaker.scene.of_kind(kind)
    named, number = speaker.plural(kind), NUMBERS[len(group)]
    phrases = [f"{number} {named}", f"{number} {named} {speaker.footing(group[0])}", f"a group of {number} {named}"]
    colours = [speaker.colour_word(thing) for thing in group]
    if len({thing.colour for thing in group}) == 1:
        phrases.append(f"{number} {colours[0]} {named}")
    else:
        phrases.append(f"{number} {named}, {join_with_and([f'one {colour}' for colour in colours])}")
    if len({thing.size for thing in group}) == len(group):
        phrases.append(f"{named} of different sizes")
    return RegionPhrase(speaker.pick(phrases), _box_around(group), group)


def _part_region(speaker: Speaker) -> RegionPhrase:
    parts = PLACES[speaker.scene.place].parts
    name = speaker.pick(tuple(parts))
    words = SKY_WORDS[speaker.scene.light] if name == "sky" else PART_WORDS[name]
    return RegionPhrase(speaker.pick(words), parts[name])


_STATEMENTS: tuple[tuple[Callable[[Speaker], RegionPhrase | None], float], ...] = (
    (partial(_thing_region, lambda speaker, thing: speaker.mention(thing)), 3),
    (partial(_thing_region, lambda speaker, thing: speaker.mention(thing, size=1.0, colour=1.0, pattern=1.0)), 2),
    (partial(_thing_region, _phrase_with_spot), 2.5),
    (partial(_thing_region, lambda speaker, thing: f"{speaker.mention(thing)} {speaker.footing(thing)}"), 2),
    (partial(_thing_region, _sentence), 2),
    (_facing_region, 0.6),
    (_relation_region, 4),
    (_larger_region, 1),
    (_group_region, 0.7),
    (_part_region, 2),
)
"""What makes a phrase, and how often it is tried; None where the scene has nothing for it."""


def _negation(speaker: Speaker) -> RegionPhrase | None:
    """Something that is not there, or a thing that is not so."""
    thing = speaker.pick(speaker.scene.things)
    word = speaker.noun(thing.kind)
    other_patterns = [name for name in PATTERN_NOUNS if name != thing.pattern]
    if speaker.chance(0.35) and speaker.kind_of(thing).patterned:
        pattern = PATTERN_NOUNS[speaker.pick(other_patterns)]
        return RegionPhrase(f"{with_article(word)} without {pattern}", thing.box, (thing,))
    wrong, absent = speaker.other_colours(thing), absent_kinds(speaker.scene)
    if wrong and (speaker.chance(0.25) or not absent):
        return RegionPhrase(f"{with_article(word)} that is not {speaker.pick(wrong)}", thing.box, (thing,))
    if not absent:
        return None
    one, many = speaker.pick(speaker.scene.stock.nouns[speaker.pick(absent)])
    ways = (f"no {many} here", f"there is no {one}", f"not a single {one} in sight", f"{many} are nowhere to be seen")
    return RegionPhrase(speaker.pick(ways), (0, 0, WIDTH, HEIGHT))


def _box_around(things: Sequence[Thing]) -> Box:
    """The smallest box around all of them."""
    left, top = min(thing.box[0] for thing in things), min(thing.box[1] for thing in things)
    right = max(thing.box[0] + thing.box[2] for thing in things)
    return (left, top, right - left, max(thing.bottom for thing in things) - top)


# Captions


def _main_caption(speaker: Speaker) -> str:
    main = with_article(speaker.describe(speaker.scene.main(), size=0.7, colour=1.0))
    return speaker.pick([f"{way}{main} {speaker.setting()}" for way in ("", "there is ", "picture of ")])


def _list_caption(speaker: Speaker) -> str:
    things = speaker.rng.sample(speaker.scene.things, min(len(speaker.scene.things), speaker.pick((2, 3))))
    if speaker.chance(0.3):
        place = speaker.pick(PLACE_NOUNS[speaker.scene.place])
        return ", ".join([*(speaker.describe(thing, size=0.2) for thing in things), place])
    named = join_with_and([with_article(speaker.describe(thing, size=0.2)) for thing in things])
    return f"{named} {speaker.setting()}"


def _relation_caption(speaker: Speaker) -> str:
    region = _relation_region(speaker)
    if region is None:
        return f"{speaker.mention(speaker.pick(speaker.scene.things))} {speaker.setting()}"
    return region.phrase if speaker.chance(0.4) else f"{speaker.setting()}, {region.phrase}"


def _count_caption(speaker: Speaker) -> str:
    """How many there are of some kinds; never of all of them."""
    told = speaker.scene.counts().most_common()[: speaker.pick((1, 2))]
    named = join_with_and([speaker.count(kind, count) for kind, count in told])
    verb = "are" if told[0][1] > 1 else "is"
    ways = (
        f"there {verb} {named} {speaker.setting()}",
        f"{named} {speaker.setting()}",
        f"{speaker.setting()} one sees {named}",
    )
    return speaker.pick(ways)


def _place_caption(speaker: Speaker) -> str:
    place, thing = speaker.pick(PLACE_NOUNS[speaker.scene.place]), speaker.pick(speaker.scene.things)
    hour = "" if speaker.scene.place == "city" else speaker.pick(LIGHT_WORDS[speaker.scene.light])
    scene = f"{place} {hour}".strip()
    at = speaker.spot(thing)
    named = with_article(speaker.describe(thing))
    return speaker.pick((f"{scene} with {named}", f"{scene} with {named} {at}", f"{scene}, {named} {at}"))


def _capitalized(speaker: Speaker, caption: str) -> str:
    """Capital and full stop, as most people write them."""
    style = speaker.rng.random()
    if style < 0.2:
        return caption
    return caption[0].upper() + caption[1:] + ("." if style < 0.7 else "")
