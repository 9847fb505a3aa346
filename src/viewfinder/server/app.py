"""The app: services made, access and routes put together, the page beside them (`document` describes it)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
)
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute, APIRouter
from sse_starlette import EventSourceResponse

from viewfinder import __version__
from viewfinder.server import monitoring, problems
from viewfinder.server.access import routes as access_routes
from viewfinder.server.access.gate import Access
from viewfinder.server.access.limits import ThreadPool
from viewfinder.server.access.tokens import Tokens
from viewfinder.server.conversations import routes as conversation_routes
from viewfinder.server.conversations.conversations import Conversations
from viewfinder.server.database import Database, FeedbackRows, JobRows, SessionRows, TokenRows, UploadRows
from viewfinder.server.embedding import install_embedding
from viewfinder.server.installing import install_program
from viewfinder.server.jobs import routes as job_routes
from viewfinder.server.jobs.manager import Jobs
from viewfinder.server.live_library import LiveLibrary
from viewfinder.server.pages import STATIC, install_pages
from viewfinder.server.pictures import overview_routes
from viewfinder.server.pictures import routes as picture_routes
from viewfinder.server.pictures.thumbnails import Thumbnails
from viewfinder.server.pictures.uploads import Uploads
from viewfinder.server.services import Services
from viewfinder.server.settings import ServerSettings, database_url
from viewfinder.server.taking import routes as taking_routes
from viewfinder.server.taking.filters import KeptFilters
from viewfinder.session.states import MEMO

if TYPE_CHECKING:
    from viewfinder.cluster import ActorShards
    from viewfinder.library import Library
    from viewfinder.server.follow_ups import FollowUp


ROUTERS = (
    conversation_routes.router,
    conversation_routes.search_router,
    picture_routes.router,
    job_routes.router,
    overview_routes.router,
    overview_routes.pictures_router,
    conversation_routes.retrievers_router,
    taking_routes.open_router,
    taking_routes.albums_router,
    taking_routes.marks_router,
    taking_routes.exports_router,
    access_routes.router,
    monitoring.router,
)
"""The API, in the order of its document; all below /api/v1."""

STREAMS = (EventSourceResponse, StreamingResponse)

PAGES = {"index.html": ("/", "/talk/{rest:path}", "/compare/{rest:path}", "/album/{rest:path}")}
"""The page's own addresses: its script reads the rest."""

DESCRIPTION = """Find the picture you have in mind by talking about it.

A conversation is a session: `POST /sessions`, then one turn after another (`POST /sessions/{id}/turns`). The answer to
a turn has the results; the follow-up question and the reasons come as server-sent events. Errors are problem documents
(RFC 9457).
"""


def create_app(
    library: Library,
    settings: ServerSettings,
    shared: Path | None = None,
    extensions: Sequence[Callable[[], Extension]] = (),
) -> FastAPI:
    """The whole server over one library. Nothing is opened before the app starts.

    `shared`: a folder in which all processes count what is limited, where several serve this library together.
    `extensions`: what is served beside the rest, as functions that make it, so that workers can be told of it.

    Raises (when it starts):
        DatabaseError: the database cannot be reached or brought up to date.
        ViewfinderError: there is no such cluster as the settings name, or Ray is not installed.
    """

    added = [extend() for extend in extensions]

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with connect_shards(library.folder, settings) as shards:
            services = open_services(LiveLibrary(library.folder, library.settings, shards), settings)
            app.state.services = services
            for extension in added:
                extension.start(app, services)
            services.library.start()
            services.conversations.questioners.start()
            await services.jobs.start()
            try:
                async with AsyncExitStack() as running:
                    for extension in added:
                        await running.enter_async_context(extension.run())
                    yield
            finally:
                services.pool.stop()  # its requests have ended
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
    problems.install_problems(app)
    app.add_middleware(Access, services_of=lambda: getattr(app.state, "services", None), shared=shared)
    app.state.metrics = metrics = monitoring.Metrics()
    app.add_middleware(monitoring.ObservedRequests, note=metrics.note)  # the outermost: what is refused counts too
    routers = (*ROUTERS, *(extension.router for extension in added))
    for router in routers:
        app.include_router(router)
    answer_head(app, routers)
    install_embedding(app)
    install_program(app)
    install_pages(app, {STATIC: PAGES, **{it.static: it.pages for it in added if it.static is not None}})

    def describe() -> dict[str, Any]:
        from viewfinder.server.document import build_document  # few ask for it

        return build_document(app, routers, [after for it in added for after in it.follow_ups], settings)

    app.openapi = describe  # type: ignore[method-assign]  # FastAPI's documented way
    return app


def answer_head(app: FastAPI, routers: Sequence[APIRouter]) -> None:
    """What GET gives at once, HEAD gives without its body, for monitors and proxies; streams are not begun for it."""
    for route in (route for router in routers for route in router.routes):
        if isinstance(route, APIRoute) and "GET" in (route.methods or ()) and route.response_class not in STREAMS:
            twin = copy(route)
            twin.methods, twin.include_in_schema = {"HEAD"}, False
            app.router.routes.append(twin)


def connect_shards(library_folder: Path, settings: ServerSettings) -> AbstractContextManager[ActorShards | None]:
    """The actors that search, where the settings name a cluster. Raises (when entered) as `ray_session`."""
    if settings.ray is None:
        return nullcontext()
    from viewfinder.cluster import ActorShards  # few servers have one

    return ActorShards.connect(settings.ray, library_folder, settings.shards)


def open_services(library: LiveLibrary, settings: ServerSettings) -> Services:
    """One of each service; the bounded cache of states gets its size."""
    MEMO.limit(settings.states_bytes)
    state = library.folder / "server"
    database = Database.open(database_url(library.folder, settings))
    uploads = Uploads(state / "uploads", UploadRows(database), settings)
    kept = KeptFilters(library, database)
    conversations = Conversations(library, SessionRows(database), FeedbackRows(database), uploads, settings, kept)
    return Services(
        settings=settings,
        library=library,
        database=database,
        pool=ThreadPool(settings.threads),
        tokens=Tokens(TokenRows(database), settings),
        uploads=uploads,
        thumbnails=Thumbnails(library),
        kept=kept,
        conversations=conversations,
        jobs=Jobs(library, JobRows(database), settings),
    )


@dataclass(frozen=True)
class Extension:
    """A part of the server that is served on request, such as user studies: its API, its pages and its service.

    `start` is called once the services are there, and keeps its own in `app.state`. `pages`: as in `PAGES`, files in
    `static`. `run`: entered after `start`, for as long as the app runs.
    """

    router: APIRouter
    follow_ups: tuple[FollowUp, ...]
    static: Path | None
    pages: Mapping[str, tuple[str, ...]]
    start: Callable[[FastAPI, Services], None]
    run: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
