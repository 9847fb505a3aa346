"""`viewfinder find --paths` and `-0`: paths for other programs, and nothing else on stdout."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from viewfinder.cli.output import VERDICT_LINES
from viewfinder.cli.paths import print_paths
from viewfinder.library import Library
from viewfinder.search.hits import Hit, Hits, PicturePath

Run = Callable[..., Any]
Program = Callable[..., "subprocess.Popen[str]"]


def hits_at(*paths: str) -> Hits:
    """Results at these places."""
    made = [Hit(n, f"p{n}", PicturePath(path), 1.0 / n, "likely") for n, path in enumerate(paths, 1)]
    return Hits(made, "found", 1.0)


def test_paths_are_all_that_is_printed_best_first(viewfinder: Run, indexed: Path) -> None:
    wanted = [
        hit["path"] for hit in viewfinder("find", "a red car", "-n", 5, "--library", indexed, "--json").json["results"]
    ]
    lines = viewfinder("find", "a red car", "-n", 5, "--paths", "--library", indexed)
    assert (lines.code, lines.out) == (0, "".join(f"{path}\n" for path in wanted))
    for asked in (["-0"], ["--null"], ["--paths", "-0"]):
        ended = viewfinder("find", "a red car", "-n", 5, *asked, "--library", indexed)
        assert ended.out == "".join(f"{path}\0" for path in wanted)


def test_what_is_not_there_is_said_beside_the_paths(viewfinder: Run, indexed: Path) -> None:
    """Who pipes into another program must know that the nearest pictures are not what was asked for."""
    outcome = viewfinder("find", "the periodic table of elements", "-n", 2, "--paths", "--library", indexed)
    assert VERDICT_LINES["nothing"] in outcome.err
    assert [Path(line).exists() for line in outcome.out.splitlines()] == [True, True]


def test_pictures_without_a_path_here_are_left_out_and_named(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for name in ("there.jpg", "two\nlines.jpg"):
        (tmp_path / name).touch()
    places = [str(tmp_path / name) for name in ("gone.jpg", "there.jpg", "two\nlines.jpg")]
    print_paths(hits_at(*places, "s3:/photos/a.jpg", "s3:/photos/b.jpg"), null=False)
    said = capfdbinary.readouterr()
    assert said.out == os.fsencode(f"{tmp_path}/there.jpg\n")
    told = said.err.decode().splitlines()
    assert len(told) == 3
    for line, parts in zip(
        told, (("gone.jpg", "not here"), ("two\\nlines", "-0"), ("2 pictures", "bucket")), strict=True
    ):
        assert all(part in line for part in parts)


def test_any_name_that_a_file_can_have_goes_through_a_pipe_unharmed(
    tmp_path: Path, program: Program, world: Path
) -> None:
    source = next((world / "images").iterdir())
    folder = tmp_path / "odd"
    folder.mkdir()
    names = [b"two\nlines.png", b'it\'s "quoted".png', "größe.png".encode(), b" leading blank.png", b"\x1b[31mred.png"]
    for number, name in enumerate(names):
        picture = Image.open(source).convert("RGB")
        picture.putpixel((0, 0), (number, 0, 0))
        picture.save(tmp_path / "one.png")
        shutil.copy(tmp_path / "one.png", folder / os.fsdecode(name))
    Library.open(tmp_path / "library").add(folder)
    find = program("find", "a thing", "--paths", "-0", "--all-pictures", "--library", tmp_path / "library")
    listed = subprocess.run(["xargs", "-0", "ls", "-1", "-N"], stdin=find.stdout, capture_output=True, check=True)
    assert find.wait() == 0
    shown = listed.stdout.replace(os.fsencode(folder) + b"/", b"")
    assert sorted(shown.split(b".png\n")[:-1]) == sorted(name.removesuffix(b".png") for name in names)


def test_a_reader_that_has_enough_ends_it_without_a_word(program: Program, indexed: Path) -> None:
    find = program("find", "a thing", "-n", 40, "--paths", "--library", indexed)
    assert find.stdout is not None
    find.stdout.close()
    find.wait()
    assert find.stderr is not None
    assert "Traceback" not in (said := find.stderr.read())
    assert "pipe" not in said


@pytest.mark.parametrize("asked", ["--paths", "-0"])
def test_paths_and_json_together_are_refused_in_one_line(viewfinder: Run, indexed: Path, asked: str) -> None:
    outcome = viewfinder("find", "a car", asked, "--json", "--library", indexed)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "--json" in outcome.err
