"""For operators of a server: its log, its numbers for Prometheus, and whether it is alive and ready.

The log is JSON lines on stderr, for people and programs; one a request if VIEWFINDER_LOG=info. Log and numbers name
a request by its route (`/api/v1/sessions/{id}`), never by its content: no words, no id, no file, no token. The log also
says who sent it, by the name of the token, and from which address.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections import Counter as Tally
from collections.abc import Callable
from time import perf_counter
from typing import Any

from fastapi import Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viewfinder import __version__
from viewfinder.errors import ViewfinderError
from viewfinder.server.access.tokens import Reader
from viewfinder.server.pictures.library import current_snapshot
from viewfinder.server.pictures.schemas import Health, Version
from viewfinder.server.problems import Problem
from viewfinder.server.redaction import hide_paths
from viewfinder.server.senders import FROM, WHO, describe_sender
from viewfinder.server.services import Services, WithServices, make_router
from viewfinder.session.states import MEMO

LEVEL = "VIEWFINDER_LOG"
"""The environment variable that says how much is logged: debug, info, warning (the default), error."""

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

UNKNOWN_ROUTE = "(none)"


def read_log_level() -> int:
    """Reads the level that `VIEWFINDER_LOG` asks for; an unknown word counts as the default."""
    return LEVELS.get(os.environ.get(LEVEL, "").strip().lower(), logging.WARNING)


def configure_log() -> None:
    """Everything that is logged in this process becomes a JSON line on stderr."""
    import structlog

    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder(("asgi", WHO, FROM))],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.EventRenamer("message"),
            structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("viewfinder").setLevel(read_log_level())
    logging.getLogger("uvicorn.error").addFilter(_is_news)


def route_of(scope: Scope) -> str:
    """The template of the route that took a request (`/api/v1/sessions/{id}`), which holds no id."""
    route = scope.get("route")
    template = getattr(route, "path", None)
    return template if isinstance(template, str) else UNKNOWN_ROUTE


def _is_news(record: logging.LogRecord) -> bool:
    """Leaves out two kinds of uvicorn's messages: that a start failed, which is told with its reason, and the traceback
    of a request that it ended itself, because the time for an orderly end was over."""
    kind = record.exc_info[0] if record.exc_info else None
    was_ended = kind is not None and issubclass(kind, asyncio.CancelledError)
    return not was_ended and not record.getMessage().startswith("Application startup failed")


Note = Callable[["Scope", int, float, bool], None]
"""Told of a request that was answered: its scope, the status, the seconds that took, and whether it was sent whole."""


class ObservedRequests:
    """ASGI: tells `note` of each request when the last of its answer is sent; what runs after that is no client's wait.

    `last_resort`: an error that comes after the whole answer ends here. The app has answered that something unforeseen
    happened, and has logged what.
    """

    def __init__(self, app: ASGIApp, note: Note, *, last_resort: bool = False) -> None:
        self.app = app
        self._note, self._last_resort = note, last_resort

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes everything on as it is."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status, whole = perf_counter(), 0, False

        async def observe(message: Message) -> None:
            nonlocal status, whole
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                whole = True
                self._note(scope, status, perf_counter() - started, True)

        try:
            await self.app(scope, receive, observe)
        except Exception:
            if not (whole and self._last_resort):
                raise
        finally:
            if not whole:
                self._note(scope, status, perf_counter() - started, False)


def log_requests(app: ASGIApp) -> ASGIApp:
    """The app with one line of the log a request."""
    import structlog

    name = "viewfinder.requests"
    log, level = structlog.get_logger(name), logging.getLogger(name)

    def note(scope: Scope, status: int, seconds: float, whole: bool) -> None:
        if not level.isEnabledFor(logging.INFO):  # as `log` would find out, by a longer way
            return
        took_ms = round(seconds * 1000, 1)
        sender = describe_sender(scope)
        log.info(
            "request",
            **{"method": scope["method"], "route": route_of(scope), "status": status, "whole": whole},
            **{"elapsed_ms": took_ms, **sender},
        )

    return ObservedRequests(app, note, last_resort=True)


SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable that names the folder, as prometheus-client reads it when it is imported."""

TURN = ("POST", "/api/v1/sessions/{id}/turns")
SECONDS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0, 5.0, 10.0, 30.0)
KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
WAITING = ("queued", "running", "paused")


class Metrics:
    """The numbers of one app; those of all its processes, where `SHARED` names a folder that they have together."""

    def __init__(self) -> None:
        self._shared = os.environ.get(SHARED)
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self._requests = Counter("viewfinder_requests", "Requests that were answered.", labels, registry=self.registry)
        self._turns = Histogram(
            "viewfinder_turn_seconds", "From a turn to its results.", registry=self.registry, buckets=SECONDS
        )
        self._sessions, self._states = (
            Gauge(name, told, registry=self.registry, multiprocess_mode="livesum")
            for name, told in (
                ("viewfinder_open_sessions", "Conversations in memory."),
                ("viewfinder_states_bytes", "Retriever states in memory."),
            )
        )
        self._pictures = Gauge(
            "viewfinder_pictures",
            "Pictures that are searched.",
            registry=self.registry,
            multiprocess_mode="livemostrecent",
        )
        self._jobs = Gauge(
            "viewfinder_jobs",
            "Jobs that have not ended.",
            ("state",),
            registry=self.registry,
            multiprocess_mode="livemostrecent",
        )

    def note(self, scope: Scope, status: int, seconds: float, whole: bool) -> None:
        """One request; what was not sent whole is no answer."""
        if self._shared is not None and (services := getattr(scope["app"].state, "services", None)) is not None:
            self._measure(services)  # another process may be asked for the numbers
        method, route = scope["method"], route_of(scope)
        if whole:
            self._requests.labels(method if method in KNOWN_METHODS else "other", route, str(status)).inc()
        if whole and (method, route) == TURN and status < 300:
            self._turns.observe(seconds)

    def render(self, services: Services) -> bytes:
        """All numbers, in Prometheus' text format."""
        snapshot = current_snapshot(services.library)
        states = Tally(row.state for row in services.jobs.rows.unfinished())
        self._measure(services)
        self._pictures.set(0 if snapshot is None else len(snapshot))
        for state in WAITING:
            self._jobs.labels(state).set(states[state])
        if self._shared is None:
            return generate_latest(self.registry)
        of_all = CollectorRegistry()
        MultiProcessCollector(of_all, path=self._shared)  # type: ignore[no-untyped-call]
        return generate_latest(of_all)

    def _measure(self, services: Services) -> None:
        """Counts what this process has in memory."""
        self._sessions.set(len(services.conversations))
        self._states.set(MEMO.bytes)


CHANGES = "changes"
"""A check that is no reason not to serve: a store that is out of reach would else stop every server at once."""

router = make_router("health")


@router.get("/health/live", summary="Whether it lives")
async def live() -> Health:
    """The process answers; no token is needed."""
    return Health(ok=True, checks={})


@router.get("/health/ready", summary="Whether it can serve")
async def ready(services: WithServices) -> Health:
    """The database answers and the pictures can be read; 503 says in `checks` what is not so. No token is needed.

    `changes`, where it is among them, says why the server goes on with the pictures that it had.
    """
    checks = await asyncio.to_thread(check_parts, services)  # not where searches stand in line: they are no reason
    failed = [f"{name}: {said}" for name, said in checks.items() if said != "ok" and name != CHANGES]
    if failed:
        raise Problem(503, "not-ready", "; ".join(failed), headers={"Retry-After": "5"}, checks=checks)
    return Health(ok=True, checks=checks)


@router.get(
    "/metrics",
    summary="Numbers for Prometheus",
    response_class=Response,
    responses={
        200: {"description": "in Prometheus' text format", "content": {"text/plain": {"schema": {"type": "string"}}}}
    },
)
async def metrics(request: Request, caller: Reader, services: WithServices) -> Response:
    """Requests by route and status, how long turns take, open conversations, jobs."""
    metrics = request.app.state.metrics
    assert isinstance(metrics, Metrics)
    return Response(await asyncio.to_thread(metrics.render, services), media_type=CONTENT_TYPE_LATEST)


@router.get("/version", summary="Which viewfinder this is")
async def version() -> Version:
    """No token is needed."""
    return Version(viewfinder=__version__)


def check_parts(services: Services) -> dict[str, str]:
    """Checks each part; gives "ok", or the reason why it is not."""
    checks = {"database": "ok", "library": "ok"}
    try:
        services.database.check()
    except ViewfinderError as error:
        checks["database"] = hide_paths(str(error))
    try:
        current_snapshot(services.library)  # without pictures it is ready for the first ones
    except ViewfinderError as error:
        checks["library"] = hide_paths(str(error))
    if services.library.unseen:
        checks[CHANGES] = hide_paths(services.library.unseen)
    return checks
