"""BLEU-1 to BLEU-4 of a corpus, with several references a sentence.

    BLEU-n = BP * exp(1/n * sum over m <= n of ln p_m)
    BP     = min(1, exp(1 - r/c))

p_m is the share of the m-grams that a reference has too, counts clipped at the most that one reference has; c the
words of all sentences, r those of the nearest long references, the shorter of two (Papineni et al., ACL 2002).
Counted by sacrebleu, with neither its tokeniser nor its smoothing: what the evaluation of COCO captions gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
from jaxtyping import Float

from viewfinder.metrics.sentences import LONGEST, check_sentences


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Float[np.ndarray, " n"]:
    """BLEU-1, -2, -3 and -4 of a whole corpus, 0 to 1; sentences may have different numbers of references.

    Raises:
        ValueError: there are no sentences, not as many lists of references, or one of these is empty.
    """
    from sacrebleu.metrics.bleu import BLEU

    check_sentences(hypotheses, references)
    streams = list(zip_longest(*references))
    counter = BLEU(tokenize="none", smooth_method="none", max_ngram_order=LONGEST, force=True)
    score = counter.corpus_score(list(hypotheses), streams)
    shares_n = np.array(score.counts) / np.maximum(score.totals, 1)
    with np.errstate(divide="ignore"):  # no common n-gram: ln 0, and a BLEU of 0
        return np.asarray(score.bp * np.exp(np.cumsum(np.log(shares_n)) / np.arange(1, LONGEST + 1)))
