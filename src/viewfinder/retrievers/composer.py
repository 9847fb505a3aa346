"""The composer: the training-free retriever every library starts with.

Each turn becomes weighted parts of one query; a picture's score is the weighted sum of its likeness to the parts, so
every turn's share of a score can be shown. What is said stays; a picked picture replaces the one picked before it;
what is rejected counts against. With a "but ...", the picture counts less where the words speak, and what the words
replace (its colour, when another colour is asked for) is subtracted.

The rows CLIP-t, CLIP-i and CLIP-ti of the ChatSearch paper (Table 2) are named modes of the same code:
text of the whole talk, the last picture only, and the mean of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from viewfinder.conversation import Answer, Keep, Like, PictureId, Reject, Say, Show, is_dont_know
from viewfinder.encoders.tags import value_words
from viewfinder.retrievers.base import Part, Picture, Query, ResolvedTurn
from viewfinder.retrievers.clauses import Clauses, split


@dataclass(frozen=True, kw_only=True)
class ComposerSettings:
    """Weights of the parts, relative to one description; chosen on training photos and products (docs/benchmarks.md)."""

    picture: float = 1.0
    picture_with_words: float = 1.0
    words_with_picture: float = 1.0
    replaced: float = 0.5
    kept: float = 0.6
    known_value: float = 0.3  # for a catalogue column, where likeness is 1 or 0
    rejected_picture: float = 0.3
    unwanted: float = 0.5
    background: float = 1.0  # of the text parts' weight


@dataclass(frozen=True)
class ComposerState:
    """The parts so far, in the order of the turns, and the pictures that must not come back."""

    parts: tuple[Part, ...] = ()
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()
