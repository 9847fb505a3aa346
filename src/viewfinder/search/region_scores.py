"""Pictures with many vectors each: their layout for scoring, late interaction as Drill-down defines it, rank fusion.

With c the dot product of query vector i and region k of a picture, the picture's likeness to the query vector is
s_i = sum_k softmax_k(temperature * c) c (Tan et al. 2019, Eq. 1, with the temperature multiplied and without the 1/N,
as in their code).

Axes: `n` pictures, `r` regions (vectors) of a picture, `d` numbers of a vector, `m` query vectors, `f` = n * r rows of
a flat matrix, `k` chosen pictures, `t` tiles, `b` pictures of a tile. Nothing here reads a disk or knows a library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int, UInt8

from viewfinder.encoders.onnx import inference_session
from viewfinder.processors import share_out
from viewfinder.search.kernels import TIE

TILE = 64
"""Pictures per tile. Files hold this layout, so those written with one value cannot be read with another."""

CODED = 2**14
"""Vectors compared together in 8 bits: enough to make a product worth its call, and few enough for the cache."""

READ = 4096
"""Pictures put into 8 bits at once."""

GROUPS = 5
"""Groups of similar regions that stand for a picture where all its regions are too many. Of 100,000 pictures the best
hundredth by five means has 97 % of the exact ten, by three 93 %."""

Tiles = Float32[np.ndarray, "_t r d _b"]

Keep = Callable[[str, Callable[[int], np.ndarray]], np.ndarray]
"""How what is computed of a block is kept: its name, and what computes its rows from a given picture on."""


def compute_anew(name: str, compute: Callable[[int], np.ndarray]) -> np.ndarray:
    """Keeps nothing."""
    del name
    return compute(0)


def tile_batches(
    batches: Iterable[Float[np.ndarray, "_ r d"]], pictures: int, regions: int, width: int
) -> Float32[np.ndarray, "f d"]:
    """The flat layout of a block: tile after tile, each (r d b). Raises ValueError: other than `pictures` came."""
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
    """Views of the full tiles, and of the last one with the remaining pictures (perhaps none)."""
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
    keep: Keep = compute_anew

    @staticmethod
    def of(regions_nrd: Float[np.ndarray, "n r d"]) -> RegionBlock:
        """A block of regions given picture by picture (copies)."""
        return RegionBlock.mapped(tile_batches([regions_nrd], *regions_nrd.shape), regions_nrd.shape[1])

    @staticmethod
    def mapped(flat_fd: Float32[np.ndarray, "f d"], regions: int, keep: Keep = compute_anew) -> RegionBlock:
        """A block over what `tile_batches` made: views, except for the last tile. Raises ValueError: no pictures."""
        full, rest = _tiles(flat_fd, regions)
        left = rest.shape[3]
        filled_up = np.zeros((1 if left else 0, *rest.shape[1:3], TILE), np.float32)
        filled_up[..., :left] = rest[: len(filled_up)]
        return RegionBlock((full, filled_up), len(flat_fd) // regions, keep)

    def __len__(self) -> int:
        return self.pictures

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
        """The vectors in 8 bits, with a quarter of the memory: made on first use."""
        return self._coded("codes", lambda vectors_nrd: vectors_nrd)

    @cached_property
    def groups(self) -> RegionCodes:
        """The means of `GROUPS` groups of similar regions of each picture, in 8 bits: made on first use."""
        return self._coded(f"groups-{GROUPS}", group_means)

    def _coded(
        self, name: str, reduce: Callable[[Float32[np.ndarray, "b r d"]], Float32[np.ndarray, "b g d"]]
    ) -> RegionCodes:
        @cache
        def made_from(first: int) -> RegionCodes:
            of_none = RegionCodes.of(reduce(self.vectors(np.arange(0))))
            count = len(self) - first
            made = RegionCodes(np.empty((count, *of_none.codes_nrd.shape[1:]), np.uint8), np.empty(count, np.float32))
            for at in range(first, len(self), READ):
                some = RegionCodes.of(reduce(self.vectors(np.arange(at, min(at + READ, len(self))))))
                place = slice(at - first, at - first + len(some))
                made.codes_nrd[place], made.steps_n[place] = some.codes_nrd, some.steps_n
            return made

        steps_n = self.keep(f"{name}-steps", lambda first: made_from(first).steps_n)
        codes_nrd = self.keep(name, lambda first: made_from(first).codes_nrd)
        return RegionCodes(codes_nrd, steps_n)


@dataclass(frozen=True)
class RegionCodes:
    """Region vectors in 8 bits, 128 + x / step, each picture with a step of its own; picture by picture."""

    codes_nrd: UInt8[np.ndarray, "n r d"]
    steps_n: Float32[np.ndarray, " n"]

    @staticmethod
    def of(vectors_nrd: Float32[np.ndarray, "n r d"]) -> RegionCodes:
        """The codes of these vectors."""
        steps_n = np.abs(vectors_nrd).max(axis=(1, 2), initial=0.0) / np.float32(127)
        steps_n[steps_n == 0] = 1.0
        return RegionCodes((np.rint(vectors_nrd / steps_n[:, None, None]) + 128).astype(np.uint8), steps_n)

    def __len__(self) -> int:
        return len(self.steps_n)

    def at(self, rows_k: Int[np.ndarray, " k"]) -> RegionCodes:
        """The codes of some pictures only (copies)."""
        return RegionCodes(self.codes_nrd[rows_k], self.steps_n[rows_k])


def group_means(
    vectors_nrd: Float32[np.ndarray, "n r d"], groups: int = GROUPS, rounds: int = 2
) -> Float32[np.ndarray, "n g d"]:
    """The means of each picture's regions in groups of similar ones (k-means, from regions evenly apart).

    Pictures of no more regions than groups stay as they are.
    """
    regions = vectors_nrd.shape[1]
    if regions <= groups:
        return vectors_nrd
    means_ngd = vectors_nrd[:, np.linspace(0, regions - 1, groups).astype(int)]
    for _ in range(rounds):
        group_nr = np.matmul(vectors_nrd, means_ngd.transpose(0, 2, 1)).argmax(axis=2)
        is_in_ngr = (group_nr[:, None] == np.arange(groups)[:, None]).astype(np.float32)
        means_ngd = np.matmul(is_in_ngr, vectors_nrd) / np.maximum(is_in_ngr.sum(axis=2, keepdims=True), 1)
    return means_ngd


CACHED = 2**16
"""Similarities processed together: these and their exponentials (512 KB) stay in a core's cache."""

SMALL_PRODUCT = 2**18
"""Up to this many multiplications a product runs in the calling thread (OpenBLAS)."""


def single_vector_scores(block: RegionBlock, query_d: Float[np.ndarray, " d"]) -> Float32[np.ndarray, " n"]:
    """`late_interaction` for pictures with one vector: a dot product. Raises ValueError: pictures have several."""
    if block.parts[0].shape[1] != 1:
        raise ValueError(f"pictures have {block.parts[0].shape[1]} vectors each, and a bare product is of one")
    query_1d = np.asarray(query_d, np.float32)[None]
    return np.concatenate([np.matmul(query_1d, part[:, 0]).reshape(-1) for part in block.parts])[: len(block)]


def late_interaction(
    block: RegionBlock,
    queries_md: Float[np.ndarray, "m d"],
    *,
    temperature: float = 9.0,
    weights_m: Float[np.ndarray, " m"] | None = None,
) -> Float32[np.ndarray, " n"]:
    """Drill-down's score of every picture: the mean of s_i over the query vectors, weighted by `weights_m`.

    Raises ValueError: no query vector, or weights that do not add up to more than 0.
    """
    shares_m = _shares(len(queries_md), weights_m)
    return _weighed(shares_m, query_vector_scores(block, queries_md, temperature=temperature))


def query_vector_scores(
    block: RegionBlock, queries_md: Float[np.ndarray, "m d"], *, temperature: float = 9.0
) -> Float32[np.ndarray, "m n"]:
    """s_i of every picture, for each query vector separately."""
    queries = np.ascontiguousarray(queries_md, dtype=np.float32)
    likeness_mn = np.empty((len(queries), TILE * sum(map(len, block.parts))), dtype=np.float32)
    together = max(1, SMALL_PRODUCT // (TILE * max(queries.shape[1], 1)))

    def look(tiles: tuple[int, Tiles]) -> None:
        start, tiles_trdb = tiles
        pictures = slice(start, start + len(tiles_trdb) * TILE)
        for first in range(0, len(queries), together):
            rows = slice(first, first + together)
            likeness_tmb = _attend(np.matmul(queries[rows], tiles_trdb), temperature)
            likeness_mn[rows, pictures] = likeness_tmb.transpose(1, 0, 2).reshape(likeness_tmb.shape[1], -1)

    share_out(look, _groups(block, min(len(queries), together)))
    return likeness_mn[:, : len(block)]


def attention_weights(
    regions_krd: Float[np.ndarray, "k r d"], queries_md: Float[np.ndarray, "m d"], *, temperature: float = 9.0
) -> Float32[np.ndarray, "k m r"]:
    """How much each query vector looks at each region of a picture: the softmax, which adds up to 1 over regions."""
    regions = np.asarray(regions_krd, dtype=np.float32)
    weights_kmr = np.asarray(queries_md, dtype=np.float32) @ regions.transpose(0, 2, 1)
    weights_kmr *= np.float32(temperature)
    weights_kmr -= weights_kmr.max(axis=-1, keepdims=True)
    np.exp(weights_kmr, out=weights_kmr)
    weights_kmr /= weights_kmr.sum(axis=-1, keepdims=True)
    return weights_kmr


def late_interaction_coarse(
    codes: RegionCodes,
    queries_md: Float[np.ndarray, "m d"],
    *,
    temperature: float = 9.0,
    weights_m: Float[np.ndarray, " m"] | None = None,
) -> Float32[np.ndarray, " n"]:
    """`late_interaction` with regions in 8 bits and queries in 7."""

    def attend(dots_brm: Int[np.ndarray, "b r m"], steps_bm: Float32[np.ndarray, "b m"]) -> Float32[np.ndarray, "b m"]:
        cosines_rbm = np.ascontiguousarray(dots_brm.transpose(1, 0, 2), dtype=np.float32)
        cosines_rbm *= steps_bm
        return np.asarray(_attend(cosines_rbm[None], temperature)[0])

    return _coded_scores(codes, queries_md, weights_m, attend)


def nearest_group_scores(
    groups: RegionCodes, queries_md: Float[np.ndarray, "m d"], *, weights_m: Float[np.ndarray, " m"] | None = None
) -> Float32[np.ndarray, " n"]:
    """About what `late_interaction` finds, from means of similar regions: the largest c in place of s_i.

    The softmax over so few means comes out too low, by almost a standard deviation; the largest does not, and needs no
    exponentials.
    """

    def nearest(dots_bgm: Int[np.ndarray, "b g m"], steps_bm: Float32[np.ndarray, "b m"]) -> Float32[np.ndarray, "b m"]:
        highest_bm = dots_bgm[:, 0]
        for group in range(1, dots_bgm.shape[1]):  # twice as fast as a maximum along the axis
            highest_bm = np.maximum(highest_bm, dots_bgm[:, group])
        return np.asarray(highest_bm.astype(np.float32) * steps_bm)

    return _coded_scores(groups, queries_md, weights_m, nearest)


def _coded_scores(
    codes: RegionCodes,
    queries_md: Float[np.ndarray, "m d"],
    weights_m: Float[np.ndarray, " m"] | None,
    compare: Callable[[Int[np.ndarray, "b r m"], Float32[np.ndarray, "b m"]], Float32[np.ndarray, "b m"]],
) -> Float32[np.ndarray, " n"]:
    """The weighted sum of what `compare` makes of dot products in whole numbers, and of what one is worth."""
    shares_m = _shares(len(queries_md), weights_m)
    queries = np.asarray(queries_md, dtype=np.float32)
    # 63, not 127: processors without VNNI add pairs of products in 16 bits, which 255 * 127 * 2 overflows.
    steps_m = np.abs(queries).max(axis=1) / 63
    steps_m[steps_m == 0] = 1.0
    codes_dm = np.ascontiguousarray(np.rint(queries / steps_m[:, None]).astype(np.int8).T)
    product = _integer_product()
    _, regions, width = codes.codes_nrd.shape
    together = max(1, CODED // max(regions, 1))
    scores_n = np.empty(len(codes), dtype=np.float32)

    def look(start: int) -> None:
        codes_brd, steps_b = codes.codes_nrd[start : start + together], codes.steps_n[start : start + together]
        size = len(codes_brd)
        if size < together:  # filled up, so that equal pictures score equally wherever they lie
            codes_brd = np.concatenate([codes_brd, np.full((together - size, regions, width), 128, np.uint8)])
            steps_b = np.append(steps_b, np.ones(together - size, np.float32))
        dots = product.run(None, {"regions": codes_brd.reshape(-1, width), "queries": codes_dm})[0]
        likeness_bm = compare(dots.reshape(together, regions, -1), steps_b[:, None] * steps_m)
        scores_n[start : start + size] = _weighed(shares_m, likeness_bm.T)[:size]

    share_out(look, range(0, len(codes), together))
    return scores_n


def rank_fusion(likeness_mn: Float[np.ndarray, "m n"]) -> Float32[np.ndarray, " n"]:
    """Minus the mean rank of every picture over the query vectors, as a share of the gallery.

    Ranks count from 1; pictures equally similar to a query vector share the mean of their ranks.

    >>> rank_fusion(np.array([[0.9, 0.1, 0.9, 0.2]])).tolist()
    [-0.375, -1.0, -0.375, -0.75]
    """
    pictures = likeness_mn.shape[1]
    mean_n = np.zeros(pictures)
    for likeness_n in likeness_mn if pictures else ():
        order = np.argsort(-likeness_n, kind="stable")
        sorted_n = likeness_n[order]
        # Equal pictures may differ by a few float32 steps, depending on the processor: gaps within `TIE` do not count.
        first = np.flatnonzero(np.append(True, sorted_n[:-1] - sorted_n[1:] > TIE))
        after = np.append(first[1:], pictures)
        mean_n[order] += np.repeat((first + 1 + after) / 2, after - first) / len(likeness_mn)
    return np.asarray(-mean_n / max(pictures, 1), dtype=np.float32)


def _attend(
    cosines_trxy: Float32[np.ndarray, "t r x y"], temperature: float, *, safely: bool = False
) -> Float32[np.ndarray, "t x y"]:
    """sum_r softmax_r(temperature * c) c.

    Between unit vectors |9 c| <= 9, so the usual pass over the memory for the maximum is skipped; if the exponentials
    turn out too large or too small, it is made after all.
    """
    powers_trxy = cosines_trxy * np.float32(temperature)
    if safely:
        powers_trxy -= powers_trxy.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        np.exp(powers_trxy, out=powers_trxy)
        total_txy = powers_trxy.sum(axis=1)
    if not safely and not (total_txy.min(initial=1.0) > 1e-30 and total_txy.max(initial=1.0) < 1e30):
        return _attend(cosines_trxy, temperature, safely=True)
    powers_trxy *= cosines_trxy
    likeness_txy = powers_trxy.sum(axis=1)
    likeness_txy /= total_txy
    return np.asarray(likeness_txy)


def _shares(count: int, weights_m: Float[np.ndarray, " m"] | None) -> Float32[np.ndarray, " m"]:
    """Weights that add up to 1."""
    weights = np.ones(count) if weights_m is None else np.asarray(weights_m, dtype=np.float64)
    if not weights.sum() > 0:
        raise ValueError(f"{count} query vectors with total weight {weights.sum()}: nothing to compare pictures with")
    return np.asarray(weights / weights.sum(), dtype=np.float32)


def _weighed(shares_m: Float32[np.ndarray, " m"], likeness_mn: Float32[np.ndarray, "m n"]) -> Float32[np.ndarray, " n"]:
    """The weighted sum; a product of matrices would round equal columns differently."""
    scores_n = np.zeros(likeness_mn.shape[1], np.float32)
    for share, likeness_n in zip(shares_m, likeness_mn, strict=True):
        scores_n += share * likeness_n
    return scores_n


def _groups(block: RegionBlock, queries: int) -> Iterator[tuple[int, Tiles]]:
    """Groups of tiles whose similarities fit into the cache, with the row of their first picture."""
    start = 0
    for part_trdb in block.parts:
        step = max(1, CACHED // max(part_trdb.shape[1] * queries * TILE, 1))
        for at in range(0, len(part_trdb), step):
            group_trdb = part_trdb[at : at + step]
            yield start, group_trdb
            start += len(group_trdb) * TILE


@cache
def _integer_product() -> Any:
    """ONNX Runtime for (uint8 (rows d) - 128) times int8 (d m): numpy has no fast 8-bit product."""
    return inference_session(INTEGER_PRODUCT, threads=1)


INTEGER_PRODUCT = Path(__file__).with_name("integer_product.onnx")
"""One `MatMulInteger`, which tests/search/test_region_scores.py spells out."""
