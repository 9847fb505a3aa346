"""One search without a talk: the same as a talk of one or two turns that nobody keeps."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from viewfinder.conversation import Conversation, Like, Reject, Say, Show, Turn
from viewfinder.errors import BadInput, EmptyQuery
from viewfinder.index import Gallery
from viewfinder.server.schemas.sessions import SearchIn, SearchResults
from viewfinder.server.talks.answers import milliseconds_since, parse_cursor, read_page
from viewfinder.server.talks.engines import RetrieverPool
from viewfinder.server.talks.speaking import session_picture_bias
from viewfinder.server.talks.turns import find_upload
from viewfinder.session import Session

if TYPE_CHECKING:
    from viewfinder.server.images.uploads import Uploads


def search_once(engines: RetrieverPool, uploads: Uploads, given: SearchIn) -> SearchResults:
    """The best pictures for words, a picture or an image of one's own, without what is not wanted.

    Raises:
        EmptyQuery, UnknownName, BadInput: nothing is asked for; or something that is not there.
        Problem: the retriever has yet to be prepared.
    """
    started = time.perf_counter()
    engine, gallery = engines.retriever(given.retriever), engines.gallery(given.retriever)
    talk = Conversation()
    for turn in _turns(given, gallery, uploads):
        talk = talk.then(turn)
    session = Session(
        gallery,
        engine,
        None,
        where=given.where,
        conversation=talk,
        image_file=partial(find_upload, uploads),
        leaning=session_picture_bias(engine, None, pictures_alone=True),
    )
    view = session.view()
    page = read_page(view, given.n, parse_cursor(given.cursor), why=given.why)
    return SearchResults(
        verdict=view.verdict,
        results=page.hits,
        total=page.total,
        next=page.next,
        adapters=list(view.adapters),
        elapsed_ms=milliseconds_since(started),
    )


def _turns(given: SearchIn, gallery: Gallery, uploads: Uploads) -> list[Turn]:
    """The search as turns; what they name is there."""
    if given.like is not None and given.show is not None:
        raise BadInput("a search goes on from one picture: give `like` or `show`, not both")
    first: Turn
    attributes = None if given.attributes is None else tuple(given.attributes)
    if given.like is not None:
        gallery.row(given.like)
        first = Like(given.like, given.text, attributes=attributes)
    elif given.show is not None:
        find_upload(uploads, given.show)
        first = Show(given.show, given.text, attributes)
    elif given.text.strip():
        first = Say(given.text)
    else:
        raise EmptyQuery("nothing to look for: give a few words, or a picture")
    return [first, *([Reject(text=given.without)] if given.without.strip() else [])]
