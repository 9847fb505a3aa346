"""Trained questions as options: their answers are predicted from the pictures, so each is worth what it would tell.

The conversation so far tells which candidates' predicted answers were met. `CandidatePredictions.belief_c` is how
likely candidates are with that in mind: a question whose answer follows from one that was given tells nothing new.

What the main thing is, is answered by many trained questions at once ("is there a dog?", "is there a boat?" ...): what
those predict of single things is enough to say what it would tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.conversation import Answer
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.information_gain.gains import ERROR, Option, table_gains
from viewfinder.questioners.so_far import ConversationSoFar
from viewfinder.questioners.trained import PredictedAnswers, TrainedQuestions
from viewfinder.wording.phrases import PhraseIndex
from viewfinder.wording.replies import is_dont_know
from viewfinder.wording.stems import stems

RIDGE = 1e-6

MIN_TRAINED_GAIN = 0.05
"""Bits below which a trained question is not asked; their figures were measured with this limit."""

LIKELIHOOD = 1e-3
"""No answer is so unlikely that it rules a candidate out."""


@dataclass(frozen=True, eq=False)
class CandidatePredictions:
    """The predictions of trained questions for the candidates where a conversation stands."""

    trained: TrainedQuestions
    open: PredictedAnswers  # predicted answers to the questions that can be asked now and were not
    belief_c: Float[np.ndarray, " c"]  # how likely the candidates are, with the answers so far in mind; sums to 1
    asked_ca: Float32[np.ndarray, "c asked"]  # predicted answers to all questions that were asked


def predict_candidates(view: Candidates, trained: TrainedQuestions) -> CandidatePredictions | None:
    """The candidates seen with these questions in mind; None where nothing is predicted, or nothing can be looked up.

    Raises:
        EncoderMismatch: they were trained on other vectors than this collection has.
    """
    if view.lookup is None or trained.predictor is None or not len(view.probabilities_c):
        return None
    seen_ck = view.lookup.project(trained.predictor.projection)
    asked = {trained.find_paraphrase(question.text) for question in view.asked}
    answered = sorted(q for q in asked if q is not None and trained.questions[q].predicted)
    asked_ca = trained.predict_answers(seen_ck, answered).chance_ca
    still_open = trained.predict_answers(seen_ck, trained.select_askable(ConversationSoFar.of(view), predicted=True))
    known = CandidatePredictions(trained, still_open, update_belief(view, trained, seen_ck), asked_ca)
    return believe_open_answers(view, known)


def update_belief(
    view: Candidates, trained: TrainedQuestions, seen_ck: Float32[np.ndarray, "c k"]
) -> Float[np.ndarray, " c"]:
    """How likely the candidates are, if the answers so far count as predicted ones do."""
    believed_c = view.probabilities_c.astype(np.float64)
    for turn in view.turns:
        if not isinstance(turn, Answer) or is_dont_know(turn.text):
            continue
        row = trained.find_paraphrase(turn.question.text)
        if row is None or not trained.questions[row].predicted:
            continue
        meant = find_labels_meant(turn.text, trained.questions[row].answers)
        if meant:
            likely_c = trained.predict_answers(seen_ck, [row]).chance_ca[:, meant].sum(axis=1)
            believed_c = believed_c * np.maximum(likely_c, LIKELIHOOD)
    return np.asarray(believed_c / believed_c.sum())


def explained_share(table_ca: Float[np.ndarray, "c a"], asked_ca: Float[np.ndarray, "c asked"]) -> float:
    """How far a question's answers follow from those to the questions that were asked: R^2 of their least squares.

    Predictions are unsure, and those for another question about the same are unsure too: their gains add up, although
    the second answer is known. But then their tables rise and fall together.

    >>> day = np.array([[0.9, 0.1], [0.6, 0.4], [0.1, 0.9], [0.5, 0.5]])
    >>> round(explained_share(np.array([[0.2, 0.8], [0.45, 0.55], [0.9, 0.1], [0.5, 0.5]]), day), 2)
    0.99
    """
    if not asked_ca.shape[1]:
        return 0.0
    answers_ca = (table_ca - table_ca.mean(axis=0)).astype(np.float64)
    known_ca = (asked_ca - asked_ca.mean(axis=0)).astype(np.float64)
    inner_aa = known_ca.T @ known_ca
    inner_aa += RIDGE * max(float(np.trace(inner_aa)), RIDGE) * np.eye(len(inner_aa))
    cross_ab = known_ca.T @ answers_ca
    explained = float((cross_ab * np.linalg.solve(inner_aa, cross_ab)).sum())
    return explained / max(float((answers_ca**2).sum()), RIDGE)


def find_labels_meant(answer: str, labels: Sequence[str]) -> list[int]:
    """Which of a question's known answers an answer in free words comes to; the longest that it names.

    >>> find_labels_meant("yes, there is one", ("no", "yes"))
    [1]
    >>> find_labels_meant("it is navy blue", ("blue", "red", "navy blue"))
    [2]
    """
    said = PhraseIndex([answer])
    first = stems(answer)[:1]
    named = [a for a, label in enumerate(labels) if stems(label) == stems(answer) or said.contains(label)]
    if named:
        longest = max(len(stems(labels[a])) for a in named)
        return [a for a in named if len(stems(labels[a])) == longest]
    return [a for a, label in enumerate(labels) if label in {"yes", "no"} and stems(label) == first]


def shrink_predictions(known: CandidatePredictions) -> Float32[np.ndarray, "c a"]:
    """The predicted answers with errors, drawn towards what all candidates share where a question is not reliable.

    A prediction is relied on by the share of right ones among the held-out answers that could not be guessed without
    the picture; a third of them is as good as all, because people put the same in different words.
    """
    chance_ca, sizes_m = known.open.chance_ca, np.diff(known.open.starts_m)
    questions = [known.trained.questions[row] for row in known.open.questions_m]
    gained_m = [(asked.accuracy - asked.baseline) / max(1 - asked.baseline, RIDGE) for asked in questions]
    weight_m = np.clip(3 * np.array(gained_m, np.float64), 0, 1).astype(np.float32)
    share_a = known.belief_c.astype(np.float32) @ chance_ca
    drawn_ca = share_a + np.repeat(weight_m, sizes_m) * (chance_ca - share_a)
    return np.asarray((1 - ERROR) * drawn_ca + (ERROR / np.repeat(sizes_m, sizes_m)).astype(np.float32), np.float32)


def trained_options(known: CandidatePredictions, least_gain: float = MIN_TRAINED_GAIN) -> Iterator[Option]:
    """An option for each trained question that can be asked now, was not, and is worth more than `least_gain` bits."""
    starts_m = known.open.starts_m
    if not len(known.open.questions_m):
        return
    noisy_ca = shrink_predictions(known)
    gain_m = table_gains(known.belief_c.astype(np.float32)[None], noisy_ca, starts_m)[0]
    share_a = known.belief_c @ noisy_ca
    for m, row in enumerate(known.open.questions_m.tolist()):
        question = known.trained.questions[row]
        gain = question.can_tell * float(gain_m[m])
        if gain <= least_gain:
            continue
        columns = slice(starts_m[m], starts_m[m + 1])
        yield Option(
            "trained", question.text, question.answers, share_a[columns], gain,
            partial(np.asarray, noisy_ca[:, columns]), can_tell=question.can_tell,
        )  # fmt: skip


THINGS_IN_A_PICTURE = 3.0
"""Things that people name in a picture, on average."""

MANY, STEPS = 100, 24
"""Pictures that stand for all when things are counted, and halvings until the divisor is found."""

_EXISTS = re.compile(
    r"(?:is there|are there|(?:can|do|could) you see|does it (?:show|have))\s+(?P<thing>(?:an?|any|some)\s+.+?)"
    r"(?:\s+(?:in|on) (?:it|(?:the|this) (?:picture|photo|image|scene)))?\s*\??",
    re.IGNORECASE,
)


def find_asked_thing(question: str) -> str | None:
    """The thing whose being there a question asks for, with its article; None if it asks for something else.

    >>> [find_asked_thing(text) for text in ("Are there any dogs in the picture?", "is there a cap?", "Is it big?")]
    ['dogs', 'a cap', None]
    """
    found = _EXISTS.fullmatch(question.strip())
    return re.sub(r"^(?:any|some)\s+", "", found["thing"]) if found else None


def limit_things(yes_ct: Float[np.ndarray, "c t"], there: float = THINGS_IN_A_PICTURE) -> Float[np.ndarray, "c t"]:
    """The chances with all odds divided alike, so that no more than `there` of the things are in a picture on average.

    People ask more often for what is there than for what is not, so "yes" was learnt to be likelier than it is.
    """
    safe_ct = yes_ct.clip(1e-4, 1 - 1e-4)
    odds_ct = safe_ct / (1 - safe_ct)
    low, high = 1.0, 1e6
    if not yes_ct.size or yes_ct.sum(axis=1).mean() <= there:
        return yes_ct
    some_ct = odds_ct[:: max(len(odds_ct) // MANY, 1)]
    for _ in range(STEPS):
        middle = np.sqrt(low * high)
        mean = (some_ct / (some_ct + middle)).sum(axis=1).mean()
        low, high = (middle, high) if mean > there else (low, middle)
    return np.asarray(odds_ct / (odds_ct + np.sqrt(low * high)))


MAIN_QUESTION = "What is the main thing in the picture?"
MIN_THINGS = 4
"""Kinds of things that must be predicted for an open question about them."""

CAN_TELL = 0.95


def predict_things(known: CandidatePredictions) -> tuple[tuple[str, ...], Float[np.ndarray, "c t"]]:
    """The things that trained questions still ask for by yes or no, and how likely each candidate has them."""
    names, columns = [], []
    for m, row in enumerate(known.open.questions_m.tolist()):
        question = known.trained.questions[row]
        name = find_asked_thing(question.text)
        if name is not None and set(question.answers) == {"yes", "no"}:
            names.append(name)
            columns.append(known.open.starts_m[m] + question.answers.index("yes"))
    return tuple(names), limit_things(known.open.chance_ca[:, columns].astype(np.float64))


def believe_open_answers(view: Candidates, known: CandidatePredictions) -> CandidatePredictions:
    """Predictions after the user named the main thing; other things may still be in the picture."""
    answers = [turn for turn in view.turns if isinstance(turn, Answer) and turn.question.text == MAIN_QUESTION]
    said = PhraseIndex([answer.text for answer in answers if not is_dont_know(answer.text)])
    names, chance_ct = predict_things(known) if answers else ((), np.zeros((len(known.belief_c), 0)))
    named_t = np.array([said.contains(name) for name in names], bool)
    believed_c = known.belief_c * chance_ct[:, named_t].clip(0.01).prod(axis=1)
    return replace(known, belief_c=believed_c / believed_c.sum())


def open_options(view: Candidates, known: CandidatePredictions) -> Iterator[Option]:
    """The option to ask for the main thing, where it was not asked."""
    names, chance_ct = predict_things(known)
    if len(names) < MIN_THINGS or any(question.text == MAIN_QUESTION for question in view.asked):
        return
    # The main thing is one of those that are there, any of them alike.
    main_ct = chance_ct / np.maximum(chance_ct.sum(axis=1, keepdims=True), 1.0)
    table_ca = np.column_stack([main_ct, 1 - main_ct.sum(axis=1)]).clip(0)
    belief_c = known.belief_c
    gain = CAN_TELL * float(table_gains(belief_c[None], table_ca, np.array([0, table_ca.shape[1]]))[0, 0])
    table = partial(np.asarray, table_ca)
    # No answers are offered, so none is named.
    yield Option("open", MAIN_QUESTION, (), belief_c @ table_ca, gain, table, can_tell=CAN_TELL, choices=())
