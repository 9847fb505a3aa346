from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from viewfinder.encoders.features.store import MAX_ROWS_A_READ, DetectedFeatures, Features
from viewfinder.errors import BadInput


def mapped(count: int, *, regions: bool = True) -> Features:
    """Picture p0, p1 ...: picture i has the global vector (i, i) and two regions of (i)."""
    number_n = np.arange(count)
    raw_ng = np.repeat(number_n, 2).reshape(count, 2).astype(np.float32)
    regions_nre = np.repeat(number_n, 2).reshape(count, 2, 1).astype(np.float16)
    keys = tuple(f"p{i}" for i in number_n.tolist())
    return Features(keys, raw_ng, "r-1", regions_nre if regions else None)


def test_vectors_come_in_the_order_they_are_asked_for() -> None:
    [(global_bg, regions_bre)] = mapped(5).batches(["p3", "p0", "p4"], regions=True)
    assert regions_bre is not None
    assert global_bg[:, 0].tolist() == regions_bre[:, 1, 0].tolist() == [3, 0, 4]
    assert regions_bre.dtype == np.float16


def test_many_pictures_come_in_batches_and_none_is_lost() -> None:
    count = MAX_ROWS_A_READ + 3
    batches = list(mapped(count).batches([f"p{i}" for i in range(count)], regions=False))
    assert [len(global_bg) for global_bg, _ in batches] == [MAX_ROWS_A_READ, 3]
    assert np.concatenate([global_bg[:, 0] for global_bg, _ in batches]).tolist() == list(range(count))
    assert all(regions_bre is None for _, regions_bre in batches)


def test_regions_that_are_not_there_are_refused() -> None:
    with pytest.raises(BadInput, match="one vector each"):
        list(mapped(2, regions=False).batches(["p0"], regions=True))


def test_boxes_in_pixels_become_shares_of_the_picture(tmp_path: Path) -> None:
    Image.new("RGB", (200, 100)).save(tmp_path / "a.png")
    boxes_nr4 = np.array([[[50, 25, 100, 100]], [[0, 0, 1, 1]]], np.float32)
    keys, raw_nd = ("a.png", "gone.png"), np.zeros((2, 1), np.float32)
    raw = DetectedFeatures(keys, raw_nd, "r-1", boxes_nr4=boxes_nr4, dataset=tmp_path)
    assert raw.boxes("a.png").tolist() == [[0.25, 0.25, 0.5, 1.0]]
    assert raw.boxes("gone.png").shape == (0, 4)
