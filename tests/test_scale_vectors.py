"""The vectors that large collections are measured on lie as those that they are made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scale_vectors import (
    Photographs,
    describe_likeness,
    fit_share,
    grow,
    likeness_to_nearest,
    make_vectors,
    nearest,
)


def photographs() -> Photographs:
    """Groups of unit vectors, near to one another by some numbers and not by others."""
    rng = np.random.default_rng(0)
    near_nd = rng.normal(size=(600, 24)) * np.linspace(0.5, 0.05, 24)
    vectors_nd = rng.normal(size=(60, 24))[rng.integers(60, size=600)] + near_nd
    vectors_nd /= np.linalg.norm(vectors_nd, axis=1, keepdims=True)
    return Photographs(vectors_nd.astype(np.float32), (("a dog", "it runs", "on grass"),))


PHOTOS = photographs()
NEAR_NK = nearest(PHOTOS.vectors_nd, 10)


def test_the_nearest_are_those_of_a_sort_of_all() -> None:
    alike_nn = PHOTOS.vectors_nd @ PHOTOS.vectors_nd.T
    np.fill_diagonal(alike_nn, -np.inf)
    for row in (0, 17, 599):
        assert NEAR_NK[row].tolist() == np.argsort(-alike_nn[row])[:10].tolist()


def test_made_vectors_are_as_near_to_each_other_as_those_they_are_made_of() -> None:
    share = fit_share(PHOTOS.vectors_nd, NEAR_NK, 0)
    made_nd = np.concatenate(list(grow(PHOTOS.vectors_nd, NEAR_NK, 600, share, 5)))
    np.testing.assert_allclose(np.linalg.norm(made_nd, axis=1), 1.0, atol=1e-5)
    wanted, found = (np.median(likeness_to_nearest(nd)) for nd in (PHOTOS.vectors_nd, made_nd))
    assert abs(found - wanted) < 0.01
    apart_nd = np.concatenate(list(grow(PHOTOS.vectors_nd, NEAR_NK, 600, 2 * share + 0.5, 5)))
    assert np.median(likeness_to_nearest(apart_nd)) < found - 0.02  # the share is what sets it


def test_what_is_made_is_kept_and_always_the_same(tmp_path: Path) -> None:
    told, recipe = describe_likeness(PHOTOS, PHOTOS.vectors_nd[:20])
    assert told["real"].keys() == told["made"].keys()
    first = np.array(make_vectors(PHOTOS, recipe, 1000, tmp_path))
    again = make_vectors(PHOTOS, recipe, 1000, tmp_path)
    assert first.shape == (1000, 24)
    np.testing.assert_array_equal(first, again)
    grown_nd = np.concatenate(list(grow(PHOTOS.vectors_nd, NEAR_NK, 1000, recipe.share, 2)))
    np.testing.assert_array_equal(first, grown_nd.astype(np.float16))  # as a library keeps them
