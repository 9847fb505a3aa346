"""Lessons as tensors: red 5, blue 7, [IMG] 14, [/IMG] 15, CLS 16, slots 17 and 18."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from jaxtyping import Float
from numpy import ndarray

from viewfinder.data.chatsearch import ImageItem, TextItem
from viewfinder.retrievers.chatsearcher.batches import EMPTY, SequenceBatch, fit_example, keep_texts, make_batch
from viewfinder.retrievers.chatsearcher.sequence import (
    Item,
    SequenceCodec,
    TokenizerRecord,
    TokenSequence,
    TrainingExample,
    TrainingTurn,
)

A, B, C = (ImageItem(name) for name in "abc")
ROWS = {"a": 10, "b": 11, "c": 12}
RED, BLUE, GREEN = TextItem("red"), TextItem("blue"), TextItem("green")


def user(*items: Item) -> TrainingTurn:
    return TrainingTurn("user", items)


def answer(*items: Item) -> TrainingTurn:
    return TrainingTurn("assistant", items)


def lesson(*turns: TrainingTurn) -> TrainingExample:
    return TrainingExample(turns, "mchat")


def batch(codec: SequenceCodec, *lessons: TrainingExample) -> SequenceBatch:
    return make_batch(codec, [codec.encode_example(one) for one in lessons], ROWS, None)


def test_shorter_sequences_are_filled_at_their_ends(codec: SequenceCodec) -> None:
    found = batch(codec, lesson(user(RED), answer(A)), lesson(user(BLUE), answer(RED)))
    assert found.numbers_bl.tolist() == [[0, 3, 5, 4, 14, 16, 17, 18, 15, 1], [0, 3, 7, 4, 5, 1, *[EMPTY] * 4]]
    assert found.learnt_bl[1].tolist() == [False] * 4 + [True] * 2 + [False] * 4


def test_pictures_are_found_by_where_they_stand_through_all_sequences(codec: SequenceCodec) -> None:
    """The first sequence has 16 places: its pictures stand at 3 and 10, that of the second at 16 + 5."""
    found = batch(codec, lesson(user(B, RED), answer(A)), lesson(user(RED), answer(C)))
    assert found.numbers_bl.shape == (2, 15)
    assert found.cls_c.tolist() == [3, 10, 15 + 5]
    assert found.rows_c.tolist() == [11, 10, 12]
    assert found.wanted_c.tolist() == [False, True, True]  # what the user brings is not looked for
    flat_p = found.numbers_bl.flatten()
    assert flat_p[found.cls_c].tolist() == [codec.cls] * 3
    assert flat_p[found.cls_c - 1].tolist() == [codec.img] * 3  # the states they are looked for from
    assert flat_p[found.cls_c + 1].tolist() == [codec.slots[0]] * 3


def test_sentence_vectors_stand_where_users_have_spoken(tokeniser: TokenizerRecord) -> None:
    codec = SequenceCodec(tokeniser, tokens=2, says=True)
    asked: list[str] = []

    def lengths(texts: Sequence[str]) -> Float[ndarray, "k s"]:
        asked.extend(texts)
        return np.array([[len(text)] for text in texts], np.float64)

    lessons = [lesson(user(RED), answer(RED), user(A, BLUE), answer(B)), lesson(user(C), answer(RED))]
    found = make_batch(codec, [codec.encode_example(one) for one in lessons], ROWS, lengths)
    assert asked == ["red", "blue"]
    assert found.sentences_ks.tolist() == [[3.0], [4.0]] and found.sentences_ks.dtype.is_floating_point
    assert found.numbers_bl.flatten()[found.said_k].tolist() == [codec.said] * 2
    assert found.before_k.tolist() == [-1, 0]  # nothing is shown before "red", and A before "blue"


def test_a_picture_of_another_sequence_is_not_before_a_text(tokeniser: TokenizerRecord) -> None:
    codec = SequenceCodec(tokeniser, tokens=2, says=True)
    lessons = [lesson(user(A, RED), answer(B), user(BLUE), answer(RED)), lesson(user(GREEN), answer(C), user(RED))]
    found = make_batch(codec, [codec.encode_example(one) for one in lessons], ROWS, lambda texts: np.eye(len(texts)))
    assert found.before_k.tolist() == [0, 1, -1, 2]


# -- what is too long


def test_what_was_said_first_goes_first(codec: SequenceCodec) -> None:
    dialogue = lesson(user(RED), answer(A), user(BLUE), answer(B))
    assert len(codec.encode_example(dialogue)) == 19
    assert len(fit_example(codec, dialogue, 19)) == 19
    shorter = fit_example(codec, dialogue, 18)
    assert [*shorter.numbers_l] == [*codec.encode_example(lesson(user(BLUE), answer(B))).numbers_l]
    assert shorter.pictures == ("b",)


@pytest.mark.parametrize(
    ("longest", "numbers", "pictures"),
    [
        (9, [0, 5, 14, 16, 17, 18, 15, 7], ("a",)),  # the second picture would begin at the ninth place
        (13, [0, 5, 14, 16, 17, 18, 15, 7, 14, 16, 17, 18, 15], ("a", "b")),
        (12, [0, 5, 14, 16, 17, 18, 15, 7], ("a",)),
        (5, [0, 5], ()),
    ],
)
def test_no_picture_is_cut(codec: SequenceCodec, longest: int, numbers: list[int], pictures: tuple[str, ...]) -> None:
    page = lesson(TrainingTurn("document", (RED, A, BLUE, B, RED)))
    found = fit_example(codec, page, longest)
    assert [*found.numbers_l] == numbers
    assert found.pictures == pictures
    assert len(found.learnt_l) == len(numbers)


def test_a_sentence_vector_is_cut_with_its_place(tokeniser: TokenizerRecord) -> None:
    codec = SequenceCodec(tokeniser, tokens=2, says=True)
    found: TokenSequence = fit_example(codec, lesson(user(RED), answer(BLUE)), 3)
    assert [*found.numbers_l] == [0, 3, 5] and found.said == ()


# -- texts alone


def test_what_is_said_without_pictures_keeps_its_order(codec: SequenceCodec) -> None:
    alone = keep_texts(lesson(user(A, RED), answer(BLUE, B), user(C)))
    assert alone is not None and alone.texts == ("red", "blue") and alone.pictures == ()
    assert keep_texts(lesson(user(A), answer(B))) is None
