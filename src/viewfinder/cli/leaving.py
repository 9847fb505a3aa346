"""Ending while a language model is still waited for."""

from __future__ import annotations

import os
import sys
import threading

WAITING = frozenset({"asking", "questioners", "language-model"})
"""Threads that wait for a language model which nobody listens to any more."""


def leave_at_once_if_waiting(code: int) -> None:
    """Ends the process now where such a thread is left, and returns where none is.

    An orderly end would wait for it; and if it did not, native libraries whose objects the thread holds would abort.
    Whatever is to be written must be written before.
    """
    if any(thread.name in WAITING for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
