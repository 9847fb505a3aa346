"""Words that hold for many pictures of a collection: what tuning teaches one by one, besides whole captions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool

from viewfinder.encoders.starter import StarterEncoder
from viewfinder.encoders.starter.fit import CaptionedVectors

LABEL_SHARE = (0.002, 0.5)
"""A word is a label if it holds for at least and at most this share of the pictures ..."""

LABEL_LEAST = 10
"""... and for at least so many: a word of two pictures is no kind of thing (small collections: a third of them)."""

_LITTLE_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        the and with for from into onto out off over under near next its his her their this that these those are was
        were has have had one two three who which what while there here some any all other another each very being
        been but not him she they them you your our through around behind front top down along across
        """,
    )
)
"""Words that say nothing about a picture on their own."""


def with_labels(
    kind: CaptionedVectors, encoder: StarterEncoder, said: Sequence[tuple[Sequence[str], Sequence[str]]]
) -> CaptionedVectors:
    """The kind with the words that hold for many of its pictures, for `said` as in `labels_of`."""
    labels, holds_nl = labels_of(said)
    if not labels:
        return kind
    return replace(kind, labels=tuple(labels), labels_ls=encoder.sentences(labels), holds_nl=holds_nl)


def labels_of(
    said: Sequence[tuple[Sequence[str], Sequence[str]]],
) -> tuple[list[str], Bool[np.ndarray, "n l"]]:
    """Words of texts, and whole catalogue values, that hold for a fair share of the pictures.

    They teach the head what single words such as colours mean, which whole names alone do not.

    >>> labels_of([(["Red shirt"], ["Men"]), (["Red dress"], ["Women"]), (["Blue hat"], ["Men"])])[0]
    ['blue', 'dress', 'hat', 'shirt', 'women']
    """
    words_n = [
        ({word for text in texts for word in re.findall(r"[^\W\d_]{3,}", text.lower())} - _LITTLE_WORDS)
        | {value.lower() for value in values}
        for texts, values in said
    ]
    count = Counter(word for words in words_n for word in words)
    least = max(LABEL_SHARE[0] * len(said), min(LABEL_LEAST, len(said) / 3))
    most = LABEL_SHARE[1] * len(said)
    labels = sorted(word for word, held in count.items() if least <= held <= most)
    holds_nl = np.array([[label in words for label in labels] for words in words_n], dtype=bool)
    return labels, holds_nl.reshape(len(said), len(labels))
