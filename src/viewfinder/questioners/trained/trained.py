"""A closed pool of questions that people asked, what comes next, and how pictures will answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Float32, Int

from viewfinder.errors import EncoderMismatch
from viewfinder.questioners.base import Lookup, PictureProjection
from viewfinder.questioners.trained.askable import all_stems, is_askable
from viewfinder.questioners.trained.foretold import PredictedAnswers, answer_chances
from viewfinder.questioners.trained.meaning import question_meaning
from viewfinder.questioners.trained.selector import QuestionSelector
from viewfinder.training.weights import Card


@dataclass(frozen=True)
class PoolQuestion:
    """One question of the pool.

    Attributes:
        text: as people ask it.
        answers: normalised ("yes", "blue", "2"), the most frequent first; () where none is known.
        frequency: its share of the questions that were asked.
        can_tell: the share of its answers that were not "don't know".
        foretold: whether its answers are foretold from pictures.
        accuracy: how often the likeliest foretold answer was right on held-out talks, drawn towards the mean of all
            questions where few were held out; 0 where nothing is foretold.
        baseline: the same for always saying its most frequent answer.
        meaning: paraphrases share the index of the most frequent of them.
        needs: what must have been mentioned before (`askable.needs_of`).
    """

    text: str
    answers: tuple[str, ...]
    frequency: float
    can_tell: float
    foretold: bool
    accuracy: float
    baseline: float
    meaning: int
    needs: tuple[str, ...] | None


@dataclass(frozen=True, eq=False)
class AnswerPredictor:
    """What foretells answers: `towers_ak` against a seen picture, plus `bias_a`.

    The answers of question q begin at `first_q[q]`; paraphrases have theirs in common, and questions that are not
    foretold have -1.
    """

    sight: PictureProjection
    towers_ak: Float32[np.ndarray, "a k"]
    bias_a: Float32[np.ndarray, " a"]
    first_q: Int[np.ndarray, " q"]


@dataclass(frozen=True, eq=False)
class TrainedQuestions:
    """What `viewfinder train questions` wrote; `answering` is None where it had no pictures to learn from."""

    questions: tuple[PoolQuestion, ...]
    sentences_version: str
    card: Card
    selector: QuestionSelector
    answering: AnswerPredictor | None = None

    @property
    def sight(self) -> PictureProjection | None:
        """What it sees of a picture; None: nothing is foretold."""
        return self.answering.sight if self.answering else None

    def check(self, lookup: Lookup) -> None:
        """Refuse a collection whose sentences are other vectors; pictures are checked by `lookup.seen`.

        Raises:
            EncoderMismatch: trained on the sentence vectors of another encoder.
        """
        if lookup.sentences_version != self.sentences_version:
            raise EncoderMismatch(
                f"these questions were trained on the sentence vectors {self.sentences_version!r}, not "
                f"{lookup.sentences_version!r}; train questions with this encoder"
            )

    def next_q(
        self,
        caption_s: Float[np.ndarray, " s"],
        questions_rs: Float[np.ndarray, "r s"],
        answers_rs: Float[np.ndarray, "r s"],
    ) -> Float[np.ndarray, " q"]:
        """How likely people are to ask each question next; frozen sentence vectors, zeros for no caption."""
        logits_q = self.selector.logits(caption_s, questions_rs, answers_rs).astype(np.float64)
        raised_q = np.exp(logits_q - logits_q.max())
        return np.asarray(raised_q / raised_q.sum())

    def askable(self, said: Sequence[str], *, foretold: bool = False) -> Int[np.ndarray, " m"]:
        """Which questions need nothing that was not said.

        Args:
            said: what was mentioned so far (`askable.mentioned`).
            foretold: only those whose answers are foretold, and of paraphrases only the most frequent.
        """
        known = all_stems(said)
        among = self._representatives if foretold else range(len(self.questions))
        return np.array([q for q in among if is_askable(self.questions[q].needs, known)], np.intp)

    def foretold(
        self,
        seen_ck: Float32[np.ndarray, "c k"],
        questions: Sequence[int] | Int[np.ndarray, " m"] | None = None,
    ) -> PredictedAnswers:
        """The answers of pictures (as `sight` sees them) to questions; by default to all that are foretold, once each.

        Questions that are not foretold are refused.
        """
        chosen = np.asarray(self._representatives if questions is None else questions, np.intp)
        if self.answering is None or not all(self.questions[q].foretold for q in chosen):
            raise ValueError("answers are foretold to questions that are `foretold`; choose among these")
        sizes_m = np.array([len(self.questions[q].answers) for q in chosen], np.intp)
        starts_m = np.concatenate([[0], np.cumsum(sizes_m)]).astype(np.intp)
        columns_a = np.repeat(self.answering.first_q[chosen] - starts_m[:-1], sizes_m) + np.arange(starts_m[-1])
        towers_ak, bias_a = self.answering.towers_ak[columns_a], self.answering.bias_a[columns_a]
        return PredictedAnswers(chosen, starts_m, answer_chances(seen_ck, towers_ak, bias_a, starts_m))

    def knows(self, seen_ck: Float32[np.ndarray, "c k"], probabilities_c: Float[np.ndarray, " c"]) -> bool:
        """Whether candidates (as `sight` sees them) are the kind of pictures that were learnt from.

        Always, unless the training was told of pictures that are not (`QuestionPlan.against`): of such little is
        foretold but what is answered usually.
        """
        return bool(probabilities_c @ np.linalg.norm(seen_ck, axis=1) >= probabilities_c.sum() / 2)

    def similar(self, text: str) -> int | None:
        """The most frequent pool question that asks for the same in other words; None if none does."""
        return self._by_meaning.get(question_meaning(text))

    @cached_property
    def _representatives(self) -> tuple[int, ...]:
        return tuple(q for q, question in enumerate(self.questions) if question.foretold and question.meaning == q)

    @cached_property
    def _by_meaning(self) -> dict[tuple[str, ...], int]:
        return {question_meaning(question.text): question.meaning for question in self.questions}
