"""What is counted of a server, for Prometheus: requests by route and status, how long turns take, what is held.

Routes are counted by their templates (`/api/v1/sessions/{id}`): no id, no word of a talk becomes a label.
"""

from __future__ import annotations

from collections import Counter as Tally
from time import perf_counter
from typing import TYPE_CHECKING

from fastapi import FastAPI
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viewfinder.index.memo import MEMO
from viewfinder.server.jobs.collection import current_snapshot
from viewfinder.server.logs import route_of

if TYPE_CHECKING:
    from viewfinder.server.services import Services

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
        self._sessions.set(len(services.talks))
        self._states.set(MEMO.bytes)
        self._pictures.set(0 if snapshot is None else len(snapshot))
        for state in WAITING:
            self._jobs.labels(state).set(states[state])
        return generate_latest(self.registry)

    def _gauge(self, name: str, help: str) -> Gauge:
        return Gauge(name, help, registry=self.registry)


def install(app: FastAPI) -> Metrics:
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
