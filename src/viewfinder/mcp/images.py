"""Pictures that are small enough to be sent to an assistant: one alone, or results on one sheet, with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_BYTES = 100_000
LONGEST = 1024
"""Pixels of the longer side of a picture that is shown alone; more would not fit into `MAX_BYTES`."""

QUALITIES = (84, 72, 60, 48)
SHRINK = 0.8

CELL_WIDTH, CELL_HEIGHT, COLUMNS = 240, 200, 4
GAP = 6
PAPER, INK, LABEL = (24, 24, 24), (255, 255, 255), (0, 0, 0)


def fit_jpeg(image: Image, max_bytes: int = MAX_BYTES) -> bytes:
    """A JPEG of at most so many bytes: of the best quality that fits, and smaller only where none does."""
    while True:
        for quality in QUALITIES:
            file = BytesIO()
            image.save(file, "JPEG", quality=quality, optimize=True)
            if file.tell() <= max_bytes or max(image.size) <= 16:
                return file.getvalue()
        image = image.resize((max(1, int(image.width * SHRINK)), max(1, int(image.height * SHRINK))))


def shrink_picture(copy: bytes) -> bytes:
    """A copy of a picture as it is sent: at most `LONGEST` pixels and `MAX_BYTES` bytes."""
    from PIL import Image

    with Image.open(BytesIO(copy)) as image:
        if max(image.size) <= LONGEST and len(copy) <= MAX_BYTES:
            return copy
        shown = image.convert("RGB")
        shown.thumbnail((LONGEST, LONGEST))
        return fit_jpeg(shown)


def draw_sheet(copies: Sequence[bytes | None], first: int = 1) -> bytes:
    """All pictures on one sheet, row by row, each with its number from `first` on; None leaves a place empty."""
    from PIL import Image, ImageDraw, ImageFont

    columns = min(COLUMNS, len(copies))
    rows = -(-len(copies) // columns)
    sheet = Image.new("RGB", (columns * (CELL_WIDTH + GAP) + GAP, rows * (CELL_HEIGHT + GAP) + GAP), PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=22)
    for place, copy in enumerate(copies):
        row, column = divmod(place, columns)
        left, top = GAP + column * (CELL_WIDTH + GAP), GAP + row * (CELL_HEIGHT + GAP)
        if copy is not None:
            with Image.open(BytesIO(copy)) as image:
                small = image.convert("RGB")
            small.thumbnail((CELL_WIDTH, CELL_HEIGHT))
            sheet.paste(small, (left + (CELL_WIDTH - small.width) // 2, top + (CELL_HEIGHT - small.height) // 2))
        number = str(first + place)
        draw.rectangle((left, top, left + 14 + 13 * len(number), top + 28), fill=LABEL)
        draw.text((left + 7, top + 2), number, fill=INK, font=font)
    return fit_jpeg(sheet)
