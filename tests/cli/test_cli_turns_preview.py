"""Pictures in the terminal."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from viewfinder.cli.terminal import draw_half_blocks, draw_preview


def test_two_rows_of_pixels_make_a_line() -> None:
    red, blue = [255, 0, 0], [0, 0, 255]
    (line,) = draw_half_blocks(np.array([[red, blue], [blue, red]], np.uint8))
    assert re.findall(r"38;2;([\d;]+)m.{1}\[48;2;([\d;]+)m▀", line) == [("255;0;0", "0;0;255"), ("0;0;255", "255;0;0")]
    assert line.endswith("\x1b[0m")


@pytest.mark.parametrize(("rows", "lines"), [(1, 1), (4, 2), (5, 3)])
def test_an_odd_last_row_is_repeated(rows: int, lines: int) -> None:
    assert len(draw_half_blocks(np.zeros((rows, 3, 3), np.uint8))) == lines


def test_pictures_stand_side_by_side(tmp_path: Path) -> None:
    Image.new("RGB", (64, 64), "red").save(tmp_path / "square.png")
    Image.new("RGB", (64, 16), "blue").save(tmp_path / "wide.png")
    lines = draw_preview([str(tmp_path / "square.png"), str(tmp_path / "wide.png")]).splitlines()
    assert len(lines) == 16
    assert [line.count("▀") for line in lines] == [64] * 4 + [32] * 12


def test_pictures_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    assert draw_preview([str(tmp_path / "none.png")]) == ""
