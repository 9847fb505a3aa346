"""The regions of a gallery's pictures, as systems see them that were trained on regions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np
from jaxtyping import Float, Float32, Int

from viewfinder.query import Query, RawPictures, RegionSpace
from viewfinder.search.gallery import Gallery
from viewfinder.search.parts import vectors_of_parts
from viewfinder.search.raw_vectors import Boxed
from viewfinder.search.region_scores import TILE, RegionBlock, attention_weights, tile_batches
from viewfinder.store.snapshot import Snapshot

WHOLE_BOX = (0.0, 0.0, 1.0, 1.0)
"""The box of a whole picture."""

UNKNOWN_SIDE = 1000
"""Pictures of a data set of which only the vectors are known are taken to be squares of this size."""


def find_block(gallery: Gallery, space: RegionSpace) -> RegionBlock:
    """All pictures as a trained system sees them, made on the first call, then mapped. Raises as `check_fits`."""
    raw = gallery.need_raw(space)
    if space.name not in gallery.blocks:

        def project(snapshot: Snapshot) -> Float32[np.ndarray, "f d"]:
            captions = map(gallery.caption, range(len(gallery) if space.reads_captions else 0))
            sentences = gallery.find_sentences(space.raw_version) if space.reads_captions else None
            batches = (
                space.project(RawPictures(global_bg, regions_bre, tuple(islice(captions, len(global_bg))), sentences))
                for global_bg, regions_bre in raw.batches(snapshot.ids, regions=space.reads_regions)
            )
            return tile_batches(batches, len(gallery), space.regions, space.width)

        # Captions need no mark in the name: other captions are another state of the tables.
        flat_fd = gallery.snapshot.derived(f"regions-{space.name}-{TILE}", project)

        def keep(name: str, compute: Callable[[int], np.ndarray]) -> np.ndarray:
            def rows_of(new: Snapshot) -> np.ndarray:
                return compute(len(gallery) - len(new))

            return gallery.snapshot.derived(f"regions-{space.name}-{name}", rows_of, by_row=True)

        gallery.blocks[space.name] = RegionBlock.mapped(flat_fd, space.regions, keep)
    return gallery.blocks[space.name]


def compute_attention(
    gallery: Gallery, query: Query, rows_k: Int[np.ndarray, " k"]
) -> Float32[np.ndarray, "k parts r"]:
    """How much each part of a query in a `RegionSpace` looks at each vector of these pictures: the softmax."""
    space = query.space
    if not isinstance(space, RegionSpace):
        raise ValueError("a query over one vector a picture looks at no regions")
    if not query.parts:
        return np.zeros((len(rows_k), 0, space.regions), np.float32)
    regions_krd = find_block(gallery, space).vectors(rows_k)
    return attention_weights(regions_krd, vectors_of_parts(query), temperature=space.temperature)


def find_boxes(gallery: Gallery, row: int, space: RegionSpace | None = None) -> Float[np.ndarray, "_boxes 4"]:
    """Where a picture's regions lie: (x0, y0, x1, y1) as shares of its width and height.

    With a `space`, one box for each of its vectors: the whole picture last if it `has_whole`, and alone if there is
    only one vector. No boxes if it is not known where regions lie.
    """
    alone = space is not None and space.regions == 1
    boxes_r4: Float[np.ndarray, "_boxes 4"] = np.zeros((0, 4), np.float32)
    if isinstance(gallery.raw, Boxed) and not alone:
        boxes_r4 = gallery.raw.boxes(gallery.snapshot.ids[row])
    elif not alone and (gallery.raw is None or gallery.raw.raw_version == gallery.encoder.raw_version):
        width, height = (side or UNKNOWN_SIDE for side in gallery.snapshot.size(row))
        seer = gallery.encoder if space is None else gallery.find_encoder(space.raw_version)
        boxes_r4 = seer.region_boxes(width, height) / np.array([width, height] * 2, np.float32)
    # else: regions of a detector that does not say where it looked
    if space and (space.has_whole or alone):
        boxes_r4 = np.concatenate([boxes_r4, np.array([WHOLE_BOX], np.float32)])
    return boxes_r4 if space is None or len(boxes_r4) == space.regions else np.zeros((0, 4), np.float32)
