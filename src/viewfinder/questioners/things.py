"""Questions that ask whether something is there: which thing, and how common things are in pictures."""

from __future__ import annotations

import re

import numpy as np
from jaxtyping import Float

THINGS_IN_A_PICTURE = 3.0
"""Things that people name in a picture, on average."""

MANY, STEPS = 100, 24
"""Pictures that stand for all when things are counted, and halvings until the divisor is found."""

_EXISTS = re.compile(
    r"(?:is there|are there|(?:can|do|could) you see|does it (?:show|have))\s+(?P<thing>(?:an?|any|some)\s+.+?)"
    r"(?:\s+(?:in|on) (?:it|(?:the|this) (?:picture|photo|image|scene)))?\s*\??",
    re.IGNORECASE,
)


def find_asked_thing(question: str) -> str | None:
    """The thing whose being there a question asks for, with its article; None if it asks for something else.

    >>> thing_asked("Are there any dogs in the picture?"), thing_asked("is there a cap?"), thing_asked("Is it big?")
    ('dogs', 'a cap', None)
    """
    found = _EXISTS.fullmatch(question.strip())
    return re.sub(r"^(?:any|some)\s+", "", found["thing"]) if found else None


def limit_things(yes_ct: Float[np.ndarray, "c t"], there: float = THINGS_IN_A_PICTURE) -> Float[np.ndarray, "c t"]:
    """The chances with all odds divided alike, so that no more than `there` of the things are in a picture on average.

    People ask more often for what is there than for what is not, so "yes" was learnt to be likelier than it is.
    """
    safe_ct = yes_ct.clip(1e-4, 1 - 1e-4)
    odds_ct = safe_ct / (1 - safe_ct)
    low, high = 1.0, 1e6
    if not yes_ct.size or yes_ct.sum(axis=1).mean() <= there:
        return yes_ct
    some_ct = odds_ct[:: max(len(odds_ct) // MANY, 1)]
    for _ in range(STEPS):
        middle = np.sqrt(low * high)
        mean = (some_ct / (some_ct + middle)).sum(axis=1).mean()
        low, high = (middle, high) if mean > there else (low, middle)
    return np.asarray(odds_ct / (odds_ct + np.sqrt(low * high)))
