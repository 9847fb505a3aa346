"""Decoding in worker processes: a file that crashes, stalls or devours memory costs one worker, not the run.

Workers are started with exec rather than fork, so that a parent with threads (ONNX Runtime, Lance) is safe,
and without `multiprocessing`'s start methods, which would run the user's own script a second time.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import LifoQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewfinder.errors import PictureError, ViewfinderError
from viewfinder.pictures.decode import Limits, read_limits
from viewfinder.pictures.facts.model import MAX_VALUE_LENGTH, NAMES, Fact
from viewfinder.pictures.fits import Fit, Stretch
from viewfinder.pictures.found_files import FoundFile
from viewfinder.pictures.outcomes import BadFile, DecodedFile, Facts, IdentifiedFile, Outcome
from viewfinder.pictures.worker import READY, pack_request

MAX_FILES_HELD = 4
"""Pictures that a worker holds at once: read ahead, being decoded, or waiting to be taken."""

MAX_DECODING = 3
"""Pictures that `decode_one` decodes at the same time; further callers wait."""

_READ_AHEAD = 1 << 20
"""Bytes of decoded pictures that wait in the socket; the system may allow fewer."""

_START_SECONDS = 60.0
_FAILED_STARTS = 3
_MAX_HEADER_BYTES = 1 << 20
_COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]);"
    "from viewfinder.pictures.worker import serve; serve(int(sys.argv[1]))"
)
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
_KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(8 << 20), "MALLOC_TRIM_THRESHOLD_": str(32 << 20)}
"""glibc gives every picture's memory back to the system, and takes it again; so much stays for the next one."""


class Decoders:
    """A few worker processes, alive from `with` (or the first use) to `close`."""

    def __init__(self, workers: int, *, fit: Fit, limits: Limits | None = None) -> None:
        if workers < 1:
            raise ValueError(f"{workers=}, but at least one is needed")
        self._count, self._fit, self._limits = workers, fit, limits or read_limits()
        self._workers: list[_Worker] = []
        self._failed_starts = 0
        self._owner = os.getpid()
        self._busy = threading.Lock()

    def __enter__(self) -> Decoders:
        self._fill_up()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends all workers at once, whatever they do, and leaves no zombie. May be called twice."""
        if os.getpid() != self._owner:
            return  # a fork of the process that has the workers
        while self._workers:
            self._workers.pop().end()

    def decode(
        self, paths: Iterable[Path], *, fit: Fit | None = None, limits: Limits | None = None
    ) -> Iterator[DecodedFile | BadFile]:
        """One outcome a path, in the order of the paths, without what is known of the pictures. See `read`."""
        for outcome in self.read(paths, fit=fit, limits=limits):
            assert not isinstance(outcome, IdentifiedFile), "a path's pixels are always asked for"
            yield outcome

    def read(
        self, files: Iterable[Path | FoundFile], *, fit: Fit | None = None, limits: Limits | None = None
    ) -> Iterator[Outcome]:
        """One outcome a file, in their order; they are drawn no faster than they are needed.

        What is known of a picture is read of found files alone, and the pixels of those that are `facts_only` are not.

        Workers go on while the caller holds an outcome, up to `MAX_FILES_HELD` pictures each. One decoding at a
        time: an iterator that is given up must be closed (or collected) before the next begins. `fit` and
        `limits` are for this one decoding, in place of the workers' own.

        Raises:
            ViewfinderError: no worker can be started at all.
            RuntimeError: another `decode` of these workers is under way.
        """
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("these Decoders are decoding already: finish or close that iterator first")
        run = _Decoding(iter(files), fit or self._fit, limits or self._limits)
        try:
            while True:
                self._feed_workers(run)
                if not run.order:
                    return
                if (outcome := run.order[0].outcome) is not None:
                    run.order.popleft()
                    yield outcome
                else:
                    self._await_workers(run)
        finally:
            self._end_workers(worker for worker in list(self._workers) if worker.jobs)
            self._busy.release()

    def _feed_workers(self, run: _Decoding) -> None:
        """Draws files into the window and hands them to the workers with the least to do."""
        for file in islice(run.files, self._count * MAX_FILES_HELD - len(run.order)):
            job = _make_job(file, run)
            run.order.append(job)
            run.waiting.append(job)
        while run.waiting and (worker := self._find_free(run.waiting[0])):
            if worker.take(run.waiting[0]):
                run.waiting.popleft()
            else:
                self._replace_dead(worker, run)

    def _find_free(self, job: _FileJob) -> _Worker | None:
        self._fill_up()
        least = min(self._workers, key=lambda worker: len(worker.jobs))
        if job.alone or any(other.alone for other in least.jobs):
            return least if not least.jobs else None
        return least if len(least.jobs) < MAX_FILES_HELD else None

    def _fill_up(self) -> None:
        while len(self._workers) < self._count:
            self._workers.append(_Worker())

    def _await_workers(self, run: _Decoding) -> None:
        """Until a worker has something to say, or has been silent for too long."""
        deadlines = {worker: worker.deadline(run.limits) for worker in self._workers}
        pause = max(0.0, min(deadlines.values()) - time.monotonic())
        ready = set(wait([worker.pipe for worker in self._workers], pause))
        for worker, deadline in deadlines.items():
            if worker.pipe in ready:
                try:
                    worker.hear()
                    self._failed_starts = 0
                except (EOFError, OSError, ValueError, LookupError, TypeError):  # dead, or out of its mind
                    self._replace_dead(worker, run)
            elif time.monotonic() >= deadline:
                self._end_overdue(worker, run)

    def _end_overdue(self, worker: _Worker, run: _Decoding) -> None:
        """The file at the head is to blame; those behind it have not been looked at."""
        self._end_workers([worker])
        if not worker.ready:
            self._count_failed_start("it did not start within a minute")
        elif worker.jobs:
            worker.jobs.popleft().fail(f"took longer than {run.limits.seconds:g} s")
        run.retry(worker.jobs)

    def _replace_dead(self, worker: _Worker, run: _Decoding) -> None:
        """A worker died, perhaps of no file: each it held is tried alone; the one that kills again is bad."""
        self._end_workers([worker])
        if not worker.ready:
            self._count_failed_start(worker.explain_death(run.limits))
        elif worker.jobs and worker.jobs[0].alone:
            worker.jobs.popleft().fail(worker.explain_death(run.limits))
        else:
            for job in worker.jobs:
                job.alone = True
        run.retry(worker.jobs)

    def _count_failed_start(self, how: str) -> None:
        self._failed_starts += 1
        if self._failed_starts >= _FAILED_STARTS:
            raise ViewfinderError(
                f"no picture can be read: the worker process ({sys.executable}) does not start: {how}"
            )

    def _end_workers(self, workers: Iterable[_Worker]) -> None:
        for worker in workers:
            worker.end()
            self._workers.remove(worker)


def decode_one(path: Path, fit: Fit, limits: Limits | None = None) -> DecodedFile:
    """One picture, through a worker that is kept; for several threads. Raises PictureError: it cannot be read."""
    outcome = read_one(path, fit, limits)
    assert isinstance(outcome, DecodedFile), "a path's pixels are always asked for"
    return outcome


def read_one(file: Path | FoundFile, fit: Fit, limits: Limits | None = None) -> DecodedFile | IdentifiedFile:
    """One file as `Decoders.read` reads it, through a worker that is kept. Raises PictureError: it cannot be read."""
    idle = _get_idle_decoders(os.getpid())
    decoders = idle.get()
    try:
        (outcome,) = decoders.read([file], fit=fit, limits=limits)
    finally:
        idle.put(decoders)
    if isinstance(outcome, BadFile):
        raise PictureError(outcome.reason)
    return outcome


def decode_content(content: bytes, fit: Fit) -> DecodedFile:
    """Decodes the bytes of a picture's file in a worker, as `decode_one` does, because they may be hostile."""
    with tempfile.NamedTemporaryFile(prefix="viewfinder-") as file:
        file.write(content)
        file.flush()
        return decode_one(Path(file.name), fit)


@lru_cache(maxsize=1)
def _get_idle_decoders(process: int) -> LifoQueue[Decoders]:
    """The workers of `decode_one`, for each process its own (a fork must not share its parent's).

    The last one put back is the next one taken: a second one is started only when the first is busy.
    """
    idle: LifoQueue[Decoders] = LifoQueue()
    for _ in range(MAX_DECODING):
        decoders = Decoders(1, fit=Stretch())
        atexit.register(decoders.close)
        idle.put(decoders)
    return idle


@dataclass(eq=False)
class _FileJob:
    """A file on its way; `alone` if it was with a worker when that died: it gets the next to itself."""

    path: Path
    asked: bytes
    alone: bool = False
    outcome: Outcome | None = None

    def fail(self, reason: str) -> None:
        try:
            status = os.stat(self.path)  # noqa: PTH116
            size, mtime_ns = status.st_size, status.st_mtime_ns
        except OSError:
            size, mtime_ns = 0, 0
        self.outcome = BadFile(self.path, size, mtime_ns, reason)


@dataclass
class _Decoding:
    """One decoding under way: jobs in the order to be given back, and those of them not yet with a worker."""

    files: Iterator[Path | FoundFile]
    fit: Fit
    limits: Limits
    order: deque[_FileJob] = field(default_factory=deque)
    waiting: deque[_FileJob] = field(default_factory=deque)

    def retry(self, jobs: deque[_FileJob]) -> None:
        self.waiting.extendleft(reversed(jobs))
        jobs.clear()


def _make_job(file: Path | FoundFile, run: _Decoding) -> _FileJob:
    if not isinstance(file, FoundFile):
        return _FileJob(Path(file), pack_request(os.path.abspath(file), run.fit, run.limits))  # noqa: PTH100
    place = os.path.abspath(file.path)  # noqa: PTH100
    sidecars = [os.path.join(os.path.dirname(place), name) for name in file.sidecars]  # noqa: PTH118, PTH120
    asked = pack_request(place, run.fit, run.limits, sidecars=sidecars, pixels=not file.facts_only)
    return _FileJob(file.path, asked)


class _Worker:
    """The parent's end of one worker process; `jobs` are with it, the first being worked on."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _READ_AHEAD)
            self.process = subprocess.Popen(
                [sys.executable, "-c", _COMMAND, str(theirs.fileno()), json.dumps([str(place) for place in sys.path])],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, **_ONE_THREAD, **_KEEP_MEMORY},
                process_group=0,  # a terminal's Ctrl-C does not reach it
            )
            self.pipe = Connection(ours.detach())
        self.jobs: deque[_FileJob] = deque()
        self.ready = False
        self._since = time.monotonic()

    def take(self, job: _FileJob) -> bool:
        """Gives the worker a file; False if it has died in the meantime."""
        if not self.jobs and self.ready:
            self._since = time.monotonic()
        try:
            self.pipe.send_bytes(job.asked)
        except OSError:
            return False
        self.jobs.append(job)
        return True

    def deadline(self, limits: Limits) -> float:
        """When to give up on it, by the monotonic clock: its silence is counted, not its age."""
        if not self.ready:
            return self._since + _START_SECONDS
        return self._since + limits.seconds if self.jobs else float("inf")

    def hear(self) -> None:
        """Takes one message: that it is ready, or the outcome of its first job. Raises much if it is nonsense."""
        message = self.pipe.recv_bytes(_MAX_HEADER_BYTES)
        if message == READY:
            self.ready = True
        else:
            job, header = self.jobs[0], json.loads(message)
            size, mtime_ns = int(header["size"]), int(header["mtime_ns"])
            if "reason" in header:
                job.outcome = BadFile(job.path, size, mtime_ns, str(header["reason"]))
            else:
                picture, known, pixel_hash = str(header["id"]), _parse_facts(header), str(header["pixel_hash"])
                if "shape" in header:
                    pixels = _receive_pixels(self.pipe.fileno()).reshape(header["shape"])
                    facts = Facts(**header["facts"])
                    job.outcome = DecodedFile(
                        job.path, picture, size, mtime_ns, pixels, facts, known=known, pixel_hash=pixel_hash
                    )
                else:
                    job.outcome = IdentifiedFile(job.path, picture, size, mtime_ns, known, pixel_hash)
            self.jobs.popleft()
        self._since = time.monotonic()

    def end(self) -> None:
        """Kills the process and waits for it, unless a dead disk holds it in the kernel."""
        self.pipe.close()
        self.process.kill()  # does not change how a process that is ending will have ended
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=5)

    def explain_death(self, limits: Limits) -> str:
        """Why a worker that `end` has buried died of its own accord."""
        code = self.process.returncode
        if code == -signal.SIGALRM:
            return f"took longer than {limits.seconds:g} s"
        if code == -signal.SIGKILL:
            return "the decoder was killed, perhaps for want of memory"
        if code is not None and code < 0:
            return f"crashed the decoder ({signal.Signals(-code).name})"
        return f"the decoder ended with exit status {code}"


def _parse_facts(header: Mapping[str, Any]) -> tuple[Fact, ...]:
    """The facts in a header, as texts and of the names that there are, whatever a worker says."""
    return tuple(
        Fact(str(name), tuple(str(value)[:MAX_VALUE_LENGTH] for value in values), str(source)[:MAX_VALUE_LENGTH])
        for name, values, source in header["known"]
        if name in NAMES and values
    )


def _receive_pixels(descriptor: int) -> NDArray[np.uint8]:
    """One message of a `Connection`, read to where it stays. Raises EOFError, OSError, ValueError."""
    prefix = bytearray(4)
    _read_to(descriptor, memoryview(prefix))
    [length] = struct.unpack("!i", prefix)
    if length < 0:
        raise ValueError("pixels without end")
    pixels = np.empty(length, np.uint8)
    _read_to(descriptor, pixels.data)
    return pixels


def _read_to(descriptor: int, left: memoryview) -> None:
    while left:
        if not (count := os.readv(descriptor, [left])):
            raise EOFError
        left = left[count:]
