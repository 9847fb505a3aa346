"""The end of the program: errors become one clear line and an exit code; orderly after Ctrl-C, at once after a second.

No traceback reaches a user who did not ask for one, and nothing late changes the exit code: neither Ctrl-C nor a
language model that is still awaited.
"""

from __future__ import annotations

import atexit
import errno
import logging
import os
import signal
import sys
import threading
import traceback
from types import FrameType, TracebackType
from typing import Any, NoReturn

import typer

from viewfinder.errors import ViewfinderError, explain_missing_package, hide_credentials
from viewfinder.plugins import find_fault

FAILED, WRONG_USE, QUARANTINED = 1, 2, 3
INTERRUPTED = 130

DEBUG = "VIEWFINDER_DEBUG"

WrongUse = typer.BadParameter.__bases__[0]
"""Typer's base of all wrong uses of the command line; where it is defined depends on typer's version."""


def is_debugging() -> bool:
    """Whether the user wants tracebacks."""
    return os.environ.get(DEBUG, "") not in ("", "0")


def report_failure(error: BaseException, *, as_json: bool) -> int:
    """Reports what went wrong, on stderr and with `as_json` on stdout too; returns the exit code."""
    from viewfinder.cli.output import escape_controls, print_json

    line, code = explain_error(error)
    line = hide_credentials(line)  # of a wrong argument, say
    if is_debugging():
        traceback.print_exception(error, file=sys.stderr)
    typer.echo(f"viewfinder: {escape_controls(line)}", err=True)
    if as_json:
        try:
            print_json({"error": {"kind": type(error).__name__, "message": line, "exit_code": code}})
        except OSError:  # the reader is gone, or the disk is full: stderr has it
            silence_stdout()
    return code


def explain_error(error: BaseException) -> tuple[str, int]:  # noqa: PLR0911 (one return a kind of error)
    """One line (what, where, what to do) and the exit code for an error."""
    if isinstance(error, ViewfinderError):
        return join_lines(str(error)), error.exit_code
    if isinstance(error, WrongUse):
        said = join_lines(str(getattr(error, "message", "") or error))
        message = join_lines(error.format_message()) if hasattr(error, "format_message") else said
        return f"{message.rstrip('.')}; `viewfinder --help` and `viewfinder VERB --help` list what there is", WRONG_USE
    if isinstance(error, typer.Abort) and isinstance(error.__cause__, EOFError):
        return explain_unforeseen(error.__cause__), FAILED  # which typer takes for the end of what is typed
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return "interrupted; nothing that was acknowledged is lost, repeat the command to go on", FAILED
    if not is_disk_full(error) and (fault := find_fault(error)) is not None:
        return fault, FAILED
    if isinstance(error, UnicodeDecodeError):
        return f"a text is not UTF-8 ({error.reason} at byte {error.start}): save it as UTF-8", WRONG_USE
    if isinstance(error, OSError):
        return _explain_system_error(error), FAILED
    if isinstance(error, MemoryError):
        return "not enough memory: close other programs or use fewer --workers", FAILED
    if isinstance(error, ModuleNotFoundError):
        return explain_missing_package(error), FAILED
    return explain_unforeseen(error), FAILED


def explain_unforeseen(error: BaseException) -> str:
    """One line for an error that is none of the known kinds."""
    what = f"{type(error).__name__}: {join_lines(str(error))[:300]}"
    return f"something unforeseen happened ({what}): set {DEBUG}=1 to see where, and please report it"


def is_disk_full(error: BaseException) -> bool:
    """Whether an error is due to a full disk."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def _explain_system_error(error: OSError) -> str:
    where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    if is_disk_full(error):
        return f"{where}the disk is full: free some space and repeat the command; nothing acknowledged is lost"
    what = join_lines(error.strerror or str(error)).lower()
    return f"{where}{what}: check that it is there and that you may read and write it"


def join_lines(text: str) -> str:
    """A text without line breaks."""
    return " ".join(text.split())


def silence_stdout() -> None:
    """Sends output to nowhere, once its reader is gone, so that the interpreter's last flush raises nothing."""
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, sys.stdout.fileno())
        os.close(quiet)
    except (OSError, ValueError):  # stdout is no file of the system
        pass


def open_closed_streams() -> None:
    """Opens to nowhere what the caller has closed of stdin, stdout and stderr (`>&-`), which Python has as None.

    The first file that is opened would take the place of a closed one, and get what native libraries print.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 (open to the end)


MESSAGE = b"\nviewfinder: finishing this batch, then stopping (Ctrl-C again stops at once)\n"


class Interrupts:
    """Call it to learn whether the user wants to stop; if `lazily`, Ctrl-C ends the program before the first call."""

    def __init__(self, *, lazily: bool = False) -> None:
        self.asked = False
        self._lazily = lazily
        self._before: Any = None

    def __call__(self) -> bool:
        """Whether Ctrl-C was pressed."""
        if self._before is None:
            self._before = signal.signal(signal.SIGINT, self._on_interrupt)
        return self.asked

    def __enter__(self) -> Interrupts:
        if not self._lazily:
            self()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        os.write(2, MESSAGE)  # not through a buffer: the program may be in the middle of writing to it


WAITING_THREADS = frozenset({"asking", "questioners", "language-model"})
"""Threads that may still wait for a language model whose answer is no longer wanted."""


def leave_if_waiting(code: int) -> None:
    """Ends the process now where such a thread is left, and returns where none is.

    An orderly end would wait for it; and if it did not, native libraries whose objects the thread holds would abort.
    Whatever is to be written must be written before.
    """
    if any(thread.name in WAITING_THREADS for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class Ending:
    """How the process ends: with the code of `end_by`, as soon as all that was registered to run at its end has run.

    From there Python would go on to free object after object and to take libraries down, which after a cold `find`
    takes a sixth of its time, for memory that the system takes back at once. What is registered runs backwards, so this
    is made before anything registers something that has to run. With VIEWFINDER_DEBUG Python ends as it always does.
    """

    def __init__(self) -> None:
        self._code: int | None = None
        atexit.register(self._leave)

    def end_by(self, code: int) -> NoReturn:
        """Exits with `code`, whatever Ctrl-C does from here on.

        While the interpreter still waits for threads, Ctrl-C ends it at once. After that all work is done, and Ctrl-C
        is ignored.
        """
        self._code = code
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(code))
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
        sys.exit(code)

    def _leave(self) -> None:
        """Runs last: threads have ended by then, and what others registered is done."""
        if self._code is None or is_debugging():
            return
        logging.shutdown()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:  # a full disk; what was to be told on stdout was flushed, and reported, before
            self._code = self._code or FAILED
        os._exit(self._code)
