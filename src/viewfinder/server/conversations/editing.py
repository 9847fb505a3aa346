"""Editing a turn: another one in its place, or none, on a new branch where all turns after it are repeated.

Numbers of turns change on the way, so what a turn refers to is renumbered. "None of these" keeps meaning the pictures
that were on the screen at the time. Turns that make no sense any more are left out, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from viewfinder.conversation import (
    Answer,
    BackTo,
    Conversation,
    Keep,
    Like,
    Node,
    PictureId,
    Question,
    Reject,
    Turn,
    describe_turn,
)
from viewfinder.errors import BadInput
from viewfinder.server.conversations.moved_on import find_meant
from viewfinder.session.session import Session


@dataclass
class RepeatedTurns:
    """Turns that were repeated, old number -> new number; those left out, with the reason; and their numbers."""

    numbers: dict[int, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    gone: set[int] = field(default_factory=set)


def repeat_turns(
    session: Session,
    number: int,
    turn_of: Callable[[Question | None], Turn] | None,
    known: Callable[[PictureId], bool],
    end: int | None = None,
) -> RepeatedTurns:
    """Goes back to before turn `number`, takes another turn there, and then what followed it.

    Args:
        session: stands anywhere; afterwards at the end of the new branch.
        turn_of: makes the turn, given the question that it may answer; None: turn `number` is left out.
        known: whether a picture is (still) in the library.
        end: the last turn to repeat; by default, the newest below turn `number`.

    Raises:
        BadInput: there is no such turn, or the new turn cannot be taken; the session may have gone back by then.
    """
    conversation = session.conversation
    if not 0 < number < len(conversation.nodes):
        raise BadInput(f"turn {number} does not exist: this conversation has turns 1 to {len(conversation)}")
    node = conversation.nodes[number]
    if isinstance(node.turn, BackTo):
        raise BadInput(f"turn {number} is a way back: there is nothing in it to change")
    session.take_turn(BackTo(find_meant(conversation, node.parent).number))
    again = RepeatedTurns(gone=set() if turn_of else {number})
    if turn_of is not None:
        pending = node.turn.question if isinstance(node.turn, Answer) else session.question
        turn = turn_of(pending)
        if isinstance(turn, BackTo):
            raise BadInput("a turn cannot become a way back: delete it, or go back and say something else")
        session.take_turn(turn)
        again.numbers[number] = session.conversation.here.number
    for follower in find_following_turns(conversation, number, end):
        _repeat_turn(session, conversation, follower, again, known)
    return again


def find_following_turns(conversation: Conversation, number: int, end: int | None = None) -> tuple[Node, ...]:
    """The turns after turn `number`, on the way to `end` if that leads through it, or else to the newest below it."""
    way = () if end is None else conversation.path(end)
    if any(node.number == number for node in way):
        return tuple(node for node in way if node.number > number)
    below = {number}
    for node in conversation.nodes[number + 1 :]:
        if node.parent in below:
            below.add(node.number)
    return tuple(node for node in conversation.path(max(below)) if node.number > number)


def renumber_turn(turn: Turn, conversation: Conversation, again: RepeatedTurns) -> Turn:
    """The turn with the numbers of the new branch; what it refers to elsewhere keeps its number.

    Raises:
        BadInput: it keeps something of a turn that is not said again.
    """
    match turn:
        case Keep(turn=at):
            meant = find_meant(conversation, at)
            if meant.number in again.gone:
                raise BadInput(f"it keeps something of turn {at}, which is not there any more")
            return replace(turn, turn=again.numbers.get(meant.number, at))
        case Like(turn=int(at)):
            meant = find_meant(conversation, at)
            while meant.number in again.gone:  # go on from the turn before, then
                meant = find_meant(conversation, meant.parent)
            return replace(turn, turn=again.numbers.get(meant.number, meant.number))
        case _:
            return turn


def _repeat_turn(
    session: Session, conversation: Conversation, node: Node, again: RepeatedTurns, known: Callable[[PictureId], bool]
) -> None:
    """Takes a turn again; the question that it answers is noted as asked before it."""
    assert node.turn is not None
    shown = conversation.nodes[node.parent].shown
    try:
        turn = renumber_turn(node.turn, conversation, again)
        if turn == Reject() and shown != session.conversation.here.shown:
            turn = Reject(tuple(picture for picture in shown if known(picture)))
            if not turn.pictures:
                raise BadInput("there is nothing left of what was on the screen then")
        before = session.conversation
        if isinstance(turn, Answer) and turn.question.text and before.here.turn is not None:
            session.conversation = before.recorded(shown=before.here.shown, asked=turn.question)
        session.take_turn(turn)
        again.numbers[node.number] = session.conversation.here.number
    except BadInput as error:
        again.gone.add(node.number)
        again.left_out.append(f"turn {node.number}, {describe_turn(node.turn, shown, own_image='your image')}: {error}")
