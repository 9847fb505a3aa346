"""Ranks in a collection of vectors in half precision, beside a count that goes over all pictures one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from viewfinder.evaluation.pictures import Pictures
from viewfinder.query import Part, Query
from viewfinder.search.ranking import Ranking
from viewfinder.store import half_rows
from viewfinder.store.half_rows import HalfRows
from viewfinder.testing import ColourEncoder

WIDTH = 48
ENCODER = ColourEncoder()
EIGHTHS = st.integers(-8, 8).map(lambda eighths: eighths / 8)
"""Sums of products of these are exact in float32, so that equal scores are equal."""


@pytest.fixture(autouse=True, scope="module")
def blocks_are_small() -> object:
    """So that few pictures are blocks of several sizes."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(half_rows, "CONVERTED_AT_ONCE", 4)
        patched.setattr(half_rows, "SHARED_OUT", 12)
        yield


@given(st.data(), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_a_rank_is_how_many_pictures_have_a_higher_score(data: st.DataObject, count: int) -> None:
    # Two numbers of each vector are not 0: many pictures tie.
    vectors_nd = np.zeros((count, WIDTH), np.float32)
    vectors_nd[:, :2] = data.draw(arrays.arrays(np.float32, (count, 2), elements=EIGHTHS))
    asked_d = np.zeros(WIDTH, np.float32)
    asked_d[:2] = data.draw(arrays.arrays(np.float32, 2, elements=EIGHTHS))
    ids = [f"{row:02}" for row in range(count)]
    excluded = data.draw(st.frozensets(st.sampled_from(ids)))
    gallery = Pictures(tuple(ids), vectors_nd, ENCODER).gallery()
    gallery.snapshot.matrix_nd = HalfRows(vectors_nd.astype(np.float16))
    ranking = Ranking(gallery, Query((Part("picture", 1, "", 1.0, asked_d),), excluded=excluded))
    score = {one: float(vector_d @ asked_d) for one, vector_d in zip(ids, vectors_nd, strict=True)}
    for one in ids:
        others = [score[other] for other in ids if other != one and other not in excluded]
        higher = sum(other > score[one] for other in others)
        ties = sum(other == score[one] for other in others)
        expected = (count - 1, count - 1) if one in excluded else (higher, higher + ties)
        assert ranking.rank_bounds(one) == expected
