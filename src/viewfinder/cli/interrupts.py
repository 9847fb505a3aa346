"""The first Ctrl-C asks for an orderly end, the second one ends at once."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Any

MESSAGE = b"\nviewfinder: finishing this batch, then stopping (Ctrl-C again stops at once)\n"


class Interrupts:
    """Call it to learn whether the user wants to stop."""

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def __call__(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self.asked

    def __enter__(self) -> Interrupts:
        self._before = signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        os.write(2, MESSAGE)  # not through a buffer: the program may be in the middle of writing to it
