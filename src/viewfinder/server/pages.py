"""The pages that an app shows, and the files that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

STATIC = Path(__file__).parent / "static"


def install(app: FastAPI, pages: Mapping[str, tuple[str, ...]]) -> None:
    """Serves each page at its addresses, and all scripts and styles below /static."""
    for name, addresses in pages.items():
        for address in addresses:
            app.add_api_route(address, _page(name), methods=["GET", "HEAD"], include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")


def _page(name: str) -> Callable[[], Any]:
    async def page() -> FileResponse:
        return FileResponse(STATIC / name, headers={"Cache-Control": "no-cache"})

    return page
