"""The words that Drill-down knows.

Words are counted over the region descriptions of all pictures; those that are frequent enough are numbered in
order of first occurrence, after four special ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from viewfinder.data.visual_genome.features import PickledVocabulary, read_pickle
from viewfinder.errors import BadInput

PAD, START, END, UNKNOWN = "<pad>", "<start>", "<end>", "<unk>"
SPECIAL = (PAD, START, END, UNKNOWN)

MIN_COUNT_IN_CODE = 10
"""How often a word must occur: the published code says 10 times or more."""

MIN_UNKNOWN = 0.001
"""The share of the captions' words that must be too rare to be known, for <unk> to learn what an unknown word is."""


@dataclass(frozen=True)
class Vocabulary:
    """Words by their numbers: `words[i]` has number i, the first four are `SPECIAL`.

    Attributes:
        reads_unknown: whether words that it does not have are read as <unk>. Else they are left out: where the
            training captions have hardly a rare word, hardly anything has trained the vector of <unk>.
    """

    words: tuple[str, ...]
    reads_unknown: bool = True

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any]) -> Vocabulary:
        """Restores a vocabulary from the card of a network (see `settings`).

        Older cards do not say that unknown words are left out.
        """
        return cls(tuple(settings["words"]), settings.get("reads_unknown", True))

    @property
    def settings(self) -> dict[str, Any]:
        """The vocabulary as the card of a network stores it."""
        return {"words": list(self.words), "reads_unknown": self.reads_unknown}

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Number by word."""
        return {word: number for number, word in enumerate(self.words)}

    def encode(self, sentence: str) -> list[int]:
        """Numbers of the words of a sentence (unknown ones as <unk>, or left out), then <end>; no <start>.

        The sentence is lower-cased, as captions are.
        """
        words = [word for word in tokenize(sentence) if self.reads_unknown or word in self.numbers]
        return [*map(self.number_of, words), self.numbers[END]]

    def number_of(self, word: str) -> int:
        """The number of a word, of an unknown one that of <unk>."""
        return self.numbers.get(word, self.numbers[UNKNOWN])


def tokenize(sentence: str) -> list[str]:
    """Words and punctuation of a lower-cased sentence as NLTK's Treebank tokenizer splits it.

    The published code has NLTK split the text into sentences first, which needs a downloaded model; that makes a
    difference only for a full stop inside a caption.
    """
    from nltk.tokenize import word_tokenize

    words: list[str] = word_tokenize(sentence.lower(), preserve_line=True)
    return words


def build_vocabulary(captions: Iterable[str], *, fewest: int = MIN_COUNT_IN_CODE) -> Vocabulary:
    """The words that occur at least `fewest` times in the captions, in order of first occurrence.

    Unknown words are read if `MIN_UNKNOWN` of the captions' words are rarer.
    """
    counts: Counter[str] = Counter()
    for caption in captions:
        counts.update(tokenize(caption))
    known = [word for word, count in counts.items() if count >= fewest and word not in SPECIAL]
    rare = counts.total() - sum(counts[word] for word in known)
    return Vocabulary((*SPECIAL, *known), reads_unknown=rare >= MIN_UNKNOWN * counts.total())


def read_vocabulary(path: Path) -> Vocabulary:
    """A pickled vocabulary, such as the published `vg_vocab_14284.pkl`; no code in it is executed.

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
