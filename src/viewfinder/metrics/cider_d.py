"""CIDEr-D: how much of what references agree on a sentence says, rare words counting more.

For n-grams of each length n, with tf counts and N sentences (each with its references),

    g_n(c)      = tf * (ln N - ln max(1, sentences with the n-gram in a reference))
    D_n(c, r)   = 10 * exp(-(l_c - l_r)^2 / (2 * 6^2)) * min(g(c), g(r)) . g(r) / (|g(c)| * |g(r)|)
    CIDEr-D     = mean over references and over n = 1 to 4

(Vedantam, Zitnick and Parikh, "CIDEr: consensus-based image description evaluation", CVPR 2015). As in the
official code, tf is a count, not a share, and the l are numbers of bigrams. The weights come from the references of
the very corpus that is scored, so values of different corpora cannot be compared, and a corpus of one sentence
scores 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np
from jaxtyping import Float

from viewfinder.metrics.sentences import LONGEST, NGram, check_sentences, ngrams

SIGMA = 6.0
"""Width of the penalty for another length, in bigrams."""


def cider_d(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Float[np.ndarray, " s"]:
    """CIDEr-D of every sentence, 0 to 10; that of a corpus is their mean.

    Raises:
        ValueError: there are no sentences, not as many lists of references, or one of these is empty.
    """
    check_sentences(hypotheses, references)
    counted = [[ngrams(reference) for reference in several] for several in references]
    seen = Counter(ngram for several in counted for ngram in set().union(*several))
    weights = {ngram: log(len(counted)) - log(sentences) for ngram, sentences in seen.items()}
    unseen = log(len(counted))
    values = []
    for hypothesis, several in zip(hypotheses, counted, strict=True):
        said = _weighted(ngrams(hypothesis), weights, unseen)
        values.append(np.mean([_likeness(said, _weighted(one, weights, unseen)) for one in several]))
    return np.array(values, dtype=np.float64)


@dataclass(frozen=True)
class _Vectors:
    """A sentence as weighted n-grams: one vector and one norm for each n, and the number of its bigrams."""

    weights: tuple[dict[NGram, float], ...]
    norms: tuple[float, ...]
    bigrams: int


def _weighted(counts: Counter[NGram], weights: Mapping[NGram, float], unseen: float) -> _Vectors:
    vectors: tuple[dict[NGram, float], ...] = tuple({} for _ in range(LONGEST))
    for ngram, count in counts.items():
        vectors[len(ngram) - 1][ngram] = count * weights.get(ngram, unseen)
    norms = tuple(sqrt(sum(weight**2 for weight in vector.values())) for vector in vectors)
    return _Vectors(vectors, norms, sum(count for ngram, count in counts.items() if len(ngram) == 2))


def _likeness(said: _Vectors, meant: _Vectors) -> float:
    """10 times the mean over n of the clipped cosine, less for another length."""
    penalty = exp(-((said.bigrams - meant.bigrams) ** 2) / (2 * SIGMA**2))
    return 10 * penalty * sum(map(_clipped_cosine, said.weights, meant.weights, said.norms, meant.norms)) / LONGEST


def _clipped_cosine(said: dict[NGram, float], meant: dict[NGram, float], norm: float, other: float) -> float:
    if not norm or not other:
        return 0.0
    return sum(min(weight, meant[ngram]) * meant[ngram] for ngram, weight in said.items() if ngram in meant) / (
        norm * other
    )
