"""Describes a picture from its captions or its truth, and says how it differs from another.

A describer says one sentence at a time, a comparer what the wanted picture has and the shown one lacks. The other
`Comparer`, Fashion IQ's relative captioner, is a trained network.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from viewfinder.data.truth import PictureTruth, ThingTruth
from viewfinder.errors import UnknownName
from viewfinder.users.base import find_picture
from viewfinder.users.goods import attribute_head, finest_attributes, kind_phrase
from viewfinder.users.oracle import find_truth
from viewfinder.users.scenes import count_things, describe_thing, find_main_thing, name_thing
from viewfinder.users.words import is_in_background
from viewfinder.wording.nouns import join_with_and, with_article, with_article_if_singular
from viewfinder.wording.numbers import spell_number
from viewfinder.worlds.catalogue.statements import phrases_of
from viewfinder.worlds.catalogue.vocabulary import COMPARISONS, FACETS
from viewfinder.worlds.kinds import SIZES
from viewfinder.worlds.words import LIGHT_WORDS, PLACE_NOUNS, WHERE, spot_words

Sentences = Callable[[str], Sequence[str]]
"""Everything that can be said of a picture, as sentences in the order in which they are said."""


@dataclass(eq=False)
class SentenceDescriber:
    """A `Describer` that says the sentences in order, and then begins again.

    `once`: after the last it says nothing more ("") instead.
    """

    sentences: Sentences
    once: bool = False
    _told: Counter[str] = field(default_factory=Counter, init=False, repr=False)

    def describe(self, picture: str) -> str:
        """The next sentence about a picture."""
        said = self.sentences(picture)
        self._told[picture] += 1
        if self.once and self._told[picture] > len(said):
            return ""
        return said[(self._told[picture] - 1) % len(said)]


def caption_sentences(captions: Mapping[str, Sequence[str]], *, seed: int = 0) -> Sentences:
    """The captions of each picture, in an order drawn from the seed; UnknownName for a picture without."""

    def sentences(picture: str) -> Sequence[str]:
        said = find_picture(captions, picture)
        if not said:
            raise UnknownName(f"{picture}: nobody has captioned this picture; {len(captions)} others have captions")
        return _shuffle_sentences(said, f"{seed}/{picture}")

    return sentences


def truth_sentences(truths: Mapping[str, PictureTruth], *, seed: int = 0) -> Sentences:
    """Sentences about each picture from its truth: the main thing first, the rest in an order drawn from the seed.

    UnknownName for a picture that the world does not have.
    """

    def sentences(picture: str) -> Sequence[str]:
        truth = find_truth(truths, picture)
        first, *rest = _list_scene_sentences(truth) if truth.things else _list_goods_sentences(truth)
        return [first, *_shuffle_sentences(rest, f"{seed}/{picture}")]

    return sentences


def _shuffle_sentences(said: Sequence[str], seed: str) -> list[str]:
    order = list(said)
    random.Random(f"viewfinder/sayings/{seed}").shuffle(order)
    return order


def _list_scene_sentences(truth: PictureTruth) -> list[str]:
    main, place = find_main_thing(truth.things), truth.place
    things = {thing.number: thing for thing in truth.things}
    return [
        f"{describe_thing(main)} {WHERE.get(place, (place,))[0]}".strip(),
        f"{PLACE_NOUNS.get(place, (place,))[0]} {LIGHT_WORDS.get(truth.light, (truth.light,))[0]}".strip(),
        count_things(truth.things),
        *(f"{describe_thing(it)} {spot_words(it.column, it.row)[0]}" for it in truth.things if it is not main),
        *_describe_groups(truth.things),
        *(
            f"{name_thing(things[subject])} {predicate} {name_thing(things[other])}"
            for subject, predicate, other in truth.relations
            if subject < other
        ),
    ]


def _describe_groups(things: Sequence[ThingTruth]) -> Iterator[str]:
    """Kinds of which there are several, with their colours."""
    for nouns, number in Counter(thing.nouns[0] for thing in things).items():
        colours = [thing.colour for thing in things if thing.nouns[0] == nouns]
        if number > 1:
            looks = f", {join_with_and([f'one {colour}' for colour in colours])}" if len(set(colours)) > 1 else ""
            yield f"{spell_number(number)} {nouns[1]}{looks}"


def _list_goods_sentences(truth: PictureTruth) -> list[str]:
    """The article with its colour, then all else that people would say of it; its title only if that is all."""
    known = finest_attributes(truth)
    noun = next(iter(known.get("kind", ())), truth.category.lower())
    colours = [words[0].lower() for name, words in known.items() if words and attribute_head(name) == "colour"]
    first = with_article_if_singular(" ".join([*colours[:1], noun])) if noun else truth.title or "something"
    said: dict[str, None] = {}
    for name, words in known.items():
        if name in FACETS and FACETS[name].said and name not in {"kind", "colour"}:
            said |= dict.fromkeys(f"it {phrases_of(name, word.lower())[0]}" for word in words)
        elif name not in FACETS and attribute_head(name) != "colour":
            said |= dict.fromkeys(word.lower() for word in words if word)
    return [first, *said]


_SIZES = tuple(SIZES)
_ORDINALS = {2: "second", 3: "third", 4: "fourth"}

_FORMS: dict[str, str] = {
    **dict.fromkeys(("colour", "texture", "pattern", "style", "shape", "size"), "is {}"),
    **dict.fromkeys(("gender", "season"), "is for {}"),
    **dict.fromkeys(("fabric", "material"), "is made of {}"),
    "part": "has {}",
    "usage": "is for {} use",
}
"""Ways to say a value of an attribute that no world has, by the last word of the attribute's name."""


@dataclass(frozen=True)
class TruthComparer:
    """The `Comparer` of worlds; says up to `most` differences, drawn from the seed."""

    truths: Mapping[str, PictureTruth]
    seed: int = 0
    most: int = 2

    def compare(self, shown: str, wanted: str) -> str:
        """Says how the wanted picture differs: "is on the beach and has a second dog on the left".

        "" if the truth knows no difference.

        Raises:
            UnknownName: the world does not have one of the pictures.
        """
        said = list(list_differences(find_truth(self.truths, shown), find_truth(self.truths, wanted)))
        rng = random.Random(f"viewfinder/comparer/{self.seed}/{shown}/{wanted}")
        chosen = sorted(rng.sample(range(len(said)), min(self.most, len(said))))
        return join_with_and([said[at] for at in chosen]) if chosen else ""

    def likeness(self, one: str, other: str) -> float:
        """Share of what is true of either picture that is true of both, 0 to 1."""
        ones, others = (picture_facts(find_truth(self.truths, picture)) for picture in (one, other))
        return len(ones & others) / max(len(ones | others), 1)


def picture_facts(truth: PictureTruth) -> frozenset[tuple[str, ...]]:
    """The facts about a picture, as a set that can be compared."""
    facts: set[tuple[str, ...]] = {("place", truth.place), ("light", truth.light), ("category", truth.category)}
    for thing in truth.things:
        looks = (thing.colour, thing.size, thing.pattern, thing.column)
        nth = sum(other.kind == thing.kind and other.number < thing.number for other in truth.things)
        facts.add(("kind", thing.kind, str(nth)))
        facts |= {("look", thing.kind, look) for look in looks}
    facts |= {("attribute", name, word) for name, words in truth.attributes.items() for word in words}
    return frozenset(fact for fact in facts if fact[1])


def list_differences(shown: PictureTruth, wanted: PictureTruth) -> Iterator[str]:
    """Everything that can be said of `wanted` but not of `shown`, the most striking first. Every statement is true."""
    if not shown.things and not wanted.things:
        yield from _list_goods_differences(shown, wanted)
        return
    if wanted.place and shown.place != wanted.place:
        here, there = (WHERE.get(truth.place, (f"at {truth.place}",))[0] for truth in (wanted, shown))
        yield f"is {here} instead of {there}"
    if wanted.light != shown.light and {wanted.light, shown.light} <= LIGHT_WORDS.keys() - {"indoors"}:
        yield f"is {LIGHT_WORDS[wanted.light][0]} instead of {LIGHT_WORDS[shown.light][0]}"
    yield from _list_number_differences(shown, wanted)
    yield from _list_look_differences(shown, wanted)


def _list_number_differences(shown: PictureTruth, wanted: PictureTruth) -> Iterator[str]:
    """Things whose number differs; nothing can be said of kinds that a background may show."""
    for kind in dict.fromkeys(thing.kind for thing in (*wanted.things, *shown.things)):
        if is_in_background({kind}, shown) is not False or is_in_background({kind}, wanted) is not False:
            continue
        now, before = ([thing for thing in truth.things if thing.kind == kind] for truth in (wanted, shown))
        singular, plural = (now or before)[0].nouns[0]
        if not now:
            yield f"has no {singular}"
        elif not before:
            yield f"has {name_thing(now[0]) if len(now) == 1 else f'{spell_number(len(now))} {plural}'}"
        elif len(now) == len(before) + 1 and len(now) in _ORDINALS:
            yield f"has a {_ORDINALS[len(now)]} {singular} {_locate_newest(now, before)}"
        elif len(now) != len(before):
            only = "only " if len(now) < len(before) else ""
            yield f"has {only}{spell_number(len(now))} {plural if len(now) > 1 else singular} instead of {len(before)}"


def _locate_newest(now: list[ThingTruth], before: list[ThingTruth]) -> str:
    """The position of the thing that is least like those there were."""
    alike = {
        it.number: max((it.colour == old.colour) + (it.column == old.column) + (it.row == old.row) for old in before)
        for it in now
    }
    new = min(now, key=lambda thing: (alike[thing.number], thing.number))
    return spot_words(new.column, new.row)[0]


def _list_look_differences(shown: PictureTruth, wanted: PictureTruth) -> Iterator[str]:
    """Differences in the looks of things that occur once in each picture."""
    for now in wanted.things:
        same = [other for other in shown.things if other.kind == now.kind]
        if len(same) != 1 or sum(other.kind == now.kind for other in wanted.things) != 1:
            continue
        before, noun = same[0], now.nouns[0][0]
        if now.colour != before.colour:
            yield f"has {with_article(f'{now.colour} {noun}')} instead of a {before.colour} one"
        if now.pattern != before.pattern and now.pattern and before.pattern:
            yield f"has {with_article(f'{now.pattern} {noun}')}"
        if now.size in _SIZES and before.size in _SIZES and now.size != before.size:
            yield f"has a {'larger' if _SIZES.index(now.size) > _SIZES.index(before.size) else 'smaller'} {noun}"
        if (now.column, now.row) != (before.column, before.row):
            yield f"has the {noun} {spot_words(now.column, now.row)[0]}"
        if now.faces != before.faces and now.faces and before.faces:
            yield f"has the {noun} facing {now.faces}"


def _list_goods_differences(shown: PictureTruth, wanted: PictureTruth) -> Iterator[str]:
    now, before = wanted.category.lower(), shown.category.lower()
    if now and before and now != before and "kind" not in wanted.attributes:
        yield f"is {with_article(now)} instead of {with_article(before)}"
    known, known_before = finest_attributes(wanted), finest_attributes(shown)
    for name in dict.fromkeys((*known, *known_before)):
        if name not in FACETS or FACETS[name].said:
            values = [[word.lower() for word in words.get(name, ())] for words in (known, known_before)]
            yield from _list_attribute_differences(name, *values)


def _list_attribute_differences(name: str, now: list[str], before: list[str]) -> Iterator[str]:
    """New values, with the one they replace if it is one for one; then comparisons, such as "is darker"."""
    new, gone = [word for word in now if word not in before], [word for word in before if word not in now]
    facet, form = FACETS.get(name), _FORMS.get(attribute_head(name), f"has the {name} {{}}")
    for word in new:
        has = phrases_of(name, word)[0] if facet else form.format(word)
        if len(new) == len(gone) == 1 and not (facet and gone[0] in facet.vague):
            yield f"{has} instead of {kind_phrase(gone[0]) if name == 'kind' else gone[0]}"
        else:
            yield has
    for order in COMPARISONS:
        # Only values that both have a place in the order can be compared.
        if order.facet == name and len(now) == len(before) == 1 and {*now, *before} <= order.levels.keys():
            rise = order.levels[now[0]] - order.levels[before[0]]
            if abs(rise) >= order.margin:
                yield (order.more if rise > 0 else order.less)[0]
