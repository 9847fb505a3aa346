"""A library of 24 drawings of two colours each, catalogued by the upper one, and studies over it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import viewfinder.library
from viewfinder.library import Library
from viewfinder.server.conversations.conversations import Conversations
from viewfinder.server.database import Database, FeedbackRows, SessionRows, StudyRows, UploadRows
from viewfinder.server.pictures.uploads import Uploads
from viewfinder.server.settings import ServerSettings
from viewfinder.studies.studies import Studies
from viewfinder.testing import load_colour_encoder, tiny_pictures

Open = Callable[[Database], Studies]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Library, dict[str, str]]]:
    """The library, and the caption of every picture by its id: "red over blue"."""
    home = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        pictures = tiny_pictures(home / "pictures", 24)
        with (home / "catalogue.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["file", "colour"])
            writer.writerows([picture.path.name, picture.top] for picture in pictures)
        library = Library.open(home / "library.vf")
        library.add(home / "pictures", catalogue=home / "catalogue.csv", workers=1)
        captions = {picture.path.name: picture.caption for picture in pictures}
        snapshot = library.gallery().snapshot
        said = {id: captions[Path(snapshot.paths(row)[0]).name] for row, id in enumerate(snapshot.ids)}
        yield library, said


@pytest.fixture
def open_studies(drawn: tuple[Library, dict[str, str]], tmp_path: Path) -> Open:
    """Makes the service over a database; a second one over the same database is a server that was started again."""

    def opened(database: Database) -> Studies:
        settings = ServerSettings(_env_file=None)
        uploads = Uploads(tmp_path / "uploads", UploadRows(database), settings)
        conversations = Conversations(drawn[0], SessionRows(database), FeedbackRows(database), uploads, settings)
        return Studies(StudyRows(database), conversations, drawn[0])

    return opened


@pytest.fixture
def studies(open_studies: Open, tmp_path: Path) -> Iterator[Studies]:
    """Studies in SQLite."""
    database = Database.open(f"sqlite:///{tmp_path}/server.db")
    yield open_studies(database)
    database.close()


@pytest.fixture
def captions(drawn: tuple[Library, dict[str, str]]) -> dict[str, str]:
    """What describes every picture exactly, by its id."""
    return drawn[1]
