from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from viewfinder.encoders.base import grid_boxes
from viewfinder.evaluation.examples import Example, QueryAttention, ShownTurn, SlotAttention, draw_attention

RED, BLUE = (0xE6, 0x19, 0x4B), (0x43, 0x63, 0xD8)
"""The colours of the first and of the second vector."""


def look(region: int, *, fresh: bool = True, said: str = "") -> SlotAttention:
    """A vector that looks at one region of 36 and hardly at any other."""
    weights_r = np.full(36, 0.001, np.float32)
    weights_r[region] = 0.965
    return SlotAttention(said, fresh, weights_r)


def example(folder: Path, *turns: tuple[SlotAttention, ...], said: str = "") -> Example:
    Image.new("RGB", (240, 180), (200, 200, 200)).save(folder / "grey.png")
    boxes_r4 = grid_boxes(1, 1)
    told = (ShownTurn(said, "", (), 2.0, QueryAttention(boxes_r4, slots)) for slots in turns)
    return Example("drilldown, test", "1", str(folder / "grey.png"), tuple(told))


def pixels(drawn: bytes | None) -> np.ndarray:
    assert drawn is not None
    return np.asarray(Image.open(io.BytesIO(drawn)).convert("RGB"))


def count(image_hw3: np.ndarray, colour: tuple[int, int, int]) -> int:
    return int((image_hw3 == np.array(colour, np.uint8)).all(axis=2).sum())


def test_every_vector_has_a_colour_of_its_own(tmp_path: Path) -> None:
    alone = pixels(draw_attention(example(tmp_path, (look(0),))))
    both = pixels(draw_attention(example(tmp_path, (look(0), look(35)))))
    assert count(alone, RED) > 200
    assert count(alone, BLUE) == 0
    assert min(count(both, RED), count(both, BLUE)) > 200


def test_boxes_are_where_the_regions_are(tmp_path: Path) -> None:
    drawn = pixels(draw_attention(example(tmp_path, (look(0, fresh=False),))))
    rows, columns = np.nonzero((drawn == np.array(RED, np.uint8)).all(axis=2))
    inside = columns < 0.4 * drawn.shape[1]  # the picture after the last turn; beside it stands the text
    left, top = columns[inside].min(), rows[inside].min()
    # The first of 6 x 6 regions of a picture two fifths of 1,200 points wide is 80 points wide, less a little.
    assert left < 20
    assert 50 < np.quantile(columns[inside], 0.99) - left < 85 * 3  # three regions at most are drawn, side by side
    assert top < drawn.shape[0] / 3


def test_the_more_a_region_is_looked_at_the_wider_its_line(tmp_path: Path) -> None:
    weights_r = np.zeros(36, np.float32)
    weights_r[[7, 28]] = 0.9, 0.1  # the second column of the second row, and the fifth of the fifth
    drawn = pixels(draw_attention(example(tmp_path, (SlotAttention("", False, weights_r),))))
    red_hw = (drawn == np.array(RED, np.uint8)).all(axis=2)[:, :480]
    halves = red_hw[:, 60:175].sum(), red_hw[:, 310:410].sum()
    assert halves[0] > 2 * halves[1] > 0


@pytest.mark.parametrize("said", ["", "$5 and $6_{x}", "\\alpha " * 60, "w" * 300])
def test_whatever_was_said_can_be_drawn(tmp_path: Path, said: str) -> None:
    dialogue = example(
        tmp_path, *[tuple(look(at, said=said) for at in range(turn)) for turn in range(1, 13)], said=said
    )
    assert pixels(draw_attention(dialogue)).shape[1] == 1200


def test_nothing_is_drawn_where_nothing_looks_or_the_picture_is_gone(tmp_path: Path) -> None:
    assert draw_attention(Example("t", "1", "", (ShownTurn("a", "", (), 1.0),))) is None
    gone = example(tmp_path, (look(0),))
    Path(gone.target).unlink()
    assert draw_attention(gone) is None
