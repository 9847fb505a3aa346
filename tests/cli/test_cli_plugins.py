"""The packages of examples/: installed as anybody's would be, held to the contracts, and run from every verb."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.encoders.onnx_folders import make_clip_checkpoint
from viewfinder.testing import COLOURS, tiny_pictures

EXAMPLES = Path(__file__).parents[2] / "examples"
PACKAGES = ("rocchio", "colour-words", "farbfeld")
PROGRAM = "from viewfinder.cli import main; main()"
CONTRACTS = """
import sys
from pathlib import Path
from viewfinder.encoders import load_encoder
from viewfinder.pictures.formats import picture_readers
from viewfinder.testing import check_encoder, check_picture_reader, check_retriever
check_retriever("rocchio")
check_encoder(load_encoder("colour-words"))
check_picture_reader(picture_readers()[0], Path(sys.argv[1]).read_bytes())
"""

pytestmark = pytest.mark.slow
Installed = Callable[..., Any]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three packages, built and installed into a folder of their own."""
    folder = tmp_path_factory.mktemp("plugins")
    # A build leaves files beside what it builds.
    copies = [str(shutil.copytree(EXAMPLES / name, folder / "source" / name)) for name in PACKAGES]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    install = [*pip, "--no-deps", "--no-build-isolation", "--target", str(folder / "site"), *copies]
    subprocess.run(install, check=True, capture_output=True)
    return folder / "site"


@pytest.fixture
def installed(site: Path) -> Installed:
    """Runs the program, or other code, where the packages are installed; gives what it printed as JSON."""

    def call(*arguments: object, code: str = PROGRAM, exit_code: int = 0) -> Any:
        path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == exit_code, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()] if "--json" in arguments else []
        return lines[0] if len(lines) == 1 else lines

    return call


def write_farbfeld(file: Path, colour: str) -> Path:
    """A picture of one colour."""
    values = np.full((6, 8, 4), [*COLOURS[colour], 255], np.uint16) * 257
    file.write_bytes(b"farbfeld" + struct.pack(">II", 8, 6) + values.astype(">u2").tobytes())
    return file


def test_the_examples_keep_the_contracts(installed: Installed, tmp_path: Path) -> None:
    installed(write_farbfeld(tmp_path / "a.ff", "red"), code=CONTRACTS)


def test_pictures_of_a_new_format_are_added_with_a_new_encoder_and_found_by_a_new_retriever(
    installed: Installed, tmp_path: Path
) -> None:
    library, pictures = ("--library", tmp_path / "library"), tmp_path / "pictures"
    pictures.mkdir()
    for colour in ("red", "blue", "green", "white"):
        write_farbfeld(pictures / f"{colour}.ff", colour)
    (pictures / "broken.ff").write_bytes(b"farbfeld\0\0\0\1")
    added = installed("add", pictures, *library, "--encoder", "colour-words", "--json", exit_code=3)
    assert added["added"] == 4
    assert ["damaged farbfeld" in failure["reason"] for failure in added["failures"]] == [True]

    found = installed("find", "something blue", *library, "--json")
    assert Path(found["results"][0]["path"]).name == "blue.ff"

    script = tmp_path / "turns.jsonl"
    script.write_text('{"say": "red or blue"}\n{"reject": ["#1"]}\n', encoding="utf-8")
    by_name, where = (
        installed("chat", "--script", script, *library, "--questioner", "none", "--retriever", name, "--json")
        for name in ("rocchio", "viewfinder_rocchio:Rocchio")
    )
    ranked = [[Path(hit["path"]).name for hit in turn["results"]] for turn in by_name]
    assert set(ranked[0][:2]) == {"red.ff", "blue.ff"}
    assert ranked[1][0] == ranked[0][1]
    assert [turn["results"] for turn in where] == [turn["results"] for turn in by_name]


@pytest.mark.long
def test_a_new_retriever_and_a_new_encoder_are_evaluated_and_compared(installed: Installed, tmp_path: Path) -> None:
    drawn = tiny_pictures(tmp_path / "data" / "images", 40)
    lines = [f"{one.path.name},{one.top} and {one.bottom}" for one in drawn for _ in range(5)]
    (tmp_path / "data" / "captions.csv").write_text("\n".join(["image,caption", *lines]) + "\n", encoding="utf-8")
    runs = []
    for system, encoder in (("rocchio", "colour-words"), ("random", "viewfinder_colour_words:ColourWords")):
        run = ("--data", tmp_path / "data", "--encoder", encoder, "--out", tmp_path / system, "--split", "all")
        figures = installed("evaluate", system, *run, "--json")["tasks"][0]["figures"]
        runs.append({one["metric"]: one["mean"] for one in figures})
    assert runs[0]["R@5"] > 0.8 > runs[1]["R@5"]
    rows = installed("compare", tmp_path / "rocchio", tmp_path / "random", "--json")["rows"]
    assert rows


def test_the_doctor_names_what_is_installed(installed: Installed) -> None:
    checks = {one["name"]: one for one in installed("doctor", "--json")["checks"]}
    assert checks["plug-ins"]["ok"]
    for name in ("retriever rocchio", "encoder colour-words", "picture reader farbfeld"):
        assert name in checks["plug-ins"]["detail"]


@pytest.mark.parametrize(
    "page",
    ["retriever", *(pytest.param(it, marks=pytest.mark.long) for it in ("questioner", "encoder", "user", "reader"))],
)
def test_every_command_of_the_pages_on_adding_runs(
    page: str, site: Path, world: Path, library: Path, tmp_path: Path
) -> None:
    text = (EXAMPLES.parent / "docs" / "adding" / f"{page}.md").read_text(encoding="utf-8")
    (tmp_path / "my_lab.py").write_text(
        "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)), encoding="utf-8"
    )
    (tmp_path / "turns.jsonl").write_text('{"say": "a red thing"}\n{"say": "a dog"}\n', encoding="utf-8")
    (tmp_path / "scenes").symlink_to(world)
    tiny_pictures(tmp_path / "pictures", 3)
    if page == "encoder":  # a folder of that name is there, so that no hub is asked
        make_clip_checkpoint(tmp_path / "openai" / "clip-vit-base-patch32")
    (tmp_path / "bin").mkdir()
    for name, code in (("viewfinder", f"-c {shlex.quote(PROGRAM)} "), ("python", "")):
        (tmp_path / "bin" / name).write_text(f'#!/bin/sh\nexec {sys.executable} {code}"$@"\n')
        (tmp_path / "bin" / name).chmod(0o755)
    # Installing is what `site` has done.
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    script = "\n".join(line for line in lines if not line.startswith("pip install")).replace("~/Pictures", "pictures")
    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    script = script.replace("PYTHONPATH=.", f"PYTHONPATH=.:{path}")
    own = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "PYTHONPATH": path, "VIEWFINDER_LIBRARY": str(library)}
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout
