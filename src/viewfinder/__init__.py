"""Find the picture you have in mind by talking about it.

>>> library = viewfinder.open("~/pictures.vf")                      # doctest: +SKIP
>>> library.add("~/Pictures")                                       # doctest: +SKIP
>>> chat = library.chat()                                           # doctest: +SKIP
>>> hits = chat.say("a dog in the snow")                            # doctest: +SKIP

`connect` returns the library of a running server, with the same methods; `viewfinder.aio` runs any of them from
asyncio.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viewfinder.client import RemoteLibrary
    from viewfinder.library import Library

__version__ = "0.1.0"
__all__ = ["__version__", "connect", "open"]


def open(folder: str | Path, encoder: str | None = None) -> Library:
    """Opens the library in `folder`, or creates it there (with the encoder "starter" unless another is named).

    `folder` may also be the URL of a library in a bucket: "s3://bucket/name" or "gs://bucket/name".
    """
    from viewfinder.errors import BadInput, check_path, check_type
    from viewfinder.library import Library
    from viewfinder.store.places import local_folder

    check_type("encoder", encoder, str, type(None))
    try:
        place = local_folder(check_path("folder", folder))
    except RuntimeError as error:  # ~user, with no such home directory here
        raise BadInput(f"folder: {folder}: {error}") from error
    return Library.open(place.absolute(), encoder=encoder)  # it stays there when the program goes elsewhere


def connect(url: str, token: str | None = None) -> RemoteLibrary:
    """Connects to the library of a server (`viewfinder serve`) at `url`; give a `token` if the server asks for one."""
    from viewfinder.client import RemoteLibrary

    return RemoteLibrary(url, token)
