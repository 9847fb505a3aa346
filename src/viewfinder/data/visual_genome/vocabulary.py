"""The words that Drill-down knows, and sentences as their numbers.

Words are counted over the region descriptions of all pictures; those that are frequent enough are numbered in
the order in which they first occur, after four special ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from viewfinder.data.pickles import PickledVocabulary, read_pickle
from viewfinder.errors import BadInput

PAD, START, END, UNKNOWN = "<pad>", "<start>", "<end>", "<unk>"
SPECIAL = (PAD, START, END, UNKNOWN)

FEWEST_IN_CODE = 10
"""How often a word must occur: the published code says 10 times or more."""


@dataclass(frozen=True)
class Vocabulary:
    """Words by their numbers: `words[i]` has number i, the first four are `SPECIAL`."""

    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Number by word."""
        return {word: number for number, word in enumerate(self.words)}

    def encode(self, sentence: str) -> list[int]:
        """Numbers of the words of a sentence (unknown ones as <unk>), then <end>; no <start>.

        The sentence is lower-cased, as captions are.
        """
        unknown = self.numbers[UNKNOWN]
        return [*(self.numbers.get(word, unknown) for word in tokenize(sentence)), self.numbers[END]]


def tokenize(sentence: str) -> list[str]:
    """Words and punctuation of a lower-cased sentence as NLTK's Treebank tokenizer divides it.

    The published code has NLTK divide the text into sentences first, which needs a model to download; that makes
    a difference for a full stop inside a caption only.
    """
    from nltk.tokenize import word_tokenize

    words: list[str] = word_tokenize(sentence.lower(), preserve_line=True)
    return words


def build_vocabulary(captions: Iterable[str], *, fewest: int = FEWEST_IN_CODE) -> Vocabulary:
    """The words that occur at least `fewest` times in the captions, in the order of their first occurrence."""
    counts: Counter[str] = Counter()
    for caption in captions:
        counts.update(tokenize(caption))
    known = (word for word, count in counts.items() if count >= fewest and word not in SPECIAL)
    return Vocabulary((*SPECIAL, *known))


def read_vocabulary(path: Path) -> Vocabulary:
    """A pickled vocabulary, such as the published `vg_vocab_14284.pkl`; no code in it is run.

    Raises:
        BadInput: the file is missing, damaged, or holds something else; word2idx and idx2word disagree; or the
            special words are not the first four.
    """
    stored = read_pickle(path)
    if not isinstance(stored, PickledVocabulary):
        raise BadInput(f"{path}: a pickled Vocabulary is needed, this is a {type(stored).__name__}")
    by_word, by_number = getattr(stored, "word2idx", None), getattr(stored, "idx2word", None)
    if not isinstance(by_word, dict) or not isinstance(by_number, dict):
        raise BadInput(f"{path}: this Vocabulary has no word2idx and idx2word; fetch the file again")
    found = (by_number.get(number) for number in range(len(by_number)))
    words = tuple(word for word in found if isinstance(word, str))
    if len(words) < len(by_number):
        raise BadInput(f"{path}: idx2word does not number its {len(by_number)} words from 0; fetch the file again")
    if by_word != {word: number for number, word in enumerate(words)}:
        raise BadInput(f"{path}: word2idx and idx2word disagree; fetch the file again")
    if words[:4] != SPECIAL:
        raise BadInput(f"{path}: idx2word begins with {', '.join(words[:4])}; {', '.join(SPECIAL)} are expected")
    return Vocabulary(words)
