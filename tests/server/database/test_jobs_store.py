"""Jobs in the database."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from viewfinder.server.database import Database, JobRow, JobRows


def job(id: str, created: float, state: str = "queued") -> JobRow:
    return JobRow(id, "add", {"root": 0, "folder": f"{id}/summer"}, state, created)


@pytest.fixture
def jobs(database: Database) -> JobRows:
    return JobRows(database)


def test_a_job_is_changed_field_by_field(jobs: JobRows) -> None:
    jobs.create(job("a", 1.0))
    jobs.change("a", done=3, total=9)
    changed = jobs.change("a", state="done", report={"added": 9}, ended=5.0)
    assert changed == jobs.get("a")
    assert changed == replace(job("a", 1.0), state="done", done=3, total=9, report={"added": 9}, ended=5.0)
    assert jobs.change("a") == changed
    assert jobs.change("b", done=1) is None and jobs.get("b") is None


def test_a_change_that_comes_too_late_changes_nothing(jobs: JobRows) -> None:
    jobs.create(job("a", 1.0, "done"))
    assert jobs.change("a", only_if=("queued", "running"), state="cancelled") == job("a", 1.0, "done")
    assert jobs.change("a", only_if=("done",), error="x") == replace(job("a", 1.0, "done"), error="x")


def test_the_newest_come_first_on_the_page_and_the_oldest_unfinished_first(jobs: JobRows) -> None:
    for id, created, state in (("a", 1.0, "paused"), ("b", 3.0, "running"), ("c", 2.0, "failed"), ("d", 3.0, "queued")):
        jobs.create(job(id, created, state))
    assert [row.id for row in jobs.page(3)] == ["d", "b", "c"]
    assert [row.id for row in jobs.unfinished()] == ["a", "b", "d"]


def test_the_oldest_queued_job_is_taken_and_runs(jobs: JobRows) -> None:
    for id, created, state in (("a", 1.0, "paused"), ("b", 3.0, "queued"), ("c", 2.0, "queued")):
        jobs.create(job(id, created, state))
    assert jobs.take_next(7.0) == replace(job("c", 2.0), state="running", started=7.0) == jobs.get("c")
    assert jobs.take_next(8.0) == replace(job("b", 3.0), state="running", started=8.0)
    assert jobs.take_next(9.0) is None


def test_of_many_who_ask_at_once_no_two_get_the_same_job(jobs: JobRows, database_url: str) -> None:
    other = Database.open(database_url)
    names = [f"job {number:02}" for number in range(20)]
    for created, name in enumerate(names):
        jobs.create(job(name, float(created)))
    taken: list[str] = []

    def take(rows: JobRows) -> None:
        while row := rows.take_next(1.0):
            taken.append(row.id)

    threads = [threading.Thread(target=take, args=(rows,)) for rows in (jobs, JobRows(other)) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == names
    other.close()
