"""One turn of a conversation as output: as a JSON line, or as results and a question for people.

Previews are pictures in the terminal: half blocks in true colour, two rows of pixels a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile, zip_longest
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from jaxtyping import UInt8

from viewfinder.cli.output import plain_text, print_hits, print_json, print_line, print_pieces, print_rich
from viewfinder.conversation import Conversation, Like, Question, describe_turn

if TYPE_CHECKING:
    from viewfinder.index.ranking import Hits
    from viewfinder.retrievers.base import Operation
    from viewfinder.session import Session

HERE = "  <- here"

PREVIEWED = 4
"""How many results are shown as pictures."""


@dataclass
class TurnPrinter:
    """Prints turns; a note printed at an earlier turn is not repeated."""

    as_json: bool = False
    preview: bool = False
    _noted: tuple[str, ...] = ()

    def tell(self, session: Session, hits: Hits, *, echo: bool = False) -> None:
        """What a turn came to; `echo` repeats the turn itself, which a script's reader has not typed."""
        if self.as_json:
            print_json(turn_json(session, hits))
            return
        self.answer(session, hits, echo=echo)
        if session.question is not None:
            print_question(session.question)

    def answer(self, session: Session, hits: Hits, *, echo: bool = False) -> None:
        """What a turn came to, for people, before anything is asked: words as they are written, or results."""
        here = session.conversation.here
        before = session.conversation.nodes[max(here.number - 1, 0)].shown
        if echo and here.turn is not None:
            print_line(f"{here.number}  {describe_turn(here.turn, before)}")
        if isinstance(here.turn, Like) and here.turn.attributes is None:
            names = session.attributes_of(here.turn.picture)  # so that one may say otherwise
            print_line(f"seen in it: {', '.join(names)}") if names else None
        for operation in session.last_operations:
            if operation.words:  # what was given as a turn is told by the turn itself
                print_line(describe_operation(operation))
        in_words = session.answered_with == "words"
        if in_words:
            print_pieces("answer: ", session.reply())
        if not in_words or before != tuple(hit.id for hit in hits):  # else they are on the screen
            print_hits(hits)
            if self.preview:  # asked for: in a pipe too
                typer.echo(draw_preview([str(hit.path) for hit in hits[:PREVIEWED]]), color=True)
        pairs = zip(self._noted, session.adapters, strict=False)
        known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        for line in session.adapters[known:]:
            print_line(f"note: {line}")
        self._noted = session.adapters


def describe_operation(operation: Operation) -> str:
    """What a turn does with an earlier one, for people.

    >>> from viewfinder.retrievers.base import Operation
    >>> describe_operation(Operation("rollback", 1, words="the first"))
    'goes on from turn 1 ("the first")'
    >>> describe_operation(Operation("keep", 2, "colour"))
    'keeps the colour of turn 2'
    """
    said = f' ("{operation.words}")' if operation.words else ""
    if operation.kind == "rollback":
        return f"goes on from turn {operation.turn}{said}"
    kept = f"the {operation.attribute} of turn" if operation.attribute else "all of turn"
    return f"keeps {kept} {operation.turn}{said}"


def turn_json(session: Session, hits: Hits) -> dict[str, Any]:
    """One line of `chat --json`."""
    question, kind = session.question, session.answered_with
    return {
        "turn": session.conversation.here.number,
        **hits.to_json(),
        "question": None if question is None else asdict(question),
        "adapters": list(session.adapters),
        "operations": [asdict(operation) for operation in session.last_operations],
        "answer": None if kind is None else {"with": kind, "text": "".join(session.reply())},
    }


def print_question(question: Question) -> None:
    """The question, its choices lettered (numbers are results), and why it is asked."""
    print_line(f"? {question.text}")
    choices = [f"{letter}) {choice}" for letter, choice in zip(ascii_lowercase, question.choices, strict=False)]
    print_line("  " + "   ".join([*(choices or ["in your own words"]), "skip"]))
    reason = f"{question.why} ({question.by})" if question.why and question.by else question.why or question.by
    if reason:
        print_line(f"  why: {reason}")


def print_tree(conversation: Conversation) -> None:
    """All turns, branches included; an arrow marks where the conversation stands."""
    from rich.tree import Tree

    branches = {0: Tree("0  start" + (HERE if conversation.here.number == 0 else ""), guide_style="dim")}
    for node in conversation.nodes[1:]:
        assert node.turn is not None
        shown = conversation.nodes[node.parent].shown
        label = f"{node.number}  {describe_turn(node.turn, shown)}{HERE if node is conversation.here else ''}"
        branches[node.number] = branches[node.parent].add(plain_text(label))
    print_rich(branches[0])


SIDE = 32
"""Longest side of a preview in pixels: 32 columns, 16 lines."""
GAP = "  "


def draw_preview(paths: Sequence[str]) -> str:
    """The pictures side by side, as far as they can be read; "" when none can."""
    blocks = [draw_half_blocks(pixels) for path in paths if (pixels := _pixels(path)) is not None]
    widths = [block[0].count("▀") for block in blocks]
    lines = zip_longest(*(lines for lines in blocks))
    return "\n".join(
        GAP.join(" " * width if cell is None else cell for cell, width in zip(line, widths, strict=True))
        for line in lines
    )


def draw_half_blocks(pixels: UInt8[np.ndarray, "h w 3"]) -> list[str]:
    """A picture as lines of upper half blocks: the block is the upper pixel, its ground the lower one.

    >>> draw_half_blocks(np.array([[[255, 0, 0]], [[0, 0, 255]]], np.uint8))
    ['\\x1b[38;2;255;0;0m\\x1b[48;2;0;0;255m▀\\x1b[0m']
    """
    if len(pixels) % 2:
        pixels = np.concatenate([pixels, pixels[-1:]])
    return [
        "".join(
            f"\x1b[38;2;{ur};{ug};{ub}m\x1b[48;2;{lr};{lg};{lb}m▀"
            for (ur, ug, ub), (lr, lg, lb) in zip(upper.tolist(), lower.tolist(), strict=True)
        )
        + "\x1b[0m"
        for upper, lower in zip(pixels[::2], pixels[1::2], strict=True)
    ]


def _pixels(path: str) -> UInt8[np.ndarray, "_h _w 3"] | None:
    from viewfinder.errors import PictureError
    from viewfinder.pictures import AtMost, decode_one

    try:
        return decode_one(Path(path), AtMost(SIDE)).pixels
    except PictureError:  # it has gone since it was indexed
        return None
