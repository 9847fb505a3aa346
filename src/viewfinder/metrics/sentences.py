"""What the measures of text share: sentences as words, n-grams, and pairs of a sentence and its references.

The measures take sentences whose words are set apart by blanks, and change nothing about them: Fashion IQ scores
captions as they are, while COCO captions are brought to words first, for which there is `caption_words`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

NGram = tuple[str, ...]

LONGEST = 4
"""Words of the longest n-gram that BLEU and CIDEr count."""

DROPPED = frozenset(
    ["''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";", "(", ")", "[", "]", "{", "}"]
)
"""Marks that are no words, as the evaluation of COCO captions has them. It means brackets too, but keeps them as
words ("-lrb-"): it lowers their names before it looks for them."""


def check_sentences(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Whether every sentence has something to be compared with.

    Raises:
        ValueError: there are no sentences, not as many lists of references, or one of these is empty.
    """
    if not hypotheses or len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} sentences, {len(references)} lists of references: one each is needed")
    for row, several in enumerate(references):
        if isinstance(several, str) or not several:
            raise ValueError(f"references of sentence {row}: {several!r}, but a list of at least one is needed")


def ngrams(sentence: str, longest: int = LONGEST) -> Counter[NGram]:
    """How often each run of 1 to `longest` words occurs."""
    words = sentence.split()
    return Counter(
        tuple(words[start : start + length])
        for length in range(1, longest + 1)
        for start in range(len(words) - length + 1)
    )


def caption_words(text: str) -> str:
    """A caption in lower case, words apart as the Penn Treebank has them, without marks of punctuation.

    As the tokeniser of the COCO evaluation, without its Java; they differ in brackets (see `DROPPED`).

    >>> caption_words("A woman's red hat, isn't it?")
    "a woman 's red hat is n't it"
    """
    from nltk.tokenize import NLTKWordTokenizer

    words = NLTKWordTokenizer().tokenize(re.sub(r"\s+", " ", text.lower()))
    return " ".join(word for word in words if word not in DROPPED)
