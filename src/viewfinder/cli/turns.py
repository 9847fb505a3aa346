"""One turn of a talk as it is told: as a JSON line, or as results and a question for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import typer

from viewfinder.cli.output import emit, plain, say, show, show_hits
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
    Say,
    Show,
    Turn,
)

if TYPE_CHECKING:
    from viewfinder.session import Hits, Session

PREVIEWED = 4
"""Results that are shown as pictures."""


@dataclass
class Teller:
    """How turns are told; a note that was told at an earlier turn is not told again."""

    as_json: bool = False
    preview: bool = False
    _noted: tuple[str, ...] = ()

    def tell(self, session: Session, hits: Hits, *, echo: bool = False) -> None:
        """What a turn came to; `echo` repeats the turn itself, which a script's reader has not typed."""
        if self.as_json:
            emit(turn_json(session, hits))
            return
        here = session.conversation.here
        if echo and here.turn is not None:
            before = session.conversation.nodes[here.number - 1].shown
            say(f"{here.number}  {described(here.turn, before)}")
        show_hits(hits)
        told = sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self._noted, session.adapters, strict=False))
        )
        for line in session.adapters[told:]:
            say(f"note: {line}")
        self._noted = session.adapters
        if self.preview:
            from viewfinder.cli.preview import preview

            typer.echo(preview([hit.path for hit in hits[:PREVIEWED]]), color=True)  # asked for: in a pipe too
        if session.question is not None:
            say_question(session.question)


def turn_json(session: Session, hits: Hits) -> dict[str, Any]:
    """One line of `chat --json`."""
    question = session.question
    return {
        "turn": session.conversation.here.number,
        **hits.to_json(),
        "question": None if question is None else asdict(question),
        "adapters": list(session.adapters),
    }


def say_question(question: Question) -> None:
    """The question, its choices lettered (numbers are results)."""
    say(f"? {question.text}")
    if question.choices:
        choices = zip(ascii_lowercase, question.choices, strict=False)
        say("  " + "   ".join(f"{letter}) {choice}" for letter, choice in choices))


def described(turn: Turn, shown: Sequence[PictureId] = ()) -> str:  # noqa: PLR0911 (one line a kind of turn)
    """A turn in a few words; `shown` is what was on the screen when it was said.

    >>> described(Reject(("4f2a",), "stripes"))
    'not 4f2a, not "stripes"'
    """
    match turn:
        case Say(text):
            return f'"{text}"'
        case Answer(question, text):
            return f'answer "{text}"' + (f" to: {question.text}" if question.text else "")
        case Like(picture, text, at):
            return f"like {_named(picture, shown)}" + (f" of turn {at}" if at is not None else "") + _but(text)
        case Show(pixels_ref, text):
            return f"show {pixels_ref}{_but(text)}"
        case Keep(attribute, at):
            return f"keep {attribute} of turn {at}"
        case Reject(pictures, text):
            parts = [*(f"not {_named(picture, shown)}" for picture in pictures), *([f'not "{text}"'] if text else [])]
            return ", ".join(parts) or "none of these"
        case BackTo(at):
            return f"back to {at}"


def _named(picture: PictureId, shown: Sequence[PictureId]) -> str:
    """The number under which a picture was shown, else the first letters of its id."""
    if picture in shown:
        return f"result {shown.index(picture) + 1}"
    return picture if len(picture) <= 10 else f"{picture[:8]}…"


def _but(text: str) -> str:
    return f' but "{text}"' if text else ""


def show_tree(talk: Conversation) -> None:
    """All turns, branches included; an arrow marks where the talk stands."""
    from rich.tree import Tree

    branches = {0: Tree("0  start" + _mark(talk, talk.nodes[0]), guide_style="dim")}
    for node in talk.nodes[1:]:
        assert node.turn is not None
        shown = talk.nodes[node.parent].shown
        label = f"{node.number}  {described(node.turn, shown)}{_mark(talk, node)}"
        branches[node.number] = branches[node.parent].add(plain(label))
    show(branches[0])


def _mark(talk: Conversation, node: Node) -> str:
    return "  <- here" if node is talk.here else ""
