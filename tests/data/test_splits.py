from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from viewfinder.data.splits import name_pictures, part_of, split_of, split_reader

STEMS = st.text("abcdefghijklmnopqrstuvwxyz0123456789_-", min_size=1, max_size=20)


def test_of_sixteen_pictures_thirteen_are_for_training_one_for_validation_and_two_for_testing() -> None:
    counts = Counter(split_of(f"{number}.jpg") for number in range(16_000))
    assert [round(counts[split] / 1000) for split in ("train", "val", "test")] == [13, 1, 2]


@given(STEMS, st.sampled_from(["", "images/", "a/b/", "/somewhere/else/"]), st.sampled_from(["", ".jpg", ".png"]))
def test_a_picture_is_in_one_split_wherever_it_lies(stem: str, folder: str, ending: str) -> None:
    assert split_of(f"{folder}{stem}{ending}") == split_of(stem)
    assert part_of(f"{folder}{stem}{ending}") == {"train": "fit", "val": "choose", "test": "report"}[split_of(stem)]


def test_what_a_data_set_lists_as_test_pictures_is_tested_on(tmp_path: Path) -> None:
    assert (split_of("1.jpg"), split_of("3.jpg"), split_of("7.jpg")) == ("train", "test", "val")
    (tmp_path / "Flickr_8k.testImages.txt").write_text("1.jpg\n7.jpg\n")
    official = split_reader(tmp_path)
    assert [official(name) for name in ("images/1.jpg", "3.jpg", "7.jpg", "10.jpg")] == [
        "test",
        "test",
        "test",
        "train",
    ]


def test_photographs_are_called_by_their_stem_and_scenes_by_their_world_and_products(tmp_path: Path) -> None:
    keys = ["images/000000000001.jpg", "images/000000000002.jpg"]
    assert name_pictures(tmp_path, keys) == {keys[0]: ("000000000001",), keys[1]: ("000000000002",)}
    (tmp_path / "world.json").write_text(json.dumps({"kind": "scenes", "seed": 4, "sprites": "ab"}))
    (tmp_path / "annotations").mkdir()
    things = [{"image_id": 2, "attributes": {"product": product}} for product in ("17", "9", "17")]
    (tmp_path / "annotations" / "instances_world.json").write_text(json.dumps({"annotations": things}))
    assert name_pictures(tmp_path, keys) == {
        keys[0]: ("scenes/4/ab/000000000001",),
        keys[1]: ("scenes/4/ab/000000000002", "17", "9"),
    }


def test_a_catalogue_of_photographs_is_called_as_the_photographs_are(tmp_path: Path) -> None:
    (tmp_path / "world.json").write_text(json.dumps({"kind": "catalogue", "seed": 4, "sprites": "ab"}))
    assert name_pictures(tmp_path, ["images/17.jpg"]) == {"images/17.jpg": ("17",)}
    (tmp_path / "world.json").write_text(json.dumps({"kind": "catalogue", "seed": 4, "sprites": None}))
    assert name_pictures(tmp_path, ["images/17.jpg"]) == {"images/17.jpg": ("catalogue/4//17",)}
