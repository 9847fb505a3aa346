"""Pictures of products: the name, the price and the link that their catalogue has of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from viewfinder.server.pictures.overview_schemas import Product
from viewfinder.server.redaction import to_unicode
from viewfinder.wording.product_columns import PRODUCT_NAMES, squeeze_name

if TYPE_CHECKING:
    from viewfinder.store.snapshot import Snapshot

PRODUCT_TITLES = ("productname", "productdisplayname", "producttitle")
"""Squeezed names of columns that say what a product is called; they alone tell that something is one."""

TITLES = (*PRODUCT_TITLES, "name", "title")
PRICES = ("saleprice", "price")
LINKS = ("link", "url", "productlink", "producturl")

LABELS = frozenset({"colour", "kind"})
"""Groups of labels that say something of a product; people, places and what is done there are of photographs."""


def find_product(snapshot: Snapshot, row: int) -> Product | None:
    """The product that a picture is of, as its catalogue tells it; None: it is of none."""
    values = {squeeze_name(name): known[0] for name, known in snapshot.attributes(row).items() if known}
    if not values.keys() & {*PRODUCT_NAMES, *PRODUCT_TITLES, *PRICES, *LINKS}:
        return None
    name, price, link = (_find_first(values, names) for names in (TITLES, PRICES, LINKS))
    return Product(name=name, price=price, link=link if link and _is_web(link) else None)


def _find_first(values: dict[str, str], names: Sequence[str]) -> str | None:
    return next((to_unicode(values[name]) for name in names if values.get(name)), None)


def _is_web(link: str) -> bool:
    """Whether a link leads to a page: any other (`javascript:`) must not be followed."""
    try:
        parts = urlsplit(link.strip())
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)
