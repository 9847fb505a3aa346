"""Words without their inflection, so that two forms of one word meet."""

from __future__ import annotations

import re
from functools import lru_cache


def singular_of_word(word: str) -> str:
    """A word in lower case without its plural s, judged by its ending alone: for comparing, not for display.

    >>> [singular_of_word(word) for word in ("dresses", "puppies", "cars", "bus", "glass")]
    ['dress', 'puppy', 'car', 'bus', 'glass']
    """
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "ches", "shes", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word


WORD = re.compile(r"[^\W_]+")

# Both sides are folded alike, so these only need to meet in one form.
IRREGULAR_STEMS = {
    "color": "colour", "gray": "grey", "men": "man", "women": "woman", "children": "child",
    "ran": "run", "swam": "swim", "sat": "sit", "ate": "eat", "rode": "rid",
}  # fmt: skip


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A word without its inflection; not always a word.

    >>> [stem(word) for word in ("Shirts", "dresses", "running", "striped", "colors")]
    ['shirt', 'dress', 'run', 'strip', 'colour']
    """
    folded = word.casefold()
    folded = singular_of_word(IRREGULAR_STEMS.get(folded, folded))
    for ending in ("ing", "ed"):  # at most one of them, and never one that leaves only two letters
        if folded.endswith(ending) and len(folded) > len(ending) + 2:
            folded = folded.removesuffix(ending)
            # "running" is "run"; "calling" and "passing" keep both letters.
            if len(folded) > 3 and folded[-1] == folded[-2] and folded[-1] not in "aeiouls":
                folded = folded[:-1]
            break
    if folded.endswith("e") and len(folded) > 3:
        folded = folded[:-1]
    return IRREGULAR_STEMS.get(folded, folded)


@lru_cache(maxsize=65_536)
def stems(text: str) -> tuple[str, ...]:
    """The words of a text without their inflection, in order; "T-Shirts" and "tshirt" meet."""
    return tuple(stem(word) for word in WORD.findall(re.sub(r"(?<=\bt)-(?=shirt)", "", text, flags=re.I)))


def fold_words(words: str) -> frozenset[str]:
    """The stems of words, parted by blanks."""
    return frozenset(stem(word) for word in words.split())


def singular_words(text: str) -> tuple[str, ...]:
    """The words of a text in lower case without their plural s; hyphens separate words.

    >>> singular_words("Long-sleeved T-Shirts")
    ('long', 'sleeved', 't', 'shirt')
    """
    return tuple(singular_of_word(word) for word in WORD.findall(text.lower()))
