"""Modifications as FashionMT writes them: numbered clauses, and templates that look back to earlier pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

ORDINALS = ("FIRST", "SECOND", "THIRD")
"""The names of earlier pictures in a modification: the reference, then the targets of turns 1 and 2."""
_CLAUSE_NUMBER = re.compile(r"(?<![\w.])(\d+)\.(?!\d)\s*(keep the\b)?")
_PICTURE_ORDINAL = re.compile(rf"\b({'|'.join(ORDINALS)})\b")
_PART = re.compile(rf"\b({'|'.join(ORDINALS)})['’]s\b\s*(None\b)?")


@dataclass(frozen=True)
class Modification:
    """The text of a turn: numbered clauses, and the lead before them ("I prefer the FIRST, and")."""

    lead: str
    clauses: tuple[str, ...]


@dataclass(frozen=True)
class OrdinalReference:
    """The pictures of a transaction that a turn looks back to, by their place in `Transaction.pictures`."""

    setting: Literal["rollback", "combination"]
    places: tuple[int, ...]


def split_modification(modification: str) -> Modification:
    """The numbered clauses of a modification, and its lead; only the numbers are lost.

    A number opens a clause if it continues the count from 1, or stands before "keep the" (which is number 4 whatever
    came before); any other number is part of a clause. A text without such numbers is one clause, or a lead if it
    names a picture. (The published code drops the lead, cuts a clause at any digit in training, and makes an unnumbered
    text empty in evaluation.)

    >>> split_modification("I prefer the FIRST, and 1. is red 2. has a 3 inch heel ")
    Modification(lead='I prefer the FIRST, and', clauses=('is red', 'has a 3 inch heel'))
    """
    marks = list(_find_clause_marks(modification))
    if not marks:
        text = modification.strip()
        alone = _PICTURE_ORDINAL.search(text) and not _PART.search(text)
        return Modification(text, ()) if alone else Modification("", (text,) if text else ())
    ends = [start for start, _ in marks[1:]] + [len(modification)]
    said = tuple(modification[start:end].strip() for (_, start), end in zip(marks, ends, strict=True))
    return Modification(modification[: marks[0][0]].strip(), said)


def _find_clause_marks(modification: str) -> Iterator[tuple[int, int]]:
    """(start of the number, start of the clause) of every clause."""
    awaited = 1
    for match in _CLAUSE_NUMBER.finditer(modification):
        if int(match[1]) == awaited or match[2]:
            awaited = int(match[1]) + 1
            yield match.start(), match.start(2) if match[2] else match.end()


def parse_ordinal_reference(modification: str) -> OrdinalReference | None:
    """The reference of a published template to earlier pictures; None if a modification does not look back.

    "keep the FIRST's .. and the SECOND's .." combines; an ordinal in the lead rolls back. If nothing was shared, the
    published text says "keep the SECOND's None", which is not a back reference.
    Any other wording is parsed by `wording.back_references.find_back_reference`.

    >>> parse_ordinal_reference("1. is red 4. keep the FIRST's long sleeve and keep the SECOND's None")
    OrdinalReference(setting='combination', places=(0,))
    """
    parts = list(_PART.finditer(modification))
    if parts:
        return OrdinalReference("combination", tuple(ORDINALS.index(part[1]) for part in parts if not part[2]))
    named = _PICTURE_ORDINAL.search(split_modification(modification).lead)
    return OrdinalReference("rollback", (ORDINALS.index(named[1]),)) if named else None
