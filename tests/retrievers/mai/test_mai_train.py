"""Training MAI on transactions about pictures of one colour over another."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.training_log import read_log
from viewfinder.data.fashionmt import Transaction, write_transactions
from viewfinder.errors import BadInput, EncoderMismatch, UnknownName
from viewfinder.retrievers import trainers
from viewfinder.retrievers.mai.train import train
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import ColourEncoder, TinyPicture, tiny_pictures
from viewfinder.training import TrainingResult
from viewfinder.weights import read_card, read_weights

ENCODER = ColourEncoder()
SMALL = (
    "batch=8", "model.width=12", "model.hidden=16", "model.tokens=4", "model.prompts=2", "model.projection=8",
    "model.components=6", "model.region_components=2", "model.layers=1",
    "training.epochs=1",
)  # fmt: skip
STEPS = 2
"""Of an epoch of 16 transactions."""


def transactions(pictures: list[TinyPicture]) -> tuple[list[Transaction], list[Transaction]]:
    """Talks that go back to an earlier picture, and talks that keep parts of two."""
    rolled, kept = [], []
    for at in range(len(pictures) - 3):
        some = pictures[at : at + 4]
        said = tuple(f"1. is {one.top} 2. is over {one.bottom}" for one in some[1:3])
        ordinal, other = ("FIRST", "SECOND") if at % 2 else ("SECOND", "FIRST")
        names, captions = [one.path.name for one in some], tuple(one.caption for one in some)
        back = f"I prefer the {ordinal}, and 1. is {some[3].top}"
        keep = f"1. is {some[3].bottom} 4. keep the {ordinal}'s top and keep the {other}'s bottom"
        rolled.append(Transaction(names[0], tuple(names[1:]), (*said, back), captions))
        kept.append(Transaction(names[0], tuple(names[1:]), (*said, keep), captions))
    return rolled, kept


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixteen transactions to learn from, eight of either kind, and ten to measure on."""
    folder = tmp_path_factory.mktemp("outfits")
    pictures = tiny_pictures(folder / "images", 19)
    names = [one.path.name for one in pictures]
    for split, some in (("train", pictures[:11]), ("val", pictures[11:])):
        for source, found in zip(("back", "mix"), transactions(some), strict=True):
            write_transactions(folder, source, split, found, names)
    return folder


def plan(data: Path, out: Path, *overrides: str, **known: Any) -> TrainPlan:
    given: dict[str, Any] = {"preset": "lab", "overrides": (*SMALL, *overrides), "encoder": ENCODER}
    given |= {"features": data / "vectors", "shown": False, "tensorboard": False}
    return TrainPlan(system="mai", data=(data,), out=out, **(given | known))


def same(one: TrainingResult, other: TrainingResult) -> bool:
    """Whether two trainings ended with the same card and the same bytes of every array."""
    first, second = (read_weights(fitted.best).arrays for fitted in (one, other))
    assert first.keys() == second.keys()
    alike = all(first[name].tobytes() == second[name].tobytes() for name in first)
    return alike and read_card(one.best).settings == read_card(other.best).settings


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    """A training from beginning to end."""
    return train(plan(data, tmp_path_factory.mktemp("whole")))


def test_every_setting_and_every_turn_is_measured(whole: TrainingResult) -> None:
    by_turn = {f"recall_{turn}" for turn in (1, 2, 3)}
    assert whole.figures.keys() == {"recall", "recall_last", "recall_rollback", "recall_combination"} | by_turn
    assert whole.figures["recall_last"] == whole.figures["recall_3"]
    mean = sum(whole.figures[name] for name in by_turn) / 3
    assert whole.figures["recall"] == pytest.approx(mean)
    assert whole.step == STEPS


def test_the_card_says_what_a_search_needs(whole: TrainingResult) -> None:
    card = read_card(whole.best)
    assert (card.system, card.encoder, card.settings["regions"]) == ("mai", ENCODER.raw_version, 0)
    assert card.settings["sentences_version"] == ENCODER.sentences_version
    assert {"first", "first's", "second's", "keep", "over", "red"} <= {*card.settings["vocabulary"]}
    assert (card.settings["model"]["stages"], card.settings["model"]["memory"]) == ("two", "mio")
    assert "text.words.table" not in read_weights(whole.best).arrays


def test_an_interrupted_training_ends_with_the_same_bytes(data: Path, tmp_path: Path) -> None:
    """Dropout, noise and what is drawn of dialogues go on where they were."""
    drawn = (
        "model.dropout=0.2", "loss.noise=product", "caption_dropout=0.5", "described=0.3", "clauses=0.5",
        "training.epochs=2", "selects=bare_recall",
    )  # fmt: skip
    asked: list[int] = []

    def after_three() -> bool:
        asked.append(1)
        return len(asked) == 3

    whole = train(plan(data, tmp_path / "whole", *drawn))
    assert train(plan(data, tmp_path / "parted", *drawn, should_stop=after_three)).ended == "asked"
    resumed = train(plan(data, tmp_path / "parted", *drawn, resume=True))
    assert (resumed.figures, resumed.step) == (whole.figures, 2 * STEPS)
    assert {"recall", "bare_recall", "bare_recall_rollback"} <= whole.figures.keys()  # captions were left out
    assert same(resumed, whole)


@pytest.mark.usefixtures("every_step_logged")
def test_a_training_learns(data: Path, tmp_path: Path) -> None:
    """Who guesses among the 8 of a batch loses ln 8 by each of four terms at each of three turns."""
    longer = ("training.epochs=20", "training.validate_epochs=20", "training.learning_rate=0.02")
    train(plan(data, tmp_path, *longer))
    lost = [record.loss or 0.0 for record in read_log(tmp_path / "log.jsonl") if record.kind == "train"]
    guessing = 4 * 3 * math.log(8)
    assert np.mean(lost[:2]) == pytest.approx(guessing, rel=0.15)
    assert np.mean(lost[-4:]) < 0.9 * guessing


def test_a_training_goes_on_from_weights_with_their_words_and_sizes(
    data: Path, tmp_path: Path, whole: TrainingResult
) -> None:
    still = ("model.width=20", "training.learning_rate=1e-12", "training.weight_decay=0", "sources=['mix']")
    more = train(plan(data, tmp_path, *still, start=whole.best))
    before, after = read_card(whole.best).settings, read_card(more.best).settings
    assert after["vocabulary"] == before["vocabulary"] and after["model"] == before["model"]
    arrays, again = read_weights(whole.best).arrays, read_weights(more.best).arrays
    assert arrays.keys() == again.keys()
    assert all(np.allclose(arrays[name], again[name], atol=1e-6) for name in arrays)


@pytest.mark.usefixtures("every_step_logged")
@pytest.mark.parametrize(
    "overrides",
    [
        ("model.stages=one", "model.captions=false", "model.memory=ntm"),
        ("model.stages=sprc", "model.captions=false", "model.memory=gru"),
        ("model.stages=sprc", "model.captions=false", "model.targets=official", "loss.alignment=official"),
        ("model.stages=sprc", "model.memory=ntm", "loss.sprc_weights=[0.4, 0.4]"),
        ("model.combination=official_fc", "model.iteration.detach_earlier=true", "model.texts=official"),
        ("model.recall=pictures", "model.image=both", "model.memory=lstm"),
        ("model.query=fused", "model.image=regions", "model.memory=concatenation", "model.rollback=blend"),
        ("model.words=learned", "model.word_width=6", "model.memory=none", "model.rollback=random"),
        ("loss.terms=['query_target']", "loss.noise=mixing", "model.components=0", "loss.learned_scale=false"),
    ],
    ids=str,
)
def test_every_way_trains(data: Path, tmp_path: Path, overrides: tuple[str, ...]) -> None:
    fitted = train(plan(data, tmp_path, *overrides))
    log = [record for record in read_log(tmp_path / "log.jsonl") if record.kind == "train"]
    assert fitted.step == len(log) == STEPS
    assert all(record.loss is not None for record in log)  # what is no number is written as none
    scales = {record.figures["scale"] for record in log}
    assert (len(scales) == 1) == ("loss.learned_scale=false" in overrides)
    assert all(np.isfinite(array).all() for array in read_weights(fitted.best).arrays.values())


def test_the_base_preset_trains(data: Path, tmp_path: Path) -> None:
    fitted = train(plan(data, tmp_path, preset="base"))
    assert read_card(fitted.best).settings["loss"]["terms"] == ["query_target"]
    assert any(name.startswith("memory.") for name in read_weights(fitted.best).arrays)


@pytest.mark.parametrize(
    ("overrides", "error", "what"),
    [
        (("sources=['shoes']",), UnknownName, "no source of .train. is called shoes; there are: back, mix"),
        (("model.stages=one",), BadInput, "set captions to false"),
        (("model.stage=one",), BadInput, "model.stage: no such key"),
        (("batch=99",), BadInput, "choose a smaller batch"),
        (("loss.terms=[]",), BadInput, "one at least"),
    ],
    ids=str,
)
def test_what_cannot_be_is_told_in_one_line(
    data: Path, tmp_path: Path, overrides: tuple[str, ...], error: type[Exception], what: str
) -> None:
    with pytest.raises(error, match=what) as told:
        train(plan(data, tmp_path, *overrides))
    assert "\n" not in str(told.value)


def test_weights_of_another_system_or_encoder_are_refused(data: Path, tmp_path: Path, whole: TrainingResult) -> None:
    said_otherwise = replace(ColourEncoder(), sentences_version="colours-said-2")
    with pytest.raises(EncoderMismatch, match="colours-said-1"):
        train(plan(data, tmp_path, start=whole.best, encoder=said_otherwise))
    with pytest.raises(BadInput, match="no such"):
        train(plan(data, tmp_path, start=tmp_path / "none.safetensors"))


def test_a_folder_without_transactions_is_named(tmp_path: Path) -> None:
    tiny_pictures(tmp_path / "images", 2)
    with pytest.raises(BadInput, match="modifiers"):
        train(plan(tmp_path, tmp_path / "out"))


def test_mai_is_among_the_systems_that_can_be_trained(data: Path, tmp_path: Path, whole: TrainingResult) -> None:
    assert same(trainers.train_system(plan(data, tmp_path)), whole)
