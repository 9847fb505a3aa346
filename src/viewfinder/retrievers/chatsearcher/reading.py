"""A turn as ChatSearcher reads it: what it does to the answer that is open, and what the user says. No torch here.

What cannot be taken as it was given goes through an adapter, which is named (`blocks.spoken`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from viewfinder.conversation import Answer, Like, Say, Show
from viewfinder.retrievers.base import Picture, ResolvedTurn
from viewfinder.retrievers.shared.spoken import VerbalizedTurn, verbalize_turn

LIKE_IT = "one like this"
"""What a picture says that comes without words."""


@dataclass(frozen=True, eq=False)
class UserMessage:
    """What a turn says.

    Attributes:
        text: the user's words.
        brought: a picture of the user's own, which stands before the words.
        picked: the one among those that were shown: it becomes the answer.
        asked: what the user was asked; it becomes the answer.
        adapters: what was not taken as it was given, and what became of it; a line each.
        ruled: the pictures that are ruled out and readmitted.
    """

    text: str = ""
    brought: Picture | None = None
    picked: Picture | None = None
    asked: str = ""
    adapters: tuple[str, ...] = ()
    ruled: VerbalizedTurn = field(default_factory=VerbalizedTurn)


def read_message(turn: ResolvedTurn, *, shown: bool) -> UserMessage:
    """A turn as it is read; one without words says nothing, and only rules pictures out.

    Args:
        turn: any.
        shown: whether the answer before it was pictures, so that one may be picked.
    """
    match turn.turn:
        case Say(text):
            return UserMessage(_plain(text))
        case Answer(question, text):
            return UserMessage(_plain(text), asked=_plain(question.text))
        case Like() | Show():
            return _pictured(turn, turn.turn, picks=shown and isinstance(turn.turn, Like))
        case _:
            said = verbalize_turn(turn)
            return UserMessage(". ".join(said.sentences), adapters=said.adapters, ruled=said)


def _pictured(turn: ResolvedTurn, named: Like | Show, *, picks: bool) -> UserMessage:
    """Words said of a picture rule it out; without any it may be the one, whatever ruled it out before."""
    picture, text = turn.pictures[0], _plain(named.text)
    own = frozenset() if picture.id is None else frozenset({picture.id})
    lines = [] if text else [f'verbalise: the picture alone is said as "{LIKE_IT}"']
    if isinstance(named, Like) and named.turn is not None:
        lines.append(f"drop: what was said after turn {named.turn} stays, words cannot be taken back")
    ruled = VerbalizedTurn(excluded=own) if text else VerbalizedTurn(readmitted=own)
    brought, picked = (None, picture) if picks else (picture, None)
    return UserMessage(text or LIKE_IT, brought, picked, adapters=tuple(lines), ruled=ruled)


def _plain(text: str) -> str:
    return " ".join(text.split())
