"""Texts to vectors of their words at search, as `word_vectors` gives them in training. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32

from viewfinder.retrievers.base import SentenceEncoder
from viewfinder.retrievers.shared.forward import Arrays, check_sentences
from viewfinder.retrievers.shared.words import split_words
from viewfinder.training.weights import Card


@runtime_checkable
class ReadWords(Protocol):
    """What a system's settings say of words: whose vectors they are, and how many of a turn are read."""

    @property
    def words(self) -> str:
        """Whose vectors: "encoder" or those of a table in the weights."""
        ...

    @property
    def most_words(self) -> int:
        """How many of a text are read."""
        ...


class WordLookup:
    """Texts to vectors of their words: of the session's encoder, which knows any word, or of a table in the weights."""

    def __init__(self, arrays: Arrays, settings: ReadWords, card: Card) -> None:
        self._most = settings.most_words
        self._version = str(card.settings["sentences_version"])
        self._by_encoder = settings.words == "encoder"
        self._table_vs: Float32[np.ndarray, "v s"] = arrays.get("words.table", np.zeros((1, 0), np.float32))
        # Weights without a table read no words at all: then none is known.
        vocabulary = card.settings["vocabulary"] if "words.table" in arrays else ()
        self._row = {word: row for row, word in enumerate(vocabulary, start=1)}

    def read(self, text: str, sentences: SentenceEncoder | None) -> tuple[Float32[np.ndarray, "l s"], tuple[str, ...]]:
        """The vectors of the words that are read, and what to tell of the others.

        Raises:
            EncoderMismatch: the session's sentence vectors are not those of the training.
        """
        words = split_words(text)
        known = [word for word in words if self._by_encoder or word in self._row]
        told = note_words("drop: these weights do not know {}", [word for word in words if word not in known])
        told += note_words(f"drop: the first {self._most} words of a turn are read, not {{}}", known[self._most :])
        read = known[: self._most]
        if self._by_encoder:
            vectors_ls = check_sentences(sentences, self._version).encode(read)
        else:
            vectors_ls = self._table_vs[[self._row[word] for word in read]]
        return np.asarray(vectors_ls, np.float32), told


def note_words(line: str, words: Sequence[str]) -> tuple[str, ...]:
    """The line with these words in it; none where there are none."""
    return (line.format(", ".join(f'"{word}"' for word in words)),) if words else ()
