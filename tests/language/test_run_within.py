import threading

import pytest

from viewfinder.language.base import run_within


def test_work_that_is_done_in_time_returns_what_it_made() -> None:
    assert run_within(60.0, lambda: "done", daemon=True) == "done"


def test_an_error_of_the_work_is_raised_where_it_is_waited_for() -> None:
    def work() -> str:
        raise LookupError("not there")

    with pytest.raises(LookupError, match="not there"):
        run_within(60.0, work, daemon=True)


def test_work_that_hangs_is_waited_for_no_longer_than_agreed() -> None:
    released = threading.Event()
    with pytest.raises(TimeoutError):
        run_within(0.05, released.wait, daemon=True)
    released.set()
