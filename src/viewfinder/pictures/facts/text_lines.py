"""Lines of text that stand in a picture, and how the facts of a picture hold them: the words, and where they stand."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from viewfinder.pictures.facts.model import Fact, merge_facts

READ_IN_PICTURE = "read in the picture"
"""The source of text that a program for reading found, not a model that describes."""

BOXES = "text boxes"

MAX_LINES, MAX_LINE_LENGTH = 200, 500
"""Lines of one picture, and characters of one line, that are kept."""


@dataclass(frozen=True)
class TextLine:
    """A line of text: its box (x0, y0, x1, y1) as shares of width and height, and how sure the reader is, 0 to 1."""

    text: str
    box: tuple[float, float, float, float]
    confidence: float


def make_text_facts(lines: Iterable[TextLine]) -> tuple[Fact, ...]:
    """The facts that hold some lines; with none, the one that says that there is no text."""
    kept = [line for line in lines if line.text.strip()][:MAX_LINES]
    texts = tuple(line.text.strip()[:MAX_LINE_LENGTH] for line in kept)
    boxes = tuple(
        " ".join([*(f"{edge:.4f}" for edge in line.box), f"{line.confidence:.2f}", text])
        for line, text in zip(kept, texts, strict=True)
    )
    found = merge_facts([Fact("text", texts, READ_IN_PICTURE), Fact(BOXES, boxes, READ_IN_PICTURE)])
    return found or (Fact("text", (), READ_IN_PICTURE),)


def list_text_lines(facts: Iterable[Fact]) -> list[TextLine]:
    """The lines that some facts hold with their boxes, in the order in which they were read."""
    found = []
    for value in (value for fact in facts if fact.name == BOXES for value in fact.values):
        with suppress(ValueError):  # a line of nothing but what facts do not keep
            left, top, right, bottom, confidence, text = value.split(" ", 5)
            found.append(TextLine(text, (float(left), float(top), float(right), float(bottom)), float(confidence)))
    return found
