"""`text` without torch: a text as the places that a Q-Former reads.

Axes: l places (the first, then words), s numbers of a word's vector, h numbers of a place.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32

from viewfinder.retrievers.base import SentenceEncoder
from viewfinder.retrievers.mai.pieces import PieceTextReader
from viewfinder.retrievers.mai.settings import Model
from viewfinder.retrievers.shared.numpy_network import WordLookup, numpy_linear
from viewfinder.training.weights import Weights


@runtime_checkable
class TextReader(Protocol):
    """Reads texts."""

    def read(self, text: str, sentences: SentenceEncoder | None) -> tuple[Float32[np.ndarray, "l h"], tuple[str, ...]]:
        """The places of a text, and what to tell of words that are not read.

        Raises:
            EncoderMismatch: the session's sentence vectors are not those of the training.
        """
        ...


class WordTextReader:
    """`text.TextInput`: a first place, then the words that are known."""

    def __init__(self, weights: Weights, settings: Model) -> None:
        self._arrays = weights.arrays
        tables = {name.removeprefix("text."): table for name, table in weights.arrays.items() if "text.words" in name}
        self._words = WordLookup(tables, settings, weights.card)

    def read(self, text: str, sentences: SentenceEncoder | None) -> tuple[Float32[np.ndarray, "l h"], tuple[str, ...]]:
        """See `Texts`."""
        places_lh = self._arrays["text.first"][None]
        told: tuple[str, ...] = ()
        if text:
            words_ls, told = self._words.read(text, sentences)
            places_lh = np.concatenate([places_lh, numpy_linear(self._arrays, "text.word", words_ls)])
        return add_positions(places_lh, self._arrays["text.positions"]), told


def add_positions(
    places_lh: Float32[np.ndarray, "l h"], positions_ph: Float32[np.ndarray, "p h"]
) -> Float32[np.ndarray, "l h"]:
    """Places as they stand; beyond the last position that is known, all stand there."""
    at_l = np.minimum(np.arange(len(places_lh)), len(positions_ph) - 1)
    return np.asarray(places_lh + positions_ph[at_l], np.float32)


def make_text_reader(weights: Weights, settings: Model) -> TextReader:
    """What reads the texts of these weights."""
    return PieceTextReader(weights, settings) if settings.words == "pieces" else WordTextReader(weights, settings)
