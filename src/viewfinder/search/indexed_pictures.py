"""Candidates for the best pictures of a large collection, from an index over it.

What answers and written words add (a prior, one number per picture) is not an inner product. So the pictures are
searched in layers of about equal prior, and the best of each are candidates: within a layer the inner product decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Int64, Shaped

from viewfinder.search.approximate import ApproximateIndex, encode_ids
from viewfinder.search.samples import SMALL_SAMPLE
from viewfinder.store.growing_arrays import release_rows

SCANNED = 3_000
"""Up to this many pictures all are scored, which costs about as much as a search of the index: each is read by
itself."""

COMPARED_AT_ONCE = 65_536
"""Ids that are compared at once."""

LOOKED_AHEAD, MAX_RUNS = 4096, 5000
"""Ids among which a run goes on after some that came or went, and how many runs are followed before the rest is
sorted."""

GOLDEN = (math.sqrt(5) - 1) / 2
"""The number whose multiples are spread most evenly."""

LAYERS = (0.999, 0.99, 0.9)
"""The layers begin above these shares of pictures with a lower prior; the few with the highest are all scored."""


@dataclass(frozen=True, eq=False)
class CandidateSearch:
    """How an index looks for the candidates of a query; the same on every machine that has a part of the pictures.

    Attributes:
        searches: queries, and how many of the best each is to find, besides as many as are excluded.
        against: whether a part of the query counts against pictures.
        deeper: into that many times as many lists.
        count: how many of the best pictures it is to find.
        keeps: how many of the candidates are scored, the best by the last of the searches; None: all.
        is_computed: whether something of the query is computed of each picture by itself, after the search.
    """

    searches: tuple[tuple[Float32[np.ndarray, " w"], int], ...]
    against: bool
    deeper: int
    count: int
    keeps: int | None = None
    is_computed: bool = False


class IndexedPictures:
    """An index over the rows of a snapshot: it may know pictures that have gone, and lack some that are new.

    `row_s` has the row of the picture in each slot, -1 for those that have gone; `lacking_k` the rows that it lacks.
    """

    def __init__(self, index: ApproximateIndex, ids: Sequence[str] | Shaped[np.ndarray, " n"]) -> None:
        """`ids` are those of the snapshot, by row, as texts or as `encode_ids` has them."""
        self.index = index
        self.size = len(index)
        ids_n = encode_ids(ids)
        self.row_s = find_rows(ids_n, index.ids_s).astype(np.int32)
        release_rows(index.ids_s)  # which are compared but once
        self._is_alike = len(ids_n) == self.size and bool((self.row_s == np.arange(self.size)).all())
        self.gone = int((self.row_s < 0).sum())
        known_n = np.zeros(len(ids_n), bool)
        known_n[self.row_s[self.row_s >= 0]] = True
        self.lacking_k = np.flatnonzero(~known_n)

    def best(
        self,
        query_w: Float32[np.ndarray, " w"],
        count: int,
        allowed_n: Bool[np.ndarray, " n"] | None = None,
        *,
        against: bool = False,
        deeper: int = 1,
    ) -> Int64[np.ndarray, " k"]:
        """Rows of about the best `count` of the pictures that it knows and that are allowed."""
        if allowed_n is None:
            rows_k = self.row_s[self.index.search(query_w, count + self.gone, against=against, deeper=deeper)]
            return np.asarray(rows_k[rows_k >= 0], np.int64)
        allowed_s = allowed_n if self._is_alike else allowed_n[self.row_s] & (self.row_s >= 0)
        slots_k = self.index.search(query_w, count, against=against, allowed_s=allowed_s, deeper=deeper)
        return np.asarray(self.row_s[slots_k], np.int64)

    def candidates(
        self,
        searches: Sequence[tuple[Float32[np.ndarray, " w"], int]],
        *,
        against: bool = False,
        prior_n: Float32[np.ndarray, " n"] | None = None,
        allowed_n: Bool[np.ndarray, " n"] | None = None,
        deeper: int = 1,
    ) -> Int64[np.ndarray, " c"]:
        """Rows, ascending, that hold about the best by inner product plus prior, and some others.

        `searches`: queries, and how many of the best each is to find. `against`: whether a part of them counts against
        pictures. `deeper`: into that many times as many lists.
        """
        found = [self.lacking_k if allowed_n is None else self.lacking_k[allowed_n[self.lacking_k]]]
        for layer_n in split_layers(prior_n, allowed_n):
            if layer_n is not None and np.count_nonzero(layer_n) <= SCANNED:
                found.append(np.flatnonzero(layer_n))
            else:
                found += [
                    self.best(query_w, count, layer_n, against=against, deeper=deeper) for query_w, count in searches
                ]
        return np.unique(np.concatenate(found))


def find_rows(ids_n: Shaped[np.ndarray, " n"], ids_s: Shaped[np.ndarray, " s"]) -> Int64[np.ndarray, " s"]:
    """The row of each id of `ids_s` among `ids_n`, -1 where it is not there; no id is twice on either side.

    As a rule the same ids stand in the same order, and some have come or gone between them: runs of equal ones are
    compared as bytes, which of ten million takes a tenth of the time of sorting them, and the rest is looked up.
    """
    row_s = np.full(len(ids_s), -1, np.int64)
    others_n, others_s = list[slice](), list[slice]()
    row = slot = 0
    for _ in range(MAX_RUNS):
        run = count_alike(ids_n[row:], ids_s[slot:])
        row_s[slot : slot + run] = np.arange(row, row + run)
        row, slot = row + run, slot + run
        if row == len(ids_n) or slot == len(ids_s):
            break
        come = np.flatnonzero(ids_n[row : row + LOOKED_AHEAD] == ids_s[slot])
        gone = np.flatnonzero(ids_s[slot : slot + LOOKED_AHEAD] == ids_n[row])
        if len(come) and (not len(gone) or come[0] <= gone[0]):
            others_n.append(slice(row, row := row + int(come[0])))
        elif len(gone):
            others_s.append(slice(slot, slot := slot + int(gone[0])))
        else:  # one went where another came
            others_n.append(slice(row, row := row + 1))
            others_s.append(slice(slot, slot := slot + 1))
    rows_k, slots_k = (
        np.concatenate([np.arange(some.start, some.stop) for some in others])
        for others in ((*others_n, slice(row, len(ids_n))), (*others_s, slice(slot, len(ids_s))))
    )
    if len(rows_k) and len(slots_k):
        rows_k = rows_k[np.argsort(ids_n[rows_k], kind="stable")]
        place_k = np.minimum(np.searchsorted(ids_n[rows_k], ids_s[slots_k]), len(rows_k) - 1)
        found_k = rows_k[place_k]
        row_s[slots_k] = np.where(ids_n[found_k] == ids_s[slots_k], found_k, -1)
    return row_s


def count_alike(ids_n: Shaped[np.ndarray, " n"], other_m: Shaped[np.ndarray, " m"]) -> int:
    """How many ids from the first on are the same on both sides."""
    count = min(len(ids_n), len(other_m))
    for start in range(0, count, COMPARED_AT_ONCE):
        block = slice(start, min(start + COMPARED_AT_ONCE, count))
        if not are_equal(ids_n[block], other_m[block]):
            return start + int((ids_n[block] != other_m[block]).argmax())
    return count


def are_equal(ids_n: Shaped[np.ndarray, " n"], other_n: Shaped[np.ndarray, " n"]) -> bool:
    """Whether these are the same ids, as many on either side; as bytes they are compared ten times as fast."""
    if ids_n.dtype != other_n.dtype:
        return bool((ids_n == other_n).all())
    return np.array_equal(np.ascontiguousarray(ids_n).view(np.uint8), np.ascontiguousarray(other_n).view(np.uint8))


def spread_rows(size: int, count: int) -> Int64[np.ndarray, " k"]:
    """`count` of `size` rows, spread evenly, and not in step with anything: what comes with every other row is in every
    other one of them."""
    return np.asarray(np.arange(count) * GOLDEN % 1 * size, np.int64)


def split_layers(
    prior_n: Float32[np.ndarray, " n"] | None, allowed_n: Bool[np.ndarray, " n"] | None
) -> Iterator[Bool[np.ndarray, " n"] | None]:
    """The allowed pictures in layers of falling prior; None: all pictures."""
    if prior_n is None:
        yield allowed_n
        return
    sample_k = prior_n if len(prior_n) <= SMALL_SAMPLE else prior_n[spread_rows(len(prior_n), SMALL_SAMPLE)]
    # Between two of the sample's numbers there is no border: half of a collection may have the same number.
    borders, highest = np.quantile(sample_k, LAYERS, method="higher").tolist(), np.inf
    for border in (*borders, -np.inf):
        layer_n = (prior_n <= highest) & (prior_n > border)  # those of which nothing is known share the lowest prior
        highest = border
        if allowed_n is not None:
            layer_n &= allowed_n
        if layer_n.any():
            yield layer_n
