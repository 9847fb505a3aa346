"""The lessons of a stage, in the order of an epoch. In torch.

Axes: n lessons of an epoch, b those of a batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from viewfinder.errors import BadInput
from viewfinder.retrievers.chatsearcher.batch import (
    SentenceLookup,
    SequenceBatch,
    encode_example,
    keep_texts,
    make_batch,
)
from viewfinder.retrievers.chatsearcher.sequence import SequenceCodec, TrainingExample
from viewfinder.retrievers.chatsearcher.settings import ExampleKind, Stage
from viewfinder.training import Batches
from viewfinder.training.gather import count_processes

TOGETHER = 8
"""Batches whose lessons are put in the order of their lengths, so that few places of a batch are empty."""

CHARACTERS = 4
"""Of a piece, about."""


@dataclass(frozen=True, eq=False)
class StageExamples:
    """What a stage learns from.

    Attributes:
        lessons: of all kinds, one kind after the other.
        counts: how many there are of each kind.
        codec: makes places of them.
        rows: of the pictures, by their names.
        longest: places of a lesson that are read.
        sentences: vectors of texts, where they are read.
    """

    lessons: tuple[TrainingExample, ...]
    counts: Mapping[ExampleKind, int]
    codec: SequenceCodec
    rows: Mapping[str, int]
    longest: int
    sentences: SentenceLookup | None = None

    @staticmethod
    def of(
        stage: Stage,
        lessons: Mapping[ExampleKind, Sequence[TrainingExample]],
        codec: SequenceCodec,
        rows: Mapping[str, int],
        longest: int,
        sentences: SentenceLookup | None = None,
    ) -> StageExamples:
        """The lessons of a stage; of the stage "language" what they say alone.

        Raises:
            BadInput: there are none.
        """
        shares = stage.mixture.shares
        known = {kind: tuple(lessons.get(kind, ())) for kind in shares}
        if stage.name == "language":
            said = {kind: [keep_texts(lesson) for lesson in some] for kind, some in known.items()}
            known = {kind: tuple(lesson for lesson in some if lesson is not None) for kind, some in said.items()}
        if not any(known.values()):
            raise BadInput(f"{stage.name}: the data holds nothing to learn from; needed is any of {', '.join(shares)}")
        together = tuple(lesson for some in known.values() for lesson in some)
        return StageExamples(
            together, {kind: len(some) for kind, some in known.items()}, codec, rows, longest, sentences
        )

    def batch(self, numbers_b: Int[np.ndarray, " b"]) -> SequenceBatch:
        """Some lessons as tensors."""
        places = [encode_example(self.codec, self.lessons[number], self.longest) for number in numbers_b]
        return make_batch(self.codec, places, self.rows, self.sentences)

    def epoch(self, stage: Stage, epoch: int, seed: int) -> Batches[SequenceBatch]:
        """The batches of an epoch: shuffled, lessons of about one length together.

        Raises:
            BadInput: they do not fill one batch, or processes cannot share it.
        """
        draw = np.random.default_rng([seed, epoch])
        numbers_n = mix_examples(self.counts, stage.mixture.shares, stage.lessons, draw)
        if stage.batch % count_processes():
            raise BadInput(
                f"a batch of {stage.batch} cannot be shared by {count_processes()} processes; choose a multiple"
            )
        if len(numbers_n) < stage.batch:
            raise BadInput(f"{len(numbers_n)} lessons do not fill a batch of {stage.batch}; choose a smaller batch")
        lengths_n = np.array([self._length(number) for number in numbers_n.tolist()])
        ordered_n = bucket_by_length(numbers_n, lengths_n, stage.batch, draw)
        return Batches(ordered_n, stage.batch // count_processes(), self.batch)

    def _length(self, number: int) -> int:
        """Of a lesson in places, about."""
        lesson = self.lessons[number]
        words = sum(len(text) for text in lesson.texts) // CHARACTERS
        return words + len(lesson.pictures) * (3 + self.codec.tokens)


def mix_examples(
    counts: Mapping[ExampleKind, int], shares: Mapping[ExampleKind, float], most: int, draw: np.random.Generator
) -> Int[np.ndarray, " n"]:
    """The numbers of an epoch's lessons, shuffled; of a kind, none comes twice before all have come once.

    Args:
        counts: of the lessons of each kind; their numbers follow each other in this order.
        shares: how often each lesson of a kind comes in an epoch.
        most: how many there are in all, in the same proportions; 0: as many as the shares say.
        draw: where it is random.
    """
    wanted = {kind: shares[kind] * count for kind, count in counts.items()}
    scale = most / sum(wanted.values()) if most else 1.0
    found, first = [np.zeros(0, np.int64)], 0
    for kind, count in counts.items():
        number = round(scale * wanted[kind])
        rounds = [draw.permutation(count) for _ in range(-(-number // count))] if number else []
        found += [first + np.concatenate(rounds)[:number]] if rounds else []
        first += count
    return draw.permutation(np.concatenate(found))


def bucket_by_length(
    numbers_n: Int[np.ndarray, " n"], lengths_n: Int[np.ndarray, " n"], batch: int, draw: np.random.Generator
) -> Int[np.ndarray, " m"]:
    """The same numbers, in batches of about one length, without those that do not fill a last one."""
    whole = len(numbers_n) - len(numbers_n) % batch
    chunk = TOGETHER * batch
    parts = [at + np.argsort(lengths_n[at : min(at + chunk, whole)], kind="stable") for at in range(0, whole, chunk)]
    order_bm = draw.permutation(np.concatenate(parts).reshape(-1, batch))
    return np.asarray(numbers_n[order_bm.flatten()])
