"""Vectors of words: frozen ones of the session's encoder or of GloVe, or learnt ones. In torch.

Axes: v words of the vocabulary, s numbers of a word's vector, b talks, c texts, l words of a turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor, nn
from torch.nn.functional import embedding

from viewfinder.errors import BadInput
from viewfinder.retrievers.shared.sentences import SentenceVectors
from viewfinder.retrievers.shared.words import NO_WORD, split_words


@runtime_checkable
class WordSettings(Protocol):
    """What a system's settings say of words."""

    @property
    def words(self) -> str:
        """Frozen vectors of the session's "encoder" (a word as a sentence), of "glove", or "learned" ones."""
        ...

    @property
    def glove(self) -> str:
        """The file of "glove"."""
        ...

    @property
    def word_width(self) -> int:
        """Numbers of a learned vector."""
        ...


@dataclass(frozen=True)
class WordNumbers:
    """The words that a network knows, the first of which has the number 1, and how many of a text it reads."""

    vocabulary: tuple[str, ...]
    most: int

    def __call__(self, texts: Sequence[str]) -> Int[Tensor, "c {self.most}"]:
        """The numbers of the words of texts, `NOTHING` after the last; words that are not known are left out."""
        table_cl = np.full((len(texts), self.most), NO_WORD)
        for row_l, text in zip(table_cl, texts, strict=True):
            known = [number for word in split_words(text) if (number := self._numbers.get(word))][: self.most]
            row_l[: len(known)] = known
        return torch.from_numpy(table_cl)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.vocabulary, start=1)}


class WordVectors(nn.Module):
    """The table of words by their numbers; the row of `NOTHING` is zeros and stays so.

    The table of an encoder is not saved with a network: a search has the encoder, and asks it.
    """

    table: Float[Tensor, "v+1 s"]

    def __init__(self, settings: WordSettings, table_vs: Float[Tensor, "v s"] | None, vocabulary_size: int) -> None:
        """`table_vs`: the vectors of the vocabulary, in its order, where they are frozen; else None."""
        super().__init__()
        if settings.words == "learned":
            rows_vs = torch.randn(vocabulary_size, settings.word_width)
        elif table_vs is None or len(table_vs) != vocabulary_size:
            raise ValueError(f"frozen words ({settings.words!r}) need a table of {vocabulary_size} vectors")
        else:
            rows_vs = table_vs.half() if settings.words == "glove" else table_vs.float()
        table_ws = torch.cat([rows_vs.new_zeros(1, rows_vs.shape[1]), rows_vs])
        if settings.words == "learned":
            self.table = nn.Parameter(table_ws)
        else:
            self.register_buffer("table", table_ws, persistent=settings.words == "glove")

    @property
    def width(self) -> int:
        """s, the numbers of a vector."""
        return self.table.shape[1]

    def forward(self, words_bl: Int[Tensor, "b l"]) -> Float[Tensor, "b l s"]:
        """The vectors of words by their numbers."""
        return embedding(words_bl, self.table, padding_idx=NO_WORD).float()


def read_word_table(
    settings: WordSettings, vocabulary: Sequence[str], sentences: Callable[[Sequence[str]], SentenceVectors]
) -> tuple[Float[Tensor, "v s"] | None, str]:
    """The frozen vectors of a vocabulary, and the version of the sentence vectors they are, "" where they are none.

    Raises:
        BadInput: there is no such file of GloVe, or it is damaged.
    """
    if settings.words == "learned":
        return None, ""
    if settings.words == "glove":
        return torch.from_numpy(read_glove(Path(settings.glove), vocabulary)), ""
    known = sentences(vocabulary)
    return torch.from_numpy(known.matrix_ns[known.rows(vocabulary)].astype(np.float32)), known.version


def read_glove(file: Path, vocabulary: Sequence[str]) -> Float32[np.ndarray, "v s"]:
    """The vectors of words from a file with a word and its numbers a line, parted by blanks.

    A word that the file does not have gets the mean of all of its vectors (published).

    Raises:
        BadInput: no such file, or a line with other numbers than the first one has (it is named).
    """
    if not file.is_file():
        raise BadInput(f"{file}: no such file; fetch GloVe's vectors, or choose words 'encoder' or 'learned'")
    row_of = {word: row for row, word in enumerate(vocabulary)}
    found: dict[int, Float32[np.ndarray, " s"]] = {}
    total_s, count = np.zeros(0), 0
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            word, _, numbers = line.rstrip("\n").partition(" ")
            vector_s = _numbers(file, number, numbers, total_s.size)
            total_s, count = vector_s + (total_s if count else 0.0), count + 1
            if word in row_of:
                found[row_of[word]] = vector_s.astype(np.float32)
    if not count:
        raise BadInput(f"{file}: is empty; fetch GloVe's vectors again")
    table_vs = np.tile((total_s / count).astype(np.float32), (len(vocabulary), 1))
    for row, vector_s in found.items():
        table_vs[row] = vector_s
    return table_vs


def _numbers(file: Path, number: int, text: str, width: int) -> Float[np.ndarray, " s"]:
    """The numbers of a line; `width` is how many there must be, 0 where that is not known yet."""
    try:
        vector_s = np.array(text.split(), np.float64)
    except ValueError:
        vector_s = np.zeros(0)
    if not vector_s.size or (width and vector_s.size != width):
        raise BadInput(f"{file}, line {number}: a word and {width or 'some'} numbers are needed; fetch the file again")
    return vector_s
