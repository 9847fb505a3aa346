"""Which questions ask for the same: by their words, without courtesies and the ways of putting it."""

from __future__ import annotations

import re
from functools import lru_cache

from viewfinder.questioners.said import stem

_PHRASES = re.compile(
    r"\b(?:(?:in|on|of|at) (?:the|this) (?:picture|photo|photograph|image|scene)"
    r"|(?:can|could|do|did) (?:you|we|i) (?:see|count|spot|find|tell(?: me)?(?: if| whether| what)?)"
    r"|are you able to see|is there|are there|does it (?:show|contain)|please|right now|i'd say)\b"
)
BARE_WORDS = """
a an the any some is are was were be do does did you we there if so ok okay please exactly visible present
shown
"""
_BARE = frozenset(BARE_WORDS.split())
_OPEN = re.compile(r"(?:and )?(?:what|which|how|where|who|whose|why|when)\b")
_ALIKE = {"which": "what", "people": "person"}


@lru_cache(maxsize=1 << 16)
def question_meaning(question: str) -> tuple[str, ...]:
    """A key that paraphrases share: whether it is open or asks for yes or no, then the words that carry it, as stems.

    >>> meaning("Is there a wallet?") == meaning("can you see any wallets in the picture?")
    True
    >>> meaning("which colour is the bag?") == meaning("what is the colour of the bag?")
    True
    >>> meaning("is the dog left of the cat?") == meaning("is the cat left of the dog?")
    False
    """
    folded = " ".join(question.casefold().replace("’", "'").split())
    kind = "open" if _OPEN.match(folded) else "choice" if " or " in folded else "yes or no"
    words = re.findall(r"[^\W_]+", _PHRASES.sub(" ", folded))
    carried = [stem(_ALIKE.get(word, word)) for word in words if word not in _BARE]
    if "colour" in carried and kind == "open":
        carried = ["colour", *(word for word in carried if word not in {"colour", "what", "of", "have"})]
    return (kind, *(word for word in carried if word))
