"""Sentences split into what they want and what they rule out: negation and correction."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from viewfinder.wording.denials import write_denials

# A negation extends to the next comma, conjunction or end. "no" and "not" need a noun or colour after them, so
# "not only", "no doubt" and the like are left alone.
_NEGATION = re.compile(
    r"(?:,?\s*\b(?:but|and|or)\b)?,?\s*"
    r"(?:\b(?:it|there|they|he|she|that|this|these|those)(?:['’]s|['’]re|\s+(?:is|are|was|were))?\s+)?"
    r"\b(?:without|with no|but no|but not|except(?: for)?|(?:(?!^)|(?=[^,]*,))(?:instead of|rather than)|no|not|never|"
    r"(?:is|are|was|were)n['’]t|"
    r"doesn['’]t have|don['’]t want)\b"
    r"(?!\s+(?:only|just|sure|doubt|more than|less than|matter|idea)\b)"
    r"\s+(?:(?:a|an|any|the)\s+)?(?P<unwanted>[^,.;:!?]+?)"
    r"(?=\s*(?:[,.;:!?]|\b(?:and|but|with|on|in|at|near|while|it['’]s|it\s+(?:is|was))\b|$))",
    re.IGNORECASE,
)


DENYING_WORDS = frozenset({"no", "not", "without", "never", "nor"})
"""Words before a noun that deny it."""

_FILLER = r"(?:(?:u+h*m+|h+m+|uh+|er+m?|oh|ah|oops|ok|okay|well|yes|yeah)\b[\s,.!]*){0,3}"
"""What people say before they have said anything: "hmm, ok, no, ..."."""

_NO_NOUN = (
    r"(?=\s+(?:wait|sorry|actually|rather|i\s+meant?|not|a|an|the|in|on|at|with|near|by|from|it|it's|its|i|i'd|they|he|she|"
    r"my|his|her)(?![\w-]))"
)
"""What cannot be denied by the word before it: "no in the snow" is "no, in the snow"."""

_MARK = r"(?:\s*[,;:.!…]+|\s+[-–—]+(?=\s))"

_IT_IS = r"(?:it|they)(?:['’]?s|['’]?re|\s+(?:is|was|are|were))"

_CORRECTION = re.compile(
    rf"^\s*{_FILLER}(?:(?:no|nope|nah)(?:{_MARK}|{_NO_NOUN})\s*|(?:that['’]?s\s+)?wrong{_MARK}\s*|\*\s*"
    rf"|(?:sry|soz|typo){_MARK}?\s+|(?:(?:and|but|so)\s+)?(?:what|how)\s+about\s+|can\s+it\s+be\s+"
    r"|(?:(?:do|can)\s+(?:you|i)\s+(?:have|get)|have\s+you(?:\s+got)?|got)\s+(?:it|them|that|this)\s+(?=in\b)"
    rf"|(?:wait|sorry|rather){_MARK}\s*|(?:wait|sorry)\s+(?=(?:no|actually|i\s+mean?t?|i\s+said|it|it['’]?s|they)\b)"
    r"|(?:sorry|rather)\s+(?=(?:a|an|the|in|on|at)\b)"
    r"|wait\s+(?=an?\s+(?!(?:minute|moment|second|sec|bit|while|little)\b))"
    r"|(?:(?:nice|good|great|perfect|lovely|cool|close|almost|like (?:this|that))\b[\s,.!]*)?"
    rf"but\s+(?=(?:in|on|at|i\s+meant|{_IT_IS})\b)"
    r"|(?:actually|i\s+(?:meant?|ment|said))\b\s*[,;:.!]?\s*|(?<=\bwait )no\s+"
    rf"|(?:{_IT_IS}\s+actually|it\s+(?:should|must)\s+(?:be|have\s+been))\s+"
    r"|(?:(?:can|could)\s+you\s+|please\s+)?(?:make|change)\s+"
    r"(?:(?:it|that|them|him|her|the\s+colou?rs?)\s+(?:(?:to|into)\s+)?|(?=(?:the|his|her|its|their)\s+\w+\s+"
    r"(?:black|white|gr[ea]y|red|blue|green|yellow|brown|orange|pink|purple|\w+er)[\s.!]*$)))+(?=\S)",
    re.IGNORECASE,
)
"""What opens a correction: "no, ...", "wait, no, ...", "sorry, I meant ...", "nice, but in ...", "make it ..."."""

_IT_WAS = re.compile(rf"^{_IT_IS}\s+(?=\S)", re.IGNORECASE)
"""What leads from there to what is wanted: "close, but it was a cat"."""

_INSTEAD = re.compile(r"(?<=\w)(?:,?\s+(?:instead|actually|i\s+meant?|after\s+all)|\*)[\s.!]*$", re.IGNORECASE)
"""What ends one: "in the snow instead", "in the snow, I mean"; who has mistyped writes "snow*"."""


@dataclass(frozen=True)
class Clauses:
    """The wanted text ("" when the sentence only rules out) and the unwanted pieces."""

    wanted: str
    unwanted: tuple[str, ...] = ()


@lru_cache(maxsize=16_384)  # every later turn reads all that was said again
def split_clauses(text: str) -> Clauses:
    """Separate what a sentence wants from what it does not want.

    >>> split_clauses("a dog on the grass without a collar, no people")
    Clauses(wanted='a dog on the grass', unwanted=('collar', 'people'))
    """
    said = _CORRECTION.sub("", text)
    text = write_denials(_INSTEAD.sub("", said if said == text else _IT_WAS.sub("", said)))
    unwanted = tuple(match["unwanted"].strip() for match in _NEGATION.finditer(text))
    if not unwanted:
        return Clauses(text.strip())
    wanted = re.sub(r"\s+", " ", _NEGATION.sub(" ", text)).strip(" ,;.:!?")
    wanted = re.sub(r"^(?:,\s*)?(?:but|and|or)\s+|\s+(?:but|and|or)$", "", wanted)
    wanted = _IT_WAS.sub("", wanted)
    return Clauses(wanted, unwanted)


def is_correction(text: str) -> bool:
    """Whether a sentence says that it corrects what was said before.

    >>> [is_correction(text) for text in ("no, in the snow", "no wait, two of them", "a cat instead", "no people")]
    [True, True, True, False]
    """
    return _CORRECTION.match(text) is not None or _INSTEAD.search(text) is not None


_REPLACES = re.compile(
    rf"^\s*{_FILLER}(?:(?:oh|sorry|wait)\b[\s,.!]*)*(?:(?:no|nope|nah)(?:{_MARK}|{_NO_NOUN})|i\s+(?:meant|ment)\b"
    rf"|(?:that['’]?s\s+)?wrong{_MARK}|\*|typo\b"
    r"|(?:(?:can|could)\s+you\s+|please\s+)?(?:make|change)\s+(?:it|that)\b)",
    re.IGNORECASE,
)


def is_replacement(text: str) -> bool:
    """Whether a correction says that what was described is something else: "actually" and "wait" may only add.

    >>> [is_replacement(text) for text in ("no, a cat", "I meant a cat", "a cat instead", "actually, a cat", "a cat")]
    [True, True, True, False, False]
    """
    return _REPLACES.match(text) is not None or re.search(r"\binstead[\s.!]*$", text, re.IGNORECASE) is not None


@lru_cache(maxsize=16_384)
def split_clauses_in_context(text: str, before: str) -> Clauses:
    """`split_clauses`; a correction ("no, ...") says what it wants only together with what was said `before` it.

    >>> split_clauses_in_context("no, two of them", "dogs on grass").wanted
    'dogs on grass, two of them'
    """
    clauses = split_clauses(text)
    if not (before and clauses.wanted and is_correction(text)):
        return clauses
    return replace(clauses, wanted=f"{before}, {clauses.wanted}")
