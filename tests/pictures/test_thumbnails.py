from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from viewfinder.errors import PictureError
from viewfinder.pictures.fits import picture_id
from viewfinder.pictures.thumbnails import PLACEHOLDER, choose_size, load_thumbnail, read_thumbnail, thumbnail_path


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    place = tmp_path / "photo.png"
    Image.new("RGBA", (900, 600), (255, 0, 0, 255)).save(place)
    return place


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def id_of(photo: Path) -> str:
    return picture_id(photo.read_bytes())


def files_in(cache: Path) -> list[str]:
    return sorted(item.name for item in cache.rglob("*") if item.is_file())


def test_a_thumbnail_is_a_small_jpeg_filed_under_the_pictures_id(photo: Path, cache: Path) -> None:
    name = id_of(photo)
    made = load_thumbnail(photo, name, cache)
    assert made == read_thumbnail(cache / name[:2] / f"{name}-320.jpg")
    with Image.open(BytesIO(made)) as image:
        assert (image.format, image.size) == ("JPEG", (320, 213))


def test_a_placeholder_is_made_with_it_and_takes_a_hundred_bytes(photo: Path, cache: Path) -> None:
    name = id_of(photo)
    load_thumbnail(photo, name, cache)
    content = thumbnail_path(cache, name, PLACEHOLDER).read_bytes()
    assert len(content) < 200
    with Image.open(BytesIO(content)) as image:
        assert (image.format, image.size) == ("WEBP", (16, 11))
        red, green, blue = np.asarray(image.convert("RGB"))[5, 8].tolist()
        assert red > 230 and green < 25 and blue < 25


@pytest.mark.parametrize("damage", [b"", b"\0" * 300, None])
def test_a_damaged_thumbnail_is_made_again(photo: Path, cache: Path, damage: bytes | None) -> None:
    name = id_of(photo)
    made = load_thumbnail(photo, name, cache, longest=160)
    place = thumbnail_path(cache, name, 160)
    whole = place.read_bytes()
    flipped = whole[:50] + bytes([whole[50] ^ 1]) + whole[51:]
    place.write_bytes(flipped if damage is None else damage)
    assert load_thumbnail(photo, name, cache, longest=160) == made
    assert place.read_bytes() == whole


def test_a_thumbnail_once_made_needs_no_picture(photo: Path, cache: Path) -> None:
    name = id_of(photo)
    made = load_thumbnail(photo, name, cache, longest=160)
    photo.unlink()
    assert load_thumbnail(photo, name, cache, longest=160) == made


def test_two_sizes_lie_side_by_side(photo: Path, cache: Path) -> None:
    name = id_of(photo)
    for longest in (160, 640):
        load_thumbnail(photo, name, cache, longest=longest)
    assert files_in(cache) == [f"{name}-16.webp", f"{name}-160.jpg", f"{name}-640.jpg"]


@pytest.mark.parametrize(
    ("asked", "longest", "size"),
    [
        (1280, 224, 320),
        (640, 320, 320),
        (640, 321, 640),
        (160, 5000, 160),
        (1280, 5000, 1280),
        (16, 5, 16),
        (320, 5, 160),
    ],
)
def test_no_size_is_made_that_a_smaller_one_serves_as_well(asked: int, longest: int, size: int) -> None:
    assert choose_size(asked, longest) == size


def test_a_file_that_is_another_picture_by_now_is_refused(photo: Path, cache: Path) -> None:
    name = id_of(photo)
    Image.new("RGB", (9, 9)).save(photo)
    with pytest.raises(PictureError, match=r"^photo\.png has changed since it was added"):
        load_thumbnail(photo, name, cache)
    assert not cache.exists()


def test_a_picture_that_is_gone_is_an_error_of_its_own_kind(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(PictureError, match="no such file"):
        load_thumbnail(tmp_path / "gone.jpg", "0" * 32, cache)


def test_many_threads_may_ask_for_the_same_thumbnail(photo: Path, cache: Path) -> None:
    name = id_of(photo)
    with ThreadPoolExecutor(8) as threads:
        made = set(threads.map(lambda _: load_thumbnail(photo, name, cache), range(16)))
    assert len(made) == 1
    assert files_in(cache) == [f"{name}-16.webp", f"{name}-320.jpg"]


def test_a_full_disk_hides_no_picture_and_leaves_nothing_half_written(
    photo: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    made = load_thumbnail(photo, id_of(photo), cache)
    with Image.open(BytesIO(made)) as image:
        assert image.size == (320, 213)
    assert files_in(cache) == []
