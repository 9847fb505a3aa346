"""Folders that last as long as the process that made them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from viewfinder.scratch import scratch_folder

HOLDS = """
import sys
from pathlib import Path
from viewfinder.scratch import scratch_folder
with scratch_folder("work", Path(sys.argv[1])) as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_gone_when_it_is_not_needed_any_more(tmp_path: Path) -> None:
    with scratch_folder("work", tmp_path) as folder:
        assert folder.stat().st_mode & 0o077 == 0
        assert folder.parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_that_of_a_killed_process_is_removed_by_the_next_and_that_of_a_living_one_is_not(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    held: list[tuple[subprocess.Popen[str], Path]] = []
    for _ in range(2):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        held.append((process, Path(process.stdout.readline().strip())))
    (killed, abandoned), (living, kept) = held
    other = tmp_path / "viewfinder-other-x"
    other.mkdir()
    (other / ".held").touch()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert (abandoned / "file").exists()
    with scratch_folder("work", tmp_path) as folder:
        assert set(tmp_path.iterdir()) == {folder, kept, other}
    living.communicate("")
    assert set(tmp_path.iterdir()) == {other}
    killed.communicate()
