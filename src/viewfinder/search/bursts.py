"""Pictures of one burst: in the same folder, seconds apart, and near in looks; and copies of one moment."""

from __future__ import annotations

from pathlib import PurePath

import numpy as np
from jaxtyping import Bool, Float32, Int32, Int64

from viewfinder.store.snapshot import Snapshot

MAX_GAP_S = 10
"""Between two pictures of a burst."""

MAX_DISTANCE = 0.25
"""Between two pictures of a burst, where 1 is the usual distance between pictures that have nothing to do with another.

Of 1,130 photographs of different things, one pair in a thousand is as near; moments of one scene nearly always are.
"""

MAX_BURST = 200
"""Pictures of one burst: a film in pictures is several."""

SECONDS = 19
"""Letters of a moment that is known to the second."""

USUAL_PAIRS = 2000
"""Pairs by which the usual distance is measured."""


def number_bursts(snapshot: Snapshot) -> Int32[np.ndarray, " n"]:
    """The number of each picture's burst, from 0; -1 for pictures that are of none."""
    if not snapshot.has_moments():
        return np.full(len(snapshot), -1, np.int32)
    # The space says by which encoder and which settings the vectors are.
    return snapshot.derived(f"bursts-1-{snapshot.space}", _find_bursts).astype(np.int32)


def _find_bursts(snapshot: Snapshot) -> Int32[np.ndarray, " n"]:
    number_n = np.full(len(snapshot), -1, np.int32)
    rows_k, seconds_k = _list_moments(snapshot)
    gap_p = np.diff(seconds_k)
    close_p = gap_p <= MAX_GAP_S
    before, after = rows_k[:-1][close_p], rows_k[1:][close_p]
    alike_p = np.zeros(len(close_p), bool)
    alike_p[close_p] = _are_near(snapshot, before, after) & _are_together(snapshot, before, after, gap_p[close_p])
    number = length = 0
    for place in np.flatnonzero(alike_p).tolist():
        first, second = int(rows_k[place]), int(rows_k[place + 1])
        if number_n[first] < 0:
            number, length = number + 1, 1
            number_n[first] = number - 1
        elif length >= MAX_BURST:
            continue  # the next pair begins another one
        number_n[second] = number_n[first]
        length += 1
    return number_n


def _list_moments(snapshot: Snapshot) -> tuple[Int64[np.ndarray, " k"], Int64[np.ndarray, " k"]]:
    """The pictures of which the second is known, by their moments, and those moments in seconds."""
    known = [
        (moment[:SECONDS], row)
        for row, moment in enumerate(snapshot.moments(range(len(snapshot))))
        if len(moment) >= SECONDS
    ]
    known.sort()
    rows_k = np.array([row for _, row in known], np.int64)
    moments_k = np.array([moment for moment, _ in known], "datetime64[s]")
    return rows_k, moments_k.astype(np.int64)


def _are_near(
    snapshot: Snapshot, before: Int64[np.ndarray, " p"], after: Int64[np.ndarray, " p"]
) -> Bool[np.ndarray, " p"]:
    """Whether pictures look alike, by how alike those of this collection are as a rule."""
    near_p: Bool[np.ndarray, " p"]
    near_p = compare_looks(snapshot, before, after) >= 1 - MAX_DISTANCE * (1 - measure_usual(snapshot))
    return near_p


def measure_usual(snapshot: Snapshot) -> float:
    """The usual cosine between two pictures that have nothing to do with another, from a sample."""
    some = np.linspace(0, len(snapshot) - 1, min(USUAL_PAIRS, len(snapshot))).astype(np.int64)
    return float(np.median(compare_looks(snapshot, some, np.roll(some, len(some) // 2))))


def compare_looks(
    snapshot: Snapshot, some: Int64[np.ndarray, " p"], others: Int64[np.ndarray, " p"]
) -> Float32[np.ndarray, " p"]:
    """The cosines of pairs of pictures, by row."""
    if not len(some):
        return np.zeros(0, np.float32)
    one_pd = np.asarray(snapshot.matrix_nd[some], np.float32)
    other_pd = np.asarray(snapshot.matrix_nd[others], np.float32)
    return np.asarray(np.einsum("pd,pd->p", one_pd, other_pd))


def _are_together(
    snapshot: Snapshot, before: Int64[np.ndarray, " p"], after: Int64[np.ndarray, " p"], gap_p: Int64[np.ndarray, " p"]
) -> Bool[np.ndarray, " p"]:
    """Whether pictures lie in one folder; copies of the very same moment may lie anywhere."""
    pairs = zip(snapshot.paths_of(before.tolist()), snapshot.paths_of(after.tolist()), strict=True)
    shared = [PurePath(one[0]).parent == PurePath(other[0]).parent for one, other in pairs]
    together_p: Bool[np.ndarray, " p"] = np.array(shared, bool) | (gap_p == 0)
    return together_p
