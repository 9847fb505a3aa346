"""Checks that an encoder's vectors can be stored and compared.

Vectors are stored in half precision. One number that is not finite there stops a table from being written, or makes a
picture the best result of every search; a vector of zeros is as near to anything as to anything else. An encoder of
another package, a model in half precision or a head that did not converge may give either, of a few pictures or of all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.base import Encoder
from viewfinder.pictures.outcomes import NO_VECTOR
from viewfinder.plugins import refuse_reply


def check_rows(made: object, count: int, encoder: Encoder, *, of: str = "picture") -> Float[np.ndarray, "n d"]:
    """An encoder's reply as an array with one row for each of `count` things. Raises PartFailed: it is none."""
    try:
        rows_nd = np.asarray(made)
    except (TypeError, ValueError):  # rows of different lengths
        given = type(made).__name__
    else:
        if rows_nd.ndim == 2 and len(rows_nd) == count and rows_nd.dtype.kind in "fiu":
            return rows_nd
        given = f"{rows_nd.dtype} of shape {rows_nd.shape}"
    raise refuse_reply("encoder", encoder, f"one vector a {of} is needed, {count} in all, and it gave {given}")


def find_unusable(rows_nd: Float[np.ndarray, "n d"]) -> dict[int, str]:
    """The rows that cannot be kept in half precision as vectors of something, and what is wrong with each."""
    with np.errstate(over="ignore"):
        half_nd = rows_nd.astype(np.float16)
    suspect_n = ~np.isfinite(half_nd).all(axis=1) | ~half_nd.any(axis=1)
    return {row: _say_why(rows_nd[row]) for row in np.flatnonzero(suspect_n).tolist()}


def _say_why(row_d: Float[np.ndarray, " d"]) -> str:
    if np.isnan(row_d).any():
        return "it holds what is not a number"
    if np.isinf(row_d).any():
        return "it holds an infinite number"
    largest = float(np.abs(row_d).max(initial=0.0))
    return f"it holds {largest:.4g}, more than half precision has" if largest > 1 else "all its numbers are zero there"


def say_no_vector(encoder: Encoder, why: str) -> str:
    """The reason for which a picture is in quarantine. It is tried again whenever it is added: an encoder may be
    mended.
    """
    return f"{NO_VECTOR}: {encoder.name} gave one that cannot be used ({why})"


def check_finite(rows: Float[np.ndarray, "*n"], encoder: Encoder, of: str) -> Float[np.ndarray, "*n"]:
    """Returns the rows. Raises PartFailed: some number is not finite; `of` says what they are vectors of."""
    if not np.isfinite(rows).all():
        raise refuse_reply("encoder", encoder, f"it gave no usable vector of {of}: not all its numbers are finite")
    return rows


def check_texts(made: object, texts: Sequence[str], encoder: Encoder) -> Float[np.ndarray, "n d"]:
    """The vectors that an encoder gave of texts. Raises PartFailed: they are none; the message has the text."""
    rows_nd = check_rows(made, len(texts), encoder, of="text")
    if not np.isfinite(rows_nd).all():
        at = int(np.flatnonzero(~np.isfinite(rows_nd).all(axis=1))[0])
        check_finite(rows_nd, encoder, f"the text {texts[at][:60]!r}")
    return rows_nd
