"""Simulated users in sessions: the same engine that a person uses, operated by someone who knows the target.

There are two ways to talk. A user on their own says what a person would, looks at the results, and ends when the wanted
picture is among them. In an interview (ChatIR) the dialogue begins with a given description, the questioner asks, the
user only answers, and it goes on to the last round whatever is found.

What a questioner asked is counted, one value per dialogue:

questions             how many were asked
repeated questions    how many of them had been asked before, letter by letter (ChatIR)
unique tokens         how many different words they have
don't know            share of the answers that say nothing, including skipped questions
by another            share of the questions that another questioner asked, because this one could not
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Answer, Conversation, Question, Say, Turn
from viewfinder.data.dialogues import Dialogue, Round, make_dialogue
from viewfinder.errors import BadInput
from viewfinder.evaluation.plan import SearchDialogue, Task, hash_number, questioner_name
from viewfinder.evaluation.replay import RankTable, pictures_only, rank_queries
from viewfinder.metrics import carry_ranks, count_repeated_questions, count_unique_tokens
from viewfinder.query import Query
from viewfinder.questioners import QuestionerChoice
from viewfinder.retrievers import Retriever
from viewfinder.search.gallery import Gallery
from viewfinder.session.session import Session, TurnResult
from viewfinder.users import RecordedUser
from viewfinder.users.base import Screen, SimulatedUser, check_turn, find_picture
from viewfinder.wording.plain_questions import normalize_question
from viewfinder.wording.replies import DONT_KNOW, is_dont_know

RESULTS_SHOWN = 10
"""Results on the screen."""

REPEATED, SHRUGS, BY_ANOTHER = "repeated questions", "don't know", "by another"

_QUESTION_MARK_ENDS = re.compile(r"\?[)\]\"'’”]*$")
_LEAK = re.compile(r"\bAnswer(?=\s*:)")

DIED = "a process that held dialogues died (out of memory?); try again with --processes 1"


@dataclass(frozen=True, eq=False)
class HeldDialogue:
    """A dialogue as it was held, and how long each of its questions took to choose, in milliseconds.

    The first question of a process is not counted: it loads and builds things that are kept afterwards.
    """

    conversation: Conversation
    asking_ms: tuple[float, ...] = ()


def simulate_dialogues(
    task: Task, gallery: Gallery, retriever: Retriever[Any], user: SimulatedUser, *, questioner: QuestionerChoice = None
) -> tuple[RankTable, list[HeldDialogue]]:
    """Lets a user search for every target of the task; `gallery` holds the pictures that are ranked.

    A dialogue that ends early (found, given up, or nothing left to ask) keeps its last rank for the remaining turns;
    one that never began has the rank of a random draw.
    """
    held: list[HeldDialogue] = []

    def queries() -> Iterator[tuple[int, int, Query]]:
        for number, dialogue in enumerate(task.dialogues):
            session = SimulatedSession(gallery, retriever, questioner)
            hold = session.interview if is_interview(task, questioner) else session.converse
            for turn, query in enumerate(hold(dialogue, user, task.rounds)):
                yield number, turn, query
            held.append(session.held)

    best_st, worst_st = rank_queries(gallery, [dialogue.target for dialogue in task.dialogues], task.rounds, queries())
    if held:
        held[0] = replace(held[0], asking_ms=held[0].asking_ms[1:])
    never_s = np.isnan(best_st[:, 0])
    best_st[never_s, 0], worst_st[never_s, 0] = 0.0, float(len(gallery) - 1)
    return RankTable(carry_ranks(best_st), carry_ranks(worst_st), len(gallery)), held


def is_interview(task: Task, questioner: QuestionerChoice) -> bool:
    """Whether the user only answers; the questioner "none" asks nothing, so only the description remains."""
    return task.interviews and questioner is not None


@dataclass(eq=False)
class SimulatedSession:
    """One dialogue in a session of its own, in which every turn is answered with pictures."""

    gallery: Gallery
    retriever: Retriever[Any]
    questioner: QuestionerChoice = None
    _asking_ms: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        shows = pictures_only(self.retriever)
        self._session = Session(self.gallery, shows, self.questioner, n=RESULTS_SHOWN, memo=ByteCache())

    @property
    def held(self) -> HeldDialogue:
        """The dialogue so far."""
        return HeldDialogue(self._session.conversation, tuple(self._asking_ms))

    def converse(self, dialogue: SearchDialogue, user: SimulatedUser, rounds: int) -> Iterator[Query]:
        """What is searched for after every turn of a user on their own."""
        shown: tuple[str, ...] = (dialogue.first,) if dialogue.first else ()
        for number in range(rounds):
            turn = check_turn(user, user.reply(dialogue.target, Screen(shown, self._ask(), number)))
            if turn is None:
                return
            result = self._take(dialogue, turn)
            shown = self._session.conversation.here.shown or shown
            yield result.ranking.query

    def interview(self, dialogue: SearchDialogue, user: SimulatedUser, rounds: int) -> Iterator[Query]:
        """What is searched for after the description, and after every answer."""
        yield self._take(dialogue, dialogue.turns[0]).ranking.query
        for number in range(1, rounds):
            question = self._ask()
            if question is None:
                return
            yield self._take(dialogue, _answer(user, dialogue.target, question, number)).ranking.query

    def _ask(self) -> Question | None:
        started = time.perf_counter()
        question = self._session.follow_up()
        if question is not None:
            self._asking_ms.append((time.perf_counter() - started) * 1000)
        return question

    def _take(self, dialogue: SearchDialogue, turn: Turn) -> TurnResult:
        try:
            return self._session.take_turn(turn)
        except BadInput as error:
            number = len(self._session.conversation) + 1
            raise BadInput(f"dialogue {dialogue.id}, turn {number}: {error}") from error


def _answer(user: SimulatedUser, wanted: str, question: Question, number: int) -> Answer:
    """The user's answer to question `number` (from 1), given without looking at results; no text: skipped.

    A recorded user who was asked something else in that round gives the answer to this question from another round.
    """

    def is_asked(other: Question) -> bool:
        return normalize_question(other.text) == normalize_question(question.text)

    said = check_turn(user, user.reply(wanted, Screen((), question, number)))
    if isinstance(said, Answer) and is_asked(said.question):
        return Answer(question, said.text)
    if not isinstance(user, RecordedUser):
        return Answer(question, "")
    turns = find_picture(user.dialogues, wanted) or ()
    answers = (turn.text for turn in turns if isinstance(turn, Answer) and is_asked(turn.question))
    return Answer(question, next(answers, DONT_KNOW))


def draw_first_pictures(task: Task, seed: int) -> Task:
    """The task with a fixed first picture, different from the target, for every dialogue that has none.

    The picture depends only on the seed, the dialogue and the gallery's size, so that every system starts alike.
    """
    dialogues = []
    for dialogue in task.dialogues:
        if dialogue.first:  # the data set fixes it (Fashion IQ's shuffled list)
            dialogues.append(dialogue)
            continue
        first = task.gallery[hash_number(f"{seed}/{dialogue.id}") % len(task.gallery)]
        if first == dialogue.target:
            first = task.gallery[(task.gallery.index(first) + 1) % len(task.gallery)]
        dialogues.append(replace(dialogue, first=first))
    return replace(task, dialogues=tuple(dialogues))


# -- what was asked


def question_values(held: Sequence[HeldDialogue], questioner: QuestionerChoice) -> dict[str, Float[np.ndarray, " s"]]:
    """One value per dialogue, by the names above; NaN for shares in dialogues in which nothing was asked."""
    answers = [_answers(one.conversation) for one in held]
    asked = [[answer.question.text for answer in dialogue] for dialogue in answers]
    name = questioner_name(questioner)
    shrugs = [[is_dont_know(answer.text) for answer in dialogue] for dialogue in answers]
    others = [[answer.question.by != name for answer in dialogue] for dialogue in answers]
    shares = {SHRUGS: shrugs, BY_ANOTHER: others}
    return {
        "questions": np.array([float(len(dialogue)) for dialogue in asked]),
        REPEATED: count_repeated_questions(asked).astype(np.float64),
        "unique tokens": count_unique_tokens(asked).astype(np.float64),
        **{
            metric: np.array([np.mean(flags) if flags else np.nan for flags in dialogues])
            for metric, dialogues in shares.items()
        },
    }


def question_times(held: Sequence[HeldDialogue]) -> dict[str, float]:
    """Milliseconds taken to choose a question: median and 95th percentile; {} if none was timed."""
    taken = [ms for one in held for ms in one.asking_ms]
    if not taken:
        return {}
    return {"median_ms": round(float(np.median(taken)), 3), "p95_ms": round(float(np.percentile(taken, 95)), 3)}


def record_dialogue(image: str, conversation: Conversation) -> Dialogue:
    """A dialogue in ChatIR's form: what was said first, then questions and answers."""
    first = next((node.turn.text for node in conversation.path() if isinstance(node.turn, Say)), "")
    rounds = [record_round(answer.question.text, answer.text) for answer in _answers(conversation)]
    return make_dialogue(image, " ".join(first.split()), rounds)


def record_round(question: str, answer: str) -> Round:
    """Question and answer, cleaned so that a reader of "question? answer" can split the two again.

    That format ends the question at the last "?", so the answer may not contain one; "Answer:" separates them too.

    >>> record_round("What  colour", "red? maybe")
    Round(question='What colour?', answer='red maybe')
    """
    asked, said = (" ".join(_LEAK.sub("answer", text).split()) for text in (question, answer.replace("?", " ")))
    return Round(asked if _QUESTION_MARK_ENDS.search(asked) else f"{asked.rstrip(' .!:;,')}?", said)


def _answers(conversation: Conversation) -> list[Answer]:
    return [node.turn for node in conversation.path() if isinstance(node.turn, Answer)]
