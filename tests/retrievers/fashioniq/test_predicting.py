"""Training a predictor of attributes: what counts, what it begins with, and that it learns colours it can see."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.data.fashion_iq import write_fashion_iq
from viewfinder.encoders.tags import AttributePredictor
from viewfinder.errors import BadInput
from viewfinder.retrievers.fashioniq.attribute_training import (
    attribute_figures,
    label_pictures,
    ridge_regression,
    train_attributes,
)
from viewfinder.retrievers.fashioniq.garments import Garments, RecordedPairs
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import COLOURS, ColourEncoder, TinyPicture, draw_halves, tiny_pictures
from viewfinder.training import read_card

ENCODER = ColourEncoder()


def brightness(colour: str) -> str:
    return "light" if sum(COLOURS[colour]) > 330 else "dark"


def words_of(picture: TinyPicture) -> list[list[str]]:
    """Attributes in the lists of asin2attr, which a linear layer over colours can tell."""
    return [["flag"], [f"{brightness(picture.top)} above"], [], [f"{brightness(picture.bottom)} below"], [], []]


@pytest.fixture(scope="module")
def flags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """64 flags of two colours each, the first 50 for training."""
    folder = tmp_path_factory.mktemp("flags")
    pictures = tiny_pictures(folder / "images", 64)
    for split, of_split in (("train", pictures[:50]), ("val", pictures[50:])):
        keys = [picture.path.stem for picture in of_split]
        write_fashion_iq(folder, "flag", split, [], keys, {p.path.stem: words_of(p) for p in of_split})
    return folder


def plan(folder: Path, out: Path, *overrides: str) -> TrainPlan:
    return TrainPlan(
        system="attributes", data=(folder,), preset="lab", out=out, encoder=ENCODER, overrides=overrides, shown=False,
        tensorboard=False,
    )  # fmt: skip


def test_of_what_is_told_and_of_what_is_right_the_shares_are_counted() -> None:
    scores = np.array([[3, 2, 1, 0], [0, 1, 2, 3]], np.float32)
    has = np.array([[1, 0, 1, 1], [0, 0, 0, 1]], bool)
    # Two of four are told each: 0 and 1, 3 and 2. Right are 0 and 3: 2 of 4 told, 2 of 4 there are.
    assert attribute_figures(scores, has, 2) == {"f1": 0.5, "precision": 0.5, "recall": 0.5}
    assert attribute_figures(scores, has, 1) == pytest.approx({"f1": 2 / 3, "precision": 1.0, "recall": 0.5})
    assert attribute_figures(-scores, np.eye(2, 4, dtype=bool), 1)["f1"] == 0.0


def test_f1_of_each_picture_is_not_that_of_all_together() -> None:
    scores = np.array([[3, 2, 1, 0], [0, 1, 2, 3]], np.float32)
    has = np.array([[1, 1, 0, 0], [1, 1, 1, 0]], bool)
    # Told are 0 and 1, then 3 and 2. The first has p = r = 1, so F1 = 1; the second p = 1/2, r = 1/3, so F1 = 2/5.
    assert attribute_figures(scores, has, 2, "picture")["f1"] == pytest.approx((1 + 2 / 5) / 2, abs=1e-4)
    assert attribute_figures(scores, has, 2)["f1"] == pytest.approx(2 * (3 / 4) * (3 / 5) / (3 / 4 + 3 / 5))
    none = attribute_figures(-scores, np.eye(2, 4, dtype=bool), 1, "picture")["f1"]
    assert none == 0.0
    exact = (
        2 / (2 + 1e-5) * 2 / (1 + 2 / (2 + 1e-5) + 1e-5) + 2 * 0.5 * (1 / (3 + 1e-5)) / (0.5 + 1 / (3 + 1e-5) + 1e-5)
    ) / 2
    assert attribute_figures(scores, has, 2, "picture")["f1"] == pytest.approx(exact, abs=1e-12)


@given(st.integers(0, 99), st.integers(2, 9), st.integers(1, 9))
def test_ridge_regression_is_what_the_normal_equations_say(seed: int, count: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((count, width)).astype(np.float32)
    rows -= rows.mean(axis=0)
    has = rng.random((count, 3)) < 0.5
    weight, bias = ridge_regression(rows, has, 0.5)
    wide = rows.astype(np.float64)
    square = wide.T @ wide + 0.5 * (wide**2).sum() / count * np.eye(width)
    np.testing.assert_allclose(square @ weight.T, wide.T @ (has - has.mean(axis=0)), atol=1e-3)
    np.testing.assert_allclose(bias, has.mean(axis=0), rtol=1e-6)


def test_pictures_without_any_of_the_labels_are_left_out() -> None:
    garments = Garments(
        keys=("a", "b", "c"),
        raw_ng=np.array([[1], [2], [3]], np.float32),
        raw_version="v1",
        kinds=("dress",),
        kind_n=np.zeros(3, np.intp),
        descriptions=((), (), ()),
        labels=(("red", "zip"), (), ("blue", "rare")),
        pairs=RecordedPairs(np.zeros(0, np.intp), np.zeros(0, np.intp), ()),
    )
    found = label_pictures(garments, ("blue", "red"))
    assert found.raw_ng.tolist() == [[1], [3]] and found.has_nk.tolist() == [[False, True], [True, False]]
    raw, has = found.batch(np.array([1, 0]))
    assert raw.tolist() == [[3], [1]] and has.tolist() == [[1, 0], [0, 1]]


def test_what_can_be_seen_is_learnt_and_the_file_reads_as_a_predictor(flags: Path, tmp_path: Path) -> None:
    fitted = train_attributes(plan(flags, tmp_path / "out", "told=2"))
    assert fitted.figures["f1"] > 0.8  # by chance 0.5
    predictor = AttributePredictor.read(fitted.best)
    assert predictor.labels == ("dark above", "dark below", "light above", "light below")
    assert predictor.raw_version == ENCODER.raw_version and read_card(fitted.best).settings["kinds"] == ["flag"]
    picture = ENCODER.pictures([draw_halves("black", "yellow")]).global_bd
    assert set(predictor.words(picture, 2)[0]) == {"dark above", "light below"}


def test_further_training_begins_with_the_weights_and_labels_of_a_file(flags: Path, tmp_path: Path) -> None:
    first = train_attributes(plan(flags, tmp_path / "first", "training.epochs=1"))
    still = ("training.learning_rate=1e-12", "training.epochs=1", "fewest=40")
    second = train_attributes(replace(plan(flags, tmp_path / "second", *still), start=first.best))
    before, after = AttributePredictor.read(first.best), AttributePredictor.read(second.best)
    assert before.labels == after.labels
    np.testing.assert_allclose(before.weight_kg, after.weight_kg, atol=1e-6)


def test_data_without_frequent_attributes_is_refused(flags: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"51 pictures for training have no attribute in common; .+model.attributes=0"):
        train_attributes(plan(flags, tmp_path / "out", "fewest=51"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("preset", ["official", "lab"])
def test_presets_train(flags: Path, tmp_path: Path, preset: str) -> None:
    fitted = train_attributes(
        replace(plan(flags, tmp_path / "out", "training.epochs=12", "batch=10", "told=2"), preset=preset)
    )
    assert fitted.figures["f1"] > 0.7  # by chance 0.5
