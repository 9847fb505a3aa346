"""A library of all pairs of colours, known by their vectors; and conversations over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import viewfinder.library
from viewfinder.library import Library
from viewfinder.server.conversations.conversations import Conversations
from viewfinder.server.database import Database, FeedbackRows, SessionRows, UploadRows
from viewfinder.server.pictures.uploads import Uploads
from viewfinder.server.settings import ServerSettings
from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.testing import COLOURS, ColourEncoder, draw_halves, load_colour_encoder

LOOKS = [(top, bottom) for top in COLOURS for bottom in COLOURS]

OpenConversations = Callable[..., Conversations]


@pytest.fixture(scope="module")
def colours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Pictures p000 (red over red), p001 (red over green) ... p063; the first has a caption."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        library, encoder = Library.open(tmp_path_factory.mktemp("colours") / "library.vf"), ColourEncoder()
        rows = [
            PictureRow(
                f"p{at:03}",
                (FileRecord(f"/nowhere/in particular/{top} over {bottom}.png", 1, 1),),
                24,
                16 + at,
                "PNG",
                1,
                captions=("two reds", "red") if at == 0 else (),
                attributes={"top": (top,), "bottom": (bottom,)},
            )
            for at, (top, bottom) in enumerate(LOOKS)
        ]
        raw_nd = encoder.pictures([draw_halves(top, bottom) for top, bottom in LOOKS]).global_bd
        library.store.add(rows, {encoder.raw_version: raw_nd, encoder.version: encoder.project(raw_nd)})
        library.switch(encoder.version, None)
        yield library


@pytest.fixture
def open_conversations(colours: Library, tmp_path: Path) -> OpenConversations:
    """Makes conversations over a database; a second time over the same one: another process, or the next start."""

    def opened(database: Database, **settings: Any) -> Conversations:
        given = ServerSettings(_env_file=None, **settings)
        uploads = Uploads(tmp_path / "uploads", UploadRows(database), given)
        return Conversations(colours, SessionRows(database), FeedbackRows(database), uploads, given)

    return opened


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Database]:
    """A new database."""
    database = Database.open(f"sqlite:///{tmp_path}/server.db")
    yield database
    database.close()


@pytest.fixture
def conversations(open_conversations: OpenConversations, sqlite: Database) -> Conversations:
    """Conversations in SQLite."""
    return open_conversations(sqlite)


@pytest.fixture
def two(open_conversations: OpenConversations, database: Database, database_url: str) -> Iterator[list[Conversations]]:
    """Two processes over one database."""
    other = Database.open(database_url)
    yield [open_conversations(database), open_conversations(other)]
    other.close()
