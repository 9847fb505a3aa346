"""Work that may take too long, and what waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def run_within(seconds: float, work: Callable[[], Result], *, daemon: bool) -> Result:
    """What `work` returns, or raises, if it is done in so many seconds.

    Args:
        seconds: how long to wait.
        work: is run in a thread of its own, which goes on when nobody waits any more.
        daemon: whether the program may end before it does. Not for work in native code, which does not bear it.

    Raises:
        TimeoutError: it is not done yet.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised again by who waits
            errors.append(error)

    thread = threading.Thread(target=run, name="language-model", daemon=daemon)
    thread.start()
    thread.join(max(seconds, 0.0))
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError
    return results[0]
