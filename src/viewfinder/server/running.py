"""Starts a server from its settings and ends it: sockets, connections, signals, an orderly end.

An ASGI app sees a request when its head is complete; until then only the server's protocol can look after it
(`LimitedConnection`).
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from threadpoolctl import threadpool_limits
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from viewfinder.errors import BadInput, ViewfinderError
from viewfinder.library import Library
from viewfinder.own_commands import write_command
from viewfinder.server import monitoring
from viewfinder.server.settings import PROXY_VARIABLE, ServerSettings, database_url

if TYPE_CHECKING:
    from viewfinder.server.app import Extension

HEAD_BYTES = 64 << 10
"""The most bytes of a request's line and headers."""


class LimitedConnection(HttpToolsProtocol):
    """uvicorn's connection; closed when a head is too large, or takes longer than `idle_s` from its first byte.

    The same time is allowed from the opening of the connection to its first byte, and for the rest of a body to which
    the answer has been given already. Between requests uvicorn's own `timeout_keep_alive` holds.
    """

    idle_s: ClassVar[float] = 15.0

    _known: dict[str, bool]
    _answering: list[RequestResponseCycle]
    _timer: asyncio.TimerHandle | None = None
    _in_head = _in_message = False
    _head_bytes = 0

    def connection_made(self, transport: Any) -> None:  # uvloop's transports are no `asyncio.Transport`
        """The clock starts."""
        super().connection_made(transport)
        self._known = {}
        self._answering = []
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more, and nothing of any request is written."""
        self._stop_timer()
        # uvicorn tells only the newest request of the connection; those before it would write to what is gone.
        for cycle in self._answering:
            if not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """The first byte of a head; what is known of the connection goes with each of its requests."""
        super().on_message_begin()
        self.scope["state"]["connection"] = self._known
        self._in_head = self._in_message = True
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        """From here on the access layer looks after it."""
        self._in_head = False
        super().on_headers_complete()
        self._answering = [cycle for cycle in (*self._answering, self.cycle) if cycle and not cycle.response_complete]

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
        elif self._in_head or (self._in_message and self.cycle is not None and self.cycle.response_complete):
            self._start_timer()  # (a head that makes no sense has begun a message, and no cycle)
        else:
            self._stop_timer()

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.idle_s, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def limit_connections(idle_s: float) -> type[LimitedConnection]:
    """For `uvicorn.Config(http=...)`: connections with this patience."""

    class Patient(LimitedConnection):
        """With the settings' patience."""

    Patient.idle_s = idle_s
    return Patient


BACKLOG = 2048
"""How many connections may wait to be accepted."""


COLLECT_AFTER = (20_000, 20, 50)
"""Objects made, and younger collections, between two collections: fewer than Python's own, whose pauses add up.

They count objects, not bytes: what large requests leave behind is collected by `RequestLimits`."""


Extensions = Sequence[Callable[[], "Extension"]]
"""Functions of modules, each of which makes what is served beside the rest; a worker is told of them by name."""


def run_server(
    library_folder: Path,
    settings: ServerSettings,
    *,
    extensions: Extensions = (),
    ready: Callable[[str], None] = lambda address: None,
) -> int:
    """Serves a library until SIGTERM or Ctrl-C, then ends in order; the library is made if it is absent.

    `extensions` as for `create_app`.

    Raises:
        BadInput: the port is in use or not ours to have, or another machine could reach the server without a token.
        LibraryError, DatabaseError: what is served cannot be opened.
    """

    return run_app(partial(open_app, library_folder, settings, None, extensions), settings, ready=ready)


def open_app(
    library_folder: Path, settings: ServerSettings, shared: Path | None = None, extensions: Extensions = ()
) -> ASGIApp:
    """The app over a library, which is made if it is absent; the rest as for `create_app`. Raises as `run_server`."""
    library = Library.open(library_folder)
    check_guarded(library_folder, settings)
    from viewfinder.server.app import create_app

    return create_app(library, settings, shared, extensions)


def run_app(make: Callable[[], ASGIApp], settings: ServerSettings, *, ready: Callable[[str], None]) -> int:
    """Serves what `make` makes until SIGTERM or Ctrl-C; it is made when the port is ours.

    `ready` is told the address once requests are answered. A second Ctrl-C ends at once.

    Raises:
        BadInput: the port is in use or not ours to have.
    """
    with open_listener(settings.host, settings.port) as listener:
        serve_on(listener, make, settings, ready=lambda: ready(address_shown(settings.host, listener)))
    return 0


def serve_on(
    listener: socket.socket,
    make: Callable[[], ASGIApp],
    settings: ServerSettings,
    *,
    ready: Callable[[], None],
    by_terminal: bool = True,
) -> None:
    """Serves what `make` makes on a socket that listens, as `run_app`; Ctrl-C counts only if `by_terminal`."""
    monitoring.configure_log()
    # Requests share the cores among themselves; the threads of one matrix product would only get in their way.
    threadpool_limits(1, user_api="blas")
    app = _Started(monitoring.log_requests(make()))
    config = uvicorn.Config(
        app,
        http=limit_connections(settings.idle_s),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        backlog=BACKLOG,
        # The other half is for jobs, snapshots, and threads that end at their next step.
        timeout_graceful_shutdown=max(1, round(settings.shutdown_s / 2)),
    )
    server = _Server(config, ready, settings.shutdown_s, by_terminal=by_terminal)
    try:
        server.run(sockets=[listener])
    except SystemExit as ending:  # how uvicorn says that the app did not start
        raise app.failure or ViewfinderError("the server did not start; its log says why") from ending
    finally:
        server.patience.cancel()


def check_guarded(library_folder: Path, settings: ServerSettings) -> None:
    """A server that wants tokens needs one before it starts.

    Raises:
        BadInput: there is none that is still good.
    """
    if not settings.needs_tokens:
        return
    from viewfinder.server.database import Database, TokenRows

    database = Database.open(database_url(library_folder, settings))
    try:
        if not TokenRows(database).any_live(time.time()):
            make = f"make one with `{write_command('token add NAME --scope read --scope write', library_folder)}`"
            if settings.is_loopback:
                wanted_by = "VIEWFINDER_TOKENS_ALWAYS" if settings.tokens_always else PROXY_VARIABLE
                raise BadInput(f"{wanted_by} is set, and there is no token yet: {make}")
            raise BadInput(
                f"--host {settings.host} can be reached from other machines, and there is no token yet: "
                f"{make}, or serve on 127.0.0.1"
            )
    finally:
        database.close()


def open_listener(host: str, port: int) -> socket.socket:
    """A socket bound to the first address that `host` has; port 0 takes any free one.

    Raises:
        BadInput: the name has no address, or the port cannot be had.
    """
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise BadInput(f"--host {host}: no address of this machine has that name ({error.strerror})") from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            message = f"port {port} of {host} is in use: another server runs there, choose another with --port"
        else:
            message = f"port {port} of {host} cannot be had ({(error.strerror or str(error)).lower()}): choose another"
        raise BadInput(message) from error
    return listener


def address_shown(host: str, listener: socket.socket) -> str:
    """Where to point a browser: as the user named the host, with the port that it came to."""
    port = listener.getsockname()[1]
    everywhere = host in ("", "0.0.0.0", "::")
    shown = socket.gethostname() if everywhere else f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/"


class _Server(uvicorn.Server):
    """Tells when it is ready, and ends of its own accord when asked, rather than by the signal."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], shutdown_s: float, *, by_terminal: bool
    ) -> None:
        super().__init__(config)
        self._ready, self._by_terminal = ready, by_terminal
        self.patience = threading.Timer(shutdown_s * LAST, _end_now)
        self.patience.daemon = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            # Present objects stay: the collector need not scan them repeatedly while people talk.
            gc.freeze()
            gc.set_threshold(*COLLECT_AFTER)
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == signal.SIGINT and not self._by_terminal:
            return
        self.force_exit = self.should_exit and sig == signal.SIGINT
        if not self.should_exit:
            self.patience.start()
        self.should_exit = True


LAST = 0.95
"""The share of the time for an orderly end after which a server ends as it is."""


def _end_now() -> None:
    """Ends the process, even if a thread hangs. What was acknowledged is in the database and in the library."""
    logging.getLogger("viewfinder.server").warning("the server ends, though something in it does not")
    logging.shutdown()
    os._exit(0)


class _Started:
    """ASGI: keeps the error that stopped an app from starting, for a better report than a traceback."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.failure: Exception | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes everything on, but for the traceback."""
        if scope["type"] != "lifespan":
            await self.app(scope, receive, send)
            return

        async def told(message: Message) -> None:
            failed = message["type"] == "lifespan.startup.failed"
            await send({**message, "message": ""} if failed else message)

        try:
            await self.app(scope, receive, told)
        except Exception as error:
            self.failure = error
            raise
