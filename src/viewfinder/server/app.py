"""The app: services made, access and routes put together, the page beside them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI

from viewfinder import __version__
from viewfinder.index.memo import MEMO
from viewfinder.server import access, metrics, openapi, pages, problems
from viewfinder.server.database import (
    Database,
    FeedbackRows,
    JobRows,
    SessionRows,
    StudyRows,
    TokenRows,
    UploadRows,
)
from viewfinder.server.images.thumbnails import Thumbnails
from viewfinder.server.images.uploads import Uploads
from viewfinder.server.jobs.manager import Jobs
from viewfinder.server.live_library import LiveLibrary
from viewfinder.server.routes import ROUTERS
from viewfinder.server.services import Pool, Services
from viewfinder.server.settings import ServerSettings, database_url
from viewfinder.server.studies.studies import Studies
from viewfinder.server.talks.talks import Conversations

if TYPE_CHECKING:
    from viewfinder.library import Library

PAGES = {
    "index.html": ("/", "/talk/{rest:path}", "/compare/{rest:path}"),
    "study.html": ("/study/{rest:path}",),
}
"""The page's own addresses: its script reads the rest."""

DESCRIPTION = """Find the picture you have in mind by talking about it.

A talk is a session: `POST /sessions`, then one turn after another (`POST /sessions/{id}/turns`). The answer to a turn
has the results; the follow-up question and the reasons come as server-sent events. Errors are problem documents
(RFC 9457).
"""


def create_app(library: Library, settings: ServerSettings) -> FastAPI:
    """The whole server over one library. Nothing is opened before the app starts.

    Raises (when it starts):
        DatabaseError: the database cannot be reached or brought up to date.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        services = open_services(LiveLibrary.of(library), settings)
        app.state.services = services
        services.library.start()
        services.talks.askers.start()
        await services.jobs.start()
        try:
            yield
        finally:
            await services.jobs.stop()
            services.library.stop()
            services.pool.close()
            services.thumbnails.close()
            services.database.close()

    app = FastAPI(
        title="Viewfinder",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # its page wants scripts from elsewhere
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        separate_input_output_schemas=False,
    )
    problems.install(app)
    access.install_access(app, lambda: getattr(app.state, "services", None))
    metrics.install(app)
    for router in ROUTERS:
        app.include_router(router)
    pages.install(app, PAGES)
    app.openapi = lambda: openapi.build_document(app)  # type: ignore[method-assign]  # FastAPI's documented way
    return app


def open_services(library: LiveLibrary, settings: ServerSettings) -> Services:
    """One of each service; the bounded cache of states gets its size."""
    MEMO.limit(settings.states_bytes)
    state = library.folder / "server"
    database = Database.open(database_url(library.folder, settings))
    uploads = Uploads(state / "uploads", UploadRows(database), settings)
    talks = Conversations(library, SessionRows(database), FeedbackRows(database), uploads, settings)
    return Services(
        settings=settings,
        library=library,
        database=database,
        pool=Pool(settings.threads),
        tokens=access.Tokens(TokenRows(database), settings),
        uploads=uploads,
        thumbnails=Thumbnails(library),
        talks=talks,
        jobs=Jobs(library, JobRows(database), settings),
        studies=Studies(StudyRows(database), talks, library),
    )
