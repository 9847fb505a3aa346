"""Trained questions: a closed pool that people asked, which comes next, and how pictures will answer.

The networks work in numpy; `tuning.question_networks` has them in torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int

from viewfinder.encoders.base import unit_rows
from viewfinder.errors import EncoderMismatch
from viewfinder.questioners.base import Lookup, PictureProjection
from viewfinder.questioners.information_gain.gains import softmax
from viewfinder.questioners.so_far import ConversationSoFar
from viewfinder.weights import Card, Weights, check_card, explain_damaged_file, read_weights
from viewfinder.wording.mentions import required_mentions
from viewfinder.wording.questions import question_meaning

MAX_ROUNDS = 10
"""Rounds that the network counts; later ones count as the last of these."""


@dataclass(frozen=True, eq=False)
class QuestionSelector:
    """The weights: of the conversation so far, and of every question of the pool (`pool_qk`, `bias_q`)."""

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
        """The selector in the arrays of a file."""
        return QuestionSelector(**{name: arrays[f"selector.{name}"] for name in QuestionSelector.__dataclass_fields__})

    def logits(
        self,
        caption_s: Float[np.ndarray, " s"],
        questions_rs: Float[np.ndarray, "r s"],
        answers_rs: Float[np.ndarray, "r s"],
    ) -> Float[np.ndarray, " q"]:
        """The logits of the next question after a caption (zeros: none) and `r` rounds."""
        rounds_rt = np.concatenate([questions_rs, answers_rs], axis=1)
        hidden_h = self.caption_hs @ caption_s + self.count_nh[min(len(rounds_rt), len(self.count_nh) - 1)]
        if len(rounds_rt):
            hidden_h = hidden_h + np.maximum(rounds_rt @ self.round_ht.T + self.round_h, 0).mean(axis=0)
            hidden_h = hidden_h + self.last_ht @ rounds_rt[-1]
        talk_k = self.talk_kh @ np.maximum(hidden_h, 0) + self.talk_k
        return np.asarray(self.pool_qk @ talk_k + self.bias_q, np.float32)


MIN_TOTAL = 1e-30
MAX_CANDIDATES_AT_ONCE = 128
"""Candidates whose answers fit into the processor's cache together."""


@dataclass(frozen=True, eq=False)
class PredictedAnswers:
    """P(answer | picture) of several questions in one array: question m has the columns starts_m[m] to starts_m[m + 1].

    Attributes:
        chance_ca: the answers in the order of `PoolQuestion.answers`; each question's add up to 1 in every row.
    """

    questions_m: Int[np.ndarray, " m"]  # which questions of the pool they are
    starts_m: Int[np.ndarray, " m+1"]  # where each one's answers begin; one more than there are questions
    chance_ca: Float32[np.ndarray, "c a"]


def answer_chances(
    seen_ck: Float32[np.ndarray, "c k"],
    towers_ak: Float32[np.ndarray, "a k"],
    bias_a: Float32[np.ndarray, " a"],
    starts_m: Int[np.ndarray, " starts"],
) -> Float32[np.ndarray, "c a"]:
    """Softmax of `seen . towers + bias` over the answers of each question by itself.

    Logits must not be large (see `bound_biases`): nothing is subtracted before they are raised.
    """
    chance_ca = np.empty((len(seen_ck), len(bias_a)), np.float32)
    if not len(bias_a):
        return chance_ca
    sizes_m = np.diff(starts_m)
    for at in range(0, len(seen_ck), MAX_CANDIDATES_AT_ONCE):
        part_ca = chance_ca[at : at + MAX_CANDIDATES_AT_ONCE]
        np.matmul(seen_ck[at : at + MAX_CANDIDATES_AT_ONCE], towers_ak.T, out=part_ca)
        part_ca += bias_a
        np.exp(part_ca, out=part_ca)
        total_cm = np.add.reduceat(part_ca, starts_m[:-1], axis=1)
        part_ca /= np.repeat(np.maximum(total_cm, np.float32(MIN_TOTAL)), sizes_m, axis=1)
    return chance_ca


@dataclass(frozen=True)
class PoolQuestion:
    """One question of the pool.

    Attributes:
        accuracy: how often the likeliest predicted answer was right on held-out dialogues, drawn towards the mean of
            all questions where few were held out; 0 where nothing is predicted.
    """

    text: str  # as people ask it
    answers: tuple[str, ...]  # normalised ("yes", "blue", "2"), the most frequent first; () where none is known
    frequency: float  # its share of the questions that were asked
    can_tell: float  # the share of its answers that were not "don't know"
    predicted: bool  # whether its answers are predicted from pictures
    accuracy: float
    baseline: float  # the accuracy of always saying its most frequent answer
    meaning: int  # paraphrases share the index of the most frequent of them
    needs: tuple[str, ...] | None  # what must have been mentioned before (`required_mentions`)


@dataclass(frozen=True, eq=False)
class AnswerPredictor:
    """Predicts answers: `towers_ak` against a projected picture, plus `bias_a`.

    The answers of question q begin at `first_q[q]`; paraphrases have theirs in common, and questions whose answers are
    not predicted have -1.
    """

    projection: PictureProjection
    towers_ak: Float32[np.ndarray, "a k"]
    bias_a: Float32[np.ndarray, " a"]
    first_q: Int[np.ndarray, " q"]


@dataclass(frozen=True, eq=False)
class TrainedQuestions:
    """A file of `viewfinder train questions`; `predictor` is None where it had no pictures to learn from."""

    questions: tuple[PoolQuestion, ...]
    sentences_version: str
    card: Card
    selector: QuestionSelector
    predictor: AnswerPredictor | None = None

    def check(self, lookup: Lookup) -> None:
        """Refuse a collection whose sentences are other vectors; pictures are checked by `lookup.project`.

        Raises:
            EncoderMismatch: trained on the sentence vectors of another encoder.
        """
        if lookup.sentences_version != self.sentences_version:
            raise EncoderMismatch(
                f"these questions were trained on the sentence vectors {self.sentences_version!r}, not "
                f"{lookup.sentences_version!r}; train questions with this encoder"
            )

    def predict_next(
        self,
        caption_s: Float[np.ndarray, " s"],
        questions_rs: Float[np.ndarray, "r s"],
        answers_rs: Float[np.ndarray, "r s"],
    ) -> Float[np.ndarray, " q"]:
        """How likely people are to ask each question next; frozen sentence vectors, zeros for no caption."""
        return softmax(self.selector.logits(caption_s, questions_rs, answers_rs))

    def select_askable(self, so_far: ConversationSoFar, *, predicted: bool = False) -> list[int]:
        """Which questions take nothing for granted that was not mentioned, and were not asked in other words.

        With `predicted` only those whose answers are predicted, and of paraphrases only the most frequent.
        """
        among = self._representatives if predicted else range(len(self.questions))
        asked = {self.find_paraphrase(text) for text in so_far.asked}
        return [q for q in among if self.questions[q].meaning not in asked and so_far.grants(self.questions[q].needs)]

    def predict_answers(
        self, seen_ck: Float32[np.ndarray, "c k"], questions: Sequence[int] | Int[np.ndarray, " m"] | None = None
    ) -> PredictedAnswers:
        """The answers of projected pictures to questions; by default to all that are predicted, once each.

        Questions whose answers are not predicted are refused.
        """
        chosen = np.asarray(self._representatives if questions is None else questions, np.intp)
        if self.predictor is None or not all(self.questions[q].predicted for q in chosen):
            raise ValueError("answers are predicted to questions that are `predicted`; choose among these")
        sizes_m = np.array([len(self.questions[q].answers) for q in chosen], np.intp)
        starts_m = np.concatenate([[0], np.cumsum(sizes_m)]).astype(np.intp)
        columns_a = np.repeat(self.predictor.first_q[chosen] - starts_m[:-1], sizes_m) + np.arange(starts_m[-1])
        towers_ak, bias_a = self.predictor.towers_ak[columns_a], self.predictor.bias_a[columns_a]
        return PredictedAnswers(chosen, starts_m, answer_chances(seen_ck, towers_ak, bias_a, starts_m))

    def find_paraphrase(self, text: str) -> int | None:
        """The most frequent pool question that asks for the same in other words; None if none does."""
        return self._by_meaning.get(question_meaning(text))

    @cached_property
    def _representatives(self) -> tuple[int, ...]:
        return tuple(q for q, question in enumerate(self.questions) if question.predicted and question.meaning == q)

    @cached_property
    def _by_meaning(self) -> dict[tuple[str, ...], int]:
        return {question_meaning(question.text): question.meaning for question in self.questions}


SYSTEM = "questions"
NO_PICTURES = ""
"""The encoder on the card of questions without predicted answers."""


def load_trained_questions(path: Path | str) -> TrainedQuestions:
    """Reads a file of `viewfinder train questions`; kept per process until the file changes.

    Raises:
        BadInput: missing, damaged, or something else.
        NewerLibrary: written by a later version.
    """
    place = Path(path).expanduser()
    changed = place.stat().st_mtime_ns if place.is_file() else 0
    return _load_file(place.absolute(), changed)


@lru_cache(maxsize=4)
def _load_file(path: Path, changed: int) -> TrainedQuestions:
    weights = read_weights(path)
    check_card(path, weights.card, system=SYSTEM)
    settings = weights.card.settings
    try:
        questions = []
        for record in settings["questions"]:
            text, answers = record["text"], tuple(record["answers"])
            # Cards have an older word for predicted.
            known = {"predicted" if key == "foretold" else key: value for key, value in record.items()}
            own = {"text": text[:1].upper() + text[1:], "answers": answers, "needs": required_mentions(text)}
            questions.append(PoolQuestion(**known | own))
        predictor = _read_predictor(weights, questions) if weights.card.encoder != NO_PICTURES else None
        selector = QuestionSelector.of(weights.arrays)
        return TrainedQuestions(tuple(questions), settings["sentences"], weights.card, selector, predictor)
    except (KeyError, TypeError, ValueError) as error:
        raise explain_damaged_file(path, repr(error)) from error


def _read_predictor(weights: Weights, questions: Sequence[PoolQuestion]) -> AnswerPredictor:
    arrays = {name.removeprefix("answering."): array for name, array in weights.arrays.items()}
    name, width = f"{SYSTEM}-{weights.fingerprint}", len(arrays["out_kh"])
    projection = PictureProjection(name, weights.card.encoder, width, partial(_project_raw, arrays))
    first_q = np.full(len(questions), -1, np.intp)
    taken = 0
    for q, question in enumerate(questions):
        if question.predicted:
            first_q[q] = taken if question.meaning == q else first_q[question.meaning]
            taken += len(question.answers) if question.meaning == q else 0
    if taken != len(arrays["towers_ak"]):
        raise ValueError(f"{taken} answers, but vectors of {len(arrays['towers_ak'])}")
    own = sorted({int(first) for first in first_q if first >= 0})
    biases_a = bound_biases(arrays["towers_ak"], arrays["bias_a"], own)
    return AnswerPredictor(projection, arrays["towers_ak"], biases_a, first_q)


def bound_biases(
    towers_ak: Float32[np.ndarray, "a k"], bias_a: Float32[np.ndarray, " a"], starts: Sequence[int]
) -> Float32[np.ndarray, " a"]:
    """Biases moved, alike within each question, so that no logit of a unit vector is above 0: safe to be raised."""
    highest_a = bias_a + np.linalg.norm(towers_ak, axis=1)
    highest_m = np.maximum.reduceat(highest_a, starts)
    return np.asarray(bias_a - np.repeat(highest_m, np.diff([*starts, len(bias_a)])), np.float32)


def _project_raw(arrays: Mapping[str, np.ndarray], raw_ng: Float[np.ndarray, "n g"]) -> Float32[np.ndarray, "n k"]:
    """Raw vectors, standardised, through the network, to unit length; shorter if such pictures were not learnt from."""
    plain_ng = (np.asarray(raw_ng, np.float32) - arrays["mean_g"]) / arrays["deviation_g"]
    hidden_nh = np.maximum(plain_ng @ arrays["in_hg"].T + arrays["in_h"], 0)
    seen_nk = hidden_nh @ arrays["out_kh"].T + arrays["out_k"]
    unit_nk = unit_rows(seen_nk)
    if "familiar_g" in arrays:
        unit_nk *= 0.5 + 0.5 * np.tanh((plain_ng @ arrays["familiar_g"] + arrays["familiar"]) / 2)[:, None]
    return np.asarray(unit_nk, np.float32)
