"""The scores that a turn needs of a gallery: from the machines that search it, from its index, or of all pictures.

A turn needs two things: the best pictures, and how the scores of all are distributed. In a large collection the best
come from an index and are scored exactly; the distribution is estimated on a sample. "But brown" is no inner product,
which is all that an index knows: a query is fitted to its scores on the sample, and finds more candidates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float32, Int, Int64

from viewfinder.query import ComputedRatios, Part, Query, Ratios, RegionSpace
from viewfinder.search.gallery import Gallery
from viewfinder.search.kernels import top_k
from viewfinder.search.near_scores import CANDIDATES, NearScores
from viewfinder.search.scores import (
    Scores,
    find_excluded,
    measure_likeness,
    measure_likeness_in_words,
    positive_weight,
    score_all,
    score_parts,
    score_rows,
    sum_plain_parts,
    sum_prior,
    sum_terms,
    weigh_term,
)

if TYPE_CHECKING:  # few collections are large, or lie on several machines
    from viewfinder.search.indexed_pictures import IndexedPictures
    from viewfinder.search.shard_scores import ShardAnswer, ShardQuestion, Shards

MAX_DEEP = 10_000
"""Results down to which an index is searched for what is computed of each picture by itself."""

RIDGE = 1e-3
"""Added to the weighted mean square of unit vectors when a query is fitted to scores."""

FITTED_CANDIDATES = 3_000
"""Pictures that a search for a fitted query returns: it only approximates the one that is meant."""

MAX_COMPUTED = 1_200
"""Pictures of which it is computed how likely an answer is, the best of all candidates by the fitted query: more than a
question looks at."""


def score_turn(gallery: Gallery, query: Query, allowed_n: Bool[np.ndarray, " n"] | None = None) -> Scores | NearScores:
    """The scores that a turn needs, from shards or the index if these serve the query. Raises as `score_all`."""
    near = None
    if gallery.shards is not None:
        near = ask_shards(gallery, gallery.shards, query, allowed_n)
    elif gallery.indexed is not None:
        near = search_index(gallery, gallery.indexed, query, allowed_n)
    return score_all(gallery, query, allowed_n=allowed_n) if near is None else near


def score_deeper(
    gallery: Gallery, query: Query, allowed_n: Bool[np.ndarray, " n"] | None, count: int
) -> Scores | NearScores:
    """Scores of at least the best `count`, where those of `score_turn` are too few: as a rule by a scan of all.

    Only what is computed of each picture by itself would take long of all of them: more candidates are searched for.
    """
    if count <= MAX_DEEP and gallery.indexed is not None and list_computed(gallery, query):
        near = search_index(gallery, gallery.indexed, query, allowed_n, deeper=math.ceil(count / CANDIDATES))
        if near is not None and len(near.best(count, allowed_n)) == min(count, near.count_open(allowed_n)):
            return near
    return score_all(gallery, query, allowed_n=allowed_n)


def warm_scores(gallery: Gallery) -> Gallery:
    """Computes all that the first search would have to compute; returns the gallery itself."""
    gallery.measures.background_n  # noqa: B018 (computed on first use)
    if gallery.encoder.vocabulary is not None:
        none_l = np.zeros(len(gallery.encoder.vocabulary.words), np.float32)
        measure_likeness_in_words(gallery, none_l, np.zeros(0, np.int64))
    gallery.tags  # noqa: B018
    if gallery.written is not None:
        gallery.written.weigh_text("a picture")
    gallery.weigh_machine_words("a picture")
    if len(gallery):
        gallery.measures.own_scale  # noqa: B018
        if gallery.indexed is not None:
            gallery.measures.moments  # noqa: B018
    return gallery


# -- shards


def ask_shards(
    gallery: Gallery, shards: Shards, query: Query, allowed_n: Bool[np.ndarray, " n"] | None
) -> NearScores | None:
    """The best pictures of all shards; None for queries over vectors of a system's own, which need all others."""
    if isinstance(query.space, RegionSpace) or not query.parts:
        return None
    from viewfinder.search.shard_scores import merge_answers

    excluded_k = find_excluded(gallery, query)
    open_n = allowed_n
    if len(excluded_k):
        open_n = np.ones(len(gallery), bool) if allowed_n is None else allowed_n.copy()
        open_n[excluded_k] = False
    # What answers and written words add depends on all pictures: it is known here, one number per picture.
    answers, lost = shards.ask(query.without_terms(), sum_prior(gallery, query), open_n)
    return merge_answers(
        answers,
        lost,
        size=len(gallery),
        excluded_k=excluded_k,
        allowed_n=allowed_n,
        score=partial(score_rows, gallery, query),
        ids=gallery.snapshot.ids_to_order,
    )


def answer_shard(
    gallery: Gallery,
    question: ShardQuestion,
    rows_r: Int[np.ndarray, " r"] | slice,
    ids_r: Sequence[str] | None = None,
) -> ShardAnswer:
    """The answer of the shard of these rows; `ids_r`: their ids, if rows are not in the order of ids."""
    from viewfinder.search.shard_scores import make_answer

    total_r = score_parts(gallery, question.query, rows_r)
    if question.prior_r is not None:
        total_r = total_r + question.prior_r
    return make_answer(total_r, question, ids_r)


# -- the index


def search_index(
    gallery: Gallery,
    indexed: IndexedPictures,
    query: Query,
    allowed_n: Bool[np.ndarray, " n"] | None,
    deeper: int = 1,
) -> NearScores | None:
    """The best pictures of those allowed; None if an index does not serve the query. `deeper`: that many times as many
    candidates as a turn needs.

    It does not for systems with vectors of their own, nor if only catalogue values are asked for.
    """
    compared = [part for part in query.parts if part.kind != "value"]
    if isinstance(query.space, RegionSpace) or not compared:
        return None
    from viewfinder.search.approximate import as_query

    samples, plain = gallery.measures.samples, sum_plain_parts(query)
    is_plain = all(part.is_plain for part in compared) and plain.vector_d is not None
    computed = list_computed(gallery, query)
    excluded_k, prior_n = find_excluded(gallery, query), _sum_uncompared(gallery, query)
    searches: list[tuple[Float32[np.ndarray, " w"], int]] = []
    if is_plain and plain.vector_d is not None:
        searches.append((as_query(plain.vector_d, plain.centred), deeper * CANDIDATES + len(excluded_k)))
    if computed or not is_plain:
        fitted_k = _score_sample(gallery, query, compared)
        for ratios in computed:
            fitted_k += ratios.at(samples.rows_k) / np.float32(query.sharpness)
        searches.append((fit_query(samples.vectors_kw, fitted_k), deeper * FITTED_CANDIDATES + len(excluded_k)))
    rows_c = indexed.candidates(
        searches,
        against=any(part.weight < 0 for part in compared),
        prior_n=prior_n,
        allowed_n=allowed_n,
        deeper=deeper,
    )
    if computed or not is_plain:
        rows_c = _keep_hopeful(gallery, rows_c, searches[-1][0], prior_n, deeper * MAX_COMPUTED + len(excluded_k))

    def measure() -> tuple[float, float]:
        if prior_n is None and is_plain and not computed:
            return gallery.measures.moments.measure(searches[0][0])
        sample_k = _score_sample(gallery, query, query.parts)
        known_k = sum_prior(gallery, query, samples.rows_k)
        if known_k is not None:
            sample_k += known_k
        return float(sample_k.mean()), float(sample_k.std())

    score, ids = partial(score_rows, gallery, query), gallery.snapshot.ids_to_order
    gallery.snapshot.note_read(len(rows_c))
    return NearScores(rows_c, score(rows_c), excluded_k, len(gallery), score, measure, allowed_n is None, ids)


def _keep_hopeful(
    gallery: Gallery,
    rows_c: Int64[np.ndarray, " c"],
    query_w: Float32[np.ndarray, " w"],
    prior_n: Float32[np.ndarray, " n"] | None,
    count: int,
) -> Int64[np.ndarray, " c"]:
    """The candidates that are the best by a fitted query: what is computed of each picture takes its time."""
    if len(rows_c) <= count:
        return rows_c
    vectors_cd = gallery.snapshot.matrix_nd[rows_c]
    width = vectors_cd.shape[1]
    hope_c = vectors_cd @ query_w[:width] + gallery.measures.background_n[rows_c] * query_w[width]
    if prior_n is not None:
        hope_c += prior_n[rows_c]
    return np.asarray(rows_c[np.sort(top_k(hope_c, count))])


def list_computed(gallery: Gallery, query: Query) -> list[ComputedRatios]:
    """What is said of pictures that is computed of those alone that matter."""
    told = (weigh_term(gallery, term) for term in query.evidence)
    return [ratios for ratios in told if isinstance(ratios, ComputedRatios)]


def _sum_uncompared(gallery: Gallery, query: Query) -> Float32[np.ndarray, " n"] | None:
    """The number added to the score of every picture besides its similarity and what is computed; None: nothing."""
    prior_n = sum_terms(gallery, query, [term for term in query.terms if _is_known(weigh_term(gallery, term))])
    for part in query.parts:
        if part.kind == "value":
            weight = np.float32(part.weight / positive_weight(query))
            adds_n = weight * measure_likeness(gallery, part, slice(None))
            prior_n = adds_n if prior_n is None else prior_n + adds_n
    return prior_n


def _is_known(ratios: Ratios | None) -> bool:
    """Whether it tells pictures apart by numbers that are at hand."""
    return ratios is not None and not ratios.is_nothing and not isinstance(ratios, ComputedRatios)


def _score_sample(gallery: Gallery, query: Query, parts: Sequence[Part]) -> Float32[np.ndarray, " k"]:
    """What some of a query's parts give the pictures of the small sample."""
    samples = gallery.measures.samples
    total_k = np.zeros(len(samples.rows_k), np.float32)
    for part in parts:
        if part.kind == "vocabulary" and part.vector_d is not None:
            likeness_k = samples.words_kl @ part.vector_d
        else:
            likeness_k = measure_likeness(gallery, part, samples.rows_k)
        total_k += np.float32(part.weight / positive_weight(query)) * likeness_k
    return total_k


def fit_query(vectors_kw: Float32[np.ndarray, "k w"], scores_k: Float32[np.ndarray, " k"]) -> Float32[np.ndarray, " w"]:
    """The query whose inner products best approximate scores that are not inner products, high ones most closely.

    Weighted least squares: a picture counts e times as much as one that is one deviation worse.
    """
    deviation = float(scores_k.std()) or 1.0
    weight_k = np.exp((scores_k - scores_k.max()) / deviation).astype(np.float32)
    weight_k /= weight_k.sum()
    root_k = np.sqrt(weight_k)
    apart_kw = (vectors_kw - weight_k @ vectors_kw) * root_k[:, None]
    level_k = (scores_k - weight_k @ scores_k) * root_k
    gram_ww = (apart_kw.T @ apart_kw).astype(np.float64) + RIDGE * np.eye(vectors_kw.shape[1])
    return np.asarray(np.linalg.solve(gram_ww, (apart_kw.T @ level_k).astype(np.float64)), np.float32)
