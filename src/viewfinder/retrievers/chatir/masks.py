"""What training hides of a dialogue (ChatIR, Levy et al. 2023, Sec. 5): a share of its captions, questions, answers,
rounds or tokens.

A unit is hidden with its separator, each by a draw of its own. Never is everything hidden: a caption only where rounds
are left, of several words or tokens at least one stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from viewfinder.retrievers.chatir.settings import Masking

MASK = "[MASK]"
"""What stands for a word that is hidden, in texts."""


class VisibleParts(NamedTuple):
    """What is left of b dialogues: captions, and of t rounds the questions and the answers."""

    captions_b: Bool[np.ndarray, " b"]
    questions_bt: Bool[np.ndarray, "b t"]
    answers_bt: Bool[np.ndarray, "b t"]


def draw_masks(
    masking: Masking, share: float, rounds_b: Int[np.ndarray, " b"], columns: int, rng: np.random.Generator
) -> VisibleParts:
    """What is left of dialogues with these numbers of rounds; of tokens nothing is hidden here.

    Every strategy draws as many numbers, so that dialogues are the same ones whatever is hidden of them.
    """
    read_bt = np.arange(columns) < rounds_b[:, None]
    hidden_bt = rng.random(read_bt.shape) < share
    hidden_b = (rng.random(len(rounds_b)) < share) & (rounds_b > 0)
    return VisibleParts(
        captions_b=~hidden_b if masking == "captions" else np.ones(len(rounds_b), bool),
        questions_bt=read_bt & ~hidden_bt if masking in ("questions", "rounds") else read_bt,
        answers_bt=read_bt & ~hidden_bt if masking in ("answers", "rounds") else read_bt,
    )


def mask_words(text: str, share: float, rng: np.random.Generator) -> str:
    """The text with a share of its words replaced by "[MASK]"; of several one at least stays.

    >>> masked_words("a dog on a sofa", 0.5, np.random.default_rng(1))
    'a dog [MASK] a [MASK]'
    """
    words = text.split()
    hidden = _hidden(len(words), share, rng)
    return " ".join(MASK if gone else word for word, gone in zip(words, hidden, strict=True))


def mask_tokens(ids: Sequence[int], mask: int, share: float, rng: np.random.Generator) -> list[int]:
    """Token numbers with a share of them replaced by that of the mask; of several one at least stays."""
    hidden = _hidden(len(ids), share, rng)
    return [mask if gone else number for number, gone in zip(ids, hidden, strict=True)]


def _hidden(count: int, share: float, rng: np.random.Generator) -> list[bool]:
    hidden = rng.random(count) < share
    if count > 1 and hidden.all():
        hidden[rng.integers(count)] = False
    return [bool(gone) for gone in hidden]
