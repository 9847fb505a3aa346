"""Two small worlds, made once, and an encoder that tells colours apart."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = (sys.executable, "-c", "from viewfinder.cli import main; main()")


def made(folder: Path, *arguments: str) -> Path:
    """A world, in a process of its own: under the type checks drawing takes ten times as long."""
    subprocess.run([*PROGRAM, "world", str(folder), *arguments, "--seed", "5"], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """39 scenes, 6 of them for testing."""
    return made(tmp_path_factory.mktemp("evaluation") / "scenes", "--kind", "scenes", "--count", "39")


@pytest.fixture(scope="session")
def goods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drawn catalogue."""
    return made(tmp_path_factory.mktemp("evaluation") / "goods", "--kind", "catalogue", "--count", "120")
