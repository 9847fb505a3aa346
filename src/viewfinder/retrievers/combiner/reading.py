"""A turn as a Combiner reads it: words, and the picture that they are said of. No torch here.

What cannot be taken as it was given goes through an adapter, which is named: those of `blocks.spoken`, and

picture      what was said of no picture is taken as said of one
words        what a turn does with earlier pictures is read as the words it is said in
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from viewfinder.conversation import Like, PictureId, Show
from viewfinder.retrievers.base import Operation, Picture, ResolvedTurn
from viewfinder.retrievers.shared.looking_back import find_back_reference, to_operations
from viewfinder.retrievers.shared.spoken import VerbalizedTurn, verbalize_turn


@dataclass(frozen=True, eq=False)
class ParsedTurn:
    """What a turn says.

    Attributes:
        text: how the wanted picture differs from `picture`, or what it is like; "" where nothing was said.
        picture: the one that this is said of, or to which the turn goes back; None: no picture is named.
        names_picture: whether the turn itself is about a picture.
        operations: what it does with earlier turns.
        adapters: what was not taken as it was given, and what became of it; a line each.
        ruled: the pictures that are ruled out and readmitted.
    """

    text: str = ""
    picture: Picture | None = None
    names_picture: bool = False
    operations: tuple[Operation, ...] = ()
    adapters: tuple[str, ...] = ()
    ruled: VerbalizedTurn = field(default_factory=VerbalizedTurn)


def parse_turn(turn: ResolvedTurn, pictured: Sequence[int], *, replaces: bool, exclude_shown: bool) -> ParsedTurn:
    """A turn as words on a picture.

    Args:
        turn: any.
        pictured: the numbers of the turns before it that were about a picture.
        replaces: whether a turn that goes back to an earlier picture is read with that one.
        exclude_shown: whether a picture goes out once it was said how the wanted one differs.
    """
    heard = _picked(turn, turn.turn, exclude_shown) if isinstance(turn.turn, Like | Show) else _said(turn)
    if replaces:
        heard = _looking_back(heard, turn, (*pictured, turn.number) if heard.names_picture else pictured)
    return heard


def _picked(turn: ResolvedTurn, picked: Like | Show, exclude_shown: bool) -> ParsedTurn:
    """Words said of a picture; without any it may be the one, whatever ruled it out before."""
    picture, text = turn.pictures[0], " ".join(picked.text.split())
    named: frozenset[PictureId] = frozenset() if picture.id is None else frozenset({picture.id})
    ruled = (
        VerbalizedTurn(excluded=named if exclude_shown else frozenset()) if text else VerbalizedTurn(readmitted=named)
    )
    operations = (Operation("rollback", picked.turn),) if isinstance(picked, Like) and picked.turn is not None else ()
    return ParsedTurn(text, picture, True, operations, ruled=ruled)


def _said(turn: ResolvedTurn) -> ParsedTurn:
    """Words without a picture; what is kept of an earlier turn is among them."""
    said = verbalize_turn(turn)
    return ParsedTurn(". ".join(said.sentences), adapters=said.adapters, ruled=said)


def _looking_back(heard: ParsedTurn, turn: ResolvedTurn, pictured: Sequence[int]) -> ParsedTurn:
    """What the words say of earlier pictures: a talk that goes back is read with the picture of that turn."""
    looked = find_back_reference(heard.text) if heard.text else None
    if looked is None:
        return heard
    operations, told = to_operations(looked, pictured)
    back = next((one for one in operations if one.kind == "rollback"), None)
    kept = [one for one in operations if one.kind == "keep"]
    told += tuple(f'words: "{one.words}" of turn {one.turn} is read as words, not looked up' for one in kept)
    found: tuple[Picture, ...] = ()
    if back is not None and not heard.operations:  # where a turn was given, words do not choose another
        found = turn.earlier(back.turn)
        told += () if found else (f"drop: turn {back.turn} has no picture to go back to",)
    heard = replace(heard, adapters=(*heard.adapters, *told))
    return replace(heard, picture=found[0], operations=(back,)) if back is not None and found else heard
