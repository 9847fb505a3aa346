"""A lock for writers on several machines, in the object store itself: one row of a Lance table.

A Lance table is committed by a conditional put, and of two updates of one row the second is retried on the result of
the first: "set this where the number is still 17" succeeds for one writer only. Clocks of different machines are never
compared: the holder increments `beat`, and a waiting process takes over when it has not seen it change for
`LEASE_S` seconds by its own clock. The holder stops writing earlier: `check`, called before every commit, fails two
thirds of that time after the last beat known to have arrived. So a commit may take `LEASE_S` / 3 before another
writer can begin.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from datetime import timedelta
from typing import Any

from viewfinder.errors import LibraryBusy

LEASE_S = 30.0
POLL_S = 0.5
KEEP_BEATS = timedelta(minutes=10)
"""Versions of the table are kept this long, as others may be reading them."""


def _seconds() -> float:
    """A clock that also runs while the machine sleeps, if there is one: other machines do not sleep with it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Lease:
    """One lock, by name, in a folder of tables (`connection`, as LanceDB has it)."""

    def __init__(self, connection: Any, name: str, *, lease_s: float = LEASE_S) -> None:
        self._connection, self._name, self._lease_s = connection, name, lease_s
        self._number = self._beat = 0
        self._good_until = 0.0
        self._ended = threading.Event()

    def acquire(self, timeout: float, busy: str) -> None:
        """Takes the lock and keeps it until `release`. Raises LibraryBusy after `timeout` s: `busy` says with what."""
        end = _seconds() + timeout
        seen: tuple[int, int] | None = None
        since = _seconds()
        while True:
            row = self._read()
            now = row["number"], row["beat"]
            if now != seen:
                seen, since = now, _seconds()
            if (row["free"] or _seconds() - since > self._lease_s) and self._take(*now):
                break
            if _seconds() >= end:
                raise LibraryBusy(
                    f"another process ({row['holder']}) is {busy} and did not finish within {timeout:g} s: "
                    "wait for it, then try again"
                )
            self._ended.wait(min(POLL_S, self._lease_s / 10))
        threading.Thread(target=self._keep, daemon=True, name=f"lease of {self._name}").start()

    def release(self) -> None:
        """Lets others write."""
        self._ended.set()
        with suppress(OSError, RuntimeError, ValueError):  # then others wait a while longer
            self._set(f"number = {self._number}", {"free": True})
            self._connection.open_table(self._name).optimize(cleanup_older_than=KEEP_BEATS)

    def check(self) -> None:
        """Raises LibraryBusy: this process was cut off for so long that another may have taken over."""
        if _seconds() > self._good_until:
            raise LibraryBusy(
                "the store was out of reach for so long that another process may be writing by now: "
                "nothing acknowledged is lost, try again"
            )

    def _read(self) -> dict[str, Any]:
        import pyarrow as pa

        if self._name not in self._connection.list_tables().tables:
            row = {"number": 0, "beat": 0, "free": True, "holder": ""}
            with suppress(ValueError, RuntimeError, OSError):  # another process was first
                self._connection.create_table(self._name, data=pa.Table.from_pylist([row]))
        found: dict[str, Any] = self._connection.open_table(self._name).to_arrow().to_pylist()[0]
        return found

    def _take(self, number: int, beat: int) -> bool:
        began = _seconds()
        holder = f"{os.getpid()} on {socket.gethostname()}"
        values = {"number": number + 1, "beat": beat + 1, "free": False, "holder": holder}
        if not self._set(f"number = {number} AND beat = {beat}", values):
            return False
        self._number, self._good_until = number + 1, began + self._lease_s * 2 / 3
        self._beat = beat + 1
        return True

    def _keep(self) -> None:
        """Beats until released, or until another process has taken over."""
        while not self._ended.wait(self._lease_s / 5):
            began = _seconds()
            with suppress(OSError, RuntimeError, ValueError):  # tried again; `check` knows how long that may go on
                if not self._set(f"number = {self._number}", {"beat": self._beat + 1}):
                    self._good_until = 0.0
                    return
                self._beat += 1
                self._good_until = began + self._lease_s * 2 / 3

    def _set(self, where: str, values: dict[str, Any]) -> bool:
        """Changes the row if it is as `where` says; returns whether it was."""
        return bool(self._connection.open_table(self._name).update(where=where, values=values).rows_updated)
