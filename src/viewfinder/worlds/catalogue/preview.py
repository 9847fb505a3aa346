"""One sheet to look at: articles with their titles, pairs with their captions, and a transaction of each setting."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from PIL import Image, ImageDraw, ImageFont

from viewfinder.data.fashionmt import Transaction
from viewfinder.worlds.catalogue.items import Item
from viewfinder.worlds.catalogue.transactions import Chain

_WIDTH, _SIDE, _GAP, _LINE = 1240, 190, 16, 15
_TITLES, _PAIRS = 12, 6
_INK, _QUIET, _PAPER = (30, 30, 34), (110, 110, 118), (255, 255, 255)

Thing = TypeVar("Thing")
Text = tuple[str, tuple[int, int, int]]


def catalogue_sheet(
    out: Path,
    items: Sequence[Item],
    pairs: Sequence[tuple[Item, Item, tuple[str, ...]]],
    chains: Sequence[tuple[Chain, Transaction]],
) -> Image.Image:
    """The sheet, RGB; the pictures are taken from `out`/images."""
    pictures = out / "images"
    rows: list[Image.Image] = []
    some = _spread(items, _TITLES)
    for start in range(0, len(some), 6):
        rows.append(_row([_card(pictures, item, [(item.title, _INK)]) for item in some[start : start + 6]]))
    couples = [_couple(pictures, *pair) for pair in _spread(pairs, _PAIRS)]
    rows += [_row(couples[start : start + 3]) for start in range(0, len(couples), 3)]
    rows += [_chain(pictures, chain, transaction) for chain, transaction in chains]
    sheet = Image.new("RGB", (_WIDTH, sum(row.height for row in rows) + _GAP), _PAPER)
    top = _GAP
    for row in rows:
        sheet.paste(row, (0, top))
        top += row.height
    return sheet


def _spread(things: Sequence[Thing], count: int) -> list[Thing]:
    return [things[place * len(things) // count] for place in range(count)] if len(things) > count else list(things)


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(12)


def _row(cards: Sequence[Image.Image]) -> Image.Image:
    row = Image.new("RGB", (_WIDTH, max((card.height for card in cards), default=0) + _GAP), _PAPER)
    for place, card in enumerate(cards):
        row.paste(card, (_GAP + place * (card.width + _GAP), 0))
    return row


def _card(pictures: Path, item: Item, texts: Sequence[Text]) -> Image.Image:
    """A picture with texts below it."""
    with Image.open(pictures / item.image) as picture:
        picture.thumbnail((_SIDE, _SIDE))
        photo = picture.convert("RGB")
    below = _text(texts, _SIDE)
    card = Image.new("RGB", (_SIDE, _SIDE + below.height), _PAPER)
    card.paste(photo, ((_SIDE - photo.width) // 2, (_SIDE - photo.height) // 2))
    card.paste(below, (0, _SIDE))
    return card


def _text(texts: Sequence[Text], width: int) -> Image.Image:
    lines = [(line, ink) for text, ink in texts for line in textwrap.wrap(text, width // 7) or [""]]
    image = Image.new("RGB", (width, _LINE * len(lines) + 6), _PAPER)
    draw = ImageDraw.Draw(image)
    for number, (line, ink) in enumerate(lines):
        draw.text((0, 4 + number * _LINE), line, fill=ink, font=_font())
    return image


def _couple(pictures: Path, target: Item, reference: Item, said: Sequence[str]) -> Image.Image:
    """The reference, then the target with what is said of it."""
    left = _card(pictures, reference, [("shown", _QUIET), (reference.title, _QUIET)])
    right = _card(pictures, target, [(f"wanted: {caption}", _INK) for caption in said])
    couple = Image.new("RGB", (2 * _SIDE + _GAP // 2, max(left.height, right.height)), _PAPER)
    couple.paste(left, (0, 0))
    couple.paste(right, (_SIDE + _GAP // 2, 0))
    return couple


def _chain(pictures: Path, chain: Chain, transaction: Transaction) -> Image.Image:
    """The four pictures of a transaction, each target with the modification that leads to it."""
    said = (f"{chain.setting}: the FIRST", *transaction.modifications)
    texts = [[(words, _INK), (item.title, _QUIET)] for words, item in zip(said, chain.items, strict=True)]
    return _row([_card(pictures, item, text) for item, text in zip(chain.items, texts, strict=True)])
