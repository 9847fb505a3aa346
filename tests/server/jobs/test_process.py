"""Starting a worker leaves the server's other threads alone."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
from typing import Any, ClassVar

import pytest

from viewfinder.server.jobs import worker

MULTIPLYING = """
import asyncio, os, threading, time
import numpy as np, uvloop
from viewfinder.server.jobs import worker

worker.COMMAND = ("head", "-n1")
done = [0, 0]
left, right = np.ones((400, 384), np.float32), np.ones((384, 256), np.float32)

def multiply(at):
    while True:
        left @ right
        done[at] += 1

for at in range(len(done)):
    threading.Thread(target=multiply, args=(at,), daemon=True).start()

async def start_many():
    for _ in range(30):
        await (await worker.JobWorker.start({})).ended()

uvloop.run(start_many())
before = list(done)
until = time.monotonic() + 60
while time.monotonic() < until and not all(now > then for now, then in zip(done, before)):
    time.sleep(0.05)
print(all(now > then for now, then in zip(done, before)), flush=True)
os._exit(0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop is not there")
def test_searches_go_on_multiplying_while_workers_are_started() -> None:
    two = os.environ | {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", MULTIPLYING]
    told = subprocess.run(command, env=two, capture_output=True, text=True, check=False, timeout=120)
    assert told.stdout == "True\n", told.stderr


class Watching(io.FileIO):
    """A pipe's end that notes whether its descriptor is still its own when it is closed."""

    closings: ClassVar[list[bool]] = []

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self.own = os.fstat(descriptor).st_ino

    def close(self) -> None:
        if not self.closed:
            try:
                self.closings.append(os.fstat(self.fileno()).st_ino == self.own)
            except OSError:
                self.closings.append(False)
        super().close()


class WatchedProcess(subprocess.Popen[bytes]):
    """A process whose output is such a pipe."""

    def __init__(self, *command: Any, **given: Any) -> None:
        super().__init__(*command, **given)
        assert self.stdout
        with self.stdout as pipe:
            self.stdout = Watching(os.dup(pipe.fileno()))


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop is not there")
def test_what_a_worker_says_is_closed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import uvloop

    monkeypatch.setattr(worker, "COMMAND", ("head", "-n1"))
    monkeypatch.setattr(subprocess, "Popen", WatchedProcess)
    monkeypatch.setattr(Watching, "closings", [])

    async def start() -> None:
        started = await worker.JobWorker.start({"done": 1})
        assert [said async for said in started.said()] == [{"done": 1}]
        await started.ended()

    uvloop.run(start())
    gc.collect()
    assert Watching.closings == [True]
