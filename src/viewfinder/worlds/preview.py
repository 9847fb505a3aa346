"""A sheet of a world's first pictures with a caption each, to look at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

SHEET_PICTURES = 24
COLUMNS = 6
_WIDE, _HIGH, _TEXT, _GAP = 224, 168, 34, 6
_LINES = 2


def caption_sheet(pictures: Sequence[tuple[Path, str]]) -> Image.Image:
    """A sheet of pictures, six in a row, each with its caption below; long captions end in dots."""
    columns = min(COLUMNS, len(pictures))
    rows = -(-len(pictures) // columns)
    across, down = _WIDE + _GAP, _HIGH + _TEXT + _GAP
    sheet = Image.new("RGB", (_GAP + columns * across, _GAP + rows * down), (255, 255, 255))
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(11)
    for at, (file, caption) in enumerate(pictures):
        x, y = _GAP + at % columns * across, _GAP + at // columns * down
        with Image.open(file) as picture:
            # Onto white and in the middle: pictures of a catalogue need not be wide.
            small = picture.convert("RGB")
            small.thumbnail((_WIDE, _HIGH))
        sheet.paste(small, (x + (_WIDE - small.width) // 2, y + (_HIGH - small.height) // 2))
        pen.text(
            (x + 2, y + _HIGH + 2), "\n".join(_wrapped(caption, pen, font)), font=font, fill=(30, 30, 34), spacing=2
        )
    return sheet


Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def _wrapped(text: str, pen: ImageDraw.ImageDraw, font: Font) -> list[str]:
    """At most two lines of words that fit."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if pen.textlength(longer, font=font) <= _WIDE - 4:
            lines[-1] = longer
        elif len(lines) < _LINES:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1].rsplit(' ', 1)[0]} ..."
            break
    return lines
