"""Lessons as tensors.

Axes: b sequences, l places, c pictures in them, one after the other, k texts whose vectors are read, s numbers of one.

The lessons of a stage, in the order of an epoch. In torch.

Axes: n lessons of an epoch, b those of a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viewfinder.data.chatsearch import TextItem
from viewfinder.errors import BadInput
from viewfinder.retrievers.chatsearcher.sequence import ExampleTurn, SequenceCodec, TokenSequence, TrainingExample
from viewfinder.retrievers.chatsearcher.settings import ExampleKind, Stage
from viewfinder.training import Batches
from viewfinder.training.batches import count_processes

EMPTY = 0
"""Stands at the places behind the end of a sequence; nothing that counts looks at it."""

SentenceLookup = Callable[[Sequence[str]], Float[np.ndarray, "k s"]]


class SequenceBatch(NamedTuple):
    """Sequences of one length, the shorter ones with empty places at their ends. Places are counted through all.

    Attributes:
        numbers_bl: what stands at each place.
        learnt_bl: whether it is learnt to be written.
        cls_c: where the global tokens stand; the slots of a picture come right after.
        rows_c: which pictures they are, by their rows.
        wanted_c: whether a picture is learnt to be found, from the state one place before.
        said_k: where sentence vectors stand; `sentences_ks`: these.
    """

    numbers_bl: Int[Tensor, "b l"]
    learnt_bl: Bool[Tensor, "b l"]
    cls_c: Int[Tensor, " c"]
    rows_c: Int[Tensor, " c"]
    wanted_c: Bool[Tensor, " c"]
    said_k: Int[Tensor, " k"]
    sentences_ks: Float[Tensor, "k s"]


def make_batch(
    codec: SequenceCodec, places: Sequence[TokenSequence], rows: Mapping[str, int], sentences: SentenceLookup | None
) -> SequenceBatch:
    """Sequences as a batch; `rows`: of pictures, by their names; `sentences`: vectors of texts, if they are read."""
    length = max(map(len, places))
    numbers_bl = np.full((len(places), length), EMPTY)
    learnt_bl = np.zeros((len(places), length), bool)
    for at, sequence in enumerate(places):
        numbers_bl[at, : len(sequence)] = sequence.numbers_l
        learnt_bl[at, : len(sequence)] = sequence.learnt_l
    cls_c = np.flatnonzero(numbers_bl == codec.cls)
    rows_c = np.array([rows[picture] for sequence in places for picture in sequence.pictures], np.int64)
    said = [text for sequence in places for text in sequence.said]
    sentences_ks = np.zeros((0, 1), np.float32) if sentences is None or not said else sentences(said)
    return SequenceBatch(
        torch.from_numpy(numbers_bl),
        torch.from_numpy(learnt_bl),
        torch.from_numpy(cls_c),
        torch.from_numpy(rows_c),
        torch.from_numpy(learnt_bl.flat[cls_c]),
        torch.from_numpy(np.flatnonzero(numbers_bl == codec.said)),
        torch.from_numpy(np.asarray(sentences_ks, np.float32)),
    )


def encode_example(codec: SequenceCodec, lesson: TrainingExample, longest: int) -> TokenSequence:
    """A lesson as places: of one that is too long, its first turns go, and what is too long still is cut."""
    turns = lesson.turns
    places = codec.lesson(lesson)
    while len(places) > longest and len(turns) > 2:
        turns = turns[1:] if turns[0].role == "document" else turns[2:]
        places = codec.lesson(TrainingExample(turns, lesson.kind))
    return places if len(places) <= longest else _cut(codec, places, longest)


def keep_texts(lesson: TrainingExample) -> TrainingExample | None:
    """What a lesson says, without its pictures; None where it says nothing."""
    turns = []
    for turn in lesson.turns:
        items = tuple(item for item in turn.items if isinstance(item, TextItem))
        if items:
            turns.append(ExampleTurn(turn.role, items))
    return TrainingExample(tuple(turns), lesson.kind) if turns else None


def _cut(codec: SequenceCodec, places: TokenSequence, longest: int) -> TokenSequence:
    """The first places, up to the last picture that is whole."""
    numbers_l = places.numbers_l[:longest]
    inside = np.isin(numbers_l, (codec.img, codec.cls, *codec.slots))
    end = longest
    while end and inside[end - 1]:
        end -= 1
    shown = int((numbers_l[:end] == codec.cls).sum())
    said = int((numbers_l[:end] == codec.said).sum())
    return TokenSequence(
        places.numbers_l[:end],
        places.picture_l[:end],
        places.learnt_l[:end],
        places.pictures[:shown],
        places.said[:said],
    )


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
