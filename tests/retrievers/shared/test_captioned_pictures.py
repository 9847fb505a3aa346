"""Described pictures: who is in which split, what is said of them, and that vectors are those of the right picture."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from viewfinder.data.splits import split_of
from viewfinder.data.visual_genome import build_vocabulary, choose_captions, read_visual_genome
from viewfinder.data.visual_genome.regions import SceneGraph, SceneObject, scene_graph_xml
from viewfinder.errors import BadInput, EncoderMismatch, UnknownName
from viewfinder.pictures import decode_one
from viewfinder.retrievers.shared.captioned_pictures import (
    CaptionedPictures,
    build_description_vocabulary,
    join_captioned_pictures,
    read_captioned_pictures,
)
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import COLOURS, ColourEncoder, draw_halves, tiny_pictures

ENCODER = ColourEncoder()
NAMES = list(COLOURS)
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


def read(data: Path, split: str, notify: Callable[[str], None] = lambda line: None) -> CaptionedPictures:
    given: dict[str, Any] = {"preset": "lab", "out": data / "out", "encoder": ENCODER, "notify": notify}
    return read_captioned_pictures(TrainPlan(system="drilldown", data=(data,), **given), data, split)


def draw(file: Path, number: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(draw_halves(NAMES[number % 8], NAMES[(number + 3) % 8])).save(file)


def genome(folder: Path, lists: dict[str, Sequence[int]], *, without_file: Sequence[int] = ()) -> Path:
    """Pictures in Drill-down's layout; picture n has 12 captions "Thing n.k" and one object "thing n"."""
    for split, numbers in lists.items():
        (folder / "caches").mkdir(parents=True, exist_ok=True)
        (folder / "caches" / f"vg_{split}.txt").write_text("".join(f"{number}\n" for number in numbers))
        for number in numbers:
            regions = [
                {"region_id": k, "phrase": f"Thing {number}.{k}", "x": 0, "y": 0, "width": 9, "height": 9}
                for k in range(12)
            ]
            graph = SceneGraph(number, 24, 16, (SceneObject(f"thing {number}", 1, (1.0, 1.0, 9.0, 9.0)),))
            for name, text in (
                (f"rg_jsons/{number}.json", json.dumps({"regions": regions})),
                (f"sg_xmls/{number}.xml", scene_graph_xml(graph)),
            ):
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_text(text)
            if number not in without_file:
                draw(folder / "images" / f"{number:04}.jpg", number)
    return folder


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("genome")
    return genome(folder, {"train": [5, 3, 8, 2], "val": [4, 1]}, without_file=[8])


@pytest.fixture(scope="module")
def captioned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty-four pictures of five captions each; picture 0 says one twice."""
    folder = tmp_path_factory.mktemp("captioned")
    rows = ["image,caption"]
    for number, picture in enumerate(tiny_pictures(folder / "images", 24)):
        said = [0, 1, 1, 2, 3] if number == 0 else range(5)
        rows += [f"{picture.path.name},Caption {k} of {number}" for k in said]
    (folder / "captions.csv").write_text("\n".join(rows))
    return folder


def test_pictures_are_those_of_the_split_in_the_order_of_its_list(scenes: Path) -> None:
    told: list[str] = []
    described = read(scenes, "train", notify=told.append)
    assert described.keys == ("images/0005.jpg", "images/0003.jpg", "images/0002.jpg")
    assert (described.turns, described.raw_version, described.raw_width) == (10, ENCODER.raw_version, 48)
    assert described.region_shape == (36, 3)
    assert any("1 pictures have no vectors" in line for line in told)  # picture 8
    assert described.sentences[1] == tuple(f"thing 3.{k}" for k in range(12))


def test_vectors_are_those_of_the_pictures_asked_for(scenes: Path) -> None:
    described = read(scenes, "train")
    pixels = [decode_one(scenes / described.keys[at], ENCODER.fit).pixels for at in (2, 0)]
    alone = ENCODER.pictures(pixels, regions=True)
    assert alone.regions_brd is not None
    np.testing.assert_array_equal(described.globals_of([2, 0]), alone.global_bd)
    np.testing.assert_array_equal(described.regions_of(np.array([2, 0])), alone.regions_brd.astype(np.float16))


def test_a_dialogue_is_the_published_sampling(scenes: Path) -> None:
    described = read(scenes, "val")
    pictures, _ = read_visual_genome(scenes, "val")
    for at, picture in enumerate(pictures):
        assert described.dialogue(at) == choose_captions(picture)
        same = [np.random.default_rng(at) for _ in range(2)]
        assert described.dialogue(at, same[0]) == choose_captions(picture, same[1])


def test_captions_are_lower_case_each_once_and_split_by_their_names(captioned: Path) -> None:
    found = {split: read(captioned, split) for split in ("train", "val", "test")}
    keys = sorted(f"images/{file.name}" for file in (captioned / "images").iterdir())
    assert {split: list(one.keys) for split, one in found.items()} == {
        split: [key for key in keys if split_of(key) == split] for split in found
    }
    assert all(map(len, found.values()))
    assert found["train"].sentences[0] == tuple(f"caption {k} of 0" for k in range(4))
    assert found["train"].turns == 5
    # Four different captions make five turns: the first is said again.
    assert found["train"].dialogue(0) == (*found["train"].sentences[0], "caption 0 of 0")


def test_a_catalogue_with_three_captions_a_picture_has_dialogues_of_three_turns(tmp_path: Path) -> None:
    rows = [f"{one.path.name},said {k}" for one in tiny_pictures(tmp_path / "images", 13) for k in range(3)]
    (tmp_path / "captions.csv").write_text("\n".join(["image,caption", *rows]))
    assert read(tmp_path, "train").turns == 3


def test_sets_are_learnt_from_together(scenes: Path, captioned: Path) -> None:
    parts = [read(scenes, "train"), read(captioned, "val")]
    both = join_captioned_pictures(parts)
    assert (len(both), both.turns) == (3 + 2, 5)
    assert both.keys == parts[0].keys + parts[1].keys
    positions = [3, 1, 0]
    expected = np.stack([parts[1].regions_of([0])[0], parts[0].regions_of([1])[0], parts[0].regions_of([0])[0]])
    np.testing.assert_array_equal(both.regions_of(positions), expected)
    assert join_captioned_pictures(parts[:1]) is parts[0]


def test_sets_of_other_vectors_are_not(scenes: Path) -> None:
    one = read(scenes, "train")
    other = CaptionedPictures((), (), 5, "other-raw-1", one.blocks, np.zeros(0, np.intp), np.zeros(0, np.intp))
    with pytest.raises(EncoderMismatch, match="colours-raw-1, other-raw-1"):
        join_captioned_pictures([one, other])


def test_a_data_sets_own_detector_is_preferred(tmp_path: Path) -> None:
    folder = genome(tmp_path, {"train": [3, 2]}, without_file=[2])
    rng = np.random.default_rng(0)
    features = {number: rng.random((36, 2048), np.float32) for number in (3, 2)}
    (folder / "region_36_final").mkdir()
    for number, features_nd in features.items():
        stored = {
            "region_boxes": np.zeros((36, 4), np.float32),
            "region_feats": features_nd,
            "region_clses": np.zeros(36, np.int32),
        }
        (folder / "region_36_final" / f"{number:012}.npy").write_bytes(pickle.dumps(stored))
    described = read(folder, "train")
    assert described.raw_version == "visual-genome-36x2048-1"
    assert described.keys == ("images/0003.jpg", "2")  # there is no file of picture 2
    np.testing.assert_array_equal(described.regions_of([1])[0], features[2].astype(np.float16))


def test_the_vocabulary_is_of_what_is_said_in_training(scenes: Path, captioned: Path) -> None:
    pictures, _ = read_visual_genome(scenes, "train")
    captions = [caption for picture in pictures for caption in picture.captions]
    assert build_description_vocabulary(scenes, fewest=12) == build_vocabulary(captions, fewest=12)
    both = build_description_vocabulary(scenes, captioned, fewest=12)
    assert {"thing", "caption", "of"} <= set(both.words)
    assert "1.3" not in both.words  # picture 1 is for validation


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "nothing to learn from here"),
        ({"captions.csv": "image,caption\nnone.png,x"}, "none of their pictures is here"),
    ],
)
def test_a_folder_without_data_is_named(files: dict[str, str], reason: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        (tmp_path / "images").mkdir()
    with pytest.raises(BadInput, match=reason) as error:
        read(tmp_path, "train")
    assert str(tmp_path) in str(error.value)


def test_an_unknown_split_lists_those_there_are(scenes: Path, captioned: Path) -> None:
    for folder in (scenes, captioned):
        with pytest.raises(UnknownName, match=r"train, val"):
            read(folder, "all")


@given(st.lists(st.lists(st.text("abc", min_size=1), min_size=1, max_size=7, unique=True), min_size=1), st.data())
def test_a_drawn_dialogue_has_every_caption_once_before_any_twice(said: list[list[str]], data: st.DataObject) -> None:
    turns = data.draw(st.integers(1, 10))
    count = len(said)
    block = (np.zeros((count, 2), np.float32), np.zeros((count, 1, 2), np.float16))
    rows_n = np.arange(count)
    described = CaptionedPictures(
        tuple(map(str, rows_n)), tuple(map(tuple, said)), turns, "v", (block,), rows_n, np.zeros_like(rows_n)
    )
    at = data.draw(st.integers(0, count - 1))
    dialogue = described.dialogue(at, np.random.default_rng(data.draw(st.integers(0, 99))))
    assert len(dialogue) == turns
    counts = [dialogue.count(sentence) for sentence in said[at]]
    assert sum(counts) == turns and max(counts) - min(counts) <= 1


@pytest.mark.data
def test_the_vocabulary_of_real_captions_has_what_people_say() -> None:
    folder = SHARED / "flickr8k"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here")
    assert {"dog", "snow", "."} <= set(build_description_vocabulary(folder, fewest=10).words)
