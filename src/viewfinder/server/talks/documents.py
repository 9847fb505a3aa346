"""Talks and what was found in them, as documents."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from viewfinder.conversation import Conversation
from viewfinder.errors import BadInput
from viewfinder.server.database import FeedbackRow

MOST_TURNS = 2000
"""Turns of a talk that is imported."""


def parse_conversation(document: Mapping[str, Any]) -> Conversation:
    """The conversation in an imported document.

    Raises:
        BadInput: it is none, has too many turns, or text that no database keeps.
    """
    turns = document.get("turns")
    if isinstance(turns, list) and len(turns) > MOST_TURNS:
        raise BadInput(f"this talk has {len(turns)} turns: at most {MOST_TURNS} can be imported")
    try:
        if b"\0" in json.dumps(document, ensure_ascii=False).encode().replace(b"\\u0000", b"\0"):
            raise BadInput("this talk has characters that are no text (NUL): take them out")
        return Conversation.from_json(document)
    except UnicodeEncodeError as error:
        raise BadInput("this talk has characters that are no text (half of a surrogate pair): take them out") from error
    except ValueError as error:
        raise BadInput(str(error)) from error


def intern_ids(talk: Conversation) -> Conversation:
    """The same talk; talks that were read from the database hold each id once between them, not each its own."""
    return Conversation(tuple(replace(node, shown=tuple(map(sys.intern, node.shown))) for node in talk.nodes))


def write_feedback_line(row: FeedbackRow) -> str:
    """What somebody found, as a JSON line; who it was is left out."""
    line = {
        "id": row.id,
        "at": row.at,
        "session": row.session,
        "turn": row.node,
        "picture": row.picture,
        "rank": row.rank,
        "retriever": row.retriever,
        "conversation": row.conversation,
    }
    return json.dumps(line) + "\n"
