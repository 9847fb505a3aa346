"""viewfinder.store.objects: what lies below a prefix; a folder stands in for the bucket."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from pyarrow import fs

from viewfinder.errors import BadInput
from viewfinder.pictures import FoundFile
from viewfinder.pictures.walk_notes import WalkNotes
from viewfinder.store import object_walk, objects


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    monkeypatch.setattr(object_walk, "open_store", lambda url: (files, url.partition("://")[2]))
    for key in (
        "a.jpg", "b.HIF", "c.jxl", "clip.mp4", "notes.txt", "noending", ".hidden.jpg", ".DS_Store", "@eaDir/d.jpg",
        "sub/.cache/e.jpg", "P.photoslibrary/resources/derivatives/f.jpg", "P.photoslibrary/originals/g.jpg",
    ):  # fmt: skip
        (tmp_path / "bucket/pictures" / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "bucket/pictures" / key).write_bytes(b"x")
    return tmp_path / "bucket"


def found(notes: WalkNotes, include: tuple[str, ...] = ()) -> set[str]:
    places = list(object_walk.walk_objects("s3://bucket/pictures", include=include, notes=notes))
    assert all(isinstance(place, FoundFile) for place in places)
    return {str(place.path).partition("pictures/")[2] for place in places}


def test_objects_are_found_and_told_as_files_are(bucket: Path) -> None:
    notes = WalkNotes()
    assert found(notes) == {"a.jpg", "b.HIF", "c.jxl", "P.photoslibrary/originals/g.jpg"}
    assert notes.passed_over == {"videos": 1, ".txt": 1, "no ending": 1}
    assert {why: (it.folders, it.files) for why, it in notes.left_out.items()} == {
        "hidden": (0, 2),
        "system": (0, 1),
        "previews": (0, 2),
    }


def test_patterns_take_objects_that_are_left_out(bucket: Path) -> None:
    notes = WalkNotes()
    assert found(notes, ("*.photoslibrary/resources/", "@eaDir")) == {
        "a.jpg", "b.HIF", "c.jxl", "P.photoslibrary/originals/g.jpg", "@eaDir/d.jpg",
        "P.photoslibrary/resources/derivatives/f.jpg",
    }  # fmt: skip
    assert notes.included == 2


@pytest.mark.parametrize(
    ("url", "address"),
    [("gs://photos/mine/a b.jpg", "gs://photos?retry_limit_seconds=60"), ("s3://photos/mine/a b.jpg", "s3://photos")],
)
def test_a_bucket_out_of_reach_is_asked_for_a_minute(url: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = SimpleNamespace(from_uri=lambda uri: (uri, ""))
    monkeypatch.setattr(fs, "FileSystem", stand_in)
    assert objects.open_store(url) == (address, "photos/mine/a b.jpg")


@pytest.mark.parametrize("place", ["s3://", "s3:", "gs:///mine", Path("s3://")])
def test_a_url_without_a_bucket_names_nothing(place: str | Path) -> None:
    with pytest.raises(BadInput, match=r"names no bucket: write (s3|gs)://BUCKET/NAME"):
        objects.parse_url(place)
