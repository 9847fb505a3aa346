"""Pictures of results in the terminal: what a terminal that answers gets, decoded again; and who gets none."""

from __future__ import annotations

import base64
import fcntl
import io
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from viewfinder.cli import pictures as shown
from viewfinder.library import Library

pytest.importorskip("textual_image", reason="`pip install 'viewfinder[terminal]'` brings it")
pytestmark = pytest.mark.slow

Run = Callable[..., Any]
PROGRAM = (sys.executable, "-c", "from viewfinder.cli import main; main()")
CELL = (10, 20)
COLUMNS, ROWS = 120, 40

ATTRIBUTES, KITTY = re.compile(rb"\x1b\[c"), re.compile(rb"\x1b_G[^\x1b]*a=q[^\x1b]*\x1b\\")
SIXEL, PLAIN = b"\x1b[?62;4;22c", b"\x1b[?62;22c"
SUPPORTED = b"\x1b_Gi=1;OK\x1b\\"


@dataclass(frozen=True)
class Screen:
    """What came to a terminal, and what was asked of it."""

    out: bytes
    err: str
    asked: int

    def decode_kitty(self) -> Image.Image:
        """The picture that was sent by Kitty's protocol."""
        sent = re.findall(rb"\x1b_G[^;\x1b]*f=100[^;\x1b]*;([^\x1b]*)\x1b\\", self.out)
        return Image.open(io.BytesIO(base64.b64decode(b"".join(sent)))).convert("RGB")

    def decode_sixel(self) -> Image.Image:
        """The picture that was sent as Sixel: six rows a band, a colour at a time."""
        [data] = re.findall(rb"\x1bP[\d;]*q(.*?)\x1b\\", self.out, re.DOTALL)
        colours, bands, colour, x = dict[int, tuple[int, ...]](), [dict[tuple[int, int], int]()], 0, 0
        for token in re.findall(rb'"[\d;]+|#\d+(?:;\d+){4}|#\d+|!\d+[?-~]|[?-~]|[$-]', data):
            if token.startswith(b'"'):
                continue
            if token.startswith(b"#"):
                colour, *rest = map(int, token[1:].split(b";"))
                if rest:
                    colours[colour] = tuple(round(percent * 2.55) for percent in rest[1:])
            elif token in (b"$", b"-"):
                x = 0
                if token == b"-":
                    bands.append({})
            else:
                times = int(token[1:-1]) if token.startswith(b"!") else 1
                drawn = [bit for bit in range(6) if (token[-1] - 0x3F) >> bit & 1]
                bands[-1].update({(at, bit): colour for at in range(x, x + times) for bit in drawn})
                x += times
        width = 1 + max(x for band in bands for x, _ in band)
        pixels = np.zeros((len(bands) * 6, width, 3), np.uint8)
        for number, band in enumerate(bands):
            for (at, bit), one in band.items():
                pixels[number * 6 + bit, at] = colours[one]
        return Image.fromarray(pixels)


def run_in_terminal(
    *arguments: object,
    attributes: bytes | None,
    kitty: bool = False,
    columns: int = COLUMNS,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Screen:
    """Runs the program in a terminal that answers what it is asked; without `attributes` it says nothing."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, columns * CELL[0], ROWS * CELL[1]))
    environment = {**os.environ, "TERM": "xterm-256color", "OMP_NUM_THREADS": "1", **settings}
    for name in ("TERM_PROGRAM", "COLUMNS", "LINES"):
        if name not in settings:
            environment.pop(name, None)
    process = subprocess.Popen(
        [*PROGRAM, *map(str, arguments)], stdin=its, stdout=its, stderr=subprocess.PIPE, env=environment
    )
    os.close(its)
    out, answered, ends = b"", 0, time.monotonic() + 300
    while time.monotonic() < ends:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                came = os.read(ours, 65536)
            except OSError:  # the program has ended
                break
            out += came
        asked = sorted(
            [(found.start(), "attributes") for found in ATTRIBUTES.finditer(out)]
            + [(found.start(), "kitty") for found in KITTY.finditer(out)]
        )
        for _, what in asked[answered:]:
            if what == "attributes" and attributes is not None:
                os.write(ours, attributes)
            if what == "kitty" and kitty:
                os.write(ours, SUPPORTED)
        answered = len(asked)
    _, err = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 0, (out, err)
    return Screen(out, err.decode(), answered)


@pytest.fixture(scope="module")
def coloured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of two plain pictures, the first in every search for red."""
    home = tmp_path_factory.mktemp("shown")
    (home / "pictures").mkdir()
    Image.new("RGB", (90, 60), (220, 20, 30)).save(home / "pictures" / "red.png")
    Image.new("RGB", (60, 90), (20, 40, 210)).save(home / "pictures" / "blue.png")
    Library.open(home / "library").add(home / "pictures", workers=1)
    return home / "library"


def check_red_and_blue(picture: Image.Image) -> None:
    """The wide one in red, then the narrow one in blue, of the same height, one beside the other."""
    pixels = np.asarray(picture).astype(int)
    height = shown.LINES * CELL[1]
    assert abs(pixels.shape[0] - height) < 12  # Sixel has bands of six rows, and begins one more
    assert abs(pixels.shape[1] - (height * 1.5 + height / 1.5)) <= 2 * CELL[0]
    middle = pixels[height // 2]
    assert np.abs(middle[10] - (220, 20, 30)).max() < 12
    assert np.abs(middle[-10] - (20, 40, 210)).max() < 12
    reds = (np.abs(middle - (220, 20, 30)).max(axis=1) < 12).sum()
    assert abs(reds - height * 1.5) < 12


@pytest.mark.parametrize("protocol", ["kitty", "sixel"])
@pytest.mark.parametrize("verb", ["find", "chat"])
def test_a_terminal_that_can_gets_the_pictures_in_the_order_of_the_results(
    protocol: str, verb: str, coloured: Path, tmp_path: Path
) -> None:
    (tmp_path / "turns.jsonl").write_text('{"say": "a red thing"}\n')
    said = ("a red thing",) if verb == "find" else ("--script", tmp_path / "turns.jsonl", "--questioner", "none")
    how: dict[str, Any] = {"attributes": PLAIN, "kitty": True} if protocol == "kitty" else {"attributes": SIXEL}
    screen = run_in_terminal(verb, *said, "--library", coloured, **how)
    order = [match.decode() for match in re.findall(rb"(red|blue)\.png", screen.out)]
    assert order == ["red", "blue"]
    check_red_and_blue(screen.decode_kitty() if protocol == "kitty" else screen.decode_sixel())
    assert re.search(rb"1 +2\s*$", screen.out.rstrip())
    assert screen.err == ""


def test_what_does_not_fit_side_by_side_is_left_out_and_nothing_is_squeezed(coloured: Path) -> None:
    screen = run_in_terminal("find", "a red thing", "--library", coloured, attributes=PLAIN, kitty=True, columns=41)
    height = shown.LINES * CELL[1]
    assert abs(screen.decode_kitty().width - height * 1.5) <= CELL[0]
    assert screen.out.rstrip().endswith(b"\n1")


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (("--no-pictures",), {}),
        (("--json",), {}),
        (("--paths",), {}),
        ((), {"TERM": "dumb"}),
        ((), {"TERM": "linux"}),
        ((), {"TERM_PROGRAM": "Apple_Terminal"}),
    ],
)
def test_who_wants_none_or_can_show_none_is_asked_nothing(
    options: tuple[str, ...], settings: dict[str, str], coloured: Path
) -> None:
    screen = run_in_terminal(
        "find", "a red thing", *options, "--library", coloured, attributes=SIXEL, settings=settings
    )
    assert screen.asked == 0
    assert b"\x1bP" not in screen.out
    assert b"pictures/re" in screen.out  # a terminal that tells no width cuts long paths


@pytest.mark.parametrize("attributes", [PLAIN, None], ids=["it cannot", "it does not answer"])
def test_a_terminal_without_pictures_shows_none_by_itself_and_blocks_if_they_are_wanted(
    attributes: bytes | None, coloured: Path
) -> None:
    screen = run_in_terminal("find", "a red thing", "--library", coloured, attributes=attributes)
    assert screen.asked == 2
    assert "▀".encode() not in screen.out
    wanted = run_in_terminal("find", "a red thing", "--pictures", "--library", coloured, attributes=attributes)
    assert "▀".encode() in wanted.out
    assert wanted.err == ""


def test_without_the_library_blocks_and_one_plain_line_say_so(coloured: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['textual_image'] = None\n")
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    screen = run_in_terminal(
        "find", "a red thing", "--pictures", "--library", coloured, attributes=SIXEL, settings={"PYTHONPATH": path}
    )
    assert screen.asked == 0
    assert "▀".encode() in screen.out
    assert screen.err.count("\n") == 1
    assert "viewfinder[terminal]" in screen.err
    quiet = run_in_terminal(
        "find", "a red thing", "--library", coloured, attributes=SIXEL, settings={"PYTHONPATH": path}
    )
    assert (quiet.err, quiet.asked) == ("", 0)


def test_nothing_goes_into_a_pipe(viewfinder: Run, coloured: Path) -> None:
    plain = viewfinder("find", "a red thing", "--library", coloured)
    wanted = viewfinder("find", "a red thing", "--pictures", "--library", coloured)
    assert (wanted.code, wanted.out) == (0, plain.out)
    assert "\x1b" not in wanted.out
    assert wanted.err.count("\n") == 1
    assert "terminal" in wanted.err


@pytest.mark.parametrize("verb", [("find", "a"), ("chat",)])
def test_pictures_and_json_together_are_refused_in_one_line(verb: tuple[str, ...], viewfinder: Run) -> None:
    outcome = viewfinder(*verb, "--pictures", "--json")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "--pictures" in outcome.err


def test_a_picture_that_is_gone_is_left_out_and_the_others_keep_their_numbers(tmp_path: Path) -> None:
    Image.new("RGB", (10, 900), "red").save(tmp_path / "narrow.png")
    Image.new("RGB", (900, 10), "blue").save(tmp_path / "wide.png")
    sizes = [shown.read_picture(tmp_path / name) for name in ("gone.png", "narrow.png", "wide.png")]
    assert sizes[0] is None
    there = [one for one in sizes if one is not None]
    assert [one.height for one in there] == [shown.SIDE] * 2
    assert there[0].width < 10
    assert there[1].width == shown.SIDE * shown.WIDEST
    both = [shown.Shown(rank, one) for rank, one in zip((2, 3), there, strict=True)]
    assert shown.write_numbers(both, 40) == "2 3"  # the narrow one has room for its number alone
