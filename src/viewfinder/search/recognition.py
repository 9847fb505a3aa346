"""Whether an encoder reads words as before, by what an earlier viewfinder left beside its snapshots."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np

from viewfinder.encoders.base import Encoder, to_file_name
from viewfinder.search.own_scale import name_sayings, read_sayings
from viewfinder.store.growing_arrays import map_rows
from viewfinder.store.kept_encoders import SAME_WORDS
from viewfinder.store.snapshot import DERIVED

MAX_COMPARED_SAYINGS = 8
"""Sayings that are read again to recognise how an encoder reads words."""


def reads_sayings_alike(folder: Path, space: str, encoder: Encoder) -> bool | None:
    """Compares with the vectors of sayings beside the library's snapshots of a space; None: there are none."""
    name = to_file_name(f"sayings-{name_sayings()}-{space}")
    for snapshot in (folder / "snapshots").glob("*"):
        with suppress(OSError, ValueError):
            before_nd = map_rows(snapshot / f"{DERIVED}{name}")[:MAX_COMPARED_SAYINGS]
            now_nd = encoder.words(read_sayings()[: len(before_nd)])
            return now_nd.shape == before_nd.shape and bool(np.abs(now_nd - before_nd).max() <= SAME_WORDS)
    return None
