"""The scores that a turn needs of a gallery: from the machines that search it, from its index, or of all pictures.

A turn needs two things: the best pictures, and how the scores of all are distributed. In a large collection the best
come from an index and are scored exactly; the distribution is estimated on a sample. "But brown" is no inner product,
which is all that an index knows: a query is fitted to its scores on the sample, and finds more candidates.

Where actors search, each does so in its part by the same `CandidateSearch`, with an index of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Int64

from viewfinder.processors import use_one_blas_thread
from viewfinder.query import ComputedRatios, LikelihoodRatios, Part, Query, Ratios, RegionSpace
from viewfinder.search.gallery import MAX_PICTURES_AT_ONCE, Gallery
from viewfinder.search.kernels import top_k
from viewfinder.search.near_scores import CANDIDATES, NearScores
from viewfinder.search.parts import contrast_scores, measure_rivals
from viewfinder.search.scores import (
    Scores,
    find_excluded,
    find_rival_temperature,
    mark_arrays,
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
    from viewfinder.search.indexed_pictures import CandidateSearch, IndexedPictures
    from viewfinder.search.shard_scores import Addition, ShardAnswer, ShardQuestion, Shards

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
    if count <= MAX_DEEP and gallery.has_index and (list_computed(gallery, query) or not _is_plain(query)):
        near, deeper = None, math.ceil(count / CANDIDATES)
        if gallery.shards is not None:
            near = ask_shards(gallery, gallery.shards, query, allowed_n, deeper)
        elif gallery.indexed is not None:
            near = search_index(gallery, gallery.indexed, query, allowed_n, deeper)
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
        if gallery.has_index:
            gallery.measures.moments  # noqa: B018
    return gallery


# -- shards


def ask_shards(
    gallery: Gallery,
    shards: Shards,
    query: Query,
    allowed_n: Bool[np.ndarray, " n"] | None,
    deeper: int = 1,
) -> NearScores | None:
    """The best pictures of all shards; None for queries over vectors of a system's own, which need all others.

    `deeper` as in `search_index`.
    """
    if isinstance(query.space, RegionSpace) or not query.parts:
        return None
    from viewfinder.search.shard_scores import Estimates, merge_answers

    excluded_k = find_excluded(gallery, query)
    search = plan_search(gallery, query, deeper) if shards.may_index else None
    # What answers and written words add depends on all pictures: it is known here, one number per picture. What is
    # computed of each picture by itself is computed here, too, once the shards have said of which.
    computed = [] if search is None else list_computed(gallery, query)
    compared = Query(query.parts, query.space, query.compare)
    answers, lost = shards.ask(compared, _sum_for_shards(gallery, query, search), allowed_n, excluded_k, search)

    def compute(rows_c: Int64[np.ndarray, " c"]) -> Float32[np.ndarray, " c"]:
        adds_c = np.zeros(len(rows_c), np.float32)
        for ratios in computed:
            adds_c += ratios.at(rows_c) / np.float32(query.sharpness)
        return adds_c

    return merge_answers(
        answers,
        lost,
        size=len(gallery),
        excluded_k=excluded_k,
        allowed_n=allowed_n,
        score=partial(score_rows, gallery, query),
        ids=gallery.snapshot.ids_to_order,
        search=search,
        estimates=None
        if search is None
        else Estimates(lambda: estimate_moments(gallery, query), compute if computed else None),
    )


def _sum_for_shards(gallery: Gallery, query: Query, search: CandidateSearch | None) -> Addition | None:
    """What answers and written words add to scores, without what is computed if a search goes without it."""
    from viewfinder.search.shard_scores import Addition

    if search is None and list_computed(gallery, query):
        total_n = sum_prior(gallery, query)
        return None if total_n is None else Addition(total_n)
    told = [ratios for term in query.terms if _is_known(ratios := weigh_term(gallery, term))]
    few = [(it.rows_k, it) for it in told if isinstance(it, LikelihoodRatios) and it.rows_k is not None]
    if not few or len(few) < len(told):
        total_n = sum_known(gallery, query)
        return None if total_n is None else Addition(total_n)
    rows_k = np.unique(np.concatenate([rows_r for rows_r, _ in few]))
    adds_k = np.zeros(len(rows_k), np.float32)
    for _, ratios in few:
        adds_k += ratios.at(rows_k) / np.float32(query.sharpness)
    return Addition(adds_k, rows_k)


@use_one_blas_thread()
def answer_shard(
    gallery: Gallery,
    question: ShardQuestion,
    rows_r: Int[np.ndarray, " r"] | slice,
    ids_r: Sequence[str] | None = None,
    indexed: IndexedPictures | None = None,
) -> ShardAnswer:
    """The answer of the shard of these rows; `ids_r`: their ids, if rows are not in the order of ids.

    `indexed`: its index, if it has one; without, all its pictures are scanned.
    """
    from viewfinder.search.shard_scores import make_answer, make_near_answer

    search, query = question.search, question.query
    if search is None or (indexed is None and not search.is_computed):
        total_r = score_parts(gallery, query, rows_r)
        if question.prior_r is not None:
            total_r = total_r + question.prior_r
        return make_answer(total_r, question, ids_r)
    adds_r = _add_values(gallery, query, question.prior_r, rows_r)
    all_r = np.arange(rows_r.start, rows_r.stop) if isinstance(rows_r, slice) else np.asarray(rows_r, np.int64)
    if indexed is not None:
        rows_c = _find_candidates(indexed, search, adds_r, question.allowed_r, len(question.excluded_k))
    else:
        rows_c = np.arange(len(all_r)) if question.allowed_r is None else np.flatnonzero(question.allowed_r)
    hope_c: Float32[np.ndarray, " c"] | None = None
    if search.keeps is not None:
        adds_c = None if adds_r is None else adds_r[rows_c]
        hope_c = _measure_hope(gallery, all_r[rows_c], search.searches[-1][0], adds_c)
        kept_c = np.sort(top_k(hope_c, search.keeps + len(question.excluded_k)))
        rows_c, hope_c = rows_c[kept_c], hope_c[kept_c]
    total_c = score_parts(gallery, query, all_r[rows_c])
    if question.prior_r is not None:
        total_c = total_c + question.prior_r[rows_c]
    return make_near_answer(
        rows_c, total_c, hope_c if search.is_computed else None, question, ids_r, is_indexed=indexed is not None
    )


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
    """
    search = plan_search(gallery, query, deeper)
    if search is None:
        return None
    excluded_k, prior_n = find_excluded(gallery, query), _sum_uncompared(gallery, query)
    rows_c = _find_candidates(indexed, search, prior_n, allowed_n, len(excluded_k))
    if search.keeps is not None and len(rows_c) > search.keeps + len(excluded_k):
        prior_c = None if prior_n is None else prior_n[rows_c]
        hope_c = _measure_hope(gallery, rows_c, search.searches[-1][0], prior_c)
        rows_c = rows_c[np.sort(top_k(hope_c, search.keeps + len(excluded_k)))]
    score, ids = partial(score_rows, gallery, query), gallery.snapshot.ids_to_order
    return NearScores(
        rows_c, score(rows_c), excluded_k, len(gallery), score, lambda: estimate_moments(gallery, query),
        allowed_n is None, ids,
    )  # fmt: skip


def plan_search(gallery: Gallery, query: Query, deeper: int = 1) -> CandidateSearch | None:
    """How an index looks for the candidates of a query; None if it does not serve it.

    It does not for systems with vectors of their own, nor if only catalogue values are asked for.
    """
    compared = [part for part in query.parts if part.kind != "value"]
    if isinstance(query.space, RegionSpace) or not compared:
        return None
    from viewfinder.search.approximate import as_query
    from viewfinder.search.indexed_pictures import CandidateSearch

    samples, plain = gallery.measures.samples, sum_plain_parts(query)
    is_plain = _is_plain(query)
    computed = list_computed(gallery, query)
    searches: list[tuple[Float32[np.ndarray, " w"], int]] = []
    if is_plain and plain.vector_d is not None:
        searches.append((as_query(plain.vector_d, plain.centred), deeper * CANDIDATES))
    if computed or not is_plain:
        fitted_k = _score_sample(gallery, query, compared)
        for ratios in computed:
            fitted_k += ratios.at(samples.rows_k) / np.float32(query.sharpness)
        searches.append((fit_query(samples.vectors_kw, fitted_k), deeper * FITTED_CANDIDATES))
    return CandidateSearch(
        tuple(searches),
        against=any(part.weight < 0 for part in compared),
        deeper=deeper,
        count=deeper * CANDIDATES,
        keeps=deeper * MAX_COMPUTED if computed or not is_plain else None,
        is_computed=bool(computed),
    )


def _is_plain(query: Query) -> bool:
    """Whether what is compared is one inner product."""
    compared = [part for part in query.parts if part.kind != "value"]
    return all(part.is_plain for part in compared) and any(part.vector_d is not None for part in compared)


def estimate_moments(gallery: Gallery, query: Query) -> tuple[float, float]:
    """Mean and deviation of the scores of all pictures, as estimated on a sample."""
    from viewfinder.search.approximate import as_query

    plain = sum_plain_parts(query)
    has_values = any(part.kind == "value" for part in query.parts)
    if plain.vector_d is not None and _is_plain(query) and not has_values and not _adds_anything(gallery, query):
        return gallery.measures.moments.measure(as_query(plain.vector_d, plain.centred))
    sample_k = _score_sample(gallery, query, query.parts)
    known_k = sum_prior(gallery, query, gallery.measures.samples.rows_k)
    if known_k is not None:
        sample_k += known_k
    return float(sample_k.mean()), float(sample_k.std())


def _adds_anything(gallery: Gallery, query: Query) -> bool:
    """Whether answers or written words add to scores."""
    told = (weigh_term(gallery, term) for term in query.terms)
    return any(ratios is not None and not ratios.is_nothing for ratios in told)


def _find_candidates(
    indexed: IndexedPictures,
    search: CandidateSearch,
    prior_n: Float32[np.ndarray, " n"] | None,
    allowed_n: Bool[np.ndarray, " n"] | None,
    excluded: int,
) -> Int64[np.ndarray, " c"]:
    """Rows of the candidates, ascending, where so many of the best are `excluded`."""
    searches = [(query_w, count + excluded) for query_w, count in search.searches]
    return indexed.candidates(
        searches, against=search.against, prior_n=prior_n, allowed_n=allowed_n, deeper=search.deeper
    )


def _measure_hope(
    gallery: Gallery,
    rows_c: Int64[np.ndarray, " c"],
    query_w: Float32[np.ndarray, " w"],
    prior_c: Float32[np.ndarray, " c"] | None,
) -> Float32[np.ndarray, " c"]:
    """How good candidates are by a fitted query: what is computed of each picture takes its time."""
    matrix_nd, width = gallery.snapshot.matrix_nd, gallery.snapshot.matrix_nd.shape[1]
    hope_c: Float32[np.ndarray, " c"] = gallery.measures.background_n[rows_c] * query_w[width]
    for start in range(0, len(rows_c), MAX_PICTURES_AT_ONCE):  # without an index they may be millions
        block = slice(start, start + MAX_PICTURES_AT_ONCE)
        hope_c[block] += matrix_nd[rows_c[block]] @ query_w[:width]
    return hope_c if prior_c is None else hope_c + prior_c


def list_computed(gallery: Gallery, query: Query) -> list[ComputedRatios]:
    """What is said of pictures that is computed of those alone that matter."""
    told = (weigh_term(gallery, term) for term in query.evidence)
    return [ratios for ratios in told if isinstance(ratios, ComputedRatios)]


def sum_known(gallery: Gallery, query: Query) -> Float32[np.ndarray, " n"] | None:
    """What answers and written words add to the score of every picture, without what is computed; None: nothing."""
    return sum_terms(gallery, query, [term for term in query.terms if _is_known(weigh_term(gallery, term))])


def _sum_uncompared(gallery: Gallery, query: Query) -> Float32[np.ndarray, " n"] | None:
    """The number added to the score of every picture besides its similarity and what is computed; None: nothing."""
    return _add_values(gallery, query, sum_known(gallery, query), slice(None))


def _add_values(
    gallery: Gallery,
    query: Query,
    prior_r: Float32[np.ndarray, " r"] | None,
    rows_r: Int[np.ndarray, " r"] | slice,
) -> Float32[np.ndarray, " r"] | None:
    """`prior_r` with what the catalogue values of a query add to these rows."""
    for part in query.parts:
        if part.kind == "value":
            adds_r = np.float32(part.weight / positive_weight(query)) * measure_likeness(gallery, part, rows_r)
            prior_r = adds_r if prior_r is None else prior_r + adds_r
    return prior_r


def _is_known(ratios: Ratios | None) -> bool:
    """Whether it tells pictures apart by numbers that are at hand."""
    return ratios is not None and not ratios.is_nothing and not isinstance(ratios, ComputedRatios)


def _score_sample(gallery: Gallery, query: Query, parts: Sequence[Part]) -> Float32[np.ndarray, " k"]:
    """What some of a query's parts give the pictures of the small sample."""
    samples, width = gallery.measures.samples, gallery.snapshot.matrix_nd.shape[1]
    total_k = np.zeros(len(samples.rows_k), np.float32)
    for part in parts:
        if part.kind == "vocabulary" and part.vector_d is not None:
            likeness_k = samples.words_kl @ part.vector_d
        elif part.kind == "contrast" and part.vector_d is not None and part.rivals_rd is not None:
            likeness_k = _contrast_sample(gallery, part.vector_d, part.rivals_rd)
        else:
            likeness_k = measure_likeness(gallery, part, samples.rows_k, samples.vectors_kw[:, :width])
        total_k += np.float32(part.weight / positive_weight(query)) * likeness_k
    return total_k


def _contrast_sample(
    gallery: Gallery, asked_d: Float[np.ndarray, " d"], rivals_rd: Float[np.ndarray, "r d"]
) -> Float[np.ndarray, " k"]:
    """`contrast_scores` of the small sample. The rivals are all colours, say, and the same whichever is asked for."""
    vectors_kd = gallery.measures.samples.vectors_kw[:, : len(asked_d)]
    temperature = find_rival_temperature(gallery)
    key = ("rivals in the sample", mark_arrays(rivals_rd))
    whole_k = gallery.memory.remember(key, lambda: measure_rivals(vectors_kd, rivals_rd, temperature))
    return contrast_scores(vectors_kd, asked_d, rivals_rd, temperature=temperature, whole_n=whole_k)


def fit_query(vectors_kw: Float32[np.ndarray, "k w"], scores_k: Float32[np.ndarray, " k"]) -> Float32[np.ndarray, " w"]:
    """The query whose inner products best approximate scores that are not inner products, high ones most closely.

    Weighted least squares over the better half: a picture counts e times as much as one that is one deviation worse, so
    that all of the other half would weigh a sixth, and cost as much again.
    """
    deviation = float(scores_k.std()) or 1.0
    is_better_k = scores_k >= np.median(scores_k)
    vectors_kw, scores_k = vectors_kw[is_better_k], scores_k[is_better_k]
    weight_k = np.exp((scores_k - scores_k.max()) / deviation).astype(np.float32)
    weight_k /= weight_k.sum()
    # Apart from their weighted mean, without an array of what is apart: E[v v'] - E[v] E[v]', E[v s] - E[v] E[s].
    mean_w = (weight_k @ vectors_kw).astype(np.float64)
    weighed_kw = vectors_kw * np.sqrt(weight_k)[:, None]
    gram_ww = (weighed_kw.T @ weighed_kw).astype(np.float64) - np.outer(mean_w, mean_w)
    gram_ww += RIDGE * np.eye(vectors_kw.shape[1])
    level_k = weight_k * (scores_k - weight_k @ scores_k)
    return np.asarray(np.linalg.solve(gram_ww, (level_k @ vectors_kw).astype(np.float64)), np.float32)
