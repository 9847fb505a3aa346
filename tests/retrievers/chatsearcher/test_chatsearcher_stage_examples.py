"""The lessons of an epoch and their order."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.data.chatsearch import ImageItem, TextItem
from viewfinder.errors import BadInput
from viewfinder.retrievers.chatsearcher.batches import StageExamples, asks_about_picture, bucket_by_length, mix_examples
from viewfinder.retrievers.chatsearcher.sequence import SequenceCodec, TrainingExample, TrainingTurn
from viewfinder.retrievers.chatsearcher.settings import ExampleKind, Mixture, Stage
from viewfinder.training.presets import TrainingSettings

TRAINING = TrainingSettings(learning_rate=0.1, epochs=1)


def stage(batch: int = 2, lessons: int = 0, **shares: float) -> Stage:
    return Stage(name="instruction", mixture=Mixture(**shares), batch=batch, lessons=lessons, training=TRAINING)


def tchat(words: str) -> TrainingExample:
    return TrainingExample(
        (TrainingTurn("user", (TextItem(words),)), TrainingTurn("assistant", (ImageItem("a"),))), "tchat"
    )


def visual(words: str) -> TrainingExample:
    asked = TrainingTurn("user", (ImageItem("a"), TextItem("what is it")))
    return TrainingExample((asked, TrainingTurn("assistant", (TextItem(words),))), "visual")


def course(codec: SequenceCodec, of: Stage) -> StageExamples:
    lessons: dict[ExampleKind, list[TrainingExample]] = {
        "tchat": [tchat("red"), tchat("blue")],
        "visual": [visual("yes")],
    }
    return StageExamples.of(of, lessons, codec, {"a": 0}, longest=64)


# -- mixtures


def test_a_share_says_how_often_each_lesson_comes() -> None:
    """Four lessons of one kind twice, ten of another for a half: 8 and 5."""
    found = mix_examples({"tchat": 4, "visual": 10}, {"tchat": 2.0, "visual": 0.5}, 0, np.random.default_rng(0))
    counted = Counter(found.tolist())
    assert [counted[number] for number in range(4)] == [2] * 4
    assert sum(counted[number] for number in range(4, 14)) == 5 == sum(number >= 4 for number in counted)


def test_a_number_of_lessons_keeps_the_proportions() -> None:
    found = mix_examples({"tchat": 30, "visual": 10}, {"tchat": 1.0, "visual": 1.0}, 8, np.random.default_rng(0))
    assert len(found) == 8 and (found < 30).sum() == 6


def test_a_kind_without_lessons_and_a_share_that_rounds_to_none_are_left_out() -> None:
    found = mix_examples({"tchat": 0, "visual": 3}, {"tchat": 1.0, "visual": 1.0}, 0, np.random.default_rng(0))
    assert sorted(found.tolist()) == [0, 1, 2]
    assert len(mix_examples({"tchat": 1}, {"tchat": 0.1}, 0, np.random.default_rng(0))) == 0


@given(st.integers(1, 9), st.integers(1, 9), st.floats(0.1, 4.0), st.integers(0, 9))
def test_no_lesson_comes_again_before_all_of_its_kind_have(first: int, second: int, share: float, seed: int) -> None:
    counts: dict[ExampleKind, int] = {"tchat": first, "visual": second}
    found = mix_examples(counts, {"tchat": share, "visual": 1.0}, 0, np.random.default_rng(seed))
    times = np.bincount(found, minlength=first + second)
    assert times[:first].max() - times[:first].min() <= 1
    assert times[:first].sum() == round(share * first) and (times[first:] == 1).all()


def test_a_text_is_compared_if_a_picture_came_before_it() -> None:
    again = TrainingTurn("user", (TextItem("in red"),))
    assert [asks_about_picture(one) for one in (tchat("red"), visual("yes"))] == [False, True]
    assert asks_about_picture(TrainingExample((*tchat("red").turns, again), "tchat"))
    # What the assistant says, and a picture after the last text, do not count.
    assert not asks_about_picture(TrainingExample((again, *tchat("red").turns), "tchat"))


# -- batches


@given(st.lists(st.integers(1, 50), max_size=60), st.integers(1, 5), st.integers(0, 9))
def test_batches_have_about_one_length_and_no_lesson_twice(lengths: list[int], batch: int, seed: int) -> None:
    if len(lengths) < batch:
        return
    lengths_n = np.array(lengths)
    numbers_n = np.arange(len(lengths))
    found = bucket_by_length(numbers_n, lengths_n, batch, np.random.default_rng(seed))
    assert len(found) == len(lengths) // batch * batch == len({*found.tolist()})
    if len(lengths) <= 8 * batch:  # all are put in the order of their lengths: batches do not overlap
        spans = sorted((lengths_n[some].min(), lengths_n[some].max()) for some in found.reshape(-1, batch))
        assert all(one[1] <= other[0] for one, other in pairwise(spans))


def test_an_epoch_is_the_same_whenever_it_is_asked_for_and_another_is_not(codec: SequenceCodec) -> None:
    mixture = stage(batch=2, lessons=8, tchat=1.0, visual=1.0)
    lessons = course(codec, mixture)
    one, again, other = (lessons.epoch(mixture, epoch, seed=3) for epoch in (1, 1, 2))
    assert len(one) == 4
    numbers = [[batch.numbers_bl.tolist() for batch in epoch] for epoch in (one, again, other)]
    assert numbers[0] == numbers[1] != numbers[2]


def test_the_stage_of_language_learns_from_texts_alone(codec: SequenceCodec) -> None:
    alone = Stage(name="language", mixture=Mixture(tchat=1.0, visual=1.0), batch=3, training=TRAINING)
    [batch] = course(codec, alone).epoch(alone, 1, seed=0)
    assert len(batch.cls_c) == 0 and bool(batch.learnt_bl.any())


def test_kinds_outside_the_mixture_are_left_out(codec: SequenceCodec) -> None:
    assert course(codec, stage(tchat=1.0)).counts == {"tchat": 2}
    assert course(codec, stage(tchat=1.0, edits=1.0)).counts == {"tchat": 2, "edits": 0}


def test_what_cannot_be_is_told(codec: SequenceCodec) -> None:
    with pytest.raises(BadInput, match="nothing to learn from; needed is any of edits"):
        course(codec, stage(edits=1.0))
    many = stage(batch=4, tchat=1.0)
    with pytest.raises(BadInput, match="2 lessons do not fill a batch of 4"):
        course(codec, many).epoch(many, 1, seed=0)
    with pytest.raises(BadInput, match="no share may be below 0"):
        Mixture(tchat=-1.0)
    with pytest.raises(BadInput, match="one must be above"):
        Mixture()
