from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.byte_cache import ByteCache, size_of


@dataclass(frozen=True, eq=False)
class Held:
    """A state as retrievers have them: numbers, and a function that belongs to somebody else."""

    numbers: tuple[np.ndarray, ...]
    words: object = len


def test_a_state_weighs_what_its_arrays_weigh_each_once() -> None:
    one = np.zeros(1000, np.float32)
    assert 4000 < size_of(Held((one,))) < 4600
    assert 4000 < size_of(Held((one, one))) < 4600
    assert 8000 < size_of(Held((one, one.copy()))) < 8900


def test_the_least_recently_used_state_goes_first() -> None:
    memo = ByteCache(2 * size_of(1))
    memo.put(("a",), 1)
    memo.put(("b",), 2)
    assert memo.get(("a",)) == 1
    memo.put(("c",), 3)
    assert [memo.get((key,)) for key in "abc"] == [1, None, 3]


def test_the_newest_state_stays_however_large() -> None:
    memo = ByteCache(0)
    memo.put(("a",), np.zeros(10))
    memo.put(("b",), np.zeros(10))
    assert memo.get(("a",)) is None and memo.get(("b",)) is not None


def test_a_lower_limit_holds_at_once() -> None:
    memo = ByteCache()
    for key in "abcd":
        memo.put((key,), np.zeros(100))
    memo.limit(memo.bytes // 2)
    assert len(memo) == 2 and memo.bytes <= memo.max_bytes


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 60)), max_size=30))
def test_the_bytes_counted_are_those_of_what_is_kept(puts: list[tuple[str, int]]) -> None:
    memo, kept = ByteCache(3000), {}
    for key, width in puts:
        kept[key] = np.zeros(width)
        memo.put((key,), kept[key])
        there = [kept[key] for key in kept if memo.get((key,)) is not None]
        assert memo.bytes == sum(map(size_of, there))
        assert memo.bytes <= 3000 or len(memo) == 1
