"""ROUGE-L: how much of a sentence stands in a reference in the same order.

    P = LCS / words of the sentence,  R = LCS / words of the reference
    F = (1 + beta^2) * P * R / (R + beta^2 * P)

LCS is the longest common subsequence (Lin, "ROUGE: a package for automatic evaluation of summaries", 2004), found
by the rouge-score library. Of several references the largest P and the largest R are taken, each by itself, and
beta is 1.2: so does the evaluation of COCO captions, and so Fashion IQ. With one reference and beta 1 it is the
F-measure of rouge-score.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from viewfinder.metrics.sentences import check_sentences


def rouge_l(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, beta: float = 1.2
) -> Float[np.ndarray, " s"]:
    """ROUGE-L of every sentence, 0 to 1; that of a corpus is their mean.

    Raises:
        ValueError: there are no sentences, not as many lists of references, or one of these is empty.
    """
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
    """The tokeniser that rouge-score is given: words are set apart already."""

    def tokenize(self, text: str) -> list[str]:
        return text.split()
