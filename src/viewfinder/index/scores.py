"""The scores of pictures for a query, what a score means, and how it comes about.

Axes: `n` pictures, `d` numbers of a vector, `m` query vectors, `k` results, `r` regions of a picture. Nothing here
reads a disk or knows a library.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Float32, Int64

from viewfinder.conversation import Answer, Node, Say, is_dont_know
from viewfinder.encoders.base import Calibration, Vocabulary
from viewfinder.index.region_scores import (
    RegionBlock,
    late_interaction,
    late_interaction_coarse,
    nearest_group_scores,
    query_vector_scores,
    rank_fusion,
    single_vector_scores,
)
from viewfinder.questioners.photographs import REMEMBER
from viewfinder.questioners.said import stems
from viewfinder.retrievers import Part, Query, RegionSpace
from viewfinder.retrievers.base import Evidence, WordMatch
from viewfinder.retrievers.composer import clauses_in_context, split_clauses

TOGETHER = 64
"""Rows of one matrix product; a shard of a library begins with such a block."""

BLOCKS = 4
"""Blocks per each of the k best: enough that few other scores reach the threshold."""


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
    rows = _hopeful(scores_n, k, allowed_n) if 0 < k * BLOCKS < len(scores_n) else None
    if rows is None:
        rows = np.arange(len(scores_n)) if allowed_n is None else np.flatnonzero(allowed_n)
    losses = -scores_n[rows]
    if 0 < k < len(rows):
        kept = _smallest(losses, k)
        rows, losses = rows[kept], losses[kept]
    return np.asarray(rows[np.argsort(losses, kind="stable")][:k], dtype=np.int64)


def best_rows(
    scores_c: Float[np.ndarray, " c"],
    k: int,
    open_c: Bool[np.ndarray, " c"] | None,
    rows_c: Int64[np.ndarray, " c"] | None,
    ids: Sequence[str] | None,
) -> Int64[np.ndarray, " k"]:
    """Rows of the k best of those that are open (None: all), best first, ties by id.

    `rows_c` are the rows (None: the scores are those of all), `ids` the ids of all pictures, None if rows are in their
    order.
    """
    best_k = top_k(scores_c, k, allowed_n=open_c)
    if ids is not None and len(best_k):
        # Pictures that tie with the last one may be in any row.
        is_tied_c = scores_c == scores_c[best_k[-1]]
        tied_k = np.flatnonzero(is_tied_c if open_c is None else open_c & is_tied_c)
        row_of = range(len(scores_c)) if rows_c is None else rows_c.tolist()
        places = {*best_k.tolist(), *tied_k.tolist()}
        order = sorted(places, key=lambda place: (-scores_c[place], ids[row_of[place]]))
        best_k = np.array(order[: len(best_k)], dtype=np.int64)
    return best_k if rows_c is None else np.asarray(rows_c[best_k])


def _hopeful(
    scores_n: Float[np.ndarray, " n"], k: int, allowed_n: Bool[np.ndarray, " n"] | None
) -> Int64[np.ndarray, " h"] | None:
    """Rows that hold the k best and not many more, found in two passes without sorting; None if that is impossible.

    The border is the k-th best of the blocks' best scores: k scores reach it, so no score below is among the k best.
    """
    open_n = scores_n if allowed_n is None else np.where(allowed_n, scores_n, -np.inf)
    blocks = k * BLOCKS
    whole = len(open_n) - len(open_n) % blocks
    best_b = open_n[:whole].reshape(blocks, -1).max(axis=1)
    border = np.partition(best_b, blocks - k)[blocks - k]
    if not np.isfinite(border) or np.isnan(best_b).any():
        return None
    return np.flatnonzero(open_n >= border)


def _smallest(losses_n: Float[np.ndarray, " n"], k: int) -> Int64[np.ndarray, " k"]:
    """Positions of the k smallest numbers (first ones on ties, NaN last), in ascending position."""
    border = losses_n[np.argpartition(losses_n, k - 1)[k - 1]]
    below_n = ~np.isnan(losses_n) if np.isnan(border) else losses_n < border
    level_n = np.isnan(losses_n) if np.isnan(border) else losses_n == border
    below_n[np.flatnonzero(level_n)[: k - np.count_nonzero(below_n)]] = True
    return np.flatnonzero(below_n)


WORD_TEMPERATURE, RIVAL_TEMPERATURE = 0.065, 0.05
"""Of the softmax over the vocabulary and over rivals, for pictures compared by what words say about them."""

LEAST_CONTRAST = -6.0
"""One picture in 400: below that, a word counts as not holding."""


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
    plain = [part for part in query.parts if part.kind in ("words", "picture")]
    vectors = [part.weight * part.vector_d for part in plain if part.vector_d is not None]
    return PlainSum(
        vector_d=(np.sum(vectors, axis=0) / weight).astype(np.float32) if vectors else None,
        centred=sum((part.weight for part in plain if part.centred), 0.0) / weight,
        others=tuple(part for part in query.parts if part.kind not in ("words", "picture")),
    )


def positive_weight(query: Query) -> float:
    """The divisor of a weighted sum; 1 if nothing is asked for."""
    return sum(part.weight for part in query.parts if part.weight > 0) or 1.0


def vocabulary_vectors(vectors_nd: Float[np.ndarray, "n d"], vocabulary: Vocabulary) -> Float32[np.ndarray, "n l"]:
    """The square root of the chance of every word for every picture.

    The dot product of two such rows is the Bhattacharyya coefficient of what words say about two pictures: 1 if they
    say the same.
    """
    logits_nl = np.asarray(vectors_nd @ vocabulary.vectors_ld.T / WORD_TEMPERATURE, np.float32)
    logits_nl -= logits_nl.max(axis=1, keepdims=True)
    np.exp(logits_nl, out=logits_nl)
    logits_nl /= logits_nl.sum(axis=1, keepdims=True)
    np.sqrt(logits_nl, out=logits_nl)
    return logits_nl


def row_products(vectors_nd: Float[np.ndarray, "n d"], others_md: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
    """Dot products of rows with a few others, such that a row's do not depend on which rows are computed with it.

    On some processors the last bits of a matrix product do, and shards would break ties otherwise than one machine.
    Blocks of one size are computed; shards begin with a block.
    """
    whole = len(vectors_nd) // TOGETHER * TOGETHER
    blocks_btd = vectors_nd[:whole].reshape(-1, TOGETHER, vectors_nd.shape[1])
    last_1td = np.zeros((1, TOGETHER, vectors_nd.shape[1]), vectors_nd.dtype)
    last_1td[0, : len(vectors_nd) - whole] = vectors_nd[whole:]
    parts = [np.matmul(each, others_md.T).reshape(-1, len(others_md)) for each in (blocks_btd, last_1td)]
    return np.concatenate(parts)[: len(vectors_nd)]


def contrast_scores(
    vectors_nd: Float[np.ndarray, "n d"], asked_d: Float[np.ndarray, " d"], rivals_rd: Float[np.ndarray, "r d"]
) -> Float[np.ndarray, " n"]:
    """Log-probability of a word against its rivals for every picture, not below `LEAST_CONTRAST`."""
    logits_nr = row_products(vectors_nd, rivals_rd) / RIVAL_TEMPERATURE
    top_n1 = logits_nr.max(axis=1, keepdims=True)
    whole_n = np.log(np.exp(logits_nr - top_n1).sum(axis=1)) + top_n1[:, 0]
    logs_n: Float[np.ndarray, " n"] = vectors_nd @ asked_d / RIVAL_TEMPERATURE - whole_n
    np.maximum(logs_n, LEAST_CONTRAST, out=logs_n)
    return logs_n


Match = Literal["likely", "maybe", "unlikely"]
Verdict = Literal["found", "unsure", "nothing"]

LIKELY, MAYBE = 0.5, 0.25
"""Chances above which a hit is called likely, or maybe; docs/benchmarks.md tells what they amount to."""

OUTLIER_WEIGHT, OUTLIER_BIAS = 2.0, -6.0
"""Without a calibration: a hit three standard deviations above the collection's mean has an even chance."""


@dataclass(frozen=True)
class ChanceOf:
    """score -> chance, for one query on one collection: logistic in how far the score stands out there.

    The fallback if nothing was said, or if nobody measured what the encoder's scores mean.
    """

    mean: float
    deviation: float

    @staticmethod
    def of(total_n: Float32[np.ndarray, " n"]) -> ChanceOf:
        """For these scores of all pictures."""
        return ChanceOf(float(total_n.mean()), float(total_n.std())) if len(total_n) else ChanceOf(0.0, 0.0)

    def __call__(self, score: float) -> float:
        """The chance that a picture with this score is one that is meant."""
        # In a collection of one picture, or of equal ones, nothing stands out; scores were rounded to 1e-4 before.
        outlier = (score - self.mean) / max(self.deviation, 1e-3)
        return 1 / (1 + math.exp(-min(max(OUTLIER_WEIGHT * outlier + OUTLIER_BIAS, -50.0), 50.0)))


def judge_matches(chances: Iterable[float]) -> list[Match]:
    """The words for chances."""
    return ["likely" if chance >= LIKELY else "maybe" if chance >= MAYBE else "unlikely" for chance in chances]


def judge_result(best_chance: float | None) -> Verdict:
    """The word for a whole result, by the chance of its best hit; None if there is no hit."""
    if best_chance is None or best_chance < MAYBE:
        return "nothing"
    return "found" if best_chance >= LIKELY else "unsure"


# -- what was said, judged against a collection
# Whatever the retriever, what was said is compared with the collection in the encoder's own space. Two logistic curves
# turn this into chances: how near the best pictures come to the usual score of a picture that is meant, how far they
# stand out, how much was said, in how common words, and how large the collection is. They were fitted on photographs
# with people who speak in sentences and in fragments (`tuning.verdicts`).

FEATURES = ("crowd", "deviation", "mean", "expected", "log size", "words", "turns", "familiar")
"""The mean of the ten best scores, the deviation and mean of all, the score expected, log10 of the number of pictures,
words a turn (13 at most), turns (5 at most), how common the words are. Every curve then has a score, and 1."""

UNHEARD, NAMED_HERE = -5.0, -2.0
"""log10 of the share of captions that have a word: for a word in no caption, and the least for one in a caption of the
best pictures of the collection itself."""

_SMALL = """
a an the is are of and with in on at to his her their its while as by for from it be being some there that this up down
through into over two three
"""
SMALL_WORDS = frozenset(_SMALL.split())

CROWD, MOST_WORDS, MOST_TURNS = 10, 13, 5

SENTENCE = 6
"""From this many words per turn on average, people speak in sentences."""


def texts_said(path: Sequence[Node]) -> tuple[str, ...]:
    """The descriptions of a conversation: what was said about the wanted picture, without what it is not."""
    texts: list[str] = []
    for node in path:
        match node.turn:
            case Say(text):
                texts.append(clauses_in_context(text, texts[-1] if texts else "").wanted)
            case Answer(question, text) if question.attribute == REMEMBER and not is_dont_know(text):
                texts.append(split_clauses(text).wanted)
    return tuple(filter(None, texts))


def content_stems(texts: Iterable[str]) -> list[str]:
    """The stems of the content words, in order."""
    return [word for text in texts for word in stems(text) if word not in SMALL_WORDS and len(word) > 2]


def mean_familiarity(familiar: Mapping[str, float], texts: Iterable[str], named: Collection[str] = ()) -> float:
    """How common the words said are: the mean log10 of the share of captions that have each; `named` are known here."""
    words = content_stems(texts)
    shares = [max(familiar.get(word, UNHEARD), NAMED_HERE if word in named else UNHEARD) for word in words]
    return float(np.mean(shares)) if shares else UNHEARD


def find_unheard(familiar: Mapping[str, float], text: str) -> tuple[str, ...]:
    """The words of a text that are in no caption which the encoder learnt from, where they are half of it or more.

    Such a text is of another language, about something rare, or misspelt.

    >>> known = {"dog": -1.0, "snow": -1.5}
    >>> find_unheard(known, "a dog in the snow"), find_unheard(known, "ein Hund im Schnee")
    ((), ('ein', 'Hund', 'Schnee'))
    """
    words = [word for word in re.findall(r"[^\W\d_]+", text) if len(word) > 2 or not word.isascii()]
    content = [word for word in dict.fromkeys(words) if word.lower() not in SMALL_WORDS]
    unheard = tuple(word for word in content if not any(stem in familiar for stem in stems(word)))
    return unheard if 2 * len(unheard) >= len(content) else ()


@dataclass(frozen=True)
class Spread:
    """The distribution of a collection's scores: of how many, the mean of the `CROWD` best, the best of all."""

    size: int
    mean: float
    deviation: float
    crowd: float
    highest: float

    @staticmethod
    def of(total_n: Float32[np.ndarray, " n"]) -> Spread:
        """The spread of the scores of all pictures, at least one."""
        return Spread.of_best(total_n, len(total_n), float(total_n.mean()), float(total_n.std()))

    @staticmethod
    def of_best(best_c: Float32[np.ndarray, " c"], size: int, mean: float, deviation: float) -> Spread:
        """The spread if `best_c` holds the best of `size` pictures, whose mean and deviation are known."""
        crowd_k = best_c[top_k(best_c, CROWD)]
        return Spread(size, mean, deviation, float(crowd_k.mean()), float(crowd_k[0]))


def conversation_features(
    said: Spread, expected: float, familiar: float, texts: Sequence[str]
) -> Float[np.ndarray, " f"]:
    """The `FEATURES` of what was said: `said` are the scores of all pictures for all texts together."""
    words = float(np.mean([len(text.split()) for text in texts]))
    return np.array(
        [
            said.crowd, said.deviation, said.mean, expected, math.log10(said.size),
            min(words, MOST_WORDS), min(len(texts), MOST_TURNS), familiar,
        ]
    )  # fmt: skip


def is_in_sentences(features_f: Float[np.ndarray, " f"]) -> bool:
    """Whether people spoke in sentences rather than fragments, by the features."""
    return bool(features_f[FEATURES.index("words")] >= SENTENCE)


def expected_score(calibration: Calibration, texts_md: Float[np.ndarray, "m d"]) -> float:
    """The usual score of a picture that the texts are about, by their vectors; the mean over the texts."""
    return float((texts_md @ calibration.expected[:-1] + calibration.expected[-1]).mean())


def curve(weights: Sequence[float], features_f: Float[np.ndarray, " f"], score: float, nats: float = 0.0) -> float:
    """A chance: the logistic of the weighted features and the score, the bias last; `nats` is other evidence."""
    logit = float(np.dot(weights, [*features_f, score, 1.0])) + nats
    return 1 / (1 + math.exp(-min(max(logit, -50.0), 50.0)))


def mean_odds(nats_n: Float32[np.ndarray, " n"]) -> float:
    """The logarithm of the mean of likelihood ratios given as logarithms, most of them 0."""
    telling_k = nats_n[nats_n != 0].astype(np.float64)
    highest = telling_k.max(initial=0.0)
    whole = np.exp(telling_k - highest).sum() + (len(nats_n) - len(telling_k)) * np.exp(-highest)
    return float(np.log(whole / len(nats_n)) + highest)


@dataclass(frozen=True, eq=False)
class LikelihoodRatios:
    """How much likelier something is said of each picture than of others, in nats.

    Most texts name few pictures of a collection. `rows_k` are those, ascending, of which `nats_k` are not 0; None:
    `nats_k` has a number for every picture.
    """

    nats_k: Float32[np.ndarray, " k"]
    rows_k: Int64[np.ndarray, " k"] | None

    @staticmethod
    def of(nats_k: Float32[np.ndarray, " k"], rows_k: Int64[np.ndarray, " k"], pictures: int) -> LikelihoodRatios:
        """Those of some of so many pictures, all others being 0."""
        if len(rows_k) * FEW_OF <= pictures:
            return LikelihoodRatios(nats_k, rows_k)
        nats_n = np.zeros(pictures, np.float32)
        nats_n[rows_k] = nats_k
        return LikelihoodRatios(nats_n, None)

    @property
    def is_nothing(self) -> bool:
        """Whether it is said of all alike."""
        return not len(self.nats_k)

    def at(self, rows_r: Int64[np.ndarray, " r"]) -> Float32[np.ndarray, " r"]:
        """Those of some pictures."""
        if self.rows_k is None:
            return np.asarray(self.nats_k[rows_r])
        found_r = np.zeros(len(rows_r), np.float32)
        if len(self.rows_k):
            place_r = np.minimum(np.searchsorted(self.rows_k, rows_r), len(self.rows_k) - 1)
            there_r = self.rows_k[place_r] == rows_r
            found_r[there_r] = self.nats_k[place_r[there_r]]
        return found_r

    def add_to(self, total_n: Float32[np.ndarray, " n"], sharpness: float) -> None:
        """Adds what they add to the scores of all pictures."""
        total_n[slice(None) if self.rows_k is None else self.rows_k] += self.nats_k / np.float32(sharpness)


FEW_OF = 16
"""Ratios of less than one in so many pictures are kept, and added, without those that are 0."""


CERTAIN = 50.0
"""Nats that settle it: a picture of which every word said is written is what was said, however it looks."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """What was said, judged against a collection.

    `scores_at` gives pictures' scores for it, `highest` is the best picture's; `written_n` says how much likelier each
    is meant given what is written about it, in nats: Bayes' rule adds that to the log odds. `CERTAIN`: all is written.
    """

    calibration: Calibration
    features_f: Float[np.ndarray, " f"]
    highest: float
    scores_at: Callable[[Int64[np.ndarray, " k"]], Float[np.ndarray, " k"]]
    written_n: Float32[np.ndarray, " n"] | None = None

    @cached_property
    def verdict(self) -> Verdict:
        """Whether what was said is here: found if that is likelier than not."""
        # If it is here, any picture may be meant: the mean over all of them.
        written = 0.0 if self.written_n is None else mean_odds(self.written_n)
        chance = curve(self.calibration.here, self.features_f, self.highest, written)
        limit = self.calibration.nothing_below[is_in_sentences(self.features_f)]
        return "nothing" if chance < limit else "found" if chance >= LIKELY else "unsure"

    def match(self, row: int) -> float:
        """The chance that a picture is what was said."""
        return self.matches([row])[0]

    def matches(self, rows: Sequence[int]) -> list[float]:
        """The chances of some pictures."""
        scores = self.scores_at(np.asarray(rows, np.int64)).tolist()
        written = [0.0] * len(rows) if self.written_n is None else self.written_n[list(rows)].tolist()
        known = zip(scores, written, strict=True)
        return [curve(self.calibration.match, self.features_f, *of_picture) for of_picture in known]


def judge_conversation(
    calibration: Calibration,
    said: Spread,
    scores_at: Callable[[Int64[np.ndarray, " k"]], Float[np.ndarray, " k"]],
    texts_md: Float[np.ndarray, "m d"],
    texts: Sequence[str],
    named: Collection[str] = (),
) -> Judgement:
    """The judgement of `texts` (vectors `texts_md`) on a collection of at least one picture.

    `said` is the spread of all pictures' scores for them, `scores_at` gives those of some; `named`: stems that captions
    of the best pictures have.
    """
    familiar = mean_familiarity(calibration.familiar, texts, named)
    features_f = conversation_features(said, expected_score(calibration, texts_md), familiar, texts)
    return Judgement(calibration, features_f, said.highest, scores_at)


MANY = 20_000
"""Above this many, pictures are first scored in 8 bits, and only the best (and `exact` scores) in full."""

CANDIDATES = 100
"""How many of the best by 8 bits are scored in full."""

GROUPED = 200_000
"""Above this many, pictures are first scored by groups of their regions, which misses some (docs/scale.md)."""

GROUP_SHARE = 0.01
"""The share of pictures, the best by groups, that are scored by all their regions in 8 bits."""


def vectors_of_parts(query: Query) -> Float32[np.ndarray, "m d"]:
    """The vectors of a query's parts, all of kind "regions"."""
    vectors = [part.vector_d for part in query.parts if part.kind == "regions" and part.vector_d is not None]
    if len(vectors) != len(query.parts):
        kinds = sorted({part.kind for part in query.parts})
        raise ValueError(f"{query.compare} compares vectors of kind 'regions', and this query has {', '.join(kinds)}")
    return np.stack(vectors).astype(np.float32)


def weights_of_parts(query: Query) -> Float[np.ndarray, " m"]:
    """How much each part counts, adding up to 1; zeros if nothing counts."""
    weights_m = np.array([part.weight for part in query.parts], np.float64)
    return np.asarray(weights_m / (weights_m.sum() or 1.0))


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

    In full; beyond `MANY` pictures, only for the best of those allowed.
    """
    weights_m = weights_of_parts(query)
    if not weights_m.any():
        return prior_n
    vectors_md = vectors_of_parts(query)
    if space.regions == 1:
        # With one vector there is nothing to choose: parts are added up first and compared in a single scan.
        return np.asarray(single_vector_scores(block, weights_m @ vectors_md) + prior_n)
    if exact or len(block) <= MANY:
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
    candidates: int = CANDIDATES,
    temperature: float = 9.0,
    weights_m: Float[np.ndarray, " m"] | None = None,
    prior_n: Float32[np.ndarray, " n"] | None = None,
) -> Float32[np.ndarray, " n"]:
    """`late_interaction` in 8 bits for every picture, and exactly for the best `candidates`; `prior_n` is added.

    Above `GROUPED` pictures, the first look is at groups of regions, and all regions are compared in 8 bits only of the
    best by these. The order is consistent: if the other pictures would overlap those that were looked at more closely,
    they are all moved below them by the same amount. So a picture is misplaced among the first only if a look puts it
    behind as many others as the next one takes.
    """
    how: Any = {"temperature": temperature, "weights_m": weights_m}
    if len(block) > GROUPED:
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


def closer_looks(
    block: RegionBlock, queries_md: Float[np.ndarray, "m d"], *, candidates: int = CANDIDATES, **how: Any
) -> Iterator[tuple[int, Callable[[Int64[np.ndarray, " k"]], Float32[np.ndarray, " k"]]]]:
    """How many of the best each further look takes, and how it scores them (`how`: as `late_interaction`)."""
    if len(block) > GROUPED:
        many = math.ceil(GROUP_SHARE * len(block))
        yield many, lambda rows_k: late_interaction_coarse(block.codes.at(rows_k), queries_md, **how)
    yield candidates, lambda rows_k: late_interaction(block.at(rows_k), queries_md, **how)


def region_shares(query: Query, space: RegionSpace, block: RegionBlock) -> Float[np.ndarray, "m n"]:
    """What each part adds to the score of every picture; columns sum to `late_scores`, or to `rank_fusion` of all."""
    likeness_mn = query_vector_scores(block, vectors_of_parts(query), temperature=space.temperature)
    if query.compare == "rank_fusion":
        return np.stack([rank_fusion(likeness_n[None]) for likeness_n in likeness_mn]) / np.float32(len(likeness_mn))
    return np.asarray(weights_of_parts(query)[:, None] * likeness_mn)


def explain_turns(query: Query, shares_kp: Float[np.ndarray, "k parts"]) -> list[dict[str, Any]]:
    """The shares of each hit's score as JSON: per turn, what it said and what it added. Parts first, then evidence,
    then word matches."""
    terms: tuple[Part | Evidence | WordMatch, ...] = (*query.parts, *query.evidence, *query.word_matches)
    # All but the shares is alike for all hits. Labels each once: several slots may hold parts of the same.
    labels: dict[int, dict[str, None]] = {}
    for term in terms:
        labels.setdefault(term.turn, {})[term.label] = None
    place = {turn: at for at, turn in enumerate(labels)}
    adds_tk = np.zeros((len(labels), len(shares_kp)))
    for term, share_k in zip(terms, shares_kp.T, strict=True):
        adds_tk[place[term.turn]] += share_k
    by_turn = sorted(place.items())
    found = []
    for adds in adds_tk.T.tolist():
        whole = sum(map(abs, adds)) or 1.0
        turns = [
            {
                "turn": turn,
                "parts": list(labels[turn]),
                "adds": round(adds[at], 4),
                "share": round(adds[at] / whole, 3),
            }
            for turn, at in by_turn
        ]
        found.append({"turns": turns})
    return found


def explain_regions(
    query: Query,
    shares_p: Float[np.ndarray, " parts"],
    attention_pr: Float[np.ndarray, "parts r"],
    boxes_r4: Float[np.ndarray, "_boxes 4"],
) -> dict[str, Any]:
    """`Hit.why["regions"]`: what every part of a query looks at in one hit (Tan et al. 2019, figure 4)."""
    return {
        "boxes": [[round(edge, 3) for edge in box] for box in boxes_r4.tolist()],
        "slots": [
            {"said": part.label, "turn": part.turn, "weights": round_to_thousandths(weights_r), "adds": round(share, 4)}
            for part, weights_r, share in zip(query.parts, attention_pr, shares_p.tolist(), strict=True)
        ],
    }


def round_to_thousandths(weights_r: Float[np.ndarray, " r"]) -> list[float]:
    """Weights that add up to 1 with 3 decimals, still adding up to 1: the largest remainders are rounded up.

    >>> round_to_thousandths(np.array([1 / 3, 1 / 3, 1 / 3]))
    [0.334, 0.333, 0.333]
    """
    scaled_r = weights_r.astype(np.float64) / weights_r.sum(dtype=np.float64) * 1000
    whole_r = np.floor(scaled_r)
    short = 1000 - int(whole_r.sum())
    whole_r[np.argsort(whole_r - scaled_r, kind="stable")[:short]] += 1
    return [count / 1000 for count in whole_r.tolist()]
