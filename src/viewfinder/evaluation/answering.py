"""What a simulated user says to one question, and nothing else: ChatIR's user only answers."""

from __future__ import annotations

from viewfinder.conversation import Answer, Question
from viewfinder.users import RecordedUser, SimulatedUser
from viewfinder.users.base import Screen, find_picture
from viewfinder.users.words import DONT_KNOW, normalize_question


def answer_question(user: SimulatedUser, wanted: str, question: Question, number: int) -> Answer:
    """The user's answer to question `number` (from 1), given without looking at results; no text: passed over.

    A recorded user who was asked something else in that round says what was answered to this question in another.

    Raises:
        UnknownName: the user knows nothing of the wanted picture.
    """
    said = user.reply(wanted, Screen((), question, number))
    if isinstance(said, Answer) and _alike(said.question, question):
        return Answer(question, said.text)
    return Answer(question, _recorded(user, wanted, question) if isinstance(user, RecordedUser) else "")


def _recorded(user: RecordedUser, wanted: str, question: Question) -> str:
    turns = find_picture(user.talks, wanted) or ()
    answers = (turn.text for turn in turns if isinstance(turn, Answer) and _alike(turn.question, question))
    return next(answers, DONT_KNOW)


def _alike(one: Question, other: Question) -> bool:
    return normalize_question(one.text) == normalize_question(other.text)
