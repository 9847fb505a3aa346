"""The scoring kernels: dot products, the best k, and late interaction as Drill-down defines it.

Axes: `n` pictures, `d` numbers of a vector, `r` regions of a picture, `m` query vectors, `k` results.
Nothing here reads a disk or knows a library; every kernel is tested against slow, obvious code.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int64, UInt8

from viewfinder.onnx import inference_session

CHUNK = 2000
"""Pictures scored at a time: their similarities (36 regions, 6 queries: 1.7 MB) stay in the cache. Fewer
than 500 make the matrix product slow, and on a busy machine each product waits for its slowest thread."""

SAFE_EXPONENT = 80.0
"""exp() of anything up to this is finite in float32, and of its negative not zero."""


def dot_scores(matrix_nd: Float[np.ndarray, "n d"], query_d: Float[np.ndarray, "*m d"]) -> Float32[np.ndarray, "*m n"]:
    """Dot product of every picture with a query (d) -> (n), or with several queries (m d) -> (m n)."""
    query = np.asarray(query_d, dtype=np.float32)
    matrix = np.asarray(matrix_nd, dtype=np.float32)
    if query.ndim == 1:
        return np.asarray(matrix @ query)
    return np.ascontiguousarray((matrix @ query.T).T)


def top_k(
    scores_n: Float[np.ndarray, " n"], k: int, *, allowed_n: Bool[np.ndarray, " n"] | None = None
) -> Int64[np.ndarray, " k"]:
    """Rows of the k best scores among the allowed ones, best first, ties in row order.

    Always min(k, allowed) rows; NaN comes after everything else.

    Raises:
        ValueError: k is negative.

    >>> top_k(np.array([0.1, 0.3, 0.3, 0.2], dtype=np.float32), 3).tolist()
    [1, 2, 3]
    """
    if k < 0:
        raise ValueError(f"k={k}, but nobody can be shown fewer than 0 pictures")
    rows = np.arange(len(scores_n)) if allowed_n is None else np.flatnonzero(allowed_n)
    losses = -scores_n if allowed_n is None else -scores_n[rows]
    if 0 < k < len(rows):
        kept = _smallest(losses, k)
        rows, losses = rows[kept], losses[kept]
    return np.asarray(rows[np.argsort(losses, kind="stable")][:k], dtype=np.int64)


def _smallest(losses_n: Float[np.ndarray, " n"], k: int) -> Int64[np.ndarray, " k"]:
    """Positions of the k smallest numbers (first ones on ties, NaN last), in ascending position."""
    border = losses_n[np.argpartition(losses_n, k - 1)[k - 1]]
    below_n = ~np.isnan(losses_n) if np.isnan(border) else losses_n < border
    level_n = np.isnan(losses_n) if np.isnan(border) else losses_n == border
    level = np.flatnonzero(level_n)[: k - np.count_nonzero(below_n)]
    below_n[level] = True
    return np.flatnonzero(below_n)


@dataclass(frozen=True)
class RegionBlock:
    """Region vectors of a collection, float32, in parts of `CHUNK` pictures; each part region-major (r b d).

    Region 0 of a part's pictures comes first, then region 1 ...: so a part is one matrix for one product,
    and the softmax over a picture's regions runs along the first axis, where numpy adds whole rows. Vectors
    are expected at unit length; a missing region is a vector of zeros, as in Drill-down's padding.
    """

    parts: tuple[Float32[np.ndarray, "r _ d"], ...]

    @staticmethod
    def of(regions_nrd: Float[np.ndarray, "n r d"]) -> RegionBlock:
        """The block of regions given picture by picture (copies)."""
        starts = range(0, max(len(regions_nrd), 1), CHUNK)  # an empty collection has one empty part
        chunks = (regions_nrd[start : start + CHUNK].transpose(1, 0, 2) for start in starts)
        return RegionBlock(tuple(np.ascontiguousarray(chunk, dtype=np.float32) for chunk in chunks))

    def __len__(self) -> int:
        return sum(part.shape[1] for part in self.parts)

    def at(self, rows_k: Int64[np.ndarray, " k"]) -> RegionBlock:
        """The block of some pictures only (copies)."""
        regions, size, width = self.parts[0].shape
        chosen_rkd = np.empty((regions, len(rows_k), width), dtype=np.float32)
        number_k, place_k = np.divmod(rows_k, max(size, 1))
        for number in np.unique(number_k):
            inside_k = number_k == number
            chosen_rkd[:, inside_k] = self.parts[number][:, place_k[inside_k]]
        return RegionBlock((chosen_rkd,))

    @cached_property
    def longest(self) -> float:
        """Length of the longest region vector: bounds every similarity from above."""
        return float(np.sqrt(max(np.einsum("rbd,rbd->rb", part, part).max(initial=0.0) for part in self.parts)))

    @cached_property
    def step(self) -> float:
        """What one step of the 8-bit codes is worth."""
        return max(float(np.abs(part).max(initial=0.0)) for part in self.parts) / 127 or 1.0

    @cached_property
    def codes(self) -> tuple[UInt8[np.ndarray, "_ d"], ...]:
        """Each part in 8 bits, as one matrix, a quarter of the memory: 128 + x / step."""
        half, step = np.float32(128.5), np.float32(self.step)
        return tuple((_matrix(part) / step + half).astype(np.uint8) for part in self.parts)


def _matrix(part_rbd: Float32[np.ndarray, "r b d"]) -> Float32[np.ndarray, "rb d"]:
    return part_rbd.reshape(-1, part_rbd.shape[2])


def late_interaction(
    regions: RegionBlock,
    queries_md: Float[np.ndarray, "m d"],
    *,
    temperature: float = 9.0,
    weights_m: Float[np.ndarray, " m"] | None = None,
) -> Float32[np.ndarray, " n"]:
    """Drill-down's score: each query vector looks at the regions that resemble it, (r n d), (m d) -> (n).

    With c the dot product of query i and region k: s_i = sum_k softmax_k(temperature * c) c, and the score
    is the mean of s_i over the query vectors, weighted by `weights_m` (Drill-down: 1 for slots written, 0
    for others). The temperature is multiplied, as in the published code (the paper divides by it).

    Raises:
        ValueError: no query vector, or weights that do not add up to more than 0.
    """
    queries = np.asarray(queries_md, dtype=np.float32)
    shares_m = _shares(len(queries), weights_m)
    queries_dm = np.ascontiguousarray(queries.T)
    safe = _exponent_is_safe(regions, queries, temperature)
    cosines = ((_matrix(part) @ queries_dm).reshape(*part.shape[:2], len(queries)) for part in regions.parts)
    return np.concatenate([_attend(part_rbm, temperature, safe) @ shares_m for part_rbm in cosines])


def late_interaction_top(
    regions: RegionBlock,
    queries_md: Float[np.ndarray, "m d"],
    k: int,
    *,
    candidates: int = 100,
    temperature: float = 9.0,
    weights_m: Float[np.ndarray, " m"] | None = None,
    allowed_n: Bool[np.ndarray, " n"] | None = None,
) -> tuple[Int64[np.ndarray, " k"], Float32[np.ndarray, " k"]]:
    """Rows and exact scores of the k best pictures, found in 8 bits and then scored exactly.

    The 8-bit pass names the best `candidates` (at least k); those are scored by `late_interaction`. A
    picture can only be missed if the 8-bit pass puts it behind `candidates` others.
    """
    coarse_n = _coarse_scores(regions, np.asarray(queries_md, dtype=np.float32), temperature, weights_m)
    found = np.sort(top_k(coarse_n, max(k, candidates), allowed_n=allowed_n))
    scores = late_interaction(regions.at(found), queries_md, temperature=temperature, weights_m=weights_m)
    best = top_k(scores, k)
    return found[best], scores[best]


def _coarse_scores(
    regions: RegionBlock,
    queries_md: Float32[np.ndarray, "m d"],
    temperature: float,
    weights_m: Float[np.ndarray, " m"] | None,
) -> Float32[np.ndarray, " n"]:
    """`late_interaction` with regions in 8 bits and queries in 7."""
    shares_m = _shares(len(queries_md), weights_m)
    # 63, not 127: processors without VNNI add pairs of products in 16 bits, which 255 * 127 * 2 overflows.
    steps_m = np.abs(queries_md).max(axis=1) / 63
    steps_m[steps_m == 0] = 1.0
    codes_dm = np.ascontiguousarray(np.rint(queries_md / steps_m[:, None]).astype(np.int8).T)
    worth_m = (steps_m * regions.step).astype(np.float32)
    safe = _exponent_is_safe(regions, queries_md, temperature)
    product = _integer_product()
    scores = []
    for codes, part_rbd in zip(regions.codes, regions.parts, strict=True):
        dots = product.run(None, {"regions": codes, "queries": codes_dm})[0].astype(np.float32)
        dots *= worth_m
        scores.append(_attend(dots.reshape(*part_rbd.shape[:2], len(queries_md)), temperature, safe) @ shares_m)
    return np.concatenate(scores)


def _attend(cosines_rbm: Float32[np.ndarray, "r b m"], temperature: float, safe: bool) -> Float32[np.ndarray, "b m"]:
    """sum_r softmax_r(temperature * c) c."""
    weights_rbm = cosines_rbm * np.float32(temperature)
    if not safe:  # between unit vectors |9 c| <= 9: there, a pass over the memory for the maximum is saved
        weights_rbm -= weights_rbm.max(axis=0)
    np.exp(weights_rbm, out=weights_rbm)
    total_bm = weights_rbm.sum(axis=0)
    weights_rbm *= cosines_rbm
    return np.asarray(weights_rbm.sum(axis=0) / total_bm)


def _exponent_is_safe(regions: RegionBlock, queries_md: Float32[np.ndarray, "m d"], temperature: float) -> bool:
    longest = float(np.linalg.norm(queries_md, axis=1).max())
    return abs(temperature) * longest * regions.longest <= SAFE_EXPONENT


def _shares(count: int, weights_m: Float[np.ndarray, " m"] | None) -> Float32[np.ndarray, " m"]:
    """Weights that add up to 1."""
    weights = np.ones(count) if weights_m is None else np.asarray(weights_m, dtype=np.float64)
    if not weights.sum() > 0:
        raise ValueError(f"{count} query vectors with total weight {weights.sum()}: nothing to compare pictures with")
    return np.asarray(weights / weights.sum(), dtype=np.float32)


@cache
def _integer_product() -> Any:
    """ONNX Runtime for (uint8 (rows d) - 128) times int8 (d m): numpy has no fast 8-bit product."""
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["regions", "queries", "zero"], ["dots"])],
        "integer_product",
        [
            helper.make_tensor_value_info("regions", TensorProto.UINT8, ["rows", "d"]),
            helper.make_tensor_value_info("queries", TensorProto.INT8, ["d", "m"]),
        ],
        [helper.make_tensor_value_info("dots", TensorProto.INT32, ["rows", "m"])],
        [helper.make_tensor("zero", TensorProto.UINT8, [], [128])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return inference_session(model.SerializeToString())
