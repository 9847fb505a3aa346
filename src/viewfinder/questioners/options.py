"""A question that could be asked, and the numbers that decide whether it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

OptionSource = Literal["column", "tag", "caption", "trained", "open"]
"""Where a question comes from: the catalogue, zero-shot tags, what people wrote about the candidates, questions that
were learnt, and those that all the learnt ones about what is there answer at once."""

AnswerTable = Callable[[], Float[np.ndarray, "c a"]]
"""How likely each candidate is to be answered with each label; made when it is needed."""


@dataclass(frozen=True, kw_only=True)
class InformationGainSettings:
    """The numbers of the questioner."""

    error: float = 0.05  # of the answers: on columns another value, elsewhere any value
    least_gain: float = 0.05  # bits; below that a question costs the user more than it helps
    most_choices: int = 6  # without "don't know"
    rare: float = 0.01  # a choice with less probability is folded into "something else"
    implied: float = 0.95  # of the pairs alike in one column that must be alike in one that follows from it
    most_values_heard: int = 200  # a column with more is not searched for what else it implies
    half_known: float = 0.5  # a column known for less than this leaves its subject to the tags
    likely: float = 0.9  # "the 140 likeliest pictures" hold this much of the probability
    echo: float = 0.95  # of what is foretold to a question that must follow from what was asked, for it to be an echo
    captions_read: int = 200  # of the likeliest candidates
    most_words: int = 24  # of their captions that are asked for
    weighed: int = 10  # options whose second step is looked at
    goes_on: float = 0.8  # how likely the user answers one more question
    tried: int = 1  # options that are tried on the retriever; with one, none is (more cost more than they found)
    replies: int = 2  # of the likeliest answers that each is tried with


DEFAULTS = InformationGainSettings()


@dataclass(frozen=True, eq=False)
class Option:
    """A question that could be asked.

    Attributes:
        source: where it comes from.
        text: as it would be asked.
        labels: what may be answered.
        share_a: how likely each label is.
        gain: bits that it is expected to take off, as far as a user can tell.
        table: each candidate's answers, errors included.
        attribute: the catalogue's column or the tags' group that it asks for; "" for a free question.
        can_tell: how likely a user can answer at all.
        ordered: whether the labels are ranges, to be shown in their order.
        choices: what is offered, "don't know" left out; None: what a learnt question itself leaves open, else the
            labels, the likeliest first.
    """

    source: OptionSource
    text: str
    labels: tuple[str, ...]
    share_a: Float[np.ndarray, " a"]
    gain: float
    table: AnswerTable
    attribute: str = ""
    can_tell: float = 1.0
    ordered: bool = False
    choices: tuple[str, ...] | None = None


def add_errors(answer_ca: Float[np.ndarray, "c a"], error: float) -> Float[np.ndarray, "c a"]:
    """Answer distributions of which a share `error` says nothing: any answer, all alike."""
    return np.asarray((1 - error) * answer_ca + error / answer_ca.shape[1])
