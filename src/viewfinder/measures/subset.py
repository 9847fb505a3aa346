"""R_subset@k: recall among a few pictures that look alike, as CIRR reports it.

    R_subset@k = R@k among subset_q without reference_q

Every query comes with a subset of the gallery (six in CIRR) that holds its reference and its target. The
reference is taken out first, as the official evaluation does, so that chance is k/5 (Liu et al., "Image Retrieval
on Real-life Images with Pre-trained Vision-and-Language Models", ICCV 2021).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from viewfinder.measures.bounds import Bounds, Rows, score_bounds


def subset_bounds(
    scores_qn: Float[np.ndarray, "q n"],
    targets_q: Int[np.ndarray, " q"],
    references_q: Int[np.ndarray, " q"],
    subsets: Sequence[Rows],
    *,
    tie: float = 0.0,
) -> Bounds:
    """Best and worst rank of each target within its subset, the reference left out.

    R_subset@k is `expected_recall_at(k, *subset_bounds(...))`, or `recall_at` of the worst ranks.

    Args:
        scores_qn: a row of scores of the gallery a query.
        targets_q: rows of the gallery.
        references_q: rows of the gallery; one that is not in its subset is left out all the same.
        subsets: the rows of each query's subset, in any order.
        tie: scores that differ by no more are equal.

    Raises:
        ValueError: a target is not in its subset or is the reference, or the lengths do not fit.
    """
    if not len(scores_qn) == len(targets_q) == len(references_q) == len(subsets):
        raise ValueError(f"{len(subsets)} subsets for {len(scores_qn)} queries: a subset, target and reference each")
    bounds = np.zeros((2, len(targets_q)), dtype=np.int64)
    for query, (target, reference, rows_e) in enumerate(zip(targets_q, references_q, subsets, strict=True)):
        others_m = np.setdiff1d(rows_e, reference)
        place = np.flatnonzero(others_m == target)
        if not place.size:
            raise ValueError(f"target {target} of query {query}: it must be in its subset, and not be the reference")
        bounds[:, query] = np.ravel(score_bounds(scores_qn[query, others_m][None], place, tie=tie))
    return bounds[0], bounds[1]
