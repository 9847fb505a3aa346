"""Lessons as tensors.

Axes: b sequences, l places, c pictures in them, one after the other, k texts whose vectors are read, s numbers of one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viewfinder.data.chatsearch import TextItem
from viewfinder.retrievers.chatsearcher.sequence import ExampleTurn, SequenceCodec, TokenSequence, TrainingExample

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
