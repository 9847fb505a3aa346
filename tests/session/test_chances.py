"""Chances of labels are computed once for the pictures of a turn, and those of some of them are taken from there."""

from __future__ import annotations

import numpy as np
import pytest

from viewfinder.evaluation.pictures import Pictures
from viewfinder.session import chances
from viewfinder.session.chances import find_chances_at
from viewfinder.testing import ColourEncoder


class Counted:
    """Labels of which each chance is a number of the vector; `computed` says of how many pictures they were asked."""

    def __init__(self) -> None:
        self.computed: list[int] = []

    def chances(self, vectors_nd: np.ndarray) -> np.ndarray:
        self.computed.append(len(vectors_nd))
        return np.asarray(vectors_nd[:, :3], np.float32)


@pytest.fixture
def labels(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counted = Counted()
    monkeypatch.setattr(chances, "photograph_labels", lambda: counted)
    monkeypatch.setattr(chances, "predicts_on_demand", lambda gallery, labels: True)
    return counted


def test_only_pictures_that_were_not_asked_about_last_are_computed(labels: Counted) -> None:
    vectors_nd = np.random.default_rng(0).normal(size=(20, 48)).astype(np.float32)
    gallery = Pictures(tuple(f"{row:02}" for row in range(20)), vectors_nd, ColourEncoder()).gallery()
    for rows, computed in (
        ([9, 3, 7], [3]),
        ([3, 9], [3]),
        ([7, 7, 9], [3]),
        ([], [3]),
        ([3, 19], [3, 1]),  # 3 is known from before
        ([3], [3, 1]),
        ([9], [3, 1, 1]),  # only those that were asked about last are kept
    ):
        rows_k = np.array(rows, np.int64)
        found_kl = find_chances_at(gallery, rows_k)
        assert found_kl is not None
        np.testing.assert_array_equal(found_kl, gallery.snapshot.matrix_nd[rows_k][:, :3])
        assert labels.computed == computed
