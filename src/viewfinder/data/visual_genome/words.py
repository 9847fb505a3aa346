"""The words that Drill-down knows, and its mode in which a user takes something back.

Words are counted over the region descriptions of all pictures; those that are frequent enough are numbered in
order of first occurrence, after four special ones.

In the `negation` mode of its loader some of a dialogue's sentences are replaced by pairs about a thing that is not in
the picture: the first asks for it, a later one takes that back. The published mode has 22 and 39 templates; ours are
as many, in our own words.

    absent = draw_absent_names(picture.objects, [other.objects for other in pictures], 2, rng)
    sentences = add_negations(choose_captions(picture), absent, rng)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

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


WANTED = (
    "{} should be in it",
    "i am looking for {}",
    "there is {} somewhere",
    "i think it shows {}",
    "show me something with {}",
    "it has {} in it",
    "one can see {}",
    "i remember {} in the scene",
    "please include {}",
    "also with {}",
    "{} is part of the picture",
    "you can make out {}",
    "i would like to see {}",
    "{} appears in it",
    "the one with {}",
    "look for {} too",
    "it contains {}",
    "there must be {} in the photo",
    "somewhere in the frame is {}",
    "find the image that has {}",
    "{} can be spotted",
    "among other things {}",
)

UNWANTED = (
    "no {} after all",
    "forget about {}",
    "without {} please",
    "{} should not be in it",
    "i was wrong about {}",
    "there is no {}",
    "leave out {}",
    "i do not want {}",
    "nothing with {}",
    "{} is not in the picture",
    "not the ones that have {}",
    "take away {}",
    "on second thought no {}",
    "it does not have {}",
    "remove every image with {}",
    "skip those showing {}",
    "you can drop {}",
    "it is free of {}",
    "i made a mistake there was no {}",
    "anything but {}",
    "{} must not appear",
    "do not show me {}",
    "i cannot see {} in it",
    "exclude {}",
    "ignore what i said about {}",
    "it was never {}",
    "there should not be any {}",
    "none of them with {}",
    "i see no {}",
    "rule out {}",
    "sorry it lacks {}",
    "avoid {}",
    "the scene has no {} in it",
    "pictures that contain {} are wrong",
    "i no longer want {}",
    "you will not find {} there",
    "not {} i was thinking of another photo",
    "get rid of {}",
    "{} is missing from it",
)


def add_negations(captions: Sequence[str], absent: Sequence[str], rng: np.random.Generator) -> tuple[str, ...]:
    """As many sentences as `captions`; the last two for each name in `absent` are replaced by a pair about that name.

    The next sentence is drawn uniformly from what is left to say, so that others come before, between and after the
    two of a pair.

    Raises:
        ValueError: there are fewer captions than the pairs need.
    """
    if 2 * len(absent) > len(captions):
        raise ValueError(f"{len(absent)} pairs need {2 * len(absent)} captions to replace; there are {len(captions)}")
    kept = captions[: len(captions) - 2 * len(absent)]
    to_say: list[str | tuple[str, str]] = [*kept]
    for name in absent:
        first, second = WANTED[rng.integers(len(WANTED))], UNWANTED[rng.integers(len(UNWANTED))]
        to_say.append((first.replace("{}", name), second.replace("{}", name)))
    said = []
    while to_say:
        position = int(rng.integers(len(to_say)))
        match to_say[position]:
            case (first, second):
                said.append(first)
                to_say[position] = second
            case sentence:
                said.append(sentence)
                del to_say[position]
    return tuple(said)


def draw_absent_names(
    present: Collection[str], others: Sequence[Collection[str]], count: int, rng: np.random.Generator
) -> tuple[str, ...]:
    """`count` names of things in other pictures (of `others`, drawn uniformly) that are not in this one (`present`).

    Raises:
        ValueError: the other pictures have fewer such names.
    """
    found: dict[str, None] = {}
    # In a large set the first few draws nearly always suffice; going through all guarantees an end.
    drawn = rng.integers(len(others), size=8 * count).tolist() if others else []
    for index in chain(drawn, range(len(others))):
        if len(found) >= count:
            break
        found |= dict.fromkeys(name for name in others[index] if name not in present)
    if len(found) < count:
        raise ValueError(f"{count} names are needed that are not in this picture; the others have {len(found)}")
    return tuple(found)[:count]
