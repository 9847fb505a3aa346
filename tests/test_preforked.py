"""A forked process is what a started one would be, whatever it is told and however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import preforked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the nursery's socket has a name that only Linux knows")

TELLS = """
import json, os, sys
if __name__ == "__main__":
    imported = "lancedb" in sys.modules
    where = [sys.argv[1:], sys.path[0], os.getcwd(), os.environ.get("SAID"), os.getsid(0) == os.getpid()]
    sys.stderr.write("complains\\n")
    print(json.dumps([imported, *where, sys.stdin.read()]))
    sys.exit(7)
"""


def told(*command: str, **options: object) -> tuple[bool, list[object]]:
    """Whether a process was forked, and what it says."""
    done = subprocess.run(
        [sys.executable, *command], input="given", capture_output=True, text=True, check=False, **options
    )  # type: ignore[call-overload]
    assert (done.returncode, done.stderr) == (7, "complains\n")
    imported, *rest = json.loads(done.stdout)
    return imported, rest


@pytest.mark.parametrize("kind", ["-c", "-m", "script"])
def test_a_forked_process_has_what_a_started_one_would_have(kind: str, tmp_path: Path) -> None:
    script = tmp_path / "tells.py"
    script.write_text(TELLS)
    command = {"-c": ("-c", TELLS), "-m": ("-m", "tells"), "script": (str(script),)}[kind]
    given = (*command, "one", "two words")
    options = {"cwd": tmp_path, "env": {**os.environ, "SAID": "yes"}, "start_new_session": True}
    forked, found = told(*given, **options)
    started, expected = told(*given, **{**options, "env": {**os.environ, "SAID": "yes", "PYTHONHASHSEED": "1"}})
    assert (forked, started) == (True, False)
    assert found == expected == [["one", "two words"], found[1], str(tmp_path), "yes", True, "given"]


def test_descriptors_are_passed_under_their_numbers() -> None:
    reads, writes = os.pipe()
    with os.fdopen(reads) as reader:
        command = [sys.executable, "-c", f"import os; os.write({writes}, b'through the pipe')"]
        with subprocess.Popen(command, pass_fds=[writes]) as process:
            os.close(writes)
            assert reader.read() == "through the pipe"
    assert process.returncode == 0


def test_signals_reach_it_and_its_end_is_told() -> None:
    # Tests that a shell has put in the background ignore Ctrl-C, and so does what they start.
    interrupts = () if signal.getsignal(signal.SIGINT) == signal.SIG_IGN else (signal.SIGINT,)
    for number in (*interrupts, signal.SIGTERM, signal.SIGKILL):
        code = "import time; print('here', flush=True); time.sleep(600)"
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:  # type: ignore[call-overload]
            assert process.stdout.readline() == b"here\n"
            assert process.poll() is None
            process.send_signal(number)
            assert process.wait(60) == -number


def test_an_error_is_an_exit_code_and_a_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", "1 / 0"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"


def test_a_process_that_it_starts_is_forked_too_and_its_threads_run() -> None:
    inner = "import sys; print('lancedb' in sys.modules)"
    code = f"""
import subprocess, sys, threading
say = lambda: subprocess.run([sys.executable, "-c", {inner!r}], check=True)
thread = threading.Thread(target=say)
thread.start()
thread.join()
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"True\n"


@pytest.mark.afresh
def test_a_test_may_have_its_processes_started() -> None:
    code = "import sys; print('lancedb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"False\n"


def test_what_counts_at_the_start_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    before = preforked.read_at_start(os.environ)
    monkeypatch.setenv("VIEWFINDER_LIBRARY", "elsewhere")
    assert preforked.read_at_start(os.environ) == before
    monkeypatch.setenv("PYTHONHASHSEED", "3")
    assert preforked.read_at_start(os.environ) != before
