"""What is known of a picture, by any of the names that data sets use for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Value = TypeVar("Value")


def find_picture(known: Mapping[str, Value], picture: str) -> Value | None:
    """The entry of a picture, by its name as it stands or by what follows its last folder.

    A data set's files name pictures with their folder or without; a gallery always has the folder.

    >>> known_of({"1.jpg": "a dog"}, "images/1.jpg")
    'a dog'
    """
    found = known.get(picture)
    return known.get(picture.rsplit("/", 1)[-1]) if found is None else found
