"""Ends the remains of a cluster when the process that began it was killed: `keeper FOLDER`, started by that process.

Most of Ray's processes end with the one that began them. But two agents go on for a minute, and the folder stays. This
process waits until its stdin ends. A parent that ends in order sees to the rest itself.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

MAX_ENDING_S = 5.0
"""The time in which the processes must end by themselves, or once they are killed."""


def main() -> None:
    """Waits; ends the processes and removes the folder, if the parent is gone."""
    folder, parent = Path(sys.argv[1]), os.getppid()
    sys.stdin.buffer.read()
    with suppress(psutil.Error):  # it is gone, but for its parent, who has not asked yet how it ended
        if os.getppid() == parent and psutil.Process(parent).status() != psutil.STATUS_ZOMBIE:
            return
    end_processes(folder)
    shutil.rmtree(folder, ignore_errors=True)


def end_processes(folder: Path) -> None:
    """Kills the Python processes that have a file in a folder open, as all of Ray's have their logs."""
    until = time.monotonic() + MAX_ENDING_S
    while (found := find_processes(folder)) and time.monotonic() < until:
        for process in found:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(found, timeout=1)


def find_processes(folder: Path) -> list[psutil.Process]:
    """Those that run this Python, other than this one."""
    python = Path(sys.executable).resolve()
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid == psutil.Process().pid or Path(process.exe()).resolve() != python:
                continue
            if any(folder in Path(file.path).parents for file in process.open_files()):
                found.append(process)
    return found


if __name__ == "__main__":
    main()
