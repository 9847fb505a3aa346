"""Pixel hashes as texts, `hash/orientation`, and what they say of two files (see `identity.hash_pixels`)."""

from __future__ import annotations


def split_pixel_hash(pixel_hash: str) -> tuple[str, str]:
    """The hash of a picture's data, and the orientation that viewers apply; both "" where they are not known.

    >>> split_pixel_hash("0b1f/6"), split_pixel_hash("")
    (('0b1f', '6'), ('', ''))
    """
    data, _, orientation = pixel_hash.partition("/")
    return data, orientation


def is_same_picture(one: str, other: str) -> bool:
    """Whether two files of these pixel hashes hold the same picture, perhaps turned, with other metadata.

    >>> is_same_picture("0b1f/6", "0b1f/1"), is_same_picture("", "")
    (True, False)
    """
    data = split_pixel_hash(one)[0]
    return bool(data) and data == split_pixel_hash(other)[0]
