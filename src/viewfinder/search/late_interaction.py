"""Scores of many vectors a picture for a query, exactly or by a first look in 8 bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int64

from viewfinder.query import Query, RegionSpace
from viewfinder.search.kernels import top_k
from viewfinder.search.parts import vectors_of_parts, weights_of_parts
from viewfinder.search.region_scores import (
    RegionBlock,
    late_interaction,
    late_interaction_coarse,
    nearest_group_scores,
    query_vector_scores,
    rank_fusion,
    single_vector_scores,
)

MAX_EXACT = 20_000
"""Above this many, pictures are first scored in 8 bits, and only the best (and `exact` scores) in full."""

MAX_RESCORED = 100
"""How many of the best by 8 bits are scored in full."""

MAX_UNGROUPED = 200_000
"""Above this many, pictures are first scored by groups of their regions, which misses some (docs/scale.md)."""

GROUP_SHARE = 0.01
"""The share of pictures, the best by groups, that are scored by all their regions in 8 bits."""


SAMPLED = 1000
"""Pictures, evenly, that say what scores by groups are in 8 bits."""

ESTIMATED_SHARE, MAX_ESTIMATED = 0.05, 10_000
"""The share of pictures, the best by groups, of which an estimate looks at all regions, and how many at most."""


def late_scores(
    query: Query,
    space: RegionSpace,
    block: RegionBlock,
    *,
    exact: bool,
    allowed_n: Bool[np.ndarray, " n"],
    prior_n: Float32[np.ndarray, " n"],
) -> Float32[np.ndarray, " n"]:
    """The mean likeness to the parts, plus what else is known (`prior_n`).

    In full; beyond `MAX_EXACT` pictures, only for the best of those allowed.
    """
    weights_m = weights_of_parts(query)
    if not weights_m.any():
        return prior_n
    vectors_md = vectors_of_parts(query)
    if space.regions == 1:
        # With one vector there is nothing to choose: parts are added up first and compared in a single scan.
        return np.asarray(single_vector_scores(block, weights_m @ vectors_md) + prior_n)
    if exact or len(block) <= MAX_EXACT:
        alike_n = late_interaction(block, vectors_md, temperature=space.temperature, weights_m=weights_m)
        return np.asarray(alike_n + prior_n)
    scores_n = late_interaction_near(
        block, vectors_md, temperature=space.temperature, weights_m=weights_m, prior_n=prior_n
    )
    if not allowed_n.all():
        # Only now, so that pictures that are not allowed are not moved too: chances are measured against the whole
        # collection.
        for count, score in closer_looks(block, vectors_md, temperature=space.temperature, weights_m=weights_m):
            found_k = np.sort(top_k(scores_n, count, allowed_n=allowed_n))
            closer_k = score(found_k) + prior_n[found_k]
            np.minimum(scores_n, closer_k.min(initial=np.inf), out=scores_n, where=allowed_n)
            scores_n[found_k] = closer_k
    return scores_n


def late_interaction_near(
    block: RegionBlock,
    queries_md: Float[np.ndarray, "m d"],
    *,
    candidates: int = MAX_RESCORED,
    temperature: float = 9.0,
    weights_m: Float[np.ndarray, " m"] | None = None,
    prior_n: Float32[np.ndarray, " n"] | None = None,
) -> Float32[np.ndarray, " n"]:
    """`late_interaction` in 8 bits for every picture, and exactly for the best `candidates`; `prior_n` is added.

    Above `MAX_UNGROUPED` pictures, the first look is at groups of regions, and all regions are compared in 8 bits only
    of the best by these. The order is consistent: if the other pictures would overlap those that were looked at more
    closely, they are all moved below them by the same amount. So a picture is misplaced among the first only if a look
    puts it behind as many others as the next one takes.
    """
    how: Any = {"temperature": temperature, "weights_m": weights_m}
    if len(block) > MAX_UNGROUPED:
        scores_n = nearest_group_scores(block.groups, queries_md, weights_m=weights_m)
    else:
        scores_n = late_interaction_coarse(block.codes, queries_md, **how)
    prior = np.zeros(len(block), np.float32) if prior_n is None else prior_n
    scores_n += prior
    for count, score in closer_looks(block, queries_md, candidates=candidates, **how):
        found_k = np.sort(top_k(scores_n, count))
        if len(found_k):
            closer_k = score(found_k) + prior[found_k]
            scores_n[found_k] = -np.inf
            highest, lowest = scores_n.max(initial=-np.inf), closer_k.min()
            if highest >= lowest:
                scores_n -= np.float32(highest - lowest + 1e-6 * max(1.0, abs(highest)))
            scores_n[found_k] = closer_k
    return scores_n


def estimate_late_scores(query: Query, space: RegionSpace, block: RegionBlock) -> Float32[np.ndarray, " n"]:
    """About the mean likeness to the parts, for a sum with what others make of the pictures.

    Up to `MAX_EXACT` pictures in full. Beyond, all regions are compared in 8 bits only of the best by groups and of an
    even sample; others have what their groups say, on the scale that these have in the sample. Nobody is moved to keep
    an order, so that the mean and the deviation stay those of all.
    """
    weights_m, vectors_md = weights_of_parts(query), vectors_of_parts(query)
    if not weights_m.any():
        return np.zeros(len(block), np.float32)
    if space.regions == 1:
        return single_vector_scores(block, weights_m @ vectors_md)
    how: Any = {"temperature": space.temperature, "weights_m": weights_m}
    if len(block) <= MAX_EXACT:
        return late_interaction(block, vectors_md, **how)
    by_groups_n = nearest_group_scores(block.groups, vectors_md, weights_m=weights_m)
    even_k = np.linspace(0, len(block) - 1, SAMPLED).astype(np.int64)
    best_k = top_k(by_groups_n, min(math.ceil(ESTIMATED_SHARE * len(block)), MAX_ESTIMATED))
    even_scores_k = late_interaction_coarse(block.codes.at(even_k), vectors_md, **how)
    apart_k, scores_apart_k = (values_k - values_k.mean() for values_k in (by_groups_n[even_k], even_scores_k))
    variance = float(apart_k @ apart_k)  # 0 where pictures have no regions
    slope = float(apart_k @ scores_apart_k) / variance if variance else 0.0
    scores_n: Float32[np.ndarray, " n"] = np.float32(slope) * (by_groups_n - by_groups_n[even_k].mean())
    scores_n += even_scores_k.mean()
    scores_n[even_k] = even_scores_k
    scores_n[best_k] = late_interaction_coarse(block.codes.at(best_k), vectors_md, **how)
    return scores_n


def closer_looks(
    block: RegionBlock, queries_md: Float[np.ndarray, "m d"], *, candidates: int = MAX_RESCORED, **how: Any
) -> Iterator[tuple[int, Callable[[Int64[np.ndarray, " k"]], Float32[np.ndarray, " k"]]]]:
    """How many of the best each further look takes, and how it scores them (`how`: as `late_interaction`)."""
    if len(block) > MAX_UNGROUPED:
        many = math.ceil(GROUP_SHARE * len(block))
        yield many, lambda rows_k: late_interaction_coarse(block.codes.at(rows_k), queries_md, **how)
    yield candidates, lambda rows_k: late_interaction(block.at(rows_k), queries_md, **how)


def region_shares(query: Query, space: RegionSpace, block: RegionBlock) -> Float[np.ndarray, "m n"]:
    """The share of each part in every picture's score; columns sum to `late_scores`, or to `rank_fusion` of all."""
    likeness_mn = query_vector_scores(block, vectors_of_parts(query), temperature=space.temperature)
    if query.compare == "rank_fusion":
        return np.stack([rank_fusion(likeness_n[None]) for likeness_n in likeness_mn]) / np.float32(len(likeness_mn))
    return np.asarray(weights_of_parts(query)[:, None] * likeness_mn)
