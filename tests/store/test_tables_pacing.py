"""Batches as long as a second or two of work; what a process must be allowed for them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from viewfinder.store import tables
from viewfinder.store.tables import pace_batches


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still until a test moves its one number."""
    now = [100.0]
    monkeypatch.setattr(tables, "monotonic", lambda: now[0])
    return now


def sizes(clock: list[float], seconds_each: float, count: int = 1000) -> list[int]:
    """Sizes of the batches when every item takes this long."""
    found = []
    for batch in pace_batches(iter(range(count))):
        clock[0] += seconds_each * len(batch)
        found.append(len(batch))
    return found


def test_the_first_batch_measures_and_the_next_ones_take_a_second_and_a_half(clock: list[float]) -> None:
    assert sizes(clock, 1 / 64, 300) == [16, 96, 96, 92]  # 1.5 s x 64


def test_no_batch_is_larger_than_the_most_or_smaller_than_half_the_first(clock: list[float]) -> None:
    assert sizes(clock, 0.0001) == [16, 256, 256, 256, 216]
    assert sizes(clock, 5.0, 32) == [16, 8, 8]


def test_slow_work_ends_no_earlier_where_batches_are_small(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "FIRST_BATCH", 2)
    assert sizes(clock, 60.0, 5) == [2, 1, 1, 1]


def test_items_come_in_their_order_and_no_earlier_than_needed(clock: list[float]) -> None:
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for number in range(20):
            drawn.append(number)
            yield number

    batches = pace_batches(items())
    assert next(batches) == list(range(16)) == drawn
    assert [number for batch in batches for number in batch] == list(range(16, 20))


def test_nothing_to_do_is_no_batch() -> None:
    assert list(pace_batches(iter([]))) == []


@pytest.mark.afresh
def test_too_few_open_files_are_said_before_anything_panics() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12)); "
        "from viewfinder.store.tables import check_descriptors; check_descriptors()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.endswith("this process may open 12 files only, 64 are needed: raise `ulimit -n`\n")
