"""One Ray of this machine for all tests of a process, with room for a few small actors."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from viewfinder.cluster import LOCAL, ray_session


@pytest.fixture(scope="session")
def ray() -> Iterator[Any]:
    if find_spec("ray") is None:  # not imported: it reads its settings then
        pytest.skip("the extra `ray` is not installed")
    with ray_session(LOCAL, cpus=4) as begun:
        yield begun
