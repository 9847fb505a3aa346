"""Which question people ask next: the trained network at work, in numpy. `tuning.selecting` has it in torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

MOST_ROUNDS = 10
"""Rounds that the network counts; later ones count as the last of these."""


@dataclass(frozen=True, eq=False)
class QuestionSelector:
    """The weights: of the talk so far, and of every question of the pool (`pool_qk`, `bias_q`)."""

    caption_hs: Float[np.ndarray, "h s"]
    round_ht: Float[np.ndarray, "h two_s"]
    round_h: Float[np.ndarray, " h"]
    last_ht: Float[np.ndarray, "h two_s"]
    count_nh: Float[np.ndarray, "n h"]
    talk_kh: Float[np.ndarray, "k h"]
    talk_k: Float[np.ndarray, " k"]
    pool_qk: Float[np.ndarray, "q k"]
    bias_q: Float[np.ndarray, " q"]

    @staticmethod
    def of(arrays: Mapping[str, np.ndarray]) -> QuestionSelector:
        """From the arrays of a file."""
        return QuestionSelector(**{name: arrays[f"selector.{name}"] for name in QuestionSelector.__dataclass_fields__})

    def logits(
        self,
        caption_s: Float[np.ndarray, " s"],
        questions_rs: Float[np.ndarray, "r s"],
        answers_rs: Float[np.ndarray, "r s"],
    ) -> Float[np.ndarray, " q"]:
        """How much each question is due after a caption (zeros: none) and `r` rounds."""
        rounds_rt = np.concatenate([questions_rs, answers_rs], axis=1)
        hidden_h = self.caption_hs @ caption_s + self.count_nh[min(len(rounds_rt), len(self.count_nh) - 1)]
        if len(rounds_rt):
            hidden_h = hidden_h + np.maximum(rounds_rt @ self.round_ht.T + self.round_h, 0).mean(axis=0)
            hidden_h = hidden_h + self.last_ht @ rounds_rt[-1]
        talk_k = self.talk_kh @ np.maximum(hidden_h, 0) + self.talk_k
        return np.asarray(self.pool_qk @ talk_k + self.bias_q, np.float32)
