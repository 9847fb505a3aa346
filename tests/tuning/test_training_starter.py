"""Training the shipped head: what is kept between runs, figures by turn, and a whole small training."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from viewfinder.data import CaptionedPicture, read_coco
from viewfinder.data.splits import names_digest, part_of
from viewfinder.encoders.starter.encoder import NAMES, OBJECTS, RAW_WIDTH, VISUAL, Head, load_head
from viewfinder.encoders.starter.fit import CaptionedVectors
from viewfinder.tuning import starter
from viewfinder.tuning.starter import make_view, measure_recalls, train_starter
from viewfinder.worlds import write_world


def test_figures_of_a_turn_are_of_the_pictures_that_have_so_many_captions() -> None:
    axes_nd = np.eye(12, dtype=np.float32)
    visual_xd = np.zeros((VISUAL, 12), np.float32)
    visual_xd[OBJECTS : OBJECTS + 12] = axes_nd
    raw_nr = np.zeros((12, RAW_WIDTH), np.float32)
    raw_nr[:, OBJECTS : OBJECTS + 12] = axes_nd
    none_s = np.zeros(NAMES, np.float32)
    head = Head(
        visual_xd=visual_xd,
        visual_bias_d=np.zeros(12, np.float32),
        sentence_mean_s=none_s,
        sentence_sd=np.eye(NAMES, 12, dtype=np.float32),
        names_mean_s=none_s,
        names_mix=0.0,
        bank_md=np.ones((1, 12), np.float32),
        labels_ld=np.zeros((0, 12), np.float32),
    )
    # Picture 0 is described rightly and then as another; picture 1 as what it is least, and never again.
    captions_ms = np.eye(3, NAMES, dtype=np.float32) * np.array([[1], [1], [0]], np.float32)
    captions_ms[2, 1] = -1
    assert measure_recalls(head, CaptionedVectors(raw_nr[None], captions_ms, np.array([0, 0, 1]))) == [0.5, 1.0]


def test_views_after_the_second_are_seeded_crops() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    assert make_view(pixels, 0, 7) is pixels
    np.testing.assert_array_equal(make_view(pixels, 1, 7), pixels[:, ::-1])
    crop = make_view(pixels, 2, 7)
    np.testing.assert_array_equal(crop, make_view(pixels, 2, 7))
    assert crop.shape < pixels.shape
    assert not np.array_equal(crop, make_view(pixels, 3, 7))


def test_rows_are_computed_once_and_again_for_other_names(tmp_path: Path) -> None:
    calls: list[int] = []
    told: list[str] = []

    def compute() -> np.ndarray:
        calls.append(1)
        return np.full((2, 3), len(calls), np.float32)

    file = tmp_path / "run" / "rows.npz"
    assert [
        starter._load_or_compute(file, names, compute, told.append)[0, 0]
        for names in 2 * [["a", "b"]] + 2 * [["a", "c"]]
    ] == [1, 1, 2, 2]


@pytest.mark.slow
@pytest.mark.long
def test_a_head_is_trained_on_pictures_with_any_number_of_captions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starter, "VIEWS", 2)
    small = replace(starter.TRAINED, hidden=8, epochs=2, batch=16, bank=8, lexicon=20)
    monkeypatch.setattr(starter, "TRAINED", small)
    data, out = tmp_path / "data", tmp_path / "out"
    write_world(data / "flickr8k", kind="scenes", count=40, seed=3)
    pictures = read_coco(data / "flickr8k")[0]
    said = {picture.path.name: picture.captions[: 1 + 2 * (at % 3)] for at, picture in enumerate(pictures)}
    with (data / "flickr8k" / "captions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "caption"])
        writer.writerows([name, caption] for name, captions in said.items() for caption in captions)
    told: list[str] = []
    report = train_starter(data, out, told.append)
    fit = [CaptionedPicture(Path(name), captions) for name, captions in said.items() if part_of(name) == "fit"]
    assert report.pictures == len(fit)
    assert names_digest(fit) in report.card.read_text(encoding="utf-8")
    head = load_head(report.head)
    assert head.width == 256 and 0 < len(head.lexicon) <= 20
    assert 0 <= report.figures["R@10 after turn 1, choose"] <= 1
    # A second run reads the vectors that the first has kept.
    assert sum("vectors are made" in line for line in told) == 3
    assert load_head(train_starter(data, out, told.append).head).fingerprint() == head.fingerprint()
    assert sum("vectors are made" in line for line in told) == 3
