"""How long a job will still take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.store.adding_note import HALF_LIFE_S, Eta


def _noted(*notes: tuple[int, float], total: int = 100) -> Eta:
    eta = Eta()
    for done, at in notes:
        eta.note(done, total, at)
    return eta


def test_nothing_is_foretold_before_a_speed_was_seen() -> None:
    assert Eta().left_s(0.0) is None
    assert _noted((10, 5.0)).left_s(6.0) is None


def test_what_is_left_at_the_speed_so_far_less_the_time_since() -> None:
    eta = _noted((0, 100.0), (20, 110.0))  # two a second, 80 to go
    assert eta.left_s(110.0) == pytest.approx(40.0)
    assert eta.left_s(113.0) == pytest.approx(37.0)
    assert eta.left_s(1000.0) == 0.0


def test_preparation_before_the_first_note_does_not_count() -> None:
    assert _noted((40, 300.0), (70, 310.0)).left_s(310.0) == pytest.approx(10.0)


def test_one_slow_batch_after_a_half_life_counts_as_much_as_what_came_before_halved() -> None:
    eta = _noted((0, 0.0), (20, 10.0), (20, 10.0 + HALF_LIFE_S))  # 20 in 10 s, then none in a half life
    left = 80 * (10 / 2 + HALF_LIFE_S) / (20 / 2)
    assert eta.left_s(10.0 + HALF_LIFE_S) == pytest.approx(left)


@given(st.integers(1, 50), st.floats(0.1, 30.0), st.integers(2, 20))
def test_a_steady_speed_is_foretold_exactly(batch: int, seconds: float, batches: int) -> None:
    total = batch * 40
    eta = _noted(*((batch * number, seconds * number) for number in range(batches)), total=total)
    to_go = 40 - (batches - 1)
    assert eta.left_s(seconds * (batches - 1)) == pytest.approx(seconds * to_go, rel=1e-6)
