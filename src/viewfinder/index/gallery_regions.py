"""Scores where a picture is many vectors: where raw vectors come from, what a system makes of them, how it compares.

Axes: `n` pictures, `r` regions of a picture, `e` and `g` numbers of a raw region and of a raw global vector, `m` parts
of a query, `f` = n * r rows of a flat matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Float16, Float32

from viewfinder.errors import EncoderMismatch, LibraryError
from viewfinder.index.exact import top_k
from viewfinder.index.interaction import (
    late_interaction,
    late_interaction_near,
    query_vector_scores,
    rank_fusion,
    single_vector_scores,
)
from viewfinder.index.regions import RegionBlock, tile_batches
from viewfinder.retrievers import Query, RegionSpace, SentenceEncoder
from viewfinder.retrievers.base import RawPictures

MANY = 20_000
"""Pictures above which they are first scored in 8 bits, and only the best (and `exact` scores) in full."""

CANDIDATES = 100
"""The best by 8 bits, which are scored in full."""


@runtime_checkable
class RawVectors(Protocol):
    """Where raw vectors of pictures come from: a library's tables, the cached features of a data set.

    `raw_version` says which numbers they are; a data set's own detector gives others than the encoder.
    """

    @property
    def raw_version(self) -> str:
        """Which numbers these are; a system works on those it was trained on."""
        ...

    def batches(
        self, ids: Sequence[str], *, regions: bool
    ) -> Iterable[tuple[Float[np.ndarray, "b g"], Float16[np.ndarray, "b r e"] | None]]:
        """Raw global vectors of these pictures and their regions (None unless asked for), in their order.

        Zeros where a picture has none.
        """
        ...


@runtime_checkable
class Boxed(Protocol):
    """Raw vectors whose regions are not those of the encoder, and that know where they lie."""

    def boxes(self, picture_id: str) -> Float[np.ndarray, "_boxes 4"]:
        """Boxes (x0, y0, x1, y1) of a picture's regions, as shares of its width and height; none if not known."""
        ...


def check_fits(space: RegionSpace, raw: RawVectors | None) -> RawVectors:
    """The raw vectors, if this is the kind that the space is made from.

    Raises:
        LibraryError: there are none.
        EncoderMismatch: they are others.
    """
    if raw is None:
        raise LibraryError(f"{space.name} reads raw vectors ({space.raw_version}) of these pictures: there are none")
    check_version(space, raw.raw_version)
    return raw


def check_version(space: RegionSpace, found: str) -> None:
    """Refuses raw vectors that the space is not made from.

    Raises:
        EncoderMismatch: they are of another version.
    """
    if found != space.raw_version:
        raise EncoderMismatch(
            f"{space.name} was trained on {space.raw_version}, and these pictures have {found}: "
            "open a library made with that encoder, or train on vectors of this one"
        )


def build_block(
    ids: Sequence[str],
    space: RegionSpace,
    raw: RawVectors,
    captions: Iterable[str] = (),
    sentences: SentenceEncoder | None = None,
) -> Float32[np.ndarray, "f d"]:
    """All pictures in a space, as `region_major` lays them out; raw vectors pass by in batches.

    `captions`, one a picture, and what reads them: for a space that `reads_captions`.
    """
    waiting = iter(captions)
    batches = (
        space.project(RawPictures(global_bg, regions_bre, tuple(islice(waiting, len(global_bg))), sentences))
        for global_bg, regions_bre in raw.batches(ids, regions=space.reads_regions)
    )
    return tile_batches(batches, len(ids), space.regions, space.width)


def name_raw_vectors(
    raw_1g: Float[np.ndarray, "1 g"], regions_1re: Float[np.ndarray, "1 r e"] | None
) -> dict[str, Float[np.ndarray, ...]]:
    """The raw vectors of one picture, by the names that retrievers know them by: "raw", and "raw regions" if read."""
    whole: dict[str, Float[np.ndarray, ...]] = {"raw": np.asarray(raw_1g[0], np.float32)}
    return whole if regions_1re is None else whole | {"raw regions": regions_1re[0]}


def vectors_of_parts(query: Query) -> Float32[np.ndarray, "m d"]:
    """The vectors of a query's parts, all of kind "regions"."""
    vectors = [part.vector_d for part in query.parts if part.kind == "regions" and part.vector_d is not None]
    if len(vectors) != len(query.parts):
        kinds = sorted({part.kind for part in query.parts})
        raise ValueError(f"{query.compare} compares vectors of kind 'regions', and this query has {', '.join(kinds)}")
    return np.stack(vectors).astype(np.float32)


def weights_of_parts(query: Query) -> Float[np.ndarray, " m"]:
    """How much each part counts, adding up to 1; zeros where nothing counts."""
    weights_m = np.array([part.weight for part in query.parts], np.float64)
    return np.asarray(weights_m / (weights_m.sum() or 1.0))


def late_scores(
    query: Query, space: RegionSpace, block: RegionBlock, *, exact: bool, allowed_n: Bool[np.ndarray, " n"]
) -> Float32[np.ndarray, " n"]:
    """The mean likeness to the parts: in full, or beyond `MANY` pictures for the best of those allowed only."""
    weights_m = weights_of_parts(query)
    if not weights_m.any():
        return np.zeros(len(block), np.float32)
    vectors_md = vectors_of_parts(query)
    if space.regions == 1:
        # Of one vector there is nothing to choose: parts add up before they are compared, in a single scan.
        return single_vector_scores(block, weights_m @ vectors_md)
    if exact or len(block) <= MANY:
        return late_interaction(block, vectors_md, temperature=space.temperature, weights_m=weights_m)
    scores_n = late_interaction_near(
        block, vectors_md, candidates=CANDIDATES, temperature=space.temperature, weights_m=weights_m
    )
    if not allowed_n.all():
        # Only now, lest pictures that are not allowed are moved too: chances are measured against the whole collection.
        found_k = np.sort(top_k(scores_n, CANDIDATES, allowed_n=allowed_n))
        exact_k = late_interaction(block.at(found_k), vectors_md, temperature=space.temperature, weights_m=weights_m)
        np.minimum(scores_n, exact_k.min(initial=np.inf), out=scores_n, where=allowed_n)
        scores_n[found_k] = exact_k
    return scores_n


def late_shares(query: Query, space: RegionSpace, block: RegionBlock) -> Float[np.ndarray, "m n"]:
    """What each part adds to `late_scores`."""
    likeness_mn = query_vector_scores(block, vectors_of_parts(query), temperature=space.temperature)
    return np.asarray(weights_of_parts(query)[:, None] * likeness_mn)


def fusion_shares(query: Query, space: RegionSpace, block: RegionBlock) -> Float32[np.ndarray, "m n"]:
    """What each part's ranking adds to the score of rank fusion: columns sum to `rank_fusion` of all."""
    likeness_mn = query_vector_scores(block, vectors_of_parts(query), temperature=space.temperature)
    return np.stack([rank_fusion(likeness_n[None]) for likeness_n in likeness_mn]) / np.float32(len(likeness_mn))
