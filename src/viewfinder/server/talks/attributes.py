"""What a retriever sees in a picture, in words: the attributes that are read with it when it is picked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from viewfinder.errors import BadInput
from viewfinder.index import Gallery
from viewfinder.index.attributes import predict_attributes
from viewfinder.pictures import decode_one
from viewfinder.retrievers import Reads, reads_of
from viewfinder.server.problems import not_found
from viewfinder.server.schemas.sessions import PictureAttribute, PictureAttributes
from viewfinder.server.talks.engines import RetrieverPool
from viewfinder.server.talks.turns import find_upload

if TYPE_CHECKING:
    from viewfinder.server.images.uploads import Uploads


def predict_picture_attributes(
    engines: RetrieverPool, uploads: Uploads, name: str, *, like: str | None = None, show: str | None = None
) -> PictureAttributes:
    """What the retriever of this name sees in a picture of the library (`like`), or in an upload (`show`).

    Raises:
        UnknownName, BadInput: there is no such retriever or upload; not exactly one of the two is given.
        Problem: 404, there is no such picture; or the retriever has yet to be prepared.
    """
    if (like is None) == (show is None):
        raise BadInput("give one picture: `like`, the id of a picture, or `show`, the id of an upload")
    reads, gallery = reads_of(engines.retriever(name)), engines.gallery(name)
    if like is not None:
        seen = _in_library(gallery, like, reads)
    else:
        seen = _in_image(gallery, find_upload(uploads, str(show)), reads)
    known = () if reads.predictor is None else reads.predictor.labels
    return PictureAttributes(
        attributes=[PictureAttribute(name=name, chance=round(chance, 4)) for name, chance in seen.items()],
        known=sorted(known),
    )


def _in_library(gallery: Gallery, picture: str, reads: Reads) -> dict[str, float]:
    row = gallery.snapshot.row_of(picture)
    if row is None:
        raise not_found("picture", picture)
    return {} if reads.predictor is None else gallery.predicted([row], reads.predictor, reads.count)[0]


def _in_image(gallery: Gallery, file: Path, reads: Reads) -> dict[str, float]:
    if reads.predictor is None:
        return {}
    raw_1g = gallery.encoder.pictures([decode_one(file, gallery.encoder.fit).pixels]).global_bd
    return predict_attributes(reads.predictor, np.asarray(raw_1g, np.float32), reads.count)[0]
