"""One Ray of this machine for all tests of a process, with room for a few small actors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from viewfinder.cluster import LOCAL, ray_session


@pytest.fixture(scope="session")
def ray() -> Iterator[Any]:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    with ray_session(LOCAL, cpus=4) as begun:
        yield begun
