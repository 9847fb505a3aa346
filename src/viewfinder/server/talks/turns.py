"""Turns and questions between the API and the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from viewfinder.conversation import Conversation, Question, Turn, turn_from_json, turn_to_json
from viewfinder.errors import BadInput, UnknownName
from viewfinder.index.telling import describe_turn
from viewfinder.retrievers.base import Operation
from viewfinder.server.database import SessionRow
from viewfinder.server.schemas import sessions as schemas

if TYPE_CHECKING:
    from viewfinder.server.images.uploads import Uploads

OWN_IMAGE = "your image"

Operations = Mapping[int, Sequence[Operation]]
"""What turns do with earlier ones, by the number of the turn."""


def parse_turn(given: schemas.TurnIn, pending: Question | None) -> Turn:
    """The turn that was sent; `pending` is the question that an answer without one answers.

    Raises:
        BadInput: an answer to nothing.
    """
    if answers_open_question(given) and pending is None:
        verb = "skip" if isinstance(given, schemas.SkipTurn) else "answer"
        raise BadInput(f"there is no question to {verb}: say what you are looking for instead")
    try:
        return turn_from_json(given.model_dump(exclude_none=True), pending=pending)
    except ValueError as error:
        raise BadInput(str(error)) from error


def answers_open_question(given: schemas.TurnIn) -> bool:
    """Whether it is about the question that is open, whichever that is."""
    return isinstance(given, schemas.AnswerTurn | schemas.SkipTurn) and given.question is None


def find_upload(uploads: Uploads, name: str) -> Path:
    """The file of an image of one's own.

    Raises:
        UnknownName: there is no such upload, or its file is gone; no path is told.
    """
    file = uploads.file(name)
    if not file.is_file():
        raise UnknownName("your image is gone: send it again")
    return file


def question_to_api(question: Question | None) -> schemas.Question | None:
    """A question as it goes out; it is ours, so the limits for what comes in are not asked."""
    if question is None:
        return None
    return schemas.Question.model_construct(
        text=question.text,
        choices=list(question.choices),
        by=question.by,
        why=question.why,
        attribute=question.attribute,
    )


def operations_to_api(done: Operations) -> list[schemas.Operation]:
    """What turns do with earlier ones, as it goes out."""
    return [schemas.Operation(said=number, **asdict(each)) for number, some in done.items() for each in some]


def session_to_api(row: SessionRow) -> schemas.Session:
    """A talk as it goes out; which retriever a study compares stays hidden."""
    return schemas.Session(
        id=row.id,
        name=row.name,
        retriever=None if row.hidden else row.retriever,
        questioner=row.questioner,
        where=dict(row.where),
        n=row.n,
        created=_time(row.created),
        updated=_time(row.updated),
        turns=row.turns,
        leaning=row.leaning,
    )


def tree_to_api(row: SessionRow, talk: Conversation, times: dict[int, float]) -> schemas.SessionTree:
    """A talk with all its branches."""
    nodes = [
        schemas.TreeNode(
            number=node.number,
            parent=node.parent,
            turn=None if node.turn is None else turn_to_json(node.turn),
            told=describe_turn(node.turn, talk.nodes[node.parent].shown, own_image=OWN_IMAGE) if node.turn else "",
            shown=len(node.shown),
            first=node.shown[0] if node.shown else None,
            asked=question_to_api(node.asked),
            at=_time(times[node.number]) if node.number in times else None,
        )
        for node in talk.nodes
    ]
    path = [node.number for node in talk.path()]
    return schemas.SessionTree(
        **session_to_api(row).model_dump(exclude={"turns"}), turns=len(talk), tree=nodes, path=path
    )


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
