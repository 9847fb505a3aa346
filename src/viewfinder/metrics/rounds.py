"""The ranks of dialogues, round by round: checked, and carried over the rounds that a dialogue does not have."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Real


def carry_ranks(ranks_st: Real[np.ndarray, "s t"]) -> Float[np.ndarray, "s t"]:
    """Ranks in which a round without one (NaN) has the rank of the round before.

    A dialogue that has no such round said nothing new, so its target stays where it was.

    >>> carried(np.array([[30, 4, np.nan], [7, np.nan, 2]]))
    array([[30.,  4.,  4.],
           [ 7.,  7.,  2.]])

    Raises:
        ValueError: there is no dialogue or no round, the first round has no rank, or a rank is negative.
    """
    if not ranks_st.size:
        raise ValueError(f"{ranks_st.shape[0]} dialogues of {ranks_st.shape[1]} rounds: a measure needs one of each")
    wrong = np.argwhere(ranks_st < 0)
    if wrong.size:
        raise ValueError(f"rank {ranks_st[tuple(wrong[0])]}: ranks are 0 or more")
    empty = np.flatnonzero(np.isnan(ranks_st[:, 0]))
    if empty.size:
        raise ValueError(f"dialogue {empty[0]} has no rank in its first round: there is nothing to carry on")
    last_st = np.where(np.isnan(ranks_st), 0, np.arange(ranks_st.shape[1]))
    return np.take_along_axis(ranks_st, np.maximum.accumulate(last_st, axis=1), axis=1).astype(np.float64)
