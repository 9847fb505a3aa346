"""The server's log: JSON lines on stderr, for people and programs; one a request where VIEWFINDER_LOG=info.

A line names a request by its route, never by what was asked: no words of a talk, no file, no token is logged.
"""

from __future__ import annotations

import logging
import os
import sys
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
