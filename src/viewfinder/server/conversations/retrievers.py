"""The retrievers of a server: each loaded once, and over pictures that it can read.

A retriever that reads regions needs them of every picture, which takes as long as adding the pictures did. Nobody waits
for that in a talk: such a retriever is refused until a job has made them. While pictures are added, it goes on with
those that it has seen.

Those that answer in words have a leaning to pictures; those that read attributes tell what they see in a picture.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from viewfinder.errors import BadInput, EncoderMismatch, ViewfinderError
from viewfinder.index import Gallery, check_fits
from viewfinder.index.raw_vectors import StoredVectors, best_labels, name_labels
from viewfinder.pictures import decode_one
from viewfinder.retrievers import (
    RETRIEVERS,
    AnsweringRetriever,
    RegionSpace,
    Retriever,
    load_retriever,
)
from viewfinder.server.conversations.schemas import MOST_LEANING, PictureAttribute, PictureAttributes
from viewfinder.server.pictures.library import current_gallery
from viewfinder.server.pictures.schemas import RetrieverInfo, Retrievers
from viewfinder.server.problems import Problem, not_found

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.server.pictures.uploads import Uploads

DEFAULT = "composer"

AT_ONCE = 32
"""Pictures without regions that a turn makes itself, rather than refuse: about a second."""


WAIT_S = 5.0
"""How long a turn waits for another that makes a retriever's vectors of all pictures; there are few threads."""


@dataclass(frozen=True)
class ReadablePictures:
    """The pictures of a library that grows, as far as a retriever can read them."""

    pool: RetrieverPool
    retriever: str

    def gallery(self) -> Gallery:
        """Those of now; raises as `RetrieverPool.gallery`."""
        return self.pool.gallery(self.retriever)


class RetrieverPool:
    """Retrievers by name, for all threads."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._loading, self._counting, self._making = threading.Lock(), threading.Lock(), threading.Lock()
        self._loaded: dict[str, Retriever[Any]] = {}
        self._prepared: dict[str, Gallery] = {}
        self._missing: tuple[str, int] | None = None

    def retriever(self, name: str) -> Retriever[Any]:
        """The retriever of this name.

        Raises:
            UnknownName, BadInput: there is none, or it has no weights here.
        """
        if name not in self._loaded:
            with self._loading:
                if name not in self._loaded:
                    self._loaded[name] = load_retriever(name)
        return self._loaded[name]

    def pictures(self, name: str) -> ReadablePictures:
        """Where a session with the retriever of this name finds its pictures."""
        return ReadablePictures(self, name)

    def gallery(self, name: str) -> Gallery:
        """The pictures as they are, or as this retriever could read them last.

        Raises:
            Problem: there are no pictures, they are of another encoder, or their regions have yet to be made.
        """
        retriever, gallery = self.retriever(name), current_gallery(self._library)
        space = retriever.reads.space
        if space is None or self._prepared.get(name) is gallery:
            return gallery
        try:
            check_fits(space, gallery.raw)
        except EncoderMismatch as error:
            raise Problem(409, "encoder-mismatch", str(error)) from error
        before = self._prepared.get(name)
        if before is not None and before.snapshot.space != gallery.snapshot.space:
            before = None
        missing = self.missing(gallery) if retriever.reads.regions else 0
        if missing > AT_ONCE:
            if before is None:
                detail = f"{name} reads regions of pictures, and {missing} pictures have none yet: prepare it first"
                raise Problem(409, "not-prepared", detail, retriever=name, missing=missing)
            return before
        return self._with_block(name, gallery, space, before)

    def _with_block(self, name: str, gallery: Gallery, space: RegionSpace, before: Gallery | None) -> Gallery:
        """The pictures, once they are in the retriever's space; one thread sees to that, others do not wait long."""
        if not self._making.acquire(timeout=0 if before is not None else WAIT_S):
            if before is not None:
                return before
            detail = f"{name} is looking at the pictures for the first time: try again in a while"
            raise Problem(503, "getting-ready", detail, headers={"Retry-After": "5"})
        try:
            gallery.block(space)
            self._prepared[name] = gallery
            return gallery
        finally:
            self._making.release()

    def missing(self, gallery: Gallery) -> int:
        """How many of these pictures have no regions, but a file that they can be made from."""
        snapshot = gallery.snapshot
        with self._counting:
            if self._missing is None or self._missing[0] != snapshot.generation:
                assert isinstance(gallery.raw, StoredVectors), "the pictures of a library"
                rows = np.flatnonzero(~gallery.raw.has_regions(snapshot)).tolist()
                count = sum(any(Path(path).exists() for path in snapshot.paths(row)) for row in rows)
                self._missing = snapshot.generation, count
            return self._missing[1]

    def listed(self) -> Retrievers:
        """All there are, with what stands in the way of using them."""
        try:
            gallery: Gallery | None = current_gallery(self._library)
        except Problem:
            gallery = None
        return Retrievers(retrievers=[self._info(name, gallery) for name in RETRIEVERS], default=DEFAULT)

    def _info(self, name: str, gallery: Gallery | None) -> RetrieverInfo:
        missing, problem, leaning, needs, tells = 0, None, None, [], False
        try:
            retriever = self.retriever(name)
            declared = retriever.reads
            needs, tells = list(declared.needs), declared.predictor is not None
            leaning = own_picture_bias(retriever)
            if gallery is not None and declared.space is not None:
                check_fits(declared.space, gallery.raw)
                missing = self.missing(gallery) if declared.regions else 0
        except ViewfinderError as error:
            problem = " ".join(str(error).split())
        ready = problem is None and missing <= AT_ONCE
        reads: list[Literal["attributes"]] = ["attributes"] if tells else []
        return RetrieverInfo(
            name=name, needs=needs, reads=reads, leaning=leaning, ready=ready, missing=missing, problem=problem
        )


def session_picture_bias(
    retriever: Retriever[Any], given: float | None, *, pictures_alone: bool = False
) -> float | None:
    """The picture bias that a session is to have; None: the retriever's own, or it answers with pictures alone.

    `given` is as it goes over the wire, where the farthest in either direction is infinity.
    """
    if not isinstance(retriever, AnsweringRetriever):
        return None
    if pictures_alone:
        return math.inf
    return given if given is None or abs(given) < MOST_LEANING else math.copysign(math.inf, given)


def own_picture_bias(retriever: Retriever[Any]) -> float | None:
    """A retriever's own picture bias, as it goes over the wire; None: it answers with pictures alone."""
    if not isinstance(retriever, AnsweringRetriever):
        return None
    return max(-MOST_LEANING, min(retriever.picture_bias, MOST_LEANING))


def predict_picture_attributes(
    retrievers: RetrieverPool, uploads: Uploads, name: str, *, like: str | None = None, show: str | None = None
) -> PictureAttributes:
    """What the retriever of this name sees in a picture of the library (`like`), or in an upload (`show`).

    Raises:
        UnknownName, BadInput: there is no such retriever or upload; not exactly one of the two is given.
        Problem: 404, there is no such picture; or the retriever has yet to be prepared.
    """
    if (like is None) == (show is None):
        raise BadInput("give one picture: `like`, the id of a picture, or `show`, the id of an upload")
    reads, gallery = retrievers.retriever(name).reads, retrievers.gallery(name)
    row = None if like is None else gallery.snapshot.row_of(like)
    file = None if show is None else uploads.find(show)
    if like is not None and row is None:
        raise not_found("picture", like)
    if reads.predictor is None:
        return PictureAttributes(attributes=[], known=[])
    if file is not None:
        raw_1g = gallery.encoder.pictures([decode_one(file, gallery.encoder.fit).pixels]).global_bd
        [best_c2] = best_labels(reads.predictor, np.asarray(raw_1g, np.float32), reads.count)
        seen = name_labels(best_c2, reads.predictor.labels)
    else:
        assert row is not None
        seen = gallery.predicted([row], reads.predictor, reads.count)[0]
    return PictureAttributes(
        attributes=[PictureAttribute(name=name, chance=round(chance, 4)) for name, chance in seen.items()],
        known=sorted(reads.predictor.labels),
    )
