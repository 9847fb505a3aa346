"""What every state vector looks at in the wanted picture (figure 4 of Tan et al. 2019), as PNG.

Left the picture after the last turn, with the regions that each vector looks at most: one colour a vector, the wider
the line the more; beside it what each vector holds. Below, turn by turn, the vector that the turn went into.
"""

from __future__ import annotations

import io
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from viewfinder.errors import PictureError
from viewfinder.evaluation.examples import Example, QueryAttention, SlotAttention
from viewfinder.pictures import AtMost, decode_one

MOST_REGIONS = 3
"""Regions drawn of a vector."""

ACROSS = 5
"""Turns in a row."""

LONGEST_SIDE = 480
ACROSS_INCHES, LINE_INCHES = 12.0, 0.175
TEXT_LINES = 20
"""Lines of text that the drawing has room for beside the last turn."""

COLOURS = ("#e6194b", "#4363d8", "#3cb44b", "#f58231", "#911eb4", "#00b3b3", "#f032e6", "#9a6324", "#808000", "#000075")


def attention_plot(example: Example) -> bytes | None:
    """The drawing of one talk; None where nothing looks at regions, or the picture cannot be read."""
    looked = [(number, turn, turn.looks) for number, turn in enumerate(example.turns, 1) if turn.looks is not None]
    if not looked or not example.target:
        return None
    try:
        pixels = decode_one(Path(example.target), AtMost(LONGEST_SIDE)).pixels
    except PictureError:
        return None
    figure, grid = _canvas(-(-len(looked) // ACROSS), pixels.shape[0] / pixels.shape[1])
    _draw_last(figure, grid, pixels, looked[-1][2])
    for place, (number, turn, looks) in enumerate(looked):
        axes = figure.add_subplot(grid[1 + place // ACROSS, place % ACROSS])
        fresh = [(slot, look) for slot, look in enumerate(looks.slots) if look.fresh]
        _picture(axes, pixels, looks, fresh, widest=3.5)
        axes.set_title(f"turn {number}: place {turn.place:,g}", fontsize=9, loc="left", pad=3)
        colour = _colour(fresh[0][0]) if len(fresh) == 1 else "black"
        axes.set_xlabel(_lines(turn.said, 30, 3), fontsize=8.5, color=colour, loc="left")
    return _png(figure)


def _canvas(rows: int, shape: float) -> tuple[Any, Any]:
    """A figure, and its grid: the last turn over two columns, then `rows` of turns."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    small = ACROSS_INCHES / ACROSS * shape + 0.75
    large = max(2 * ACROSS_INCHES / ACROSS * shape, TEXT_LINES * LINE_INCHES) + 0.4
    figure = Figure(figsize=(ACROSS_INCHES, large + rows * small), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_gridspec(1 + rows, ACROSS, height_ratios=[large, *[small] * rows])


def _draw_last(figure: Any, grid: Any, pixels: UInt8[np.ndarray, "h w 3"], looks: QueryAttention) -> None:
    """The picture with what all vectors look at, and what each holds beside it."""
    axes = figure.add_subplot(grid[0, :2])
    _picture(axes, pixels, looks, list(enumerate(looks.slots)), widest=5.0)
    axes.set_title("after the last turn", fontsize=10, loc="left")
    beside = figure.add_subplot(grid[0, 2:])
    beside.axis("off")
    most = max(1, int((TEXT_LINES - 2) / len(looks.slots) - 0.8))
    texts = [_lines(f"{slot}  {look.said}", 100, most) for slot, look in enumerate(looks.slots, start=1)]
    at = 0.0
    for slot, text in enumerate(texts):
        beside.annotate(text, (0, 1), xycoords="axes fraction", xytext=(0, -72 * LINE_INCHES * at),
                        textcoords="offset points", va="top", fontsize=10, color=_colour(slot))  # fmt: skip
        at += text.count("\n") + 1.8
    drawn = [100 * np.sort(look.weights_r)[-MOST_REGIONS:].sum() for look in looks.slots]
    shares = ", ".join(f"{share:.0f}\N{NO-BREAK SPACE}%" for share in drawn)
    note = f"drawn are the {MOST_REGIONS} regions that each vector looks at most: {shares} of its attention"
    beside.annotate(_lines(note, 100, 2), (0, 0), xycoords="axes fraction", va="bottom", fontsize=9, color="#555555")


def _picture(
    axes: Any,
    pixels: UInt8[np.ndarray, "h w 3"],
    looks: QueryAttention,
    slots: list[tuple[int, SlotAttention]],
    widest: float,
) -> None:
    """The picture, paler, with the regions that these vectors look at most; `widest` is the line of the first."""
    height, width = pixels.shape[:2]
    axes.imshow(pixels, extent=(0, width, height, 0), alpha=0.85)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    most = max((float(look.weights_r.max()) for _, look in slots), default=1.0)
    for layer, (slot, look) in enumerate(slots):
        for region in np.argsort(-look.weights_r, kind="stable")[:MOST_REGIONS].tolist():
            line = 1.0 + float(look.weights_r[region]) / most * (widest - 1.0)
            _box(axes, looks.boxes_r4[region], (width, height), layer, ec=_colour(slot), lw=line)


def _box(axes: Any, box_4: Float[np.ndarray, " 4"], size: tuple[int, int], layer: int, **style: Any) -> None:
    """One region, a little smaller in every layer, so that all are seen where they meet."""
    from matplotlib.patches import Rectangle

    inset = (0.5 + layer % 5) * 0.012 * min(size)
    left, right = float(box_4[0]) * size[0] + inset, float(box_4[2]) * size[0] - inset
    top, bottom = float(box_4[1]) * size[1] + inset, float(box_4[3]) * size[1] - inset
    axes.add_patch(Rectangle((left, top), max(right - left, 1.0), max(bottom - top, 1.0), fill=False, **style))


def _colour(slot: int) -> str:
    return COLOURS[slot % len(COLOURS)]


def _lines(text: str, width: int, most: int) -> str:
    """A text in lines, cut where it is longer; mathematics is not read into it."""
    lines = textwrap.wrap(text, width, max_lines=most, placeholder=" ...")
    return "\n".join(lines).replace("$", r"\$")


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
