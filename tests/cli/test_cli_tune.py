"""`viewfinder tune`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viewfinder.cli import output
from viewfinder.tuning import TuneReport

Run = Callable[..., Any]


@pytest.mark.slow
def test_tune_reports_what_it_chose_and_undo_goes_back(
    viewfinder: Run, library: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = viewfinder("status", "--library", library, "--json").json["space"]
    report = viewfinder("tune", "--captions", world / "captions.csv", "--library", library, "--json")
    assert report.code == 0
    assert (report.json["pictures"], report.json["texts"]) == (40, 200)
    assert report.json["chosen"] in report.json["held_out"].keys() & report.json["own"].keys()
    after = viewfinder("status", "--library", library, "--json").json["space"]
    assert after == report.json["space"]
    assert viewfinder("find", "a red car", "--library", library, "--json").code == 0
    assert viewfinder("tune", "--undo", "--library", library, "--json").json == {"space": before}
    monkeypatch.setattr(output, "REPORT_AFTER_S", 0.0)
    told = viewfinder("tune", "--captions", world / "captions.csv", "--library", library).err
    assert told.index("200 texts of 40 pictures") < told.index("the space of all pictures") < told.index("words took")


@pytest.mark.parametrize(
    ("report", "told"),
    [
        (
            TuneReport(40, 200, "tuned", {"shipped": 0.3, "tuned": 0.9}, {"shipped": 0.3, "tuned": 0.4}, "new", False),
            "30.0% of texts found their picture first; now 90.0%, of a new picture's texts about 40.0%",
        ),
        (
            TuneReport(40, 200, "shipped", {"shipped": 0.3}, {"shipped": 0.3}, "old", True),
            "30.0% of texts find their picture first, as before: every other head loses new pictures",
        ),
        (
            TuneReport(40, 200, "shipped", {"shipped": 1.0}, {"shipped": 1.0}, "old", False),
            "100.0% of texts find their picture first, as before: no other head finds more without losing new pictures",
        ),
    ],
)
def test_people_are_told_what_was_gained_or_why_nothing_was_changed(
    report: TuneReport, told: str, viewfinder: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viewfinder.tuning.tune", lambda library, **options: report)
    outcome = viewfinder("tune", "--captions", "x.csv", "--library", indexed)
    assert outcome.out.splitlines()[0] == f"200 texts of 40 pictures: {told}"
    assert ("what scores mean was learnt" in outcome.out) == (report.chosen == "shipped")
    assert f"space {report.space}; `viewfinder tune --undo --library " in outcome.out


@pytest.mark.parametrize("options", [(), ("--undo", "--captions", "x.csv")])
def test_tune_needs_a_table_or_undo(options: tuple[str, ...], viewfinder: Run, indexed: Path) -> None:
    outcome = viewfinder("tune", *options, "--library", indexed)
    assert outcome.code == 2
    assert "--undo alone" in outcome.err


def test_undo_without_a_tune_is_said_so(viewfinder: Run, indexed: Path) -> None:
    outcome = viewfinder("tune", "--undo", "--library", indexed)
    assert outcome.code == 2
    assert "never tuned" in outcome.err


def test_a_table_about_other_pictures_is_refused(viewfinder: Run, library: Path, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("image,caption\nnobody.jpg,nothing\n")
    outcome = viewfinder("tune", "--captions", tmp_path / "other.csv", "--library", library)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
