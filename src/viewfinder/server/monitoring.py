"""The server's log: JSON lines on stderr, for people and programs; one a request where VIEWFINDER_LOG=info.

A line names a request by its route, never by what was asked: no words of a talk, no file, no token is logged.

What is counted of a server, for Prometheus: requests by route and status, how long turns take, what is held.

Routes are counted by their templates (`/api/v1/sessions/{id}`): no id, no word of a talk becomes a label.

Whether the server lives and is ready, its numbers, its version.
"""

from __future__ import annotations

import logging
import os
import sys
from collections import Counter as Tally
from time import perf_counter
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viewfinder import __version__
from viewfinder.errors import ViewfinderError
from viewfinder.index.turns import MEMO
from viewfinder.server.access.tokens import Reader
from viewfinder.server.pictures.collection import current_snapshot
from viewfinder.server.pictures.schemas import Health, Version
from viewfinder.server.problems import Problem, responses
from viewfinder.server.redaction import hide_paths
from viewfinder.server.services import Services, WithServices

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from viewfinder.server.services import Services

LEVEL = "VIEWFINDER_LOG"
"""The environment variable that says how much is logged: debug, info, warning (the default), error."""

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

UNKNOWN_ROUTE = "(none)"


def level() -> int:
    """What `VIEWFINDER_LOG` asks for; a word that is none of ours counts as the default."""
    return LEVELS.get(os.environ.get(LEVEL, "").strip().lower(), logging.WARNING)


def configure() -> None:
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
        foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder(("asgi",))],
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
    logging.getLogger("viewfinder").setLevel(level())
    logging.getLogger("uvicorn.error").addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    """That the app did not start is told by whoever started it, with the reason."""
    return not record.getMessage().startswith("Application startup failed")


def route_of(scope: Scope) -> str:
    """The template of the route that took a request (`/api/v1/sessions/{id}`), which names nobody's things."""
    route = scope.get("route")
    template = getattr(route, "path", None)
    return template if isinstance(template, str) else UNKNOWN_ROUTE


class RequestLog:
    """ASGI: one line a request when its answer has ended: how long that took, and whether it was sent as a `whole`."""

    def __init__(self, app: ASGIApp) -> None:
        import structlog

        self.app = app
        self._log = structlog.get_logger("viewfinder.requests")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes everything on as it is."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, started, sent = 0, perf_counter(), None

        async def noted(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                sent = perf_counter()  # what runs after the answer is not the client's wait

        try:
            await self.app(scope, receive, noted)
        except Exception:
            if sent is None:
                raise  # the server cuts the answer off
            # else: the app has answered that something unforeseen happened, and has logged what
        finally:
            took_ms = round(((sent or perf_counter()) - started) * 1000, 1)
            whole = sent is not None
            self._log.info(
                "request", method=scope["method"], route=route_of(scope), status=status, whole=whole, elapsed_ms=took_ms
            )


TURN = ("POST", "/api/v1/sessions/{id}/turns")
SECONDS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0, 5.0, 10.0, 30.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
WAITING = ("queued", "running", "paused")


class Metrics:
    """The numbers of one app."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self._requests = Counter("viewfinder_requests", "Requests that were answered.", labels, registry=self.registry)
        self._turns = Histogram(
            "viewfinder_turn_seconds", "From a turn to its results.", registry=self.registry, buckets=SECONDS
        )
        self._sessions = self._gauge("viewfinder_open_sessions", "Talks in memory.")
        self._states = self._gauge("viewfinder_states_bytes", "Retriever states in memory.")
        self._pictures = self._gauge("viewfinder_pictures", "Pictures that are searched.")
        self._jobs = Gauge("viewfinder_jobs", "Jobs that have not ended.", ("state",), registry=self.registry)

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """One request, answered."""
        known = method if method in METHODS else "other"
        self._requests.labels(known, route, str(status)).inc()
        if (method, route) == TURN and status < 300:
            self._turns.observe(seconds)

    def text(self, services: Services) -> bytes:
        """All numbers, in Prometheus' text format."""
        snapshot = current_snapshot(services.library)
        states = Tally(row.state for row in services.jobs.unfinished())
        self._sessions.set(len(services.conversations))
        self._states.set(MEMO.bytes)
        self._pictures.set(0 if snapshot is None else len(snapshot))
        for state in WAITING:
            self._jobs.labels(state).set(states[state])
        return generate_latest(self.registry)

    def _gauge(self, name: str, help: str) -> Gauge:
        return Gauge(name, help, registry=self.registry)


def install_metrics(app: FastAPI) -> Metrics:
    """Counts every request of an app, those that are refused too: call it after all other layers are there."""
    metrics = Metrics()
    app.state.metrics = metrics
    app.add_middleware(MeteredRequests, metrics=metrics)
    return metrics


class MeteredRequests:
    """ASGI: notes a request when the last of its answer is sent; what runs after that is not the client's wait."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes everything on as it is."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = perf_counter(), 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                self._metrics.note(scope["method"], route_of(scope), status, perf_counter() - started)

        await self.app(scope, receive, noted)


router = APIRouter(prefix="/api/v1", tags=["health"])


@router.get("/health/live", operation_id="live", summary="Whether it lives", responses=responses())
async def live() -> Health:
    """The process answers; no token is needed."""
    return Health(ok=True, checks={})


@router.get("/health/ready", operation_id="ready", summary="Whether it can serve", responses=responses())
async def ready(services: WithServices) -> Health:
    """The database answers and the pictures can be read; 503 says in `checks` what is not so. No token is needed."""
    checks = await services.pool.run(check, services)
    failed = [f"{name}: {said}" for name, said in checks.items() if said != "ok"]
    if failed:
        raise Problem(503, "not-ready", "; ".join(failed), headers={"Retry-After": "5"}, checks=checks)
    return Health(ok=True, checks=checks)


@router.get(
    "/metrics",
    operation_id="metrics",
    summary="Numbers for Prometheus",
    response_class=Response,
    responses={
        200: {"description": "in Prometheus' text format", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **responses(),
    },
)
async def get_metrics(request: Request, caller: Reader, services: WithServices) -> Response:
    """Requests by route and status, how long turns take, open talks, jobs."""
    metrics = request.app.state.metrics
    assert isinstance(metrics, Metrics)
    return Response(await services.pool.run(metrics.text, services), media_type=CONTENT_TYPE_LATEST)


@router.get("/version", operation_id="version", summary="Which viewfinder this is", responses=responses())
async def version() -> Version:
    """No token is needed."""
    return Version(viewfinder=__version__)


def check(services: Services) -> dict[str, str]:
    """Each part, "ok" or what is wrong with it."""
    checks = {"database": "ok", "library": "ok"}
    try:
        services.database.check()
    except ViewfinderError as error:
        checks["database"] = hide_paths(str(error))
    try:
        current_snapshot(services.library)  # without pictures it is ready for the first ones
    except ViewfinderError as error:
        checks["library"] = hide_paths(str(error))
    return checks
