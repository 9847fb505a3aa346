"""What makes a program of the page: its manifest, the worker that keeps what was shown, its place in search bars."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any
from xml.etree.ElementTree import Element, SubElement, tostring

from fastapi import FastAPI, Header, Query, Request, Response
from fastapi.responses import RedirectResponse

from viewfinder.server.access.bodies import ENVELOPE, takes_body
from viewfinder.server.access.tokens import Reader
from viewfinder.server.pages import STATIC, TAGS, find_language, read_catalogue
from viewfinder.server.services import WithServices, WithSigner

MANIFEST, WORKER, SEARCH_BOX, SHARE = "/manifest.webmanifest", "/sw.js", "/opensearch.xml", "/share"
FEED = "/feed.xml"

ICONS = (("192", 192, "any"), ("512", 512, "any"), ("whole-512", 512, "maskable"))
"""Files in static/icons, the pixels of their sides, and what they are for."""

BLUE, PAPER = "#3451d1", "#f5f5f6"

_OPENSEARCH = "http://a9.com/-/spec/opensearch/1.1/"
_HEADERS = {"Cache-Control": "no-cache"}


def install_program(app: FastAPI) -> None:
    """Serves all of it beside the page; but for the feed, none of it tells anything of the library."""

    async def send_manifest(request: Request) -> Response:
        content = json.dumps(describe_program(find_language(request)), ensure_ascii=False)
        headers = {**_HEADERS, "Vary": "Accept-Language, Cookie"}
        return Response(content, media_type="application/manifest+json", headers=headers)

    async def send_worker(request: Request) -> Response:
        return Response(write_worker(), media_type="text/javascript", headers=_HEADERS)

    async def send_search_box(request: Request) -> Response:
        content = describe_search_box(str(request.base_url), find_language(request))
        return Response(content, media_type="application/opensearchdescription+xml", headers=_HEADERS)

    @takes_body(lambda settings: settings.upload_bytes + ENVELOPE)
    async def send_to_page(request: Request) -> Response:
        # The worker takes what is shared, and the page asks before it is sent. Without one nothing is taken.
        return RedirectResponse("/?shared", 303)

    async def send_feed(
        request: Request,
        caller: Reader,
        services: WithServices,
        signer: WithSigner,
        n: Annotated[int, Query(ge=1, le=100)] = 50,
        if_none_match: Annotated[str, Header(alias="If-None-Match", max_length=2000)] = "",
    ) -> Response:
        from viewfinder.server.feed import answer_feed

        return await answer_feed(request, services, signer, n, if_none_match)

    senders: dict[str, Callable[..., Any]] = {
        MANIFEST: send_manifest,
        WORKER: send_worker,
        SEARCH_BOX: send_search_box,
        FEED: send_feed,
    }
    for address, send in senders.items():
        app.add_api_route(address, send, methods=["GET", "HEAD"], include_in_schema=False)
    app.add_api_route(SHARE, send_to_page, methods=["POST"], include_in_schema=False)


def describe_program(language: str) -> dict[str, Any]:
    """The manifest in a language."""
    texts = read_catalogue(language)
    icons = [
        {"src": f"/static/icons/{name}.png", "sizes": f"{size}x{size}", "type": "image/png", "purpose": purpose}
        for name, size, purpose in ICONS
    ]
    return {
        "id": "/",
        "name": "Viewfinder",
        "short_name": "Viewfinder",
        "description": texts["start.title"],
        "lang": TAGS.get(language, language),
        "dir": "auto",
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": PAPER,
        "theme_color": BLUE,
        "icons": icons,
        "shortcuts": [
            {"name": texts["program.search"], "url": "/", "icons": icons[:1]},
            {"name": texts["program.favourites"], "url": "/?where=favourite%3Ayes", "icons": icons[:1]},
        ],
        "share_target": {
            "action": SHARE,
            "method": "POST",
            "enctype": "multipart/form-data",
            "params": {
                "title": "title",
                "text": "text",
                "url": "url",
                "files": [{"name": "file", "accept": ["image/*"]}],
            },
        },
    }


@cache
def write_worker() -> str:
    """The worker, with the files of the page and a version that is another one as soon as one of them is."""
    files = sorted(file for file in STATIC.rglob("*") if file.is_file())
    version = hashlib.sha256()
    for file in files:
        version.update(file.relative_to(STATIC).as_posix().encode() + b"\0" + file.read_bytes())
    shell = [f"/static/{file.relative_to(STATIC).as_posix()}" for file in files if _is_of_shell(file.suffix, file.name)]
    worker = (STATIC / "sw.js").read_text(encoding="utf-8")
    return worker.replace("{{version}}", version.hexdigest()[:16]).replace("{{files}}", " ".join(shell))


def _is_of_shell(suffix: str, name: str) -> bool:
    return name == "icon.svg" or (suffix in (".js", ".css") and name not in ("sw.js", "lost.css"))


def describe_search_box(site: str, language: str) -> bytes:
    """How a browser searches here from its address bar: an OpenSearch description for a server at `site`, with "/"."""
    root = Element("OpenSearchDescription", xmlns=_OPENSEARCH)
    SubElement(root, "ShortName").text = "Viewfinder"
    SubElement(root, "Description").text = read_catalogue(language)["start.title"]
    SubElement(root, "InputEncoding").text = "UTF-8"
    SubElement(root, "Image", width="192", height="192", type="image/png").text = f"{site}static/icons/192.png"
    SubElement(root, "Url", type="text/html", method="get", template=f"{site}?q={{searchTerms}}")
    written: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return written
