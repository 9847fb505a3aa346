"""Training examples as tensors, in the batches of an epoch. In torch.

Axes: n examples of an epoch, b sequences of a batch, l positions, c pictures in them, one after the other, k texts
whose vectors are read, s width of one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viewfinder.data.chatsearch import ImageItem, TextItem
from viewfinder.errors import BadInput
from viewfinder.retrievers.chatsearcher.sequence import SequenceCodec, TokenSequence, TrainingExample, TrainingTurn
from viewfinder.retrievers.chatsearcher.settings import ExampleKind, Stage
from viewfinder.training import Batches, count_processes

EMPTY = 0
"""Padding after the end of a sequence; nothing that counts attends to it."""

TOGETHER = 8
"""How many batches are sorted together by length, so that a batch has little padding."""

CHARACTERS = 4
"""The approximate length of a piece."""

SentenceLookup = Callable[[Sequence[str]], Float[np.ndarray, "k s"]]


class SequenceBatch(NamedTuple):
    """Sequences padded at the end to one length. Positions are counted through all of them."""

    numbers_bl: Int[Tensor, "b l"]  # what stands at each place
    learnt_bl: Bool[Tensor, "b l"]  # whether writing it is learnt
    cls_c: Int[Tensor, " c"]  # where the global tokens stand; the slots of a picture follow directly
    rows_c: Int[Tensor, " c"]  # which pictures they are, by their rows
    wanted_c: Bool[Tensor, " c"]  # whether finding a picture is learnt, from the state one position before
    said_k: Int[Tensor, " k"]  # where sentence vectors stand; `sentences_ks`: these
    sentences_ks: Float[Tensor, "k s"]
    before_k: Int[Tensor, " k"]  # which of the c pictures is the last before each of them, -1 where there is none


def make_batch(
    codec: SequenceCodec, sequences: Sequence[TokenSequence], rows: Mapping[str, int], sentences: SentenceLookup | None
) -> SequenceBatch:
    """Sequences as a batch; `rows`: of pictures, by their names; `sentences`: vectors of texts, if they are read."""
    length = max(map(len, sequences))
    numbers_bl = np.full((len(sequences), length), EMPTY)
    learnt_bl = np.zeros((len(sequences), length), bool)
    for at, sequence in enumerate(sequences):
        numbers_bl[at, : len(sequence)] = sequence.numbers_l
        learnt_bl[at, : len(sequence)] = sequence.learnt_l
    cls_c, said_k = (np.flatnonzero(numbers_bl == number) for number in (codec.cls, codec.said))
    rows_c = np.array([rows[picture] for sequence in sequences for picture in sequence.pictures], np.int64)
    said = [text for sequence in sequences for text in sequence.said]
    sentences_ks = np.zeros((0, 1), np.float32) if sentences is None else sentences(said)
    return SequenceBatch(
        torch.from_numpy(numbers_bl),
        torch.from_numpy(learnt_bl),
        torch.from_numpy(cls_c),
        torch.from_numpy(rows_c),
        torch.from_numpy(learnt_bl.flat[cls_c]),
        torch.from_numpy(said_k),
        torch.from_numpy(np.asarray(sentences_ks, np.float32)),
        torch.from_numpy(last_before(cls_c, said_k, length)),
    )


def last_before(cls_c: Int[np.ndarray, " c"], said_k: Int[np.ndarray, " k"], length: int) -> Int[np.ndarray, " k"]:
    """Which picture, by its number, is the last before each text of the same sequence; -1: none.

    >>> last_before(np.array([1, 5, 13]), np.array([0, 3, 9, 18]), 10)
    array([-1,  0,  1,  2])
    """
    last_k = np.searchsorted(cls_c, said_k) - 1
    starts_k = said_k - said_k % length
    return np.where((last_k >= 0) & (np.append(cls_c, 0)[last_k] >= starts_k), last_k, -1)


def fit_example(codec: SequenceCodec, example: TrainingExample, longest: int) -> TokenSequence:
    """An example as tokens: one that is too long loses its first turns, then its end, but never a part of a picture."""
    turns = example.turns
    found = codec.encode_example(example)
    while len(found) > longest and len(turns) > 2:
        turns = turns[1:] if turns[0].role == "document" else turns[2:]
        found = codec.encode_example(TrainingExample(turns, example.kind))
    if len(found) <= longest:
        return found
    inside = np.isin(found.numbers_l, (codec.img, codec.cls, *codec.slots))
    end = longest
    while end and inside[end - 1]:
        end -= 1
    numbers_l = found.numbers_l[:end]
    shown, said = ((numbers_l == number).sum() for number in (codec.cls, codec.said))
    return TokenSequence(numbers_l, found.learnt_l[:end], found.pictures[:shown], found.said[:said])


def keep_texts(example: TrainingExample) -> TrainingExample | None:
    """An example without its pictures; None if it has no words."""
    spoken = [(turn.role, tuple(item for item in turn.items if isinstance(item, TextItem))) for turn in example.turns]
    turns = tuple(TrainingTurn(role, items) for role, items in spoken if items)
    return TrainingExample(turns, example.kind) if turns else None


def asks_about_picture(example: TrainingExample) -> bool:
    """Whether a user says something when a picture was seen already, in this turn or before."""
    seen = False
    for turn in example.turns:
        seen = seen or any(isinstance(item, ImageItem) for item in turn.items)
        if seen and turn.role == "user" and any(isinstance(item, TextItem) for item in turn.items):
            return True
    return False


@dataclass(frozen=True, eq=False)
class StageExamples:
    """The training examples of a stage, and their encoding."""

    examples: tuple[TrainingExample, ...]  # of all kinds, one kind after the other
    counts: Mapping[ExampleKind, int]  # how many there are of each kind
    codec: SequenceCodec  # encodes them
    rows: Mapping[str, int]  # of the pictures, by their names
    longest: int  # how many positions of an example are read
    sentences: SentenceLookup | None = None  # vectors of texts, if they are read

    @staticmethod
    def of(
        stage: Stage,
        examples: Mapping[ExampleKind, Sequence[TrainingExample]],
        codec: SequenceCodec,
        rows: Mapping[str, int],
        longest: int,
        sentences: SentenceLookup | None = None,
    ) -> StageExamples:
        """The examples of a stage; for the stage "language" their words alone. Raises BadInput: there are none."""
        shares = stage.mixture.shares
        known = {kind: tuple(examples.get(kind, ())) for kind in shares}
        if stage.name == "language":
            said = {kind: map(keep_texts, some) for kind, some in known.items()}
            known = {kind: tuple(one for one in some if one is not None) for kind, some in said.items()}
        if not any(known.values()):
            raise BadInput(f"{stage.name}: the data holds nothing to learn from; needed is any of {', '.join(shares)}")
        together = tuple(example for some in known.values() for example in some)
        counts = {kind: len(some) for kind, some in known.items()}
        return StageExamples(together, counts, codec, rows, longest, sentences)

    def batch(self, numbers_b: Int[np.ndarray, " b"]) -> SequenceBatch:
        """Some examples as tensors."""
        sequences = [fit_example(self.codec, self.examples[number], self.longest) for number in numbers_b]
        return make_batch(self.codec, sequences, self.rows, self.sentences)

    def epoch(self, stage: Stage, epoch: int, seed: int) -> Batches[SequenceBatch]:
        """The batches of an epoch: shuffled, examples of about one length together.

        Raises:
            BadInput: they do not fill one batch, or the processes cannot share it.
        """
        draw = np.random.default_rng([seed, epoch])
        numbers_n = mix_examples(self.counts, stage.mixture.shares, stage.lessons, draw)
        processes = count_processes()
        if stage.batch % processes:
            raise BadInput(f"a batch of {stage.batch} cannot be shared by {processes} processes; choose a multiple")
        if len(numbers_n) < stage.batch:
            raise BadInput(f"{len(numbers_n)} lessons do not fill a batch of {stage.batch}; choose a smaller batch")
        chosen = [self.examples[number] for number in numbers_n]
        letters_n = np.array([sum(map(len, one.texts)) for one in chosen])
        lengths_n = letters_n // CHARACTERS + [len(one.pictures) * (3 + self.codec.tokens) for one in chosen]
        ordered_n = bucket_by_length(numbers_n, lengths_n, stage.batch, draw)
        return Batches(ordered_n, stage.batch // processes, self.batch)


def mix_examples(
    counts: Mapping[ExampleKind, int], shares: Mapping[ExampleKind, float], most: int, draw: np.random.Generator
) -> Int[np.ndarray, " n"]:
    """The numbers of an epoch's examples, shuffled; none comes twice before all of its kind have come once.

    The numbers of the kinds follow each other as `counts` does; `shares` says how often each example of a kind comes.
    `most` is how many there are in all, in the same proportions; 0: as many as the shares say.
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
    """Numbers in batches of similar length, without those that do not fill the last batch."""
    whole = len(numbers_n) - len(numbers_n) % batch
    chunk = TOGETHER * batch
    parts = [at + np.argsort(lengths_n[at : min(at + chunk, whole)], kind="stable") for at in range(0, whole, chunk)]
    order_bm = draw.permutation(np.concatenate(parts).reshape(-1, batch))
    return np.asarray(numbers_n[order_bm.flatten()])
