"""A turn as the networks of Fashion IQ read it: whose picture, which words, which attributes. No torch here.

What such a network cannot take as it was given goes through an adapter, which is named: those of `blocks.spoken`, and

picture      what was said of no picture is taken as said of one
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from viewfinder.conversation import Like, PictureId, Show
from viewfinder.retrievers.base import Picture, ResolvedTurn
from viewfinder.retrievers.shared.numpy_network import note_words
from viewfinder.retrievers.shared.wording import VerbalizedTurn, verbalize_turn


@dataclass(frozen=True, eq=False)
class FeedbackTurn:
    """What a turn says.

    Attributes:
        feedback: whether it says anything at all for the network; else it only rules pictures out, or nothing.
        text: how the wanted picture differs from `picture`, or, without one, what it is like.
        picture: the one that this is said of.
        attributes: what the user says counts of it; None: what is predicted.
        adapters: what was not taken as it was given, and what became of it; a line each.
        ruled: the pictures that are ruled out and readmitted.
    """

    feedback: bool
    text: str = ""
    picture: Picture | None = None
    attributes: tuple[str, ...] | None = None
    adapters: tuple[str, ...] = ()
    ruled: VerbalizedTurn = field(default_factory=VerbalizedTurn)


def parse_feedback(turn: ResolvedTurn, *, reads_alone: bool, exclude_shown: bool) -> FeedbackTurn:
    """A turn as feedback on a picture.

    Args:
        turn: any.
        reads_alone: whether the network can read words that are said of no picture.
        exclude_shown: whether a picture goes out once it was said how the wanted one differs.
    """
    if isinstance(turn.turn, Like | Show):
        return _picked(turn, turn.turn, exclude_shown)
    said = verbalize_turn(turn)
    text = ". ".join(said.sentences)
    if not text or reads_alone:
        return FeedbackTurn(bool(text), text, None, None, said.adapters, said)
    if not len(turn.shown):
        line = f'picture: "{text}" is taken as said of a picture that shows nothing, as none was picked or shown'
        return FeedbackTurn(True, text, None, None, (*said.adapters, line), said)
    line = f'picture: "{text}" is taken as said of result 1, as no picture was picked'
    return FeedbackTurn(True, text, turn.shown[0], None, (*said.adapters, line), said)


def _picked(turn: ResolvedTurn, picked: Like | Show, exclude_shown: bool) -> FeedbackTurn:
    """Words said of a picture; without any it may be the one, whatever ruled it out before."""
    picture, text = turn.pictures[0], " ".join(picked.text.split())
    named: frozenset[PictureId] = frozenset() if picture.id is None else frozenset({picture.id})
    excluded, readmitted = (named if exclude_shown else frozenset(), frozenset()) if text else (frozenset(), named)
    adapters: tuple[str, ...] = ()
    if isinstance(picked, Like) and picked.turn is not None:
        adapters = (f"drop: what was said after turn {picked.turn} stays, feedback cannot be taken back",)
    return FeedbackTurn(
        True, text, picture, picked.attributes, adapters, VerbalizedTurn(excluded=excluded, readmitted=readmitted)
    )


def attribute_numbers(
    given: Sequence[str], number: Mapping[str, int], most: int
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The numbers of attributes that a user names, capitals aside, and what to tell of those that are not read.

    >>> numbers_of(("Cotton", "tartan"), {"cotton": 1}, 8)
    ((1,), ('drop: no attribute is called "tartan"',))
    """
    names = list(dict.fromkeys(" ".join(name.lower().split()) for name in given))
    known = [name for name in names if name in number]
    told = note_words("drop: no attribute is called {}", [name for name in names if name not in number])
    told += note_words(f"drop: the first {most} attributes are read, not {{}}", known[most:])
    return tuple(number[name] for name in known[:most]), told
