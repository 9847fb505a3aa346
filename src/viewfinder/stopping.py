"""Stops long work between its steps: code that may take long calls `stop_if_asked`, its caller says when to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Stopped(BaseException):
    """The result of this work is no longer wanted. Not an `Exception`, so that code that catches those lets it pass."""


_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("_CHECK", default=None)


def stop_if_asked() -> None:
    """Called between the steps of long work, before anything lasting is changed. Raises Stopped."""
    check = _CHECK.get()
    if check is not None:
        check()


def is_stop_asked() -> bool:
    """Whether `stop_if_asked` would end the work."""
    try:
        stop_if_asked()
    except Stopped:
        return True
    return False


@contextmanager
def stoppable(check: Callable[[], None] | None) -> Iterator[None]:
    """Inside, `check` may stop this thread's work by raising Stopped or a subclass; with None nothing stops it."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)
