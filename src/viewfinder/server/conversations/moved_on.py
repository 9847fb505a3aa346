"""A turn that was meant for where its sender was, in a conversation that went on meanwhile.

A second tab, a second person or an assistant may have said something since. Then the turn is refused with what
happened, or said on a branch where its sender was; it never follows a turn that its sender did not see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeVar

from viewfinder.conversation import BackTo, Conversation, Node, describe_turn
from viewfinder.errors import BadInput
from viewfinder.server.problems import Problem

if TYPE_CHECKING:
    from viewfinder.server.conversations.schemas import Placed

MAX_TOLD = 20
"""Turns of which a refusal tells; it has the number of all."""

MAX_RACES = 8
"""How often a turn is tried again that another process was faster than."""

OWN_IMAGE = "your image"

OnConflict = Literal["refuse", "branch"]
Answer = TypeVar("Answer")


def find_meant(conversation: Conversation, number: int) -> Node:
    """The node itself, or the one to which it goes back."""
    node = conversation.node(number)
    while isinstance(node.turn, BackTo):
        node = conversation.node(node.parent)
    return node


def find_branch_point(conversation: Conversation, parent: int | None, on_conflict: OnConflict) -> int | None:
    """The turn to go back to before a turn that was meant to follow `parent`; None: the conversation stands there.

    Raises:
        BadInput: there is no such turn.
        Problem: 409, it stands elsewhere by now, and a branch was not asked for.
    """
    if parent is None:
        return None
    if parent >= len(conversation.nodes):
        raise BadInput(f"parent: turn {parent} does not exist: this conversation has turns 0 to {len(conversation)}")
    meant = find_meant(conversation, parent).number
    if meant == find_meant(conversation, conversation.here.number).number:
        return None
    if on_conflict == "refuse":
        raise make_refusal(conversation, parent)
    return meant


def make_refusal(conversation: Conversation, parent: int) -> Problem:
    """409: the conversation does not stand at `parent` any more, and what was said since."""
    since = conversation.nodes[parent + 1 :]
    newest = len(conversation)
    told = [
        {"number": node.number, "parent": node.parent, "told": tell_node(conversation, node)}
        for node in since[-MAX_TOLD:]
    ]
    detail = (
        f"this conversation went on from elsewhere: its newest turn is {newest}, yours was meant to follow turn "
        f"{parent}. Send it with on_conflict: branch to say it there, or with parent: {newest} to follow"
    )
    stands_at = find_meant(conversation, newest).number
    return Problem(409, "moved-on", detail, turn=newest, stands_at=stands_at, since=told, count=len(since))


def tell_node(conversation: Conversation, node: Node) -> str:
    """A turn in a few words; "" for the start."""
    shown = conversation.nodes[node.parent].shown
    return "" if node.turn is None else describe_turn(node.turn, shown, own_image=OWN_IMAGE)


def try_again_when_overtaken(placed: Placed | None, work: Callable[[], Answer]) -> Answer:
    """Runs `work`; again if another process took a turn meanwhile, so that the sender hears what that was.

    Only for what names its parent: all else is refused as it always was.
    """
    for _ in range(MAX_RACES - 1):
        try:
            return work()
        except Problem as problem:
            if problem.kind != "conflict" or placed is None or placed.parent is None:
                raise
    return work()
