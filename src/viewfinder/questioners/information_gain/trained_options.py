"""What trained questions can ask: their answers are predicted from the pictures, so each is worth what it would tell.

The conversation so far tells which candidates' predicted answers were met. `CandidatePredictions.belief_c` is how
likely candidates are with that in mind: a question whose answer follows from one that was given tells nothing new.

Open questions are answered by many trained ones at once ("is there a dog?", "is there a boat?" ...). What those predict
of single things is enough to say what an open question would tell: answers are drawn for some of the candidates, and
each makes every candidate as likely as it is to be described so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Bool, Float, Float32

from viewfinder.conversation import Answer, is_dont_know
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.information_gain.gains import ERROR, LEAST_GAIN, Option, table_gains
from viewfinder.questioners.said import ConversationSoFar, PhraseIndex, stems
from viewfinder.questioners.trained import PredictedAnswers, TrainedQuestions

RIDGE = 1e-6

LIKELIHOOD = 1e-3
"""No answer is so unlikely that it rules a candidate out."""


@dataclass(frozen=True, eq=False)
class CandidatePredictions:
    """What a trained file says of the candidates where a conversation stands.

    Attributes:
        open: predicted answers to the questions that can be asked now and were not.
        belief_c: how likely the candidates are, with the answers so far in mind; sums to 1.
        asked_ca: predicted answers to all questions that were asked.
    """

    trained: TrainedQuestions
    open: PredictedAnswers
    belief_c: Float[np.ndarray, " c"]
    asked_ca: Float32[np.ndarray, "c asked"]


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

    How far a prediction is relied on is the share of right ones among the held-out answers that nobody would have
    guessed without the picture; a third of them is as good as all, because people put the same in different words.
    """
    chance_ca, sizes_m = known.open.chance_ca, np.diff(known.open.starts_m)
    questions = [known.trained.questions[row] for row in known.open.questions_m]
    gained_m = [(asked.accuracy - asked.baseline) / max(1 - asked.baseline, RIDGE) for asked in questions]
    weight_m = np.clip(3 * np.array(gained_m, np.float64), 0, 1).astype(np.float32)
    share_a = known.belief_c.astype(np.float32) @ chance_ca
    drawn_ca = share_a + np.repeat(weight_m, sizes_m) * (chance_ca - share_a)
    return np.asarray((1 - ERROR) * drawn_ca + (ERROR / np.repeat(sizes_m, sizes_m)).astype(np.float32), np.float32)


def trained_options(known: CandidatePredictions, least_gain: float = LEAST_GAIN) -> Iterator[Option]:
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


LIST_QUESTION = "What things can you see in the picture?"
MAIN_QUESTION = "What is the main thing in the picture?"
FEWEST_THINGS = 4
"""Kinds of things that must be predicted for an open question about them."""

DRAWN_ANSWERS = 12
"""Answers that are drawn."""

CAN_TELL = 0.95


@dataclass(frozen=True, eq=False)
class PredictedThings:
    """Things that may be in the pictures, and how likely each candidate has them."""

    names: tuple[str, ...]
    chance_ct: Float[np.ndarray, "c t"]


def predict_things(known: CandidatePredictions) -> PredictedThings:
    """The things that trained questions still ask for by yes or no."""
    names, columns = [], []
    for m, row in enumerate(known.open.questions_m.tolist()):
        question = known.trained.questions[row]
        name = find_asked_thing(question.text)
        if name is not None and set(question.answers) == {"yes", "no"}:
            names.append(name)
            columns.append(known.open.starts_m[m] + question.answers.index("yes"))
    return PredictedThings(tuple(names), limit_things(known.open.chance_ca[:, columns].astype(np.float64)))


def open_answers(view: Candidates) -> list[Answer]:
    """What the user has said is in the picture, and what is the main thing."""
    asked = {LIST_QUESTION, MAIN_QUESTION}
    answers = (turn for turn in view.turns if isinstance(turn, Answer) and turn.question.text in asked)
    return [answer for answer in answers if not is_dont_know(answer.text)]


def believe_open_answers(view: Candidates, known: CandidatePredictions) -> CandidatePredictions:
    """The same with answers to open questions in mind: the things that were named, and those that were not."""
    answers = open_answers(view)
    if not answers:
        return known
    things = predict_things(known)
    believed_c = known.belief_c
    for answer in answers:
        said = PhraseIndex([answer.text])
        named_t = np.array([said.contains(name) for name in things.names], bool)
        if answer.question.text == MAIN_QUESTION:
            believed_c = believed_c * things.chance_ct[:, named_t].clip(0.01).prod(axis=1)
        elif len(named_t):
            believed_c = believed_c * description_likelihood(things.chance_ct, named_t[None])[:, 0]
    return replace(known, belief_c=believed_c / believed_c.sum())


def open_options(view: Candidates, known: CandidatePredictions) -> Iterator[Option]:
    """What is there, and what is the main thing, where they were not asked."""
    things = predict_things(known)
    if len(things.names) < FEWEST_THINGS:
        return
    belief_c = known.belief_c
    # Drawn answers: each stands for as many as any other, so the table's columns weigh alike.
    likely_cs = description_likelihood(things.chance_ct, draw_descriptions(things.chance_ct, belief_c))
    # The main thing is one of those that are there, any of them alike.
    main_ct = things.chance_ct / np.maximum(things.chance_ct.sum(axis=1, keepdims=True), 1.0)
    tables = {
        LIST_QUESTION: likely_cs / (belief_c @ likely_cs) / DRAWN_ANSWERS,
        MAIN_QUESTION: np.column_stack([main_ct, 1 - main_ct.sum(axis=1)]).clip(0),
    }
    asked = {question.text for question in view.asked}
    for text, table_ca in tables.items():
        if text not in asked:
            gain = CAN_TELL * float(table_gains(belief_c[None], table_ca, np.array([0, table_ca.shape[1]]))[0, 0])
            table = partial(np.asarray, table_ca)
            # No answers are offered, so none is named.
            yield Option("open", text, (), belief_c @ table_ca, gain, table, can_tell=CAN_TELL, choices=())


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
