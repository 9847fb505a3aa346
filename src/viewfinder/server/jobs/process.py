"""The server's end of a worker process."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

COMMAND = (sys.executable, "-m", "viewfinder.server.jobs.worker")

LOOK_S = 0.02
"""How often it is looked whether a worker has ended, by whoever waits for that."""


class Worker:
    """One worker at one job."""

    def __init__(self, process: subprocess.Popen[bytes], output: asyncio.StreamReader) -> None:
        self._process, self._output = process, output

    @staticmethod
    async def start(job: Mapping[str, Any]) -> Worker:
        """A new process, out of reach of the terminal's Ctrl-C, with this job (see `worker`).

        Not by asyncio's own call: uvloop forks, at which OpenBLAS ends its threads in this process, and a search that
        is multiplying just then waits for them for ever. `subprocess` does not fork (it has vfork).
        """
        process = subprocess.Popen(
            COMMAND, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        output = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(output), process.stdout)
        worker = Worker(process, output)
        worker._say(json.dumps(dict(job)))
        return worker

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def told(self) -> AsyncIterator[dict[str, Any]]:
        """What it says, until it ends."""
        async for line in self._output:
            with suppress(ValueError):  # cut short by its death
                yield json.loads(line)

    async def stop(self, patience_s: float) -> None:
        """Asks it to end after its batch; where that takes too long, ends it. What is acknowledged is kept."""
        self._say("stop")
        try:
            await asyncio.wait_for(self.ended(), patience_s)
        except TimeoutError:
            self.kill()

    def kill(self) -> None:
        """Ends it at once; nothing acknowledged is lost."""
        self._process.kill()

    async def ended(self) -> int:
        """Its exit status, negative for a signal; once it has one."""
        while (status := self._process.poll()) is None:
            await asyncio.sleep(LOOK_S)
        assert self._process.stdin is not None
        self._process.stdin.close()
        return status

    def _say(self, line: str) -> None:
        """A line of a few bytes: a pipe takes it at once."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, ValueError):  # it has died: `told` ends, and that says so
            self._process.stdin.write(line.encode() + b"\n")
