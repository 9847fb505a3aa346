"""A library of eight drawings behind the app, whose files tests may spoil; the encoder knows colours only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

import viewfinder.library
from viewfinder.library import Library
from viewfinder.pictures import picture_id
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings
from viewfinder.testing import TinyPicture, load_colour_encoder, tiny_pictures

if TYPE_CHECKING:
    from httpx2 import Response

API = "/api/v1"


class Person:
    """Somebody who asks: this machine, or the holder of a token."""

    def __init__(self, client: TestClient, secret: str | None = None) -> None:
        self.client = client
        self.headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}

    def ask(self, method: str, path: str, body: Any = None, **given: Any) -> Response:
        headers = self.headers | given.pop("headers", {})
        return self.client.request(
            method, path if path.startswith(API) else API + path, json=body, headers=headers, **given
        )

    def get(self, path: str, **given: Any) -> Any:
        """What a request is answered with, which succeeds."""
        answer = self.ask("GET", path, **given)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any, method: str = "POST") -> Any:
        """As `get`, of a request that changes something."""
        answer = self.ask(method, path, body)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def fails(self, status: int, method: str, path: str, body: Any = None, **given: Any) -> dict[str, Any]:
        """The problem document with this status."""
        answer = self.ask(method, path, body, **given)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert "/tmp" not in answer.text
        found: dict[str, Any] = answer.json()
        return found


class Served(Person):
    """This machine's own user: `ids[i]` is the picture of `drawings[i]`."""

    def __init__(self, app: FastAPI, client: TestClient, library: Library, drawings: list[TinyPicture]) -> None:
        super().__init__(client)
        self.app, self.library, self.drawings = app, library, drawings
        self.ids = [picture_id(drawing.path.read_bytes()) for drawing in drawings]

    def someone(self, name: str, *scopes: str) -> Person:
        """The holder of a new token."""
        return Person(self.client, self.app.state.services.tokens.create(name, scopes).secret)

    @property
    def files(self) -> list[Path]:
        return [drawing.path for drawing in self.drawings]


def make_library(folder: Path, count: int = 8, **given: Any) -> tuple[Library, list[TinyPicture]]:
    """A library of drawings with captions and a colour each."""
    drawings = tiny_pictures(folder / "pictures", count, **given)
    table = folder / "catalogue.csv"
    words = "\n".join(f'{it.path.name},"{it.caption}",{it.top}' for it in drawings)
    table.write_text(f"file,caption,colour\n{words}\n")
    library = Library.open(folder / "library")
    library.add(folder / "pictures", captions=table, catalogue=table, workers=1)
    return library, drawings


@contextmanager
def serving(library: Library, drawings: list[TinyPicture], **settings: Any) -> Iterator[Served]:
    """Serves a library, as this machine's own user reaches it."""
    app = create_app(library, ServerSettings.model_validate(settings))
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 123)) as client:
        yield Served(app, client, library, drawings)


@pytest.fixture
def draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Library, list[TinyPicture]]]:
    """Makes a library whose files a test may spoil."""
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    return partial(make_library, tmp_path)


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    with ExitStack() as running:
        yield lambda *given, **settings: running.enter_context(serving(*given, **settings))


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """For requests that change nothing, as they are refused."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        with serving(*make_library(tmp_path_factory.mktemp("unchanged"))) as served:
            yield served


@pytest.fixture
def served(draw: Callable[..., tuple[Library, list[TinyPicture]]], serve: Callable[..., Served]) -> Served:
    return serve(*draw())
