"""What pages of other origins load from the server: the client for JavaScript, and the search as an element.

These scripts hold nothing of the library, and so are open to every page (`Access-Control-Allow-Origin: *`, as scripts
of another origin need it to be modules); what they ask the API for is still only for origins that the settings name.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.responses import Response
from starlette.types import Scope

EMBEDDED = Path(__file__).parent / "static" / "embed"
"""The folder with the scripts."""

_OPEN = {
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Cache-Control": "no-cache",  # kept, but asked for again: a page and its server stay of one version
}


class OpenFiles(StaticFiles):
    """Files that pages of any origin may load and run."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """A file, or what has to be said instead, with the headers that open it."""
        response = await super().get_response(path, scope)
        response.headers.update(_OPEN)
        return response


def install_embedding(app: FastAPI) -> None:
    """Serves the scripts below /embed."""
    app.mount("/embed", OpenFiles(directory=EMBEDDED), name="embed")
