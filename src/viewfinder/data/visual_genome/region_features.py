"""Precomputed picture vectors of Drill-down: 36 regions a picture from a detector, and one vector a picture.

Both are pickles with the suffix .npy; they are read without running anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int32, Num

from viewfinder.data.pickles import read_pickle
from viewfinder.errors import BadInput

REGIONS = 36
WIDTH = 2048


@dataclass(frozen=True)
class RegionFeatures:
    """Regions of one picture: boxes (left, top, right, bottom in pixels), vectors, and classes of the detector."""

    boxes_n4: Float32[np.ndarray, "n 4"]
    features_nd: Float32[np.ndarray, "n d"]
    classes_n: Int32[np.ndarray, " n"]


def read_region_features(path: Path, *, regions: int = REGIONS, width: int = WIDTH) -> RegionFeatures:
    """A file of `region_36_final/` (`Layout.region_features` says which).

    Raises:
        BadInput: the file is missing or damaged; a field is missing, has another shape than `regions` and `width`
            say (it is named, with what was expected and found), or holds something that is not a finite number.
    """
    stored = read_pickle(path)
    if not isinstance(stored, dict):
        raise BadInput(f"{path}: an object with region_boxes is needed, this is a {type(stored).__name__}")
    boxes_n4 = _field(path, stored, "region_boxes", (regions, 4), "f")
    features_nd = _field(path, stored, "region_feats", (regions, width), "f")
    classes_n = _field(path, stored, "region_clses", (regions,), "iu")
    return RegionFeatures(
        boxes_n4.astype(np.float32, copy=False),
        features_nd.astype(np.float32, copy=False),
        classes_n.astype(np.int32, copy=False),
    )


def read_global_feature(path: Path, *, width: int = WIDTH) -> Float32[np.ndarray, " d"]:
    """A file of `global_features/` (`Layout.global_feature` says which); axes of length one are left out.

    Raises:
        BadInput: the file is missing or damaged, or holds no vector of `width` finite numbers.
    """
    stored = read_pickle(path)
    flat = stored.squeeze() if isinstance(stored, np.ndarray) else stored
    return _field(path, {"the vector": flat}, "the vector", (width,), "f").astype(np.float32, copy=False)


def _field(
    path: Path, stored: Mapping[Any, Any], name: str, shape: tuple[int, ...], kinds: str
) -> Num[np.ndarray, ...]:
    """The array `stored[name]`, checked; `kinds` are numpy's letters for kinds of numbers."""
    if name not in stored:
        raise BadInput(f"{path}: no {name!r} here; there are: {', '.join(map(str, stored)) or 'none'}")
    value = stored[name]
    if not isinstance(value, np.ndarray):
        raise BadInput(f"{path}: {name} is no array but a {type(value).__name__}")
    if value.shape != shape:
        raise BadInput(f"{path}: {name} has the shape {_shape(value.shape)}; {_shape(shape)} is expected")
    if value.dtype.kind not in kinds:
        raise BadInput(f"{path}: {name} holds {value.dtype}; {_KINDS[kinds]} are expected")
    array = np.asarray(value)
    finite = np.isfinite(array).reshape(len(array), -1).all(axis=1)
    if not finite.all():
        raise BadInput(f"{path}: {name}[{int(finite.argmin())}] is not finite; compute the features again")
    return array


_KINDS = {"f": "floating-point numbers", "iu": "whole numbers"}


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "of a lone number"
