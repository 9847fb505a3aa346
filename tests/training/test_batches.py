from collections.abc import Iterator
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.errors import BadInput
from viewfinder.training import shuffled
from viewfinder.training.batches import take_share


def _rows(count: int, batch: int, epoch: int, seed: int = 3) -> list[list[int]]:
    return list(shuffled(count, batch, lambda rows: rows.tolist(), epoch=epoch, seed=seed))


def test_an_epoch_has_every_row_once_in_an_order_of_its_own() -> None:
    first, second = _rows(12, 4, epoch=1), _rows(12, 4, epoch=2)
    assert [len(batch) for batch in first] == [4, 4, 4]
    assert sorted(chain(*first)) == sorted(chain(*second)) == list(range(12))
    assert first != second and first == _rows(12, 4, epoch=1) != _rows(12, 4, epoch=1, seed=4)


def test_rows_that_fill_no_batch_are_left_out_and_other_ones_each_epoch() -> None:
    left_out = [set(range(10)) - set(chain(*_rows(10, 4, epoch))) for epoch in (1, 2, 3)]
    assert [len(rows) for rows in left_out] == [2, 2, 2] and left_out[0] != left_out[1]


def test_a_batch_is_made_only_when_it_is_asked_for() -> None:
    made: list[int] = []
    batches = shuffled(40, 4, lambda rows: made.append(len(rows)), epoch=1, seed=3)
    assert len(batches) == 10 and not made
    list(take_share(batches, rank=0, processes=1, done=8))
    assert made == [4, 4]


def test_too_few_rows_for_a_batch_are_refused() -> None:
    with pytest.raises(BadInput, match="3 samples do not fill a batch of 4; choose a smaller batch"):
        _rows(3, 4, epoch=1)
    with pytest.raises(BadInput, match="a batch of 0 cannot be shared by 1 processes"):
        _rows(3, 0, epoch=1)


def test_two_processes_take_turns_and_the_odd_batch_is_left_out() -> None:
    assert list(take_share("abcdefg", rank=0, processes=2, done=0)) == ["a", "c", "e"]
    assert list(take_share("abcdefg", rank=1, processes=2, done=0)) == ["b", "d", "f"]
    assert list(take_share("abcdefg", rank=1, processes=2, done=2)) == ["f"]


@given(st.integers(0, 12), st.integers(1, 4), st.integers(0, 5))
def test_a_stream_is_shared_as_a_sequence_is(count: int, processes: int, done: int) -> None:
    def stream() -> Iterator[int]:
        yield from range(count)

    for rank in range(processes):
        expected = list(take_share(range(count), rank=rank, processes=processes, done=done))
        assert list(take_share(stream(), rank=rank, processes=processes, done=done)) == expected
