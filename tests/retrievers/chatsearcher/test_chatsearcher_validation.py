"""What validation measures, and the leaning that is chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from viewfinder.data.chatsearch import ImageItem, TextItem
from viewfinder.retrievers.chatsearcher.network import ChatSearcherNetwork, PictureFeatures, read_picture_features
from viewfinder.retrievers.chatsearcher.sequence import SequenceCodec, TrainingExample, TrainingTurn
from viewfinder.retrievers.chatsearcher.settings import ChatSearcherSettings, ExampleKind, Mixture, Stage
from viewfinder.retrievers.chatsearcher.train import (
    ValidationExamples,
    best_threshold,
    choose_picture_bias,
    recall_among,
    validate_stage,
)
from viewfinder.retrievers.chatsearcher.training_data import TrainingData
from viewfinder.testing import RAW_WIDTH
from viewfinder.training.presets import TrainingSettings

Made = Callable[..., ChatSearcherNetwork]
SCORES = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=6)


def user(*items: ImageItem | TextItem) -> TrainingTurn:
    return TrainingTurn("user", items)


def answer(*items: ImageItem | TextItem) -> TrainingTurn:
    return TrainingTurn("assistant", items)


def shown(row: int) -> ImageItem:
    return ImageItem(f"p{row}")


# -- the leaning


def right(searches: list[float], dialogues: list[float], leaning: float) -> float:
    """How many searches are answered with pictures, and talks in words, each as a share."""
    return float(np.mean([score + leaning >= 0 for score in searches]) + np.mean([s + leaning < 0 for s in dialogues]))


def test_a_leaning_that_parts_them_is_in_the_middle() -> None:
    """Margins -1 and 2 of searches, -5 and -3 of dialogues: the border lies half-way from -3 to -1."""
    assert best_threshold(np.array([-1.0, 2.0]), np.array([-5.0, -3.0])) == 2


def test_both_kinds_weigh_alike_however_many_there_are() -> None:
    """One search at 0 among ninety-nine talks above it, one below: to answer the search is worth 99 in 100 of them."""
    dialogues = np.array([*[1.0] * 98, -1.0])
    assert best_threshold(np.array([0.0]), dialogues) == 0.5


@given(SCORES, SCORES)
def test_no_leaning_is_better(searches: list[float], dialogues: list[float]) -> None:
    chosen = best_threshold(np.array(searches), np.array(dialogues))
    most = max(right(searches, dialogues, tried / 2) for tried in range(-14, 15))
    assert right(searches, dialogues, chosen) == pytest.approx(most)


# -- recall


def test_recall_counts_those_that_are_better() -> None:
    scores_qn = torch.tensor([[0.9, 0.5, 0.1], [0.9, 0.5, 0.1], [0.5, 0.5, 0.5]])
    right_q = torch.tensor([1, 2, 0])
    assert recall_among(scores_qn, right_q, depth=1) == pytest.approx(1 / 3)  # the last one, which nothing beats
    assert recall_among(scores_qn, right_q, depth=2) == pytest.approx(2 / 3)


def test_scores_that_are_no_numbers_find_nothing() -> None:
    assert recall_among(torch.full((2, 20), torch.nan), torch.tensor([0, 1])) == 0


# -- an exam


def exam_of(codec: SequenceCodec, **lessons: list[TrainingExample]) -> ValidationExamples:
    known: Any = {kind: tuple(some) for kind, some in lessons.items()}
    raw_ng = np.zeros((12, RAW_WIDTH), np.float32)
    rows = {f"p{row}": row for row in range(12)}
    mixture = Mixture(**dict.fromkeys(lessons, 1.0))
    stage = Stage(name="instruction", mixture=mixture, training=TrainingSettings(learning_rate=0.1, epochs=1))
    return ValidationExamples.of(stage, TrainingData(known, rows, raw_ng, None, "raw-1"), codec, 64, None)


def search(kind: ExampleKind, *rows: int) -> TrainingExample:
    """A picture is shown for every request; the last one is what is meant."""
    turns = [turn for row in rows for turn in (user(TextItem("red")), answer(shown(row)))]
    return TrainingExample(tuple(turns), kind)


@pytest.fixture(scope="module")
def looks(small: ChatSearcherSettings, network_of: Made) -> PictureFeatures:
    """Twelve pictures."""
    network, draw = network_of(small), np.random.default_rng(0)
    raw_ng = draw.normal(size=(12, RAW_WIDTH)).astype(np.float32)
    return read_picture_features(
        network.whole_input, network.region_input, raw_ng, draw.normal(size=(12, 36, 3)).astype(np.float16)
    )


@torch.no_grad()
def test_the_last_picture_of_every_lesson_is_looked_for_among_all_that_are(
    small: ChatSearcherSettings, network_of: Made, codec: SequenceCodec, looks: PictureFeatures
) -> None:
    """Against the same done one lesson at a time, by sorting."""
    network = network_of(small)
    lessons = {
        "tchat": [search("tchat", row) for row in range(4)],
        "mchat": [search("mchat", 0, 11 - at) for at in range(8)],
    }
    exam = exam_of(codec, **lessons)
    pictures_nd = network.encode_pictures(looks.whole_nx)  # all twelve are the last of some lesson
    places: dict[str, list[int]] = {"tchat": [], "mchat": []}
    for number, lesson in enumerate(exam.examples.examples):
        batch = exam.examples.batch(np.array([number]))
        state_h = network(batch, looks.select(batch.rows_c))[0, batch.cls_c[-1] - 1]
        order = (pictures_nd @ network.encode_queries(state_h[None])[0]).argsort(descending=True).tolist()
        places[lesson.kind].append(order.index(int(lesson.pictures[-1][1:])))
    figures = validate_stage(network, looks, exam, lambda *_: (torch.tensor(2.0), {}))
    expected = {kind: float(np.mean([place < 10 for place in some])) for kind, some in places.items()}
    assert (figures["recall_tchat"], figures["recall_mchat"]) == (expected["tchat"], expected["mchat"])
    assert min(expected.values()) < 1 and figures["loss"] == 2
    assert figures["recall"] == pytest.approx(sum(expected.values()) / 2)


@torch.no_grad()
def test_the_leaning_is_chosen_by_how_answers_begin(
    small: ChatSearcherSettings, network_of: Made, codec: SequenceCodec, looks: PictureFeatures
) -> None:
    """Every answer of a lesson counts once, where it begins; words behind a picture and a user's pictures do not."""
    network = network_of(small)
    dialogue = TrainingExample((user(shown(0), TextItem("what is it")), answer(TextItem("red"))), "visual")
    both = TrainingExample((user(shown(1)), answer(shown(2), TextItem("it is red")), user(), answer(shown(4))), "mchat")
    exam = exam_of(codec, mchat=[both], visual=[dialogue])

    def margins(lesson: TrainingExample) -> list[float]:
        batch = exam.examples.batch(np.array([exam.examples.examples.index(lesson)]))
        found = []
        for at, number in enumerate(batch.numbers_bl[0].tolist()):
            if number == 4:  # ASSISTANT:, behind which an answer begins
                scores_v = network.score_pieces(network(batch, looks.select(batch.rows_c))[0, at : at + 1])[0]
                others_v = torch.cat([scores_v[: codec.img], scores_v[codec.img + 1 :]])
                found.append(float(scores_v[codec.img] - others_v.max()))
        return found

    assert len(margins(both)) == 2 and len(margins(dialogue)) == 1
    expected = best_threshold(np.array(margins(both)), np.array(margins(dialogue)))
    assert choose_picture_bias(network, looks, exam, 9.0) == pytest.approx(expected, abs=1e-4)


def test_without_dialogues_of_both_sorts_the_default_stays(
    small: ChatSearcherSettings, network_of: Made, codec: SequenceCodec, looks: PictureFeatures
) -> None:
    exam = exam_of(codec, tchat=[search("tchat", 1)])
    assert choose_picture_bias(network_of(small), looks, exam, 0.25) == 0.25


def nothing(network: ChatSearcherNetwork, looks: PictureFeatures, batch: Any) -> tuple[Tensor, dict[str, Tensor]]:
    return torch.tensor(0.0), {}


@torch.no_grad()
def test_words_alone_have_no_recall(
    small: ChatSearcherSettings, network_of: Made, codec: SequenceCodec, looks: PictureFeatures
) -> None:
    dialogue = TrainingExample((user(TextItem("what is it")), answer(TextItem("red"))), "visual")
    assert validate_stage(network_of(small), looks, exam_of(codec, visual=[dialogue] * 3), nothing) == {"loss": 0}
