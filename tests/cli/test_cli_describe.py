"""`viewfinder describe`: options, what is said before pictures leave the machine, reports, Ctrl-C and kill."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.vision_server import Reply, serve_vision
from viewfinder.library import Library
from viewfinder.pictures import text_reader
from viewfinder.store.describing import MAX_UNSAVED
from viewfinder.testing import tiny_pictures

Run = Callable[..., Any]
GOOD: dict[str, Any] = {"caption": "A drawing of two colours.", "objects": ["drawing"], "text": []}


def count_described(library: Path) -> int:
    return sum(bool(row.machine) for row in Library.open(library, create=False))


def test_pictures_are_described_and_told(viewfinder: Run, library: Path) -> None:
    with serve_vision(lambda jpeg, number: GOOD if number else "What a drawing!") as vision:
        asked = ("describe", "--endpoint", vision.url, "--model", "tiny", "--library", library)
        outcome = viewfinder(*asked, "--limit", 5)
        assert (outcome.code, outcome.err) == (3, "")  # one was not described
        assert "5 pictures to describe: 4 described; " in outcome.out
        assert ", 3,000 tokens" in outcome.out
        assert "1 picture: no JSON object in the answer (first: " in outcome.out
        record = viewfinder(*asked, "--json").json
        assert (record["chosen"], record["described"], record["failures"], record["stopped"]) == (36, 36, {}, False)
        again = viewfinder(*asked)
        assert (again.code, again.out) == (0, "Nothing to describe: all of them were (see --redo).\n")
        assert viewfinder(*asked, "--redo", "--limit", 2, "--json").json["described"] == 2
    picture = viewfinder("find", "a drawing", "--library", library, "--json").json["results"][0]["id"]
    shown = viewfinder("show", picture, "--library", library).out
    assert "described by tiny (a machine)" in shown


def test_a_dry_run_says_what_would_be_said_and_what_it_costs(viewfinder: Run, library: Path) -> None:
    with serve_vision(lambda jpeg, number: GOOD) as vision:
        outcome = viewfinder("describe", "--endpoint", vision.url, "--model", "tiny", "--library", library, "--dry-run")
    first, second, *samples = outcome.out.splitlines()
    assert first.startswith("40 pictures to describe; 3 tried: ")
    assert second.startswith("all of them would take about ")
    assert second.endswith(" and 30,000 tokens")
    assert samples[1:3] == ["  caption: A drawing of two colours.", "  objects: drawing"]
    assert count_described(library) == 0


def test_no_picture_leaves_the_machine_unasked(viewfinder: Run, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewfinder.language.describer.Describer.is_here", False)
    with serve_vision(lambda jpeg, number: GOOD) as vision:
        asked = ("describe", "--endpoint", vision.url, "--model", "tiny", "--library", library, "--limit", 1)
        outcome = viewfinder(*asked)
        assert outcome.code == 2
        assert "pictures, as JPEG of at most 768 pixels without metadata and names, leave this machine" in outcome.err
        assert "for 127.0.0.1: add --yes" in outcome.err
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
        monkeypatch.setattr("typer.confirm", refuse)
        assert viewfinder(*asked).code == 1
        assert vision.asked == []
        outcome = viewfinder(*asked, "--yes")
        assert (outcome.code, len(vision.asked)) == (0, 1)
        assert "leave this machine for 127.0.0.1" in outcome.err


def refuse(*question: object, **options: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ((), "describe needs a model that you run, as --endpoint"),
        (("--seconds", "inf"), "'--seconds': Input should be less than or equal to 86400"),
        (("--endpoint", "http://localhost:1/v1"), "--model NAME, or --text-only"),
        (("--text-only", "--model", "m"), "leave --endpoint and --model out"),
        (("--endpoint", "localhost:11434", "--model", "m"), "'localhost:11434' is no endpoint: write it like http"),
        (("--endpoint", "http://localhost:1/v1", "--model", "m", "--where", "x"), "--where 'x'"),
    ],
)
def test_a_wrong_use_is_said_in_a_line(viewfinder: Run, library: Path, given: tuple[str, ...], line: str) -> None:
    outcome = viewfinder("describe", *given, "--library", library)
    assert (outcome.code, outcome.out) == (2, "")
    assert line in outcome.err


def test_an_endpoint_that_is_not_there_is_a_failure_with_a_way_on(viewfinder: Run, library: Path) -> None:
    outcome = viewfinder("describe", "--endpoint", "http://127.0.0.1:9/v1", "--model", "m", "--library", library)
    assert outcome.code == 1
    assert outcome.err == (
        "viewfinder: m cannot be reached: check the endpoint's address (http://127.0.0.1:9/v1); what was described is "
        "kept, the same command goes on from here\n"
    )


def test_a_run_that_described_nothing_has_failed(viewfinder: Run, library: Path) -> None:
    with serve_vision(lambda jpeg, number: "What a drawing!") as vision:
        asked = ("describe", "--endpoint", vision.url, "--model", "tiny", "--library", library, "--redo")
        for more in (("--limit", 2), ("--dry-run",)):
            outcome = viewfinder(*asked, *more)
            assert (outcome.code, "no JSON object in the answer" in outcome.out) == (1, True)


def test_without_the_extra_reading_text_says_what_installs_it(
    viewfinder: Run, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_reader, "find_spec", lambda name: None)
    outcome = viewfinder("describe", "--text-only", "--library", library)
    assert outcome.code == 1
    assert "text in pictures cannot be read without another package: pip install 'viewfinder[ocr]'" in outcome.err


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_loses_a_batch_at_most_and_goes_on(
    viewfinder: Run, program: Callable[..., subprocess.Popen[str]], tmp_path: Path, how: signal.Signals
) -> None:
    count, released, library = MAX_UNSAVED + 20, threading.Event(), tmp_path / "library"
    tiny_pictures(tmp_path / "pictures", count)
    assert viewfinder("add", tmp_path / "pictures", "--library", library).code == 0

    def reply(jpeg: bytes, number: int) -> Reply:
        if number >= MAX_UNSAVED + 5:
            released.wait(120)
        return GOOD

    with serve_vision(reply) as vision:
        asked = ("describe", "--endpoint", vision.url, "--model", "tiny", "--library", library)
        process = program(*asked)
        deadline = time.monotonic() + 120
        while len(vision.asked) < MAX_UNSAVED + 6 and time.monotonic() < deadline:
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(how)
        out, err = process.communicate(timeout=120)
        released.set()
        kept = count_described(library)
        if how == signal.SIGINT:
            assert process.returncode == 1
            assert "stopped; what was described is kept" in err
            assert f"{count} pictures to describe: {kept} described" in out
            assert kept == MAX_UNSAVED + 5
        else:
            assert process.returncode == -signal.SIGKILL
            assert MAX_UNSAVED <= kept <= MAX_UNSAVED + 5
        assert viewfinder(*asked).code == 0
    assert count_described(library) == count
