"""Where a sentence names a picture of the talk: "the second one", "picture 2", "the previous dress".

An ordinal names a picture only where it stands alone ("I prefer the second, but ..") or before a word for pictures and
what is in them ("the second one", "the second dress"); "the second floor" and "second-hand" do not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_SHORT_ORDINALS = ["1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th", "10th"]
_CARDINALS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_LISTS = (_ORDINALS, _SHORT_ORDINALS, _CARDINALS)

MOST = 64
"""Mentions that are found in one sentence; nobody makes more."""

_MARK, _DEAD = 0xE000, 0xE000 + MOST
MARK = f"[{chr(_MARK)}-{chr(_DEAD - 1)}]"
"""A mention in a marked text, as a regular expression: each is one character of its own."""

DEAD = f"[{chr(_DEAD)}-{chr(_DEAD + MOST - 1)}]"
"""A mention that counts for nothing."""

GAP = chr(_DEAD + MOST)
"""Where something was cut out of a marked text."""

_OURS = re.compile(f"[{chr(_MARK)}-{GAP}]")


def compile_phrase(pattern: str) -> re.Pattern[str]:
    """A pattern in which a space is any white space and an apostrophe either kind, whatever the capitals."""
    return re.compile(pattern.replace(" ", r"\s+").replace("'", "['’]"), re.IGNORECASE)


_PICTURE = "one|picture|photo|photograph|pic|image|product|item|option|choice|pick|result|suggestion|version|turn|round"
_GARMENT = (
    "pair|outfit|dress|gown|skirt|shirt|t-?shirt|tee|top|blouse|sweater|sweatshirt|jumper|hoodie|coat|jacket|blazer|suit|"
    "vest|trousers|pants|jeans|shorts|leggings|shoes?|boots?|sandals?|sneakers?|trainers|loafers|bag|handbag|backpack|"
    "wallet|watch|belt|scarf|hat|cap|saree|kurta|ring|necklace|earrings|sunglasses"
)
WHOLE = rf"(?:{_PICTURE}|{_GARMENT}|ones|something|anything|everything|all|things?|garment|clothes)"
"""Words for a picture, or for all of what is in it."""

ATTRIBUTE = (
    "(?:colou?rs?|shade|pattern|prints?|length|style|collar|neckline|neck|sleeves?|shape|fabric|material|cut|fit|logo|"
    "graphics?|heels?|soles?|straps?)"
)
"""What may follow an ordinal that names a picture all the same: "the first colour" is that of the first."""

_ORDINAL = "|".join((*_ORDINALS, *_SHORT_ORDINALS))
_NUMBER = "|".join(("10|[1-9]", *_CARDINALS))
_THING = rf"(?:{_PICTURE}|{_GARMENT}|design|look|model)\b"
_NEXT = (
    r"(?=\s*(?:$|[.,;:!?)]|'s\b)| (?:but|and|or|with|without|only|except|was|is|were|are|has|had|looks?|looked|"
    r"better|best|more|most|again|please|though|so|if|then|over|than|instead|just|as|because|for me|to the|"
    rf"in(?! (?:an?|the|its|line|command)\b)|on the {ATTRIBUTE}|{ATTRIBUTE})\b)"
)
_NOT_AMONG_MANY = r"(?! (?:from|on|to|at|in) the (?:left|right|top|bottom|front|back|middle|end|row)\b)"
_CHOSEN = (
    r"(?: (?:(?:that|which) )?(?:i|you|we) (?:picked|chose|liked|showed me|showed|saw|had|clicked|selected|"
    r"started with)\b)?"
)
_LYING_IN = (
    r"(?:(?:the (?:one|ones|item|product|picture|photo|image)|those|that) (?:from|of|in|at) |"
    rf"the (?:{_GARMENT}) from )?"
)
_PLACES = (
    rf"(?:the|that|your|my) (?:very )?(?P<things>{_ORDINAL}) {_THING}{_NOT_AMONG_MANY}{_CHOSEN}",
    rf"(?<!\ba\s)(?P<ones>{_ORDINAL}) (?:one|turn|picture|photo|image)\b{_NOT_AMONG_MANY}{_CHOSEN}",
    rf"the (?P<alone>{_ORDINAL})(?: of (?:them|these|those|the (?:two|three|lot)))?{_NEXT}",
    r"(?:the )?(?:(?:picture|photo|image|pic|turn|number|option|item|product|look|round|result|step|no\.)\s*|"
    rf"#)(?P<number>{_NUMBER})\b(?!\.\d|\. (?-i:[a-z])){_NEXT}",
    rf"(?P<begun>the (?:original|initial|starting)(?: {_THING}|{_NEXT})|(?:the (?:one|{_THING}) (?:that )?|what |"
    r"where )(?:i|we|you) (?:(?:started|began)(?: (?:out )?(?:with|from))?|(?:picked|chose|liked|had|saw|"
    rf"showed(?: me)?) (?:first|at first|originally|at the (?:start|beginning)))\b|the (?:one|{_THING}) (?:from|"
    r"at) the (?:start|beginning|outset)\b)",
    rf"(?:the (?:one|{_THING}) (?:from )?)?(?P<ago>{_NUMBER}) (?:turn|picture|step|round|photo|image)s? (?:ago|back|"
    r"earlier|before)\b",
    rf"(?P<before_last>the (?:one|{_THING}) before (?:the )?last(?: one)?\b)",
    rf"(?P<previous>the (?:previous|last|earlier|preceding) {_THING}|the (?:previous|preceding){_NEXT}|the (?:one|"
    rf"{_THING}) (?:from )?before(?: (?:that|this|it)(?: one)?)?{_NEXT}|the (?:one|{_THING}) (?:i|we|you) (?:had|"
    r"picked|chose|liked|saw) (?:before|previously|earlier)\b)",
)
_MENTION = compile_phrase(rf"(?<![\w-]){_LYING_IN}(?:{'|'.join(_PLACES)})")


@dataclass(frozen=True)
class Mention:
    """A picture that a sentence names, by its place in the talk (-1: the one before the latest), and how it is said."""

    place: int
    words: str


@dataclass(frozen=True)
class MarkedText:
    """A sentence in whose text every mention is one character."""

    text: str
    mentions: tuple[Mention, ...]

    def at(self, found: str) -> Mention:
        """The mention that a character of the text stands for."""
        return self.mentions[(ord(found) - _MARK) % MOST]

    def said(self, text: str) -> str:
        """A piece of the marked text as it was said."""
        return re.sub(f"{MARK}|{DEAD}", lambda match: self.at(match[0]).words, text)


def mark_mentions(sentence: str) -> MarkedText:
    """The sentence with its mentions found.

    >>> [mention.place for mention in marked("Keep the first one's collar, and the heel of picture 3").mentions]
    [0, 2]
    """
    found: list[Mention] = []

    def mark(match: re.Match[str]) -> str:
        found.append(Mention(_place(match), match[0]))
        return chr(_MARK + len(found) - 1)

    return MarkedText(_MENTION.sub(mark, _OURS.sub(" ", sentence), count=MOST), tuple(found))


def void_mention(mark: str) -> str:
    """The same mention, but it counts for nothing."""
    return chr(ord(mark) + MOST)


def _place(match: re.Match[str]) -> int:
    kind, words = next((kind, words.lower()) for kind, words in match.groupdict().items() if words)
    match kind:
        case "begun":
            return 0
        case "previous":
            return -1
        case "before_last":
            return -2
        case "ago":
            return -1 - _number(words)
        case _:
            return _number(words)


def _number(word: str) -> int:
    """From 0: "second", "2nd", "two" and "2" are 1."""
    return int(word) - 1 if word.isdigit() else next(words.index(word) for words in _LISTS if word in words)
