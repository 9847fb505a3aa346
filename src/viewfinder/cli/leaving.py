"""How the process ends: by its own exit code, also when Ctrl-C comes late or a language model is still waited for."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from typing import NoReturn

WAITING = frozenset({"asking", "questioners", "language-model"})
"""Threads that wait for a language model which nobody listens to any more."""


def leave_if_waiting(code: int) -> None:
    """Ends the process now where such a thread is left, and returns where none is.

    An orderly end would wait for it; and if it did not, native libraries whose objects the thread holds would abort.
    Whatever is to be written must be written before.
    """
    if any(thread.name in WAITING for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def end_by(code: int) -> NoReturn:
    """Exits with `code`, whatever Ctrl-C does from here on.

    While the interpreter still waits for threads, Ctrl-C ends it at once. After that it would be killed by the signal
    (Python takes its handlers back before it has ended), although all is said and done: then Ctrl-C means nothing.
    """
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(code))
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)
