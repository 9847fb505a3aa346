"""The descriptions of the wanted picture that a conversation holds, turn by turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from viewfinder.conversation import Answer, Like, Node, Say, Show
from viewfinder.query import WordMatch
from viewfinder.questioners.photographs import REMEMBER
from viewfinder.search.gallery import Gallery
from viewfinder.session.reading import Read, read_absent, read_plainly, read_said
from viewfinder.wording.clauses import split_clauses, split_clauses_in_context
from viewfinder.wording.replies import is_dont_know

if TYPE_CHECKING:  # what changes of mind are told by is read with the first turn
    from viewfinder.session.revising import Revise


def texts_said(path: Sequence[Node], read: Read = read_plainly) -> tuple[str, ...]:
    """The descriptions of the wanted picture on a path, without what it is not."""
    texts: list[str] = []
    for node in path:
        revise = find_revision_of(node, read)
        texts = texts if revise is None else [revise(text) for text in texts]
        match node.turn:
            case Say():
                texts.append(split_clauses_in_context(read_said(node.turn, read), texts[-1] if texts else "").wanted)
            # The answer to an open question describes; one to a question with choices is evidence instead.
            case Answer(question, text) if question.attribute == REMEMBER and not is_dont_know(text):
                texts.append(split_clauses(read(text).content).wanted)
    return tuple(filter(None, texts))


def find_revision_of(node: Node, read: Read) -> Revise | None:
    """What the turn of a node changes of descriptions before it; None where it adds to them."""
    if node.turn is None:
        return None
    from viewfinder.session.revising import find_revision

    return find_revision(node.turn, read_said(node.turn, read), read_absent(node.turn, read))


def match_words(path: Sequence[Node], gallery: Gallery, read: Read = read_plainly) -> tuple[WordMatch, ...]:
    """The descriptions of which words are written about pictures; a picked or shown picture voids those before it."""
    if gallery.written is None:
        return ()
    said_at: list[tuple[int, str]] = []
    for node in path:
        revise = find_revision_of(node, read)
        said_at = said_at if revise is None else [(number, revise(text)) for number, text in said_at]
        match node.turn:
            case Like(text=said) | Show(text=said):
                said_at, text = [], said
            case Say(said):
                text = said
            case Answer(question, said) if question.attribute in (None, REMEMBER) and not is_dont_know(said):
                text = said
            case _:
                continue
        said_at.append((node.number, split_clauses(read(text).content).wanted))
    found: list[WordMatch] = []
    for number, wanted in said_at:
        if wanted and gallery.written.weigh_text(wanted).ratios is not None:
            found.append(WordMatch(number, wanted))
        if wanted and gallery.weigh_machine_words(wanted) is not None:
            found.append(WordMatch(number, wanted, by_machine=True))
    return tuple(found)
