"""mmc4: pages of sentences and pictures; shards packed or not; damage named by line and field."""

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from viewfinder.data.files import Dropped, ReadReport
from viewfinder.data.picture_texts import PagePicture, read_mmc4
from viewfinder.errors import BadInput

LOCKS: dict[str, Any] = {
    "image_info": [
        {
            "face_detections": None,
            "image_name": "b9.jpg",
            "matched_sim": 0.25,
            "matched_text_index": 2,
            "raw_url": "http://h/91",
        },
        {
            "face_detections": None,
            "image_name": "db.jpg",
            "matched_sim": 0.5,
            "matched_text_index": 1,
            "raw_url": "http://h/92",
        },
    ],
    "similarity_matrix": [[0.125, 0.0, 0.25], [0.0, 0.5, 0.125]],
    "text_list": ["Lock the door.", "Press the switch.", "All doors lock."],
    "url": "http://h/48.html",
    "could_have_url_duplicate": 0,
}


def _shard(folder: Path, *pages: Any) -> Path:
    file = folder / "docs_no_face_shard_0_v3.jsonl"
    file.write_text("\n".join(json.dumps(page) for page in pages))
    return file


def test_a_page_as_it_is_published(tmp_path: Path) -> None:
    [page], report = read_mmc4(_shard(tmp_path, LOCKS))
    assert page.pictures == (
        PagePicture("b9.jpg", 2),
        PagePicture("db.jpg", 1),
    )
    assert page.sentences == tuple(LOCKS["text_list"])
    assert report == ReadReport(1, 1)


def test_a_page_without_pictures_is_left_out(tmp_path: Path) -> None:
    [page], report = read_mmc4(_shard(tmp_path, LOCKS, LOCKS | {"image_info": []}))
    assert [picture.name for picture in page.pictures] == ["b9.jpg", "db.jpg"]
    assert report == ReadReport(2, 1, (Dropped("line 2", "a page without pictures"),))


def test_packed_shards_hold_the_same_pages(tmp_path: Path) -> None:
    plain = _shard(tmp_path, LOCKS, LOCKS)
    packed, zipped = tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.zip"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(plain, "docs_no_face_shard_0_v3.jsonl")
    found = [read_mmc4(shard) for shard in (plain, packed, zipped)]
    assert [[page.pictures for page in pages] for pages, _ in found] == [[page.pictures for page in found[0][0]]] * 3


def test_a_truncated_zip_and_one_of_something_else_are_named(tmp_path: Path) -> None:
    zipped = tmp_path / "b.jsonl.zip"
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(BadInput, match=r"b\.jsonl\.zip: there is no \.jsonl in this archive"):
        read_mmc4(zipped)
    zipped.write_bytes(zipped.read_bytes()[:-10])
    with pytest.raises(BadInput, match=r"b\.jsonl\.zip: damaged"):
        read_mmc4(zipped)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"text_list": [1]}, "text_list: a list of texts is needed"),
        ({"image_info": None}, "field 'image_info' is needed"),
        ({"image_info": ["x"]}, "image_info[0]: field 'image_name' is needed"),
        ({"text_list": ["a", "b"]}, "image_info[0], matched_text_index: 2, but text_list has 2 sentences"),
    ],
)
def test_a_damaged_page_is_named_by_line_and_field(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    shard = _shard(tmp_path, LOCKS, LOCKS | change)
    with pytest.raises(BadInput) as caught:
        read_mmc4(shard)
    assert str(caught.value).startswith(f"{shard}, line 2")
    assert why in str(caught.value)
