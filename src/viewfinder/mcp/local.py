"""An assistant on this machine: the protocol on stdin and stdout, over a library of its user.

The library is opened beside the first words of the protocol, and again with each call until it is there: an assistant
that was set up before `viewfinder add` says what to do, and need not be restarted.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from viewfinder.errors import NotALibrary, ViewfinderError
from viewfinder.library import Library
from viewfinder.mcp.protocol import Context, make_server
from viewfinder.mcp.visit import Visit
from viewfinder.server.access.tokens import LOCAL
from viewfinder.server.app import open_services
from viewfinder.server.live_library import LiveLibrary
from viewfinder.server.monitoring import configure_log
from viewfinder.server.problems import Problem

if TYPE_CHECKING:
    from viewfinder.server.services import Services
    from viewfinder.server.settings import ServerSettings

_LOG = logging.getLogger("viewfinder.mcp")


def run_local(library_folder: Path, settings: ServerSettings) -> int:
    """Speaks until stdin ends. Only the protocol goes to stdout; what is logged, to stderr."""
    from mcp.server.stdio import stdio_server

    configure_log()

    async def speak() -> None:
        local = LocalServices(library_folder, settings)
        server = make_server(local.find_visit)
        opening = asyncio.create_task(local.open_quietly())
        try:
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
        finally:
            await opening
            await asyncio.to_thread(local.close)

    asyncio.run(speak())
    return 0


class LocalServices:
    """The services of a server over a library, opened when they are first needed. No jobs run in this process."""

    def __init__(self, library_folder: Path, settings: ServerSettings) -> None:
        self._folder, self._settings = library_folder, settings
        self._services: Services | None = None
        self._opening = asyncio.Lock()

    async def find_visit(self, context: Context) -> Visit:
        """A call of this machine's own user.

        Raises:
            Problem: there is no library; the line says how one is made.
            ViewfinderError: it, or its database, cannot be opened.
        """
        return Visit(await self._open(), LOCAL, "")

    async def open_quietly(self) -> None:
        """Opens what can be opened; what cannot is told when it is called."""
        with suppress(ViewfinderError, Problem, OSError):
            await self._open()

    def close(self) -> None:
        """Ends what was opened."""
        if (services := self._services) is not None:
            services.pool.stop()
            services.library.stop()
            services.pool.close()
            services.thumbnails.close()
            services.database.close()

    async def _open(self) -> Services:
        async with self._opening:
            if self._services is None:
                self._services = await asyncio.to_thread(self._open_now)
            return self._services

    def _open_now(self) -> Services:
        try:
            library = Library.open(self._folder, create=False)
        except NotALibrary as error:
            # The user's own machine and folder: the path may be told here, and is what they have to know.
            there = "" if "there is no library" in str(error) else f" ({error})"
            detail = (
                f"there is no picture library at {self._folder}{there}: the user makes it with `viewfinder add "
                f"FOLDER_OF_PICTURES --library {self._folder}`, or names another with --library where this server "
                "is set up"
            )
            raise Problem(404, "not-found", detail) from error
        services = open_services(LiveLibrary(library.folder, library.settings), self._settings)
        services.library.start()
        services.conversations.questioners.start()
        _LOG.info("opened %s", self._folder)
        return services
