"""What the system takes the user to want now, as chips that can be taken back one by one.

Chips are the parts of the present query, each under the turn it came from, and the pictures that were rejected. A
value of the catalogue and the words for it are one chip. Where a system puts several turns into one part, each of
them is a chip (`Part.holds`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from viewfinder.conversation import Conversation, Like, Node, PictureId, Reject, Say, Show, turn_to_json
from viewfinder.retrievers import Part, Query
from viewfinder.retrievers.composer import Clauses, split_clauses
from viewfinder.server.conversations.schemas import Belief

PICTURE_KINDS = frozenset({"picture", "vocabulary"})


@dataclass(frozen=True)
class Chip:
    """A belief before it is known how to take it back; `column_value` is the value it names in the catalogue."""

    turn: int
    label: str
    kind: str
    weight: float
    column_value: str | None = None


def find_beliefs(query: Query, talk: Conversation, path: Sequence[Node]) -> list[Belief]:
    """Chips in the order of their turns; `path` leads to the node whose query this is."""
    nodes = {node.number: node for node in path}
    parts = [part for part in query.parts if not _is_rejection(part)]
    chips = _merged([chip for part in parts for chip in _chips(part)])
    chips = [*chips, *_rejections(query, talk, path)]
    chips.sort(key=lambda chip: chip.turn)  # stable: within a turn as the retriever has them
    return [
        Belief(
            turn=chip.turn,
            label=tidy_commas(chip.label),
            kind=chip.kind,
            weight=round(chip.weight, 4),
            without=_without(nodes[chip.turn], chip, chips) if chip.turn in nodes else None,
        )
        for chip in chips
    ]


def remove_clause(text: str, label: str) -> str | None:
    """A text without one of its clauses, by the label its part has; None where that cannot be said exactly.

    >>> text_without("a dog without a collar, no people", "not collar")
    'a dog, no people'
    """
    clauses = split_clauses(text)
    piece = label.removeprefix("not ")
    kept = (
        Clauses("", clauses.unwanted)
        if label == clauses.wanted
        else Clauses(clauses.wanted, tuple(other for other in clauses.unwanted if other != piece))
    )
    if kept == clauses:
        return None
    wanted = tidy_commas(kept.wanted)
    said = ", ".join([wanted] * bool(wanted) + [f"no {other}" for other in kept.unwanted])
    return said if split_clauses(said) == Clauses(wanted, kept.unwanted) else None


def tidy_commas(text: str) -> str:
    """Without the blanks before commas that a clause taken out leaves.

    >>> tidy("a dog , in the snow")
    'a dog, in the snow'
    """
    return re.sub(r"\s+,", ",", text)


# -- chips


def _chips(part: Part) -> list[Chip]:
    if part.kind in PICTURE_KINDS:
        return [Chip(part.turn, "this picture", part.kind, part.weight)]
    pieces = [(part.turn, part.label)] if part.holds is None else part.holds
    value = None if part.value is None else part.value[1].casefold()
    return [Chip(turn, text, part.kind, part.weight, value) for turn, text in pieces]


def _merged(chips: Iterable[Chip]) -> list[Chip]:
    """One chip for one label of a turn; words and contrasts that a catalogue value of their turn names join it."""
    merged: dict[tuple[int, str], Chip] = {}
    known = list(chips)
    named = {(chip.turn, chip.column_value): chip.label for chip in known if chip.column_value is not None}
    for chip in known:
        key = (chip.turn, named.get((chip.turn, chip.label.casefold()), chip.label))
        other = merged.get(key)
        if other is None:
            merged[key] = replace(chip, label=key[1])
        else:
            kind = "value" if "value" in (chip.kind, other.kind) else other.kind
            merged[key] = replace(other, kind=kind, weight=other.weight + chip.weight)
    return list(merged.values())


def _is_rejection(part: Part) -> bool:
    return part.kind == "picture" and part.weight < 0


def _rejections(query: Query, talk: Conversation, path: Sequence[Node]) -> list[Chip]:
    """A chip for each turn that rejected pictures, if any of them is still out."""
    chips = []
    for node in path:
        pictures = _rejected(node, talk)
        if query.excluded.intersection(pictures):
            weight = sum(part.weight for part in query.parts if part.turn == node.number and _is_rejection(part))
            label = "not this picture" if len(pictures) == 1 else f"not these {len(pictures)} pictures"
            chips.append(Chip(node.number, label, "rejected", float(weight)))
    return chips


def _rejected(node: Node, talk: Conversation) -> tuple[PictureId, ...]:
    if not isinstance(node.turn, Reject):
        return ()
    return node.turn.pictures or (() if node.turn.text else talk.node(node.parent).shown)


# -- taking back


def _without(node: Node, chip: Chip, chips: Sequence[Chip]) -> dict[str, Any] | None:
    """The turn without this belief; None where nothing would remain of it, or no turn says exactly that."""
    in_words = [other for other in chips if other.turn == chip.turn and _in_words(other)]
    match node.turn:
        case Say(text):
            rest = None if len(in_words) == 1 else remove_clause(text, chip.label)
            return {"say": rest} if rest else None
        case Like(text=text) | Show(text=text) if not _in_words(chip):
            return {"say": text} if text.strip() else None
        case Like(text=text) | Show(text=text):
            rest = "" if len(in_words) == 1 else remove_clause(text, chip.label)
            return None if rest is None else turn_to_json(replace(node.turn, text=rest))
        case Reject(pictures, text) if not _in_words(chip):
            return {"reject": [], "text": text} if pictures and text.strip() else None
        case Reject(pictures, text):
            rest = "" if len(in_words) == 1 else remove_clause(text, chip.label)
            return turn_to_json(Reject(pictures, rest)) if rest or (pictures and rest is not None) else None
        case _:
            return None


def _in_words(chip: Chip) -> bool:
    return chip.kind not in PICTURE_KINDS and chip.kind != "rejected"
