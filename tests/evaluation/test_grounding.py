"""Things found in pictures by what they are called: a red square on white, looked for by a system of colours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float
from PIL import Image

from viewfinder.data.files import write_json
from viewfinder.data.truth import PictureTruth, ThingTruth, truth_line
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation import Plan, read_run
from viewfinder.evaluation.grounding import (
    GroundedPhrase,
    count_grounded,
    ground_phrases,
    intersection_over_union,
    jitter_boxes,
    make_grid_windows,
    name_thing,
    read_marked_pictures,
)
from viewfinder.evaluation.overlap import ENCODER
from viewfinder.evaluation.results import MeasuredRun, write_measured_run
from viewfinder.search.grounding import cut_boxes
from viewfinder.testing import COLOURS, ColourEncoder

CATEGORIES = {1: "red", 2: "blue", 3: "green", 4: "white"}


@pytest.fixture(scope="module")
def squares(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A picture of 60 x 60, white but for a red square, a blue one and two green ones, of 20 x 20 each."""
    tmp_path = tmp_path_factory.mktemp("squares")
    pixels = np.full((60, 60, 3), 250, np.uint8)
    marks = {(0, 0): 1, (40, 0): 2, (0, 40): 3, (40, 40): 3}
    for (x, y), kind in marks.items():
        pixels[y : y + 20, x : x + 20] = COLOURS[CATEGORIES[kind]]
    (tmp_path / "images").mkdir()
    Image.fromarray(pixels).save(tmp_path / "images" / "a.png")
    annotations = [{"image_id": 5, "category_id": kind, "bbox": [x, y, 20, 20]} for (x, y), kind in marks.items()]
    crowd = {"image_id": 5, "category_id": 4, "bbox": [0, 0, 60, 60], "iscrowd": 1}
    alone = {"image_id": 5, "category_id": 4, "bbox": [20, 0, 20, 20]}
    data = {
        "images": [{"id": 5, "file_name": "a.png"}, {"id": 6, "file_name": "lost.png"}],
        "categories": [{"id": at, "name": name} for at, name in CATEGORIES.items()],
        "annotations": [*annotations, crowd, alone],
    }
    (tmp_path / "annotations").mkdir()
    write_json(tmp_path / "annotations" / "instances_tiny.json", data)
    return tmp_path


def grounded(folder: Path, **plan: Any) -> MeasuredRun[GroundedPhrase]:
    whole = Plan(system=plan.pop("system", "clip-t"), data=folder, **plan)
    return ground_phrases(whole, ColourEncoder(), folder / "run")


def test_the_red_square_is_found_by_the_word_red(squares: Path) -> None:
    found = grounded(squares)
    red, blue = found.things  # of the green ones a phrase would not tell which, and there is a crowd of white
    assert (red.phrase, blue.phrase) == ("a red", "a blue")
    assert red.box == pytest.approx((0, 0, 1 / 3, 1 / 3)) and blue.box == pytest.approx((2 / 3, 0, 1, 1 / 3))
    # A window of one cell in the square is as red as one of all its four: which comes first is the order's.
    for one in found.things:
        assert min(abs(one.iou["grounded"] - share) for share in (1 / 4, 1 / 2, 1)) < 1e-5
        assert one.iou["best box"] == pytest.approx(1)
        assert one.iou["largest box"] == pytest.approx(1 / 9)


def test_among_boxes_of_things_the_right_one_comes_first(squares: Path) -> None:
    found = grounded(squares, options={"proposals": "boxes"}, seed=3)
    for one in found.things:
        # Of five boxes one is near, so a draw is right once in five, if that one is near enough at all.
        assert one.random == (0.2 if one.iou["best box"] >= 0.5 else 0)
        assert one.iou["grounded"] == one.iou["best box"] > 0
    means = {figure.name.metric: figure.measure.interval.mean for figure in found.run.tasks[0].figures}
    assert means["grounded"] == means["best box"] and means["above clip-t"] == 0


def test_figures_are_means_over_a_pictures_phrases() -> None:
    def one(picture: str, iou: float) -> GroundedPhrase:
        ious = {"grounded": iou, "clip-t": 0.1, "largest box": 0.5, "best box": 1.0}
        return GroundedPhrase(picture, "a kite", (), (), ious, 0.25)

    values = count_grounded([one("p", 0.5), one("p", 0.49), one("q", 0.9)])
    np.testing.assert_array_equal(values["grounded"], [0.5, 1])
    np.testing.assert_array_equal(values["above random box"], [0.25, 0.75])
    np.testing.assert_array_equal(values["above largest box"], [-0.5, 0])


def test_windows_are_all_that_fit_the_grid() -> None:
    assert len(make_grid_windows()) == sum(
        (7 - w) * (7 - h) for w in (1, 2, 3, 4, 6) for h in (1, 2, 3, 4, 6) if max(w, h) <= 2 * min(w, h)
    )
    assert make_grid_windows().min() == 0 and make_grid_windows().max() == 1
    assert len({tuple(box) for box in make_grid_windows().tolist()}) == len(make_grid_windows())


def area(box: Float[np.ndarray, " 4"]) -> float:
    return float(max(box[2] - box[0], 0) * max(box[3] - box[1], 0))


corners = st.tuples(*(st.integers(0, 8) for _ in range(4))).map(
    lambda c: np.array([min(c[0], c[2]), min(c[1], c[3]), max(c[0], c[2]), max(c[1], c[3])], np.float64)
)


@given(corners, corners)
def test_overlap_is_what_counting_cells_says(one: Float[np.ndarray, " 4"], other: Float[np.ndarray, " 4"]) -> None:
    def cells(box: Float[np.ndarray, " 4"]) -> set[tuple[int, int]]:
        x0, y0, x1, y1 = map(int, box)
        return {(x, y) for x in range(x0, x1) for y in range(y0, y1)}

    both, either = cells(one) & cells(other), cells(one) | cells(other)
    expected = len(both) / len(either) if either else 0.0
    assert intersection_over_union(one, other[None])[0] == pytest.approx(expected)


@given(st.integers(0, 99))
def test_a_jittered_box_stays_near_and_inside(seed: int) -> None:
    box_14 = np.array([[0.3, 0.4, 0.6, 0.9]], np.float32)
    moved_14 = jitter_boxes(box_14, np.random.default_rng(seed))
    assert moved_14.min() >= 0 and moved_14.max() <= 1 and area(moved_14[0]) > 0
    assert intersection_over_union(box_14[0], moved_14)[0] > 0.2


def test_what_is_cut_out_is_what_lies_in_the_box() -> None:
    pixels = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    half, point = cut_boxes(pixels, np.array([[0.5, 0, 1, 1], [1, 1, 1, 1]], np.float32))
    np.testing.assert_array_equal(half, pixels[:, 3:])
    np.testing.assert_array_equal(point, pixels[-1:, -1:])  # never nothing


def thing(number: int, kind: str, colour: str, pattern: str = "") -> ThingTruth:
    return ThingTruth(number, kind, ((kind, f"{kind}s"),), colour, "small", pattern, "", (0, 0, 5, 5), "left", "top")


def test_things_of_a_world_are_called_by_their_looks(tmp_path: Path) -> None:
    assert name_thing(thing(1, "umbrella", "orange", "striped")) == "a striped orange umbrella"
    assert name_thing(thing(1, "umbrella", "orange", "plain")) == "an orange umbrella"
    things = (thing(1, "cup", "red"), thing(2, "cup", "red"), thing(3, "cup", "blue"))
    truths = [PictureTruth(f"{number:012}.jpg", things) for number in (20, 21)]
    (tmp_path / "truth.jsonl").write_text("".join(f"{truth_line(truth)}\n" for truth in truths))
    (tmp_path / "images").mkdir()
    Image.new("RGB", (9, 9)).save(tmp_path / "images" / "000000000021.jpg")
    split, [one] = read_marked_pictures(tmp_path, None)
    assert (split, one.path.name) == ("test", "000000000021.jpg")  # the first is for training
    assert [phrase.text for phrase in one.phrases] == ["a blue cup"] and len(one.boxes) == 3


def test_a_run_is_written_with_every_phrase(squares: Path) -> None:
    lines = [json.loads(line) for line in write_measured_run(grounded(squares)).read_text().splitlines()]
    assert [line["phrase"] for line in lines] == ["a red", "a blue"]
    assert read_run(squares / "run").tasks[0].title == "grounding, windows, all"


def test_pictures_that_may_have_been_learnt_from_are_flagged(squares: Path) -> None:
    flags = grounded(squares).run.tasks[0].overlap
    assert flags is not None and flags.seen == {ENCODER: None}  # clip-t is not trained, nobody knows of the encoder
    with pytest.raises(BadInput, match="unknown, the encoder's head came without a list"):
        grounded(squares, refuse_overlap=True)


def test_what_cannot_be_grounded_is_said(squares: Path) -> None:
    with pytest.raises(BadInput, match="--manner proposals=all: windows or boxes"):
        grounded(squares, options={"proposals": "all"})
    with pytest.raises(UnknownName, match="no split is called 'val'; there is: all"):
        grounded(squares, split="val")
    with pytest.raises(BadInput, match=r"no annotations/instances_\*\.json here"):
        grounded(squares / "images")
