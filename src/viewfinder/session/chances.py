"""Chances of the labels of photographs for some pictures of a gallery."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32, Int

from viewfinder.questioners.photographs import PhotographLabels, photograph_labels
from viewfinder.search.gallery import MAX_KEPT_PICTURES, Gallery
from viewfinder.session.predicted import predict_labels


def find_chances_at(gallery: Gallery, rows_k: Int[np.ndarray, " k"]) -> Float32[np.ndarray, "k l"] | None:
    """How likely each label of photographs holds for some pictures; None where nothing can tell.

    In a large collection it is computed from their vectors: those of the sample once, others unless they were asked
    about last, as most are by the answers of a turn, its question, and the next turn.
    """
    labels = photograph_labels()
    if predicts_on_demand(gallery, labels):
        vectors_nd = gallery.snapshot.matrix_nd
        if rows_k is gallery.measures.samples.rows_k:
            return gallery.memory.remember(("labels of the sample",), lambda: labels.chances(vectors_nd[rows_k]))
        return _predict_new(gallery, labels, rows_k)
    if gallery.measures.scale.is_of_box:
        chances_nl = predict_labels(gallery, labels)
    else:
        from viewfinder.session.labels import find_label_chances

        chances_nl = find_label_chances(gallery)
    return None if chances_nl is None else np.asarray(chances_nl[rows_k], np.float32)


def _predict_new(
    gallery: Gallery, labels: PhotographLabels, rows_k: Int[np.ndarray, " k"]
) -> Float32[np.ndarray, "k l"]:
    """Chances of the labels from the vectors of these pictures, but for those that were asked about last."""
    none_al = (np.zeros(0, np.int64), np.zeros((0, 1), np.float32))
    asked_a, chances_al = gallery.memory.get(("labels asked last",)) or none_al
    place_k, is_new_k = np.searchsorted(asked_a, rows_k), ~np.isin(rows_k, asked_a)
    if not is_new_k.any():
        return np.asarray(chances_al[place_k])
    new_kl = labels.chances(gallery.snapshot.matrix_nd[rows_k[is_new_k]])
    found_kl = np.empty((len(rows_k), new_kl.shape[1]), np.float32)
    found_kl[is_new_k], found_kl[~is_new_k] = new_kl, chances_al[place_k[~is_new_k]]
    order_k = np.argsort(rows_k, kind="stable")
    gallery.memory.put(("labels asked last",), (rows_k[order_k], found_kl[order_k]))
    return found_kl


def predicts_on_demand(gallery: Gallery, labels: PhotographLabels) -> bool:
    """Whether labels are computed from the vectors of the pictures that are asked about, and not kept of all."""
    is_large = gallery.has_index or len(gallery) > MAX_KEPT_PICTURES
    return is_large and gallery.encoder.version == labels.vectors_version
