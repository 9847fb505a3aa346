"""A snapshot of a library seen through its encoder: scores of a query, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from viewfinder.encoders.base import Encoder, Vocabulary
from viewfinder.encoders.tags import TagVectors
from viewfinder.errors import UnknownName
from viewfinder.retrievers import Part, Picture, Query
from viewfinder.stores import Snapshot, dot_scores, top_k

Match = Literal["likely", "maybe", "unlikely"]
Verdict = Literal["found", "unsure", "nothing"]

LIKELY, MAYBE = 0.5, 0.25
"""Chances above which a hit is called likely, or maybe; see docs/benchmarks.md for what they come to."""

OUTLIER_WEIGHT, OUTLIER_BIAS = 2.0, -6.0
"""Without a calibration: a hit three standard deviations above the collection's mean has an even chance."""

WORD_TEMPERATURE, RIVAL_TEMPERATURE = 0.065, 0.05
"""Of the softmax over the vocabulary and over rivals, for pictures compared by what words say of them."""

LEAST_CONTRAST = -6.0
"""One picture in 400: below that a word simply does not hold."""

TAG_SAMPLE = 2000
"""Pictures that stand for the collection when tags are measured."""


@dataclass(frozen=True, eq=False)
class Scores:
    """The score of every picture, and the chance that it is what the words mean."""

    total_n: Float32[np.ndarray, " n"]
    chance_of: ChanceOf
    excluded_n: Bool[np.ndarray, " n"]


@dataclass(frozen=True)
class ChanceOf:
    """score -> chance, for one query on one collection: logistic in the score and in its outlierness there."""

    mean: float
    deviation: float
    score_weight: float
    outlier_weight: float
    bias: float

    def __call__(self, score: float) -> float:
        """The chance that a picture of this score is one that is meant."""
        # In a collection of one picture, or of equal ones, nothing stands out; scores are rounded to 1e-4 on the way.
        outlier = (score - self.mean) / max(self.deviation, 1e-3)
        logit = np.clip(self.score_weight * score + self.outlier_weight * outlier + self.bias, -50, 50)
        return float(1 / (1 + np.exp(-logit)))


class Gallery:
    """Pictures to search in. Rows are the snapshot's; nothing here changes."""

    def __init__(self, snapshot: Snapshot, encoder: Encoder) -> None:
        self.snapshot = snapshot
        self.encoder = encoder

    def __len__(self) -> int:
        return len(self.snapshot)

    @cached_property
    def background_n(self) -> Float32[np.ndarray, " n"]:
        """How well each picture answers anything at all."""
        return self.snapshot.derived(
            f"background-{self.encoder.version}", lambda snapshot: self.encoder.background(snapshot.matrix_nd)
        )

    @cached_property
    def tags(self) -> TagVectors:
        """Zero-shot tags, measured against a sample of this collection."""
        rows_k = np.linspace(0, max(len(self) - 1, 0), min(len(self), TAG_SAMPLE)).astype(int)
        return TagVectors.of(self.encoder.words, background=self.snapshot.matrix_nd[rows_k])

    def row(self, picture_id: str) -> int:
        """The row of a picture.

        Raises:
            UnknownName: it is not in this library.
        """
        row = self.snapshot.row_of(picture_id)
        if row is None:
            raise UnknownName(f"no picture in this library has the id {picture_id!r}; ids are what `find` prints")
        return row

    def picture(self, picture_id: str) -> Picture:
        """What a retriever may know of a picture."""
        row = self.row(picture_id)
        return Picture(picture_id, self.vectors_of(self.snapshot.matrix_nd[row]), self.snapshot.attributes(row))

    def vectors_of(self, vector_d: Float[np.ndarray, " d"]) -> dict[str, Float[np.ndarray, ...]]:
        """The representations of a picture with this vector: "global", and "vocabulary" where there is one."""
        vectors = {"global": np.array(vector_d)}
        if self.encoder.vocabulary is not None:
            vectors["vocabulary"] = said_of(vector_d[None], self.encoder.vocabulary)[0]
        return vectors

    @cached_property
    def vocabulary_nl(self) -> Float32[np.ndarray, "n l"]:
        """What the vocabulary says of every picture."""
        vocabulary = self.encoder.vocabulary
        assert vocabulary is not None
        return self.snapshot.derived(
            f"vocabulary-{self.encoder.version}", lambda snapshot: said_of(snapshot.matrix_nd, vocabulary)
        )

    def scores(self, query: Query) -> Scores:
        """The weighted mean likeness of every picture to the query's parts, in one scan of the vectors."""
        plain = plain_sum(query)
        total_n = np.zeros(len(self), np.float32)
        if plain.vector_d is not None:
            total_n += dot_scores(self.snapshot.matrix_nd, plain.vector_d)
        if plain.centred:
            total_n -= np.float32(plain.centred) * self.background_n
        for part in plain.others:
            total_n += np.float32(part.weight / _positive_weight(query)) * self._likeness(part, slice(None))
        excluded_n = np.zeros(len(self), dtype=bool)
        rows = [self.snapshot.row_of(picture) for picture in query.excluded]
        excluded_n[[row for row in rows if row is not None]] = True
        return Scores(total_n, self._chance(query, total_n), excluded_n)

    def shares(self, query: Query, rows_k: Int[np.ndarray, " k"]) -> Float[np.ndarray, "k parts"]:
        """What each part adds to the score of these pictures; rows sum to the scores."""
        weight = _positive_weight(query)
        columns = [part.weight * self._likeness(part, rows_k) / weight for part in query.parts]
        return np.stack(columns, axis=1) if columns else np.zeros((len(rows_k), 0))

    def best(
        self, scores: Scores, count: int, allowed_n: Bool[np.ndarray, " n"] | None = None
    ) -> Int[np.ndarray, " k"]:
        """Rows of the best pictures that are allowed and not excluded, best first, ties by id."""
        open_n = ~scores.excluded_n if allowed_n is None else allowed_n & ~scores.excluded_n
        return top_k(scores.total_n, count, allowed_n=open_n)

    def _likeness(self, part: Part, rows: Int[np.ndarray, " k"] | slice) -> Float[np.ndarray, " k"]:
        """How like the pictures in `rows` are to one part."""
        if part.kind == "value":
            assert part.value is not None
            held_k: Float[np.ndarray, " k"] = self._has_value(*part.value)[rows].astype(np.float32)
            return held_k
        assert part.vector_d is not None
        if part.kind == "vocabulary":
            said_k: Float[np.ndarray, " k"] = self.vocabulary_nl[rows] @ part.vector_d
            return said_k
        if part.kind == "contrast":
            assert part.rivals_rd is not None
            return contrast(self.snapshot.matrix_nd[rows], part.vector_d, part.rivals_rd)
        likeness_k: Float[np.ndarray, " k"] = self.snapshot.matrix_nd[rows] @ part.vector_d
        return likeness_k - self.background_n[rows] if part.centred else likeness_k

    def _has_value(self, column: str, value: str) -> Bool[np.ndarray, " n"]:
        try:
            return self.snapshot.column(column).mask(value)
        except UnknownName:  # the catalogue has changed since the turn was said
            return np.zeros(len(self), dtype=bool)

    def _chance(self, query: Query, total_n: Float32[np.ndarray, " n"]) -> ChanceOf:
        """The encoder's calibration, for this query on this collection.

        It was learnt on descriptions. Where pictures or catalogue values take part, scores lie higher, so only
        their outlierness counts.
        """
        words_only = all(part.kind == "words" for part in query.parts)
        known = self.encoder.calibration if words_only else None
        weights = (
            (known.score_weight, known.outlier_weight, known.bias)
            if known is not None
            else (0.0, OUTLIER_WEIGHT, OUTLIER_BIAS)
        )
        if not len(total_n):
            return ChanceOf(0.0, 0.0, *weights)
        return ChanceOf(float(total_n.mean()), float(total_n.std()), *weights)


def said_of(vectors_nd: Float[np.ndarray, "n d"], vocabulary: Vocabulary) -> Float32[np.ndarray, "n l"]:
    """Square roots of the chances of every word for every picture.

    The dot product of two such rows is the Bhattacharyya coefficient of what words say of two pictures: 1 if they
    say the same.
    """
    logits_nl = np.asarray(vectors_nd @ vocabulary.vectors_ld.T / WORD_TEMPERATURE, np.float32)
    logits_nl -= logits_nl.max(axis=1, keepdims=True)
    np.exp(logits_nl, out=logits_nl)
    logits_nl /= logits_nl.sum(axis=1, keepdims=True)
    np.sqrt(logits_nl, out=logits_nl)
    return logits_nl


def contrast(
    vectors_nd: Float[np.ndarray, "n d"], asked_d: Float[np.ndarray, " d"], rivals_rd: Float[np.ndarray, "r d"]
) -> Float[np.ndarray, " n"]:
    """Log-probability of a word against its rivals for every picture, not below `LEAST_CONTRAST`."""
    logits_nr = vectors_nd @ rivals_rd.T / RIVAL_TEMPERATURE
    top_n1 = logits_nr.max(axis=1, keepdims=True)
    whole_n = np.log(np.exp(logits_nr - top_n1).sum(axis=1)) + top_n1[:, 0]
    logs_n: Float[np.ndarray, " n"] = vectors_nd @ asked_d / RIVAL_TEMPERATURE - whole_n
    np.maximum(logs_n, LEAST_CONTRAST, out=logs_n)
    return logs_n


@dataclass(frozen=True, eq=False)
class PlainSum:
    """The parts of a query that are plain likeness, as one: their weighted mean is a vector too.

    A picture's share of the score is its dot product with `vector_d` (None where there are no such parts) less
    `centred` times its background; `others` are the parts that are not plain.
    """

    vector_d: Float32[np.ndarray, " d"] | None
    centred: float
    others: tuple[Part, ...]


def plain_sum(query: Query) -> PlainSum:
    """A query as one scan, as far as it goes."""
    weight = _positive_weight(query)
    plain = [part for part in query.parts if part.kind in ("words", "picture")]
    vectors = [part.weight * part.vector_d for part in plain if part.vector_d is not None]
    return PlainSum(
        vector_d=(np.sum(vectors, axis=0) / weight).astype(np.float32) if vectors else None,
        centred=sum((part.weight for part in plain if part.centred), 0.0) / weight,
        others=tuple(part for part in query.parts if part.kind not in ("words", "picture")),
    )


def _positive_weight(query: Query) -> float:
    return sum(part.weight for part in query.parts if part.weight > 0) or 1.0


def match_of(chance: float) -> Match:
    """The word for a chance."""
    return "likely" if chance >= LIKELY else "maybe" if chance >= MAYBE else "unlikely"


def verdict_of(best_chance: float | None) -> Verdict:
    """The word for a whole result: by its best hit, None where there is none."""
    if best_chance is None or best_chance < MAYBE:
        return "nothing"
    return "found" if best_chance >= LIKELY else "unsure"


def explained(query: Query, shares_p: Float[np.ndarray, " parts"]) -> dict[str, Any]:
    """The shares of one hit's score as JSON: per turn, what it said and what it added."""
    turns: dict[int, dict[str, Any]] = {}
    for part, share in zip(query.parts, shares_p, strict=True):
        entry = turns.setdefault(part.turn, {"turn": part.turn, "parts": [], "adds": 0.0})
        entry["parts"].append(part.label)
        entry["adds"] += float(share)
    whole = sum(abs(entry["adds"]) for entry in turns.values()) or 1.0
    return {
        "turns": [
            {**entry, "adds": round(entry["adds"], 4), "share": round(entry["adds"] / whole, 3)}
            for entry in turns.values()
        ]
    }
