"""The services that routes use: made once for an app, closed with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Request

from viewfinder.server.access.bodies import GuardedRoute
from viewfinder.server.access.signatures import Signer
from viewfinder.server.access.tokens import Caller
from viewfinder.server.problems import ALWAYS, responses

if TYPE_CHECKING:
    from viewfinder.server.access.limits import ThreadPool
    from viewfinder.server.access.tokens import Tokens
    from viewfinder.server.conversations.conversations import Conversations
    from viewfinder.server.database import Database
    from viewfinder.server.jobs.manager import Jobs
    from viewfinder.server.live_library import LiveLibrary
    from viewfinder.server.pictures.thumbnails import Thumbnails
    from viewfinder.server.pictures.uploads import Uploads
    from viewfinder.server.settings import ServerSettings
    from viewfinder.server.taking.filters import KeptFilters


@dataclass(frozen=True)
class BaseServices:
    """The services of every app, by which the access layer decides who may do what."""

    settings: ServerSettings
    pool: ThreadPool
    tokens: Tokens


@dataclass(frozen=True)
class Services(BaseServices):
    """One of each, shared by all requests."""

    library: LiveLibrary
    database: Database
    uploads: Uploads
    thumbnails: Thumbnails
    kept: KeptFilters
    conversations: Conversations
    jobs: Jobs


async def _find_services(request: Request) -> BaseServices:
    found = request.app.state.services
    assert isinstance(found, BaseServices)
    return found


WithServices = Annotated[Services, Depends(_find_services)]
"""A route's parameter for the services."""

WithBaseServices = Annotated[BaseServices, Depends(_find_services)]
"""A route's parameter for the services of any app."""


async def _find_signer(request: Request) -> Signer | None:
    """None for callers whose browser sends what lets them in, or who need nothing."""
    if not getattr(request.state, "signs", False) or not isinstance(request.state.caller, Caller):
        return None
    return Signer(request.app.state.services.tokens, request.state.caller)


WithSigner = Annotated[Signer | None, Depends(_find_signer)]
"""A route's parameter for signing addresses; None where the caller needs none."""


def make_router(subject: str, prefix: str = "/api/v1") -> APIRouter:
    """A router for one subject: operations have the names of their functions, and may answer with a problem."""
    return APIRouter(
        prefix=prefix,
        tags=[subject],
        route_class=GuardedRoute,
        responses=responses(*ALWAYS),
        generate_unique_id_function=lambda route: route.name,
    )
