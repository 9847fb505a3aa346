"""Sentences split into what they want and what they rule out: negation and correction."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

# A negation extends to the next comma, conjunction or end. "no" and "not" need a noun or colour after them, so
# "not only", "no doubt" and the like are left alone.
_NEGATION = re.compile(
    r"(?:,?\s*\b(?:but|and|or)\b)?,?\s*(?:\b(?:it|there|they)\s+)?"
    r"\b(?:without|with no|but no|but not|except(?: for)?|no|not|never|there (?:is|are) no|(?:is|are)n't|"
    r"doesn't have|don't want)\b"
    r"(?!\s+(?:only|just|sure|doubt|more than|less than|matter|idea)\b)"
    r"\s+(?:(?:a|an|any|the)\s+)?(?P<unwanted>[^,.;:!?]+?)"
    r"(?=\s*(?:[,.;:!?]|\b(?:and|but|with|on|in|at|near|while)\b|$))",
    re.IGNORECASE,
)


DENYING_WORDS = frozenset({"no", "not", "without", "never", "nor"})
"""Words before a noun that deny it."""

_CORRECTION = re.compile(
    r"^\s*(?:(?:no|nope)(?:\s*[,;:.!]|(?=\s+(?:wait|sorry|actually|i\s+meant?)\b))\s*"
    r"|(?:wait|sorry|rather)\s*[,;:.!]\s*|(?:wait|sorry)\s+(?=(?:no|actually|i\s+meant?)\b)"
    r"|(?:actually|i\s+meant?)\b\s*[,;:.!]?\s*|(?<=\bwait )no\s+)+(?=\S)",
    re.IGNORECASE,
)
"""What opens a correction: "no, ...", "wait, no, ...", "sorry, I meant ..."."""


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
    text = _CORRECTION.sub("", text)
    unwanted = tuple(match["unwanted"].strip() for match in _NEGATION.finditer(text))
    if not unwanted:
        return Clauses(text.strip())
    wanted = re.sub(r"\s+", " ", _NEGATION.sub(" ", text)).strip(" ,;.:!?")
    wanted = re.sub(r"^(?:,\s*)?(?:but|and|or)\s+|\s+(?:but|and|or)$", "", wanted)
    return Clauses(wanted, unwanted)


def is_correction(text: str) -> bool:
    """Whether a sentence says that it corrects what was said before.

    >>> [is_correction(text) for text in ("no, in the snow", "no wait, two of them", "I mean a cat", "no people")]
    [True, True, True, False]
    """
    return _CORRECTION.match(text) is not None


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
