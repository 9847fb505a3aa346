"""A picture's stamp: one number that changes whenever what is known of it besides its own bytes may have changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2b


def make_stamp(folder: str, sidecars: Sequence[str], signature: int) -> int:
    """The stamp of a picture in `folder` with these sidecars: their names, sizes and times, and the readers' version.

    `signature` stands for everything else that facts depend on, such as the readers' version. The result has 64 bits
    with a sign, as tables hold it, and is 0 only without sidecars and with signature 0.

    >>> make_stamp("photos", (), 0)
    0
    """
    if not sidecars and not signature:
        return 0
    told = blake2b(str(signature).encode(), digest_size=8)
    for name in sidecars:
        try:
            status = os.stat(f"{folder}/{name}")  # noqa: PTH116
            state = f"{status.st_size} {status.st_mtime_ns}"
        except OSError:  # gone since it was listed, or not to be looked at: no facts come from it either
            state = "gone"
        told.update(f"\0{name}\0{state}".encode("utf-8", "surrogateescape"))
    return int.from_bytes(told.digest(), "little", signed=True) or 1
