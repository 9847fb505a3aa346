"""Pictures like one: what "like this" with no word more would find, without itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from viewfinder.conversation import Conversation, Like
from viewfinder.index.resolving import resolve_turn
from viewfinder.index.results import Ranking
from viewfinder.retrievers import Composer, Query
from viewfinder.server.images.known import find_picture
from viewfinder.server.schemas.pictures import SimilarPictures
from viewfinder.server.talks import cards

if TYPE_CHECKING:
    from viewfinder.index import Gallery
    from viewfinder.library import Library


def find_similar(library: Library, picture: str, *, n: int, start: int) -> SimilarPictures:
    """The `n` pictures most like one, without the first `start`.

    Raises:
        Problem: 404, there is no such picture.
    """
    gallery, _ = find_picture(library, picture)
    view = Ranking(gallery, _like(picture, gallery))
    hits = [cards.make_hit(gallery.snapshot, hit) for hit in view.hits(n, start)]
    return SimilarPictures(results=hits, next=str(start + n) if start + n < view.total else None)


def _like(picture: str, gallery: Gallery) -> Query:
    talk = Conversation().then(Like(picture))
    composer = Composer()
    query = composer.query(composer.step(composer.begin(), resolve_turn(talk, talk.here, gallery)))
    return replace(query, excluded=frozenset({picture}))
