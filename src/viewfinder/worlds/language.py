"""Captions of a scene, and phrases for its regions, as people would say them. Every one is true.

Sentences come from templates with synonyms, ellipsis, comparatives and (4 % of region phrases) negation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from viewfinder.wording.nouns import join_with_and, with_article
from viewfinder.wording.numbers import NUMBERS
from viewfinder.worlds.grammar import Speaker, list_absent_kinds, make_speaker
from viewfinder.worlds.kinds import HEIGHT, PLACES, WIDTH, Box
from viewfinder.worlds.scene import CLEARLY_LARGER, Relation, Scene, Thing, box_area
from viewfinder.worlds.words import (
    FRONTED,
    LIGHT_WORDS,
    PART_WORDS,
    PATTERN_NOUNS,
    PLACE_NOUNS,
    PREDICATE_WORDS,
    SIZE_WORDS,
    SKY_WORDS,
)

CAPTIONS_PER_SCENE = 5
MIN_REGIONS, MAX_REGIONS = 12, 20
SHARE_NEGATED_PHRASES = 0.036


@dataclass(frozen=True)
class RegionPhrase:
    """A phrase about a part of the picture, with the things and the relation that it speaks of."""

    phrase: str
    box: Box
    things: tuple[Thing, ...] = ()
    relation: Relation | None = None


def describe_regions(scene: Scene) -> list[RegionPhrase]:
    """Phrases about regions of the scene, 12 to 20, no two alike in lower case."""
    speaker = make_speaker(scene, "regions")
    wanted = speaker.rng.randint(MIN_REGIONS, MAX_REGIONS)
    makers, weights = zip(*_STATEMENTS, strict=True)
    said: dict[str, RegionPhrase] = {}
    while len(said) < wanted:
        maker = (
            _describe_absence
            if speaker.chance(SHARE_NEGATED_PHRASES)
            else speaker.rng.choices(makers, weights=weights)[0]
        )
        region: RegionPhrase | None = maker(speaker)
        if region is not None:
            said.setdefault(region.phrase.lower(), region)
    return list(said.values())


def caption_scene(scene: Scene) -> list[str]:
    """Five captions with different things in view: main thing, list, relation, numbers, place."""
    speaker = make_speaker(scene, "captions")
    makers = (_caption_main_thing, _caption_list, _caption_relation, _caption_counts, _caption_place)
    said = [make(speaker) for make in makers]
    speaker.rng.shuffle(said)
    return [_capitalize(speaker, caption) for caption in said]


# Region phrases


def _describe_thing(say: Callable[[Speaker, Thing], str], speaker: Speaker) -> RegionPhrase:
    thing = speaker.pick(speaker.scene.things)
    return RegionPhrase(say(speaker, thing), thing.box, (thing,))


def _mention_with_spot(speaker: Speaker, thing: Thing) -> str:
    at = speaker.spot(thing)
    return f"{speaker.mention(thing, size=0.2)} {at}"


def _write_sentence(speaker: Speaker, thing: Thing) -> str:
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


def _describe_facing(speaker: Speaker) -> RegionPhrase | None:
    fronted = [thing for thing in speaker.scene.things if thing.kind in FRONTED and thing.faces]
    if not fronted:
        return None
    thing = speaker.pick(fronted)
    verb = speaker.pick((f"facing {thing.faces}", f"that faces {thing.faces}", f"turned to the {thing.faces}"))
    return RegionPhrase(f"{speaker.mention(thing, size=0.1)} {verb}", thing.box, (thing,))


def _describe_relation(speaker: Speaker) -> RegionPhrase | None:
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
    return RegionPhrase(phrase, _enclose_boxes((subject, other)), (subject, other), relation)


def _describe_larger(speaker: Speaker) -> RegionPhrase | None:
    """A comparison: of two things of one kind, or of things that clearly differ in size."""
    subject, other = speaker.rng.sample(speaker.scene.things, 2)
    if box_area(subject.box) < CLEARLY_LARGER * box_area(other.box):
        return None
    bigger, smaller = speaker.pick(("bigger", "larger")), "smaller"
    if subject.kind == other.kind:
        if speaker.scene.counts()[subject.kind] != 2:  # of three, the bigger one of two could be either
            return None
        pair = speaker.plural(subject.kind)
        meant, word = (other, smaller) if speaker.chance(0.5) else (subject, bigger)
        phrase = speaker.pick((f"the {word} of the two {pair}", f"the {word} one of two {pair}"))
        return RegionPhrase(phrase, meant.box, (meant,))
    named = with_article(speaker.describe(subject, size=0.0))
    phrase = f"{named} {bigger} than the {speaker.describe(other, size=0.0)}"
    return RegionPhrase(phrase, _enclose_boxes((subject, other)), (subject, other))


def _describe_group(speaker: Speaker) -> RegionPhrase | None:
    """Describes all things of a kind at once."""
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
    return RegionPhrase(speaker.pick(phrases), _enclose_boxes(group), group)


def _describe_part(speaker: Speaker) -> RegionPhrase:
    parts = PLACES[speaker.scene.place].parts
    name = speaker.pick(tuple(parts))
    words = SKY_WORDS[speaker.scene.light] if name == "sky" else PART_WORDS[name]
    return RegionPhrase(speaker.pick(words), parts[name])


_STATEMENTS: tuple[tuple[Callable[[Speaker], RegionPhrase | None], float], ...] = (
    (partial(_describe_thing, lambda speaker, thing: speaker.mention(thing)), 3),
    (partial(_describe_thing, lambda speaker, thing: speaker.mention(thing, size=1.0, colour=1.0, pattern=1.0)), 2),
    (partial(_describe_thing, _mention_with_spot), 2.5),
    (partial(_describe_thing, lambda speaker, thing: f"{speaker.mention(thing)} {speaker.footing(thing)}"), 2),
    (partial(_describe_thing, _write_sentence), 2),
    (_describe_facing, 0.6),
    (_describe_relation, 4),
    (_describe_larger, 1),
    (_describe_group, 0.7),
    (_describe_part, 2),
)
"""Makers of phrases and how often each is tried; a maker returns None where the scene has nothing for it."""


def _describe_absence(speaker: Speaker) -> RegionPhrase | None:
    """Denies that something is there, or that a thing looks so."""
    thing = speaker.pick(speaker.scene.things)
    word = speaker.noun(thing.kind)
    other_patterns = [name for name in PATTERN_NOUNS if name != thing.pattern]
    if speaker.chance(0.35) and speaker.kind_of(thing).patterned:
        pattern = PATTERN_NOUNS[speaker.pick(other_patterns)]
        return RegionPhrase(f"{with_article(word)} without {pattern}", thing.box, (thing,))
    wrong, absent = speaker.other_colours(thing), list_absent_kinds(speaker.scene)
    if wrong and (speaker.chance(0.25) or not absent):
        return RegionPhrase(f"{with_article(word)} that is not {speaker.pick(wrong)}", thing.box, (thing,))
    if not absent:
        return None
    one, many = speaker.pick(speaker.scene.stock.nouns[speaker.pick(absent)])
    ways = (f"no {many} here", f"there is no {one}", f"not a single {one} in sight", f"{many} are nowhere to be seen")
    return RegionPhrase(speaker.pick(ways), (0, 0, WIDTH, HEIGHT))


def _enclose_boxes(things: Sequence[Thing]) -> Box:
    left, top = min(thing.box[0] for thing in things), min(thing.box[1] for thing in things)
    right = max(thing.box[0] + thing.box[2] for thing in things)
    return (left, top, right - left, max(thing.bottom for thing in things) - top)


# Captions


def _caption_main_thing(speaker: Speaker) -> str:
    main = with_article(speaker.describe(speaker.scene.main(), size=0.7, colour=1.0))
    return speaker.pick([f"{way}{main} {speaker.setting()}" for way in ("", "there is ", "picture of ")])


def _caption_list(speaker: Speaker) -> str:
    things = speaker.rng.sample(speaker.scene.things, min(len(speaker.scene.things), speaker.pick((2, 3))))
    if speaker.chance(0.3):
        place = speaker.pick(PLACE_NOUNS[speaker.scene.place])
        return ", ".join([*(speaker.describe(thing, size=0.2) for thing in things), place])
    named = join_with_and([with_article(speaker.describe(thing, size=0.2)) for thing in things])
    return f"{named} {speaker.setting()}"


def _caption_relation(speaker: Speaker) -> str:
    region = _describe_relation(speaker)
    if region is None:
        return f"{speaker.mention(speaker.pick(speaker.scene.things))} {speaker.setting()}"
    return region.phrase if speaker.chance(0.4) else f"{speaker.setting()}, {region.phrase}"


def _caption_counts(speaker: Speaker) -> str:
    """Counts the things of some kinds, never of all."""
    told = speaker.scene.counts().most_common()[: speaker.pick((1, 2))]
    named = join_with_and([speaker.count(kind, count) for kind, count in told])
    verb = "are" if told[0][1] > 1 else "is"
    ways = (
        f"there {verb} {named} {speaker.setting()}",
        f"{named} {speaker.setting()}",
        f"{speaker.setting()} one sees {named}",
    )
    return speaker.pick(ways)


def _caption_place(speaker: Speaker) -> str:
    place, thing = speaker.pick(PLACE_NOUNS[speaker.scene.place]), speaker.pick(speaker.scene.things)
    hour = "" if speaker.scene.place == "city" else speaker.pick(LIGHT_WORDS[speaker.scene.light])
    scene = f"{place} {hour}".strip()
    at = speaker.spot(thing)
    named = with_article(speaker.describe(thing))
    return speaker.pick((f"{scene} with {named}", f"{scene} with {named} {at}", f"{scene}, {named} {at}"))


def _capitalize(speaker: Speaker, caption: str) -> str:
    """Adds capital and full stop as often as people do."""
    style = speaker.rng.random()
    if style < 0.2:
        return caption
    return caption[0].upper() + caption[1:] + ("." if style < 0.7 else "")
