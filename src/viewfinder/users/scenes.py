"""Questions about a scene, answered from its truth: its things, their relations, and the whole picture.

Every rule is a pattern and what to do with its parts; the first rule that understands a question answers it. What
none understands, or the truth does not settle, has no answer: the oracle never guesses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from viewfinder.data.truth import ThingTruth
from viewfinder.users.phrases import (
    KnownScene,
    NounPhrase,
    combine_with_and,
    has_property,
    parse_phrase,
    parse_properties,
)
from viewfinder.users.words import (
    LIGHTS,
    PLACE_WORDS,
    PREDICATE_OF_WORD,
    SCENERY,
    UNSURE_LIGHTS,
    UNSURE_PLACES,
    is_in_background,
    make_rules,
    strip_lead_in,
)
from viewfinder.wording.nouns import join_with_and, with_article
from viewfinder.wording.numbers import spell_number
from viewfinder.wording.replies import write_yes_or_no
from viewfinder.worlds.scene import CLEARLY_LARGER
from viewfinder.worlds.words import PLACE_NOUNS, SIZE_WORDS, spot_words


def answer_setting(scene: KnownScene, said: str) -> str | None:
    """ "Is it at night?", "is it by the sea or in the mountains?": place, hour, indoors or out."""
    if " or " not in said:
        return write_yes_or_no(_goes_by_word(scene, said))
    options = said.split(" or ")
    known = [_goes_by_word(scene, option) for option in options]
    if known.count(True) == 1 and len(options) == 2:
        return options[known.index(True)]
    return None if None in known or any(known) else "neither"


_INSIDE = frozenset({"indoors", "indoor", "inside", "indoor scene", "inside a building", "in a building"})
_OUTSIDE = frozenset({"outdoors", "outdoor", "outside", "outdoor scene", "open air", "outside in the open"})


def _goes_by_word(scene: KnownScene, said: str) -> bool | None:
    """Whether place or hour goes by a word; None if none does, or if it is arguable."""
    word, place, light = strip_lead_in(said), scene.truth.place, scene.truth.light
    if word in _INSIDE or word in _OUTSIDE:
        return (light == "indoors") == (word in _INSIDE) if light else None
    is_hour = any(word in synonyms for synonyms in LIGHTS.values())
    truth, words, unsure = (light, LIGHTS, UNSURE_LIGHTS) if is_hour else (place, PLACE_WORDS, UNSURE_PLACES)
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
    counts = Counter(thing.nouns[0] for thing in things).items()
    return join_with_and([with_article(one) if n == 1 else f"{spell_number(n)} {many}" for (one, many), n in counts])


# Is there, how many


def _answer_scenery(scene: KnownScene, what: str) -> str | None:
    """Whether the background shows something that is not a thing: the sea, a fence."""
    word = re.sub(r"^(?:an?|any|the|some) ", "", what)
    if word not in SCENERY or not scene.truth.place:
        return None
    sure, unsure = SCENERY[word]
    if scene.truth.place in sure:
        return "yes"
    return None if scene.truth.place in unsure else "no"


def _answer_existence(scene: KnownScene, what: str) -> str | None:
    phrase = parse_phrase(what, scene.lexicon)
    if phrase is None:
        return _answer_scenery(scene, what)
    fits = [scene.fits(thing, phrase) for thing in scene.truth.things]
    sure, possible = fits.count(True), len(fits) - fits.count(False)
    painted = is_in_background(phrase.kinds, scene.truth) if phrase.kinds else False
    if painted is True and not phrase.looks and phrase.near is None and phrase.number is None:
        return "yes"
    if phrase.number is not None:
        if painted is not False or sure != possible:
            return None
        return "yes" if sure == phrase.number else f"no, {spell_number(sure)}" if sure else "no"
    if sure >= phrase.least:
        return "yes"
    return None if painted is not False or possible >= phrase.least else "no"


def _answer_number(scene: KnownScene, what: str, say: Callable[[int], str | None] = spell_number) -> str | None:
    """The number of things; those that the background shows are not counted, but make an answer of zero unknown."""
    phrase = parse_phrase(what, scene.lexicon)
    things = None if phrase is None else scene.find_meant(phrase)
    if phrase is None or things is None:
        return None
    if not things and phrase.kinds and is_in_background(phrase.kinds, scene.truth) is not False:
        return None
    return say(len(things))


# What it looks like


def _find_things_or_deny(scene: KnownScene, what: str) -> tuple[ThingTruth, ...] | str | None:
    """The things that a question is about; if it presupposes what is not there, the denial of that."""
    found = scene.find(what)
    return None if found is None else found[1] or _deny_existence(scene, found[0], what)


def _deny_existence(scene: KnownScene, phrase: NounPhrase, what: str) -> str | None:
    if phrase.kinds is None or is_in_background(phrase.kinds, scene.truth) is not False:
        return None
    name = re.sub(r"^(?:an?|any|the|some|that|this|all|both) ", "", what)
    are = "are" if phrase.plural and all(thing.kind not in phrase.kinds for thing in scene.truth.things) else "is"
    return f"there {are} no {name}"


def _describe_common_look(scene: KnownScene, name: str, what: str) -> str | None:
    """The look that all things meant share, else the number of each look: "one red and two blue"."""
    things = _find_things_or_deny(scene, what)
    if not isinstance(things, tuple):
        return things
    values = Counter(_DESCRIBED[name](thing) for thing in things)
    if "" in values:
        return None
    if len(values) == 1:
        return next(iter(values))
    return join_with_and([f"{spell_number(number)} {value}" for value, number in values.items()])


def _answer_is_so_of_any(scene: KnownScene, said: str) -> str | None:
    """ "Is <thing> <so>?": the boundary between the two is found by trying."""
    words = said.split()
    for at in range(1, len(words)):
        what, so = " ".join(words[:at]), " ".join(words[at:])
        if parse_phrase(what, scene.lexicon) is None:
            continue
        for pattern, answer in _SO:
            found = pattern.fullmatch(so)
            if found and (said_so := answer(scene, what, *found.groups())) is not None:
                return said_so
    return None


def _answer_is_so(scene: KnownScene, what: str, said: str) -> str | None:
    """ "Is the dog brown?", "are both cups on the left?" """
    looks, found = parse_properties(said, scene.lexicon), scene.find(what)
    if looks is None or found is None:
        return None
    phrase, things = found
    known = [combine_with_and(has_property(thing, look) for look in looks) for thing in things]
    return _answer_agreed(known, together=phrase.every) if things else _deny_existence(scene, phrase, what)


def _answer_agreed(known: Sequence[bool | None], *, together: bool = False) -> str | None:
    """Yes or no if it holds for all or for none; else for how many."""
    if None in known:
        return None
    if all(known) or not any(known):
        return write_yes_or_no(all(known))
    number = known.count(True)
    return "no" if together else f"{spell_number(number)} of them {'is' if number == 1 else 'are'}"


def _choose_one_of_two(scene: KnownScene, what: str, one: str, other: str) -> str | None:
    """ "Is the dog brown or black?" """
    found = scene.find(what)
    asked = {said: parse_properties(said, scene.lexicon) or () for said in (one, other)}
    names = {name for looks in asked.values() for name, _ in looks}
    if found is None or len(names) != 1 or any(len(looks) != 1 for looks in asked.values()):
        return None
    for said, (look, *_) in asked.items():
        if found[1] and all(has_property(thing, look) for thing in found[1]):
            return said
    (name,) = names
    return _describe_common_look(scene, name, what) if name in _DESCRIBED else None


def _answer_same_look(scene: KnownScene, what: str, name: str) -> str | None:
    found = scene.find(what)
    if found is None or len(found[1]) < 2:
        return None
    return write_yes_or_no(len({_DESCRIBED[name](thing) for thing in found[1]}) == 1)


def _describe_things(scene: KnownScene, *whats: str | None) -> str | None:
    """ "What does the dog look like?" """
    what = next(filter(None, whats))
    phrase, things = parse_phrase(what, scene.lexicon), _find_things_or_deny(scene, what)
    if isinstance(things, tuple) and phrase is not None and phrase.kinds is None:
        things = things[:1]  # of "the things" only one is described
    return join_with_and([describe_thing(thing) for thing in things]) if isinstance(things, tuple) else things


# How things relate to each other


def _answer_related(scene: KnownScene, what: str, predicate: str, other: str) -> str | None:
    """ "Is the dog in front of the tree?" """
    if (found := scene.find(other)) is None:
        return None
    things, (phrase, others) = _find_things_or_deny(scene, what), found
    if not isinstance(things, tuple):
        return things
    if not others:
        return _deny_existence(scene, phrase, other)
    return _answer_agreed([scene.relates_to_any(thing, PREDICATE_OF_WORD[predicate], others) for thing in things])


def _name_related(scene: KnownScene, predicate: str, other: str) -> str | None:
    """ "What is left of the red car?" """
    others = _find_things_or_deny(scene, other)
    if not isinstance(others, tuple):
        return others
    outside = [thing for thing in scene.truth.things if thing not in others]
    holds = [scene.relates_to_any(thing, PREDICATE_OF_WORD[predicate], others) for thing in outside]
    if True in holds:
        return join_with_and([name_thing(thing) for thing, is_so in zip(outside, holds, strict=True) if is_so])
    return None if None in holds else "nothing"


def _answer_larger(scene: KnownScene, what: str, comparison: str, other: str) -> str | None:
    found = [scene.find(text) for text in (what, other)]
    areas = [it[1][0].box[2] * it[1][0].box[3] for it in found if it is not None and len(it[1]) == 1]
    if len(areas) < 2:
        return None
    first, second = reversed(areas) if comparison == "smaller" else areas
    if first >= CLEARLY_LARGER * second:
        return "yes"
    return "no" if first * CLEARLY_LARGER <= second else None


# The whole picture


def _name_place(scene: KnownScene) -> str | None:
    """ "Where is it?": "a beach"."""
    return PLACE_NOUNS.get(scene.truth.place, (scene.truth.place,))[0] or None


def _name_main_thing(scene: KnownScene) -> str | None:
    """ "What can you see?": one thing, as a person answers a single question; a list would tell all at once."""
    return name_thing(find_main_thing(scene.truth.things)) if scene.truth.things else None


def _name_other_thing(scene: KnownScene) -> str | None:
    """ "What else can you see?": the thing that takes up most of the picture after the main one, of another kind."""
    if not scene.truth.things:
        return None
    main = find_main_thing(scene.truth.things)
    others = [thing for thing in scene.truth.things if thing.kind != main.kind]
    return name_thing(find_main_thing(others)) if others else None


def _count_class(scene: KnownScene, what: str) -> str | None:
    """ "Which animals are there?" """
    phrase = parse_phrase(what, scene.lexicon)
    things = None if phrase is None else scene.find_meant(replace(phrase, number=None))
    if phrase is None or phrase.kinds is None or things is None:
        return None
    if things:
        return count_things(things)
    return "none" if is_in_background(phrase.kinds, scene.truth) is False else None


_X = r"(.+?)"
_THE_PICTURE = r"(?:it|this|that|the (?:picture|photo|scene|image|setting|whole thing|place))"
_WHICH = "|".join(sorted(PREDICATE_OF_WORD, key=len, reverse=True))
_LOOKS = r"(colour|size|pattern)s?"
_THERE = r"(?:is there|are there|(?:do|can|could) you see|does it (?:have|show|contain)|is it a (?:picture|photo) of)"
_PLACES = r"(?:place|location|setting|background|scenery|surroundings?|landscape|scene|environment)"

_SO = make_rules(
    (r"(.+) or (.+)", _choose_one_of_two),
    (r"(bigger|larger|smaller) than (.+)", _answer_larger),
    (rf"({_WHICH}) (.+)", _answer_related),
    (r"(.+)", _answer_is_so),
)

SCENE_RULES = make_rules(
    (rf"{_THERE} (more than one|several|only one|just one|many|multiple) {_X}",
     lambda scene, least, what:
     _answer_number(scene, what, lambda number: write_yes_or_no(number == 1 if least == "only one" else number > 1))),
    (rf"{_THERE} {_X}", _answer_existence),
    (rf"any {_X}", _answer_existence),
    (rf"(?:is|are) {_X} (?:in it|there|present|shown|to see)", _answer_existence),
    (rf"how many {_X}(?: (?:are|is) (?:there|in it|shown)| (?:do|can) you (?:see|count|spot|find))?", _answer_number),
    (rf"how many {_X} are ((?!there).+)", lambda scene, what, so: _answer_number(scene, f"{what} {so}")),
    (rf"what is the number of {_X}", _answer_number),
    (rf"(?:is|was|are) {_THE_PICTURE} (?:taken |set |shot )?(.+)", answer_setting),
    (r"are we (.+)", answer_setting),
    (rf"where (?:is|was) {_THE_PICTURE}(?: taken| set| shot)?", _name_place),
    (rf"(?:where are we|what is (?:in )?the {_PLACES}|what can you see in the background)", _name_place),
    (rf"(?:what|which) (?:(?:kind|sort|type) of )?{_PLACES} (?:is|was) (?:{_THE_PICTURE}|there|shown)", _name_place),
    (rf"what does the {_PLACES} (?:show|look like)", _name_place),
    # Indoors nothing tells the hour.
    (r"(?:what|which) (?:time|hour) (?:of (?:the )?day )?is (?:it|this|shown)|when (?:is|was) .*"
     r"|what is the (?:time|hour)(?: of (?:the )?day)?",
     lambda scene: None if scene.truth.light == "indoors" else scene.truth.light or None),
    (r"(?:what|how) is the (?:light|lighting|daylight)(?: like)?", lambda scene: scene.truth.light or None),
    (rf"(?:what|which) {_LOOKS} (?:is|are|does|do|has|have) {_X}(?: have)?", _describe_common_look),
    (rf"(?:what|which) is the {_LOOKS} of {_X}", _describe_common_look),
    (rf"how (?:big|large) (?:is|are) {_X}", lambda scene, what: _describe_common_look(scene, "size", what)),
    (rf"(?:in|of) (?:what|which) {_LOOKS} (?:is|are) {_X}", _describe_common_look),
    (rf"(?:which|what) (?:way|direction|side) (?:is|are|does|do) {_X} (?:fac\w+|turn\w*|look\w*|head\w*|point\w*)"
     r"(?: to| towards)?", lambda scene, what: _describe_common_look(scene, "faces", what)),
    (rf"where (?:is|are) {_X}", lambda scene, what: _describe_common_look(scene, "position", what)),
    (rf"what (?:does|do) {_X} look like|what (?:is|are) {_X} like", _describe_things),
    (rf"(?:is|are|do|does) {_X} (?:of |have )?the same {_LOOKS}", _answer_same_look),
    (rf"(?:does|do) {_X} (?:have|has) (?:any |a |an )?(stripes|dots|spots|checks)",
     lambda scene, what, said: _answer_is_so(scene, what, f"with {said}")),
    (rf"(?:is|are) {_X} patterned|(?:does|do) {_X} have (?:a|any) patterns?",
     lambda scene, *whats:
     {"yes": "no", "no": "yes"}.get(_answer_is_so(scene, next(filter(None, whats)), "plain") or "")),
    (r"(?:is|are) (.+)", _answer_is_so_of_any),
    (rf"(?:does|do) {_X} (?:face|look|point) (?:to )?(?:the )?left or (?:to )?(?:the )?right",
     lambda scene, what: _describe_common_look(scene, "faces", what)),
    (rf"(?:what|which)(?: one)? is (bigger|larger|smaller) {_X} or {_X}", lambda scene, comparison, one, other:
     {"yes": one, "no": other}.get(_answer_larger(scene, one, comparison, other) or "")),
    (rf"(?:does|do) {_X} (?:face|look|point) (?:to )?(?:the )?(left|right)",
     lambda scene, what, side: _answer_is_so(scene, what, f"facing {side}")),
    (rf"what (?:else )?(?:is|are|do you see|can you see)(?: there)? ({_WHICH}) {_X}", _name_related),
    (r"what (?:things|objects|items) (?:are there|do you see|can you see)|what (?:is|do you see|can you see|does it"
     r" show)(?: in it| there| shown)?", _name_main_thing),
    # An answerer is not told what was mentioned before: presumably the main thing was.
    (r"(?:what else (?:is|are|do you see|can you see)|(?:is there )?anything else)(?: there)?(?: in it)?",
     _name_other_thing),
    (r"(?:what|which) is the (?:main|largest|biggest) (?:thing|object|item|subject)", _name_main_thing),
    (r"(?:what|which) (?:(?:kinds?|sorts?) of )?(animals?|vehicles?|buildings?|fruits?)"
     r"(?: (?:is|are) (?:there|it|shown|in it)| do you see| can you see)?", _count_class),
)  # fmt: skip
