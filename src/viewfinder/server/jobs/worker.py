"""Both ends of a process that does one job: `python -m viewfinder.server.jobs.worker`, which only a server starts.

stdin: one line, the job: {"library": folder, "id": id, "kind": "add", "paths": [...], "names": {path: name to tell}},
{"library": folder, "kind": "prepare", "retriever": name} or {"library": folder, "kind": "remove", "pictures": [ids]}.
Then "stop" (or the end of the server, which closes stdin) ends the work after the batch that is under way.
stdout: {"done": 64, "total": 900} after each batch, when it is acknowledged (where pictures are added, the report up to
there before it: {"so_far": {...}}); at the end {"report": {...}, "stopped": false} or {"error": "one line"}. Reports
and errors name no folder of this machine.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from viewfinder.errors import BadInput, LibraryBusy, ViewfinderError
from viewfinder.plugins import find_fault
from viewfinder.server.redaction import hide_paths, to_unicode
from viewfinder.session.evidence import warm_gallery
from viewfinder.stopping import Stopped
from viewfinder.store.adding_note import JOB

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.query import RegionSpace
    from viewfinder.store.reports import AddReport, FillReport

LISTED = 10
"""Failures that a report names; all are at /collection/failures."""

SUMMED = ("added", "changed", "moved", "duplicates", "described", "with_text", "unusable", "made", "removed")
"""Counts that add up over several runs of one job; for everything else the last run counts."""


def report_failure(path: str | Path, reason: str) -> dict[str, str]:
    """A file by its last name, and why it could not be read."""
    return {"name": to_unicode(Path(path).name), "reason": to_unicode(hide_paths(reason))}


def report_adding(report: AddReport) -> dict[str, Any]:
    """Counts, notes, and the first failures; of what was left out on purpose no places, only numbers."""
    counts = ("found", "added", "changed", "moved", "unchanged", "duplicates", "quarantined", "described")
    return {
        **{name: getattr(report, name) for name in counts},
        **{name: dict(getattr(report, name)) for name in ("passed_over", "sidecars", "lacking")},
        "left_out": {why: {"files": left.files, "folders": left.folders} for why, left in report.left_out.items()},
        "notes": [hide_paths(line) for line in report.notes],
        "failures": [report_failure(failure.path, failure.reason) for failure in report.failures[:LISTED]],
    }


def report_filling(filled: FillReport) -> dict[str, Any]:
    """How many pictures got regions, how many could not, and the first of those."""
    left_out = filled.left_out
    return {
        "made": filled.made,
        "left_out": len(left_out),
        "failures": [report_failure(bad.path, bad.reason) for bad in left_out[:LISTED]],
    }


def merge_reports(before: Mapping[str, Any] | None, last: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a job that ran several times. The last run found unchanged what an earlier one took in.

    Anything unchanged beyond that was added by a run that died before it could report it.
    """
    if before is None:
        return dict(last)
    sums = {name: before.get(name, 0) + last[name] for name in SUMMED if name in last}
    if "unchanged" not in last:
        return {**last, **sums}
    taken = sum(before.get(name, 0) for name in ("added", "changed", "moved", "duplicates"))
    unchanged = max(min(last["unchanged"] - taken, before.get("unchanged", 0)), 0)
    sums["added"] += max(last["unchanged"] - taken - unchanged, 0)
    return {**last, **sums, "unchanged": unchanged}


COMMAND = (sys.executable, "-m", "viewfinder.server.jobs.worker")

POLL_S = 0.02
"""How often to check whether a worker has ended, while waiting for it."""

READ_BYTES = 1 << 16
"""Bytes read at once of what a worker says: as many as a pipe holds."""


class JobWorker:
    """One worker at one job."""

    def __init__(self, process: subprocess.Popen[bytes], output: asyncio.StreamReader) -> None:
        self._process, self._output = process, output

    @staticmethod
    async def start(job: Mapping[str, Any]) -> JobWorker:
        """A new process, out of reach of the terminal's Ctrl-C, with this job (see `worker`).

        Not by asyncio's own call: uvloop forks, whereupon OpenBLAS ends its threads in this process, and a search that
        is multiplying just then waits for them forever. `subprocess` does not fork (it uses vfork).

        Its output is not read by connect_read_pipe either: uvloop closes the pipe's descriptor, and then the pipe,
        which closes the same number again. By then another thread may have opened a file that got this number.
        """
        process = subprocess.Popen(
            COMMAND, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        assert isinstance(process.stdout, io.FileIO)
        worker = JobWorker(process, _read_soon(process.stdout))
        worker._say(json.dumps(dict(job)))
        return worker

    async def said(self) -> AsyncIterator[dict[str, Any]]:
        """The messages of the worker, until it ends."""
        async for line in self._output:
            with suppress(ValueError):  # cut short by its death
                yield json.loads(line)

    async def stop(self, patience_s: float) -> None:
        """Asks it to end after its batch; ends it if that takes too long. What is acknowledged is kept."""
        self._say("stop")
        try:
            await asyncio.wait_for(self.ended(), patience_s)
        except TimeoutError:
            self.kill()

    def kill(self) -> None:
        """Ends it at once; nothing acknowledged is lost."""
        self._process.kill()

    async def ended(self) -> int:
        """Its exit status, negative for a signal; once it has one."""
        while (status := self._process.poll()) is None:
            await asyncio.sleep(POLL_S)
        assert self._process.stdin is not None
        self._process.stdin.close()
        return status

    def _say(self, line: str) -> None:
        """A line of a few bytes: a pipe takes it at once."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, ValueError):  # it has died: `said` ends, and that says so
            self._process.stdin.write(line.encode() + b"\n")


def _read_soon(pipe: io.FileIO) -> asyncio.StreamReader:
    """What comes out of a pipe, read when there is something to read. The pipe is closed at its end, once."""
    loop, descriptor, output = asyncio.get_running_loop(), pipe.fileno(), asyncio.StreamReader()

    def read() -> None:
        try:
            said = pipe.read(READ_BYTES)
        except OSError:
            said = b""
        if said:
            output.feed_data(said)
        elif said is not None:  # None: there was nothing to read after all
            loop.remove_reader(descriptor)
            pipe.close()
            output.feed_eof()

    os.set_blocking(descriptor, False)
    loop.add_reader(descriptor, read)
    return output


NICENESS = 19
"""Conversations come first: other work takes the resources they leave."""

Tell = Callable[[Mapping[str, Any]], None]


def main() -> int:
    """Reads the job, does it, reports the outcome."""
    # The pipe to the server is ours alone; what libraries print goes to stderr instead.
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with suppress(OSError):
        os.nice(NICENESS)

    def tell(message: Mapping[str, Any]) -> None:
        with suppress(OSError):  # the server is gone: the work that is acknowledged is not
            print(json.dumps(message), file=pipe, flush=True)

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

        fault = find_fault(error)
        if fault is None or os.environ.get("VIEWFINDER_LOG", "").strip().lower() == "debug":
            traceback.print_exc()
        what = hide_paths(f"{type(error).__name__}: {error}", names)[:500]
        unforeseen = f"something unforeseen happened ({what}); the server's log says more"
        tell({"error": unforeseen if fault is None else hide_paths(fault, names)})
    return 0


def run_job(job: Mapping[str, Any], tell: Tell, should_stop: Callable[[], bool]) -> dict[str, Any]:
    """The work itself; waits as long as it takes for another process that writes to the library."""
    from viewfinder.library import Library

    library = Library.open(Path(job["library"]), create=False)
    work = {"add": _add, "prepare": _prepare, "remove": _remove, "describe": _describe}[job["kind"]]
    while not should_stop():
        try:
            return work(library, job, tell, should_stop)
        except LibraryBusy:
            continue
    return {"stopped": True}


def _add(library: Library, job: Mapping[str, Any], tell: Tell, should_stop: Callable[[], bool]) -> dict[str, Any]:
    if job.get("demo"):
        from viewfinder.server.jobs.demo import draw_demo

        paths, catalogue = draw_demo(library)
    else:
        paths, catalogue = [Path(path) for path in job["paths"]], None
    JOB.set(job.get("id"))
    report = library.add(
        *paths,
        catalogue=catalogue,
        workers=1,
        follow_links=False,  # they would lead out of the roots below which pictures may be added
        progress=lambda done, total: tell({"done": done, "total": total}),
        note=lambda report: tell({"so_far": report_adding(report)}),
        should_stop=should_stop,
    )
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
    _warm(library, retriever.reads.space)
    return {"report": report_filling(filled), "stopped": False}


def _remove(library: Library, job: Mapping[str, Any], tell: Tell, should_stop: Callable[[], bool]) -> dict[str, Any]:
    if job.get("demo"):
        from viewfinder.server.jobs.demo import remove_demo

        gone = remove_demo(library)
    else:
        there = [picture for picture in job["pictures"] if picture in library]  # some may be gone since they were named
        gone = library.remove(*there)
    _warm(library)
    return {"report": {"removed": len(gone)}, "stopped": False}


def _describe(library: Library, job: Mapping[str, Any], tell: Tell, should_stop: Callable[[], bool]) -> dict[str, Any]:
    from viewfinder.server.jobs.describing import describe_pictures

    done = describe_pictures(library, job, tell, should_stop)
    _warm(library)
    return done


def _warm(library: Library, space: RegionSpace | None = None) -> None:
    """Computes in advance what the first search would wait for; the server finds it beside the snapshot."""
    with suppress(BadInput):  # no file at all was a picture
        gallery = library.gallery()
        warm_gallery(gallery)
        if space is not None:
            from viewfinder.search.regions import find_block  # not in the server, which runs none of this

            find_block(gallery, space)


def _listen(stdin: TextIO, stopping: threading.Event) -> None:
    """Waits for "stop", or until the server has ended."""
    for line in stdin:
        if line.strip() == "stop":
            break
    stopping.set()


if __name__ == "__main__":
    sys.exit(main())
