"""A library of six drawings that lie beside it, seen by an encoder that knows colours; uploads over a real database."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

import viewfinder.library
from viewfinder.library import Library
from viewfinder.server.database import Database, UploadRows
from viewfinder.server.pictures.uploads import Uploads
from viewfinder.server.settings import ServerSettings
from viewfinder.testing import load_colour_encoder, tiny_pictures


def _draw(folder: Path) -> None:
    tiny_pictures(folder, 6, size=(480, 320))


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a library of six drawings, and the drawings; made once, as that takes a second."""
    folder = tmp_path_factory.mktemp("drawn")
    _draw(folder / "pictures")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        Library.open(folder / "library").add(folder / "pictures", workers=1)
    return folder


@pytest.fixture
def library(drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    """A copy of its own for each test; the drawings, which it may spoil, are drawn again."""
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    shutil.copytree(drawn / "library", tmp_path / "library")
    yield Library.open(tmp_path / "library", create=False)
    _draw(drawn / "pictures")


@pytest.fixture
def upload_rows(tmp_path: Path) -> Iterator[UploadRows]:
    database = Database.open(f"sqlite:///{tmp_path}/server.sqlite3")
    yield UploadRows(database)
    database.close()


LIMITS = {"uploads_per_token": 3, "upload_bytes": 200_000, "upload_pixels": 1_000_000}


@pytest.fixture
def settings() -> ServerSettings:
    """Three uploads a person, of 200 kB and a megapixel."""
    return ServerSettings.model_validate(LIMITS)


@pytest.fixture
def uploads(tmp_path: Path, upload_rows: UploadRows, settings: ServerSettings) -> Uploads:
    return Uploads(tmp_path / "uploads", upload_rows, settings)


def _png(colour: str = "red", size: tuple[int, int] = (64, 48)) -> bytes:
    content = BytesIO()
    Image.new("RGB", size, colour).save(content, "PNG")
    return content.getvalue()


@pytest.fixture
def png() -> Callable[..., bytes]:
    """Makes the bytes of a PNG file of one colour and a size."""
    return _png
