"""`viewfinder tune`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viewfinder.cli import output

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
    monkeypatch.setattr(output, "PATIENCE_S", 0.0)
    told = viewfinder("tune", "--captions", world / "captions.csv", "--library", library).err
    assert told.index("200 texts of 40 pictures") < told.index("the space of all pictures") < told.index("words took")


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
