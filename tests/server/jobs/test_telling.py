"""Reports and errors name no folder of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.pictures import BadFile
from viewfinder.server.jobs.worker import merge_reports, report_adding, report_filling
from viewfinder.server.redaction import hide_paths
from viewfinder.store.reports import AddReport, FillReport
from viewfinder.store.rows import Failure


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("/srv/a/b.jpg", "b.jpg"),
        ("cannot read '/srv/a b/c.jpg': gone", "cannot read 'c.jpg': gone"),
        ("two: /a/b, /c/d.", "two: b, d."),
        ("cannot read /srv/my photos/of 2019/a.jpg: permission", "cannot read a.jpg: permission"),
        ("/srv/Fotos, alt (1)/it's mine/a.jpg is gone", "a.jpg is gone"),
        ("from /a b/c to /d e/f", "from c to f"),
        ("the library /srv/lib is damaged: tables/x is gone", "the library lib is damaged: tables/x is gone"),
        ("file:///srv/my photos/x.jpg", "x.jpg"),
        ("see 'FILE:///srv/my photos/x y.jpg'", "see 'x y.jpg'"),
        ("file:/srv/x/y: gone", "y: gone"),
        ("file://host/srv/z", "z"),
        ("sqlite:////srv/a b/server.sqlite3 is locked", "server.sqlite3 is locked"),
        ("s3:/photos/mine/a.jpg at http://host:80/v1", "s3:/photos/mine/a.jpg at http://host:80/v1"),
        ("s3://AKIA:abc/def@photos/mine", "s3://***@photos/mine"),
        ("the library's own", "the library's own"),
        ("3/4 of 10 km/h and and/or", "3/4 of 10 km/h and and/or"),
        ("a\n  b", "a b"),
    ],
)
def test_absolute_paths_become_their_last_names(said: str, told: str) -> None:
    assert hide_paths(said) == told


def test_known_folders_are_told_by_their_names_and_only_they() -> None:
    names = {Path("/srv/photos"): "photos", Path("/srv/photos/2019"): "the summer"}
    assert hide_paths("no pictures in /srv/photos/2019: looked", names) == "no pictures in the summer: looked"
    assert hide_paths("/srv/photos-of-mine/x is not /srv/photos", names) == "x is not photos"
    assert hide_paths("file:///srv/photos/my own/b", names) == "photos/my own/b"


NAMES = st.lists(st.sampled_from(["a", "bc", "b,", "c's"]), min_size=1, max_size=3).map(" ".join)


@given(st.lists(NAMES, min_size=2, max_size=4), st.sampled_from(["/", "file:///", "file:/"]))
def test_no_folder_of_a_path_is_left(names: list[str], begins: str) -> None:
    assert hide_paths(f"lost: {begins}{'/'.join(names)} (again)") == f"lost: {names[-1]} (again)"


def test_a_report_of_adding_has_counts_and_last_names() -> None:
    failures = [Failure(f"/home/me/{number}.jpg", 1, 1, "cut short") for number in range(12)]
    told = report_adding(AddReport(found=20, added=8, quarantined=12, failures=failures))
    assert (told["found"], told["added"], told["quarantined"]) == (20, 8, 12)
    assert told["failures"][0] == {"name": "0.jpg", "reason": "cut short"}
    assert len(told["failures"]) == 10
    assert "/home" not in str(told)


def test_a_name_that_is_no_unicode_can_be_told() -> None:
    told = report_filling(FillReport(3, (BadFile(Path("/a/b\udcff.jpg"), 0, 0, "gone"),)))
    assert told == {"made": 3, "left_out": 1, "failures": [{"name": "b?.jpg", "reason": "gone"}]}


def test_two_runs_of_one_job_add_up_as_one_would_have_reported() -> None:
    first = report_adding(AddReport(found=10, added=4, quarantined=1, unchanged=2, stopped=True))
    second = report_adding(AddReport(found=10, added=3, quarantined=1, unchanged=6))  # the 4 of before among them
    whole = merge_reports(merge_reports(None, first), second)
    assert {name: whole[name] for name in ("found", "added", "quarantined", "unchanged")} == {
        "found": 10,
        "added": 7,
        "quarantined": 1,
        "unchanged": 2,
    }


def test_what_a_run_added_that_died_before_it_could_say_so_counts_as_added() -> None:
    so_far = report_adding(AddReport(found=10, added=4, unchanged=2))  # then it added two more, and died
    last = report_adding(AddReport(found=10, added=2, unchanged=8))
    whole = merge_reports(so_far, last)
    assert {name: whole[name] for name in ("found", "added", "unchanged")} == {"found": 10, "added": 8, "unchanged": 2}
