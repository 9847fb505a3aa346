"""Captions that stand for the pictures in question: one a group of like pictures, the one that says most.

PlugIR's candidates (Lee et al., "Interactive Text-to-Image Retrieval with Large Language Models", ACL 2024): a caption
that fits its own picture and few others has a low entropy over the pictures; a language model that is shown one such
caption a group sees what there is to choose from.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from viewfinder.questioners.entropy import entropy_bits


def softmax(similar: Float[np.ndarray, "*many w"]) -> Float[np.ndarray, "*many w"]:
    """Likeness into chances along the last axis, at temperature 1 as PlugIR has it.

    >>> softmax(np.log(np.array([1.0, 3.0]))).round(2).tolist()
    [0.25, 0.75]
    """
    weight = np.exp(similar.astype(np.float64) - similar.max(axis=-1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


def caption_entropies(
    captions_kd: Float[np.ndarray, "k d"], pictures_wd: Float[np.ndarray, "w d"]
) -> Float[np.ndarray, " k"]:
    """In bits, of the choice among the pictures that each caption makes; unit vectors of one space."""
    return entropy_bits(softmax(captions_kd @ pictures_wd.T))


def group_pictures(pictures_kd: Float[np.ndarray, "k d"], most: int, *, seed: int = 0) -> Int[np.ndarray, " k"]:
    """The group of each picture, by k-means over unit vectors: at most `most` groups, fewer where pictures are alike.

    The squared distance of unit vectors is 2 - 2 cosine, so this is k-means by cosine but for the centres' lengths.
    """
    from sklearn.cluster import KMeans

    different = len(np.unique(np.round(pictures_kd, 3), axis=0))
    if min(most, different) < 2:
        return np.zeros(len(pictures_kd), np.int32)
    found = KMeans(min(most, different), n_init=1, random_state=seed).fit_predict(pictures_kd)
    return np.asarray(found, np.int32)


def pick_most_telling(group_k: Int[np.ndarray, " k"], entropy_k: Float[np.ndarray, " k"]) -> tuple[int, ...]:
    """Of each group the place with the lowest entropy, the first of equals; in the order of the places.

    >>> most_telling(np.array([0, 0, 1, 0, 1]), np.array([2.0, 1.0, 3.0, 1.5, 3.0]))
    (1, 2)
    """
    order = np.argsort(entropy_k, kind="stable")
    _, first = np.unique(group_k[order], return_index=True)
    return tuple(sorted(order[first].tolist()))
