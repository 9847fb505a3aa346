"""Errors as lines and exit codes."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from viewfinder.cli.app import run
from viewfinder.cli.ending import explain_error, report_failure
from viewfinder.errors import DiskFull, EmptyQuery, UnknownName
from viewfinder.library import Library


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (EmptyQuery("nothing to look for"), 2, "nothing to look for"),
        (UnknownName("no column is called x"), 2, "x"),
        (DiskFull("the disk is full at /lib"), 1, "/lib"),
        (OSError(errno.ENOSPC, "No space left on device", "/lib/table"), 1, "/lib/table: the disk is full"),
        (PermissionError(errno.EACCES, "Permission denied", "/root/x"), 1, "/root/x: permission denied"),
        (KeyboardInterrupt(), 1, "interrupted"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), 2, "UTF-8"),
        (MemoryError(), 1, "memory"),
        (ModuleNotFoundError("No module named 'torch'"), 1, "torch"),
    ],
)
def test_an_error_becomes_a_line_and_a_code(error: BaseException, code: int, says: str) -> None:
    line, given = explain_error(error)
    assert given == code
    assert says in line


def test_an_unforeseen_error_says_how_to_see_more() -> None:
    line, code = explain_error(RuntimeError("two\nlines"))
    assert code == 1
    assert "\n" not in line
    assert "RuntimeError: two lines" in line
    assert "VIEWFINDER_DEBUG=1" in line


def test_a_file_that_ends_too_early_is_not_called_an_interruption(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def end(*arguments: object, **settings: object) -> None:
        raise EOFError("No data left in file")

    monkeypatch.setattr(Library, "open", end)
    assert run(["status", "--library", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "EOFError: No data left in file" in said
    assert "interrupted" not in said


def test_a_traceback_is_shown_to_those_who_ask(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report_failure(RuntimeError("oops"), as_json=False)
    assert "RuntimeError: oops\n" not in capsys.readouterr().err
    monkeypatch.setenv("VIEWFINDER_DEBUG", "1")
    report_failure(RuntimeError("oops"), as_json=False)
    assert "RuntimeError: oops\n" in capsys.readouterr().err


@pytest.mark.parametrize(("closed", "told"), [(">&-", ""), ("2>&-", ""), ("<&- >&- 2>&-", ""), ("<&-", "no library")])
def test_streams_that_the_caller_has_closed_are_no_failure_of_the_program(
    tmp_path: Path, closed: str, told: str
) -> None:
    program = "from viewfinder.cli import main; main()"
    script = f'exec "$0" -c "{program}" find a dog --library "$1" {closed}'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable, str(tmp_path / "nowhere")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "unforeseen" not in done.stderr and "Traceback" not in done.stderr and told in done.stderr


def test_help_goes_nowhere_where_stdout_is_closed() -> None:
    script = 'exec "$0" -c "from viewfinder.cli import main; main()" --help >&-'
    done = subprocess.run(["sh", "-c", script, sys.executable], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
