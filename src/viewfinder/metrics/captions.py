"""Metrics of texts: BLEU, ROUGE-L and CIDEr-D of captions, each with several references; how varied questions are.

Those of captions take sentences whose words are separated by spaces, reject what `check_sentences` rejects, and change
nothing: Fashion IQ scores captions unchanged, while those of COCO are first split into words.

BLEU-1 to BLEU-4 of a corpus, with several references a sentence.

    BLEU-n = BP * exp(1/n * sum over m <= n of ln p_m)
    BP     = min(1, exp(1 - r/c))

p_m is the share of the m-grams that also occur in a reference, counts clipped at the most in any one reference; c the
words of all sentences, r those of the references closest in length, the shorter of two (Papineni et al., ACL 2002).
Counted by sacrebleu, with neither its tokeniser nor its smoothing: this gives the evaluation of COCO captions.

ROUGE-L: how much of a sentence occurs in a reference in the same order.

    P = LCS / words of the sentence,  R = LCS / words of the reference
    F = (1 + beta^2) * P * R / (R + beta^2 * P)

LCS is the longest common subsequence (Lin, "ROUGE: a package for automatic evaluation of summaries", 2004), found
by the rouge-score library. Of several references the largest P and the largest R are taken, each by itself, and
beta is 1.2, as in the evaluation of COCO captions, and thus in Fashion IQ. With one reference and beta 1 it is the
F-measure of rouge-score.

CIDEr-D: how much a sentence says of what the references agree on; rare words count more.

For n-grams of each length n, with tf counts and N sentences (each with its references),

    g_n(c)      = tf * (ln N - ln max(1, sentences with the n-gram in a reference))
    D_n(c, r)   = 10 * exp(-(l_c - l_r)^2 / (2 * 6^2)) * min(g(c), g(r)) . g(r) / (|g(c)| * |g(r)|)
    CIDEr-D     = mean over references and over n = 1 to 4

(Vedantam, Zitnick and Parikh, "CIDEr: consensus-based image description evaluation", CVPR 2015). As in the official
code, tf is a count, not a share, and the l are numbers of bigrams. The weights come from the references of the scored
corpus itself, so values of different corpora cannot be compared, and a corpus of one sentence scores 0.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import exp, log, sqrt

import numpy as np
from jaxtyping import Float, Int64

NGram = tuple[str, ...]

MAX_NGRAM = 4
"""The length in words of the longest n-gram that BLEU and CIDEr count."""


def check_sentences(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Checks that every sentence has something to be compared with.

    Raises:
        ValueError: there are no sentences, not as many lists of references, or one of these is empty.
    """
    if not hypotheses or len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} sentences, {len(references)} lists of references: one each is needed")
    for row, several in enumerate(references):
        if isinstance(several, str) or not several:
            raise ValueError(f"references of sentence {row}: {several!r}, but a list of at least one is needed")


def ngrams(sentence: str, longest: int = MAX_NGRAM) -> Counter[NGram]:
    """How often each run of 1 to `longest` words occurs."""
    words = sentence.split()
    return Counter(
        tuple(words[start : start + length])
        for length in range(1, longest + 1)
        for start in range(len(words) - length + 1)
    )


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Float[np.ndarray, " n"]:
    """BLEU-1, -2, -3 and -4 of a whole corpus, 0 to 1; sentences may have different numbers of references."""
    from sacrebleu.metrics.bleu import BLEU

    check_sentences(hypotheses, references)
    streams = list(zip_longest(*references))
    counter = BLEU(tokenize="none", smooth_method="none", max_ngram_order=MAX_NGRAM, force=True)
    score = counter.corpus_score(list(hypotheses), streams)
    shares_n = np.array(score.counts) / np.maximum(score.totals, 1)
    with np.errstate(divide="ignore"):  # no common n-gram: ln 0, and a BLEU of 0
        return np.asarray(score.bp * np.exp(np.cumsum(np.log(shares_n)) / np.arange(1, MAX_NGRAM + 1)))


def rouge_l(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, beta: float = 1.2
) -> Float[np.ndarray, " s"]:
    """ROUGE-L of every sentence, 0 to 1; that of a corpus is their mean."""
    from rouge_score.rouge_scorer import RougeScorer

    check_sentences(hypotheses, references)
    scorer = RougeScorer(["rougeL"], tokenizer=_Blanks())
    values = []
    for hypothesis, several in zip(hypotheses, references, strict=True):
        found = [scorer.score(reference, hypothesis)["rougeL"] for reference in several]
        precision, recall = max(one.precision for one in found), max(one.recall for one in found)
        values.append((1 + beta**2) * precision * recall / (recall + beta**2 * precision) if precision else 0)
    return np.array(values, dtype=np.float64)


class _Blanks:
    """The tokeniser given to rouge-score: words are separated already."""

    def tokenize(self, text: str) -> list[str]:
        return text.split()


SIGMA = 6.0
"""Width of the length penalty, in bigrams."""


def cider_d(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Float[np.ndarray, " s"]:
    """CIDEr-D of every sentence, 0 to 10; that of a corpus is their mean."""
    check_sentences(hypotheses, references)
    counted = [[ngrams(reference) for reference in several] for several in references]
    seen = Counter(ngram for several in counted for ngram in set().union(*several))
    weights = {ngram: log(len(counted)) - log(sentences) for ngram, sentences in seen.items()}
    unseen = log(len(counted))
    values = []
    for hypothesis, several in zip(hypotheses, counted, strict=True):
        said = _weigh(ngrams(hypothesis), weights, unseen)
        values.append(np.mean([_compare_vectors(said, _weigh(one, weights, unseen)) for one in several]))
    return np.array(values, dtype=np.float64)


@dataclass(frozen=True)
class _Vectors:
    """A sentence as weighted n-grams: one vector and one norm for each n, and the number of its bigrams."""

    weights: tuple[dict[NGram, float], ...]
    norms: tuple[float, ...]
    bigrams: int


def _weigh(counts: Counter[NGram], weights: Mapping[NGram, float], unseen: float) -> _Vectors:
    vectors: tuple[dict[NGram, float], ...] = tuple({} for _ in range(MAX_NGRAM))
    for ngram, count in counts.items():
        vectors[len(ngram) - 1][ngram] = count * weights.get(ngram, unseen)
    norms = tuple(sqrt(sum(weight**2 for weight in vector.values())) for vector in vectors)
    return _Vectors(vectors, norms, sum(count for ngram, count in counts.items() if len(ngram) == 2))


def _compare_vectors(said: _Vectors, meant: _Vectors) -> float:
    """10 times the mean over n of the clipped cosine, less for a different length."""
    penalty, cosines = exp(-((said.bigrams - meant.bigrams) ** 2) / (2 * SIGMA**2)), 0.0
    for own, other, norm, other_norm in zip(said.weights, meant.weights, said.norms, meant.norms, strict=True):
        if norm and other_norm:
            clipped = sum(min(weight, other[ngram]) * other[ngram] for ngram, weight in own.items() if ngram in other)
            cosines += clipped / (norm * other_norm)
    return 10 * penalty * cosines / MAX_NGRAM


WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def count_repeated_questions(dialogues: Sequence[Sequence[str]]) -> Int64[np.ndarray, " s"]:
    """How many rounds of each dialogue repeat an earlier question exactly; the figure is their mean.

    A dialogue is given as its rounds of "question? answer", without the caption. ChatIR counts exact repetitions among
    the ten questions (Levy et al., NeurIPS 2023, Sec. 4.2). Its code for them was not published, and the paper quotes
    1.85 to 3.44 for the weak questioners where the released FLAN-ALPACA-XXL dialogues come to 6.74 by this count.

    A question is the text before the first "?", or the whole round: some released questions were cut short.

    >>> count_repeated_questions([["Is it big? no", "Is it red? no", "Is it big? yes"]])
    array([1])
    """
    asked = ({text.partition("?")[0].strip() for text in rounds} for rounds in dialogues)
    return np.array([len(rounds) - len(kept) for rounds, kept in zip(dialogues, asked, strict=True)], np.int64)


def count_unique_tokens(dialogues: Sequence[Sequence[str]]) -> Int64[np.ndarray, " s"]:
    """How many different words each dialogue has, ignoring case; give questions alone to judge a questioner.

    >>> count_unique_tokens([["Is it big? no", "Is it red? no"]])      # is, it, big, no, red
    array([5])
    """
    return np.array([len(set(WORD.findall(" ".join(rounds).lower()))) for rounds in dialogues], dtype=np.int64)
