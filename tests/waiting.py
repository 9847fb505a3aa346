"""Waiting for what another thread or process brings about."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 120  # of a machine that is busy with other tests; what comes at once costs nothing of it


def wait_until(holds: Callable[..., bool], *given: object) -> None:
    """Returns as soon as it holds; fails if it does not come."""
    end = time.monotonic() + PATIENCE_S
    while not holds(*given):
        assert time.monotonic() < end, "this did not come"
        time.sleep(0.02)
