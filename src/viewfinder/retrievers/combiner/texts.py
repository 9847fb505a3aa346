"""Modifications as a Combiner reads them, in training and at search alike. No torch here."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.data.fashionmt import split_modification as clauses
from viewfinder.retrievers.shared.forward import to_unit

PROBE = "a red dress with long sleeves"
"""A text whose vector tells whether two shared spaces are one."""


def split_modification(modification: str, how: Literal["whole", "clauses"]) -> tuple[str, ...]:
    """What an encoder reads of a modification, without the numbers of its clauses: all in one, or its lead and clauses.

    >>> pieces("I prefer the FIRST, and 1. is red 2. has a 3 inch heel ", "whole")
    ('I prefer the FIRST, and is red, has a 3 inch heel',)
    >>> pieces("I prefer the FIRST, and 1. is red 2. has a 3 inch heel ", "clauses")
    ('I prefer the FIRST, and', 'is red', 'has a 3 inch heel')
    """
    read = clauses(modification)
    said = tuple(part for part in (read.lead, *read.clauses) if part) or (modification.strip(),)
    if how == "clauses":
        return said
    return (" ".join(part for part in (read.lead, ", ".join(read.clauses)) if part) or said[0],)


def mean_text_vector(of_pieces_pd: Float[np.ndarray, "p d"]) -> Float32[np.ndarray, " d"]:
    """The vector of a text by those of its pieces: their mean, at length 1."""
    return np.asarray(to_unit(of_pieces_pd.mean(axis=0)), np.float32)
