"""Reads farbfeld pictures: "farbfeld", width and height, then red, green, blue and alpha of 16 bits, big-endian."""

from __future__ import annotations

import struct

import numpy as np
from PIL import Image

HEADER = struct.Struct(">8sII")


class Farbfeld:
    """The reader. It keeps nothing: the processes that decode pictures make one each."""

    format = "farbfeld"
    extensions = ("ff",)
    starts = (b"farbfeld",)

    def read_size(self, data: bytes) -> tuple[int, int]:
        """Width and height, of the header."""
        _, width, height = HEADER.unpack_from(data)
        return width, height

    def read_picture(self, data: bytes) -> Image.Image:
        """The upper eight bits of every channel; colours and transparency are then treated as any picture's."""
        width, height = self.read_size(data)
        values = np.frombuffer(data, ">u2", count=4 * width * height, offset=HEADER.size)  # ValueError: truncated
        return Image.fromarray((values.reshape(height, width, 4) >> 8).astype(np.uint8))
