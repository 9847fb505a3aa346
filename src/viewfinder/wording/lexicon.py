"""The words of English: those of a list of 82,765 with how often books have them, which symspellpy brings."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

LIST_NAME = "frequency_dictionary_en_82_765.txt"
"""The list in the package symspellpy: a word and a count a line. Its index for corrections takes a second to make, so
only the list is read (80 ms, once)."""


@lru_cache(maxsize=1)
def load_english_words() -> frozenset[str]:
    """English words in lower case, in British spelling. Raises FileNotFoundError: the package has no such list."""
    found = find_spec("symspellpy")  # importing it would load its index
    folders = () if found is None else found.submodule_search_locations or ()
    for folder in folders:
        return frozenset(Path(folder, LIST_NAME).read_text(encoding="utf-8-sig").split()[::2])
    raise FileNotFoundError(f"{LIST_NAME} of the package symspellpy is missing: install viewfinder again")


def is_english_word(word: str) -> bool:
    """Whether a word in lower case is English, in British or American spelling.

    >>> [is_english_word(word) for word in ("sled", "colored", "bycicle")]
    [True, True, False]
    """
    words = load_english_words()
    return word in words or word.replace("or", "our") in words or word.replace("gray", "grey") in words
