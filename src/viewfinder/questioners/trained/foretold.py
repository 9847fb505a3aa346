"""Answers foretold: how likely each answer to each of many questions is, for each candidate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int

TINY = 1e-30
AT_ONCE = 128
"""Candidates whose answers fit into the processor's cache together."""


@dataclass(frozen=True, eq=False)
class PredictedAnswers:
    """P(answer | picture) of several questions in one array: question m has the columns starts_m[m] to starts_m[m + 1].

    Attributes:
        questions_m: which questions of the pool they are.
        starts_m: where each one's answers begin; one more than there are questions.
        chance_ca: the answers in the order of `PoolQuestion.answers`; each question's add up to 1 in every row.
    """

    questions_m: Int[np.ndarray, " m"]
    starts_m: Int[np.ndarray, " m+1"]
    chance_ca: Float32[np.ndarray, "c a"]

    def of(self, m: int) -> Float32[np.ndarray, "c answers"]:
        """The answers to one of the questions."""
        return self.chance_ca[:, self.starts_m[m] : self.starts_m[m + 1]]

    def shares(self, probabilities_c: Float[np.ndarray, " c"]) -> Float[np.ndarray, " a"]:
        """How likely each answer is over all candidates."""
        return np.asarray(probabilities_c.astype(np.float32) @ self.chance_ca)

    def gains(self, probabilities_c: Float[np.ndarray, " c"]) -> Float[np.ndarray, " m"]:
        """Bits that each question is expected to take off: H(answer) - E_c[H(answer | c)], of who can tell."""
        if not len(self.questions_m):
            return np.zeros(0)
        share_a = self.shares(probabilities_c)
        inside_ca = self.chance_ca * np.log2(self.chance_ca + np.float32(TINY))
        known_a = probabilities_c.astype(np.float32) @ inside_ca
        lost_a = known_a - share_a * np.log2(share_a + np.float32(TINY))
        return np.maximum(np.add.reduceat(lost_a.astype(np.float64), self.starts_m[:-1]), 0.0)


def answer_chances(
    seen_ck: Float32[np.ndarray, "c k"],
    towers_ak: Float32[np.ndarray, "a k"],
    bias_a: Float32[np.ndarray, " a"],
    starts_m: Int[np.ndarray, " starts"],
) -> Float32[np.ndarray, "c a"]:
    """Softmax of `seen . towers + bias` over the answers of each question by itself.

    Logits must not be large (see `files.bounded`): nothing is subtracted before they are raised.
    """
    chance_ca = np.empty((len(seen_ck), len(bias_a)), np.float32)
    if not len(bias_a):
        return chance_ca
    sizes_m = np.diff(starts_m)
    for at in range(0, len(seen_ck), AT_ONCE):
        part_ca = chance_ca[at : at + AT_ONCE]
        np.matmul(seen_ck[at : at + AT_ONCE], towers_ak.T, out=part_ca)
        part_ca += bias_a
        np.exp(part_ca, out=part_ca)
        total_cm = np.add.reduceat(part_ca, starts_m[:-1], axis=1)
        part_ca /= np.repeat(np.maximum(total_cm, np.float32(TINY)), sizes_m, axis=1)
    return chance_ca
