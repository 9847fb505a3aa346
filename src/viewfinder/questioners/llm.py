"""Language models ask: the next question after what was said (`llm`), or ten from the caption alone (`unanswered`).

ChatIR (Levy et al., "Chatting Makes Perfect", NeurIPS 2023) gives an instruction and a few partial dialogues, each with
its next question. The words and the dialogues here are our own, and short: a small model on a processor reads some
hundred words a second. Ten questions that are asked whatever the answers are, are ChatIR's control: what a questioner
gains that does see the answers is what it gains over this one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Answer, Like, Question, Say, Show, Turn
from viewfinder.errors import LanguageModelFailed
from viewfinder.language import LanguageModel, load_language_model, wait_until_loaded
from viewfinder.questioners.base import Candidates, Lookup
from viewfinder.questioners.pool import PooledQuestions
from viewfinder.questioners.so_far import ConversationSoFar
from viewfinder.wording.choices import find_choices
from viewfinder.wording.questions import QUESTION_OPENERS
from viewfinder.wording.replies import DONT_KNOW, is_dont_know

MIN_QUESTION_WORDS, MAX_QUESTION_WORDS = 3, 20
"""The fewest and most words of a question; a longer reply is a speech."""

MAX_WORD_LENGTH, MAX_OF_ONE_WORD = 24, 3
MIN_LETTERS = 0.85
"""The least share of letters among the characters of a question, blanks aside."""

MAX_PROMPTED_ROUNDS = 10
"""Rounds of questions and answers, the newest, that a prompt has."""

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

_LABEL = re.compile(
    r"^(?:(?:next|new)?\s*question\s*\d*\s*:|q\s*\d*\s*[:.)]|\d{1,2}\s*[.):]|[-*•\"'“”‘`]+)\s*", re.IGNORECASE
)
_ITEM = re.compile(r"^[ \t]*[-*•][ \t]+|(?:^|(?<=\s))(?:q\s*)?\d{1,2}\s*[.):](?=\s)", re.IGNORECASE | re.MULTILINE)


def write_next_question_prompt(turns: Sequence[Turn]) -> str | None:
    """The prompt for the next question of a conversation; None where nothing was said in words yet."""
    description = join_descriptions(turns)
    if not description:
        return None
    rounds = [turn for turn in turns if isinstance(turn, Answer)][-MAX_PROMPTED_ROUNDS:]
    asked = (f"Question: {_join_lines(turn.question.text)}\n" for turn in rounds)
    answered = (f"Answer: {DONT_KNOW if is_dont_know(turn.text) else _join_lines(turn.text)}\n" for turn in rounds)
    said = "".join(map("".join, zip(asked, answered, strict=True)))
    return f"{_NEXT}Photograph: {description}\n{said}Question:"


def write_ten_questions_prompt(caption: str, listed: Sequence[str] = ()) -> str:
    """The prompt for ten questions at once, of which some are listed already; the reply goes on after the number."""
    lines = (f"{n}. {question}\n" for n, question in enumerate(listed, start=1))
    return f"{_TEN.format(caption=_join_lines(caption))}{''.join(lines)}{len(listed) + 1}."


def join_descriptions(turns: Sequence[Turn]) -> str:
    """All descriptions of the picture besides answers, as one line; "" if there are none.

    >>> join_descriptions([Say("A dog."), Show("my.jpg"), Say("in the\\n snow")])
    'A dog; in the snow'
    """
    told = (_join_lines(turn.text) for turn in turns if isinstance(turn, Say | Show | Like))
    return "; ".join(text for text in told if text)


def parse_question(reply: str) -> str | None:
    """The question that a reply begins with, up to its "?"; None where that is no question, or nonsense.

    >>> parse_question(" Question: is the dog black? Answer: yes"), parse_question("A dog, on a beach.")
    ('Is the dog black?', None)
    """
    asked, mark, _ = reply.strip().partition("?")
    asked = _remove_labels(" ".join(asked.split()))
    if not mark or not _is_sensible(asked):
        return None
    return f"{asked[0].upper()}{asked[1:]}?"


def parse_questions(reply: str) -> tuple[str, ...]:
    """All questions of a reply that lists them: by line, by number, or one after the other.

    Hyphens and commas part nothing. A numbered question whose "?" was forgotten counts if it begins as one.

    >>> parse_questions("1. Is the black-and-white dog, on the left, big? 2. Where is it now?\\n3. what does it wear")
    ('Is the black-and-white dog, on the left, big?', 'Where is it now?', 'What does it wear?')
    """
    return tuple(question for item in _split_items(reply) if (question := parse_question(item)) is not None)


def _split_items(reply: str) -> Iterator[str]:
    for item in _ITEM.split(f"\n{reply}"):
        for line in item.splitlines():
            *asked, rest = line.split("?")
            yield from (f"{text}?" for text in asked)
            if not asked and rest.strip() and _split_words(_remove_labels(rest))[0] in QUESTION_OPENERS:
                yield f"{rest.rstrip(' .!')}?"


def _is_sensible(asked: str) -> bool:
    """Whether a reply has as many words as a question, is mostly letters, and is one sentence."""
    words = _split_words(asked)
    signs = asked.replace(" ", "")
    return (
        MIN_QUESTION_WORDS <= len(words) <= MAX_QUESTION_WORDS
        and sum(map(str.isalpha, signs)) >= MIN_LETTERS * len(signs)
        and max(map(len, words)) <= MAX_WORD_LENGTH
        and max(map(words.count, words)) <= MAX_OF_ONE_WORD
        and any(word in QUESTION_OPENERS for word in words)
        and not re.search(r"[.!:;](?:\s|$)", asked)
    )


def _split_words(text: str) -> list[str]:
    return [word.strip(",;:.!\"'()“”") for word in text.lower().replace("’", "'").split()] or [""]


def _remove_labels(text: str) -> str:
    while (shorter := _LABEL.sub("", text.strip())) != text:
        text = shorter
    return text


def _join_lines(text: str) -> str:
    return " ".join(text.split()).rstrip(" .")


TEMPERATURES = (0.0, 0.7, 1.0)
"""The temperatures of successive tries."""

MAX_QUESTION_TOKENS = 24
"""Tokens of the next question."""

LISTED_TOKENS = 14
"""Average tokens of a question in a list, its number included."""


@dataclass(frozen=True, eq=False)
class FewShotQuestioner:
    """The questioner `llm`. It sees no pictures, only what was said; `clock` counts the seconds of all tries."""

    model: LanguageModel
    seconds: float = 10.0
    temperatures: tuple[float, ...] = TEMPERATURES
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
        text, why = self._complete(prompt, view), f"{self.model.name} read the conversation; it sees no pictures"
        return Question(text, find_choices(text), self.name, why)

    def prepare(self) -> None:
        """Wait until the model is loaded; BadInput where it cannot be."""
        wait_until_loaded(self.model)

    def _complete(self, prompt: str, view: Candidates) -> str:
        """The first reply that is a new question."""
        deadline, so_far = self.clock() + self.seconds, ConversationSoFar.of(view)
        wrong = f"{self.model.name} had no time to ask"
        # Each try of each round has a seed of its own.
        first = len(view.asked) * len(self.temperatures)
        for seed, temperature in enumerate(self.temperatures, start=first):
            left = deadline - self.clock()
            if left <= 0:
                break
            try:
                reply = self.model.complete(
                    prompt, most_tokens=MAX_QUESTION_TOKENS, temperature=temperature, seed=seed, seconds=left
                )
            except LanguageModelFailed as error:
                wrong = str(error)
                continue
            question = parse_question(reply)
            if question is not None and so_far.is_new(question):
                return question
            wrong = f"{self.model.name} {'asked no question' if question is None else 'asked what is known'}"
        raise LanguageModelFailed(wrong)


MAX_QUESTIONS = 10
"""Questions in a conversation."""

MAX_LISTED_BYTES = 1 << 20
"""Questions are remembered up to this size: those of about a thousand captions."""


@dataclass(frozen=True, eq=False)
class ListedQuestions:
    """Questions that a language model writes down in one go; where these are too few, it goes on with its list."""

    model: LanguageModel
    seconds: float = 20.0  # for all tries together

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.model.name

    def questions(self, caption: str, lookup: Lookup | None) -> tuple[str, ...]:
        """The questions that the model lists, each once: small models write the same again and again.

        Raises:
            LanguageModelFailed: it fails before it has listed any.
        """
        deadline = time.monotonic() + self.seconds
        found: tuple[str, ...] = ()
        for seed, temperature in enumerate(TEMPERATURES):
            left = deadline - time.monotonic()
            if len(found) == MAX_QUESTIONS or left <= 0:
                break
            try:
                reply = self.model.complete(
                    write_ten_questions_prompt(caption, found), stop=("\n\n", f"\n{MAX_QUESTIONS + 1}."),
                    most_tokens=LISTED_TOKENS * (MAX_QUESTIONS - len(found)),
                    temperature=temperature, seed=seed, seconds=left,
                )  # fmt: skip
            except LanguageModelFailed:
                if not found:
                    raise
                break
            found = select_new_questions([*found, *parse_questions(reply)], caption)
        return found


@dataclass(frozen=True, eq=False)
class UnansweredQuestioner:
    """The questioner `unanswered`. It keeps the questions of the latest captions."""

    source: ListedQuestions | PooledQuestions
    name: str = "unanswered"
    _listed: ByteCache = field(default_factory=lambda: ByteCache(MAX_LISTED_BYTES), repr=False)

    @property
    def trained_on(self) -> str | None:
        """The list of the pictures that a trained pool's dialogues were about; None: it is a language model's."""
        return self.source.pool.card.trained_on if isinstance(self.source, PooledQuestions) else None

    def ask(self, view: Candidates) -> Question | None:
        """The next of the questions about what was said first; None when all were asked, or nothing was said.

        Raises:
            LanguageModelFailed: the model fails, or lists no question.
            EncoderMismatch: the trained questions belong to other sentence vectors.
        """
        caption = join_descriptions(view.turns[:1])
        if not caption:
            return None
        questions = self._find_questions(caption, view.lookup)
        asked = {question.text for question in view.asked}
        text = next((text for text in questions if text not in asked), None)
        if text is None:
            return None
        nth = f"question {questions.index(text) + 1} of {len(questions)}"
        return Question(text, find_choices(text), self.name, f"{nth} that {self.source.name} had after the first turn")

    def prepare(self) -> None:
        """Wait until the language model, if it is one, is loaded; BadInput where it cannot be."""
        if isinstance(self.source, ListedQuestions):
            wait_until_loaded(self.source.model)

    def _find_questions(self, caption: str, lookup: Lookup | None) -> tuple[str, ...]:
        found: tuple[str, ...] | None = self._listed.get(caption)
        if found is None:
            found = select_new_questions(self.source.questions(caption, lookup), caption)
            if not found:
                raise LanguageModelFailed(f"{self.source.name} had no question after the first turn")
            self._listed.put(caption, found)
        return found


def select_new_questions(questions: Iterable[str], caption: str) -> tuple[str, ...]:
    """The first ten that the caption does not answer and that no earlier one asks.

    >>> select_new_questions(["Is there a dog?", "Is it big?", "is it big?", "Is it old?"], "a dog")
    ('Is it big?', 'Is it old?')
    """
    found: list[str] = []
    so_far = ConversationSoFar([caption])
    for question in questions:
        if len(found) == MAX_QUESTIONS:
            break
        if so_far.is_new(question):
            so_far.note_question(question)
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

        return UnansweredQuestioner(PooledQuestions(load_trained_questions(source), Path(source).stem))
    return UnansweredQuestioner(ListedQuestions(load_language_model(source)))
