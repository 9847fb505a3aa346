"""Questions about photographs: facets whose labels separate the pictures now likely, and what else one remembers.

The labels offered are those that the likely pictures show most, so that the choices name what is there; their answers
are predicted by `PhotographLabels`. Where no question with choices is worth its while, the person is asked openly.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from jaxtyping import Float

from viewfinder.conversation import SOMETHING_ELSE, Answer, Question, is_dont_know
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.information_gain.gains import Option, entropy_bits, table_gains
from viewfinder.questioners.photographs import Facet, choice_chances, facets, label_columns
from viewfinder.questioners.said import PhraseIndex

MOST_LABELS = 5
"""Choices of a question, "something else" and "don't know" left out."""

LEAST_SHARE = 0.04
"""A label that fewer of the likely pictures are answered with is not offered."""

WORTH_A_CHOICE = 0.05
"""Bits that one more choice must bring."""

ELSEWHERE = 0.5
"""A question is not asked where the true answer is more likely not among its choices than this."""

LOOKED_AT = 400
"""The likeliest candidates, over which questions are compared."""

REMEMBER = "remember"
"""`Question.attribute` of an open question: its answer is a further description."""

OPEN_QUESTIONS = (
    "What else do you remember of it?",
    "What is around it, or behind it?",
    "Is there any other detail that you remember?",
)


def photograph_options(view: Candidates, holds_cl: Float[np.ndarray, "c l"]) -> Iterator[Option]:
    """An option for each facet that the conversation leaves open; `holds_cl`: the chance of every label."""
    said, likely_c = PhraseIndex(view.said), np.argsort(-view.probabilities_c, kind="stable")[:LOOKED_AT]
    belief_c = view.probabilities_c[likely_c] / view.probabilities_c[likely_c].sum()
    for facet in facets():
        if facet.is_open(said, view.said):
            offered = _labels_to_offer(facet, view, belief_c, holds_cl[likely_c][:, label_columns()[facet.name]])
            if offered:
                columns = [label_columns()[facet.name].start + facet.labels.index(label) for label in offered]
                table_ca = choice_chances(holds_cl[:, columns])
                share_a = view.probabilities_c @ table_ca
                gain = _gain(view.probabilities_c, table_ca)
                choices = (*offered, SOMETHING_ELSE)
                yield Option(
                    "photograph", facet.question, choices, share_a, gain, partial(np.asarray, table_ca),
                    attribute=facet.name, choices=choices,
                )  # fmt: skip


def _labels_to_offer(
    facet: Facet, view: Candidates, belief_c: Float[np.ndarray, " c"], holds_cl: Float[np.ndarray, "c l"]
) -> tuple[str, ...]:
    """The labels of a facet that tell the likely pictures apart, likeliest first; () where it is not to be asked."""
    asked = [question for question in view.asked if question.attribute == facet.name]
    if asked and not facet.several:
        return ()
    spent = {choice for question in asked for choice in question.choices}
    spent |= {label for text in view.said for label in facet.mentioned(text)}
    share_l = belief_c @ choice_chances(holds_cl, error=0.0)[:, :-1]
    order = [int(at) for at in np.argsort(-share_l, kind="stable") if facet.labels[at] not in spent]
    order = [at for at in order[:MOST_LABELS] if share_l[at] >= LEAST_SHARE]
    best, offered = 0.0, 0
    for count in range(2, len(order) + 1):
        gain = _gain(belief_c, choice_chances(holds_cl[:, order[:count]]))
        if gain > best + (WORTH_A_CHOICE if offered else 0.0):
            best, offered = gain, count
    if not offered or float(belief_c @ choice_chances(holds_cl[:, order[:offered]])[:, -1]) > ELSEWHERE:
        return ()
    return tuple(facet.labels[at] for at in order[:offered])


def _gain(belief_c: Float[np.ndarray, " c"], table_ca: Float[np.ndarray, "c a"]) -> float:
    return float(table_gains(belief_c[None].astype(np.float64), table_ca, np.array([0, table_ca.shape[1]]))[0, 0])


def open_question(view: Candidates, by: str) -> Question | None:
    """What else the person remembers; None once they had nothing more to say, or were asked in every way."""
    asked = [question for question in view.asked if question.attribute == REMEMBER]
    answers = [turn for turn in view.turns if isinstance(turn, Answer) and turn.question.attribute == REMEMBER]
    if len(asked) >= len(OPEN_QUESTIONS) or any(is_dont_know(turn.text) or not turn.text.strip() for turn in answers):
        return None
    bits = float(entropy_bits(view.probabilities_c))
    why = f"no question with choices is worth its while, and {2**bits:,.0f} pictures are about equally likely"
    return Question(OPEN_QUESTIONS[len(asked)], (), by, why, REMEMBER)
