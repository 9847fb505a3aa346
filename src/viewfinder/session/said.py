"""What was said of the wanted picture, turn by turn."""

from __future__ import annotations

from collections.abc import Sequence

from viewfinder.conversation import Answer, Node, Say
from viewfinder.questioners.photographs import REMEMBER
from viewfinder.wording.clauses import clauses_in_context, split_clauses
from viewfinder.wording.replies import is_dont_know


def texts_said(path: Sequence[Node]) -> tuple[str, ...]:
    """The descriptions of a conversation: what was said about the wanted picture, without what it is not."""
    texts: list[str] = []
    for node in path:
        match node.turn:
            case Say(text):
                texts.append(clauses_in_context(text, texts[-1] if texts else "").wanted)
            case Answer(question, text) if question.attribute == REMEMBER and not is_dont_know(text):
                texts.append(split_clauses(text).wanted)
    return tuple(filter(None, texts))
