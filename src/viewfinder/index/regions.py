"""Region vectors of a collection, laid out for scoring.

Axes: `n` pictures, `r` vectors of a picture, `d` numbers of a vector, `f` = n * r rows of a flat matrix, `k` chosen
pictures, `t` tiles, `b` pictures of a tile.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Float32, Int, UInt8

TILE = 64
"""Pictures of a tile. Files hold this layout, so what is stored under one value cannot be read under another."""

CODED = 512
"""Pictures of a part in 8 bits: enough for one product to be worth its call, and few enough for the cache."""

Tiles = Float32[np.ndarray, "_t r d _b"]


def tile_regions(regions_nrd: Float[np.ndarray, "n r d"]) -> Float32[np.ndarray, "f d"]:
    """The flat layout of a block: its numbers in order, tile after tile; each tile is (r d b) (copies)."""
    return tile_batches([regions_nrd], *regions_nrd.shape)


def tile_batches(
    batches: Iterable[Float[np.ndarray, "_ r d"]], pictures: int, regions: int, width: int
) -> Float32[np.ndarray, "f d"]:
    """`region_major` of pictures that pass by in batches of any size.

    Raises:
        ValueError: there were more pictures, or fewer, than `pictures`.
    """
    flat_fd = np.empty((pictures * regions, width), dtype=np.float32)
    full, rest = _tiles(flat_fd, regions)
    at = 0
    for batch_brd in batches:
        left_brd = batch_brd
        while len(left_brd):
            number, place = divmod(at, TILE)
            piece_brd, left_brd = np.split(left_brd, [TILE - place])
            if at + len(piece_brd) <= pictures:
                tile_rdb = full[number] if number < len(full) else rest[0]
                tile_rdb[..., place : place + len(piece_brd)] = piece_brd.transpose(1, 2, 0)
            at += len(piece_brd)
    if at != pictures:
        raise ValueError(f"{at} pictures came instead of {pictures}")
    return flat_fd


def _tiles(flat_fd: Float32[np.ndarray, "f d"], regions: int) -> tuple[Tiles, Tiles]:
    """Views of the full tiles, and of the last one with what is left over (which may be no picture)."""
    rows, width = flat_fd.shape
    if regions < 1 or rows % regions:
        raise ValueError(f"{rows} rows are not whole pictures of {regions} regions")
    number, left = divmod(rows // regions, TILE)
    full_fd, rest_fd = np.split(flat_fd, [number * TILE * regions])
    return full_fd.reshape(number, regions, width, TILE), rest_fd.reshape(1, regions, width, left)


@dataclass(frozen=True)
class RegionBlock:
    """Region vectors of a collection, float32, in tiles of `TILE` pictures; each tile is region by region (r d b).

    So the product with a few query vectors streams through memory (with 64 columns, 3 times as fast as that with a
    matrix of a row a region), and the softmax over a picture's regions adds whole rows. `parts` are the full tiles, and
    one with the pictures left over, filled up with zeros, so that equal pictures score equally wherever they lie.
    Vectors are expected at unit length; a missing region is a vector of zeros, as in Drill-down's padding.
    """

    parts: tuple[Tiles, Tiles]
    pictures: int

    @staticmethod
    def of(regions_nrd: Float[np.ndarray, "n r d"]) -> RegionBlock:
        """The block of regions given picture by picture (copies)."""
        return RegionBlock.mapped(tile_regions(regions_nrd), regions_nrd.shape[1])

    @staticmethod
    def mapped(flat_fd: Float32[np.ndarray, "f d"], regions: int) -> RegionBlock:
        """The block over what `region_major` made, say a memory-mapped file of it (views, but for the last tile).

        Raises:
            ValueError: the rows are not whole pictures.
        """
        full, rest = _tiles(flat_fd, regions)
        left = rest.shape[3]
        filled_up = np.zeros((1 if left else 0, *rest.shape[1:3], TILE), np.float32)
        filled_up[..., :left] = rest[: len(filled_up)]
        return RegionBlock((full, filled_up), len(flat_fd) // regions)

    def __len__(self) -> int:
        return self.pictures

    @property
    def tile(self) -> int:
        """Pictures of a tile."""
        return int(self.parts[0].shape[3])

    def vectors(self, rows_k: Int[np.ndarray, " k"]) -> Float32[np.ndarray, "k r d"]:
        """The vectors of some pictures (copies)."""
        full, last = self.parts
        chosen_krd = np.empty((len(rows_k), *full.shape[1:3]), dtype=np.float32)
        number_k, place_k = np.divmod(rows_k, TILE)
        inside_k = number_k < len(full)
        chosen_krd[inside_k] = full[number_k[inside_k], :, :, place_k[inside_k]]
        chosen_krd[~inside_k] = last[number_k[~inside_k] - len(full), :, :, place_k[~inside_k]]
        return chosen_krd

    def at(self, rows_k: Int[np.ndarray, " k"]) -> RegionBlock:
        """The block of some pictures only (copies)."""
        return RegionBlock.of(self.vectors(rows_k))

    @cached_property
    def codes(self) -> RegionCodes:
        """The same in 8 bits, a quarter of the memory: made on first use."""
        return RegionCodes.of(self)


@dataclass(frozen=True)
class RegionCodes:
    """Region vectors in 8 bits, 128 + x / step, in parts of `CODED` pictures; each part is region-major (r b d).

    What the last part has beyond `pictures` are zeros, as in `RegionBlock`.
    """

    parts: tuple[UInt8[np.ndarray, "r _ d"], ...]
    step: float
    pictures: int

    @staticmethod
    def of(block: RegionBlock, step: float | None = None) -> RegionCodes:
        """The codes of a block (copies); a `step` that is given bounds what can be told apart: +-127 steps."""
        step = step or max(float(max(part.max(initial=0.0), -part.min(initial=0.0))) for part in block.parts) / 127
        step = step or 1.0
        size = CODED // TILE
        pieces = (part[at : at + size] for part in block.parts for at in range(0, len(part), size))
        return RegionCodes(tuple(_coded(piece, step) for piece in pieces), step, len(block))

    def __len__(self) -> int:
        return self.pictures


def _coded(tiles_trdb: Tiles, step: float) -> UInt8[np.ndarray, "r _ d"]:
    tiles, regions, width, size = tiles_trdb.shape
    coded_trdb = tiles_trdb * np.float32(1 / step)
    np.rint(coded_trdb, out=coded_trdb)
    np.clip(coded_trdb, -127, 127, out=coded_trdb)
    coded_trdb += 128
    return coded_trdb.astype(np.uint8).transpose(1, 0, 3, 2).reshape(regions, tiles * size, width)
