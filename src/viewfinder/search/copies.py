"""Pictures that are nearly the same: packed again, in another format, cut a little, brighter, or tiny copies."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int32, Int64, UInt64

from viewfinder.search.bursts import MAX_BURST, compare_looks, measure_usual
from viewfinder.store.snapshot import Snapshot

MAX_DISTANCE = 0.06
"""Between two copies, where 1 is the usual distance between pictures that have nothing to do with another.

Of photographs of 500 pixels, nearly all that were packed again as JPEG are as near, nine in ten that were cut by a
thirtieth of their sides or are copies of 160 pixels, half of those at two thirds of the size, and few at half of it,
which the starter encoder sees otherwise. Of the twelve million pairs among 5,000 different photographs, one is; at
0.15, which would have many of the halves, 323 are.
"""

MAX_SHARE = 0.15
"""How far copies are apart at most, of the usual distance of a picture to the fifth that is nearest.

In a shop or among drawings all pictures are near each other, and what is sold as two is no copy.
"""

MAX_STRETCH = 1.04
"""By how much the shapes (width by height) of two copies differ at most."""

MIN_PICTURES = 20
"""In fewer there is no telling what distance is usual."""

SAMPLE, OTHERS = 400, 20_000
"""Pictures whose neighbours are looked for, and among how many."""

SIGNS = 256
"""Bits of a picture: on which sides of as many fixed planes it lies. Copies differ in few of them (Charikar 2002)."""

ORDERS, WINDOW = 16, 8
"""In how many orders of their bits pictures are compared, each with how many that follow it."""

SPREAD = 4.0
"""By how many standard deviations more bits may differ than the widest distance of two copies makes differ."""


def number_copies(snapshot: Snapshot) -> Int32[np.ndarray, " n"]:
    """The number of each picture's group of copies, from 0; -1 for pictures without any."""
    return snapshot.derived(f"copies-1-{snapshot.space}", _find_copies).astype(np.int32)


def _find_copies(snapshot: Snapshot) -> Int32[np.ndarray, " n"]:
    number_n = np.full(len(snapshot), -1, np.int32)
    if len(snapshot) < MIN_PICTURES:
        return number_n
    groups: list[list[int]] = []
    for before, after in _list_pairs(snapshot):
        mine, theirs = int(number_n[before]), int(number_n[after])
        group = groups[mine] if mine >= 0 else [before]
        joined = [*group, *(groups[theirs] if theirs >= 0 else [after])]
        if (mine >= 0 and mine == theirs) or len(joined) > MAX_BURST:
            continue
        number_n[joined] = len(groups)
        groups.append(joined)
    _, number_n[number_n >= 0] = np.unique(number_n[number_n >= 0], return_inverse=True)
    return number_n


def measure_farthest(snapshot: Snapshot) -> float:
    """How far two copies are apart at most in a collection, as 1 - their cosine."""
    rows_s, rows_o = (
        np.unique(np.linspace(0, len(snapshot) - 1, count).astype(np.int64)) for count in (SAMPLE, OTHERS)
    )
    some_sd, others_od = (np.asarray(snapshot.matrix_nd[rows], np.float32) for rows in (rows_s, rows_o))
    # The sixth, as a picture that is among the others is the nearest to itself.
    fifth_s = np.sort(some_sd @ others_od.T, axis=1)[:, -6]
    return min(MAX_DISTANCE * (1 - measure_usual(snapshot)), MAX_SHARE * (1 - float(np.median(fifth_s))))


def _list_pairs(snapshot: Snapshot) -> list[tuple[int, int]]:
    """Pairs of copies, by row: the first before the second."""
    farthest = measure_farthest(snapshot)
    share = float(np.arccos(np.clip(1 - farthest, -1, 1))) / np.pi
    most = SIGNS * share + SPREAD * np.sqrt(SIGNS * share * (1 - share))
    signs_nw = snapshot.derived(f"signs-1-{snapshot.space}", _sign, by_row=True)
    found = [_compare_neighbours(signs_nw, order, most) for order in range(ORDERS)]
    pairs_p2 = np.unique(np.sort(np.concatenate(found), axis=1), axis=0)
    before_p, after_p = pairs_p2[:, 0], pairs_p2[:, 1]
    near_p = compare_looks(snapshot, before_p, after_p) >= 1 - farthest
    near = zip(before_p[near_p].tolist(), after_p[near_p].tolist(), strict=True)
    return [pair for pair in near if _have_one_shape(snapshot, *pair)]


def _sign(snapshot: Snapshot) -> UInt64[np.ndarray, "n w"]:
    """The bits of pictures, 64 to a number."""
    width = snapshot.matrix_nd.shape[1]
    planes_dk = np.random.default_rng(0).standard_normal((width, SIGNS)).astype(np.float32)
    blocks = [snapshot.matrix_nd[first : first + 4096] for first in range(0, len(snapshot), 4096)]
    bits = [np.packbits(np.asarray(block, np.float32) @ planes_dk > 0, axis=1) for block in blocks]
    return np.concatenate(bits).view(np.uint64)


def _compare_neighbours(signs_nw: UInt64[np.ndarray, "n w"], order: int, most: float) -> Int64[np.ndarray, "p 2"]:
    """Pairs that stand near each other in one order of their bits, and differ in few of all."""
    words = signs_nw.shape[1]
    word_n, turn = signs_nw[:, order % words], np.uint64(16 * (order // words) % 64)
    turned_n = (word_n << turn) | (word_n >> (np.uint64(64) - turn)) if turn else word_n
    rows_n = np.argsort(turned_n, kind="stable")
    found = []
    for step in range(1, WINDOW + 1):
        before_p, after_p = rows_n[:-step], rows_n[step:]
        differ_p = np.bitwise_count(signs_nw[before_p] ^ signs_nw[after_p]).sum(axis=1, dtype=np.int64)
        few_p = differ_p <= most
        found.append(np.stack([before_p[few_p], after_p[few_p]], axis=1))
    return np.concatenate(found)


def _have_one_shape(snapshot: Snapshot, before: int, after: int) -> bool:
    """Whether two pictures are as wide for their height as each other."""
    (width, height), (other_width, other_height) = snapshot.size(before), snapshot.size(after)
    one, other = width * other_height, other_width * height
    return max(one, other) <= MAX_STRETCH * min(one, other)
