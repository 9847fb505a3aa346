"""Whether what was said answers a question already."""

from __future__ import annotations

import re
from collections.abc import Collection

from viewfinder.wording.patterns import compile_late
from viewfinder.wording.phrases import PhraseIndex
from viewfinder.wording.questions import question_gist

_ASKS_WHETHER_THERE = compile_late(
    r"(?:(?:is|are|was|were) there|(?:do|can|could) you see)\s+(?:an?|any|some|the)?\s*(.+)", re.IGNORECASE
)
_ASKS_COLOUR = compile_late(r"(?:what|which) colou?rs? (?:is|are) (?:the|his|her|their|its)?\s*(.+)", re.IGNORECASE)
_ASKS_QUALITY = compile_late(r"(?:is|are) (?:the|his|her|their) ([\w'’-]+) ([\w'’-]+)", re.IGNORECASE)
_ASKS_OF_PICTURE = compile_late(r"(?:is|are|was|were)\s+(?:it|this|that|they|these|those)\b", re.IGNORECASE)
_IN_PICTURE = compile_late(
    r"\s*,?\s*(?:visible\s*)?(?:in|on|of)\s+(?:the|this|that)\s+(?:picture|image|photo|scene)\b", re.IGNORECASE
)


def is_answered(question: str, said: PhraseIndex, colours: Collection[str]) -> bool:
    """Whether a plain question ("is there an X?", "is the X Y?", "what colour is the X?") is answered by what was said.

    >>> said = PhraseIndex(["a brown dog"])
    >>> [is_answered(text, said, ["brown"]) for text in ("Is there a dog?", "What colour is the dog?", "Is it big?")]
    [True, True, False]
    """
    asked = _IN_PICTURE.sub("", question.strip().rstrip("?").strip())
    if found := _ASKS_WHETHER_THERE.fullmatch(asked):
        return said.contains(found[1])
    if found := _ASKS_COLOUR.fullmatch(asked):
        return any(said.contains(f"{colour} {found[1]}") for colour in colours)
    if found := _ASKS_QUALITY.fullmatch(asked):
        return said.contains(f"{found[2]} {found[1]}")
    if not _ASKS_OF_PICTURE.match(asked):
        return False
    about = question_gist(asked)
    return len(about) == 1 and said.contains(next(iter(about)))
