"""What a conversation said, judged against the pictures of a gallery: is it here, and which pictures are it?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float, Float32, Int64

from viewfinder.query import Part, Query, RegionSpace
from viewfinder.search.gallery import Gallery
from viewfinder.search.kernels import top_k
from viewfinder.search.near_scores import CANDIDATES, NearScores
from viewfinder.search.own_scale import OwnJudgement, curves_for, own_features
from viewfinder.search.scores import Scores, score_rows, sum_plain_parts, sum_terms, weigh_term
from viewfinder.search.turn_scores import score_turn
from viewfinder.search.verdicts import (
    CERTAIN_NATS,
    Judgement,
    judge_conversation,
    mean_familiarity,
    speaks_in_sentences,
)
from viewfinder.wording.stop_words import content_stems

SAME_VECTOR = 1e-5
"""Two vectors of unit length whose numbers differ by less are those of one text."""

MIN_ESTIMATED = 20_000
"""Pictures from which on what was said is compared with the best of a query of words, not with all pictures again."""


def judge_texts(
    gallery: Gallery, texts: Sequence[str], query: Query, scores: Scores | NearScores
) -> Judgement | OwnJudgement | None:
    """The texts judged against these pictures; None without texts. `scores` are those of the query."""
    if not texts or not len(gallery):
        return None
    texts_md = np.concatenate([gallery.encode_said(text) for text in texts])
    telling = [it for it in query.word_matches if not ((ratios := weigh_term(gallery, it)) and ratios.is_nothing)]
    adds_n = sum_terms(gallery, query, telling)
    plain = _without_written(scores, adds_n) if isinstance(scores, Scores) else None
    is_many = plain is not None and len(gallery) >= MIN_ESTIMATED
    is_said = not is_many and _is_mean_of(query, texts_md)
    said = _reuse_scores(query, scores, plain) if is_said else None
    if said is not None:
        if query.parts[0].factor == gallery.measures.scale.words:  # of another system they may not be on that scale
            _keep_said(gallery, texts, said)
    else:
        said = _score_said(gallery, texts, texts_md, plain if is_many and _is_words_alone(query) else None)
        if isinstance(said, NearScores) and not len(said.rows_c):  # the shards have just gone
            return None
    named = frozenset[str]()
    if gallery.snapshot.has_captions:
        best = said.crowd_k.tolist()
        named = frozenset(content_stems(caption for row in best for caption in gallery.snapshot.captions(row)))
    calibration = gallery.encoder.calibration
    found: Judgement | OwnJudgement
    if calibration is not None and calibration.is_own:
        found = judge_conversation(calibration, said.spread, said.at, texts_md, texts, named)
    else:
        # Standings are in deviations of the encoder's own likeness.
        factor = 1.0 if is_said and query.parts[0].factor == 1.0 else gallery.measures.scale.words
        found = _judge_on_own_scale(gallery, texts, texts_md, said, factor, named)
    return replace(found, written_n=_sum_written(gallery, texts, query, adds_n))


def _score_said(
    gallery: Gallery,
    texts: Sequence[str],
    texts_md: Float[np.ndarray, "m d"],
    alike: Scores | None,
) -> Scores | NearScores:
    """The scores of what was said by itself; `alike` are scores that are nearly the same, if any are known.

    Those of a large collection are kept: an answer or a rejection says nothing new.
    """
    if (known := gallery.memory.get(("said", *texts))) is not None:
        assert isinstance(known, NearScores)
        return known
    words = gallery.measures.scale.words
    query = Query((Part("words", 0, "", 1.0, texts_md.mean(axis=0), centred=True, factor=words),))
    said = score_turn(gallery, query) if alike is None else _rescore_best(gallery, query, alike)
    _keep_said(gallery, texts, said)
    return said


def _keep_said(gallery: Gallery, texts: Sequence[str], said: Scores | NearScores) -> None:
    """Keeps the scores of what was said for the turns that say nothing new, of a large collection alone."""
    if isinstance(said, NearScores) and not said.missing:
        gallery.memory.put(("said", *texts), replace(said, ids=None))  # no order by id is asked of them


def _is_words_alone(query: Query) -> bool:
    """Whether a query is about what was said and nothing else, though it may read it otherwise (the composer's)."""
    wanted = all(part.kind == "words" and part.centred and part.weight > 0 for part in query.parts)
    return (
        wanted
        and bool(query.parts)
        and not (query.evidence or query.opinions)
        and not isinstance(query.space, RegionSpace)
    )


def _rescore_best(gallery: Gallery, query: Query, alike: Scores) -> NearScores:
    """The scores of a query of words for the pictures that are the best by others, which are nearly the same."""
    rows_c, score = np.sort(top_k(alike.total_n, CANDIDATES)), partial(score_rows, gallery, query)
    plain = sum_plain_parts(query)

    def measure() -> tuple[float, float]:
        assert plain.vector_d is not None
        return gallery.measures.measure_spread(plain.vector_d, plain.centred)

    return NearScores(rows_c, score(rows_c), np.zeros(0, np.int64), len(gallery), score, measure)


def _is_mean_of(query: Query, texts_md: Float[np.ndarray, "m d"]) -> bool:
    """Whether a query is the plain mean of what was said, with nothing else but what is written.

    Systems may read the same words as another vector than the encoder's.
    """
    alone = not (query.evidence or query.opinions or isinstance(query.space, RegionSpace))
    alone = alone and len(query.parts) == len(texts_md)
    if not alone or not all(part.kind == "words" and part.centred and part.weight == 1.0 for part in query.parts):
        return False
    read = [part.vector_d for part in query.parts if part.vector_d is not None]
    return len(read) == len(texts_md) and bool(np.abs(np.stack(read) - texts_md).max() < SAME_VECTOR)


def _without_written(scores: Scores, adds_n: Float32[np.ndarray, " n"] | None) -> Scores:
    """The scores without what is written of pictures, `adds_n`."""
    return scores if adds_n is None else replace(scores, total_n=scores.total_n - adds_n)


def _reuse_scores(query: Query, scores: Scores | NearScores, plain: Scores | None) -> Scores | NearScores | None:
    """The scores of a query that is what was said, `plain` without what is written; None: they do not tell."""
    if isinstance(scores, NearScores):
        return scores if scores.is_of_all and not query.word_matches else None
    return plain


def _judge_on_own_scale(
    gallery: Gallery,
    texts: Sequence[str],
    texts_md: Float[np.ndarray, "m d"],
    said: Scores | NearScores,
    factor: float,
    named: frozenset[str],
) -> OwnJudgement:
    """The judgement by what scores mean among these pictures; those of `said` were multiplied by `factor`."""
    calibration, scale, own_scale = gallery.encoder.calibration, gallery.measures.scale, gallery.measures.own_scale
    common = calibration
    if common is None and gallery.companion is not None and not scale.is_of_box:
        common = gallery.companion.encoder.calibration
    known = {} if common is None else common.familiar
    # Texts of which no word is known are of another language: they are not of rare things.
    is_known = calibration is not None or (
        not scale.is_of_box and all(not known.keys().isdisjoint(content_stems([text])) for text in texts)
    )
    familiar = mean_familiarity(known, texts, named) if is_known else None

    def score_at(rows_k: Int64[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
        return said.at(rows_k) if factor == 1.0 else said.at(rows_k) / factor

    crowd_k = said.crowd_k
    features_f = own_features(own_scale, own_scale.stand(score_at(crowd_k), crowd_k), texts_md, familiar, scale)
    curves = curves_for(len(gallery), of_box=scale.is_of_box or calibration is not None)
    return OwnJudgement(curves, own_scale, features_f, speaks_in_sentences(texts), score_at)


def _sum_written(
    gallery: Gallery, texts: Sequence[str], query: Query, adds_n: Float32[np.ndarray, " n"] | None
) -> Float32[np.ndarray, " n"] | None:
    """How much likelier each picture is meant by what is written about it, in nats; None: nothing is."""
    written_n = None if adds_n is None else adds_n * query.sharpness
    held_k = () if gallery.written is None else gallery.written.find_rows_of_all(texts)
    if len(held_k):
        written_n = np.zeros(len(gallery), np.float32) if written_n is None else written_n
        written_n[held_k] = CERTAIN_NATS
    return written_n
