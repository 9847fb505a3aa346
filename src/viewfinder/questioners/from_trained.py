"""What learnt questions can ask: their answers are foretold from the pictures, so each is worth what it would tell.

The talk so far tells which candidates' foretold answers were met. `Foreknown.belief_c` is how likely candidates are
with that in mind: a question whose answer follows from one that was given tells nothing new.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.conversation import Answer, is_dont_know
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.entropy import table_gains
from viewfinder.questioners.options import InformationGainSettings, Option
from viewfinder.questioners.said import PhraseIndex, stems
from viewfinder.questioners.trained import PoolQuestion, PredictedAnswers, TrainedQuestions, mentioned_texts

RIDGE = 1e-6

LIKELIHOOD = 1e-3
"""No answer is so unlikely that it rules a candidate out."""


@dataclass(frozen=True, eq=False)
class CandidatePredictions:
    """What a trained file says of the candidates where a talk stands.

    Attributes:
        told: the questions that can be asked now and were not.
        belief_c: how likely the candidates are, with the answers so far in mind; sums to 1.
        asked_ca: the foretold answers to all questions that were asked.
    """

    trained: TrainedQuestions
    told: PredictedAnswers
    belief_c: Float[np.ndarray, " c"]
    asked_ca: Float32[np.ndarray, "c asked"]


def predict_candidates(view: Candidates, trained: TrainedQuestions) -> CandidatePredictions | None:
    """The candidates seen with these questions in mind; None where nothing is foretold, or nothing can be looked up.

    Raises:
        EncoderMismatch: they were trained on other vectors than this collection has.
    """
    if view.lookup is None or trained.sight is None or not len(view.probabilities_c):
        return None
    seen_ck = view.lookup.seen(trained.sight)
    asked = {trained.similar(question.text) for question in view.asked}
    rows = [q for q in trained.askable(mentioned_texts(view), foretold=True).tolist() if q not in asked]
    heard = sorted(q for q in asked if q is not None and trained.questions[q].foretold)
    asked_ca = trained.foretold(seen_ck, heard).chance_ca
    told = trained.foretold(seen_ck, rows)
    return CandidatePredictions(trained, told, update_belief(view, trained, seen_ck), asked_ca)


def update_belief(
    view: Candidates, trained: TrainedQuestions, seen_ck: Float32[np.ndarray, "c k"]
) -> Float[np.ndarray, " c"]:
    """How likely the candidates are, if the answers so far count as foretold ones do."""
    believed_c = view.probabilities_c.astype(np.float64)
    for turn in view.turns:
        if not isinstance(turn, Answer) or is_dont_know(turn.text):
            continue
        row = trained.similar(turn.question.text)
        if row is None or not trained.questions[row].foretold:
            continue
        meant = find_labels_meant(turn.text, trained.questions[row].answers)
        if meant:
            likely_c = trained.foretold(seen_ck, [row]).chance_ca[:, meant].sum(axis=1)
            believed_c = believed_c * np.maximum(likely_c, LIKELIHOOD)
    return np.asarray(believed_c / believed_c.sum())


def explained_share(table_ca: Float[np.ndarray, "c a"], asked_ca: Float[np.ndarray, "c asked"]) -> float:
    """How far a question's answers follow from those to the questions that were asked: R^2 of their least squares.

    What is foretold of one picture is sure of nothing, and so is what is foretold of it to another question about the
    same: their gains add up, although the second answer is known. But then their tables rise and fall together.

    >>> day = np.array([[0.9, 0.1], [0.6, 0.4], [0.1, 0.9], [0.5, 0.5]])
    >>> round(echoes(np.array([[0.2, 0.8], [0.45, 0.55], [0.9, 0.1], [0.5, 0.5]]), day), 2)
    1.0
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

    >>> labels_meant("yes, there is one", ("no", "yes")), labels_meant("it is navy blue", ("blue", "red", "navy blue"))
    ([1], [2])
    """
    said = PhraseIndex([answer])
    first = stems(answer)[:1]
    named = [a for a, label in enumerate(labels) if stems(label) == stems(answer) or said.names(label)]
    if named:
        longest = max(len(stems(labels[a])) for a in named)
        return [a for a in named if len(stems(labels[a])) == longest]
    return [a for a, label in enumerate(labels) if label in {"yes", "no"} and stems(label) == first]


def prediction_reliability(question: PoolQuestion) -> float:
    """How far what is foretold to a question is relied on, 0 to 1: by what it gained on held-out talks.

    That is the share, of the answers that nobody would have guessed without the picture, that were foretold; a third of
    them is as good as all, because people put the same in different words.
    """
    gained = (question.accuracy - question.baseline) / max(1 - question.baseline, RIDGE)
    return min(max(3 * gained, 0.0), 1.0)


def shrink_predictions(known: CandidatePredictions, error: float) -> Float32[np.ndarray, "c a"]:
    """The foretold answers with errors, drawn towards what all candidates share where a question is not reliable."""
    told = known.told
    sizes_m = np.diff(told.starts_m)
    weight_m = np.array([prediction_reliability(known.trained.questions[row]) for row in told.questions_m], np.float32)
    share_a = told.shares(known.belief_c).astype(np.float32)
    drawn_ca = share_a + np.repeat(weight_m, sizes_m) * (told.chance_ca - share_a)
    return np.asarray((1 - error) * drawn_ca + (error / np.repeat(sizes_m, sizes_m)).astype(np.float32), np.float32)


def trained_options(known: CandidatePredictions, settings: InformationGainSettings) -> Iterator[Option]:
    """An option for each learnt question that can be asked now, was not, and is worth it (`settings.least_gain`)."""
    told = known.told
    if not len(told.questions_m):
        return
    noisy_ca = shrink_predictions(known, settings.error)
    gain_m = table_gains(known.belief_c.astype(np.float32)[None], noisy_ca, told.starts_m)[0]
    share_a = known.belief_c @ noisy_ca
    for m, row in enumerate(told.questions_m.tolist()):
        question = known.trained.questions[row]
        if question.can_tell * float(gain_m[m]) <= settings.least_gain:
            continue
        columns = slice(told.starts_m[m], told.starts_m[m + 1])
        yield Option(
            "trained",
            question.text,
            question.answers,
            share_a[columns],
            question.can_tell * float(gain_m[m]),
            partial(_columns, noisy_ca, columns),
            can_tell=question.can_tell,
        )


def _columns(answer_ca: Float[np.ndarray, "c a"], columns: slice) -> Float[np.ndarray, "c some"]:
    return answer_ca[:, columns]
