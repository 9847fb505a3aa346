"""How questions begin, and what makes two of them the same."""

from __future__ import annotations

import re
from functools import lru_cache

from viewfinder.wording.stems import WORD, stem, stems
from viewfinder.wording.stop_words import COURTESIES, PARAPHRASE_FILLERS

_OPENER_WORDS = """
what what's which who who's whose whom where where's when why how is are was were am do does did can could has have
had will would should may might isn't aren't wasn't weren't doesn't don't didn't hasn't haven't
"""
QUESTION_OPENERS = frozenset(_OPENER_WORDS.split())
"""Words with which a question begins."""

_WHICH = stem("which")

_GENITIVE = re.compile(r"['’]s\b", re.IGNORECASE)


def question_gist(question: str) -> frozenset[str]:
    """The stems that tell a question from others, in no order; all its stems where none does.

    >>> [sorted(question_gist(text)) for text in ("Could you tell me which hat the man has?", "What colour is it?")]
    [['has', 'hat', 'man', 'what'], ['colour']]
    >>> question_gist("Is there a dog?") == question_gist("Can you see any dogs in the picture?")
    True
    """
    words = frozenset("what" if word == _WHICH else word for word in stems(_GENITIVE.sub("", question)))
    telling = words - COURTESIES
    # The colour of the dog is asked for with "what" or without.
    return (telling - {"what"} if "colour" in telling else telling) or words or frozenset(question.split())


_PHRASES = re.compile(
    r"\b(?:(?:in|on|of|at) (?:the|this) (?:picture|photo|photograph|image|scene)"
    r"|(?:can|could|do|did) (?:you|we|i) (?:see|count|spot|find|tell(?: me)?(?: if| whether| what)?)"
    r"|are you able to see|is there|are there|does it (?:show|contain)|please|right now|i'd say)\b"
)

_OPEN = re.compile(r"(?:and )?(?:what|which|how|where|who|whose|why|when)\b")

_ALIKE = {"which": "what", "people": "person"}


@lru_cache(maxsize=1 << 16)
def question_meaning(question: str) -> tuple[str, ...]:
    """A key that paraphrases share: whether it is open or asks for yes or no, then the words that carry it, as stems.

    >>> question_meaning("Is there a wallet?") == question_meaning("can you see any wallets in the picture?")
    True
    >>> question_meaning("which colour is the bag?") == question_meaning("what is the colour of the bag?")
    True
    >>> question_meaning("is the dog left of the cat?") == question_meaning("is the cat left of the dog?")
    False
    """
    folded = " ".join(question.casefold().replace("’", "'").split())
    kind = "open" if _OPEN.match(folded) else "choice" if " or " in folded else "yes or no"
    words = WORD.findall(_PHRASES.sub(" ", folded))
    carried = [stem(_ALIKE.get(word, word)) for word in words if word not in PARAPHRASE_FILLERS]
    if "colour" in carried and kind == "open":
        carried = ["colour", *(word for word in carried if word not in {"colour", "what", "of", "have"})]
    return (kind, *(word for word in carried if word))
