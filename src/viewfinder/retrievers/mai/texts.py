"""Modifications as MAI reads them, in training and at search alike. No torch here."""

from __future__ import annotations

from viewfinder.data.fashionmt import split_modification


def modification_text(modification: str) -> str:
    """A modification without the numbers of its clauses; what looks back is kept, as it is said.

    >>> text_of("I prefer the FIRST, and 1. is red 2. has a 3 inch heel ")
    'I prefer the FIRST, and is red, has a 3 inch heel'
    """
    read = split_modification(modification)
    return " ".join(part for part in (read.lead, ", ".join(read.clauses)) if part)
