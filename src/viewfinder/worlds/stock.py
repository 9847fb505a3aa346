"""What the things of a scene are taken from: drawn kinds, or products cut out of their photographs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from viewfinder.worlds.kinds import KINDS, Kind
from viewfinder.worlds.products import Shop, open_shop
from viewfinder.worlds.words import NOUNS, Nouns


@dataclass(frozen=True, eq=False)
class Stock:
    """Kinds of things, what they are called, and the shop whose products they are; without one they are drawn.

    It travels between processes as the name of its folder.
    """

    kinds: Mapping[str, Kind]
    nouns: Mapping[str, Nouns]
    shop: Shop | None = None

    def __reduce__(self) -> tuple[Callable[..., Stock], tuple[Path | None]]:
        return stock_of, (None if self.shop is None else self.shop.folder,)

    def extent(self, kind: str, product: str) -> tuple[float, float]:
        """Height of a medium one that stands near, and width over height."""
        known = self.kinds[kind]
        if self.shop is None:
            return float(known.height), float(known.aspect)
        aspect = self.shop.aspect(kind, product)
        return known.height / aspect**0.5, aspect


DRAWN = Stock(KINDS, NOUNS)
"""Everything that the package draws itself."""


def stock_of(sprites: Path | None) -> Stock:
    """The products of a folder (see `products`), or what is drawn.

    Raises:
        BadInput: the folder has no usable products.csv and images.
    """
    if sprites is None:
        return DRAWN
    shop = open_shop(sprites)
    if shop not in _STOCKS:
        _STOCKS[shop] = Stock(shop.kinds, shop.nouns, shop)
    return _STOCKS[shop]


_STOCKS: dict[Shop, Stock] = {}
