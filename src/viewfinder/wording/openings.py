"""Two turns in one sentence: "start over, a cat" begins anew, and then describes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from viewfinder.wording.act_phrases import PHRASES, Kind
from viewfinder.wording.acts import Act, read_act
from viewfinder.wording.patterns import compile_late

_FIRST = compile_late(
    r"^(?:(?:no|nope|ok|okay|oh|ah|well|hm+|um+|uh|actually|sorry|wait|please|alright|let['’]?s|and|so|yes|yeah|but|lol"
    r"|(?:can|could) (?:you|we|i))\b[\s,.!…]*)*",
    re.IGNORECASE,
)
_THEN = compile_late(r"\s*[,;:.!…]+\s*(?:(?:and|but|then|so|now|instead)\b[\s,]*)*(?=\S)|\s+[-–—]+\s+")
_WISHES = (
    r"i(?:['’]?m| am| want| need|['’]?d)\b|let(?:['’]?s| me| us)\b|show\b|find\b|look(?:ing)? for\b|search\b|give me\b|"
    r"(?:it|they|there)(?:['’]?s|['’]?re| is| are| was| were)\b"
)
_THEN_UNMARKED = compile_late(rf"\s+(?:(?:and|then|now|instead|with|for|of)\s+)+(?=\w)|\s+(?={_WISHES})", re.IGNORECASE)
_THEN_A_THING = compile_late(r"\s+(?=(?:an?|some|two|three)\s)", re.IGNORECASE)
_OF_RESULTS = re.compile(r"\b(?:these|those|them|this|that|it|any|what)\b")
_FORGETTING = re.compile(r"(?:forget|never ?mind|ignore|scrap|cancel)\b")
_GOES_ON = compile_late(
    r"(?:in|on|at|with|without|no|not|it|it['’]?s|he|she|they|there|the|make|only|just|more|less|near|by|from|add|use)\b",
    re.IGNORECASE,
)
"""Words with which a description goes on; who has had all forgotten begins with a thing."""


@lru_cache(maxsize=16_384)
def split_opening(text: str) -> tuple[Act, str] | None:
    """What a sentence does before it describes, and the description: "start over, a cat" are two turns; None: it does
    nothing before.

    >>> split_opening("new search: a red car")
    (Act(kind='restart', places=(), but='', turns=1), 'a red car')
    >>> split_opening("start over"), split_opening("clear, blue water"), split_opening("a new search party")
    (None, None, None)
    """
    said = " ".join(text.split())
    found = _FIRST.match(said)
    start = found.end() if found else 0
    lower = said.lower().replace("’", "'")
    for kind, phrases in _openings().items():
        for phrase in phrases:
            if lower.startswith(phrase, start) and (rest := _find_rest(said, start + len(phrase), kind, phrase)):
                forgets = kind == "undo" and _FORGETTING.match(phrase) and not _GOES_ON.match(rest)
                return Act("restart" if forgets else kind), rest
    return None


def _find_rest(said: str, end: int, kind: Kind, phrase: str) -> str:
    """What is described after a phrase that ends there; "" where the sentence goes on otherwise, or does more."""
    then = _THEN.match(said, end)
    if then is None and " " in phrase:
        then = _THEN_UNMARKED.match(said, end) or (_THEN_A_THING.match(said, end) if kind == "restart" else None)
    rest = said[then.end() :] if then else ""
    return rest if any(map(str.isalpha, rest)) and read_act(rest) is None else ""


@lru_cache(maxsize=1)
def _openings() -> Mapping[Kind, tuple[str, ...]]:
    """The phrases with which a sentence may begin that goes on, the longest first: none that may describe."""
    kinds: tuple[Kind, ...] = ("restart", "undo", "reject", "skip")
    found: dict[Kind, tuple[str, ...]] = {}
    for kind in kinds:
        phrases = [
            phrase
            for phrase in PHRASES[kind]
            if (" " in phrase or phrase in ("restart", "reset", "undo", "nevermind", "skip"))
            and (kind != "reject" or _OF_RESULTS.search(phrase))
        ]
        found[kind] = tuple(sorted(phrases, key=len, reverse=True))
    return found
