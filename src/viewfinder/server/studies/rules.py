"""What a participant may do at a point of a trial, and what was done so far; read from the talk as it was recorded."""

from __future__ import annotations

from dataclasses import dataclass, field

from viewfinder.conversation import Answer, Conversation, Like, Question, Reject, Say, Turn
from viewfinder.server.problems import Problem
from viewfinder.server.schemas.sessions import AnswerTurn, LikeTurn, RejectTurn, SayTurn, TurnIn
from viewfinder.server.schemas.studies import Kind, TrialTurn


@dataclass(frozen=True)
class TrialProgress:
    """The course of a trial: its talk so far."""

    talk: Conversation = field(default_factory=Conversation)

    @property
    def rounds(self) -> int:
        """Turns that were taken."""
        return len(self.talk)

    @property
    def results(self) -> tuple[str, ...] | None:
        """What is in view now; None before the first turn."""
        return self.talk.here.shown if self.rounds else None

    @property
    def question(self) -> Question | None:
        """What waits for an answer."""
        return self.talk.pending

    @property
    def seen(self) -> frozenset[str]:
        """Every picture that was among the results."""
        return frozenset(picture for node in self.talk.nodes for picture in node.shown)

    def said(self) -> list[TrialTurn]:
        """The turns so far."""
        return [_said(node.turn) for node in self.talk.nodes if node.turn is not None]


def check_turn(task: Kind, turn: TurnIn, course: TrialProgress) -> TurnIn:
    """The turn as it is taken.

    Raises:
        Problem: the task has no such turn now (what it has is said), or a picture is named that was not shown.
    """
    match task, turn:
        case ("describe" | "feedback", SayTurn()):
            return turn
        case ("answer", SayTurn()) if course.question is None:
            return turn
        case ("answer", AnswerTurn(answer=text)) if course.question is not None:
            return AnswerTurn(answer=text)  # to the question that is open, whatever the request says it answers
        case ("feedback", LikeTurn(like=picture)):
            _check_seen([picture], course)
            return turn
        case ("feedback", RejectTurn(reject=pictures)):
            _check_seen(pictures, course)
            return turn
        case _:
            raise Problem(422, "not-in-this-study", _offered(task, course))


def _offered(task: Kind, course: TrialProgress) -> str:
    if task == "feedback":
        return "this study takes the turns say, like and reject"
    now = "answer" if task == "answer" and course.question is not None else "say"
    return f"at this point of the study the turn is: {now}"


def _check_seen(pictures: list[str], course: TrialProgress) -> None:
    strange = [picture for picture in pictures if picture not in course.seen]
    if strange:
        raise Problem(422, "not-shown", f"{strange[0]} was not among the results of this trial")


def _said(turn: Turn) -> TrialTurn:
    match turn:
        case Say(text):
            return TrialTurn(kind="say", text=text, pictures=[], question=None)
        case Answer(question, text):
            return TrialTurn(kind="answer", text=text, pictures=[], question=question.text)
        case Like(picture, text):
            return TrialTurn(kind="like", text=text, pictures=[picture], question=None)
        case Reject(pictures, text):
            return TrialTurn(kind="reject", text=text, pictures=list(pictures), question=None)
        case _:
            raise ValueError(f"{turn} is no turn of a study")
