"""Rows of talks: new ones, whether a talk in memory still is what its row says, what it is called."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING

from viewfinder.conversation import Conversation
from viewfinder.server.database import SessionRow
from viewfinder.server.schemas.sessions import SessionIn

if TYPE_CHECKING:
    from viewfinder.server.access.caller import Caller

NAME_LENGTH = 60
"""Letters of what was said first that name a talk without a name."""


def make_session_row(caller: Caller, given: SessionIn, *, hidden: bool) -> SessionRow:
    """The row of a talk that begins now."""
    now = time.time()
    id = str(uuid.uuid4())
    return SessionRow(id=id, owner=caller.token, **given.model_dump(), created=now, updated=now, hidden=hidden)


def is_current(known: SessionRow, row: SessionRow, talk: Conversation) -> bool:
    """Whether a talk in memory is what the database has, by its settings and by how many turns there are."""
    settings = ((one.retriever, one.questioner, dict(one.where), one.n, one.leaning) for one in (known, row))
    return next(settings) == next(settings) and row.turns == len(talk)


def name_conversation(talk: Conversation) -> str:
    """A talk is called what was said first; nothing, until something was said in words."""
    said = next((text for node in talk.nodes if (text := getattr(node.turn, "text", "").strip())), "")
    return " ".join(said.split())[:NAME_LENGTH]
