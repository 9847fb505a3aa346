"""Looks of a whole picture that a sentence names, and what it says is not in it.

    find_looks("a black and white photo of a man")        "black and white"
    find_absent("a beach with no people", {"people": ...})  "with no people"

Only where the words can mean nothing else: "a black and white dog" is a dog, "a dark street" is a street.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from viewfinder.wording.stems import stem, stems

BLACK_AND_WHITE, DARK, BRIGHT = "black and white", "dark", "bright"

PEOPLE = "people"
"""What is absent if nobody is there."""

MAX_THING_WORDS = 3
"""Words of a thing that is said to be absent."""


class LookPhrase(NamedTuple):
    """From character `start` to `end` of a sentence, a look of a picture, or the values of what is not in it.

    `words` say it otherwise than the sentence does: who finds a picture too dark wants a bright one.
    """

    start: int
    end: int
    values: tuple[str, ...]
    words: str = ""


_PICTURE = r"(?:photo(?:graph)?s?|pictures?|pics?|images?|shots?|snaps?|snapshots?|portraits?|photography|ones?)"
_AGES = r"(?:(?:old|vintage|film|family|analogue|analog|historic|historical)[ -])?"
_COLOURLESS = r"(?:black[ -]?(?:and|&|n|'n'|/)[ -]?white|b ?(?:&|/|and|n) ?w)"
_MONOCHROME = r"(?:monochrome|monochromatic|gr[ea]y[ -]?scale)"
_DARK, _BRIGHT = r"(?:(?:very |too |rather )?dark|under-?exposed)", r"(?:(?:very |too |rather )?bright|over-?exposed)"
_MORE = r"(?:(?:(?:much|a bit|a little|a lot|way|far|slightly|even|rather) )?"
_NOT_SO = r"not (?:(?:quite )?(?:so|as|too|that|very) )?"
_BRIGHTER = rf"(?:{_MORE}(?:brighter|less dark))|(?:(?:way|far|much|a bit|a little) )?too dark|{_NOT_SO}dark)"
_DARKER = rf"(?:{_MORE}(?:darker|less bright))|(?:(?:way|far|much|a bit|a little) )?too bright|{_NOT_SO}bright)"
"""Who looks at results and finds them too dark wants a bright one."""

_THAT_IS = r"(?:that|which) (?:is|are|was|were) "


def _compile_look(words: str) -> re.Pattern[str]:
    """Before a word for pictures, after one ("a photo in ..."), or alone.

    Not after a comma: of "two dogs, black and white" the dogs are.
    """
    return re.compile(
        rf"(?<![\w-])(?P<before>{words})(?= {_AGES}{_PICTURE}\b)"
        rf"|^(?!too )(?P<alone>{words})(?=[ ,.;:!?]*$)"
        rf"|\b(?:taken|shot|photographed|printed|developed|{_PICTURE}) "
        rf"(?P<after>(?:{_THAT_IS})?in {words}|{_THAT_IS}{words})"
        r"(?![\w-])",
        re.IGNORECASE,
    )


def _compile_wish(words: str) -> re.Pattern[str]:
    """Alone, or before a word for pictures: "a darker dog" is one of another colour."""
    return re.compile(
        r"^(?:(?:it|that|this|they|these|those|the (?:photo|picture|image))(?:['’]s|['’]re| is| are| was| should be) "
        rf"|(?:please |(?:can|could) you )?make it |i want it )?(?P<alone>{words})(?=[ ,.;:!?]*$)"
        rf"|^(?:an? |in a )?(?P<before>{words})(?: {_PICTURE})(?=[ ,.;:!?]*$)",
        re.IGNORECASE,
    )


_LOOKS = (
    (BLACK_AND_WHITE, _compile_look(_COLOURLESS)),
    (BLACK_AND_WHITE, re.compile(rf"(?<![\w-])(?P<any>(?:in )?{_MONOCHROME})(?![\w-])", re.IGNORECASE)),
    (DARK, _compile_look(_DARK)),
    (BRIGHT, _compile_look(_BRIGHT)),
)
_WISHES = ((BRIGHT, _compile_wish(_BRIGHTER)), (DARK, _compile_wish(_DARKER)))


def find_looks(text: str) -> Iterator[LookPhrase]:
    """The looks of a whole picture that a text names.

    >>> [found.values for found in find_looks("old black and white photos of a black and white dog")]
    [('black and white',)]
    """
    for look, pattern in _LOOKS:
        for match in pattern.finditer(text):
            yield LookPhrase(*match.span(match.lastgroup or 0), (look,))
    for look, pattern in _WISHES:
        for match in pattern.finditer(text):
            yield LookPhrase(*match.span(match.lastgroup or 0), (look,), look)


_NONE = (
    r"(?:without(?: any| an?)?|with (?:no|not (?:any|an?|one))"
    r"|(?:(?:where|and|but) )?there(?:'s| is| are)? (?:no|not any)"
    r"|(?:where )?there (?:isn't|aren't) (?:any|an?)|(?:that |which )?(?:has|have|had) no"
    r"|but no|and no|not any|no|nor|or)"
)
_NOBODY = re.compile(
    r"(?<![\w-])(?:(?:and |but )?(?:with |where |has |when )?(?:there(?:'s| is| was) )?"
    r"(?:nobody|no[ -]one|noone|not a soul)|without any(?:one|body)"
    r"|(?:where )?there (?:isn't|wasn't) any(?:one|body))(?: else)?"
    r"(?: (?:is |was )?(?:in (?:it|them|the (?:picture|photo|frame|shot|image))|there|around|visible|on it|in sight))?"
    r"(?=[ ,.;:!?]*(?:$|[,.;:!?]|(?:and|but|on|in|at|near)\b))",
    re.IGNORECASE,
)
_LEAD = re.compile(rf"(?<![\w-]){_NONE} (?:other |visible |real )?", re.IGNORECASE)
_AFTER_THING = re.compile(
    r"(?: (?:in (?:it|them|the (?:picture|photo|frame|shot|image))|there|around|visible|at all|in sight))?"
    r"(?=[ ,.;:!?]*(?:$|[,.;:!?]|(?:and|but|or|nor|with|without|on|in|at|near|while|only|just|please|thanks)\b))",
    re.IGNORECASE,
)


def find_absent(text: str, things: Mapping[str, tuple[str, ...]]) -> Iterator[LookPhrase]:
    """What a text says is not in a picture, of the `things` (by their names as stems, words parted by blanks).

    "No people or dogs" names two; "no dog collar" none, if only dogs are known.
    """
    if (people := things.get(stem(PEOPLE))) is not None:
        yield from (LookPhrase(*match.span(), people) for match in _NOBODY.finditer(text))
    denied_to: int | None = None  # where the last thing ended that is said to be absent
    for match in _LEAD.finditer(text):
        # "A dog or cat" wants either.
        if match[0].strip().lower() == "or" and (denied_to is None or text[denied_to : match.start()].strip(" ,")):
            continue
        if (end := _find_thing(text, match.end(), things)) is None:
            continue
        after = _AFTER_THING.match(text, end)
        assert after is not None
        denied_to = after.end()
        yield LookPhrase(match.start(), denied_to, things[" ".join(stems(text[match.end() : end]))])


def _find_thing(text: str, start: int, things: Mapping[str, tuple[str, ...]]) -> int | None:
    """Where the longest name of a thing ends that begins here; None where none does, or more is said of it."""
    ends = [start + match.end() for match in re.finditer(r"[\w'’-]*\w", text[start : start + 60])][:MAX_THING_WORDS]
    for end in reversed(ends):
        if " ".join(stems(text[start:end])) in things and _AFTER_THING.match(text, end):
            return end
    return None
