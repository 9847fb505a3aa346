"""Learning questions from talks about drawings: which come next, and how the drawings answer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from jaxtyping import Float, Float32
from PIL import Image

from tests.stand_ins import NothingKnown
from viewfinder.conversation import Say
from viewfinder.data.dialogues import Round, make_dialogue, write_dialogues
from viewfinder.data.splits import split_of
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.questioners import trained
from viewfinder.questioners.information_gain.gains import table_gains
from viewfinder.questioners.trained import TrainedQuestions
from viewfinder.testing import COLOURS, ColourEncoder, TinyPicture, draw_halves, tiny_pictures
from viewfinder.tuning import QuestionPlan, QuestionReport, question_settings, train_questions
from viewfinder.tuning.dialogues import read_dialogue_splits
from viewfinder.tuning.pool import build_pool
from viewfinder.tuning.question_networks import HeldOutAnswers
from viewfinder.tuning.questions import measure_accuracies
from viewfinder.weights import TrainingList, read_card

ENCODER = ColourEncoder()
NUMBERS = ("pool.fewest_meant=4", "answers.epochs=25", "answers.batch=128", "answers.learning_rate=0.01",
           "answers.weight_decay=0.01", "selector.epochs=12", "selector.batch=16", "answers.hidden=32")  # fmt: skip


def talks_about(pictures: Sequence[TinyPicture], folder: Path) -> list[dict[str, str | list[str]]]:
    """Each is asked for every colour: yes or no; and what it is like, which nobody can tell."""
    records: list[dict[str, str | list[str]]] = []
    for picture in pictures:
        there = {picture.top, picture.bottom}
        rounds = [Round(f"is there any {colour}?", "yes, there is" if colour in there else "no") for colour in COLOURS]
        rounds.append(Round("is it expensive?", "can't tell"))
        said = make_dialogue(str(picture.path.relative_to(folder)), picture.caption, rounds)
        records.append({"img": said.image, "dialog": list(said.strings)})
    return records


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drawings with dialogues, without splits."""
    place = tmp_path_factory.mktemp("questions") / "drawings"
    pictures = tiny_pictures(place / "images", 104)
    (place / "dialogues").mkdir()
    (place / "dialogues" / "talks.json").write_text(json.dumps(talks_about(pictures, place)))
    return place


@pytest.fixture(scope="module")
def plan(folder: Path) -> QuestionPlan:
    settings = question_settings(overrides=NUMBERS)
    return QuestionPlan(data=(folder,), out=folder.parent / "out", encoder=ENCODER, settings=settings, shown=False)


@pytest.fixture(scope="module")
def report(plan: QuestionPlan) -> QuestionReport:
    torch.set_num_threads(1)
    return train_questions(plan)


@pytest.fixture(scope="module")
def learnt(report: QuestionReport) -> TrainedQuestions:
    assert report.file is not None
    return trained.load_trained_questions(report.file)


def test_held_out_pictures_are_answered_better_than_by_habit(report: QuestionReport) -> None:
    # One picture in sixteen is held out; one or two of the eight colours are there, so "no" is right six times.
    assert report.figures["answers/baseline"] == pytest.approx(0.75, abs=0.15)
    assert report.figures["answers/accuracy"] > report.figures["answers/baseline"] + 0.05
    assert report.figures["answers/bits"] > 0.1


def test_the_file_lists_the_pictures_of_training_dialogues(folder: Path, report: QuestionReport) -> None:
    assert report.file is not None
    listed = TrainingList.decode(read_card(report.file).trained_on)
    names = [picture.stem for picture in (folder / "images").iterdir()]
    assert len(listed) == sum(split_of(name) == "train" for name in names)
    assert listed.count_seen((name,) for name in names if split_of(name) != "train") == 0


def test_of_pictures_of_another_kind_little_is_foretold(
    plan: QuestionPlan, report: QuestionReport, tmp_path: Path
) -> None:
    other, out = tmp_path / "night", shutil.copytree(plan.out, tmp_path / "out")
    other.mkdir()
    dark = [np.full((16, 24, 3), number, np.uint8) for number in range(60)]
    for number, pixels in enumerate(dark):
        Image.fromarray(pixels).save(other / f"{number}.png")
    assert train_questions(replace(plan, against=(other,), out=out, resume=True)).figures == report.figures
    listed = TrainingList.decode(read_card(out / "questions.safetensors").trained_on)
    assert listed.count_seen((str(number),) for number in range(60)) == 60  # these are learnt from, too
    learnt = trained.load_trained_questions(out / "questions.safetensors")
    assert learnt.predictor is not None
    drawings = [draw_halves("yellow", "white"), draw_halves("white", "orange")]
    alike, unlike = (
        learnt.predictor.projection.project(ENCODER.pictures(some).global_bd) for some in (drawings, dark[:2])
    )
    even = np.full(2, 0.5)
    assert np.linalg.norm(unlike, axis=1).max() < 0.5 < np.linalg.norm(alike, axis=1).min() <= 1
    assert _gains(learnt, unlike, even).max() < _gains(learnt, alike, even).max()


def _gains(
    learnt: TrainedQuestions, seen_ck: Float32[np.ndarray, "c k"], even_c: Float[np.ndarray, " c"]
) -> Float[np.ndarray, " m"]:
    told = learnt.predict_answers(seen_ck)
    return np.asarray(table_gains(even_c[None], told.chance_ca.astype(np.float64), told.starts_m)[0])


def test_the_order_of_questions_is_imitated(report: QuestionReport) -> None:
    # They are always asked in the same order, so knowing the dialogue is knowing the next one.
    assert report.figures["selector/recall@1"] > 0.9 > report.figures["selector/frequency@1"]


def test_the_card_says_what_was_learnt_from_what(report: QuestionReport) -> None:
    assert report.file is not None and report.file.stat().st_size < 100_000
    card = read_card(report.file)
    assert (card.system, card.encoder, card.settings["sentences"]) == (
        "questions", ENCODER.raw_version, ENCODER.sentences_version,
    )  # fmt: skip
    assert card.settings["data"] == ["drawings"] and card.figures == report.figures


def test_the_pool_knows_its_answers(learnt: TrainedQuestions) -> None:
    red = learnt.questions[learnt.find_paraphrase("can you see any red?") or 0]
    assert (red.text, set(red.answers), red.predicted, red.needs) == ("Is there any red?", {"yes", "no"}, True, ())
    price = next(question for question in learnt.questions if "expensive" in question.text)
    assert (price.predicted, price.needs) == (False, None)
    assert price.can_tell < 0.05 and red.can_tell == 1


def test_a_drawing_is_seen_as_it_is(learnt: TrainedQuestions) -> None:
    assert learnt.predictor is not None and learnt.predictor.projection.raw_version == ENCODER.raw_version
    raw_nd = ENCODER.words(["red over blue", "green over yellow"])
    seen_ck = learnt.predictor.projection.project(raw_nd)
    assert np.linalg.norm(seen_ck, axis=1) == pytest.approx(np.ones(2), abs=1e-5)
    row = learnt.find_paraphrase("is there any red?")
    assert row is not None
    yes = learnt.questions[row].answers.index("yes")
    told_ca = learnt.predict_answers(seen_ck, [row]).chance_ca
    assert told_ca[0, yes] > told_ca[1, yes]


class ColourLookup(NothingKnown):
    """Of what can be looked up, only which sentence vectors there are."""

    sentences_version = ENCODER.sentences_version


def test_all_foretold_questions_are_told_at_once(learnt: TrainedQuestions) -> None:
    assert learnt.predictor is not None
    told = learnt.predict_answers(learnt.predictor.projection.project(ENCODER.words(["red", "blue"])))
    assert len(told.questions_m) == len(COLOURS)
    sums_mc = np.add.reduceat(told.chance_ca, told.starts_m[:-1], axis=1).T
    assert sums_mc == pytest.approx(np.ones((len(COLOURS), 2)), abs=1e-5)
    price = next(q for q, question in enumerate(learnt.questions) if not question.predicted)
    with pytest.raises(ValueError, match="predicted"):
        learnt.predict_answers(np.ones((1, learnt.predictor.projection.width), np.float32), [price])


def test_other_sentences_are_refused(learnt: TrainedQuestions) -> None:
    with pytest.raises(EncoderMismatch, match="'others-1', not 'colours-said-1'; train questions"):
        replace(learnt, sentences_version="others-1").check(ColourLookup())


def test_a_training_is_not_overwritten_but_goes_on(report: QuestionReport, plan: QuestionPlan) -> None:
    with pytest.raises(BadInput, match="--resume"):
        train_questions(plan)
    again = train_questions(replace(plan, resume=True))
    assert again.figures == report.figures


def test_a_training_that_is_stopped_leaves_no_file(plan: QuestionPlan, tmp_path: Path) -> None:
    stopped = train_questions(replace(plan, out=tmp_path / "out", should_stop=lambda: True))
    assert stopped.file is None and not (tmp_path / "out" / "questions.safetensors").exists()


def test_without_pictures_nothing_is_foretold(folder: Path, plan: QuestionPlan, tmp_path: Path) -> None:
    alone = tmp_path / "talks.json"
    alone.write_bytes((folder / "dialogues" / "talks.json").read_bytes())
    report = train_questions(replace(plan, data=(alone,), out=tmp_path / "out"))
    assert report.file is not None and report.foretold == 0
    learnt = trained.load_trained_questions(report.file)
    assert learnt.predictor is None and not any(question.predicted for question in learnt.questions)
    assert learnt.predict_next(np.zeros(48), np.zeros((0, 48)), np.zeros((0, 48))).sum() == pytest.approx(1)


def test_two_dialogues_about_a_picture_are_on_one_side(plan: QuestionPlan, tmp_path: Path) -> None:
    said = [make_dialogue(f"{number}.jpg", "red", [Round("any red?", "yes")]) for number in range(39) for _ in range(2)]
    write_dialogues(tmp_path / "talks.json", said)
    splits = read_dialogue_splits(replace(plan, data=(tmp_path / "talks.json",)))
    learnt_from, held_out = ({dialogue.image for dialogue in part.dialogues} for part in (splits.train, splits.val))
    assert (len(learnt_from), len(held_out), learnt_from & held_out) == (32, 2, set())


def test_files_called_train_and_val_are_the_splits(plan: QuestionPlan, tmp_path: Path) -> None:
    (tmp_path / "dialogues").mkdir()
    for split, count in (("train", 3), ("val", 2), ("test", 4)):
        said = [make_dialogue(f"{split}{number}.jpg", "red", [Round("any red?", "yes")]) for number in range(count)]
        write_dialogues(tmp_path / "dialogues" / f"mine_{split}.json", said)
    splits = read_dialogue_splits(replace(plan, data=(tmp_path,)))
    assert (len(splits.train), len(splits.val), splits.raw_version) == (3, 2, None)


@pytest.mark.parametrize("content", [None, "[]"])
def test_a_folder_without_dialogues_is_named(content: str | None, plan: QuestionPlan, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "dialogues").mkdir()
        (tmp_path / "dialogues" / "talks.json").write_text(content)
    with pytest.raises(BadInput, match=str(tmp_path)):
        read_dialogue_splits(replace(plan, data=(tmp_path,)))


def test_accuracies_of_few_answers_are_drawn_towards_the_mean() -> None:
    # Question 3 was right twice of twice, question 5 never of twice: half of all, which counts for ten answers.
    told = HeldOutAnswers(
        np.array([3, 3, 5, 5]),
        np.array([True, True, False, False]),
        np.array([True, False, False, False]),
        np.zeros(4),
        np.zeros(4),
    )
    found = measure_accuracies(told)
    assert found[None] == (0.5, 0.25)
    assert found[3] == pytest.approx(((2 + 5) / 12, (1 + 2.5) / 12), abs=1e-4)
    assert found[5] == pytest.approx((5 / 12, 2.5 / 12), abs=1e-4)


def test_caption_and_rounds_decide_what_comes_next(learnt: TrainedQuestions) -> None:
    first = ENCODER.sentences([Say("red over blue").text])[0]
    none = np.zeros((0, 48), np.float32)
    asked = ENCODER.sentences(["is there any red?"])
    start_q = learnt.predict_next(first, none, none)
    after_q = learnt.predict_next(first, asked, ENCODER.sentences(["yes, there is"]))
    assert learnt.questions[int(start_q.argmax())].text == "Is there any red?"
    assert learnt.questions[int(after_q.argmax())].text == "Is there any green?"
    assert build_pool([], question_settings().pool) == ()
