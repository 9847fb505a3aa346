"""A detector's features in the published form: pickles with the suffix .npy, a file a picture."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from viewfinder.errors import BadInput, UnknownName
from viewfinder.retrievers.shared.captioned_pictures import (
    DETECTOR_VERSION,
    has_detector_features,
    read_detector_features,
)


def visual_genome(home: Path, *, whole: bool = True, pictures: bool = True) -> Path:
    """Pictures 7 and 20 for testing, 8 for training; all numbers of picture i's vectors are i, its boxes 0 0 i i."""
    for number in (7, 8, 20):
        write(home / "data/vg/rg_jsons" / f"{number}.json", json.dumps({"regions": []}).encode())
        regions = {
            "region_boxes": np.tile(np.array([0, 0, number, number], np.float32), (36, 1)),
            "region_feats": np.full((36, 2048), number, np.float32),
            "region_clses": np.zeros(36, np.int32),
        }
        write(home / "data/vg/region_36_final" / f"{number:012}.npy", pickle.dumps(regions, 2))
        if whole:
            write(home / "data/vg/global_features" / f"{number:012}.npy", pickle.dumps(np.full(2048, -1.0 * number), 2))
        if pictures:
            (home / "data/vg/images").mkdir(exist_ok=True)
            Image.new("RGB", (40, 40)).save(home / "data/vg/images" / f"{number}.jpg")
    write(home / "data/caches/vg_test.txt", b"20\n7\n")
    write(home / "data/caches/vg_train.txt", b"8\n")
    return home


def write(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def test_a_split_is_read_with_boxes_and_vectors_of_whole_pictures(tmp_path: Path) -> None:
    found = read_detector_features(visual_genome(tmp_path), "test")
    assert found.keys == ("data/vg/images/20.jpg", "data/vg/images/7.jpg")
    assert found.raw_version == DETECTOR_VERSION == "visual-genome-36x2048-1"
    assert found.regions_nre is not None
    assert found.boxes_nr4 is not None
    assert found.regions_nre.shape == (2, 36, 2048)
    assert found.regions_nre.dtype == np.float16
    assert [found.raw_nd[0, 0], found.regions_nre[0, 35, 2047], found.boxes_nr4[0, 0, 3]] == [-20, 20, 20]


def test_pictures_without_files_go_by_their_number(tmp_path: Path) -> None:
    assert read_detector_features(visual_genome(tmp_path, pictures=False), "test").keys == ("20", "7")


def test_arrays_lie_beside_the_data_and_are_not_made_twice(tmp_path: Path) -> None:
    home = visual_genome(tmp_path)
    first = read_detector_features(home, "test")
    assert first.folder.is_relative_to(home)
    before = first.folder.joinpath("manifest.json").stat().st_mtime_ns
    assert read_detector_features(home, "test").folder.joinpath("manifest.json").stat().st_mtime_ns == before
    assert read_detector_features(home, "train").keys == ("data/vg/images/8.jpg",)


def test_a_picture_without_its_file_is_left_out_with_the_reason(tmp_path: Path) -> None:
    home = visual_genome(tmp_path)
    (home / "data/vg/region_36_final/000000000007.npy").unlink()
    found = read_detector_features(home, "test")
    assert found.keys == ("data/vg/images/20.jpg",)
    assert "000000000007.npy" in found.dropped[0].reason


def test_a_split_without_any_readable_file_is_refused(tmp_path: Path) -> None:
    home = visual_genome(tmp_path)
    for number in (7, 20):
        (home / f"data/vg/region_36_final/{number:012}.npy").write_bytes(b"\x80")
    with pytest.raises(BadInput, match=r"none of 2 pictures has vectors; .*000000000020\.npy"):
        read_detector_features(home, "test")


def test_without_vectors_of_whole_pictures_they_are_zeros_unless_needed(tmp_path: Path) -> None:
    home = visual_genome(tmp_path, whole=False)
    assert not read_detector_features(home, "train").raw_nd.any()
    with pytest.raises(BadInput, match=r"global_features: no such folder"):
        read_detector_features(home, "train", whole=True)


def test_vectors_of_whole_pictures_that_come_later_are_found(tmp_path: Path) -> None:
    home = visual_genome(tmp_path, whole=False)
    read_detector_features(home, "train")
    visual_genome(tmp_path)
    assert read_detector_features(home, "train").raw_nd[0, 0] == -8


def test_folders_are_told_apart_by_what_they_hold(tmp_path: Path) -> None:
    with_whole, without = tmp_path / "a", tmp_path / "b"
    assert has_detector_features(visual_genome(with_whole))
    assert has_detector_features(visual_genome(without, whole=False))
    assert not has_detector_features(tmp_path)


def test_an_unknown_split_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"no split 'val'; there are: train, test"):
        read_detector_features(visual_genome(tmp_path), "val")
