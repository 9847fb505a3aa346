"""Training Drill-down on captioned pictures that are quickly made: one stage or two, words or sentence vectors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.training_log import read_log
from viewfinder.data.splits import split_of
from viewfinder.errors import EncoderMismatch
from viewfinder.retrievers.drilldown.retriever import load
from viewfinder.retrievers.drilldown.train import train
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import ColourEncoder, draw_halves, tiny_pictures
from viewfinder.training.checkpoints import read_tensors, write_tensors
from viewfinder.weights import NETWORK, TrainingList, read_card, read_weights

ENCODER = ColourEncoder()
SMALL = ("model.width=8", "model.slots=2", "batch=10", "training.epochs=3")
WORDS = (*SMALL, "model.word_width=8", "fewest=1", "learned.epochs=2", "training.validate_epochs=1")


@pytest.fixture(scope="module")
def captioned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifty-two pictures of one colour over another, each with three captions; 40 are for training."""
    folder = tmp_path_factory.mktemp("captioned")
    rows = ["image,caption"]
    for picture in tiny_pictures(folder / "images", 52):
        said = (f"{picture.top} above", f"{picture.bottom} below", picture.caption)
        rows += [f"{picture.path.name},{caption}" for caption in said]
    (folder / "captions.csv").write_text("\n".join(rows))
    return folder


def plan(data: Path, out: Path, preset: str, overrides: tuple[str, ...]) -> TrainPlan:
    return TrainPlan(
        system="drilldown", data=(data,), preset=preset, out=out, encoder=ENCODER, overrides=overrides, shown=False,
        tensorboard=False,
    )  # fmt: skip


def losses(out: Path) -> list[float]:
    return [record.loss for record in read_log(out / "log.jsonl") if record.kind == "train" and record.loss is not None]


@pytest.mark.usefixtures("every_step_logged")
def test_two_stages_leave_the_second_ones_network_as_the_best(captioned: Path, tmp_path: Path) -> None:
    fitted = train(plan(captioned, tmp_path, "lab", WORDS))
    lost = losses(tmp_path / "fixed")
    assert (len(lost), fitted.step) == (12, 8)
    assert np.mean(lost[-4:]) < np.mean(lost[:4])  # the last epoch against the first
    assert fitted.best == tmp_path / "best.safetensors"
    stages = [read_card(tmp_path / stage / "best.safetensors").settings["model"] for stage in ("fixed", "learned")]
    assert [stage["choice"] for stage in stages] == ["circular", "learned"]
    assert load(fitted.best).settings.choice == "learned"
    figures = [record.figures for record in read_log(tmp_path / "learned" / "log.jsonl") if record.kind == "train"]
    assert all({"finding", "choosing", "agrees"} <= figure.keys() for figure in figures)


def test_the_second_stage_begins_with_the_best_of_the_first(captioned: Path, tmp_path: Path) -> None:
    """With a rate so small that nothing moves, what comes out is what went in, but for who chooses."""
    train(plan(captioned, tmp_path, "lab", (*WORDS, "learned.learning_rate=1e-30")))
    first, second = (read_weights(tmp_path / stage / "best.safetensors") for stage in ("fixed", "learned"))
    assert first.arrays.keys() == second.arrays.keys()
    for name, array in first.arrays.items():
        np.testing.assert_allclose(second.arrays[name], array, rtol=0, atol=1e-20)


def test_a_training_that_was_stopped_in_its_second_stage_goes_on_to_the_same_end(
    captioned: Path, tmp_path: Path
) -> None:
    whole = train(plan(captioned, tmp_path / "whole", "lab", WORDS))
    parts, steps = plan(captioned, tmp_path / "parts", "lab", WORDS), iter(range(100))
    stopped = train(replace(parts, should_stop=lambda: next(steps) == 14))
    assert (stopped.ended, stopped.step) == ("asked", 3)  # of the second stage: the first has 12
    resumed = train(replace(parts, resume=True))
    assert read_weights(resumed.best).fingerprint == read_weights(whole.best).fingerprint


@pytest.mark.usefixtures("every_step_logged")
def test_the_modern_variant_reads_frozen_sentence_vectors_in_one_stage(captioned: Path, tmp_path: Path) -> None:
    fitted = train(plan(captioned, tmp_path, "modern", SMALL))
    lost = losses(tmp_path)
    assert np.mean(lost[-4:]) < np.mean(lost[:4])
    card = read_card(fitted.best)
    assert (card.encoder, card.settings["sentences_version"]) == (ENCODER.raw_version, ENCODER.sentences_version)
    assert load(fitted.best).space.regions == 37  # 36 and the whole


def test_with_standardised_inputs_the_scales_are_those_of_the_training_set(captioned: Path, tmp_path: Path) -> None:
    arrays = read_weights(train(plan(captioned, tmp_path, "modern", SMALL)).best).arrays
    assert arrays["regions_mean"].shape == (3,)
    shown = tiny_pictures(tmp_path / "again", 52)
    learnt = [(picture.top, picture.bottom) for picture in shown if split_of(picture.path) == "train"]
    # Within what the pixel that sets each picture apart makes of its corner.
    seen = ENCODER.pictures([draw_halves(*look) for look in learnt])
    np.testing.assert_allclose(arrays["whole_mean"], seen.global_bd.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(arrays["whole_deviation"], seen.global_bd.std(axis=0), atol=0.03)


def test_the_weights_list_what_they_and_those_they_began_with_learnt_from(captioned: Path, tmp_path: Path) -> None:
    first = train(plan(captioned, tmp_path / "first", "modern", SMALL)).best
    names = [file.stem for file in (captioned / "images").iterdir()]
    listed = TrainingList.decode(read_card(first).trained_on)
    assert len(listed) == sum(split_of(name) == "train" for name in names)
    assert all(listed.count_seen([(name,)]) == (split_of(name) == "train") for name in names)
    assert load(first).trained_on == read_card(first).trained_on
    further = train(replace(plan(captioned, tmp_path / "second", "modern", SMALL), start=first)).best
    assert read_card(further).trained_on == read_card(first).trained_on
    nameless = tmp_path / "nameless.safetensors"
    tensors, record = read_tensors(first, schema=NETWORK)
    write_tensors(nameless, tensors, {**record, "trained_on": ""}, schema=NETWORK)
    unknown = train(replace(plan(captioned, tmp_path / "third", "modern", SMALL), start=nameless)).best
    assert read_card(unknown).trained_on == ""


def test_sentence_vectors_of_another_encoder_cannot_go_on_from_weights(captioned: Path, tmp_path: Path) -> None:
    first = train(plan(captioned, tmp_path / "first", "modern", SMALL))
    other = plan(captioned, tmp_path / "second", "modern", SMALL)
    renamed = replace(ENCODER, sentences_version="other-said-1")
    with pytest.raises(EncoderMismatch, match="reads sentence vectors of 'colours-said-1', and this encoder's are"):
        train(replace(other, start=first.best, encoder=renamed))
