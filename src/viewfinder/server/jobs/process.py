"""The server's end of a worker process."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

COMMAND = (sys.executable, "-m", "viewfinder.server.jobs.worker")


class Worker:
    """One worker at one job."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @staticmethod
    async def start(job: Mapping[str, Any]) -> Worker:
        """A new process, out of reach of the terminal's Ctrl-C, with this job (see `worker`)."""
        process = await asyncio.create_subprocess_exec(*COMMAND, stdin=PIPE, stdout=PIPE, start_new_session=True)
        worker = Worker(process)
        await worker._say(json.dumps(dict(job)))
        return worker

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def told(self) -> AsyncIterator[dict[str, Any]]:
        """What it says, until it ends."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            with suppress(ValueError):  # cut short by its death
                yield json.loads(line)

    async def stop(self, patience_s: float) -> None:
        """Asks it to end after its batch; where that takes too long, ends it. What is acknowledged is kept."""
        await self._say("stop")
        try:
            await asyncio.wait_for(self._process.wait(), patience_s)
        except TimeoutError:
            self.kill()

    def kill(self) -> None:
        """Ends it at once; nothing acknowledged is lost."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def ended(self) -> int:
        """Its exit status, negative for a signal; once it has one."""
        return await self._process.wait()

    async def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(ConnectionError):  # it has died: `told` ends, and that says so
            self._process.stdin.write(line.encode() + b"\n")
            await self._process.stdin.drain()
