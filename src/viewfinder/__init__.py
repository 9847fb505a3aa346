"""Find the picture you have in mind by talking about it.

>>> library = viewfinder.open("~/pictures.vf")                      # doctest: +SKIP
>>> library.add("~/Pictures")                                       # doctest: +SKIP
>>> chat = library.chat()                                           # doctest: +SKIP
>>> hits = chat.say("a dog in the snow")                            # doctest: +SKIP
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viewfinder.library import Library

__version__ = "0.1.0"
__all__ = ["__version__", "open"]


def open(folder: str | Path, encoder: str | None = None) -> Library:
    """The library in `folder`, made there if it is absent (with the encoder "starter" unless another is named)."""
    from viewfinder.library import Library

    return Library.open(Path(folder).expanduser(), encoder=encoder)
