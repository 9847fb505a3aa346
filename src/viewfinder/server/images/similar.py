"""Pictures like one: what "like this" with no word more would find, without itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from viewfinder.conversation import Conversation, Like
from viewfinder.gallery import match_of
from viewfinder.resolving import resolve
from viewfinder.retrievers import Composer, Query
from viewfinder.server.images.known import known
from viewfinder.server.schemas.pictures import SimilarPictures
from viewfinder.server.talks import cards

if TYPE_CHECKING:
    from viewfinder.gallery import Gallery
    from viewfinder.library import Library


def similar(library: Library, picture: str, *, n: int, start: int) -> SimilarPictures:
    """The `n` pictures most like one, without the first `start`.

    Raises:
        Problem: 404, there is no such picture.
    """
    gallery, _ = known(library, picture)
    scores = gallery.scores(_like(picture, gallery))
    rows = gallery.best(scores, start + n + 1).tolist()[start:]
    results = []
    for rank, row in enumerate(rows[:n], start=start + 1):
        score = float(scores.total_n[row])
        results.append(cards.hit(gallery.snapshot, rank, row, round(score, 4), match_of(scores.chance_of(score))))
    return SimilarPictures(results=results, next=str(start + n) if len(rows) > n else None)


def _like(picture: str, gallery: Gallery) -> Query:
    talk = Conversation().then(Like(picture))
    composer = Composer()
    query = composer.query(composer.step(composer.begin(), resolve(talk, talk.here, gallery)))
    return replace(query, excluded=frozenset({picture}))
