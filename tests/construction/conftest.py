"""A world of forty drawn scenes, and pictures of colours with captions, made once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from viewfinder.testing import tiny_pictures

PROGRAM = (sys.executable, "-c", "from viewfinder.cli import main; main()")


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world."""
    folder = tmp_path_factory.mktemp("construction") / "scenes"
    command = [*PROGRAM, "world", str(folder), "--count", "40", "--seed", "7"]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def coloured() -> Callable[[Path, int], Path]:
    """Makes a folder of pictures of two colours each, with captions.csv."""

    def made(folder: Path, count: int) -> Path:
        pictures = tiny_pictures(folder / "images", count)
        rows = [f"{picture.path.name},A picture of {picture.caption}." for picture in pictures]
        (folder / "captions.csv").write_text("\n".join(["image,caption", *rows]) + "\n", encoding="utf-8")
        return folder

    return made
