"""How far an `add` is, as other processes read it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from viewfinder.store.adding_note import JOB, MAX_AGE_S, NOTE, note_adding, read_adding_note
from viewfinder.store.reports import AddReport
from viewfinder.store.store import WRITING


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Path]:
    """A library's folder that some process writes to."""
    with FileLock(tmp_path / WRITING):
        yield tmp_path


def test_a_note_says_what_is_added_how_far_it_is_and_is_gone_at_the_end(held: Path) -> None:
    with note_adding(held, [Path("/home/me/Summer"), Path("/")]) as notes:
        note = read_adding_note(held)
        assert note is not None
        assert (list(note.names), note.found, note.done, note.job) == (["Summer", "/"], None, 0, None)
        notes.take(AddReport(found=9, added=3, unchanged=2, quarantined=1))
        note = read_adding_note(held)
        assert note is not None
        assert (note.found, note.done, note.failed) == (9, 6, 1)
    assert read_adding_note(held) is None


def test_a_note_of_a_job_says_which_also_while_the_job_is_paused_after_its_batch(held: Path) -> None:
    mine = JOB.set("a job")
    try:
        with note_adding(held, [Path("a")]) as notes:
            notes.take(AddReport(found=2, added=1))
            note = read_adding_note(held)
            assert note is not None
            assert note.job == "a job"
    finally:
        JOB.reset(mine)


def test_the_note_of_a_process_that_was_killed_is_not_believed(held: Path, tmp_path: Path) -> None:
    with note_adding(held, [Path("a")]):
        left = (held / NOTE).read_bytes()
    killed = tmp_path / "killed"
    killed.mkdir()
    (killed / NOTE).write_bytes(left)
    assert read_adding_note(killed) is None


@pytest.mark.parametrize("damage", ["", "[]", '"x"', "{", '{"names": 1, "at": "x"}', '{"more": 1}'])
def test_a_note_that_is_damaged_is_none(held: Path, damage: str) -> None:
    (held / NOTE).write_text(damage, encoding="utf-8")
    assert read_adding_note(held) is None


def test_an_old_note_is_not_believed(held: Path) -> None:
    with note_adding(held, [Path("a")]):
        kept = json.loads((held / NOTE).read_bytes())
        (held / NOTE).write_text(json.dumps({**kept, "at": kept["at"] - MAX_AGE_S - 1}), encoding="utf-8")
        assert read_adding_note(held) is None
