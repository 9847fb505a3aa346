"""A picture as a retriever reads it: one of a gallery, or an image of the user's own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float32, UInt8

from viewfinder.encoders.base import Encoder
from viewfinder.encoders.vectors import check_finite, check_rows
from viewfinder.errors import LibraryError
from viewfinder.query import NOTHING_MORE, Picture, Predictor, RawPictures, Reads
from viewfinder.search.gallery import Gallery
from viewfinder.search.parts import vocabulary_vectors
from viewfinder.search.raw_vectors import best_labels, check_fits, name_labels
from viewfinder.store.snapshot import Snapshot


def read_picture(gallery: Gallery, picture_id: str, reads: Reads = NOTHING_MORE) -> Picture:
    """A picture with all that a retriever reads of it. Raises UnknownName, and as `check_fits`."""
    row, space = gallery.row(picture_id), reads.space
    raw_1g = regions_1re = None
    if space is not None and reads.named == "raw":
        raw = gallery.need_raw(space)
        [(raw_1g, regions_1re)] = raw.batches([picture_id], regions=reads.regions or reads.named_regions)
    vectors = _name_vectors(gallery.snapshot.matrix_nd[row], raw_1g, regions_1re)
    if reads.words:
        vectors |= _describe(gallery, reads, _find_described(gallery, picture_id, row, reads))
    if space is not None and reads.named == "own":
        from viewfinder.search.regions import find_block  # few systems have vectors of their own

        vectors["own"] = find_block(gallery, space).vectors(np.array([row]))[0]
    seen = {}
    if reads.predictor is not None:
        raw_version = None if space is None else space.raw_version
        [seen] = predict_attributes(gallery, [row], reads.predictor, reads.count, raw_version)
    return Picture(picture_id, vectors, gallery.snapshot.attributes(row), tuple(seen), gallery.caption(row))


def read_image(gallery: Gallery, pixels: UInt8[np.ndarray, "h w 3"], reads: Reads = NOTHING_MORE) -> Picture:
    """An image that is in no library, as `read_picture` gives one that is. Raises EncoderMismatch as it does."""
    space, encoder = None if reads.named == "global" else reads.space, gallery.encoder
    seer = encoder if reads.space is None else gallery.find_encoder(reads.space.raw_version)
    if space is not None:
        check_fits(space, seer, gallery.encoder_name)
    regions = space is not None and (reads.regions or reads.named_regions)
    raw = seer.pictures([pixels], regions=regions)
    raw_1g = _check_image(np.asarray(raw.global_bd, np.float32), encoder)
    own_1g = raw_1g if seer is encoder else _check_image(encoder.pictures([pixels]).global_bd, encoder)
    vector_d = _check_image(encoder.project(np.asarray(own_1g, np.float32)), encoder)[0]
    as_raw = space is not None and reads.named == "raw"
    vectors = _name_vectors(vector_d, raw_1g if as_raw else None, raw.regions_brd if as_raw and regions else None)
    if reads.words:
        vectors |= _describe(gallery, reads, vector_d if seer is encoder else seer.project(raw_1g)[0])
    if space is not None and reads.named == "own":
        sentences = gallery.find_sentences(space.raw_version) if space.reads_captions else None
        captions = () if sentences is None else ("",)  # it has none
        regions_1re = raw.regions_brd if space.reads_regions else None
        vectors["own"] = space.project(RawPictures(raw_1g, regions_1re, captions, sentences))[0]
    if reads.predictor is None:
        return Picture(None, vectors)
    [best_c2] = best_labels(reads.predictor, raw_1g, reads.count)
    return Picture(None, vectors, predicted=tuple(name_labels(best_c2, reads.predictor.labels)))


def predict_attributes(
    gallery: Gallery, rows: Sequence[int], predictor: Predictor, count: int = 8, raw_version: str | None = None
) -> list[dict[str, float]]:
    """The likeliest attributes of pictures and their chances, best first, from raw vectors of this version.

    Raises LibraryError: there are no raw vectors.
    """
    raw = gallery.raw if raw_version is None else gallery.find_raw(raw_version)

    def predict(snapshot: Snapshot) -> Float32[np.ndarray, "n c 2"]:
        if raw is None:
            raise LibraryError("attributes are predicted from raw vectors, and of these pictures there are none")
        batches = raw.batches(snapshot.ids, regions=False)
        found = [best_labels(predictor, np.asarray(raw_bg, np.float32), count) for raw_bg, _ in batches]
        return np.concatenate([np.zeros((0, min(count, len(predictor.labels)), 2), np.float32), *found])

    seen_nc2 = gallery.snapshot.derived(f"attributes-{predictor.fingerprint}-{count}", predict, by_row=True)
    return [name_labels(seen_nc2[row], predictor.labels) for row in rows]


def _check_image(made_1d: Float[np.ndarray, "1 _"], encoder: Encoder) -> Float[np.ndarray, "1 _"]:
    """The encoder's vector of an image of the user's own. Raises PartFailed: it is no vector."""
    return check_finite(check_rows(made_1d, 1, encoder), encoder, "this image")


def _name_vectors(
    vector_d: Float[np.ndarray, " d"],
    raw_1g: Float[np.ndarray, "1 g"] | None,
    regions_1re: Float[np.ndarray, "1 r e"] | None,
) -> dict[str, Float[np.ndarray, ...]]:
    """The representations of one picture, under the names that retrievers use (`Picture.vectors`)."""
    vectors: dict[str, Float[np.ndarray, ...]] = {"global": np.array(vector_d)}
    if raw_1g is not None:
        vectors["raw"] = np.asarray(raw_1g[0], np.float32)
    if regions_1re is not None:
        vectors["raw regions"] = regions_1re[0]
    return vectors


def _describe(gallery: Gallery, reads: Reads, vector_d: Float[np.ndarray, " d"]) -> dict[str, Float[np.ndarray, " l"]]:
    """A picture as the vocabulary describes it, under its name; nothing if there is none."""
    vocabulary = gallery.find_vocabulary(reads)
    return {} if vocabulary is None else {"vocabulary": vocabulary_vectors(vector_d[None], vocabulary)[0]}


def _find_described(gallery: Gallery, picture_id: str, row: int, reads: Reads) -> Float[np.ndarray, " d"]:
    """The vector of a picture in the space of its vocabulary (`Gallery.find_vocabulary`)."""
    encoder = gallery.encoder if reads.space is None else gallery.find_encoder(reads.space.raw_version)
    if encoder is gallery.encoder or gallery.companion is None:
        return np.asarray(gallery.snapshot.matrix_nd[row])
    [(raw_1g, _)] = gallery.companion.raw.batches([picture_id], regions=False)
    return np.asarray(encoder.project(raw_1g)[0])
