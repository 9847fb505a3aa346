"""Connections before there is a request: no client can hold one open without asking, or ask without end.

An ASGI app sees a request when its head is complete; until then only the server's protocol can look after it.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 64 << 10
"""The most that a request's line and headers may come to."""


class LimitedConnection(HttpToolsProtocol):
    """uvicorn's connection; closed when a head is too large, or takes longer than `idle_s` from its first byte.

    The same time is allowed from the opening of the connection to its first byte, and for the rest of a body to which
    the answer has been given already. Between requests uvicorn's own `timeout_keep_alive` holds.
    """

    idle_s: ClassVar[float] = 15.0

    _timer: asyncio.TimerHandle | None = None
    _in_head = _in_message = False
    _head_bytes = 0

    def connection_made(self, transport: Any) -> None:
        """The clock starts. (uvloop's transports are no `asyncio.Transport`.)"""
        super().connection_made(transport)
        self._hurry()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._rest()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """The first byte of a head."""
        super().on_message_begin()
        self._in_head = self._in_message = True
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        """From here on the access layer looks after it."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The last byte of a body."""
        self._in_message = False
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Counts what belongs to a head that is not complete yet."""
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
        if self._head_bytes > HEAD_BYTES:
            self.transport.close()
        elif self._in_head or (self._in_message and self.cycle.response_complete):
            self._hurry()
        else:
            self._rest()

    def _hurry(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.idle_s, self.transport.close)

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def limit_connections(idle_s: float) -> type[LimitedConnection]:
    """For `uvicorn.Config(http=...)`: connections with this patience."""

    class Patient(LimitedConnection):
        """With the settings' patience."""

    Patient.idle_s = idle_s
    return Patient
