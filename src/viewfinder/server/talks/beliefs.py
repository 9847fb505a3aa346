"""What the system takes the user to want now, as chips that can be taken back one by one.

Chips are the parts of the present query, each under the turn it came from, and the pictures that were rejected. A
value of the catalogue and the words for it are one chip. Trained systems put several turns into one part; it is taken
apart again by what was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from viewfinder.conversation import Answer, Conversation, Like, Node, PictureId, Reject, Say, Show, turn_to_json
from viewfinder.questioners import statement
from viewfinder.retrievers import Part, Query
from viewfinder.retrievers.clauses import Clauses, split
from viewfinder.server.schemas.sessions import Belief

OTHER_SLOTS = "what the other slots hold"
"""The label that drilldown gives to a slot in which no turn was the last to be written: it says nothing of its own."""

PICTURE_KINDS = frozenset({"picture", "vocabulary"})


@dataclass(frozen=True)
class Chip:
    """A belief before it is known how to take it back; `column_value` is the value it names in the catalogue."""

    turn: int
    label: str
    kind: str
    weight: float
    column_value: str | None = None


def beliefs(query: Query, talk: Conversation, path: Sequence[Node]) -> list[Belief]:
    """Chips in the order of their turns; `path` leads to the node whose query this is."""
    nodes = {node.number: node for node in path}
    parts = [part for part in query.parts if not _is_rejection(part) and part.label != OTHER_SLOTS]
    chips = _merged([chip for part in parts for chip in _chips(part, path)])
    chips = [*chips, *_rejections(query, talk, path)]
    chips.sort(key=lambda chip: chip.turn)  # stable: within a turn as the retriever has them
    return [
        Belief(
            turn=chip.turn,
            label=tidy(chip.label),
            kind=chip.kind,
            weight=round(chip.weight, 4),
            without=_without(nodes[chip.turn], chip, chips) if chip.turn in nodes else None,
        )
        for chip in chips
    ]


def text_without(text: str, label: str) -> str | None:
    """A text without one of its clauses, by the label its part has; None where that cannot be said exactly.

    >>> text_without("a dog without a collar, no people", "not collar")
    'a dog, no people'
    """
    clauses = split(text)
    piece = label.removeprefix("not ")
    kept = (
        Clauses("", clauses.unwanted)
        if label == clauses.wanted
        else Clauses(clauses.wanted, tuple(other for other in clauses.unwanted if other != piece))
    )
    if kept == clauses:
        return None
    wanted = tidy(kept.wanted)
    said = ", ".join([wanted] * bool(wanted) + [f"no {other}" for other in kept.unwanted])
    return said if split(said) == Clauses(wanted, kept.unwanted) else None


def tidy(text: str) -> str:
    """Without the blanks before commas that a clause taken out leaves.

    >>> tidy("a dog , in the snow")
    'a dog, in the snow'
    """
    return re.sub(r"\s+,", ",", text)


# -- chips


def _chips(part: Part, path: Sequence[Node]) -> list[Chip]:
    if part.kind == "regions":
        pieces = [(_sayer(piece, part.turn, path), piece) for piece in part.label.split("; ")]
    else:
        pieces = _taken_apart(part, path)
    value = None if part.value is None else part.value[1].casefold()
    label_of = {"picture": "this picture", "vocabulary": "this picture"}
    return [Chip(turn, label_of.get(part.kind, label), part.kind, part.weight, value) for turn, label in pieces]


def _taken_apart(part: Part, path: Sequence[Node]) -> list[tuple[int, str]]:
    """All that was said, joined by commas, as turns; any other part as it is."""
    if ", " not in part.label:
        return [(part.turn, part.label)]
    rest, pieces = part.label, []
    for node in path:
        said = next((text for text in _texts(node) if rest == text or rest.startswith(f"{text}, ")), None)
        if said is not None:
            pieces.append((node.number, said))
            rest = rest[len(said) + 2 :]
    return pieces if not rest and len(pieces) > 1 else [(part.turn, part.label)]


def _sayer(piece: str, latest: int, path: Sequence[Node]) -> int:
    """The turn that said a piece, or at least the last turn that the part holds."""
    return next((node.number for node in reversed(path) if node.number <= latest and piece in _texts(node)), latest)


def _texts(node: Node) -> list[str]:
    """What a turn may have been read as, in words; the longest first."""
    text = " ".join(getattr(node.turn, "text", "").split())
    texts = {text}
    if isinstance(node.turn, Answer):
        asked = node.turn.question.text
        texts |= {statement(asked, text), f"{asked} {text}".strip()}
    return sorted(texts - {""}, key=len, reverse=True)


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
            rest = None if len(in_words) == 1 else text_without(text, chip.label)
            return {"say": rest} if rest else None
        case Like(text=text) | Show(text=text) if not _in_words(chip):
            return {"say": text} if text.strip() else None
        case Like(text=text) | Show(text=text):
            rest = "" if len(in_words) == 1 else text_without(text, chip.label)
            return None if rest is None else turn_to_json(replace(node.turn, text=rest))
        case Reject(pictures, text) if not _in_words(chip):
            return {"reject": [], "text": text} if pictures and text.strip() else None
        case Reject(pictures, text):
            rest = "" if len(in_words) == 1 else text_without(text, chip.label)
            return turn_to_json(Reject(pictures, rest)) if rest or (pictures and rest is not None) else None
        case _:
            return None


def _in_words(chip: Chip) -> bool:
    return chip.kind not in PICTURE_KINDS and chip.kind != "rejected"
