"""Whether a phrase was said, in whatever inflection."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from viewfinder.wording.stems import singular_words, stems
from viewfinder.wording.stop_words import ALONE_WITHOUT_VALUE


@lru_cache(maxsize=65_536)  # the same values and phrases are looked for at every turn
def fold_phrase(phrase: str) -> str:
    """A phrase as it is looked for: its stems between blanks; "" where it means too many things to be looked for.

    These are empty words, single characters and numbers below 100.
    """
    words = stems(phrase)
    while words and words[0] in ALONE_WITHOUT_VALUE:
        words = words[1:]
    if all(word in ALONE_WITHOUT_VALUE or len(word) == 1 or (word.isdigit() and len(word) < 3) for word in words):
        return ""
    return f" {' '.join(words)} "


class PhraseIndex:
    """An index of texts that tells whether a phrase occurs in them."""

    def __init__(self, texts: Iterable[str]) -> None:
        # One sentence's end and the next one's start are no phrase: a bar no word contains keeps them apart.
        self._line = " " + " | ".join(" ".join(stems(text)) for text in texts) + " "

    def contains(self, phrase: str) -> bool:
        """Whether the words of `phrase`, in this order, were said; never for one that `fold_phrase` leaves out.

        >>> said = PhraseIndex(["Two dogs in navy-blue shirts"])
        >>> [said.contains(phrase) for phrase in ("a dog", "Navy Blue", "blue dog", "hot")]
        [True, True, False, False]
        """
        folded = fold_phrase(phrase)
        return bool(folded) and folded in self._line

    def find(self, phrases: Iterable[str]) -> frozenset[str]:
        """The phrases that were said.

        >>> sorted(PhraseIndex(["a dog on grass", "two cats"]).find(["cat", "grass", "grass two"]))
        ['cat', 'grass']
        """
        return frozenset(phrase for phrase in phrases if (folded := fold_phrase(phrase)) and folded in self._line)


def contains_phrase(text: str, phrase: str) -> bool:
    """Whether the words of `phrase` stand in `text`, adjacent and in order, plural or not; unlike in a `PhraseIndex`,
    no other inflection matters and every word counts.

    >>> contains_phrase("a bright room with dogs", "dog"), contains_phrase("bright daylight", "light")
    (True, False)
    """
    inside, wanted = singular_words(text), singular_words(phrase)
    return bool(wanted) and any(inside[at : at + len(wanted)] == wanted for at in range(len(inside)))
