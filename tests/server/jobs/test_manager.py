"""Jobs with real workers: paused, cancelled, killed. Nothing that was acknowledged is ever lost."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from viewfinder.errors import DatabaseError, UnknownName
from viewfinder.library import Library
from viewfinder.server.database import JobRow, JobRows
from viewfinder.server.jobs import manager, worker
from viewfinder.server.jobs.manager import DEATHS, Jobs, settle_job
from viewfinder.server.problems import Problem
from viewfinder.server.settings import ServerSettings

FOLDER = {"root": 0, "folder": "drawn"}  # 600 pictures
FEW = {"root": 0, "folder": "few"}  # 100
LONG_S = 180.0


@pytest.fixture
def jobs(empty: Library, job_rows: JobRows, job_settings: ServerSettings, colours_worker: tuple[str, ...]) -> Jobs:
    return Jobs(empty, job_rows, job_settings)


@pytest.fixture
def resting(empty: Library, any_job_rows: JobRows, job_settings: ServerSettings) -> Jobs:
    """Jobs that nobody runs, in either kind of database."""
    return Jobs(empty, any_job_rows, job_settings)


def _running(jobs: Jobs, story: Callable[[], Awaitable[None]]) -> None:
    """The story, told while jobs run."""

    async def whole() -> None:
        await jobs.start()
        try:
            await asyncio.wait_for(story(), LONG_S)
        finally:
            await jobs.stop()

    asyncio.run(whole())


async def _until(jobs: Jobs, id: str, seen: Callable[[JobRow], bool]) -> JobRow:
    async for row in jobs.watch(id):
        if seen(row):
            return row
    raise AssertionError(f"never seen; at the end the job was {jobs.get(id)}")


async def _ended(jobs: Jobs, id: str) -> JobRow:
    return [row async for row in jobs.watch(id)][-1]


_STARTED: list[subprocess.Popen[bytes]] = []


@pytest.fixture(autouse=True)
def _noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that this process starts are noted."""

    def start(*given: Any, **more: Any) -> subprocess.Popen[bytes]:
        _STARTED.append(subprocess.Popen(*given, **more))
        return _STARTED[-1]

    _STARTED.clear()
    monkeypatch.setattr(worker, "subprocess", SimpleNamespace(Popen=start, PIPE=subprocess.PIPE))


def _worker_pids() -> list[int]:
    """Workers of this process that have not ended."""
    return [process.pid for process in _STARTED if process.poll() is None]


@pytest.mark.slow
def test_pause_stops_within_a_batch_and_resume_goes_on_from_there_telling_its_progress(
    jobs: Jobs, empty: Library
) -> None:
    kept: list[int] = []
    told: list[JobRow] = []

    async def story() -> None:
        row = jobs.submit("add", FOLDER)
        at = (await _until(jobs, row.id, lambda now: now.done > 0)).done
        assert jobs.steer(row.id, "pause").state == "paused"
        while _worker_pids():
            await asyncio.sleep(0.05)
        kept.extend([at, len(empty.store.ids())])
        assert jobs.get(row.id).state == "paused"
        jobs.steer(row.id, "resume")
        told.extend([row async for row in jobs.watch(row.id)])

    _running(jobs, story)
    assert kept[0] <= kept[1] <= kept[0] + 2 * 256  # at most the batches that were being stored and encoded
    assert kept[1] < 600
    assert {"running", "done"} <= {row.state for row in told}
    counts = [row.done for row in told]
    assert counts == sorted(counts)
    last = told[-1]
    assert (last.state, last.done, last.total) == ("done", 600, 600)
    assert last.report is not None
    assert (last.report["added"], last.report["unchanged"]) == (600, 0)
    assert len(empty.gallery()) == len(empty.store.ids()) == 600


@pytest.mark.slow
def test_a_killed_worker_is_started_again_and_nothing_is_lost(jobs: Jobs, empty: Library) -> None:
    async def story() -> None:
        row = jobs.submit("add", FEW)
        at = (await _until(jobs, row.id, lambda now: now.done > 0)).done
        for pid in _worker_pids():
            os.kill(pid, signal.SIGKILL)
        again = await _until(jobs, row.id, lambda now: now.done > at)
        assert again.state == "running"
        last = await _ended(jobs, row.id)
        assert last.state == "done"
        assert last.report is not None
        assert {name: last.report[name] for name in ("found", "added", "unchanged")} == {
            "found": 100,
            "added": 100,
            "unchanged": 0,
        }

    _running(jobs, story)
    assert len(empty.store.ids()) == 100
    assert empty.verify() == []


@pytest.mark.slow
def test_a_worker_that_keeps_dying_without_getting_on_is_given_up(jobs: Jobs) -> None:
    async def story() -> None:
        row = jobs.submit("add", FOLDER)
        while jobs.get(row.id).state in ("queued", "running"):
            for pid in _worker_pids():
                os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.02)
        assert jobs.get(row.id).state == "failed"
        assert f"died {DEATHS} times" in (jobs.get(row.id).error or "")

    _running(jobs, story)


SERVER = """
import asyncio, sys
from pathlib import Path
from viewfinder.library import Library
from viewfinder.server.database import Database, JobRows
from viewfinder.server.jobs import worker
from viewfinder.server.jobs.manager import Jobs
from viewfinder.server.settings import ServerSettings

async def main(library, database, root, *command):
    worker.COMMAND = command
    jobs = Jobs(Library.open(Path(library)), JobRows(Database.open(database)), ServerSettings(roots=(Path(root),)))
    await jobs.start()
    jobs.submit("add", {"root": 0, "folder": "few"})
    await asyncio.sleep(3600)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.slow
def test_after_kill_9_of_the_server_the_next_one_goes_on(
    jobs: Jobs, job_rows: JobRows, empty: Library, many: Path, tmp_path: Path, colours_worker: tuple[str, ...]
) -> None:
    database = f"sqlite:///{tmp_path / 'server.sqlite3'}"
    killed = subprocess.Popen([sys.executable, "-c", SERVER, empty.folder, database, many, *colours_worker])
    try:
        deadline = time.monotonic() + LONG_S
        while not any(row.done > 0 for row in job_rows.page(5)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        killed.kill()
        killed.wait()
    (row,) = job_rows.page(5)
    assert row.state == "running"  # as it was when the server died
    acknowledged = row.done

    async def story() -> None:
        last = await _ended(jobs, row.id)
        assert last.state == "done"
        assert last.report is not None
        assert (last.report["added"], last.report["unchanged"]) == (100, 0)

    _running(jobs, story)
    assert 0 < acknowledged <= 100
    assert len(empty.store.ids()) == 100
    assert empty.verify() == []


@pytest.mark.slow
def test_a_server_that_ends_queues_its_job_again(jobs: Jobs, job_rows: JobRows, empty: Library) -> None:
    async def story() -> None:
        row = jobs.submit("add", FOLDER)
        await _until(jobs, row.id, lambda now: now.done > 0)

    _running(jobs, story)
    (row,) = job_rows.page(1)
    assert row.state == "queued"
    assert row.done == len(empty.store.ids()) < 600
    assert _worker_pids() == []


@pytest.mark.slow
def test_of_two_servers_one_runs_jobs_and_what_the_other_cancels_keeps_what_was_acknowledged(
    jobs: Jobs, job_rows: JobRows, empty: Library, job_settings: ServerSettings
) -> None:
    other = Jobs(Library.open(empty.folder), job_rows, job_settings)

    async def story() -> None:
        await other.start()
        try:
            row = other.submit("add", FOLDER)
            at = (await _until(other, row.id, lambda now: now.done > 0)).done
            assert len(_worker_pids()) == 1
            assert other.steer(row.id, "cancel").state == "cancelled"
            while _worker_pids():
                await asyncio.sleep(0.05)
            assert at <= len(empty.store.ids()) < 600
            assert jobs.get(row.id).state == "cancelled"
            with pytest.raises(Problem, match="cancelled"):
                jobs.steer(row.id, "resume")
        finally:
            await other.stop()

    _running(jobs, story)
    assert empty.verify() == []


def test_what_cannot_be_done_is_refused_when_it_is_asked_for(resting: Jobs) -> None:
    with pytest.raises(Problem, match="does not lie below"):
        resting.submit("add", {"root": 0, "folder": "../.."})
    with pytest.raises(UnknownName, match="no retriever is called 'nobody'"):
        resting.submit("prepare", {"retriever": "nobody"})
    with pytest.raises(Problem, match="there is no job"):
        resting.steer("nothing", "pause")
    assert resting.rows.page(5) == []


def test_uploaded_pictures_that_wait_share_a_job(resting: Jobs, any_job_rows: JobRows) -> None:
    first, second = (resting.submit("add", {"uploaded": name}) for name in ("a.png", "b.png"))
    assert first.id == second.id
    assert resting.get(first.id).what == {"uploaded": ["a.png", "b.png"]}
    any_job_rows.change(first.id, state="running")
    third = resting.submit("add", {"uploaded": "c.png"})
    assert third.id != first.id
    assert resting.get(first.id).what == {"uploaded": ["a.png", "b.png"]}


def test_a_job_that_waits_is_paused_resumed_and_cancelled_without_running(resting: Jobs) -> None:
    id = resting.submit("add", FOLDER).id
    assert [resting.steer(id, "pause").state, resting.steer(id, "pause").state, resting.steer(id, "resume").state] == [
        "paused",
        "paused",
        "queued",
    ]
    assert resting.waiting() == 1
    assert resting.steer(id, "cancel").state == resting.steer(id, "cancel").state == "cancelled"
    assert resting.waiting() == 0
    with pytest.raises(Problem) as caught:
        resting.steer(id, "pause")
    assert (caught.value.status, caught.value.kind) == (409, "job-ended")


@pytest.mark.slow
def test_a_folder_without_pictures_fails_and_can_be_tried_again(jobs: Jobs, many: Path) -> None:
    (many / "bare").mkdir(exist_ok=True)

    async def story() -> None:
        id = jobs.submit("add", {"root": 0, "folder": "bare"}).id
        failed = await _ended(jobs, id)
        assert failed.state == "failed"
        assert (failed.error or "").startswith("no pictures in root/bare: looked for")
        assert (jobs.steer(id, "resume").state, jobs.get(id).error) == ("queued", None)

    _running(jobs, story)


def test_a_folder_that_is_gone_when_its_turn_comes_fails_its_job(jobs: Jobs, many: Path) -> None:
    (many / "leaving").mkdir()
    id = jobs.submit("add", {"root": 0, "folder": "leaving"}).id
    (many / "leaving").rmdir()

    async def story() -> None:
        failed = await _ended(jobs, id)
        assert failed.state == "failed"
        assert "there is no folder 'leaving'" in (failed.error or "")

    _running(jobs, story)


def test_jobs_wait_for_a_database_that_is_away_for_a_moment(
    jobs: Jobs, job_rows: JobRows, many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_next, asked = job_rows.take_next, []

    def away_at_first(at: float) -> JobRow | None:
        asked.append(at)
        row = take_next(at)
        if len(asked) == 1:
            raise DatabaseError("the answer was lost")  # the job is said to be running, and nobody runs it
        return row

    monkeypatch.setattr(job_rows, "take_next", away_at_first)
    monkeypatch.setattr(manager, "RETRY_S", 0.01)
    test_a_folder_that_is_gone_when_its_turn_comes_fails_its_job(jobs, many)
    assert len(asked) >= 2


@pytest.mark.parametrize(
    ("state", "last", "hopeless", "becomes"),
    [
        ("running", {"report": {}, "stopped": False}, False, "done"),
        ("paused", {"report": {}, "stopped": False}, False, "done"),  # it ended before it could be stopped
        ("cancelled", {"report": {}, "stopped": False}, False, "cancelled"),
        ("running", {"report": {}, "stopped": True}, False, "queued"),
        ("paused", {"stopped": True}, False, "paused"),
        ("queued", {"stopped": True}, False, "queued"),
        ("running", {"error": "no"}, False, "failed"),
        ("cancelled", {"error": "no"}, False, "cancelled"),
        ("running", None, False, "queued"),
        ("running", None, True, "failed"),
        ("paused", None, True, "paused"),
    ],
)
def test_what_becomes_of_a_job_after_a_run(
    state: str, last: dict[str, object] | None, hopeless: bool, becomes: str
) -> None:
    now = JobRow("a", "add", {}, state, 1.0, done=70, total=100)
    assert settle_job(now, last, hopeless=hopeless, at=5.0).get("state", state) == becomes


def test_many_who_watch_a_job_cost_the_database_no_more_than_one(
    resting: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    id, looks, read = resting.submit("add", FOLDER).id, list[str](), resting.rows.get

    def look(id: str) -> JobRow | None:
        looks.append(id)
        return read(id)

    monkeypatch.setattr(resting.rows, "get", look)

    async def watch() -> list[str]:
        return [row.state async for row in resting.watch(id)]

    async def story() -> list[list[str]]:
        watching = [asyncio.create_task(watch()) for _ in range(100)]
        while len(looks) < 3:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(resting.steer, id, "cancel")
        return await asyncio.gather(*watching)

    assert asyncio.run(story()) == [["queued", "cancelled"]] * 100
    assert len(looks) < 12


def test_what_is_left_of_a_job_is_told_by_who_does_not_run_it_too(resting: Jobs) -> None:
    begun = JobRow("a", "add", FOLDER, "running", 0.0, done=0, total=100)
    assert resting.eta_s(begun) is None
    left_s = resting.eta_s(replace(begun, done=50))
    assert left_s is not None and left_s > 0
    assert resting.eta_s(replace(begun, id="b")) is None
