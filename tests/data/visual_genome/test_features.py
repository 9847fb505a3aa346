import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewfinder.data.visual_genome import find_layout, read_global_feature, read_region_features
from viewfinder.errors import BadInput


def fields(**changes: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "region_boxes": rng.random((36, 4), dtype=np.float32),
        "region_feats": rng.random((36, 2048), dtype=np.float32),
        "region_clses": np.arange(36, dtype=np.int32),
    } | changes


def stored(folder: Path, value: Any, protocol: int = 2) -> Path:
    file = folder / "000000000020.npy"
    file.write_bytes(pickle.dumps(value, protocol))
    return file


@pytest.mark.parametrize("protocol", [2, 5])
def test_regions_come_back_as_they_were_written(tmp_path: Path, protocol: int) -> None:
    written = fields()
    read = read_region_features(stored(tmp_path, written, protocol))
    np.testing.assert_array_equal(read.boxes_n4, written["region_boxes"])
    np.testing.assert_array_equal(read.features_nd, written["region_feats"])
    assert {type(array) for array in vars(read).values()} == {np.ndarray}


def test_other_numbers_of_the_kind_become_the_published_ones(tmp_path: Path) -> None:
    wide = fields(region_feats=np.ones((36, 2048)))
    read = read_region_features(stored(tmp_path, wide))
    assert read.features_nd.dtype.name == "float32"


def test_a_list_is_no_array(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="region_feats is no array but a list"):
        read_region_features(stored(tmp_path, fields(region_feats=[0, 1])))


HURT = np.ones((36, 2048), dtype=np.float32)
HURT[7, 100] = np.nan


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"region_feats": np.ones((36, 1024))}, "region_feats has the shape 36 x 1024; 36 x 2048 is expected"),
        ({"region_boxes": np.ones((36, 5))}, "region_boxes has the shape 36 x 5; 36 x 4 is expected"),
        ({"region_boxes": np.ones(35)}, "region_boxes has the shape 35; 36 x 4 is expected"),
        ({"region_boxes": [0] * 36}, "region_boxes is no array but a list"),
        ({"region_boxes": np.ones((36, 4), int)}, "region_boxes holds int64; floating-point numbers are expected"),
        ({"region_feats": HURT}, r"region_feats\[7\] is not finite"),
    ],
)
def test_a_wrong_field_is_named_with_what_was_expected_and_found(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput, match=rf"000000000020\.npy: {message}"):
        read_region_features(stored(tmp_path, fields(**changes)))


def test_a_missing_field_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no 'region_feats' here; there are: region_boxes"):
        read_region_features(stored(tmp_path, {"region_boxes": np.zeros((36, 4))}))
    with pytest.raises(BadInput, match="an object with region_boxes is needed, this is a list"):
        read_region_features(stored(tmp_path, []))


@pytest.mark.parametrize("shape", [(2048,), (1, 2048), (2048, 1, 1)])
def test_a_global_vector_may_have_axes_of_one(tmp_path: Path, shape: tuple[int, ...]) -> None:
    vector = np.arange(2048, dtype=np.float32)
    read = read_global_feature(stored(tmp_path, vector.reshape(shape)))
    np.testing.assert_array_equal(read, vector)
    assert type(read) is np.ndarray


def test_a_global_vector_of_another_width_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"000000000020\.npy: the vector has the shape 512; 2048 is expected"):
        read_global_feature(stored(tmp_path, np.zeros(512, dtype=np.float32)))
    with pytest.raises(BadInput, match="the vector is no array but a list"):
        read_global_feature(stored(tmp_path, [1.0]))


def test_the_layout_says_where_the_features_of_a_picture_are(tmp_path: Path) -> None:
    (tmp_path / "rg_jsons").mkdir()
    layout = find_layout(tmp_path)
    assert layout.region_features(20) == tmp_path / "region_36_final" / "000000000020.npy"
    assert layout.global_feature(20) == tmp_path / "global_features" / "000000000020.npy"
