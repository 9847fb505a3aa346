"""Training a baseline on captioned pictures that are quickly made."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.training_log import read_log
from viewfinder.conversation import Say
from viewfinder.errors import BadInput, UnknownName
from viewfinder.query import ResolvedTurn
from viewfinder.retrievers import load_retriever
from viewfinder.retrievers.baselines.retriever import Baseline
from viewfinder.retrievers.baselines.settings import SYSTEMS
from viewfinder.retrievers.baselines.train import train
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import ColourEncoder, tiny_pictures
from viewfinder.weights import read_weights

ENCODER = ColourEncoder()
SMALL = ("model.width=12", "model.word_width=8", "fewest=1", "batch=10", "training.epochs=3")

each = pytest.mark.parametrize("system", SYSTEMS)


@pytest.fixture(scope="module")
def captioned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifty-two pictures of one colour over another, each with two captions; 40 are for training."""
    folder = tmp_path_factory.mktemp("captioned")
    rows = ["image,caption"]
    for picture in tiny_pictures(folder / "images", 52):
        rows += [f"{picture.path.name},{said}" for said in (f"{picture.top} above", f"{picture.bottom} below")]
    (folder / "captions.csv").write_text("\n".join(rows))
    return folder


def plan(system: str, data: Path, out: Path) -> TrainPlan:
    return TrainPlan(
        system=system, data=(data,), preset="lab", out=out, encoder=ENCODER, overrides=SMALL, shown=False,
        tensorboard=False,
    )  # fmt: skip


@pytest.mark.usefixtures("every_step_logged")
@each
def test_the_loss_falls_and_what_was_trained_searches(system: str, captioned: Path, tmp_path: Path) -> None:
    fitted = train(plan(system, captioned, tmp_path))
    lost = [
        record.loss for record in read_log(tmp_path / "log.jsonl") if record.kind == "train" and record.loss is not None
    ]
    assert len(lost) == fitted.step == 12
    assert np.mean(lost[-4:]) < np.mean(lost[:4])  # the last epoch against the first
    assert fitted.figures.keys() == {"loss", "recall", "first", "last"}
    found = load_retriever(system, fitted.best)
    assert isinstance(found, Baseline)
    state = found.step(found.begin(), ResolvedTurn(Say("red above"), 1, ENCODER.words, "red above"))
    assert (len(found.query(state).parts), found.space.raw_version) == (1, ENCODER.raw_version)


def test_validation_fuses_the_ranks_of_sentences_that_stand_alone(captioned: Path, tmp_path: Path) -> None:
    """Both captions together say which picture it is, one of them does not."""
    long = ("training.epochs=40", "training.validate_epochs=40")
    figures = train(replace(plan("r-rankfusion", captioned, tmp_path), overrides=(*SMALL, *long))).figures
    assert figures["recall"] > 0.6


def test_the_same_seed_gives_the_same_weights_and_another_others(captioned: Path, tmp_path: Path) -> None:
    marks = []
    for number, seed in enumerate((1, 1, 2)):
        short = replace(plan("hre", captioned, tmp_path / str(number)), overrides=(*SMALL, "training.epochs=1"))
        fitted = train(replace(short, seed=seed))
        marks.append(read_weights(fitted.best).fingerprint)
    assert marks[0] == marks[1] != marks[2]


def test_a_training_that_was_stopped_goes_on_to_the_same_end(captioned: Path, tmp_path: Path) -> None:
    whole = train(plan("r-re", captioned, tmp_path / "whole"))
    asked = iter([False, False, True])
    stopped = train(replace(plan("r-re", captioned, tmp_path / "parts"), should_stop=lambda: next(asked)))
    assert (stopped.ended, stopped.step) == ("asked", 3)
    resumed = train(replace(plan("r-re", captioned, tmp_path / "parts"), resume=True))
    assert read_weights(resumed.best).fingerprint == read_weights(whole.best).fingerprint


def test_a_training_may_begin_with_weights_whose_words_and_sizes_it_keeps(captioned: Path, tmp_path: Path) -> None:
    first = train(plan("hre", captioned, tmp_path / "first"))
    other = (*SMALL, "model.width=20", "fewest=9", "training.epochs=1")
    second = train(replace(plan("hre", captioned, tmp_path / "second"), start=first.best, overrides=other))
    one, two = read_weights(first.best).card.settings, read_weights(second.best).card.settings
    assert (two["model"], two["words"]) == (one["model"], one["words"])
    with pytest.raises(BadInput, match="this is a network of hre, not of r-re"):
        train(replace(plan("r-re", captioned, tmp_path / "third"), start=first.best))


def test_what_is_no_baseline_is_refused(captioned: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=re.escape("no baseline is called 'drilldown'; there are: hre, r-hre, r-re,")):
        train(plan("drilldown", captioned, tmp_path))
