from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import viewfinder
from viewfinder.errors import BadInput
from viewfinder.library import Library
from viewfinder.server.live_library import LiveLibrary
from viewfinder.testing import tiny_pictures

pytestmark = pytest.mark.slow  # the encoder in the box, in processes of their own


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return viewfinder.open(tmp_path / "library")


@pytest.fixture
def live(library: Library) -> Iterator[LiveLibrary]:
    served = LiveLibrary(library.folder, library.settings)
    yield served
    served.stop()


def eventually(what: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, "it did not come within a minute"
        time.sleep(0.05)


def test_pictures_that_come_in_are_served_soon_and_nobody_waits_for_them(
    library: Library, live: LiveLibrary, tmp_path: Path
) -> None:
    tiny_pictures(tmp_path / "first", 3)
    tiny_pictures(tmp_path / "second", 8)
    library.add(tmp_path / "first")
    live.start()
    eventually(lambda: len(live.gallery()) == 3)
    before = live.gallery()
    library.add(tmp_path / "second")
    assert live.gallery() is before or len(live.gallery()) == 8
    eventually(lambda: len(live.gallery()) == 8)
    assert live.gallery().snapshot.generation == library.gallery().snapshot.generation


def test_a_snapshot_that_is_missing_is_made_in_a_process_of_its_own(
    library: Library, live: LiveLibrary, tmp_path: Path
) -> None:
    tiny_pictures(tmp_path / "pictures", 4)
    library.add(tmp_path / "pictures")
    mark = live._make_snapshot()
    assert mark == library.gallery().snapshot.generation


def test_a_library_without_pictures_says_so_until_some_come(
    library: Library, live: LiveLibrary, tmp_path: Path
) -> None:
    live.start()
    with pytest.raises(BadInput, match="holds no pictures yet"):
        live.gallery()
    tiny_pictures(tmp_path / "pictures", 2)
    library.add(tmp_path / "pictures")
    live.look_now()
    eventually(lambda: _count(live) == 2)


def _count(live: LiveLibrary) -> int:
    try:
        return len(live.gallery())
    except BadInput:
        return 0
