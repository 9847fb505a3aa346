"""A library of eight drawn photographs with dates, cameras, places, persons, stars and folders, made once."""

from __future__ import annotations

import pytest

from tests.session.dated import draw_photos
from viewfinder.library import Library


@pytest.fixture(scope="session")
def album(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Tests leave it as it is."""
    folder = tmp_path_factory.mktemp("album")
    draw_photos(folder / "pictures")
    library = Library.open(folder / "library.vf")
    library.add(folder / "pictures")
    return library
