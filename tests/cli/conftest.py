"""A library of forty drawn pictures, made once, and the program as a function."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from viewfinder.cli import run
from viewfinder.library import Library

PICTURES = 40
PROGRAM = (sys.executable, "-c", "from viewfinder.cli import main; main()")


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Outcome]


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with images/, catalogue.csv and captions.csv."""
    folder = tmp_path_factory.mktemp("cli") / "world"
    command = [*PROGRAM, "world", str(folder), "--count", str(PICTURES), "--seed", "3"]
    subprocess.run(command, check=True, capture_output=True)
    notes = json.loads((folder / "annotations" / "captions_world.json").read_text())
    names = {image["id"]: image["file_name"] for image in notes["images"]}
    rows = [f'{names[note["image_id"]]},"{note["caption"]}"' for note in notes["annotations"]]
    (folder / "captions.csv").write_text("\n".join(["image,caption", *rows]) + "\n")
    return folder


@pytest.fixture(scope="session")
def indexed(world: Path) -> Path:
    """The library of that world; tests leave it as it is."""
    folder = world.parent / "library"
    Library.open(folder).add(world / "images", catalogue=world / "catalogue.csv")
    return folder


@pytest.fixture
def library(indexed: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(indexed, tmp_path / "library"))


@pytest.fixture(autouse=True)
def _own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the user's is read or written."""
    monkeypatch.delenv("VIEWFINDER_LIBRARY", raising=False)
    monkeypatch.delenv("VIEWFINDER_DEBUG", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def viewfinder(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process."""

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Outcome(code, said.out, said.err)

    return call


@pytest.fixture
def program() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the program as a process of its own; what still runs at the end of the test is ended."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*PROGRAM, *map(str, arguments)],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def drawn() -> Callable[[Path, int], Path]:
    """Writes small pictures, each of its own colour, into a folder."""

    def draw(folder: Path, count: int) -> Path:
        folder.mkdir(parents=True)
        for number in range(count):
            colour = (number % 256, number // 256, len(folder.name) * 9 % 256)
            Image.new("RGB", (24, 16), colour).save(folder / f"{number:04d}.png")
        return folder

    return draw
