"""The score of every picture for a query: likeness to its parts, and what answers and written words add."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Int64

from viewfinder.encoders.base import Vocabulary
from viewfinder.encoders.scale import Scale
from viewfinder.errors import UnknownName
from viewfinder.query import SHARPNESS, Evidence, LikelihoodRatios, Opinion, Part, Query, Ratios, RegionSpace, Term
from viewfinder.search.gallery import MAX_KEPT_PICTURES, MAX_PICTURES_AT_ONCE, Gallery
from viewfinder.search.kernels import best_rows, dot_scores, top_k
from viewfinder.search.parts import RIVAL_TEMPERATURE, contrast_scores, vocabulary_likeness, vocabulary_vectors
from viewfinder.search.verdicts import CROWD, Spread
from viewfinder.store.half_rows import HalfRows, as_vectors, take_rows
from viewfinder.store.snapshot import Snapshot

SAME_SCORES = 1e-9
"""Scores that deviate less from their mean are alike."""

SCORED_AT_ONCE = 2048
"""Pictures here and there that are scored at once: their vectors stay in the processor's cache."""

HALVED_FROM = 20_000
"""Pictures from which on what the vocabulary says of all is kept in half precision; of fewer, a snapshot that was
written never grows, so that none has rows of both kinds."""

EVERY_ROW = slice(None)

MIN_SORTED = 100
"""Results sorted at once: more than are looked at, as a rule, if nothing is asked."""


@dataclass(frozen=True, eq=False)
class Scores:
    """The score of every picture.

    `adds_pn` is what each part adds, kept if computing it for a few pictures would cost as much as for all (rank
    fusion: a rank is one among all). `ids`: the ids of all rows, if these are not in the order of ids.
    """

    total_n: Float32[np.ndarray, " n"]
    excluded_n: Bool[np.ndarray, " n"]
    adds_pn: Float32[np.ndarray, "parts n"] | None = None
    ids: Sequence[str] | None = None

    def at(self, rows_r: Int[np.ndarray, " r"]) -> Float32[np.ndarray, " r"]:
        """The scores of these pictures."""
        return np.asarray(self.total_n[rows_r])

    def count_open(self, allowed_n: Bool[np.ndarray, " n"] | None) -> int:
        """How many pictures are allowed and not excluded."""
        open_n = ~self.excluded_n if allowed_n is None else allowed_n & ~self.excluded_n
        return int(np.count_nonzero(open_n))

    @cached_property
    def _leading_k(self) -> Int64[np.ndarray, " k"]:
        """Rows of the best among all pictures, ties by row: one pass for all that a turn asks of them."""
        return top_k(self.total_n, MIN_SORTED)

    @property
    def crowd_k(self) -> Int64[np.ndarray, " k"]:
        """Rows of the `CROWD` best among all pictures."""
        return self._leading_k[:CROWD]

    @cached_property
    def spread(self) -> Spread:
        """How the scores of all are distributed; there must be at least one picture."""
        return Spread.of(self.total_n, self.total_n[self.crowd_k])

    def best(self, count: int, allowed_n: Bool[np.ndarray, " n"] | None = None) -> Int[np.ndarray, " k"]:
        """Rows of the best pictures that are allowed and not excluded, best first, ties by id."""
        open_n = allowed_n
        if self.excluded_n.any():
            open_n = ~self.excluded_n if allowed_n is None else allowed_n & ~self.excluded_n
        if open_n is None and self.ids is None and count <= MIN_SORTED:
            return self._leading_k[:count]
        return best_rows(self.total_n, count, open_n, None, self.ids)


def score_all(
    gallery: Gallery, query: Query, *, exact: bool = False, allowed_n: Bool[np.ndarray, " n"] | None = None
) -> Scores:
    """The score of every picture for a query, in one pass over the vectors. Raises as `check_fits`.

    Unless `exact`, late interaction over more than `late_interaction.MAX_EXACT` pictures is approximate for all but
    the best of those allowed and not excluded; the order of these is the exact one, except where 8 bits misjudge.
    """
    excluded_n = np.zeros(len(gallery), dtype=bool)
    excluded_n[find_excluded(gallery, query)] = True
    ids = gallery.snapshot.ids_to_order
    if query.opinions:
        theirs = (express_query(opinion.query, gallery.measures.scale) for opinion in query.opinions)
        scan_together(gallery, [query, *theirs])
    prior_n, adds_pn = sum_prior(gallery, query), None
    if not isinstance(query.space, RegionSpace):
        total_n = score_parts(gallery, query)
    elif query.compare == "rank_fusion" and query.parts:
        from viewfinder.search.late_interaction import region_shares
        from viewfinder.search.regions import find_block

        adds_pn = region_shares(query, query.space, find_block(gallery, query.space))
        total_n = adds_pn.sum(axis=0)
    elif query.parts:
        from viewfinder.search.late_interaction import late_scores
        from viewfinder.search.regions import find_block

        open_n = ~excluded_n if allowed_n is None else allowed_n & ~excluded_n
        block = find_block(gallery, query.space)
        known_n = np.zeros(len(gallery), np.float32) if prior_n is None else prior_n
        total_n = late_scores(query, query.space, block, exact=exact, allowed_n=open_n, prior_n=known_n)
        # Includes what answers add, because it decides which pictures are scored in full.
        return Scores(total_n, excluded_n, ids=ids)
    else:
        total_n = np.zeros(len(gallery), np.float32)
    if prior_n is not None:
        total_n = total_n + prior_n
    return Scores(total_n, excluded_n, adds_pn, ids)


def score_rows(gallery: Gallery, query: Query, rows_k: Int[np.ndarray, " k"]) -> Float32[np.ndarray, " k"]:
    """The scores of these pictures for a query over one vector a picture."""
    total_k, prior_k = score_parts(gallery, query, rows_k), sum_prior(gallery, query, rows_k)
    return total_k if prior_k is None else total_k + prior_k


def find_excluded(gallery: Gallery, query: Query) -> Int64[np.ndarray, " k"]:
    """Rows of the excluded pictures that exist here, ascending."""
    if not query.excluded:  # as in most turns
        return np.zeros(0, np.int64)
    found = [row for row in gallery.snapshot.rows_of(query.excluded) if row is not None]
    return np.array(sorted(found), np.int64)


def express_query(query: Query, scale: Scale) -> Query:
    """A retriever's query in what likeness is in a gallery, whose scale is given.

    One on the scale of the box gets the factors of its parts; of others, a sharpness that nobody chose is
    multiplied by what likeness would be. What a system compares in a space of its own has the scale that it learnt.
    """
    if isinstance(query.space, RegionSpace) or not query.parts or scale.is_of_box:
        return query
    if not query.on_box_scale:
        return replace(query, sharpness=SHARPNESS * scale.words) if query.sharpness == SHARPNESS else query
    factors = {"words": scale.words, "picture": scale.pictures}
    return replace(query, parts=tuple(replace(part, factor=factors.get(part.kind, 1.0)) for part in query.parts))


# -- likeness to the parts of a query over one vector a picture


@dataclass(frozen=True, eq=False)
class PlainSum:
    """The parts of a query that are plain likeness, merged into one: their weighted mean is a vector too.

    A picture's share of the score is its dot product with `vector_d` (None where there are no such parts) less
    `centred` times its background; `others` are the parts that are not plain.
    """

    vector_d: Float32[np.ndarray, " d"] | None
    centred: float
    others: tuple[Part, ...]


def sum_plain_parts(query: Query) -> PlainSum:
    """A query as one scan, as far as that is possible."""
    weight = positive_weight(query)
    plain = [part for part in query.parts if part.is_plain]
    vectors = [part.weight * part.factor * part.vector_d for part in plain if part.vector_d is not None]
    return PlainSum(
        vector_d=(np.sum(vectors, axis=0) / weight).astype(np.float32) if vectors else None,
        centred=sum((part.weight * part.factor for part in plain if part.centred), 0.0) / weight,
        others=tuple(part for part in query.parts if not part.is_plain),
    )


def positive_weight(query: Query) -> float:
    """The divisor of a weighted sum; 1 if nothing is asked for."""
    return sum(part.weight for part in query.parts if part.weight > 0) or 1.0


def score_parts(
    gallery: Gallery, query: Query, rows: Int[np.ndarray, " k"] | slice = EVERY_ROW
) -> Float32[np.ndarray, " k"]:
    """The weighted mean likeness of pictures to the query's parts, in one scan of their vectors."""
    if not isinstance(rows, slice) and len(rows) > SCORED_AT_ONCE:
        starts = range(0, len(rows), SCORED_AT_ONCE)
        return np.concatenate([score_parts(gallery, query, rows[at : at + SCORED_AT_ONCE]) for at in starts])
    plain, vectors_kd = sum_plain_parts(query), take_rows(gallery.snapshot.matrix_nd, rows)
    total_k = np.zeros(len(vectors_kd), np.float32)
    if plain.vector_d is not None:
        scanned_n = gallery.memory.get(_mark_scan(plain.vector_d)) if rows is EVERY_ROW else None
        total_k += dot_scores(vectors_kd, plain.vector_d) if scanned_n is None else scanned_n
    if plain.centred:
        total_k -= np.float32(plain.centred) * gallery.measures.background_n[rows]
    for part in plain.others:
        likeness_k = _measure_all(gallery, part) if rows is EVERY_ROW else measure_likeness(gallery, part, rows)
        total_k += np.float32(part.weight / positive_weight(query)) * likeness_k
    return total_k


def scan_together(gallery: Gallery, queries: Sequence[Query]) -> None:
    """Compares all pictures with the plain parts of several queries at once, for `score_parts`: they read the same
    vectors, which takes most of the time of a scan."""
    sums = [sum_plain_parts(query).vector_d for query in queries if not isinstance(query.space, RegionSpace)]
    vectors = [vector_d for vector_d in sums if vector_d is not None]
    if len(vectors) > 1:
        for vector_d, scanned_n in zip(vectors, dot_scores(gallery.snapshot.matrix_nd, np.stack(vectors)), strict=True):
            gallery.memory.put(_mark_scan(vector_d), scanned_n)


def _mark_scan(vector_d: Float32[np.ndarray, " d"]) -> tuple[str, bytes]:
    """The key of a scan."""
    return "scan", mark_arrays(vector_d)


def _measure_all(gallery: Gallery, part: Part) -> Float[np.ndarray, " n"]:
    """`measure_likeness` of all pictures, kept by the gallery if it is a part that takes long.

    It stays a part of the query for turns on end, and of the queries that other systems make of it. Of a collection in
    half precision it takes megabytes, and is asked of all pictures only for a rank.
    """
    is_costly = part.kind in ("vocabulary", "contrast") or part.beyond is not None
    if not is_costly or isinstance(gallery.snapshot.matrix_nd, HalfRows):
        return measure_likeness(gallery, part, EVERY_ROW)
    how = (part.kind, part.centred, part.beyond, part.factor)
    key = ("likeness", *how, mark_arrays(part.vector_d, part.rivals_rd))
    return gallery.memory.remember(key, lambda: measure_likeness(gallery, part, EVERY_ROW).astype(np.float32))


def measure_likeness(
    gallery: Gallery,
    part: Part,
    rows: Int[np.ndarray, " k"] | slice,
    vectors_kd: Float[np.ndarray, "k d"] | HalfRows | None = None,
) -> Float[np.ndarray, " k"]:
    """How similar the pictures in `rows` are to one part; `vectors_kd`: their vectors, if they are at hand."""
    if part.kind == "value":
        assert part.value is not None
        column, value = part.value
        try:
            held_n = gallery.snapshot.column(column).mask(value)
        except UnknownName:  # the catalogue has changed since the turn was said
            held_n = np.zeros(len(gallery), dtype=bool)
        return np.asarray(held_n[rows], np.float32)
    assert part.vector_d is not None
    if part.kind == "vocabulary":
        return measure_likeness_in_words(gallery, part.vector_d, rows)
    vectors_kd = take_rows(gallery.snapshot.matrix_nd, rows) if vectors_kd is None else vectors_kd
    if part.kind == "contrast":
        assert part.rivals_rd is not None
        return contrast_scores(vectors_kd, part.vector_d, part.rivals_rd, temperature=find_rival_temperature(gallery))
    likeness_k: Float[np.ndarray, " k"] = dot_scores(vectors_kd, part.vector_d)
    likeness_k = likeness_k - gallery.measures.background_n[rows] if part.centred else likeness_k
    if part.beyond is not None and len(likeness_k):
        mean, deviation = gallery.measures.measure_spread(part.vector_d, float(part.centred))
        likeness_k = np.maximum(likeness_k - np.float32(mean + part.beyond * deviation), 0)
    return likeness_k if part.factor == 1.0 else likeness_k * np.float32(part.factor)


def find_rival_temperature(gallery: Gallery) -> float:
    """The temperature of the softmax over rivals, by what likeness is in the encoder's space."""
    return RIVAL_TEMPERATURE / gallery.measures.scale.words


def measure_likeness_in_words(
    gallery: Gallery, vector_l: Float[np.ndarray, " l"], rows: Int[np.ndarray, " k"] | slice
) -> Float32[np.ndarray, " k"]:
    """How similar `vector_l` is to the pictures in `rows` as the vocabulary describes them.

    For a collection that is not large, what it says of every picture is kept; else it is computed from their vectors.
    """
    vocabulary = gallery.encoder.vocabulary
    assert vocabulary is not None
    if len(gallery) <= MAX_KEPT_PICTURES:
        return dot_scores(take_rows(_describe_all(gallery, vocabulary), rows), vector_l)
    return vocabulary_likeness(take_rows(gallery.snapshot.matrix_nd, rows), vocabulary, vector_l)


def _describe_all(gallery: Gallery, vocabulary: Vocabulary) -> Float32[np.ndarray, "n l"] | HalfRows:
    """All pictures as the vocabulary describes them, kept beside their snapshot: 5 KB a picture, of many half of it."""
    kind = np.float32 if len(gallery) < HALVED_FROM else np.float16

    def describe(snapshot: Snapshot) -> Float[np.ndarray, "n l"]:
        starts = range(0, len(snapshot), MAX_PICTURES_AT_ONCE)
        blocks = (vocabulary_vectors(snapshot.matrix_nd[at : at + MAX_PICTURES_AT_ONCE], vocabulary) for at in starts)
        return np.concatenate([np.zeros((0, len(vocabulary.words)), kind), *(block.astype(kind) for block in blocks)])

    name = f"vocabulary-{gallery.encoder.version}"
    return as_vectors(gallery.snapshot.derived(name, describe, by_row=True))


# -- what answers and written words add


def sum_prior(
    gallery: Gallery, query: Query, rows_k: Int[np.ndarray, " k"] | None = None
) -> Float32[np.ndarray, " k"] | None:
    """The sum that answers, opinions and word matches add to the scores of these pictures, or of all; None: nothing."""
    return sum_terms(gallery, query, query.terms, rows_k)


def sum_terms(
    gallery: Gallery,
    query: Query,
    terms: Sequence[Term],
    rows_k: Int[np.ndarray, " k"] | None = None,
) -> Float32[np.ndarray, " k"] | None:
    """What some of these add; None if there are none of them."""
    if not terms:
        return None
    total_k = np.zeros(len(gallery) if rows_k is None else len(rows_k), np.float32)
    for term in terms:
        ratios = weigh_term(gallery, term)
        if ratios is None or ratios.is_nothing:
            continue
        if rows_k is None:
            ratios.add_to(total_k, query.sharpness)
        else:
            total_k += ratios.at(rows_k) / np.float32(query.sharpness)
    return total_k


def weigh_term(gallery: Gallery, term: Term) -> Ratios | None:
    """How much likelier an answer, an opinion or a text is for each picture; None: what it was about has gone."""
    if isinstance(term, Evidence):
        return term.ratios()
    if isinstance(term, Opinion):
        return weigh_opinion(gallery, term)
    if term.by_machine:
        return gallery.weigh_machine_words(term.text)
    return None if gallery.written is None else gallery.written.weigh_text(term.text).ratios


@dataclass(frozen=True, eq=False)
class Standing:
    """The scores that another system gives all pictures, in deviations from their mean."""

    by_n: Float32[np.ndarray, " n"]
    deviation: float


def weigh_opinion(gallery: Gallery, opinion: Opinion) -> LikelihoodRatios | None:
    """What another system makes of all pictures, in nats; None: it says the same of all. Raises as `score_all`."""
    standing = find_standing(gallery, opinion.query)
    return None if standing is None else LikelihoodRatios(standing.by_n * np.float32(opinion.nats), None)


def find_standing(gallery: Gallery, query: Query) -> Standing | None:
    """The scores that a query gives all pictures, kept by the gallery; None: all are alike. Raises as `score_all`.

    Late interaction over more than `late_interaction.MAX_EXACT` pictures is estimated.
    """

    def score() -> Standing | None:
        expressed = express_query(query, gallery.measures.scale)
        if not isinstance(query.space, RegionSpace) or query.compare != "late_interaction":
            return standardise(score_all(gallery, expressed).total_n)
        from viewfinder.search.late_interaction import estimate_late_scores
        from viewfinder.search.regions import find_block

        return standardise(estimate_late_scores(expressed, query.space, find_block(gallery, query.space)))

    return gallery.memory.remember(("standing", *_mark_query(query)), score) if query.parts else None


def standardise(scores_n: Float32[np.ndarray, " n"]) -> Standing | None:
    """Scores in deviations from their mean; None: all are alike.

    >>> standardise(np.array([1, 3], np.float32)).by_n.tolist()
    [-1.0, 1.0]
    """
    deviation = float(scores_n.std()) if len(scores_n) else 0.0
    return (
        None if deviation < SAME_SCORES else Standing((scores_n - scores_n.mean()) / np.float32(deviation), deviation)
    )


def _mark_query(query: Query) -> tuple[str, bytes]:
    """All that a query's parts say, for use as a key."""
    said = hashlib.blake2b(query.compare.encode(), digest_size=16)
    for part in query.parts:
        said.update(repr((part.kind, part.weight, part.value, part.centred, part.beyond)).encode())
        said.update(mark_arrays(part.vector_d, part.rivals_rd))
    return query.space.name if isinstance(query.space, RegionSpace) else query.space, said.digest()


def mark_arrays(*arrays: Float[np.ndarray, ...] | None) -> bytes:
    """What arrays hold, for use as a key."""
    said = hashlib.blake2b(digest_size=16)
    for array in arrays:
        said.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    return said.digest()
