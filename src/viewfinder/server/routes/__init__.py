"""The API, one module a subject; all below /api/v1."""

from viewfinder.server.routes import access, collection, health, pictures, retrievers, search, sessions, studies

ROUTERS = tuple(
    module.router for module in (sessions, search, pictures, collection, retrievers, studies, access, health)
)

__all__ = ["ROUTERS"]
