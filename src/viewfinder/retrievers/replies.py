"""Whether what a retriever gives is what the rest of the library may rely on; if not, whose retriever it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from viewfinder.plugins import refuse_reply
from viewfinder.query import Opinion, Part, Query, Reads, RegionSpace
from viewfinder.retrievers.base import Retriever

KINDS = ("words", "picture", "value", "vocabulary", "contrast", "regions")
"""Kinds of parts."""

NOUN = "retriever"


def check_reads(retriever: Retriever[Any]) -> Reads:
    """The `reads` of a retriever. Raises PartFailed: it is something else."""
    reads = retriever.reads
    if not isinstance(reads, Reads):
        raise refuse_reply(NOUN, retriever, f"`reads` is {_name_type(reads)}, not Reads")
    return reads


def check_state(retriever: Retriever[Any], state: Any, method: str) -> Any:
    """A state, whatever it is. Raises PartFailed: it is None, which stands for none."""
    if state is None:
        raise refuse_reply(NOUN, retriever, f"`{method}` gave None, not a state")
    return state


def check_query(retriever: Retriever[Any], query: object, widths: Mapping[str, int] | None = None) -> Query:
    """A query that can be compared with pictures. Raises PartFailed.

    `widths` has, for the kinds of parts that there may be in it, how many numbers a picture has for them; None: that is
    not known yet.
    """
    if not isinstance(query, Query):
        raise refuse_reply(NOUN, retriever, f"`query` gave {_name_type(query)}, not a Query")
    if not isinstance(query.parts, tuple):
        raise refuse_reply(NOUN, retriever, f"`query` gave parts that are {_name_type(query.parts)}, not a tuple")
    for part in query.parts:
        if wrong := _find_wrong(part, widths):
            raise refuse_reply(NOUN, retriever, f"`query` gave {wrong}")
    for name, number in (("sharpness", query.sharpness), ("shown_factor", query.shown_factor)):
        if not _is_number(number) or number <= 0:
            raise refuse_reply(NOUN, retriever, f"`query` gave a {name} of {number!r}")
    for opinion in query.opinions:
        if not isinstance(opinion, Opinion) or not _is_number(opinion.nats):
            raise refuse_reply(NOUN, retriever, f"`query` gave {opinion!r:.80} among the opinions")
        space, theirs = opinion.query.space, widths
        if isinstance(space, RegionSpace) and widths is not None:
            theirs = {**widths, "regions": space.width}
        check_query(retriever, opinion.query, theirs)
    return query


def _find_wrong(part: object, widths: Mapping[str, int] | None) -> str | None:
    """The fault of a part of a query, in words; None: it has none."""
    if not isinstance(part, Part):
        return f"{_name_type(part)} among the parts, not a Part"
    here = f"in the part {part.label!r} of kind {part.kind!r}"
    if part.kind not in KINDS or not _is_number(part.weight):
        what = "a kind that does not exist" if part.kind not in KINDS else f"a weight of {part.weight!r}"
        return f"{what} {here}"
    if part.kind == "value":
        return None if part.value is not None else f"no value {here}"
    if widths is not None and part.kind not in widths:
        return f"vectors that these pictures are not compared with {here}"
    wrong = _find_wrong_vector(part, None if widths is None else widths[part.kind])
    return wrong and f"{wrong} {here}"


def _find_wrong_vector(part: Part, width: int | None) -> str | None:
    if not _is_vector(part.vector_d, 1, width):
        return f"a vector that is {_describe_vector(part.vector_d)}{_describe_wanted(width)}"
    if part.kind == "contrast" and not _is_vector(part.rivals_rd, 2, width):
        return f"rivals that are {_describe_vector(part.rivals_rd)}{_describe_wanted(width)}"
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


def _is_vector(vector: object, axes: int, width: int | None) -> bool:
    return (
        isinstance(vector, np.ndarray)
        and vector.ndim == axes
        and vector.dtype.kind in "fiu"
        and width in (None, vector.shape[-1])
        and bool(np.isfinite(vector).all())
    )


def _describe_vector(vector: object) -> str:
    if not isinstance(vector, np.ndarray):
        return _name_type(vector)
    if vector.dtype.kind == "f" and not np.isfinite(vector).all():
        return "no finite numbers"
    return f"an array of {vector.dtype} of shape {vector.shape}"


def _describe_wanted(width: int | None) -> str:
    return "" if width is None else f" (finite numbers, {width:,} of them, are needed)"


def _name_type(value: object) -> str:
    return "None" if value is None else type(value).__name__
