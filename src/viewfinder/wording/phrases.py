"""Whether a phrase was said, in whatever inflection."""

from __future__ import annotations

from collections.abc import Iterable

from viewfinder.wording.stems import fold_words, singular_words, stems

# Words that say nothing of a value when they stand alone: "no stripes" is no answer to a yes-or-no column.
EMPTY_WORDS = """
a an the of in on at to or and yes no true false not none other others all any some something anything nothing else
unknown na y n it is
"""


EMPTY = fold_words(EMPTY_WORDS)


class PhraseIndex:
    """Everything that was said, ready to be asked "was this in it?"."""

    def __init__(self, texts: Iterable[str]) -> None:
        # One sentence's end and the next one's start are no phrase: a bar no word contains keeps them apart.
        self._line = " " + " | ".join(" ".join(stems(text)) for text in texts) + " "

    def contains(self, phrase: str) -> bool:
        """Whether the words of `phrase`, in this order, were said.

        Never for empty words, single characters and numbers below 100, which mean too many things.

        >>> said = PhraseIndex(["Two dogs in navy-blue shirts"])
        >>> [said.contains(phrase) for phrase in ("a dog", "Navy Blue", "blue dog", "hot")]
        [True, True, False, False]
        """
        words = stems(phrase)
        while words and words[0] in EMPTY:
            words = words[1:]
        if all(word in EMPTY or len(word) == 1 or (word.isdigit() and len(word) < 3) for word in words):
            return False
        return f" {' '.join(words)} " in self._line


def contains_phrase(text: str, phrase: str) -> bool:
    """Whether the words of `phrase` stand in `text`, adjacent and in order, plural or not; unlike in a `PhraseIndex`,
    no other inflection matters and every word counts.

    >>> contains_phrase("a bright room with dogs", "dog"), contains_phrase("bright daylight", "light")
    (True, False)
    """
    inside, wanted = singular_words(text), singular_words(phrase)
    return bool(wanted) and any(inside[at : at + len(wanted)] == wanted for at in range(len(inside)))
