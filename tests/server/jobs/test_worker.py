"""A worker: what it says, when it stops, and that it outlives no server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import viewfinder.library
import viewfinder.retrievers
from viewfinder.library import Library
from viewfinder.server.jobs.worker import run_job
from viewfinder.store.snapshot import BY_ROW, DERIVED
from viewfinder.testing import ColourEncoder, load_colour_encoder, tiny_pictures

WORKER = [sys.executable, "-m", "viewfinder.server.jobs.worker"]
PICTURES = 100  # several batches: the first is of 16


@pytest.fixture
def colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks_at_regions: Callable[..., Any]) -> Library:
    """A library whose pictures have no regions yet, and a retriever `looks-at-regions` that needs them."""
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    retriever = looks_at_regions(ColourEncoder.raw_version, 3)
    monkeypatch.setitem(viewfinder.retrievers.RETRIEVERS, "looks-at-regions", lambda checkpoint: retriever)
    tiny_pictures(tmp_path / "pictures", PICTURES)
    library = Library.open(tmp_path / "library")
    library.add(tmp_path / "pictures", workers=1)
    return library


def _job(library: Library, **more: Any) -> dict[str, Any]:
    return {"library": str(library.folder), **more}


def test_preparing_stops_after_a_batch_and_goes_on_from_there(colours: Library) -> None:
    job = _job(colours, kind="prepare", retriever="looks-at-regions")
    told: list[Any] = []
    assert run_job(job, told.append, lambda: bool(told) and told[-1]["done"] > 0) == {"stopped": True}
    kept = len(colours.store.pictures_with_regions())
    assert told == [{"done": 0, "total": PICTURES}, {"done": kept, "total": PICTURES}]
    assert 0 < kept < PICTURES
    again = run_job(job, told.append, lambda: False)
    assert again["report"] == {"made": PICTURES - kept, "left_out": 0, "failures": []}
    assert len(colours.store.pictures_with_regions()) == PICTURES


def test_after_preparing_nothing_is_left_to_compute_for_the_first_search(colours: Library) -> None:
    run_job(_job(colours, kind="prepare", retriever="looks-at-regions"), lambda told: None, lambda: False)
    gallery = Library.open(colours.folder).gallery()
    assert gallery.snapshot.folder is not None
    derived = [file.name for file in gallery.snapshot.folder.iterdir() if file.name.startswith((DERIVED, BY_ROW))]
    assert any("background" in name for name in derived)
    assert any("turned-3" in name for name in derived)  # the retriever's space


def test_pictures_are_removed_and_those_that_are_gone_already_do_no_harm(colours: Library) -> None:
    ids = colours.store.ids()[:3]
    colours.remove(ids[0])
    done = run_job(_job(colours, kind="remove", pictures=ids), lambda told: None, lambda: False)
    assert done == {"report": {"removed": 2}, "stopped": False}
    assert len(Library.open(colours.folder)) == PICTURES - 3


def test_links_below_a_root_are_not_followed_and_told(colours: Library, tmp_path: Path) -> None:
    tiny_pictures(tmp_path / "private", 12)
    root = tmp_path / "root"
    tiny_pictures(root / "own", 2)
    (root / "folder").symlink_to(tmp_path / "private")
    for number, file in enumerate(sorted((tmp_path / "private").iterdir())[:3]):
        (root / f"link {number}.png").symlink_to(file)
    before = len(colours.store.ids())
    told = run_job(_job(colours, kind="add", paths=[str(root)]), lambda told: None, lambda: False)["report"]
    assert (told["found"], told["duplicates"], told["quarantined"]) == (6, 2, 4)
    assert all("a link" in failure["reason"] for failure in told["failures"])
    private = str(tmp_path / "private")
    assert not any(file.path.startswith(private) for row in colours.store.rows() for file in row.files)
    assert not any("/link " in file.path for row in colours.store.rows() for file in row.files)
    assert len(colours.store.ids()) <= before + 2
    # Who has the machine may follow them: then they are no failures any more.
    colours.add(root, workers=1)
    assert [failure.path for failure in colours.failures()] == []


def test_a_worker_asked_to_stop_before_it_began_does_nothing(colours: Library) -> None:
    assert run_job(_job(colours, kind="add", paths=["/nowhere"]), lambda told: None, lambda: True) == {"stopped": True}


def _ran(job: dict[str, Any]) -> list[dict[str, Any]]:
    """What a worker says whose server closes the connection at once."""
    ended = subprocess.run(WORKER, input=json.dumps(job) + "\n", capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_an_error_is_told_without_naming_a_folder_of_this_machine(tmp_path: Path) -> None:
    missing = tmp_path / "nothing.vf"
    (told,) = _ran({"library": str(missing), "kind": "add", "paths": [], "names": {str(missing): "the library"}})
    make = "viewfinder add FOLDER --library nothing.vf"
    assert told == {"error": f"there is no library in the library: make one with `{make}`"}


@pytest.mark.slow
def test_a_worker_whose_server_is_gone_ends_after_a_batch_and_keeps_it(
    empty: Library, many: Path, colours_worker: tuple[str, ...]
) -> None:
    worker = subprocess.Popen(colours_worker, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(json.dumps(_job(empty, kind="add", paths=[str(many / "drawn")])) + "\n")
    worker.stdin.flush()
    first = next(said for said in map(json.loads, worker.stdout) if "done" in said)
    worker.stdin.close()
    worker.stdout.close()
    assert worker.wait(timeout=60) == 0
    kept = len(empty.store.ids())
    assert first["done"] <= kept < first["total"]
