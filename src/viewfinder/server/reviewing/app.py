"""The app of `viewfinder review`: dialogues, their pictures, and decisions, guarded as the server is."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI

from viewfinder import __version__
from viewfinder.server import access, pages, problems
from viewfinder.server.database import Database, TokenRows
from viewfinder.server.reviewing.reviews import open_reviews
from viewfinder.server.reviewing.services import ReviewServices
from viewfinder.server.routes import access as login
from viewfinder.server.routes import health, review
from viewfinder.server.services import Pool
from viewfinder.server.settings import ServerSettings, database_url

PAGES = {"review.html": ("/",)}


def create_app(
    file: Path,
    images: Path | None,
    settings: ServerSettings,
    library_folder: Path,
    told: Callable[[str], None] = lambda line: None,
) -> FastAPI:
    """The app over one file of dialogues. Nothing is opened before it starts.

    Where other machines can reach it, the tokens of the server over `library_folder` are those that are good here.

    Raises (when it starts):
        BadInput: as `reviewing`.
        DatabaseError: the database of the tokens cannot be reached.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with open_reviews(file, images, told) as reviews, tempfile.TemporaryDirectory(prefix="viewfinder-") as scratch:
            # On this machine nobody needs a token: there is nothing to be left in a library.
            folder = Path(scratch) if settings.is_loopback else library_folder
            database = Database.open(database_url(folder, settings))
            tokens = access.Tokens(TokenRows(database), settings)
            services = ReviewServices(settings, Pool(settings.threads), tokens, reviews, Pool(2), Path(scratch))
            app.state.services = services
            try:
                yield
            finally:
                services.pool.close()
                services.aside.close()
                database.close()

    app = FastAPI(
        title="Viewfinder review",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    problems.install(app)
    access.install_access(app, lambda: getattr(app.state, "services", None))
    app.include_router(review.router)
    app.include_router(login.router)
    app.add_api_route("/api/v1/health/live", health.live, methods=["GET"])
    pages.install(app, PAGES)
    return app
