"""One job in a process of its own: `python -m viewfinder.server.jobs.worker`, which only a server starts.

stdin: one line, the job: {"library": folder, "kind": "add", "paths": [...], "names": {path: name to tell}} or
{"library": folder, "kind": "prepare", "retriever": name}. Then "stop" (or the end of the server, which closes stdin)
ends the work after the batch that is under way.
stdout: {"done": 64, "total": 900} after each batch, when it is acknowledged; at the end {"report": {...}, "stopped":
false} or {"error": "one line"}.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from viewfinder.errors import BadInput, LibraryBusy, ViewfinderError
from viewfinder.server.discreet import hide_paths
from viewfinder.server.jobs.telling import report_adding, report_filling

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.retrievers import RegionSpace

NICENESS = 19
"""Talks come first: what runs beside them takes what they leave."""

Tell = Callable[[Mapping[str, Any]], None]


class Stopped(Exception):
    """Asked to stop, in the middle of work that has no other way to."""


def main() -> int:
    """Reads the job, does it, tells how it went."""
    told = _private_stdout()
    with suppress(OSError):
        os.nice(NICENESS)
    tell = _teller(told)
    job = json.loads(sys.stdin.readline())
    stopping = threading.Event()
    threading.Thread(target=_listen, args=(sys.stdin, stopping), daemon=True).start()
    names = {Path(path): str(name) for path, name in job.get("names", {}).items()}
    try:
        tell(run_job(job, tell, stopping.is_set))
    except ViewfinderError as error:
        tell({"error": hide_paths(str(error), names)})
    except Exception as error:
        import traceback

        traceback.print_exc()
        what = hide_paths(f"{type(error).__name__}: {error}", names)[:500]
        tell({"error": f"something unforeseen happened ({what}); the server's log says more"})
    return 0


def run_job(job: Mapping[str, Any], tell: Tell, should_stop: Callable[[], bool]) -> dict[str, Any]:
    """The work itself; waits as long as it takes for another process that writes to the library."""
    from viewfinder.library import Library

    library = Library.open(Path(job["library"]), create=False)
    work = _add if job["kind"] == "add" else _prepare
    while not should_stop():
        try:
            return work(library, job, tell, should_stop)
        except LibraryBusy:
            continue
    return {"stopped": True}


def _add(library: Library, job: Mapping[str, Any], tell: Tell, should_stop: Callable[[], bool]) -> dict[str, Any]:
    def progress(done: int, total: int) -> None:
        tell({"done": done, "total": total})

    report = library.add(*map(Path, job["paths"]), workers=1, progress=progress, should_stop=should_stop)
    if not report.stopped:
        _warm(library)
    return {"report": report_adding(report), "stopped": report.stopped}


def _prepare(library: Library, job: Mapping[str, Any], tell: Tell, should_stop: Callable[[], bool]) -> dict[str, Any]:
    from viewfinder.retrievers import load_retriever

    def progress(done: int, total: int) -> None:
        tell({"done": done, "total": total})
        if should_stop() and done < total:
            raise Stopped

    retriever = load_retriever(job["retriever"])
    try:
        filled = library.prepare(retriever, progress)
    except Stopped:
        return {"stopped": True}
    space = retriever.query(retriever.begin()).space
    _warm(library, None if isinstance(space, str) else space)
    return {"report": report_filling(filled), "stopped": False}


def _warm(library: Library, space: RegionSpace | None = None) -> None:
    """Has computed what the first search would wait for; the server finds it beside the snapshot."""
    with suppress(BadInput):  # no file at all was a picture
        gallery = library.gallery()
        computed = [gallery.background_n]
        if gallery.encoder.vocabulary is not None:
            computed.append(gallery.vocabulary_nl)
        if space is not None:
            gallery.block(space)


def _private_stdout() -> TextIO:
    """The pipe to the server; what libraries print goes to stderr instead."""
    private = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return private


def _teller(out: TextIO) -> Tell:
    def tell(message: Mapping[str, Any]) -> None:
        with suppress(OSError):  # the server is gone: the work that is acknowledged is not
            out.write(json.dumps(message) + "\n")
            out.flush()

    return tell


def _listen(stdin: TextIO, stopping: threading.Event) -> None:
    """Until "stop", or until nobody is there any more to say it."""
    for line in stdin:
        if line.strip() == "stop":
            break
    stopping.set()


if __name__ == "__main__":
    sys.exit(main())
