"""The colours that a text gives to things."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from viewfinder.wording.stems import fold_words

MAX_WORDS_BEFORE = 4
"""Words before a thing among which its colour may stand: "a black and white striped shirt"."""

BETWEEN_COLOUR_AND_THING = fold_words("and short long sleeved haired striped large small big young little t shirt")


def find_colours_of(words: Sequence[str], things: Collection[str], colour_of: Mapping[str, str]) -> Iterator[str]:
    """The colours that stand before any of the `things`, all words as stems; `colour_of`: the words for colours.

    >>> [*find_colours_of(["black", "and", "white", "dog", "on", "red", "car"], {"dog"}, {"black": "B", "white": "W"})]
    ['W', 'B']
    """
    for at, word in enumerate(words):
        if word in things:
            for before in reversed(words[max(at - MAX_WORDS_BEFORE, 0) : at]):
                if before in colour_of:
                    yield colour_of[before]
                elif before not in BETWEEN_COLOUR_AND_THING:
                    break
