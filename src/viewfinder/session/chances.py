"""Chances of the labels of photographs for some pictures of a gallery."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32, Int

from viewfinder.questioners.photographs import PhotographLabels, photograph_labels
from viewfinder.search.gallery import MAX_KEPT_PICTURES, Gallery
from viewfinder.session.predicted import predict_labels


def find_chances_at(gallery: Gallery, rows_k: Int[np.ndarray, " k"]) -> Float32[np.ndarray, "k l"] | None:
    """How likely each label of photographs holds for some pictures; None where nothing can tell.

    In a large collection it is computed from their vectors: those of the sample once, others once for all answers of a
    turn and for its question, which is about some of the same pictures.
    """
    labels = photograph_labels()
    if predicts_on_demand(gallery, labels):
        vectors_nd = gallery.snapshot.matrix_nd
        if rows_k is gallery.measures.samples.rows_k:
            return gallery.memory.remember(("labels of the sample",), lambda: labels.chances(vectors_nd[rows_k]))
        asked_k, chances_kl = gallery.memory.get(("labels asked last",)) or (rows_k[:0], np.empty((0, 0), np.float32))
        if len(asked_k):
            place_k = np.minimum(np.searchsorted(asked_k, rows_k), len(asked_k) - 1)
            if (asked_k[place_k] == rows_k).all():
                return np.asarray(chances_kl[place_k])
        order_k = np.argsort(rows_k, kind="stable")
        found_kl = labels.chances(vectors_nd[rows_k])
        gallery.memory.put(("labels asked last",), (np.asarray(rows_k)[order_k], found_kl[order_k]))
        return found_kl
    if gallery.measures.scale.is_of_box:
        chances_nl = predict_labels(gallery, labels)
    else:
        from viewfinder.session.labels import find_label_chances

        chances_nl = find_label_chances(gallery)
    return None if chances_nl is None else np.asarray(chances_nl[rows_k], np.float32)


def predicts_on_demand(gallery: Gallery, labels: PhotographLabels) -> bool:
    """Whether labels are computed from the vectors of the pictures that are asked about, and not kept of all."""
    is_large = gallery.has_index or len(gallery) > MAX_KEPT_PICTURES
    return is_large and gallery.encoder.version == labels.vectors_version
