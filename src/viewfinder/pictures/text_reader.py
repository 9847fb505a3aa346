"""Reads text in pictures (extra `[ocr]`), in a process of its own: what takes too long costs one picture, not the run.

The package RapidOCR ships the networks that it runs (PP-OCR, by ONNX Runtime), and nothing is fetched. The process is
given pixels that a decoder made and gives back JSON, so no file is read in it, and nothing that it says is run.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import Self

import numpy as np
from numpy.typing import NDArray

from viewfinder.errors import PictureError, ViewfinderError, advise_extra
from viewfinder.pictures.facts.text_lines import MAX_LINES, TextLine

READ_SIDE = 1280
"""Pixels of the longer side of a picture in which text is read."""

READ_SECONDS, START_SECONDS = 60.0, 120.0
"""The most that one picture, and the start of the process, may take."""

READ_MEMORY = 3_000_000_000
"""Bytes of address space beyond those of the started process that it may take."""

MIN_CONFIDENCE, MIN_SHORT_CONFIDENCE, SHORT = 0.6, 0.95, 3
"""Lines of which the reader is less sure are left out, as they are mostly patterns and no writing; more so those of
less than three characters."""

MAX_REPLY_BYTES = 4 << 20

_COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]);"
    "from viewfinder.pictures.text_worker import serve; serve(int(sys.argv[1]))"
)


def is_ocr_installed() -> bool:
    """Whether the package that reads text is here."""
    return find_spec("rapidocr") is not None


class TextReader:
    """Reads the text in pictures, one at a time; `process` does it, once it was started.

    Raises ViewfinderError: the extra is not installed.
    """

    def __init__(self, *, seconds: float = READ_SECONDS) -> None:
        if not is_ocr_installed():
            raise ViewfinderError(f"text in pictures cannot be read without another package: {advise_extra('ocr')}")
        self.seconds = seconds
        self.process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process at once. May be called twice."""
        if self._pipe is not None:
            self._pipe.close()
        if self.process is not None:
            self.process.kill()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=5)
        self.process = self._pipe = None

    def read(self, pixels_hw3: NDArray[np.uint8]) -> list[TextLine]:
        """The lines of text in a picture, from top to bottom.

        Raises:
            PictureError: it takes too long or too much memory, or the process died of it.
            ViewfinderError: the process does not start.
        """
        pipe = self._pipe or self._start()
        try:
            pipe.send_bytes(json.dumps(pixels_hw3.shape).encode())
            pipe.send_bytes(np.ascontiguousarray(pixels_hw3).tobytes())
            if not pipe.poll(self.seconds):
                self.close()
                raise PictureError(f"reading the text took longer than {self.seconds:g} s")
            return _parse_lines(pipe.recv_bytes(MAX_REPLY_BYTES))
        except (EOFError, OSError, ValueError, LookupError, TypeError):
            self.close()
            raise PictureError("reading the text failed, perhaps for want of memory") from None

    def _start(self) -> Connection:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _COMMAND, str(theirs.fileno()), json.dumps([str(place) for place in sys.path])],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "MALLOC_ARENA_MAX": "1"},
                process_group=0,  # a terminal's Ctrl-C does not reach it
            )
            pipe = self._pipe = Connection(ours.detach())
        try:
            started = pipe.poll(START_SECONDS) and json.loads(pipe.recv_bytes(MAX_REPLY_BYTES))
        except (EOFError, OSError, ValueError):
            started = None
        if started != "ready":
            self.close()
            raise ViewfinderError(
                f"the process that reads text does not start: install its packages again with {advise_extra('ocr')}"
            )
        return pipe


def _parse_lines(reply: bytes) -> list[TextLine]:
    """The lines of a reply, whatever the process says. Raises ValueError, LookupError, TypeError: nonsense."""
    found = []
    for text, confidence, box in json.loads(reply)[:MAX_LINES]:
        left, top, right, bottom = (min(max(float(edge), 0.0), 1.0) for edge in box)
        line = TextLine(" ".join(str(text).split()), (left, top, right, bottom), min(float(confidence), 1.0))
        if line.confidence >= (MIN_CONFIDENCE if len(line.text) >= SHORT else MIN_SHORT_CONFIDENCE):
            found.append(line)
    return sorted(found, key=lambda line: (round(line.box[1], 2), line.box[0]))
