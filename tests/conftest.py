"""A retriever for tests that need regions; and property tests that can be repeated: they draw the same every time.

`HYPOTHESIS_PROFILE=explore make test` draws new ones.
"""

from __future__ import annotations

import gc
import os
import runpy
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from tests import preforked
from viewfinder import plugins
from viewfinder.conversation import Say
from viewfinder.encoders.base import REGIONS
from viewfinder.query import Part, Query, RawPictures, Reads, RegionSpace, ResolvedTurn
from viewfinder.retrievers import Retriever
from viewfinder.testing import COLOURS

Array = np.ndarray[Any, np.dtype[Any]]

# xdist has a process a core: more threads than that would wait for one another. torch reads it when it is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Nothing of the user's is read or written: servers leave notes of themselves there.
os.environ.setdefault("XDG_STATE_HOME", str(Path(tempfile.gettempdir()) / "viewfinder-tests-state"))
# There are millions of objects that stay (torch, 7,400 tests): looking through them as often as Python does by itself
# takes a twentieth of the time.
gc.set_threshold(20_000, 20, 100)
settings.register_profile("repeatable", max_examples=50, derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_configure() -> None:
    """Programs that tests start are forked where that makes no difference."""
    if sys.platform == "linux":
        preforked.install()


EARLY = ("tests/server/page", "tests/cli", "tests/server")
"""Folders that take longest: a worker that begins one of their files last would work on alone."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """They come first."""

    def find_place(item: pytest.Item) -> int:
        folder = item.path.relative_to(config.rootpath).as_posix()
        return next((place for place, early in enumerate(EARLY) if folder.startswith(f"{early}/")), len(EARLY))

    items.sort(key=find_place)


def pytest_collection_finish() -> None:
    """What was imported and collected stays: it is not looked through for garbage again and again."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """But for tests where it does."""
    preforked.Popen.afresh = item.get_closest_marker("afresh") is not None


@pytest.fixture(autouse=True)
def no_parts_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test raises is not blamed on a part that another test made: they all are of one package."""
    monkeypatch.setattr(plugins, "_origins", {})


class LooksAtRegions:
    """A retriever that turns what was said and the pictures' regions at random, alike, and compares them.

    What is said stands for the mean colour it names (of `ColourEncoder`), or for a direction of its own. It takes no
    other turns and says so.
    """

    name = "looks-at-regions"

    def __init__(self, raw_version: str, width: int) -> None:
        self._turn_ed = np.random.default_rng(5).standard_normal((width, 16)).astype(np.float32)
        self.space = RegionSpace(f"turned-{width}", raw_version, self.project, REGIONS, 16)
        self.reads = Reads(self.space)

    def project(self, raw: RawPictures) -> Array:
        assert raw.regions_nre is not None
        return self.turned(raw.regions_nre)

    def turned(self, vectors: Array) -> Array:
        turned = np.asarray(vectors, np.float32) @ self._turn_ed
        lengths = np.linalg.norm(turned, axis=-1, keepdims=True)
        return np.asarray(turned / np.maximum(lengths, 1e-9), np.float32)

    def begin(self) -> tuple[ResolvedTurn, ...]:
        return ()

    def step(self, state: tuple[ResolvedTurn, ...], turn: ResolvedTurn) -> tuple[ResolvedTurn, ...]:
        return (*state, turn)

    def query(self, state: tuple[ResolvedTurn, ...]) -> Query:
        heard = [turn for turn in state if isinstance(turn.turn, Say)]
        others = tuple(f"drop: turn {turn.number}" for turn in state if turn not in heard)
        parts = tuple(Part("regions", turn.number, turn.text, 1.0, self._meant(turn.text)) for turn in heard)
        return Query(parts, self.space, "late_interaction", adapters=others)

    def _meant(self, text: str) -> Array:
        if text in COLOURS and len(self._turn_ed) == 3:
            return self.turned(np.array(COLOURS[text]) / 255 - 0.5)
        return self.turned(np.random.default_rng(zlib.crc32(text.encode())).standard_normal(len(self._turn_ed)))


@pytest.fixture
def looks_at_regions() -> Callable[[str, int], LooksAtRegions]:
    """Makes such a retriever, for raw vectors of a version and regions of so many numbers."""
    return LooksAtRegions


@pytest.fixture(scope="session")
def looks_back() -> Callable[[], Retriever[Any]]:
    """Makes a retriever that tells what turns do with earlier ones: see tests/looks_back.py."""
    made: Callable[[], Retriever[Any]] = runpy.run_path(str(Path(__file__).with_name("looks_back.py")))["LooksBack"]
    return made


@pytest.fixture(scope="session")
def talker() -> Callable[..., Retriever[Any]]:
    """Makes a retriever that answers questions in words: see tests/talker.py."""
    made: Callable[..., Retriever[Any]] = runpy.run_path(str(Path(__file__).with_name("talker.py")))["Talker"]
    return made


@pytest.fixture
def without_root() -> Callable[[], AbstractContextManager[None]]:
    """Permissions do not stop root: as root, become nobody for a while."""

    @contextmanager
    def nobody() -> Iterator[None]:
        if os.geteuid() != 0:
            yield
            return
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)

    return nobody


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any user can reach (pytest's own are for one user only)."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for place in folder.rglob("*"):
        place.chmod(0o755)
    shutil.rmtree(folder)
