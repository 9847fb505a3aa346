"""Facts that a sentence names of a picture, besides its looks: when, where, who, by which camera, which file.

    find_fact_phrases("the dog in Lisbon in July 2007", date(2026, 11, 28), {"place": {"lisbon": ("Lisbon",)}})

gives a place and a time. Times, stars, shapes and kinds of files are read by closed lists; persons, places, cameras and
folders only where a picture has them, by their names, whole or in part; looks of the whole picture, and what is said
not to be in it, only where it is known how they can be seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from viewfinder.wording.look_phrases import LookPhrase, find_absent, find_looks
from viewfinder.wording.patterns import compile_late
from viewfinder.wording.times import TimeCondition, find_times

Kind = Literal[
    "time", "person", "place", "camera", "folder", "rating", "shape", "file kind", "looks", "without", "column"
]
NAMED: tuple[Kind, ...] = ("person", "place", "camera", "folder")
"""Kinds that are found by the names that pictures have."""

Names = Mapping[str, tuple[str, ...]]
"""What people may call something, in lower case, and the values that it means: "nikon" -> all cameras of that maker."""


@dataclass(frozen=True)
class FactPhrase:
    """A phrase from character `start` to `end` of a sentence, and the fact that it names.

    `values` are those that any of which will do: of persons, places, cameras and folders as the pictures have them, of
    ratings "4..5", of shapes "tall", "wide", "square", "panorama", of kinds of files formats or "screenshot", of looks
    "black and white", "dark", "bright", of what a picture is without the labels of which none holds.

    A negated phrase says that the fact does not hold ("not from 2011"), one that `corrects` replaces an earlier fact of
    its kind ("sorry, 2009"); the words that say so are within its characters, and those of the negation in its `words`.

    One that was typed as a filter (`camera:canon`) has the name of that `filter`, and pictures for which it does not
    hold are no results at all; `problem` says why it cannot be met, "" if it can. Of kind "column" is what is no other:
    `column` has one of the `values`.
    """

    kind: Kind
    words: str
    start: int
    end: int
    values: tuple[str, ...] = ()
    time: TimeCondition | None = None
    is_negated: bool = False
    corrects: bool = False
    filter: str = ""
    column: str = ""
    problem: str = ""


_PICTURE = r"(?:photos?|pictures?|pics?|images?|shots?|ones?|format|orientation|mode)"
_STARS = r"(?P<count>[1-5]|one|two|three|four|five)"
_OR_MORE = r" or (?:more|better)|\+| and up"
_COUNTS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5"}
_RATING = compile_late(
    rf"(?:(?:rated|with|having|of) )?(?:(?P<least>at least|minimum) )?{_STARS}"
    # Stars on a collar, a flag or in the sky are seen.
    rf"(?:[- ]stars(?! (?:on|around|above|over|in (?:the|his|her|its|their)) \w)|[- ]star(?= {_PICTURE}|$))"
    rf"(?P<more>{_OR_MORE})?"
    rf"|rated (?:(?P<least_2>at least) )?{_STARS.replace('count', 'count_2')}(?P<more_2>{_OR_MORE})?"
    r"|(?P<best>(?:my )?(?:best rated|top rated|highest rated))",
    re.IGNORECASE,
)
_SHAPES = {
    "tall": r"vertical|upright|portrait[- ](?:format|orientation|mode)|in portrait(?= ?$)",
    "wide": r"horizontal|landscape[- ](?:format|orientation|mode)|in landscape format",
    "square": r"square",
    "panorama": r"panoramic|(?:(?:an? )?(?:(?:wide|long|big|broad) )?)panoramas?(?: (?:of|over)(?= ))?",
}
_SHAPE = compile_late("|".join(f"(?P<{shape}>{words})" for shape, words in _SHAPES.items()), re.IGNORECASE)
_KINDS = {
    "screenshot": r"screen ?shots?|screen captures?|screen grabs?",
    "RAW": r"raw (?:files?|photos?|pictures?|images?)|raws",
    "PNG": r"pngs?(?: files?| images?)?",
    "JPEG": r"jpe?gs?(?: files?| images?)?",
    "GIF": r"gifs?(?: files?| images?)?",
    "HEIF": r"hei[cf]s?(?: files?| images?)?",
    "TIFF": r"tiffs?(?: files?| images?)?",
    "WEBP": r"webps?(?: files?| images?)?",
}
_KIND_GROUPS = "|".join(f"(?P<k{at}>{words})" for at, words in enumerate(_KINDS.values()))
_KIND = compile_late(rf"(?<![\w.])(?:(?:as|in|is|are) (?:an? )?)?(?:{_KIND_GROUPS})(?!\w)", re.IGNORECASE)

_BEFORE_NAME = {
    "person": r"(?:with|of|and|by|from|showing|for|where|when|is|me and|,)",
    "place": r"(?:in|at|from|near|of|around|to|visiting|on|over|outside|inside|towards?|through|,)",
    "camera": r"(?:with|on|by|from|using|of|camera:?)",
    "folder": r"(?:in|from|inside|of|under|within)",
}
_TAKEN = (
    r"(?:(?:that |which )?(?:(?:was|were|is|are) )?"
    r"(?:taken|shot|made|captured|photographed|lives?|lying|stored|saved|i took|we took) )?"
)
_TAKEN_BY = r"(?:(?:that |which )?(?:(?:was|were|is|are) )?(?:taken|shot|made|captured|photographed|i took|we took)) "
_FOLDER_WORD = r"(?:(?:the|my|our) )?(?:folders?|director(?:y|ies)|albums?)(?: (?:called|named))?"

_NOT = (
    r"(?:(?:(?:that|which|who|it|this|they|these|those) )?(?:is|are|was|were|do|does|did)(?: (?:definitely|certainly))?"
    r"(?: not|n['’]?t)(?: (?:come|been|be))?|(?:(?:just|definitely|certainly|only) )?not|never|except(?:ing)?(?: for)?"
    r"|i (?:do not|don['’]?t) (?:think|believe|want|mean)|(?:it |this |that )?(?:can['’]?t|cannot) (?:be|have been)"
    r"|neither|nor|(?:from |of |in )?(?:any|every|all)(?: other)? years? (?:but|except(?: for)?|than)"
    r"|excluding|without|minus|other than|(?:apart|aside) from|anything but)"
)
_NO_PICTURE = rf"(?:nothing|none|no {_PICTURE})"
_NEGATION = compile_late(
    rf"(?:^|(?<=[\s,;(]))(?:(?:but|and|though|so) )?(?:(?:{_NOT}|(?:(?:with|show me|i want) )?{_NO_PICTURE})"
    rf"(?: (?:any|all|the|those|these|anything|something))?(?: of(?: the| those)?)?(?: {_PICTURE})?"
    r"(?: (?:that|which)(?: (?:is|are|was|were))?)?(?: (?:taken|shot|made|captured|photographed))?|(?P<no>no)) $",
    re.IGNORECASE,
)
MAX_NEGATION_LENGTH = 80
"""Characters before a fact among which it is looked for that it is negated."""

_SOFT = r"(?:oh|ah|h+m+|uh|um|well|ok|okay|but|and|i (?:think|believe|guess)|maybe|perhaps)"
_CORRECTING = (
    r"(?:no|nope|nah|sorry|oops|wait|actually|correction|i mean|i meant|my (?:mistake|bad|fault)|i was wrong"
    r"|make (?:it|that)"
    r"|(?:that was |that is |that's |it's )?(?:the )?wrong(?: (?:year|date|day|month|time|place|camera|person|folder))?"
    r"|the (?:year|date|day|month|time|place|camera|person|folder) (?:is|was) wrong"
    r"|not that|instead|(?:or )?rather|better|i should say|let me correct(?: that| myself)?)"
)
_CORRECTS = compile_late(
    rf"[\s,.;:!…–-]*(?:{_SOFT}\b[\s,.;:!…–-]*)*{_CORRECTING}\b[\s,.;:!…–-]*(?:(?:{_SOFT}|{_CORRECTING})\b[\s,.;:!…–-]*)*"
    r"(?:(?:it|that|this)(?:'s| is| was)? )?",
    re.IGNORECASE,
)
_OPENS_CORRECTION = compile_late(
    rf"(?:{_SOFT}[\s,.;:!…]+)*(?:(?:no|nope|sorry|oops|wait|actually|correction)\s*[,.;:!…]|sorry\b|i meant?\b)",
    re.IGNORECASE,
)

MAX_NAME_WORDS = 6
"""Words of a name of a person, place, camera or folder that are looked up together."""


def find_fact_phrases(text: str, today: date, names: Mapping[Kind, Names]) -> list[FactPhrase]:
    """The facts that a text names, in their order; none overlaps another. Words of the text are parted by one blank."""
    found: list[FactPhrase] = []
    looks = names.get("looks", {})
    for phrase in (
        *_name_phrases("looks", text, (one for one in find_looks(text) if one.values[0] in looks)),
        *_name_phrases("without", text, find_absent(text, names.get("without", {}))),
        *_find_folders(text, names.get("folder", {})),
        *_find_times(text, today),
        *_find_named(text, names),
        *_find_ratings(text),
        *_find_shapes(text),
        *_find_file_kinds(text),
    ):
        if all(phrase.end <= one.start or phrase.start >= one.end for one in found):
            found.append(phrase)
    negated = [_negate(phrase, text) for phrase in sorted(found, key=lambda phrase: phrase.start)]
    return _correct(negated, text)


def _negate(phrase: FactPhrase, text: str) -> FactPhrase:
    """The phrase with the words before it that deny it: "not from 2011", "but no screenshots"."""
    since = max(phrase.start - MAX_NEGATION_LENGTH, 0)
    before = _NEGATION.search(text[since : phrase.start])
    # "No 2009" rather corrects a year than denies it; what is not there is no fact that could be denied.
    if before is None or phrase.kind == "without" or (before["no"] and phrase.kind in ("time", "looks")):
        return phrase
    start = since + before.start()
    words = re.sub(r"^(?:but|and|though|so) ", "", text[start : phrase.end].strip(" ,"), flags=re.IGNORECASE)
    return replace(phrase, start=start, words=words, is_negated=True)


def _correct(facts: list[FactPhrase], text: str) -> list[FactPhrase]:
    """The facts without those that the sentence takes back ("in 2008, no, 2009").

    The first one of a sentence that opens as a correction takes back what was said before it.
    """
    kept: list[FactPhrase] = []
    for at, fact in enumerate(facts):
        earlier = kept[-1] if kept else None
        if earlier is None:
            lead = _CORRECTS.fullmatch(text[: fact.start])
            if lead is not None:
                fact = replace(fact, start=0, corrects=True)  # noqa: PLW2901 (the same fact, with its lead)
            elif _OPENS_CORRECTION.match(text) or (at == len(facts) - 1 and _says_instead(text[fact.end :])):
                fact = replace(fact, corrects=True)  # noqa: PLW2901
        elif earlier.kind == fact.kind and _CORRECTS.fullmatch(text[earlier.end : fact.start]):
            fact = replace(fact, start=earlier.start, corrects=earlier.corrects)  # noqa: PLW2901
            kept.pop()
        kept.append(fact)
    return kept


def _says_instead(after: str) -> bool:
    return re.fullmatch(r" instead[ .,!]*", after, re.IGNORECASE) is not None


def takes_back(later: FactPhrase, earlier: FactPhrase) -> bool:
    """Whether a fact that is said later stands in place of an earlier one: it corrects it, or both cannot hold.

    >>> old, new = (TimeCondition(f"{year}-01-01", f"{year}-12-31") for year in (2008, 2009))
    >>> takes_back(FactPhrase("time", "2009", 0, 4, time=new), FactPhrase("time", "in 2008", 0, 7, time=old))
    True
    """
    if later.kind != earlier.kind:
        return False
    if later.is_negated != earlier.is_negated:
        holds, denied = (earlier, later) if later.is_negated else (later, earlier)
        if holds.time is not None and denied.time is not None:
            return holds.time.is_within(denied.time)
        return bool(holds.values) and set(holds.values) <= set(denied.values)
    if later.is_negated:
        return False
    if later.corrects:
        return True
    return later.time is not None and earlier.time is not None and later.time.is_apart_from(earlier.time)


def _name_phrases(kind: Kind, text: str, found: Iterable[LookPhrase]) -> Iterator[FactPhrase]:
    for one in found:
        yield FactPhrase(kind, one.words or text[one.start : one.end].strip(" ,"), one.start, one.end, one.values)


def _find_times(text: str, today: date) -> Iterator[FactPhrase]:
    for one in find_times(text, today):
        yield FactPhrase("time", one.words, one.start, one.end, time=one.condition)


def _find_folders(text: str, folders: Names) -> Iterator[FactPhrase]:
    """ "In the folder 2007-07 Italy", "in my Italy album": the longest run of words that names a folder."""
    for match in re.finditer(rf"\b{_TAKEN}(?:in|from|inside|of|under|within)? ?{_FOLDER_WORD} ", text, re.IGNORECASE):
        if (named := _find_longest_name(text, match.end(), folders)) is not None:
            end, values = named
            yield FactPhrase("folder", text[match.start() : end].strip(), match.start(), end, values)
    for match in re.finditer(r"\b(?:in|from|inside) (?:the|my|our) ", text, re.IGNORECASE):
        named = _find_longest_name(text, match.end(), folders)
        if named is not None and (after := re.match(r" (?:folder|directory|album)\b", text[named[0] :], re.IGNORECASE)):
            end = named[0] + after.end()
            yield FactPhrase("folder", text[match.start() : end], match.start(), end, named[1])


def _find_named(text: str, names: Mapping[Kind, Names]) -> Iterator[FactPhrase]:
    starts = [match.start() for match in re.finditer(r"(?<![\w'’-])\w", text)]
    for kind in ("camera", "person", "place"):
        known = names.get(kind, {})
        if not known:
            continue
        for start in starts:
            named = _find_longest_name(text, start, known)
            if named is None:
                continue
            # "A girl with an iPhone" holds one.
            articles = "the|my|our|his|her|old|new" + ("" if kind == "camera" else "|an?")
            leading = rf"(?:^|(?<=\s)){_TAKEN}{_BEFORE_NAME[kind]} (?:(?:{articles}) )*$"
            if kind == "camera":
                leading += rf"|(?:^|(?<=\s)){_TAKEN_BY}(?:with|on|by|from|using) an? (?:(?:old|new) )?$"
            before = re.search(leading, text[:start], re.IGNORECASE)
            # "Nikon", "my Nikon pictures".
            begins = re.fullmatch(
                r"[ ,.;:!?]*(?:(?:the|my|our|all|any|some|show me|find) )*", text[:start], re.IGNORECASE
            )
            after = text[named[0] :]
            # "Nikon shots of children".
            goes_on = rf"| {_PICTURE} (?:of|with|from|in)\b.*" if kind == "camera" else ""
            alone = begins and re.fullmatch(rf"(?: {_PICTURE})?[ ,.;:!?]*{goes_on}", after, re.IGNORECASE)
            is_name = text[start].isupper() and kind != "camera"
            is_denied = _NEGATION.search(text[max(start - MAX_NEGATION_LENGTH, 0) : start]) is not None
            if before is not None or alone is not None or is_name or is_denied:
                begin = start if before is None else before.start()
                yield FactPhrase(kind, text[begin : named[0]].strip(" ,"), begin, named[0], named[1])


def _find_longest_name(text: str, start: int, names: Names) -> tuple[int, tuple[str, ...]] | None:
    """Where the longest name ends that begins at a character, and what it means."""
    ends = [start + match.end() for match in re.finditer(r"[\w'’.&/-]*\w", text[start : start + 120])][:MAX_NAME_WORDS]
    for end in reversed(ends):
        if (values := names.get(text[start:end].lower())) is not None:
            return end, values
    return None


def _find_ratings(text: str) -> Iterator[FactPhrase]:
    for match in _RATING.finditer(text):
        said = match["count"] or match["count_2"]
        if match["best"]:
            values = ("5",)
        else:
            least = _COUNTS.get(said.lower(), said)
            is_open = any(match[name] for name in ("least", "more", "least_2", "more_2"))
            values = (f"{least}..5",) if is_open else (least,)
        yield FactPhrase("rating", match[0], match.start(), match.end(), values)


def _find_shapes(text: str) -> Iterator[FactPhrase]:
    """ "Vertical photos": only beside a word for pictures, or at an end; "vertical lines" are seen."""
    for match in _SHAPE.finditer(text):
        before, after = text[: match.start()].strip(" ,.;:!?"), text[match.end() :].lstrip()
        of_picture = re.match(rf"{_PICTURE}\b", after, re.IGNORECASE)
        says_format = re.search(r"format|orientation|mode|panorama", match[0], re.IGNORECASE)
        if of_picture or says_format or not (before or after):
            words = re.sub(r" (?:of|over)$", "", match[0], flags=re.IGNORECASE)
            yield FactPhrase("shape", words, match.start(), match.end(), (match.lastgroup or "",))


def _find_file_kinds(text: str) -> Iterator[FactPhrase]:
    for match in _KIND.finditer(text):
        at = next(at for at in range(len(_KINDS)) if match[f"k{at}"])
        yield FactPhrase("file kind", match[0], match.start(), match.end(), (list(_KINDS)[at],))


def remove_phrases(text: str, phrases: list[FactPhrase]) -> str:
    """The text without some of its phrases, and without the marks and small words that this leaves at its ends.

    >>> remove_phrases("the dog in July 2007", [FactPhrase("time", "in July 2007", 8, 20)])
    'the dog'
    """
    if not phrases:
        return text
    kept, at = [], 0
    for phrase in sorted(phrases, key=lambda one: one.start):
        kept.append(text[at : phrase.start])
        at = phrase.end
    rest = " ".join("".join([*kept, text[at:]]).split())
    rest = re.sub(r"\s+([,.;:!?])", r"\1", rest)
    rest = re.sub(r"^(?:and|of|,)\s+|(?:^|\s)(?:and|but|with|in|on|at|from|of|,|that (?:was|were))\s*$", "", rest)
    return rest.strip(" ,;:-")
