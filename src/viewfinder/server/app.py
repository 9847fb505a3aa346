"""The app: services made, access and routes put together, the page beside them; and its OpenAPI document.

The document is FastAPI's, with the scope that each operation asks for, and with links. They say what may be done with
what an answer names: an answer's ids go into addresses. Programs that follow them find their way through the API by
themselves (the contract test does).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
)
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, APIRouter

from viewfinder import __version__
from viewfinder.server import monitoring, problems
from viewfinder.server.access import routes as access_routes
from viewfinder.server.access.bodies import find_limit
from viewfinder.server.access.gate import Access
from viewfinder.server.access.limits import ThreadPool
from viewfinder.server.access.tokens import ScopeCheck, Tokens
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
from viewfinder.server.problems import ProblemDocument
from viewfinder.server.services import Services
from viewfinder.server.settings import ServerSettings, database_url
from viewfinder.server.taking import routes as taking_routes
from viewfinder.server.taking.filters import KeptFilters
from viewfinder.session.states import MEMO

if TYPE_CHECKING:
    from viewfinder.cluster import ActorShards
    from viewfinder.library import Library


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
    install_embedding(app)
    install_program(app)
    install_pages(app, {STATIC: PAGES, **{it.static: it.pages for it in added if it.static is not None}})
    follow_ups = (*FOLLOW_UPS, *(after for extension in added for after in extension.follow_ups))
    # FastAPI's documented way
    app.openapi = lambda: build_document(app, routers, follow_ups, settings)  # type: ignore[method-assign]
    return app


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


Document = dict[str, Any]

API = "/api/v1"
METHODS = ("get", "post", "put", "patch", "delete")
TOKEN = {"type": "http", "scheme": "bearer", "description": "Not needed on loopback; made by `viewfinder token add`."}


@dataclass(frozen=True)
class FollowUp:
    """After `operation` has answered `status`, everything below `address` can be asked for.

    `known`: each parameter of those addresses, as a runtime expression of OpenAPI.
    """

    operation: str
    status: int
    address: str
    known: dict[str, str]


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


def here(*names: str) -> dict[str, str]:
    """Parameters that are those of the request."""
    return {name: f"$request.path.{name}" for name in names}


ID = {"id": "$response.body#/id"}
SESSION, TURN = f"{API}/sessions/{{id}}", f"{API}/sessions/{{id}}/turns/{{number}}"
JOB, PICTURE = f"{API}/collection/jobs/{{id}}", f"{API}/pictures/{{picture}}"
IN_SESSION = f"{SESSION}/pictures/{{picture}}"
ALBUM = f"{API}/albums/{{id}}"
FOLLOW_UPS = (
    FollowUp("create_session", 201, SESSION, ID),
    FollowUp("import_session", 201, SESSION, ID),
    FollowUp("list_sessions", 200, SESSION, {"id": "$response.body#/sessions/0/id"}),
    FollowUp("take_turn", 201, SESSION, here("id")),
    FollowUp("take_turn", 201, TURN, {**here("id"), "number": "$response.body#/turn"}),
    FollowUp("take_turn", 201, IN_SESSION, {**here("id"), "picture": "$response.body#/results/0/id"}),
    FollowUp("edit_turn", 200, TURN, {**here("id"), "number": "$response.body#/results/turn"}),
    FollowUp("search", 200, PICTURE, {"picture": "$response.body#/results/0/id"}),
    FollowUp("similar_pictures", 200, PICTURE, {"picture": "$response.body#/results/0/id"}),
    FollowUp("upload", 201, f"{API}/uploads/{{upload}}", {"upload": "$response.body#/id"}),
    FollowUp("add_folder", 202, JOB, ID),
    FollowUp("prepare_retriever", 202, JOB, ID),
    FollowUp("list_jobs", 200, JOB, {"id": "$response.body#/jobs/0/id"}),
    FollowUp("create_album", 201, ALBUM, ID),
    FollowUp("list_albums", 200, ALBUM, {"id": "$response.body#/albums/0/id"}),
    FollowUp("change_album", 200, ALBUM, here("id")),
    FollowUp("create_export", 201, f"{API}/exports/{{id}}", ID),
    FollowUp("add_token", 201, f"{API}/tokens/{{name}}", {"name": "$response.body#/name"}),
)


def build_document(
    app: FastAPI, routers: Sequence[APIRouter], follow_ups: Sequence[FollowUp], settings: ServerSettings
) -> Document:
    """The OpenAPI 3.1 document of an app with these routers, made once; `x-max-bytes` says how large a body may be."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        shapes = made.setdefault("components", {}).setdefault("schemas", {})
        shapes["ProblemDocument"] = ProblemDocument.model_json_schema()
        for unused in ("HTTPValidationError", "ValidationError"):
            shapes.pop(unused, None)
        made["components"]["securitySchemes"] = {"token": TOKEN}
        for _, _, operation in list_operations(made):
            # What `problems.responses` says of every operation and this one never answers.
            without_body = () if "requestBody" in operation else ("400", "408", "413")
            without_words = () if "requestBody" in operation or "parameters" in operation else ("422",)
            without_files = ("507",) if {"access", "health"} & set(operation["tags"]) else ()
            for status in (*without_body, *without_words, *without_files):
                operation["responses"].pop(status, None)
        add_links(made, follow_ups)
        for route in (route for router in routers for route in router.routes):
            if isinstance(route, APIRoute) and route.include_in_schema:
                checks = [one.call for one in route.dependant.dependencies if isinstance(one.call, ScopeCheck)]
                for method in route.methods or ():
                    operation = made["paths"][route.path_format][method.lower()]
                    if checks:
                        operation["security"] = [{"token": list(checks[0].scopes)}]
                    if "requestBody" in operation:
                        operation["requestBody"]["x-max-bytes"] = find_limit(route.endpoint)(settings)
        app.openapi_schema = made
    return app.openapi_schema


def list_operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    """Method, path and description of each operation."""
    for path, methods in document["paths"].items():
        yield from ((method, path, methods[method]) for method in METHODS if method in methods)


def add_links(document: Document, follow_ups: Sequence[FollowUp]) -> None:
    """Writes what may follow into the answers of a document."""
    operations = {operation["operationId"]: (path, operation) for _, path, operation in list_operations(document)}
    for follows in follow_ups:
        links = operations[follows.operation][1]["responses"][str(follows.status)].setdefault("links", {})
        for name, (path, _) in operations.items():
            wanted = re.findall(r"\{(\w+)\}", path)
            if f"{path}/".startswith(f"{follows.address}/") and set(wanted) <= set(follows.known):
                parameters = {parameter: follows.known[parameter] for parameter in wanted}
                links[name] = {"operationId": name, "parameters": parameters}
