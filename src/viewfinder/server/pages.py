"""The pages in the language of whoever asks for them, and the page for addresses that lead nowhere.

A page is a file of HTML in which `{{key}}` stands for a text. Its texts are in `static/locales`, one file a language;
the page's scripts read the same file. A language is added by adding its file.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import Scope

from viewfinder.server.problems import answer_error

STATIC = Path(__file__).parent / "static"
LOCALES = STATIC / "locales"
DEFAULT = "en"
TAGS = {"zh": "zh-Hans"}
"""What HTML calls a language, where that is not the name of its file."""

LANGUAGE_COOKIE = "viewfinder_language"
"""The cookie in which the page keeps the language that was chosen there."""

MAX_ACCEPTED = 20
"""Languages of a browser that are looked at."""

_TEXT = re.compile(r"\{\{([a-z.-]+)\}\}")
_HEADERS = {"Cache-Control": "no-cache", "Vary": "Accept-Language, Cookie"}


@cache
def list_languages() -> tuple[str, ...]:
    """The languages that the pages speak, by the names of their files."""
    return tuple(sorted(file.stem for file in LOCALES.glob("*.json")))


@cache
def read_catalogue(language: str) -> Mapping[str, str]:
    """The texts of a language, by key."""
    texts: dict[str, str] = json.loads((LOCALES / f"{language}.json").read_text(encoding="utf-8"))
    return texts


def choose_language(chosen: str | None, accepted: str) -> str:
    """The language for a browser: the one that was `chosen` on the page, else the best of its header Accept-Language.

    >>> choose_language(None, "pt-BR, de-AT;q=0.8, en;q=0.7"), choose_language("fr", "de"), choose_language("?", "")
    ('de', 'fr', 'en')
    """
    languages = list_languages()
    if chosen in languages:
        return str(chosen)
    from babel import negotiate_locale

    return negotiate_locale(_order_accepted(accepted), languages, sep="-") or DEFAULT


def _order_accepted(accepted: str) -> list[str]:
    """Languages of a header Accept-Language, the most wanted first; what cannot be read is left out."""
    found: list[tuple[float, str]] = []
    for each in accepted.split(",")[:MAX_ACCEPTED]:
        name, _, weight = each.partition(";q=")
        if re.fullmatch(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}", name.strip()):
            quality = float(weight) if re.fullmatch(r"[01](\.[0-9]{1,3})?", weight.strip()) else 1.0
            found.append((quality, name.strip()))
    return [name for quality, name in sorted(found, key=lambda each: -each[0]) if quality > 0]


def find_language(request: Request) -> str:
    """The language of the page that a request is answered with."""
    return choose_language(request.cookies.get(LANGUAGE_COOKIE), request.headers.get("accept-language", ""))


@cache
def render_page(file: Path, language: str) -> str:
    """A page in a language: its texts, and of the language its name, direction, catalogue and the others there are."""
    from babel import Locale

    tag = TAGS.get(language, language)
    about = {
        "lang": tag,
        "dir": Locale.parse(tag, sep="-").text_direction,
        "catalogue": f"/static/locales/{language}.json",
        "languages": " ".join(list_languages()),
        "language": language,
    }
    texts = {**read_catalogue(language), **about}
    return _TEXT.sub(lambda found: html.escape(texts[found[1]]), file.read_text(encoding="utf-8"))


class PageFiles(StaticFiles):
    """The files of pages, scripts without their comments: half the bytes on a slow line."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """A file, or word that the browser's copy is still good."""
        answer = super().file_response(full_path, stat_result, scope, status_code)
        if not str(full_path).endswith(".js") or answer.status_code == HTTPStatus.NOT_MODIFIED:
            return answer
        kept = {name: answer.headers[name] for name in ("etag", "last-modified")}
        script = strip_script(str(full_path), stat_result.st_mtime_ns)
        return Response(script, status_code, kept, media_type="text/javascript")


@lru_cache(maxsize=512)
def strip_script(file: str, changed_ns: int) -> str:
    """A script without comments and needless space, as it was when it was `changed_ns`."""
    from rjsmin import jsmin

    return str(jsmin(Path(file).read_text(encoding="utf-8")))


def install_pages(app: FastAPI, pages_in: Mapping[Path, Mapping[str, tuple[str, ...]]]) -> None:
    """Serves each page of some folders at its addresses, and all their scripts and styles below /static.

    Files of these folders and of the server's own share addresses, so that a page can use the scripts of any. A browser
    at any other address gets a page that says so; programs, and all below /api, get a problem document.
    """

    def sender(file: Path) -> Callable[[Request], Any]:
        async def send_page(request: Request) -> HTMLResponse:
            return HTMLResponse(render_page(file, find_language(request)), headers=_HEADERS)

        return send_page

    for folder, pages in pages_in.items():
        for name, addresses in pages.items():
            for address in addresses:
                app.add_api_route(address, sender(folder / name), methods=["GET", "HEAD"], include_in_schema=False)
    files = PageFiles(directory=STATIC)
    files.all_directories = [STATIC, *(folder for folder in pages_in if folder != STATIC)]
    app.mount("/static", files, name="static")
    app.add_exception_handler(HTTPStatus.NOT_FOUND, _answer_lost)


async def _answer_lost(request: Request, error: Exception) -> Response:
    """The page for an address that leads nowhere, for browsers; for programs a problem document."""
    if not isinstance(error, HTTPException) or not _wants_page(request):
        return await answer_error(request, error)
    return HTMLResponse(render_page(STATIC / "lost.html", find_language(request)), HTTPStatus.NOT_FOUND, _HEADERS)


def _wants_page(request: Request) -> bool:
    is_for_people = not request.url.path.startswith(("/api/", "/static/"))
    return is_for_people and request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")
