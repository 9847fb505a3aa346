"""What a predictor sees in pictures: their likeliest attributes.

Axes: `n` pictures, `c` attributes of one, best first; the last axis has the number of a label and its chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.errors import LibraryError
from viewfinder.index.gallery_regions import RawVectors
from viewfinder.retrievers import Predictor


def predict_all_attributes(
    ids: Sequence[str], predictor: Predictor, raw: RawVectors | None, count: int
) -> Float32[np.ndarray, "n c 2"]:
    """The likeliest attributes of all these pictures; raw vectors pass by in batches.

    Raises:
        LibraryError: there are no raw vectors.
    """
    if raw is None:
        raise LibraryError("attributes are predicted from raw vectors, and of these pictures there are none")
    batches = raw.batches(ids, regions=False)
    found = [best_labels(predictor, np.asarray(raw_bg, np.float32), count) for raw_bg, _ in batches]
    return np.concatenate([np.zeros((0, min(count, len(predictor.labels)), 2), np.float32), *found])


def best_labels(predictor: Predictor, raw_ng: Float[np.ndarray, "n g"], count: int) -> Float32[np.ndarray, "n c 2"]:
    """The likeliest labels of every picture with their chances."""
    best_nc = predictor.top(raw_ng, count)
    return np.stack([best_nc, np.take_along_axis(predictor.scores(raw_ng), best_nc, axis=1)], axis=-1, dtype=np.float32)


def predict_attributes(predictor: Predictor, raw_ng: Float[np.ndarray, "n g"], count: int) -> list[dict[str, float]]:
    """The likeliest attributes of pictures and their chances, best first."""
    return [name_labels(best_c2, predictor.labels) for best_c2 in best_labels(predictor, raw_ng, count)]


def name_labels(best_c2: Float[np.ndarray, "c 2"], labels: Sequence[str]) -> dict[str, float]:
    """Numbers of labels and chances as words and chances."""
    return {labels[int(label)]: float(chance) for label, chance in best_c2.tolist()}
