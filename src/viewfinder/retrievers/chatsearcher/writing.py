"""Words as they are written, one piece after the other. No torch here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator

BROKEN = "\N{REPLACEMENT CHARACTER}"
"""What stands for a character of which a piece has a part only."""


class LazyPieces:
    """Numbers that are worked out once, when somebody first wants them, and kept; for all threads."""

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._known: list[int] = []
        self._more = iter(numbers)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[int]:
        at = 0
        while self._knows(at):
            yield self._known[at]
            at += 1

    def _knows(self, at: int) -> bool:
        with self._lock:
            if at == len(self._known) and (number := next(self._more, None)) is not None:
                self._known.append(number)
            return at < len(self._known)


def stream_text(numbers: Iterable[int], text_of: Callable[[list[int]], str]) -> Iterator[str]:
    """The words that pieces make, as far as they are whole characters; joined they are the text of all pieces.

    A character of which parts are missing at the very end is left out.
    """
    known: list[int] = []
    told = 0
    for number in numbers:
        known.append(number)
        text = text_of(known)
        if len(text) > told and not text.endswith(BROKEN):
            yield text[told:]
            told = len(text)
