"""Questions about a scene, answered from its truth: its things, how they stand to each other, and the whole of it.

Every rule is a pattern and what to do with its parts; the first rule that understands a question answers it. What
none understands, or what the truth does not settle, has no answer: the oracle never guesses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from viewfinder.data.truth import ThingTruth
from viewfinder.users.phrases import KnownScene, NounPhrase, all_known, any_known, has_property, parse_properties
from viewfinder.users.words import (
    LIGHTS,
    PLACE_WORDS,
    PREDICATES,
    SCENERY,
    UNSURE_LIGHTS,
    UNSURE_PLACES,
    Rules,
    answer_by_rules,
    is_in_background,
    number_word,
    strip_lead_in,
    yes_or_no,
)
from viewfinder.worlds.scene import CLEARLY_LARGER
from viewfinder.worlds.words import PLACE_NOUNS, SIZE_WORDS, join_with_and, spot_words, with_article


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


_DESCRIBED: dict[str, Callable[[ThingTruth], str]] = {
    "colour": lambda thing: thing.colour,
    "size": lambda thing: SIZE_WORDS.get(thing.size, (thing.size,))[0],
    "pattern": lambda thing: thing.pattern,
    "column": lambda thing: "in the middle" if thing.column == "middle" else f"on the {thing.column}",
    "position": lambda thing: spot_words(thing.column, thing.row)[0],
    "faces": lambda thing: thing.faces,
}


def answer_about_scene(question: str, scene: KnownScene) -> str | None:
    """The answer to a question in plain words (see `words.normalize_question`); None where there is none to be had."""
    return answer_by_rules(_RULES, scene, question)


def find_main_thing(things: Sequence[ThingTruth]) -> ThingTruth:
    """The thing that takes most of the picture."""
    return max(things, key=lambda thing: (thing.box[2] * thing.box[3], -thing.number))


def name_thing(thing: ThingTruth) -> str:
    """A thing in few words: "a red car"."""
    return with_article(f"{thing.colour} {thing.nouns[0][0]}".strip())


def describe_thing(thing: ThingTruth) -> str:
    """A thing with its looks: "a small red striped cup"."""
    size = "" if thing.size == "medium" else thing.size
    pattern = "" if thing.pattern == "plain" else thing.pattern
    return with_article(" ".join([*filter(None, (size, thing.colour, pattern)), thing.nouns[0][0]]))


def count_things(things: Sequence[ThingTruth]) -> str:
    """Things by kind: "a car, two dogs and a tree"."""
    counts = Counter(thing.nouns[0] for thing in things)
    return join_with_and(
        [
            with_article(singular) if number == 1 else f"{number_word(number)} {plural}"
            for (singular, plural), number in counts.items()
        ]
    )


# Is there, how many


def _exists(scene: KnownScene, what: str) -> str | None:
    phrase = scene.phrase(what)
    if phrase is None:
        return answer_scenery(scene, what)
    fits = [scene.fits(thing, phrase) for thing in scene.truth.things]
    sure, possible = fits.count(True), len(fits) - fits.count(False)
    painted = is_in_background(phrase.kinds, scene.truth) if phrase.kinds else False
    if painted is True and not phrase.looks and phrase.near is None and phrase.number is None:
        return "yes"
    if phrase.number is not None:
        if painted is not False or sure != possible:
            return None
        return "yes" if sure == phrase.number else f"no, {number_word(sure)}" if sure else "no"
    if sure >= phrase.least:
        return "yes"
    return None if painted is not False or possible >= phrase.least else "no"


def _has_several(scene: KnownScene, least: str, what: str) -> str | None:
    """More than one, several: yes or no."""
    number = _number_of(scene, what)
    return None if number is None else yes_or_no(number > 1 if least != "only one" else number == 1)


def _count(scene: KnownScene, what: str) -> str | None:
    number = _number_of(scene, what)
    return None if number is None else number_word(number)


def _number_of(scene: KnownScene, what: str) -> int | None:
    """How many things; what the background shows of that kind is not counted, but then there is no zero."""
    phrase = scene.phrase(what)
    things = None if phrase is None else scene.meant(phrase)
    if phrase is None or things is None:
        return None
    if not things and phrase.kinds and is_in_background(phrase.kinds, scene.truth) is not False:
        return None
    return len(things)


# What it looks like


def _about(scene: KnownScene, what: str, say: Callable[[Sequence[ThingTruth]], str | None]) -> str | None:
    """What `say` makes of the things meant; if there are none, the denial that there are."""
    phrase = scene.phrase(what)
    things = None if phrase is None else scene.referred(phrase)
    if phrase is None or things is None:
        return None
    return say(things) if things else _deny(scene, phrase, what)


def _describe(scene: KnownScene, name: str, what: str) -> str | None:
    """What all things meant have in common, else how many look how: "one red and two blue"."""

    def common(things: Sequence[ThingTruth]) -> str | None:
        values = Counter(_DESCRIBED[{"big": "size", "large": "size"}.get(name, name)](thing) for thing in things)
        if "" in values:
            return None
        if len(values) == 1:
            return next(iter(values))
        return join_with_and([f"{number_word(number)} {value}" for value, number in values.items()])

    return _about(scene, what, common)


def _deny(scene: KnownScene, phrase: NounPhrase, what: str) -> str | None:
    """The question takes for granted something that is not there."""
    if phrase.kinds is None or is_in_background(phrase.kinds, scene.truth) is not False:
        return None
    name = re.sub(r"^(?:an?|any|the|some|that|this|all|both) ", "", what)
    if any(thing.kind in phrase.kinds for thing in scene.truth.things):
        return f"there is no {name}"
    return f"there {'are' if phrase.plural else 'is'} no {name}"


def _is_said(scene: KnownScene, said: str) -> str | None:
    """ "Is <thing> <so>?": where the one ends and the other begins is found by trying."""
    words = said.split()
    for at in range(1, len(words)):
        what, so = " ".join(words[:at]), " ".join(words[at:])
        if scene.phrase(what) is None:
            continue
        for pattern, answer in _SO:
            found = pattern.fullmatch(so)
            if found and (told := answer(scene, what, *found.groups())) is not None:
                return told
    return None


def _is_so(scene: KnownScene, what: str, said: str) -> str | None:
    """ "Is the dog brown?", "are both cups on the left?" """
    looks, phrase = parse_properties(said, scene.lexicon), scene.phrase(what)
    if looks is None or phrase is None:
        return None

    def agree(things: Sequence[ThingTruth]) -> str | None:
        known = [all_known(has_property(thing, look) for look in looks) for thing in things]
        return _agreed(known, together=phrase.every)

    return _about(scene, what, agree)


def _agreed(known: Sequence[bool | None], *, together: bool = False) -> str | None:
    """Yes or no where it holds of all or of none; else of how many."""
    if None in known:
        return None
    if all(known) or not any(known):
        return yes_or_no(all(known))
    number = known.count(True)
    return "no" if together else f"{number_word(number)} of them {'is' if number == 1 else 'are'}"


def _one_of_two(scene: KnownScene, what: str, one: str, other: str) -> str | None:
    """ "Is the dog brown or black?" """
    phrase = scene.phrase(what)
    things = None if phrase is None else scene.referred(phrase)
    asked = {said: parse_properties(said, scene.lexicon) or () for said in (one, other)}
    names = {name for looks in asked.values() for name, _ in looks}
    if things is None or len(names) != 1 or any(len(looks) != 1 for looks in asked.values()):
        return None
    for said, (look, *_) in asked.items():
        if things and all(has_property(thing, look) for thing in things):
            return said
    (name,) = names
    return _describe(scene, name, what) if name in _DESCRIBED else None


def _is_patterned(scene: KnownScene, what: str) -> str | None:
    return {"yes": "no", "no": "yes"}.get(_is_so(scene, what, "plain") or "")


def _look_the_same(scene: KnownScene, what: str, name: str) -> str | None:
    phrase = scene.phrase(what)
    things = None if phrase is None else scene.referred(phrase)
    if things is None or len(things) < 2:
        return None
    return yes_or_no(len({_DESCRIBED[name](thing) for thing in things}) == 1)


def _describe_all(scene: KnownScene, what: str) -> str | None:
    """ "What does the dog look like?" """
    return _about(scene, what, lambda things: join_with_and([describe_thing(thing) for thing in things]))


# How things stand to each other


def _is_related(scene: KnownScene, what: str, predicate: str, other: str) -> str | None:
    """ "Is the dog in front of the tree?" """
    name = PREDICATES[predicate]
    other_phrase = scene.phrase(other)
    others = None if other_phrase is None else scene.referred(other_phrase)
    if other_phrase is None or others is None:
        return None

    def agree(things: Sequence[ThingTruth]) -> str | None:
        if not others:
            return _deny(scene, other_phrase, other)
        return _agreed([any_known(scene.relates(thing, name, it) for it in others) for thing in things])

    return _about(scene, what, agree)


def _what_is(scene: KnownScene, predicate: str, other: str) -> str | None:
    """ "What is left of the red car?" """
    name = PREDICATES[predicate]

    def find(others: Sequence[ThingTruth]) -> str | None:
        outside = [thing for thing in scene.truth.things if thing not in others]
        known = [(thing, any_known(scene.relates(thing, name, it) for it in others)) for thing in outside]
        if found := [thing for thing, holds in known if holds]:
            return join_with_and([name_thing(thing) for thing in found])
        return None if any(holds is None for _, holds in known) else "nothing"

    return _about(scene, other, find)


def _larger(scene: KnownScene, what: str, comparison: str, other: str) -> str | None:
    phrases = scene.phrase(what), scene.phrase(other)
    meant = [None if phrase is None else scene.referred(phrase) for phrase in phrases]
    if any(things is None or len(things) != 1 for things in meant):
        return None
    first, second = (things[0].box[2] * things[0].box[3] for things in meant if things)
    if comparison == "smaller":
        first, second = second, first
    return yes_or_no(True if first >= CLEARLY_LARGER * second else False if first * CLEARLY_LARGER <= second else None)


# The whole picture


def _say_place(scene: KnownScene) -> str | None:
    """ "Where is it?" """
    return place_name(scene.truth.place) or None


def _say_hour(scene: KnownScene) -> str | None:
    """ "What time of day is it?": indoors nothing tells."""
    return None if scene.truth.light == "indoors" else scene.truth.light or None


def _say_everything(scene: KnownScene) -> str | None:
    return count_things(scene.truth.things) if scene.truth.things else None


def _of_class(scene: KnownScene, what: str) -> str | None:
    """ "Which animals are there?" """
    phrase = scene.phrase(what)
    things = None if phrase is None else scene.meant(replace(phrase, number=None))
    if phrase is None or phrase.kinds is None or things is None:
        return None
    if things:
        return count_things(things)
    return "none" if is_in_background(phrase.kinds, scene.truth) is False else None


_X = r"(.+?)"
_THE_PICTURE = r"(?:it|this|that|the (?:picture|photo|scene|image|setting|whole thing|place))"
_WHICH = "|".join(sorted(PREDICATES, key=len, reverse=True))
_LOOKS = r"(colour|size|pattern)s?"
_THERE = r"(?:is there|are there|(?:do|can|could) you see|does it (?:have|show|contain)|is it a (?:picture|photo) of)"
_PLACES = r"(?:place|location|setting|background|scenery|surroundings?|landscape|scene|environment)"

_SO: Rules = [
    (re.compile(pattern), answer)
    for pattern, answer in (
        (r"(.+) or (.+)", _one_of_two),
        (r"(bigger|larger|smaller) than (.+)", _larger),
        (rf"({_WHICH}) (.+)", _is_related),
        (r"(.+)", _is_so),
    )
]

_RULES: Rules = [
    (re.compile(pattern), answer)
    for pattern, answer in (
        (rf"{_THERE} (more than one|several|only one|just one|many|multiple) {_X}", _has_several),
        (rf"{_THERE} {_X}", _exists),
        (rf"any {_X}", _exists),
        (rf"(?:is|are) {_X} (?:in it|there|present|shown|to see)", _exists),
        (rf"how many {_X}(?: (?:are|is) (?:there|in it|shown)| (?:do|can) you (?:see|count|spot|find))?", _count),
        (rf"how many {_X} are ((?!there).+)", lambda scene, what, so: _count(scene, f"{what} {so}")),
        (rf"what is the number of {_X}", _count),
        (rf"(?:is|was|are) {_THE_PICTURE} (?:taken |set |shot )?(.+)", answer_setting),
        (r"are we (.+)", answer_setting),
        (rf"where (?:is|was) {_THE_PICTURE}(?: taken| set| shot)?", _say_place),
        (rf"(?:where are we|what is (?:in )?the {_PLACES}|what can you see in the background)", _say_place),
        (rf"(?:what|which) (?:(?:kind|sort|type) of )?{_PLACES} (?:is|was) (?:{_THE_PICTURE}|there|shown)",
         _say_place),
        (rf"what does the {_PLACES} (?:show|look like)", _say_place),
        (r"(?:what|which) (?:time|hour) (?:of (?:the )?day )?is (?:it|this|shown)|when (?:is|was) .*", _say_hour),
        (r"what is the (?:time|hour)(?: of (?:the )?day)?", _say_hour),
        (r"(?:what|how) is the (?:light|lighting|daylight)(?: like)?", lambda scene: scene.truth.light or None),
        (rf"(?:what|which) {_LOOKS} (?:is|are|does|do|has|have) {_X}(?: have)?", _describe),
        (rf"(?:what|which) is the {_LOOKS} of {_X}", _describe),
        (rf"how (big|large) (?:is|are) {_X}", _describe),
        (rf"(?:in|of) (?:what|which) {_LOOKS} (?:is|are) {_X}", _describe),
        (rf"(?:which|what) (?:way|direction|side) (?:is|are|does|do) {_X} (?:fac\w+|turn\w*|look\w*|head\w*|point\w*)"
         r"(?: to| towards)?", lambda scene, what: _describe(scene, "faces", what)),
        (rf"where (?:is|are) {_X}", lambda scene, what: _describe(scene, "position", what)),
        (rf"what (?:does|do) {_X} look like|what (?:is|are) {_X} like", lambda scene, *what: _describe_all(
            scene, next(filter(None, what)))),
        (rf"(?:is|are|do|does) {_X} (?:of |have )?the same {_LOOKS}", _look_the_same),
        (rf"(?:does|do) {_X} (?:have|has) (?:any |a |an )?(stripes|dots|spots|checks)",
         lambda scene, what, said: _is_so(scene, what, f"with {said}")),
        (rf"(?:is|are) {_X} patterned|(?:does|do) {_X} have (?:a|any) patterns?",
         lambda scene, *what: _is_patterned(scene, next(filter(None, what)))),
        (r"(?:is|are) (.+)", _is_said),
        (rf"(?:does|do) {_X} (?:face|look|point) (?:to )?(?:the )?(left) or (?:to )?(?:the )?(?:right)",
         lambda scene, what, _: _describe(scene, "faces", what)),
        (rf"(?:what|which)(?: one)? is (bigger|larger|smaller) {_X} or {_X}", lambda scene, comparison, one, other:
         {"yes": one, "no": other}.get(_larger(scene, one, comparison, other) or "")),
        (rf"(?:does|do) {_X} (?:face|look|point) (?:to )?(?:the )?(left|right)",
         lambda scene, what, side: _is_so(scene, what, f"facing {side}")),
        (rf"what (?:else )?(?:is|are|do you see|can you see)(?: there)? ({_WHICH}) {_X}", _what_is),
        (r"what (?:things|objects|items) (?:are there|do you see|can you see)|what (?:is|do you see|can you see|does it"
         r" show)(?: in it| there| shown)?", _say_everything),
        # What was mentioned before, an answerer is not told: everything is true, if more than was asked for.
        (r"(?:what else (?:is|are|do you see|can you see)|(?:is there )?anything else)(?: there)?(?: in it)?",
         _say_everything),
        (r"(?:what|which) is the (?:main|largest|biggest) (?:thing|object|item|subject)",
         lambda scene: name_thing(find_main_thing(scene.truth.things)) if scene.truth.things else None),
        (r"(?:what|which) (?:(?:kinds?|sorts?) of )?(animals?|vehicles?|buildings?|fruits?)"
         r"(?: (?:is|are) (?:there|it|shown|in it)| do you see| can you see)?", _of_class),
    )
]  # fmt: skip
