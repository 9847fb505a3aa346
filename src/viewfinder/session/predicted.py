"""Labels that a network predicts from the vectors of a gallery's pictures."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from viewfinder.questioners.photographs import PhotographLabels
from viewfinder.search.gallery import MAX_KEPT_PICTURES, MAX_PICTURES_AT_ONCE, Gallery
from viewfinder.store.snapshot import Snapshot


def can_predict(gallery: Gallery, labels: PhotographLabels) -> bool:
    """Whether the pictures have the vectors that the network reads: those of the starter, if only beside others."""
    raw = gallery.find_raw(labels.raw_version)
    if raw is not None and raw.raw_version == labels.raw_version:
        return True
    return gallery.encoder.raw_version == labels.raw_version and gallery.encoder.version == labels.vectors_version


def predict_labels(gallery: Gallery, labels: PhotographLabels) -> Float[np.ndarray, "n l"] | None:
    """How likely each label holds for every picture, computed once; None where that cannot be predicted.

    In half precision for a large collection: they are read label by label, and then all of them are in memory.
    """
    if not can_predict(gallery, labels):
        return None
    raw, reads_vectors = gallery.find_raw(labels.raw_version), gallery.encoder.version == labels.vectors_version
    kind = np.float32 if len(gallery) <= MAX_KEPT_PICTURES else np.float16

    def predict(snapshot: Snapshot) -> Float[np.ndarray, "n l"]:
        if reads_vectors or raw is None:
            starts = range(0, len(snapshot), MAX_PICTURES_AT_ONCE)
            blocks = (labels.chances(snapshot.matrix_nd[at : at + MAX_PICTURES_AT_ONCE]) for at in starts)
        else:
            batches = raw.batches(snapshot.ids, regions=False)
            blocks = (labels.scores(np.asarray(raw_bg, np.float32)) for raw_bg, _ in batches)
        none_0l = np.zeros((0, len(labels.labels)), kind)  # an empty collection has no block to be joined
        return np.concatenate([none_0l, *(chances_bl.astype(kind) for chances_bl in blocks)])

    return gallery.snapshot.derived(f"{labels.fingerprint}-{kind.__name__}", predict, by_row=True)
