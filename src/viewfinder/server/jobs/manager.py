"""Jobs: kept in the database, done one at a time by a worker process, and watched by any number of clients.

A job's state in the database is the desired one: any server process writes down that it is paused or cancelled, and the
process that runs it follows within a batch. Batches that were acknowledged survive any crash.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from filelock import FileLock, Timeout

from viewfinder.errors import DatabaseError, ViewfinderError
from viewfinder.server.database import JobRow, JobRows
from viewfinder.server.jobs.worker import JobWorker, merge_reports
from viewfinder.server.live_library import LiveLibrary
from viewfinder.server.problems import Problem, not_found
from viewfinder.store.adding_note import Eta

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.server.settings import ServerSettings


def find_folder_below(root: int, folder: str, roots: Sequence[Path]) -> Path:
    """The folder (or file) `folder` of a root, absolute and with links followed.

    Raises:
        Problem: 422, there is no such root or folder, or it lies outside the root.
    """
    if not 0 <= root < len(roots):
        started = f"there are {len(roots)}" if roots else "the server was started without --root DIR"
        raise Problem(422, "unknown-root", f"there is no root {root}: {started}")
    home = roots[root].resolve()
    inside = there = True
    try:
        place = (home / folder).resolve()
        inside = place.is_relative_to(home)
        there = inside and place.exists()
    except (OSError, ValueError, RuntimeError):  # a name no file can have, or links in a circle
        there = False
    if not inside:
        raise Problem(422, "outside-roots", f"{folder!r} does not lie below root {root} ({home.name})")
    if not there:
        raise Problem(422, "no-such-folder", f"there is no folder {folder!r} below this root: check the spelling")
    return place


def find_own_folder(path: str) -> Path:
    """A folder (or file) of this machine, absolute and with links followed; "~" is the home of who runs the server.

    Raises:
        Problem: 422, there is none, or the path is not absolute.
    """
    try:
        place = Path(path).expanduser()
        there = place.is_absolute() and place.exists()
        found = place.resolve() if there else place
    except (OSError, ValueError, RuntimeError):  # a name no file can have, no such user, or links in a circle
        there = False
    if not there:
        raise Problem(422, "no-such-folder", f"there is no folder {path!r} on this machine: check the spelling")
    return found


ENDED = ("done", "failed", "cancelled")

WISHES = {
    "pause": ("paused", ("queued", "running")),
    "resume": ("queued", ("paused", "failed")),
    "cancel": ("cancelled", ("queued", "running", "paused")),
}
"""The state that a request gives a job, and the states in which it applies."""

LOOK_S = 0.5
"""How often to check for requests and progress from another server process."""

RETRY_S = 5.0
"""The delay between two tries if the database is away, or no process can be started."""

PATIENCE_S = 20.0
"""How long a worker that was asked to end may take before it is killed; a batch takes a second or two."""

DEATHS = 3
"""A job fails when its worker has died this often without progress."""

MAX_PICTURES = 200
"""Pictures sent or named one by one that one job takes in, or removes."""

JOINED = ("uploaded", "pictures")
"""Lists of a job that grow until it begins."""

_LOG = logging.getLogger("viewfinder.server.jobs")


class _Look(NamedTuple):
    """A look at a job; good until then, or until there is other news."""

    news: asyncio.Event
    until: float
    reading: asyncio.Task[JobRow | None]


class Jobs:
    """The jobs of one library. `submit` and so on may be called from any thread, once started or not."""

    def __init__(self, library: Library, rows: JobRows, settings: ServerSettings) -> None:
        self._library, self.rows, self._settings = library, rows, settings
        self._submitting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()  # set, and replaced by a new one, whenever a job has changed
        self._work: asyncio.Task[None] | None = None
        self._stopping = False
        self._alone = FileLock(library.folder / "server" / "jobs.lock")
        self._sure = False  # that every job marked as running is run: the process that ran one may have died
        self._eta: tuple[str, Eta] | None = None
        self._looks: dict[str, _Look] = {}

    # -- from start to end

    async def start(self) -> None:
        """Begins with the queued jobs, and with those that a dead server was running."""
        self._loop = asyncio.get_running_loop()
        self._stopping = False
        # Imports Lance where it is needed, which takes two seconds, before the first request for the collection.
        await asyncio.to_thread(self._library.failures)
        self._work = asyncio.create_task(self._run_all())

    async def stop(self) -> None:
        """The running job is stopped after its batch, and queued again."""
        self._stopping = True
        self._tell()
        if self._work is not None:
            await self._work
            self._work = None
        self._alone.release()

    # -- wishes

    def submit(self, kind: Literal["add", "prepare", "remove", "describe"], what: Mapping[str, Any]) -> JobRow:
        """A new job, queued: {"root": 0, "folder": "2019"}, {"path": "/home/me/Pictures"}, {"uploaded": file name},
        {"retriever": name}, {"pictures": id}, {"text_only": false, "limit": 500}, or {"demo": true}: added or removed.

        Uploaded pictures that wait are taken in by one job, and those to be removed go by one.

        Raises:
            Problem: the folder is not there, or not below the root.
            UnknownName: no such retriever.
        """
        self._describe_job(kind, what)
        with self._submitting:
            row = self._join_waiting_job(what)
            if row is None:
                what = {name: [value] if name in JOINED else value for name, value in what.items()}
                row = JobRow(str(uuid.uuid4()), kind, what, "queued", time.time())
                self.rows.create(row)
        self._tell()
        return row

    def get(self, id: str) -> JobRow:
        """One job.

        Raises:
            Problem: 404, there is none of that id.
        """
        row = self.rows.get(id)
        if row is None:
            raise not_found("job", id)
        return row

    def waiting(self) -> int:
        """How many jobs wait or run."""
        return sum(row.state in ("queued", "running") for row in self.rows.unfinished())

    def adding(self) -> JobRow | None:
        """The job that adds pictures now; None if there is none."""
        return next((row for row in self.rows.unfinished() if (row.kind, row.state) == ("add", "running")), None)

    def steer(self, id: str, wish: Literal["pause", "resume", "cancel"]) -> JobRow:
        """Pauses or ends it after the batch that is under way, or goes on with it (also where it has failed).

        Raises:
            Problem: 404 there is no such job; 409 it has ended.
        """
        state, of = WISHES[wish]
        ended = time.time() if wish == "cancel" else None
        row = self.rows.change(id, only_if=of, state=state, error=None, ended=ended)
        if row is None:
            raise not_found("job", id)
        if row.state != state and (wish, row.state) != ("resume", "running"):
            raise Problem(409, "job-ended", f"this job is {row.state}: it cannot become {state} any more")
        self._tell()
        return row

    def eta_s(self, row: JobRow) -> float | None:
        """Seconds that a running job will still take, by its speed; None while that is not known.

        If another process runs it, by the progress that this one was asked to report.
        """
        runs_here = self._alone.is_locked
        if self._eta is None or self._eta[0] != row.id:
            if runs_here:
                return None
            self._eta = (row.id, Eta())
        if not runs_here and row.total is not None:
            self._eta[1].note(row.done, row.total, time.monotonic())
        return self._eta[1].left_s(time.monotonic())

    async def watch(self, id: str, gone: Callable[[], bool] = lambda: False) -> AsyncGenerator[JobRow]:
        """The job as it is, and again whenever it has changed, until it has ended (or its watcher is `gone`)."""
        seen = None
        while not gone():
            news = self._news
            row = await self._look(id)
            if row is None:
                return
            if row != seen:
                yield row
            if row.state in ENDED:
                return
            seen = row
            await _wait_at_most(news, LOOK_S)

    async def _look(self, id: str) -> JobRow | None:
        """The job as it is: read from the database once for all its watchers."""
        look = self._looks.get(id)
        if look is None or look.news is not self._news or look.until < time.monotonic():
            reading = asyncio.create_task(asyncio.to_thread(self.rows.get, id))
            look = self._looks[id] = _Look(self._news, time.monotonic() + LOOK_S / 2, reading)
        row = await asyncio.shield(look.reading)
        if row is None or row.state in ENDED:
            self._looks.pop(id, None)
        return row

    # -- inside: wishes

    def _join_waiting_job(self, what: Mapping[str, Any]) -> JobRow | None:
        """Adds a picture to a job that waits to do the same with others; None: there is none that it could join."""
        name = next(iter(what))
        for row in self.rows.unfinished() if name in JOINED else ():
            names = row.what.get(name, ())
            if row.state == "queued" and 0 < len(names) < MAX_PICTURES:
                more = {name: list(dict.fromkeys([*names, what[name]]))}
                changed = self.rows.change(row.id, only_if=("queued",), what=more)
                if changed is not None and changed.what == more:
                    return changed
        return None

    def _describe_job(self, kind: str, what: Mapping[str, Any]) -> dict[str, Any]:
        """The message to the worker, with absolute paths and the names by which it may mention them."""
        folder = self._library.folder.resolve()
        job: dict[str, Any] = {"library": str(folder), "kind": kind, "names": {str(folder): "the library"}}
        if kind == "prepare":
            from viewfinder.retrievers import PLUGINS, RETRIEVERS

            PLUGINS.check_name(what["retriever"], (*RETRIEVERS, *self._settings.retrievers))
            return {**job, "retriever": what["retriever"]}
        if what.get("demo"):
            return {**job, "demo": True}
        if kind == "remove":
            return {**job, "pictures": what["pictures"]}
        if kind == "describe":
            from viewfinder.server.jobs.describing import plan_describing

            return {**job, **plan_describing(what, self._settings)}
        if "uploaded" in what:
            names = [what["uploaded"]] if isinstance(what["uploaded"], str) else what["uploaded"]
            return {**job, "paths": [str(folder / "pictures" / Path(name).name) for name in names]}
        if "path" in what:
            place = find_own_folder(what["path"])
            name = place.name or str(place)
        else:
            place = find_folder_below(what["root"], what["folder"], self._settings.roots)
            name = "/".join(filter(None, (self._settings.roots[what["root"]].name, what["folder"])))
        return {**job, "paths": [str(place)], "names": {**job["names"], str(place): name}}

    def _tell(self) -> None:
        """Wakes the runner and all who watch; from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    # -- inside: the runner

    async def _run_all(self) -> None:
        deaths: dict[str, int] = {}
        while not self._stopping:
            news, pause_s = self._news, LOOK_S
            try:
                row = await self._next()
                if row is not None:
                    self._wake()
                    await self._run(row, deaths)
                    continue
            except Exception:  # the database is away, say: jobs wait for it
                self._sure, pause_s = False, RETRY_S
                _LOG.exception("a job could not be run; trying again")
            await _wait_at_most(news, pause_s)

    async def _next(self) -> JobRow | None:
        """The next job, now running; None while there is none, or another process of this library runs jobs."""
        if not self._alone.is_locked:
            try:
                Path(self._alone.lock_file).parent.mkdir(parents=True, exist_ok=True)
                self._alone.acquire(timeout=0)
            except (Timeout, OSError):  # it runs elsewhere, or this library cannot be written to
                return None
        return await asyncio.to_thread(self._take_next)

    def _take_next(self) -> JobRow | None:
        """Looks before it takes, so that an idle server never holds the database for writing."""
        unfinished = self.rows.unfinished()
        if not self._sure:
            for row in unfinished:
                self.rows.change(row.id, only_if=("running",), state="queued")
            self._sure = True
        elif not any(row.state == "queued" for row in unfinished):
            return None
        return self.rows.take_next(time.time())

    async def _run(self, row: JobRow, deaths: dict[str, int]) -> None:
        """One job, until it has ended or should no longer run."""
        try:
            job = await asyncio.to_thread(self._describe_job, row.kind, row.what)
        except (Problem, ViewfinderError) as error:
            await self._change(row.id, state="failed", error=str(error), ended=time.time())
            return
        worker = await JobWorker.start({**job, "id": row.id})
        obeying = asyncio.create_task(self._obey(row.id, worker))
        try:
            last, got_on = await self._listen(row, worker)
            await worker.ended()
        finally:
            obeying.cancel()
            worker.kill()
            self._eta = None
        deaths[row.id] = 0 if got_on or last is not None else deaths.get(row.id, 0) + 1
        await self._settle(row, last, hopeless=deaths[row.id] >= DEATHS)

    async def _listen(self, row: JobRow, worker: JobWorker) -> tuple[dict[str, Any] | None, bool]:
        """Notes progress; returns the worker's last word (None: it died without one), and whether it made progress."""
        eta, got_on = Eta(), False
        self._eta = (row.id, eta)
        async for said in worker.said():
            if "so_far" in said:  # kept with the batch: who dies has no last word
                await self._change(row.id, report=merge_reports(row.report, said["so_far"]))
                continue
            if "done" not in said:
                return said, got_on
            eta.note(said["done"], said["total"], time.monotonic())
            got_on = got_on or said["done"] > 0
            await self._change(row.id, done=row.done + said["done"], total=row.done + said["total"])
        return None, got_on

    async def _obey(self, id: str, worker: JobWorker) -> None:
        """Stops the worker when its job is not to run any more."""
        while True:
            news = self._news
            try:
                row = await asyncio.to_thread(self.rows.get, id)
                wanted = row is not None and row.state == "running"
            except DatabaseError:  # no request can be read: work continues
                wanted = True
            if self._stopping or not wanted:
                await worker.stop(min(PATIENCE_S, self._settings.shutdown_s / 4) if self._stopping else PATIENCE_S)
                return
            await _wait_at_most(news, LOOK_S)

    async def _settle(self, begun: JobRow, last: Mapping[str, Any] | None, *, hopeless: bool) -> None:
        """Records the outcome of a run, respecting a request that came meanwhile. `begun`: the job as it was before."""
        while (now := await asyncio.to_thread(self.rows.get, begun.id)) is not None:
            fields = settle_job(replace(now, report=begun.report), last, hopeless=hopeless, at=time.time())
            row = await asyncio.to_thread(self.rows.change, begun.id, only_if=(now.state,), **fields)
            if row is None or row.state == fields.get("state", now.state):
                break
        if isinstance(self._library, LiveLibrary):
            self._library.look_now()
        self._wake()

    async def _change(self, id: str, **fields: Any) -> None:
        await asyncio.to_thread(self.rows.change, id, **fields)
        self._wake()


def settle_job(now: JobRow, last: Mapping[str, Any] | None, *, hopeless: bool, at: float) -> dict[str, Any]:
    """The columns to change after a run: `last` is the worker's last message, None if it died without one.

    The report of `now` is that of the runs before.
    """
    fields: dict[str, Any] = {}
    if last is not None and "report" in last:
        fields["report"] = merge_reports(now.report, last["report"])
    if last is not None and last.get("stopped") is False and now.state != "cancelled":
        whole = now.done if now.total is None else now.total  # perhaps it ended before it could be stopped
        return {**fields, "state": "done", "done": whole, "total": whole, "ended": at}
    if now.state != "running":
        return fields
    if last is not None and "error" in last:
        return {**fields, "state": "failed", "error": last["error"], "ended": at}
    if last is None and hopeless:
        died = f"the worker died {DEATHS} times without getting on, perhaps for want of memory"
        return {**fields, "state": "failed", "error": died, "ended": at}
    return {**fields, "state": "queued"}


async def _wait_at_most(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
