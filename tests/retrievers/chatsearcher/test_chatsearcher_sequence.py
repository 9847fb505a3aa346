"""Talks as places, counted by hand: red 5, green 6, blue 7, over 8, [IMG] 14, [/IMG] 15, CLS 16, slots 17 and 18."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.data.chatsearch import ImageItem, TextItem
from viewfinder.retrievers.chatsearcher.sequence import (
    Item,
    SequenceCodec,
    TokenizerRecord,
    TokenSequence,
    TrainingExample,
    TrainingTurn,
    join_sequences,
)

BEGIN, END, USER, ASSISTANT = 0, 1, 3, 4
A, B = ImageItem("a.jpg"), ImageItem("b.jpg")


def says(text: str) -> TextItem:
    return TextItem(text)


def dialogue(*turns: tuple[str, tuple[Item, ...]]) -> TrainingExample:
    roles = {"u": "user", "a": "assistant", "d": "document"}
    return TrainingExample(tuple(TrainingTurn(roles[role], items) for role, items in turns), "tchat")  # type: ignore[arg-type]


def learnt(places: TokenSequence) -> list[int]:
    """What is learnt to be written."""
    return [int(number) for number in places.numbers_l[places.learnt_l]]


def test_a_search_answered_with_a_picture(codec: SequenceCodec) -> None:
    places = codec.encode_example(dialogue(("u", (says("red over blue"),)), ("a", (A,))))
    assert [*places.numbers_l] == [BEGIN, USER, 5, 8, 7, ASSISTANT, 14, 16, 17, 18, 15, END]
    assert learnt(places) == [14, 16, 15, END]  # neither what the user says nor the slots
    assert places.pictures == ("a.jpg",) and places.said == ()


def test_a_picture_that_the_user_brings_is_read_only(codec: SequenceCodec) -> None:
    places = codec.encode_example(dialogue(("u", (A, says("more blue"))), ("a", (says("it is"), B))))
    assert [*places.numbers_l][:9] == [BEGIN, USER, 14, 16, 17, 18, 15, 13, 7]
    assert learnt(places) == [11, 10, 14, 16, 15, END]
    assert places.pictures == ("a.jpg", "b.jpg")


def test_a_document_is_learnt_whole_in_its_order(codec: SequenceCodec) -> None:
    places = codec.encode_example(dialogue(("d", (says("red"), A, says("blue")))))
    assert [*places.numbers_l] == [BEGIN, 5, 14, 16, 17, 18, 15, 7, END]
    assert learnt(places) == [5, 14, 16, 15, 7, END]


def test_words_of_a_user_are_followed_by_their_vector_where_it_is_read(tokeniser: TokenizerRecord) -> None:
    codec = SequenceCodec(tokeniser, tokens=2, says=True)
    asked = codec.encode_user((A, says("more"), says("blue")))
    assert [*asked.numbers_l][-4:] == [13, 7, 19, ASSISTANT]
    assert asked.said == ("more blue",)
    assert codec.encode_user((A,)).said == () and codec.said == 19
    assert codec.encode_answer((says("yes"),)).said == ()


def test_without_slots_a_picture_is_its_global_token(tokeniser: TokenizerRecord) -> None:
    codec = SequenceCodec(tokeniser, tokens=0)
    assert [*codec.encode_picture("a.jpg", learnt=True).numbers_l] == [14, 16, 15]
    assert codec.said == 17


def test_a_dialogue_is_the_same_in_parts_and_at_once(codec: SequenceCodec) -> None:
    """What a search puts together turn by turn is what was learnt."""
    whole = codec.encode_example(
        dialogue(("u", (says("red"),)), ("a", (A,)), ("u", (says("more"),)), ("a", (says("yes"), B)))
    )
    parts = [
        codec.begin(),
        codec.encode_user((says("red"),)),
        codec.encode_answer((A,)),
        codec.encode_user((says("more"),)),
    ]
    piecewise = join_sequences([*parts, codec.encode_answer((says("yes"), B))])
    assert np.array_equal(whole.numbers_l, piecewise.numbers_l)
    assert np.array_equal(whole.learnt_l, piecewise.learnt_l)
    assert whole.pictures == piecewise.pictures == ("a.jpg", "b.jpg")


def test_what_is_written_is_read_as_words_without_pictures(codec: SequenceCodec) -> None:
    assert codec.decode([12, 14, 16, 17, 18, 15, 5]) == "yes red"


ITEMS = st.lists(
    st.one_of(st.sampled_from([A, B]), st.sampled_from(["red", "more blue", "what is it", "nonsense"]).map(TextItem)),
    max_size=4,
)


@given(st.lists(st.tuples(ITEMS, ITEMS), max_size=3), st.integers(0, 3))
def test_every_picture_is_whole_and_only_answers_are_learnt(
    tokeniser: TokenizerRecord, rounds: list[tuple[list[Item], list[Item]]], tokens: int
) -> None:
    codec = SequenceCodec(tokeniser, tokens)
    turns = [turn for user, answer in rounds for turn in (("u", tuple(user)), ("a", tuple(answer)))]
    lesson = dialogue(*turns)
    places = codec.encode_example(lesson)
    numbers = [*places.numbers_l]
    begins = [at for at, number in enumerate(numbers) if number == codec.img]
    shape = [codec.img, codec.cls, *codec.slots, codec.end]
    assert [numbers[at : at + len(shape)] for at in begins] == [shape] * len(lesson.pictures)
    assert places.pictures == lesson.pictures
    answers = [item for _, answer in rounds for item in answer]
    pieces = sum(len(item.text.split()) for item in answers if isinstance(item, TextItem))
    pictures = sum(isinstance(item, ImageItem) for item in answers)
    ends = sum(bool(answer) for _, answer in rounds)  # of an answer that nobody gave, the end is not learnt either
    assert places.learnt_l.sum() == pieces + 3 * pictures + ends
