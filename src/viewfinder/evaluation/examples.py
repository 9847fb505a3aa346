"""A few dialogues of a run for a reader: what was said, what was on the screen, where the target was.

For systems that look at regions, also where in the wanted picture each state vector looks (Fig. 4 of Tan et al. 2019).
The drawing shows the picture on the left, after the last turn, with the regions that each vector looks at most: one
colour per vector, wider lines for larger weights. Beside it stands what each vector holds; below, turn by turn, the
vector that the turn went into.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, UInt8

from viewfinder.conversation import Answer, Conversation, Like, Node, Turn
from viewfinder.errors import PictureError
from viewfinder.evaluation.plan import SearchDialogue, Task
from viewfinder.evaluation.replay import RankTable, make_conversation, query_each_turn
from viewfinder.pictures import AtMost, decode_one
from viewfinder.query import Query, RegionSpace
from viewfinder.retrievers import Retriever
from viewfinder.search.gallery import Gallery
from viewfinder.search.regions import compute_attention, find_boxes
from viewfinder.search.scores import score_all

DIALOGUES_SHOWN = 4
"""Dialogues shown per task, evenly spaced."""

PICTURES_SHOWN = 6
"""Results shown per turn."""


@dataclass(frozen=True, eq=False)
class SlotAttention:
    """The attention of one vector of a query to the wanted picture: one weight per region, summing to 1.

    `said` is what the vector holds; `fresh` says that the turn just said went into it.
    """

    said: str
    fresh: bool
    weights_r: Float32[np.ndarray, " r"]


@dataclass(frozen=True, eq=False)
class QueryAttention:
    """All vectors of a query, and where the regions are: (x0, y0, x1, y1) as fractions of width and height."""

    boxes_r4: Float[np.ndarray, "r 4"]
    slots: tuple[SlotAttention, ...]


@dataclass(frozen=True)
class ShownTurn:
    """One turn: the words, the picture they go with (a file), the results (files), and the target's 1-based place.

    `looks` is None for systems that look at whole pictures only.
    """

    said: str
    picture: str
    shown: tuple[str, ...]
    place: float
    looks: QueryAttention | None = None


@dataclass(frozen=True)
class Example:
    """One dialogue of a task."""

    task: str
    dialogue: str
    target: str
    turns: tuple[ShownTurn, ...]


def pick_examples(
    task: Task,
    gallery: Gallery,
    retriever: Retriever[Any],
    conversations: Sequence[Conversation] | None,
    table: RankTable,
    files: Mapping[str, str],
) -> list[Example]:
    """Some dialogues of a task: as they were held, or (recorded ones, None) replayed through the retriever."""
    step, ranked = max(1, len(task.dialogues) // DIALOGUES_SHOWN), frozenset(task.gallery)
    found = []
    for number in range(0, len(task.dialogues), step)[:DIALOGUES_SHOWN]:
        dialogue = task.dialogues[number]
        held = conversations[number] if conversations is not None else None
        turns = []
        places = (table.best_st[number] + table.worst_st[number]) / 2 + 1
        asked = query_each_turn(make_conversation(dialogue.turns) if held is None else held, gallery, retriever)
        for (node, query), place in zip(asked, places, strict=False):
            assert node.turn is not None
            shown: Sequence[str] = node.shown
            if held is None:  # what a person would have seen of the task's gallery
                ids = (gallery.snapshot.ids[row] for row in score_all(gallery, query).best(len(gallery)).tolist())
                shown = [one for one in ids if one in ranked]
            pictures = tuple(files.get(one, "") for one in shown[:PICTURES_SHOWN])
            with_it = files.get(node.turn.picture, "") if isinstance(node.turn, Like) else ""
            looks = _measure_attention(node, query, gallery, dialogue)
            turns.append(ShownTurn(format_turn(node.turn), with_it, pictures, float(place), looks))
        found.append(Example(task.title, dialogue.id, files.get(dialogue.target, ""), tuple(turns)))
    return found


def format_turn(turn: Turn) -> str:
    """A turn as one line of a dialogue."""
    match turn:
        case Answer(question, text):
            return f"{question.text} - {text}"
        case Like(text=text):
            return f"but {text}" if text else "this one"
        case _:
            return str(getattr(turn, "text", ""))


def _measure_attention(node: Node, query: Query, gallery: Gallery, dialogue: SearchDialogue) -> QueryAttention | None:
    """The attention of the query's vectors to the wanted picture; None if it has no regions."""
    row = gallery.row(dialogue.target)
    if not isinstance(query.space, RegionSpace) or not query.parts:
        return None
    if len(boxes_r4 := find_boxes(gallery, row, query.space)) < 2:
        return None
    [attention_pr] = compute_attention(gallery, query, np.array([row]))
    pairs = zip(query.parts, attention_pr, strict=True)
    slots = tuple(SlotAttention(part.label, part.turn == node.number, weights_r) for part, weights_r in pairs)
    return QueryAttention(boxes_r4, slots)


MAX_REGIONS = 3
"""Regions drawn per vector."""

ACROSS = 5
"""Turns per row."""

MAX_SIDE = 480
ACROSS_INCHES, LINE_INCHES = 12.0, 0.175
TEXT_LINES = 20
"""Lines of text that the drawing has room for beside the last turn."""

COLOURS = ("#e6194b", "#4363d8", "#3cb44b", "#f58231", "#911eb4", "#00b3b3", "#f032e6", "#9a6324", "#808000", "#000075")


def draw_attention(example: Example) -> bytes | None:
    """The drawing of one dialogue; None where nothing looks at regions, or the picture cannot be read."""
    looked = [(number, turn, turn.looks) for number, turn in enumerate(example.turns, 1) if turn.looks is not None]
    if not looked or not example.target:
        return None
    try:
        pixels = decode_one(Path(example.target), AtMost(MAX_SIDE)).pixels
    except PictureError:
        return None
    small = ACROSS_INCHES / ACROSS * pixels.shape[0] / pixels.shape[1] + 0.75
    large = max(2 * (small - 0.75), TEXT_LINES * LINE_INCHES) + 0.4
    rows = -(-len(looked) // ACROSS)
    figure = make_canvas((ACROSS_INCHES, large + rows * small), 100)
    grid = figure.add_gridspec(1 + rows, ACROSS, height_ratios=[large, *[small] * rows])
    _draw_last(figure, grid, pixels, looked[-1][2])
    for place, (number, turn, looks) in enumerate(looked):
        axes = figure.add_subplot(grid[1 + place // ACROSS, place % ACROSS])
        fresh = [(slot, look) for slot, look in enumerate(looks.slots) if look.fresh]
        _draw_picture(axes, pixels, looks, fresh, widest=3.5)
        axes.set_title(f"turn {number}: place {turn.place:,g}", fontsize=9, loc="left", pad=3)
        colour = _choose_colour(fresh[0][0]) if len(fresh) == 1 else "black"
        axes.set_xlabel(_wrap(turn.said, 30, 3), fontsize=8.5, color=colour, loc="left")
    return to_png(figure)


def make_canvas(inches: tuple[float, float], dots: int) -> Any:
    """An empty matplotlib figure, which needs no screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=inches, dpi=dots, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _draw_last(figure: Any, grid: Any, pixels: UInt8[np.ndarray, "h w 3"], looks: QueryAttention) -> None:
    """The picture with what all vectors look at, and what each holds beside it."""
    axes = figure.add_subplot(grid[0, :2])
    _draw_picture(axes, pixels, looks, list(enumerate(looks.slots)), widest=5.0)
    axes.set_title("after the last turn", fontsize=10, loc="left")
    beside = figure.add_subplot(grid[0, 2:])
    beside.axis("off")
    most = max(1, int((TEXT_LINES - 2) / len(looks.slots) - 0.8))
    texts = [_wrap(f"{slot}  {look.said}", 100, most) for slot, look in enumerate(looks.slots, start=1)]
    at = 0.0
    for slot, text in enumerate(texts):
        beside.annotate(text, (0, 1), xycoords="axes fraction", xytext=(0, -72 * LINE_INCHES * at),
                        textcoords="offset points", va="top", fontsize=10, color=_choose_colour(slot))  # fmt: skip
        at += text.count("\n") + 1.8
    drawn = [100 * np.sort(look.weights_r)[-MAX_REGIONS:].sum() for look in looks.slots]
    shares = ", ".join(f"{share:.0f}\N{NO-BREAK SPACE}%" for share in drawn)
    note = f"drawn are the {MAX_REGIONS} regions that each vector looks at most: {shares} of its attention"
    beside.annotate(_wrap(note, 100, 2), (0, 0), xycoords="axes fraction", va="bottom", fontsize=9, color="#555555")


def _draw_picture(
    axes: Any, pixels: UInt8[np.ndarray, "h w 3"], looks: QueryAttention, slots: list[tuple[int, SlotAttention]],
    widest: float,
) -> None:  # fmt: skip
    """The picture, paler, with the regions that these vectors look at most; `widest` is the first's line width."""
    from matplotlib.patches import Rectangle

    height, width = pixels.shape[:2]
    axes.imshow(pixels, extent=(0, width, height, 0), alpha=0.85)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    most = max((float(look.weights_r.max()) for _, look in slots), default=1.0)
    for layer, (slot, look) in enumerate(slots):
        for region in np.argsort(-look.weights_r, kind="stable")[:MAX_REGIONS].tolist():
            # A little smaller in every layer, so that all stay visible where they overlap.
            inset = (0.5 + layer % 5) * 0.012 * min(width, height)
            left, top, right, bottom = (looks.boxes_r4[region] * (width, height, width, height)).tolist()
            corner, sides = (left + inset, top + inset), (right - left - 2 * inset, bottom - top - 2 * inset)
            line = 1.0 + float(look.weights_r[region]) / most * (widest - 1.0)
            style: dict[str, Any] = {"fill": False, "ec": _choose_colour(slot), "lw": line}
            axes.add_patch(Rectangle(corner, max(sides[0], 1.0), max(sides[1], 1.0), **style))


def _choose_colour(slot: int) -> str:
    return COLOURS[slot % len(COLOURS)]


def _wrap(text: str, width: int, most: int) -> str:
    """A text wrapped into lines and cut if too long; matplotlib does not read it as mathematics."""
    return "\n".join(textwrap.wrap(text, width, max_lines=most, placeholder=" ...")).replace("$", r"\$")


def to_png(figure: Any) -> bytes:
    """A matplotlib drawing as a PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
