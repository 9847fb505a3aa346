"""Uploads in the database."""

from __future__ import annotations

import pytest

from viewfinder.server.database import Database, UploadRow, UploadRows


def upload(id: str, created: float, owner: str | None = "me", picture: str = "p") -> UploadRow:
    return UploadRow(id, owner, picture, 1000, 40, 30, created)


@pytest.fixture
def uploads(database: Database) -> UploadRows:
    return UploadRows(database)


def test_an_upload_comes_back_until_it_is_deleted(uploads: UploadRows) -> None:
    uploads.create(upload("a", 1.0))
    assert uploads.get("a") == upload("a", 1.0)
    assert uploads.delete("a") and not uploads.delete("a")
    assert uploads.get("a") is None


def test_the_newest_of_an_owner_stay_and_the_oldest_go_first(uploads: UploadRows) -> None:
    for id, created, owner in (("a", 3.0, "me"), ("b", 1.0, "me"), ("c", 2.0, "me"), ("d", 0.0, None)):
        uploads.create(upload(id, created, owner))
    assert [row.id for row in uploads.oldest_beyond(1, "me")] == ["b", "c"]
    assert uploads.oldest_beyond(3, "me") == []
    assert [row.id for row in uploads.oldest_beyond(0, None)] == ["d"]


def test_a_file_is_in_use_while_any_upload_has_it(uploads: UploadRows) -> None:
    for id, picture in (("a", "p"), ("b", "p"), ("c", "q")):
        uploads.create(upload(id, 1.0, picture=picture))
    uploads.delete("a")
    assert uploads.pictures() == {"p", "q"}
    uploads.delete("b")
    assert uploads.pictures() == {"q"}
