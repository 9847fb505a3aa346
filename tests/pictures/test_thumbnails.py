"""viewfinder.pictures.thumbnails"""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image

from viewfinder.errors import DiskFull, PictureError
from viewfinder.pictures.identity import picture_id
from viewfinder.pictures.thumbnails import thumbnail


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    place = tmp_path / "photo.png"
    Image.new("RGBA", (900, 600), (255, 0, 0, 255)).save(place)
    return place


def longest_side(place: Path) -> int:
    with Image.open(place) as image:
        return max(image.size)


def test_a_thumbnail_is_a_small_jpeg_filed_under_the_pictures_id(photo: Path, tmp_path: Path) -> None:
    name = picture_id(photo.read_bytes())
    made = thumbnail(photo, name, tmp_path / "cache")
    assert made == tmp_path / "cache" / name[:2] / f"{name}-320.jpg"
    with Image.open(made) as image:
        assert (image.format, image.size) == ("JPEG", (320, 213))


def test_a_thumbnail_once_made_needs_no_picture(photo: Path, tmp_path: Path) -> None:
    name = picture_id(photo.read_bytes())
    made = thumbnail(photo, name, tmp_path / "cache", longest=64)
    photo.unlink()
    assert thumbnail(photo, name, tmp_path / "cache", longest=64) == made


def test_two_sizes_lie_side_by_side(photo: Path, tmp_path: Path) -> None:
    name = picture_id(photo.read_bytes())
    made = [thumbnail(photo, name, tmp_path / "cache", longest=longest) for longest in (32, 64)]
    assert [longest_side(place) for place in made] == [32, 64]


def test_a_file_that_is_another_picture_by_now_is_refused(photo: Path, tmp_path: Path) -> None:
    name = picture_id(photo.read_bytes())
    Image.new("RGB", (9, 9)).save(photo)
    with pytest.raises(PictureError, match="has changed since it was added"):
        thumbnail(photo, name, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_a_picture_that_is_gone_is_an_error_of_its_own_kind(tmp_path: Path) -> None:
    with pytest.raises(PictureError, match="no such file"):
        thumbnail(tmp_path / "gone.jpg", "0" * 32, tmp_path / "cache")


def test_many_threads_may_ask_for_the_same_thumbnail(photo: Path, tmp_path: Path) -> None:
    name = picture_id(photo.read_bytes())
    with ThreadPoolExecutor(8) as threads:
        made = set(threads.map(lambda _: thumbnail(photo, name, tmp_path / "cache"), range(16)))
    (place,) = made
    assert [item.name for item in place.parent.iterdir()] == [place.name]


def test_a_full_disk_is_said_and_leaves_nothing_half_written(
    photo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(DiskFull, match="no room for a thumbnail"):
        thumbnail(photo, picture_id(photo.read_bytes()), tmp_path / "cache")
    assert [item for item in (tmp_path / "cache").rglob("*") if item.is_file()] == []
