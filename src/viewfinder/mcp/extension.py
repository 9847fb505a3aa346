"""The protocol over HTTP, at /mcp of a server: behind its access layer, by the tokens and scopes of its API.

Every request stands by itself (no session of the protocol is kept), so that any worker can answer it, and a token that
is revoked ends at once. What lasts is in the conversations.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI, Request
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from viewfinder.mcp.protocol import Context, make_server
from viewfinder.mcp.visit import Visit
from viewfinder.server.access.bodies import WORDY_BODY
from viewfinder.server.access.tokens import ScopeCheck
from viewfinder.server.app import Extension
from viewfinder.server.problems import Problem, refuse
from viewfinder.server.services import Services

PATH = "/mcp"


def mcp_extension() -> Extension:
    """Makes the part of the server that `serve --mcp` adds."""
    endpoint = Endpoint()
    router = APIRouter(routes=[Route(PATH, endpoint=endpoint, methods=["POST"])])
    return Extension(router, (), None, {}, endpoint.start, endpoint.run)


class Endpoint:
    """ASGI: answers calls once it is started and runs."""

    def __init__(self) -> None:
        self._services: Services | None = None
        self._manager: StreamableHTTPSessionManager | None = None

    def start(self, app: FastAPI, services: Services) -> None:
        """Takes the services that calls go over."""
        self._services = services

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """As long as the app runs."""
        self._manager = StreamableHTTPSessionManager(
            make_server(self._find_visit),
            stateless=True,
            json_response=True,
            max_request_body_size=WORDY_BODY,  # the access layer allows less
            # The access layer has checked Host and Origin by the server's own settings, also behind a proxy.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses who has no token where one is needed: 401, as clients of the protocol expect."""
        try:
            await ScopeCheck(())(Request(scope))
        except Problem as problem:
            await refuse(problem, scope, receive, send)
            return
        assert self._manager is not None
        await self._manager.handle_request(scope, receive, send)

    async def _find_visit(self, context: Context) -> Visit:
        assert self._services is not None
        request = context.request
        assert isinstance(request, Request)
        caller = await ScopeCheck(())(request)
        return Visit(self._services, caller, str(request.base_url).rstrip("/"))


MCP = (mcp_extension,)
"""As `create_app` takes it: a function, which a worker is told of by its name."""
