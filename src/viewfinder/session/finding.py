"""One search: words, an image, what to leave out, filters; without words or an image the pictures by date."""

from __future__ import annotations

import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from viewfinder.errors import EmptyQuery, check_names, check_text, check_type
from viewfinder.retrievers import Composer
from viewfinder.search.columns import add_fields, find_hits, parse_order
from viewfinder.search.gallery import Gallery
from viewfinder.search.hits import Hits
from viewfinder.search.listing import list_hits, order_by_date
from viewfinder.session.session import Picture, Session, check_search, is_known

if TYPE_CHECKING:
    from viewfinder.session.session import OwnImage


class Searched(Container[Picture], Protocol):
    """A library as a search needs it."""

    def gallery(self) -> Gallery:
        """The pictures as they are now."""


def find_pictures(
    library: Searched,
    text: str,
    n: int,
    *,
    like: Picture | OwnImage | None,
    where: Mapping[str, str] | None,
    without: str,
    fold: bool,
    fields: Sequence[str],
    sort: str,
) -> Hits:
    """The search that `Library.find` describes."""
    check_text("text", text)
    check_text("without", without)
    check_type("sort", sort, str)
    fields = check_names("fields", fields)
    if not text.strip() and like is None:
        if where and not without.strip():
            return list_by_date(library, where, n, fields, sort)
        raise EmptyQuery("nothing to look for: give a few words, an image with --like, or a filter with --where")
    gallery = library.gallery()
    session = Session(gallery, Composer(), None, n=n, where=where, fold=fold)
    if like is None:
        hits = [session.say(text)]
    else:
        hits = [session.like(like, text) if is_known(like, library) else session.show(like, text)]
    if without:
        hits.append(session.reject(text=without))
    last, elapsed_ms = hits[-1], sum(hit.elapsed_ms for hit in hits)
    found = list(last)
    if sort.strip():
        ranking = session.ranking()
        found = find_hits(ranking, parse_order(gallery.snapshot, sort), n)
        reasons = ranking.why([hit.id for hit in found])
        found = [replace(hit, why=reasons[hit.id]) for hit in found]
    if fields:
        found = add_fields(gallery.snapshot, found, fields)
    return Hits(found, last.verdict, elapsed_ms, last.missing, last.unheard, hits[0].reading)


def list_by_date(library: Searched, where: Mapping[str, str], n: int, fields: Sequence[str], sort: str) -> Hits:
    """The pictures that meet the filters, in the order asked for, or the newest first."""
    started = time.perf_counter()
    check_search(n, where)
    snapshot = library.gallery().snapshot
    rows = order_by_date(snapshot, where)
    if order := parse_order(snapshot, sort):
        rows = [rows[place] for place in order.arrange(snapshot, rows)]
    hits = add_fields(snapshot, list_hits(snapshot, rows[:n]), fields)
    return Hits(hits, "found" if hits else "nothing", (time.perf_counter() - started) * 1000)
