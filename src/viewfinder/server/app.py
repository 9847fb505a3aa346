"""The app: services made, access and routes put together, the page beside them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from viewfinder import __version__
from viewfinder.cluster import ActorShards
from viewfinder.index.turns import MEMO
from viewfinder.server import monitoring, openapi, problems
from viewfinder.server.access import routes as access_routes
from viewfinder.server.access.gate import Access
from viewfinder.server.access.limits import ThreadPool
from viewfinder.server.access.tokens import Tokens
from viewfinder.server.conversations import routes as conversation_routes
from viewfinder.server.conversations.conversations import Conversations
from viewfinder.server.database import Database, FeedbackRows, JobRows, SessionRows, StudyRows, TokenRows, UploadRows
from viewfinder.server.jobs import routes as job_routes
from viewfinder.server.jobs.manager import Jobs
from viewfinder.server.live_library import LiveLibrary
from viewfinder.server.pictures import routes as picture_routes
from viewfinder.server.pictures.thumbnails import Thumbnails
from viewfinder.server.pictures.uploads import Uploads
from viewfinder.server.services import Services
from viewfinder.server.settings import ServerSettings, database_url
from viewfinder.server.studies import routes as study_routes
from viewfinder.server.studies.studies import Studies

if TYPE_CHECKING:
    from viewfinder.library import Library

ROUTERS = (
    conversation_routes.router,
    conversation_routes.search_router,
    picture_routes.router,
    job_routes.router,
    conversation_routes.retrievers_router,
    study_routes.router,
    access_routes.router,
    monitoring.router,
)
"""The API, in the order of its document; all below /api/v1."""

STATIC = Path(__file__).parent / "static"
PAGES = {"index.html": ("/", "/talk/{rest:path}", "/compare/{rest:path}"), "study.html": ("/study/{rest:path}",)}
"""The page's own addresses: its script reads the rest."""

DESCRIPTION = """Find the picture you have in mind by talking about it.

A conversation is a session: `POST /sessions`, then one turn after another (`POST /sessions/{id}/turns`). The answer to
a turn has the results; the follow-up question and the reasons come as server-sent events. Errors are problem documents
(RFC 9457).
"""


def create_app(library: Library, settings: ServerSettings, shared: Path | None = None) -> FastAPI:
    """The whole server over one library. Nothing is opened before the app starts.

    `shared`: a folder in which all processes count what is limited, where several serve this library together.

    Raises (when it starts):
        DatabaseError: the database cannot be reached or brought up to date.
        ViewfinderError: there is no such cluster as the settings name, or Ray is not installed.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with connect_shards(library.folder, settings) as shards:
            services = open_services(LiveLibrary(library.folder, library.settings, shards), settings)
            app.state.services = services
            services.library.start()
            services.conversations.questioners.start()
            await services.jobs.start()
            try:
                yield
            finally:
                services.pool.stop()  # nobody waits for it any more
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
    for router in ROUTERS:
        app.include_router(router)
    install_pages(app, PAGES)
    app.openapi = lambda: openapi.build_document(app, ROUTERS)  # type: ignore[method-assign]  # FastAPI's documented way
    return app


def connect_shards(library_folder: Path, settings: ServerSettings) -> AbstractContextManager[ActorShards | None]:
    """The actors that search, where the settings name a cluster. Raises (when entered) as `ray_session`."""
    if settings.ray is None:
        return nullcontext()
    return ActorShards.connected(settings.ray, library_folder, settings.shards)


def open_services(library: LiveLibrary, settings: ServerSettings) -> Services:
    """One of each service; the bounded cache of states gets its size."""
    MEMO.limit(settings.states_bytes)
    state = library.folder / "server"
    database = Database.open(database_url(library.folder, settings))
    uploads = Uploads(state / "uploads", UploadRows(database), settings)
    conversations = Conversations(library, SessionRows(database), FeedbackRows(database), uploads, settings)
    return Services(
        settings=settings,
        library=library,
        database=database,
        pool=ThreadPool(settings.threads),
        tokens=Tokens(TokenRows(database), settings),
        uploads=uploads,
        thumbnails=Thumbnails(library),
        conversations=conversations,
        jobs=Jobs(library, JobRows(database), settings),
        studies=Studies(StudyRows(database), conversations, library),
    )


def install_pages(app: FastAPI, pages: Mapping[str, tuple[str, ...]]) -> None:
    """Serves each page at its addresses, and all scripts and styles below /static."""

    def sender(name: str) -> Callable[[], Any]:
        async def send_page() -> FileResponse:
            return FileResponse(STATIC / name, headers={"Cache-Control": "no-cache"})

        return send_page

    for name, addresses in pages.items():
        for address in addresses:
            app.add_api_route(address, sender(name), methods=["GET", "HEAD"], include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
