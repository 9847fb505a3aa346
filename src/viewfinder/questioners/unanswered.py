"""Ten questions from the caption alone, asked one after the other whatever the answers are: ChatIR's control.

What a questioner gains that does see the answers is what it gains over this one.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from viewfinder.conversation import Question
from viewfinder.errors import BadInput, LanguageModelFailed
from viewfinder.language import LanguageModel, LoadsInBackground, load_language_model
from viewfinder.questioners.base import Candidates, Lookup
from viewfinder.questioners.choices import find_choices
from viewfinder.questioners.novelty import is_new_to_texts
from viewfinder.questioners.prompts import join_descriptions, parse_questions, write_ten_questions_prompt

if TYPE_CHECKING:
    from viewfinder.questioners.trained import TrainedQuestions

MOST_QUESTIONS = 10
"""Questions a talk."""

REMEMBERED_CAPTIONS = 256
"""Captions whose questions are remembered."""


@runtime_checkable
class QuestionSource(Protocol):
    """Where the questions come from."""

    @property
    def name(self) -> str:
        """A short name to be shown."""
        ...

    def questions(self, caption: str, lookup: Lookup | None) -> Iterable[str]:
        """Questions about what a caption describes, the best first; not all need be new."""
        ...


@dataclass(frozen=True, eq=False)
class ListedQuestions:
    """Questions that a language model writes down in one go; where these are too few, it goes on with its list."""

    model: LanguageModel
    seconds: float = 20.0  # for all tries together
    tokens: int = 14  # a question, its number included
    temperatures: tuple[float, ...] = (0.0, 0.7, 1.0)  # of one try after the other
    clock: Callable[[], float] = time.monotonic

    @property
    def name(self) -> str:
        """That of the model."""
        return self.model.name

    def questions(self, caption: str, lookup: Lookup | None) -> tuple[str, ...]:
        """What the model lists, each question once: small models write the same again and again.

        Raises:
            LanguageModelFailed: it fails before it has listed any.
        """
        deadline = self.clock() + self.seconds
        found: tuple[str, ...] = ()
        for seed, temperature in enumerate(self.temperatures):
            left = deadline - self.clock()
            if len(found) == MOST_QUESTIONS or left <= 0:
                break
            try:
                reply = self._reply(
                    write_ten_questions_prompt(caption, found), MOST_QUESTIONS - len(found), temperature, seed, left
                )
            except LanguageModelFailed:
                if not found:
                    raise
                break
            found = select_new_questions([*found, *parse_questions(reply)], caption, MOST_QUESTIONS)
        return found

    def _reply(self, prompt: str, missing: int, temperature: float, seed: int, seconds: float) -> str:
        return self.model.complete(
            prompt,
            stop=("\n\n", f"\n{MOST_QUESTIONS + 1}."),
            most_tokens=self.tokens * missing,
            temperature=temperature,
            seed=seed,
            seconds=seconds,
        )

    def prepare(self) -> None:
        """Wait until the model is loaded.

        Raises:
            BadInput: it cannot be.
        """
        if isinstance(self.model, LoadsInBackground):
            self.model.wait()


@dataclass(frozen=True, eq=False)
class PooledQuestions:
    """Questions of a trained pool that people are likeliest to ask after the caption."""

    pool: TrainedQuestions
    name: str

    def questions(self, caption: str, lookup: Lookup | None) -> Iterator[str]:
        """Those that speak of nothing that the caption does not, the likeliest first, one a meaning.

        Raises:
            EncoderMismatch: the pool was trained on other sentence vectors.
            BadInput: there is nothing that makes sentence vectors.
        """
        if lookup is None:
            raise BadInput(f"{self.name} needs sentence vectors, and these candidates come without")
        self.pool.check(lookup)
        none_rs = np.zeros((0, len(caption_s := lookup.sentences([caption])[0])), caption_s.dtype)
        chance_q = self.pool.next_q(caption_s, none_rs, none_rs)
        askable = self.pool.askable([caption])
        meanings: set[int] = set()
        for at in askable[np.argsort(-chance_q[askable], kind="stable")].tolist():
            question = self.pool.questions[at]
            if question.meaning not in meanings:
                meanings.add(question.meaning)
                yield question.text


@dataclass(frozen=True, eq=False)
class UnansweredQuestioner:
    """The questioner. It keeps the questions of the latest captions."""

    source: QuestionSource
    most: int = MOST_QUESTIONS
    name: str = "unanswered"
    _kept: OrderedDict[str, tuple[str, ...]] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def ask(self, view: Candidates) -> Question | None:
        """The next of the questions about what was said first; None when all were asked, or nothing was said.

        Raises:
            LanguageModelFailed: the model fails, or lists no question.
            EncoderMismatch: the trained questions belong to other sentence vectors.
        """
        caption = join_descriptions(view.turns[:1])
        if not caption:
            return None
        questions = self._questions(caption, view.lookup)
        asked = {question.text for question in view.asked}
        text = next((text for text in questions if text not in asked), None)
        if text is None:
            return None
        why = (
            f"question {questions.index(text) + 1} of {len(questions)} that {self.source.name} had after the first turn"
        )
        return Question(text, find_choices(text), self.name, why)

    def prepare(self) -> None:
        """Wait until the language model, if it is one, is loaded.

        Raises:
            BadInput: it cannot be.
        """
        if isinstance(self.source, ListedQuestions):
            self.source.prepare()

    def _questions(self, caption: str, lookup: Lookup | None) -> tuple[str, ...]:
        with self._lock:
            if (known := self._kept.get(caption)) is not None:
                self._kept.move_to_end(caption)
                return known
        found = select_new_questions(self.source.questions(caption, lookup), caption, self.most)
        if not found:
            raise LanguageModelFailed(f"{self.source.name} had no question after the first turn")
        with self._lock:
            self._kept[caption] = found
            while len(self._kept) > REMEMBERED_CAPTIONS:
                self._kept.popitem(last=False)
        return found


def select_new_questions(questions: Iterable[str], caption: str, most: int) -> tuple[str, ...]:
    """The first `most` that the caption does not answer and that no earlier one asks.

    >>> new_questions(["Is there a dog?", "Is it big?", "is it big?", "Is it old?"], "a dog", 10)
    ('Is it big?', 'Is it old?')
    """
    found: list[str] = []
    for question in questions:
        if len(found) == most:
            break
        if is_new_to_texts(question, said=(caption,), asked=found):
            found.append(question)
    return tuple(found)


def load_unanswered(source: str) -> UnansweredQuestioner:
    """The questioner over a file of trained questions (.safetensors), or else over a language model.

    Raises:
        BadInput: there is neither at `source`, or nothing is named.
        NewerLibrary: the file was written by a later version.
    """
    if Path(source).suffix == ".safetensors":
        from viewfinder.questioners.trained import load_trained_questions

        return UnansweredQuestioner(
            PooledQuestions(load_trained_questions(Path(source).expanduser()), Path(source).stem)
        )
    return UnansweredQuestioner(ListedQuestions(load_language_model(source)))
