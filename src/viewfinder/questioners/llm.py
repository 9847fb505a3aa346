"""What language models are asked for questions with, and how questions are read from what they reply.

ChatIR (Levy et al., "Chatting Makes Perfect", NeurIPS 2023) gives an instruction and a few partial dialogues, each with
its next question. The words and the dialogues here are our own, and short: a small model on a processor reads some
hundred words a second.

A language model reads the talk and asks the next question, as in ChatIR (Levy et al., NeurIPS 2023).

Ten questions from the caption alone, asked one after the other whatever the answers are: ChatIR's control.

What a questioner gains that does see the answers is what it gains over this one.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from viewfinder.conversation import Answer, Like, Question, Say, Show, Turn, is_dont_know
from viewfinder.errors import LanguageModelFailed
from viewfinder.language import LanguageModel, LoadsInBackground, load_language_model
from viewfinder.questioners.answers import DONT_KNOW, find_choices
from viewfinder.questioners.askable import is_new_question, is_new_to_texts
from viewfinder.questioners.base import Candidates, Lookup
from viewfinder.questioners.pool import PooledQuestions

if TYPE_CHECKING:
    pass

SHORTEST = 3
LONGEST = 20
"""Words of a question; what is longer is a speech."""

LONGEST_WORD = 24
MOST_OF_ONE_WORD = 3
LETTERS = 0.85
"""The share of letters among the signs of a question, blanks aside."""

PROMPTED_ROUNDS = 10
"""The newest questions and answers that a model is told."""

_NEXT = """\
Somebody has one photograph in mind. Ask a new question about it that helps to find it in a large collection.

Photograph: a man rides a horse on a beach
Question: What colour is the horse?
Answer: brown
Question: Is the man wearing a hat?

Photograph: two children play in a garden
Question: Are the children boys or girls?

Photograph: a plate of food on a table
Question: Is there a person at the table?
Answer: no
Question: What kind of food is on the plate?
Answer: pasta
Question: Is there a glass on the table?

"""

_TEN = """\
Ten short questions about a photograph that help to find it in a large collection.

Photograph: a man rides a horse on a beach
1. What colour is the horse?
2. Is the man wearing a hat?
3. Are there other people?
4. Is the horse in the water?
5. Is it sunny?
6. Is the man young or old?
7. Are there any boats?
8. What is the man wearing?
9. Is the horse running?
10. Are there trees in the background?

Photograph: {caption}
"""

_OPENER_WORDS = """
what what's which who who's whose whom where where's when why how is are was were am do does did can could has have
had will would should may might isn't aren't wasn't weren't doesn't don't didn't hasn't haven't
"""
_OPENERS = frozenset(_OPENER_WORDS.split())
_LABEL = re.compile(
    r"^(?:(?:next|new)?\s*question\s*\d*\s*:|q\s*\d*\s*[:.)]|\d{1,2}\s*[.):]|[-*•\"'“”‘`]+)\s*", re.IGNORECASE
)
_ITEM = re.compile(r"^[ \t]*[-*•][ \t]+|(?:^|(?<=\s))(?:q\s*)?\d{1,2}\s*[.):](?=\s)", re.IGNORECASE | re.MULTILINE)


def write_next_question_prompt(turns: Sequence[Turn]) -> str | None:
    """The prompt for the next question of a talk; None where nothing was said in words yet."""
    description = join_descriptions(turns)
    if not description:
        return None
    rounds = [turn for turn in turns if isinstance(turn, Answer)][-PROMPTED_ROUNDS:]
    said = (f"Question: {_line(turn.question.text)}\nAnswer: {_answer(turn.text)}\n" for turn in rounds)
    return f"{_NEXT}Photograph: {description}\n{''.join(said)}Question:"


def write_ten_questions_prompt(caption: str, listed: Sequence[str] = ()) -> str:
    """The prompt for ten questions at once, of which some are listed already; the reply goes on after the number."""
    lines = (f"{n}. {question}\n" for n, question in enumerate(listed, start=1))
    return f"{_TEN.format(caption=_line(caption))}{''.join(lines)}{len(listed) + 1}."


def join_descriptions(turns: Sequence[Turn]) -> str:
    """What was said of the picture besides answers, as one line; "" if nothing.

    >>> described([Say("A dog."), Show("my.jpg"), Say("in the\\n snow")])
    'A dog; in the snow'
    """
    told = (_line(turn.text) for turn in turns if isinstance(turn, Say | Show | Like))
    return "; ".join(text for text in told if text)


def parse_question(reply: str) -> str | None:
    """The question that a reply begins with, up to its "?"; None where that is no question, or nonsense.

    >>> question_in(" Question: is the dog black? Answer: yes"), question_in("A dog, on a beach.")
    ('Is the dog black?', None)
    """
    asked, mark, _ = reply.strip().partition("?")
    asked = _unlabelled(" ".join(asked.split()))
    if not mark or not _is_sensible(asked):
        return None
    return f"{asked[0].upper()}{asked[1:]}?"


def parse_questions(reply: str) -> tuple[str, ...]:
    """All questions of a reply that lists them: by line, by number, or one after the other.

    Hyphens and commas part nothing. A numbered question whose "?" was forgotten counts if it begins as one.

    >>> questions_in("1. Is the black-and-white dog, on the left, big? 2. Where is it now?\\n3. what does it wear")
    ('Is the black-and-white dog, on the left, big?', 'Where is it now?', 'What does it wear?')
    """
    return tuple(question for item in _items(reply) if (question := parse_question(item)) is not None)


def _items(reply: str) -> Iterator[str]:
    for item in _ITEM.split(f"\n{reply}"):
        for line in item.splitlines():
            *asked, rest = line.split("?")
            yield from (f"{text}?" for text in asked)
            if not asked and rest.strip() and _words(_unlabelled(rest))[0] in _OPENERS:
                yield f"{rest.rstrip(' .!')}?"


def _is_sensible(asked: str) -> bool:
    """Whether words, few enough and not too few, stand in a row as in a question."""
    words = _words(asked)
    signs = asked.replace(" ", "")
    return (
        SHORTEST <= len(words) <= LONGEST
        and sum(map(str.isalpha, signs)) >= LETTERS * len(signs)
        and max(map(len, words)) <= LONGEST_WORD
        and max(map(words.count, words)) <= MOST_OF_ONE_WORD
        and any(word in _OPENERS for word in words)
        and not re.search(r"[.!:;](?:\s|$)", asked)
    )


def _words(text: str) -> list[str]:
    return [word.strip(",;:.!\"'()“”") for word in text.lower().replace("’", "'").split()] or [""]


def _unlabelled(text: str) -> str:
    while (shorter := _LABEL.sub("", text.strip())) != text:
        text = shorter
    return text


def _line(text: str) -> str:
    return " ".join(text.split()).rstrip(" .")


def _answer(text: str) -> str:
    return DONT_KNOW if is_dont_know(text) else _line(text)


@dataclass(frozen=True, kw_only=True)
class FewShotSettings:
    """The numbers of the questioner."""

    temperatures: tuple[float, ...] = (0.0, 0.7, 1.0)  # of one try after the other
    most_tokens: int = 24
    seconds: float = 10.0  # for all tries together


@dataclass(frozen=True, eq=False)
class FewShotQuestioner:
    """The questioner. It sees no pictures, only what was said; `clock` counts seconds."""

    model: LanguageModel
    settings: FewShotSettings = FewShotSettings()
    clock: Callable[[], float] = time.monotonic
    name: str = "llm"

    def ask(self, view: Candidates) -> Question | None:
        """The model's question, the first that is one and is new; None where nothing was said in words yet.

        Raises:
            LanguageModelFailed: it fails, or asks nothing new in the time and the tries it has.
        """
        prompt = write_next_question_prompt(view.turns)
        if prompt is None:
            return None
        text = self._question(prompt, view)
        return Question(text, find_choices(text), self.name, f"{self.model.name} read the talk; it sees no pictures")

    def prepare(self) -> None:
        """Wait until the model is loaded.

        Raises:
            BadInput: it cannot be.
        """
        if isinstance(self.model, LoadsInBackground):
            self.model.wait()

    def _question(self, prompt: str, view: Candidates) -> str:
        deadline = self.clock() + self.settings.seconds
        wrong = f"{self.model.name} had no time to ask"
        # Each try of each round has a seed of its own.
        first = len(view.asked) * len(self.settings.temperatures)
        for seed, temperature in enumerate(self.settings.temperatures, start=first):
            left = deadline - self.clock()
            if left <= 0:
                break
            try:
                reply = self._reply(prompt, temperature, seed, left)
            except LanguageModelFailed as error:
                wrong = str(error)
                continue
            question = parse_question(reply)
            if question is not None and is_new_question(question, view):
                return question
            wrong = f"{self.model.name} {'asked no question' if question is None else 'asked what is known'}"
        raise LanguageModelFailed(wrong)

    def _reply(self, prompt: str, temperature: float, seed: int, seconds: float) -> str:
        most = self.settings.most_tokens
        return self.model.complete(
            prompt, stop=("\n",), most_tokens=most, temperature=temperature, seed=seed, seconds=seconds
        )


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
