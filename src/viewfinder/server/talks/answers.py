"""What a turn came to, a page at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from viewfinder.conversation import PictureId
from viewfinder.errors import BadInput
from viewfinder.index import Gallery, Verdict
from viewfinder.index.results import Hits, Ranking
from viewfinder.retrievers import Query
from viewfinder.server.schemas.sessions import Hit
from viewfinder.server.talks import cards


@dataclass(frozen=True)
class ResultPage:
    """Some of the results of a query; `next` is the cursor of those after them, None where there are no more."""

    hits: list[Hit]
    total: int
    next: str | None
    query: Query
    adapters: tuple[str, ...]
    verdict: Verdict


def read_page(view: Ranking, n: int, start: int, *, why: bool = False) -> ResultPage:
    """The `n` results after the first `start`."""
    found = view.hits(n, start)
    snapshot = view.gallery.snapshot
    reasons: dict[PictureId, Any] = view.why([hit.id for hit in found]) if why else {}
    hits = [cards.make_hit(snapshot, hit, reasons.get(hit.id)) for hit in found]
    return ResultPage(hits, view.total, _next(start + len(hits), view.total), view.query, view.adapters, view.verdict)


def first_page(
    gallery: Gallery, hits: Hits, query: Query, adapters: tuple[str, ...], where: Mapping[str, str]
) -> ResultPage:
    """The page of a turn that was just searched, without searching again."""
    shown = [cards.make_hit(gallery.snapshot, hit) for hit in hits]
    total = _ranked(gallery, query, where)
    return ResultPage(shown, total, _next(len(shown), total), query, adapters, hits.verdict)


def parse_cursor(cursor: str | None) -> int:
    """Where a page begins.

    Raises:
        BadInput: no answer ever had this cursor.
    """
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise BadInput("this cursor is none that was given out: begin again without one")
    return int(cursor)


def milliseconds_since(started: float) -> float:
    """Since a `time.perf_counter()`, to hundredths."""
    return round((time.perf_counter() - started) * 1000, 2)


def _next(end: int, total: int) -> str | None:
    return str(end) if end < total else None


def _ranked(gallery: Gallery, query: Query, where: Mapping[str, str]) -> int:
    """As `View.total`."""
    if not query.parts:
        return 0
    out = [row for picture in query.excluded if (row := gallery.snapshot.row_of(picture)) is not None]
    if not where:
        return len(gallery) - len(out)
    allowed_n = gallery.snapshot.where(where)
    return int(allowed_n.sum()) - int(allowed_n[out].sum())
