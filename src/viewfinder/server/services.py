"""What the routes work with: made once for an app, torn down with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, ParamSpec, TypeVar

from fastapi import Depends, Request

if TYPE_CHECKING:
    from viewfinder.server.access.tokens import Tokens
    from viewfinder.server.database import Database
    from viewfinder.server.images.thumbnails import Thumbnails
    from viewfinder.server.images.uploads import Uploads
    from viewfinder.server.jobs.manager import Jobs
    from viewfinder.server.live_library import LiveLibrary
    from viewfinder.server.settings import ServerSettings
    from viewfinder.server.studies.studies import Studies
    from viewfinder.server.talks.talks import Conversations

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Pool:
    """The threads that search and that read and write the database; the event loop itself never does either."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="engine")

    async def run(self, work: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
        """What `work` gives, when a thread has done it."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *args, **kwargs))

    def close(self) -> None:
        """Waits for what runs."""
        self._threads.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class BaseServices:
    """What every app has, whatever it serves: by this the access layer decides who may do what."""

    settings: ServerSettings
    pool: Pool
    tokens: Tokens


@dataclass(frozen=True)
class Services(BaseServices):
    """One of each, shared by all requests."""

    library: LiveLibrary
    database: Database
    uploads: Uploads
    thumbnails: Thumbnails
    talks: Conversations
    jobs: Jobs
    studies: Studies


def _services(request: Request) -> Services:
    found = request.app.state.services
    assert isinstance(found, Services)
    return found


def _guarding(request: Request) -> BaseServices:
    found = request.app.state.services
    assert isinstance(found, BaseServices)
    return found


WithServices = Annotated[Services, Depends(_services)]
"""The services, as a route asks for them."""

WithBaseServices = Annotated[BaseServices, Depends(_guarding)]
"""The same for routes of any app."""
