"""Texts as MAI reads them, in training and at search alike: modifications, words, pieces of a tokeniser. No torch here.

Axes: c texts, m pieces of a text at most, l places (the first word or piece, a text's own, the last piece), v pieces
of the tokeniser, p positions, h width of a place, s width of a word vector.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float32, Int

from viewfinder.query import SentenceEncoder
from viewfinder.retrievers.mai.settings import Model, TextForm
from viewfinder.retrievers.shared.numpy_network import NO_WORD, WordLookup, numpy_linear
from viewfinder.weights import Weights
from viewfinder.wording.modifications import split_modification


def modification_text(modification: str, form: TextForm = "whole") -> str:
    """A modification without the numbers of its clauses; back references are kept word for word.

    "official" is the published form of a test: the first and the last clause alone. A text without numbers is read
    unchanged (published: as nothing).

    >>> modification_text("I prefer the FIRST, and 1. is red 2. has a 3 inch heel ")
    'I prefer the FIRST, and is red, has a 3 inch heel'
    >>> modification_text("I prefer the FIRST, and 1. is red 2. is plain 3. has a 3 inch heel ", "official")
    'is red and has a 3 inch heel'
    """
    if form == "official":
        _, *clauses = re.split(r"\d+\.\s", modification)
        clauses = [clause.strip() for clause in clauses if clause.strip()]
        return " and ".join(clauses[:1] + clauses[1:][-1:]) or modification.strip()
    read = split_modification(modification)
    return " ".join(part for part in (read.lead, ", ".join(read.clauses)) if part)


def draw_clauses(modification: str, rng: np.random.Generator) -> str:
    """The published form in training: two clauses in any order; if there is a fourth, another one and the last.

    A clause ends at any digit, so that "has a 3 inch heel" is read as "has a"; with fewer than two clauses all is read.
    """
    clauses = [clause.replace(".", "").strip() for clause in re.findall(r"\d\.\s*([^\d]+)", modification)]
    if len(clauses) < 2:
        return modification.strip()
    if "4." in modification:
        return f"{clauses[rng.integers(len(clauses) - 1)]} and {clauses[-1]}"
    first, second = rng.permutation(len(clauses))[:2]
    return f"{clauses[first]} and {clauses[second]}"


DROPPED = '.!"()*#:;~'
"""Characters that are read as spaces, as published; "FIRST:" is read as "first"."""

_BLANKS = str.maketrans(DROPPED, " " * len(DROPPED))


@dataclass(frozen=True)
class SavedTokeniser:
    """A tokeniser as stored on a card.

    Attributes:
        first, last: the numbers of the pieces before and after every text ([CLS], [SEP]), counted from 0 as in its
            library.
    """

    json: str = field(repr=False)  # the whole tokenizer.json
    first: int
    last: int


class PieceTokenizer:
    """Splits texts into pieces, numbered from 1, and takes as many of a text as are read."""

    def __init__(self, tokeniser: SavedTokeniser, most: int, words: int = 0) -> None:
        """`most`: how many pieces of a text are read, without the added first and last one; `words`: how many words.

        The first ones are taken; 0 words: all.
        """
        from tokenizers import Tokenizer

        self.most, self.words = most, words
        self._tokeniser: Any = Tokenizer.from_str(tokeniser.json)
        self._tokeniser.no_padding()
        self._tokeniser.no_truncation()

    @property
    def count(self) -> int:
        """v, how many pieces there are."""
        return 1 + max(map(int, self._tokeniser.get_vocab().values()))

    @property
    def trained(self) -> int:
        """How many of them the tokeniser was trained with; others were added, such as a picture's place in a text."""
        return int(self._tokeniser.get_vocab_size(with_added_tokens=False))

    def numbers(self, texts: Sequence[str]) -> Int[np.ndarray, "c {self.most}"]:
        """The numbers of the pieces of texts, `NO_WORD` after the last; a first and a last one are not added."""
        table_cm = np.full((len(texts), self.most), NO_WORD)
        found = self._tokeniser.encode_batch([self._clean_text(text)[0] for text in texts], add_special_tokens=False)
        for row_m, one in zip(table_cm, found, strict=True):
            read = one.ids[: self.most]
            row_m[: len(read)] = np.array(read, np.int64) + 1
        return table_cm

    def beyond(self, text: str) -> str:
        """The part of a text that is too long to be read."""
        text, cut = self._clean_text(text)
        starts = [start for start, _ in self._tokeniser.encode(text, add_special_tokens=False).offsets[self.most :]]
        return f"{text[starts[0] :] if starts else ''} {cut}".strip()

    def _clean_text(self, text: str) -> tuple[str, str]:
        """The cut text, and the words after those that are read."""
        words = clean_text(text).split()
        if not 0 < self.words < len(words):
            return clean_text(text), ""
        return " ".join(words[: self.words]), " ".join(words[self.words :])


class PieceTextReader:
    """`inputs.PieceInput` without torch: the places of texts."""

    def __init__(self, weights: Weights, settings: Model) -> None:
        tokeniser = SavedTokeniser(**weights.card.settings["tokeniser"])
        self._pieces = PieceTokenizer(tokeniser, settings.most_words, settings.clean_words)
        self._ends = tokeniser.first, tokeniser.last
        self._pieces_vh: Float32[np.ndarray, "v h"] = weights.arrays["text.pieces.weight"]
        self._positions_ph: Float32[np.ndarray, "p h"] = weights.arrays["text.positions"]

    def read(self, text: str, sentences: SentenceEncoder | None) -> tuple[Float32[np.ndarray, "l h"], tuple[str, ...]]:
        """The places of a text, and what to report if its end is cut; sentence vectors are not read."""
        first, last = self._ends
        [row_m] = self._pieces.numbers([text])
        numbers = [first, *(row_m[row_m != NO_WORD] - 1), last]
        places_lh = self._pieces_vh[numbers] + self._positions_ph[: len(numbers)]
        beyond = self._pieces.beyond(text)
        line = f'drop: the first {self._pieces.most} pieces of a turn are read, not "{beyond}"'
        return np.asarray(places_lh, np.float32), (line,) if beyond else ()


def clean_text(text: str) -> str:
    """A text cleaned for reading: in lower case, without meaningless characters.

    >>> clean_text("keep the FIRST's collar. (it is red)")
    "keep the first's collar   it is red"
    """
    return text.lower().translate(_BLANKS).strip()


class WordTextReader:
    """`inputs.WordInput` without torch: a first place, then the words that are known."""

    def __init__(self, weights: Weights, settings: Model) -> None:
        self._arrays = weights.arrays
        tables = {name.removeprefix("text."): table for name, table in weights.arrays.items() if "text.words" in name}
        self._words = WordLookup(tables, weights.card, by_encoder=settings.words == "encoder", most=settings.most_words)

    def read(self, text: str, sentences: SentenceEncoder | None) -> tuple[Float32[np.ndarray, "l h"], tuple[str, ...]]:
        """The places of a text, and what to report of words that are not read.

        Raises:
            EncoderMismatch: the session's sentence vectors are not those of the training.
        """
        places_lh = self._arrays["text.first"][None]
        told: tuple[str, ...] = ()
        if text:
            words_ls, told = self._words.read(text, sentences)
            places_lh = np.concatenate([places_lh, numpy_linear(self._arrays, "text.word", words_ls)])
        positions_ph = self._arrays["text.positions"]
        at_l = np.minimum(np.arange(len(places_lh)), len(positions_ph) - 1)  # later places share the last position
        return np.asarray(places_lh + positions_ph[at_l], np.float32), told


TextReader = PieceTextReader | WordTextReader


def make_text_reader(weights: Weights, settings: Model) -> TextReader:
    """The reader of texts for these weights."""
    return PieceTextReader(weights, settings) if settings.words == "pieces" else WordTextReader(weights, settings)
