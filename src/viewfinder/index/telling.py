"""Turns in a few words, for people."""

from __future__ import annotations

from collections.abc import Sequence

from viewfinder.conversation import Answer, BackTo, Keep, Like, PictureId, Reject, Say, Show, Turn, is_skip

MOST_NAMED = 5
"""Rejected pictures that are told one by one; more are only counted."""


def describe_turn(  # noqa: PLR0911 (one line a kind of turn)
    turn: Turn, shown: Sequence[PictureId] = (), *, own_image: str | None = None
) -> str:
    """A turn in a few words; `shown` is what was on the screen when it was said.

    `own_image` stands for the name of an image of the user's own, where that name says nothing.

    >>> described(Reject(("4f2a",), "stripes"))
    'not 4f2a, not "stripes"'
    """
    match turn:
        case Say(text):
            return f'"{text}"'
        case Answer(question) if is_skip(turn):
            return "skipped" + (f": {question.text}" if question.text else "")
        case Answer(question, text):
            return f'answer "{text}"' + (f" to: {question.text}" if question.text else "")
        case Like(picture, text, at, attributes):
            of_turn = f" of turn {at}" if at is not None else ""
            return f"like {_named(picture, shown)}{of_turn}{_with(attributes)}{_but(text)}"
        case Show(pixels_ref, text, attributes):
            return f"show {pixels_ref if own_image is None else own_image}{_with(attributes)}{_but(text)}"
        case Keep(attribute, at):
            return f"keep {attribute} of turn {at}"
        case Reject(pictures, text):
            named = [f"not {_named(picture, shown)}" for picture in pictures]
            some = named if len(named) <= MOST_NAMED else [f"not these {len(named)} pictures"]
            parts = [*some, *([f'not "{text}"'] if text else [])]
            return ", ".join(parts) or "none of these"
        case BackTo(at):
            return f"back to {at}"


def _named(picture: PictureId, shown: Sequence[PictureId]) -> str:
    """The number under which a picture was shown, else the first letters of its id."""
    if picture in shown:
        return f"result {shown.index(picture) + 1}"
    return picture if len(picture) <= 10 else f"{picture[:8]}…"


def _with(attributes: Sequence[str] | None) -> str:
    if attributes is None:
        return ""
    return f" with {', '.join(attributes)}" if attributes else " with no attributes"


def _but(text: str) -> str:
    return f' but "{text}"' if text else ""
