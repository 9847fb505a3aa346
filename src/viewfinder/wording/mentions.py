"""The things that a question takes for granted, by a simple rule.

"The ..." and "he" or "she" need what they stand for to have been mentioned ("is the blue umbrella big?" needs a blue
umbrella). Questions with "it", "they" and the like are never asked, as no antecedents are tracked; only "it" may stand
for the picture, the hour or the weather.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from viewfinder.wording.stems import WORD, fold_words, stem

PERSONS: dict[str, frozenset[str]] = {
    "he": fold_words("man men boy boys guy guys gentleman male father dad son brother king policeman husband groom"),
    "she": fold_words("woman women girl girls lady female mother mom daughter sister queen wife bride"),
}
"""The persons that "he" and "she" may stand for."""

NEVER_WORDS = """
they them their theirs themselves its itself these those that ones him hers mine another both either neither
each and also
"""
_NEVER = frozenset(NEVER_WORDS.split())


_PERSON_OF = {"he": "he", "his": "he", "himself": "he", "she": "she", "her": "she", "herself": "she"}

_IT_IS = fold_words("""
    taken dark bright lit day daytime daylight night nighttime morning afternoon evening sunset sunrise dawn dusk noon
    sunny cloudy rainy raining snowy snowing windy winter summer autumn hot cold warm wet indoors outdoors indoor
    outdoor inside outside time hour weather season kitchen bathroom bedroom restaurant office shop beach street city
    town park forest desert meadow mountain mountains landscape countryside sea harbour lake garden field road
    woods living dining room
""")
"""Words of questions in which "it" is the whole picture, the hour or the weather, or was "taken"."""

_BESIDE = fold_words("""
    what which where when how is was are it this a an the of or and in on at by to with like shot set kind sort
    type look does do did you there still still living building by near walls place
""")
"""Words that may stand beside `_IT_IS` in such a question."""

_KNOWN = fold_words("""
    picture photo photograph image scene shot background foreground setting place location surroundings environment
    weather light lighting sky sun ground floor air time hour day season distance number colour size pattern kind
    sort type main largest biggest most whole entire only other others same camera photographer
""")
"""Things that every picture has, so that "the ..." needs no mention."""

_SPOTS = fold_words("""
    left right middle centre center top bottom front back side corner edge
    sea beach mountains woods forest city street countryside snow water grass
""")
"""Places in every picture, after one of `_AT`: "the top" alone may be clothing, "in the street" is where a thing is."""

_AT = frozenset({"on", "in", "at", "to", "near", "from", "by", "of"})
_ASKS_WHETHER = frozenset({"is", "are", "was", "were"})
ENDING_WORDS = """
on in at to near from by under behind above below over with without next beside close for into off inside
outside is are was were be do does did has have had look looks appear appears seem seems face faces made or and
that who which than as there here a an any some all it this not only also very
"""
_ENDS = frozenset(ENDING_WORDS.split())
"""Words that end a noun phrase."""

_GROUPS = fold_words("pair set piece group bunch couple")
"""Words before "of" that need no mention themselves."""

_LOOKS = fold_words("""
    red orange yellow green blue purple pink brown black white grey gray beige cream maroon navy olive silver gold
    golden copper bronze tan teal turquoise magenta lavender mustard peach khaki charcoal burgundy rust nude off coffee
    small little tiny big large huge medium middle sized long short tall wide old young new plain striped dotted
    checked spotted polka dot floral printed patterned dark light bright bigger smaller larger taller first second
    third upper lower other two three four five six seven eight nine ten leftmost rightmost
""")
"""Words that stand between "the" and its noun."""

_PICTURES = frozenset({"picture", "photo", "photograph", "image", "scene", "shot", "place", "setting", "room", "area"})


def required_mentions(question: str) -> tuple[str, ...] | None:
    """The stems that must have been mentioned before a question can be asked; None: it can never be asked by itself.

    "he" and "she" stand for any of `PERSONS`.

    >>> [required_mentions(text) for text in ("Is the blue umbrella on the left?", "is it dark?")]
    [('blu', 'umbrella'), ()]
    >>> [required_mentions(text) for text in ("is it big?", "is she wearing a hat?")]
    [None, ('she',)]
    """
    words = [word.casefold() for word in WORD.findall(question.replace("'s ", " is "))]
    if not words or _NEVER & {*words} or not _speaks_of_the_picture(words):
        return None
    needed = [need for at, word in enumerate(words) if word == "the" for need in _find_taken_for_known(words, at)]
    if "one" in needed:
        return None
    needed += [_PERSON_OF[word] for word in words if word in _PERSON_OF]
    return tuple(dict.fromkeys(needed))


def _speaks_of_the_picture(words: Sequence[str]) -> bool:
    """Whether "it" and "this", if they are there, can only mean the picture."""
    if "it" in words and "taken" not in words:
        content = {stem(word) for word in words} - _BESIDE
        return bool(content) and content <= _IT_IS | _KNOWN and bool(content & _IT_IS)
    # "Is this a kitchen?" and "in this photo" mean the picture, "this dog" does not.
    after = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "this"]
    return all(word in _PICTURES or stem(word) in _BESIDE | _IT_IS for word in after)


def _find_taken_for_known(words: Sequence[str], the: int) -> list[str]:
    """The noun after a "the", and its looks, which the question takes for known."""
    phrase = [*takewhile(lambda word: word not in _ENDS and not word.endswith("ing"), words[the + 1 :])]
    folded = [stem(word) for word in phrase if word != "of"]
    if not folded or folded[0] in _KNOWN or (folded[0] in _SPOTS and {*words[:the][-1:]} & _AT):
        return []
    if words[the + 1 + len(phrase) :][:1] in ([], ["or"]) and words[0] in _ASKS_WHETHER:
        # What is asked of it is no part of it: "shoe accessory" of "is the shoe accessory plain?".
        looks = [*takewhile(_LOOKS.__contains__, reversed(folded[1:]))]
        folded = folded[: -len(looks)] if looks else folded[: max(len(folded) - 1, 1)]
    return [word for word in folded if word not in _GROUPS]
