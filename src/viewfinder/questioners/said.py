"""Was it said already? Whole words, compared without their inflection."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

WORD = re.compile(r"[^\W_]+")

# Both sides are folded alike, so these only need to meet in one form.
IRREGULAR_STEMS = {
    "color": "colour",
    "gray": "grey",
    "men": "man",
    "women": "woman",
    "children": "child",
    "ran": "run",
    "swam": "swim",
    "sat": "sit",
    "ate": "eat",
    "rode": "rid",
}

# Words that say nothing of a value when they stand alone: "no stripes" is no answer to a yes-or-no column.
EMPTY_WORDS = """
a an the of in on at to or and yes no true false not none other others all any some something anything nothing
else unknown na y n it is
"""


def stem(word: str) -> str:
    """A word without its inflection; not always a word.

    >>> [stem(word) for word in ("Shirts", "dresses", "running", "striped", "colors")]
    ['shirt', 'dress', 'run', 'strip', 'colour']
    """
    folded = word.casefold()
    folded = IRREGULAR_STEMS.get(folded, folded)
    folded = _singular(folded)
    for ending in ("ing", "ed"):
        if folded.endswith(ending) and len(folded) > len(ending) + 2:
            folded = _undoubled(folded.removesuffix(ending))
            break
    if folded.endswith("e") and len(folded) > 3:
        folded = folded[:-1]
    return IRREGULAR_STEMS.get(folded, folded)


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "ches", "shes", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _undoubled(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls" else word


@lru_cache(maxsize=65_536)
def stems(text: str) -> tuple[str, ...]:
    """The words of a text without their inflection, in order; "T-Shirts" and "tshirt" meet."""
    return tuple(stem(word) for word in WORD.findall(re.sub(r"(?<=\bt)-(?=shirt)", "", text, flags=re.I)))


EMPTY = frozenset(stem(word) for word in EMPTY_WORDS.split())


def _means_little(word: str) -> bool:
    return word in EMPTY or len(word) == 1 or (word.isdigit() and len(word) < 3)


class PhraseIndex:
    """Everything that was said, ready to be asked "was this in it?"."""

    def __init__(self, texts: Iterable[str]) -> None:
        # One sentence's end and the next one's start are no phrase: a bar no word contains keeps them apart.
        self._line = " " + " | ".join(" ".join(stems(text)) for text in texts) + " "

    def names(self, phrase: str) -> bool:
        """Whether the words of `phrase`, in this order, were said.

        Never for empty words, single characters and numbers below 100, which mean too many things.

        >>> said = Said(["Two dogs in navy-blue shirts"])
        >>> [said.names(phrase) for phrase in ("a dog", "Navy Blue", "blue dog", "hot")]
        [True, True, False, False]
        """
        words = stems(phrase)
        while words and words[0] in EMPTY:
            words = words[1:]
        if not words or all(_means_little(word) for word in words):
            return False
        return f" {' '.join(words)} " in self._line
