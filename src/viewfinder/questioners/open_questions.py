"""Open questions, which many learnt ones answer in part: "is there a dog?", "is there a boat?" ... all at once.

What the learnt questions foretell of single things is enough to say what an open question would tell: answers are
drawn for some of the candidates, and each makes every candidate as likely as it is to be described so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from viewfinder.conversation import Answer, is_dont_know
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.entropy import table_gains
from viewfinder.questioners.from_trained import CandidatePredictions
from viewfinder.questioners.options import Option
from viewfinder.questioners.said import PhraseIndex
from viewfinder.questioners.things import find_asked_thing, limit_things

LIST_QUESTION = "What things can you see in the picture?"
MAIN_QUESTION = "What is the main thing in the picture?"
FEWEST_THINGS = 4
"""Kinds of things that must be foretold for an open question about them."""

DRAWN_ANSWERS = 12
"""Answers that are drawn."""

CAN_TELL = 0.95


@dataclass(frozen=True, eq=False)
class PredictedThings:
    """Things that may be in the pictures, and how likely each candidate has them."""

    names: tuple[str, ...]
    chance_ct: Float[np.ndarray, "c t"]


def predict_things(known: CandidatePredictions) -> PredictedThings:
    """The things that learnt questions still ask for by yes or no."""
    names, columns = [], []
    for m, row in enumerate(known.told.questions_m.tolist()):
        question = known.trained.questions[row]
        name = find_asked_thing(question.text)
        if name is not None and set(question.answers) == {"yes", "no"}:
            names.append(name)
            columns.append(known.told.starts_m[m] + question.answers.index("yes"))
    return PredictedThings(tuple(names), limit_things(known.told.chance_ca[:, columns].astype(np.float64)))


def has_listed_things(view: Candidates) -> bool:
    """Whether the user has said what is in the picture: then nothing else is."""
    told = (turn for turn in view.turns if isinstance(turn, Answer) and turn.question.text == LIST_QUESTION)
    return any(not is_dont_know(turn.text) for turn in told)


def believe_open_answers(view: Candidates, known: CandidatePredictions) -> CandidatePredictions:
    """The same with answers to open questions in mind: the things that were named, and those that were not."""
    told = [
        turn for turn in view.turns if isinstance(turn, Answer) and turn.question.text in {LIST_QUESTION, MAIN_QUESTION}
    ]
    told = [turn for turn in told if not is_dont_know(turn.text)]
    if not told:
        return known
    things = predict_things(known)
    believed_c = known.belief_c
    for turn in told:
        said = PhraseIndex([turn.text])
        named_t = np.array([said.names(name) for name in things.names], bool)
        if turn.question.text == MAIN_QUESTION:
            believed_c = believed_c * things.chance_ct[:, named_t].clip(0.01).prod(axis=1)
        elif len(named_t):
            believed_c = believed_c * description_likelihood(things.chance_ct, named_t[None])[:, 0]
    return replace(known, belief_c=believed_c / believed_c.sum())


def open_options(view: Candidates, known: CandidatePredictions) -> Iterator[Option]:
    """What is there, and what is the main thing, where they were not asked."""
    things = predict_things(known)
    if len(things.names) < FEWEST_THINGS:
        return
    asked = {question.text for question in view.asked}
    if LIST_QUESTION not in asked:
        yield _list_option(things, known.belief_c)
    if MAIN_QUESTION not in asked:
        yield _main_option(things, known.belief_c)


def _list_option(things: PredictedThings, belief_c: Float[np.ndarray, " c"]) -> Option:
    named_ct = things.chance_ct
    drawn_at = draw_descriptions(named_ct, belief_c)
    return _drawn_option(
        LIST_QUESTION,
        [_listed(things.names, row_t) for row_t in drawn_at],
        description_likelihood(named_ct, drawn_at),
        belief_c,
    )


def draw_descriptions(
    named_ct: Float[np.ndarray, "c t"], belief_c: Float[np.ndarray, " c"], count: int = DRAWN_ANSWERS
) -> Bool[np.ndarray, "s t"]:
    """What would be named of some candidates, drawn by their chances: the same for the same view."""
    at_s = np.searchsorted(np.cumsum(belief_c), (np.arange(count) + 0.5) / count * belief_c.sum())
    dice_st = np.random.default_rng(0).random((count, named_ct.shape[1]))
    return np.asarray(dice_st < named_ct[at_s.clip(max=len(belief_c) - 1)])


def description_likelihood(
    named_ct: Float[np.ndarray, "c t"], drawn_st: Bool[np.ndarray, "s t"]
) -> Float[np.ndarray, "c s"]:
    """How likely each candidate is to be described as each of some answers does."""
    safe_ct = named_ct.clip(0.01, 0.99)
    log_cs = np.log(safe_ct) @ drawn_st.T + np.log1p(-safe_ct) @ ~drawn_st.T
    return np.asarray(np.exp(log_cs - log_cs.max(axis=0)))


def _drawn_option(
    text: str, labels: Sequence[str], likely_cs: Float[np.ndarray, "c s"], belief_c: Float[np.ndarray, " c"]
) -> Option:
    """An option over drawn answers, each of which stands for as many as any other."""
    count = len(labels)
    table_cs = likely_cs / (belief_c @ likely_cs) / count
    gain = CAN_TELL * float(table_gains(belief_c[None], table_cs, np.array([0, count]))[0, 0])
    return Option(
        "open", text, tuple(labels), np.full(count, 1 / count), gain, lambda: table_cs, can_tell=CAN_TELL, choices=()
    )


def _main_option(things: PredictedThings, belief_c: Float[np.ndarray, " c"]) -> Option:
    """One of the things that are there, any of them alike."""
    whole_c1 = np.maximum(things.chance_ct.sum(axis=1, keepdims=True), 1.0)
    table_ca = np.column_stack([things.chance_ct / whole_c1, 1 - (things.chance_ct / whole_c1).sum(axis=1)]).clip(0)
    gain = CAN_TELL * float(table_gains(belief_c[None], table_ca, np.array([0, table_ca.shape[1]]))[0, 0])
    labels = (*things.names, "something else")
    return Option(
        "open", MAIN_QUESTION, labels, belief_c @ table_ca, gain, lambda: table_ca, can_tell=CAN_TELL, choices=()
    )


def _listed(names: Sequence[str], there_t: Bool[np.ndarray, " t"]) -> str:
    """ "a dog, a cat and a tree"; "nothing else" where none is.

    >>> _listed(("a dog", "a cat", "trees"), np.array([True, True, True])), _listed(("a dog",), np.array([False]))
    ('a dog, a cat and trees', 'nothing else')
    """
    named = [name for name, there in zip(names, there_t.tolist(), strict=True) if there]
    return " and ".join(filter(None, [", ".join(named[:-1]), *named[-1:]])) or "nothing else"
