"""Conceptual Captions: the published TSV, local pictures, folders as img2dataset writes them."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from viewfinder.data.captions import CaptionedPicture
from viewfinder.data.files import Dropped, ReadReport
from viewfinder.data.picture_texts import read_cc3m
from viewfinder.errors import BadInput

PUBLISHED = 'a very typical bus station\thttp://x.org/1.jpg\nthe "best" view , they say\thttps://y.org/2.png\n'


def _files(folder: Path, contents: Mapping[str, str]) -> Path:
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def test_of_the_published_file_only_urls_are_known(tmp_path: Path) -> None:
    file = tmp_path / "Train_GCC-training.tsv"
    file.write_text(PUBLISHED)
    lost = (Dropped("line 1", "only its URL is known"), Dropped("line 2", "only its URL is known"))
    assert read_cc3m(file) == ([], ReadReport(2, 0, lost))


def test_captions_are_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "2.png").write_text("")
    (tmp_path / "cc.tsv").write_text('the "best" view , they say\t2.png\n')
    assert read_cc3m(tmp_path / "cc.tsv")[0] == [CaptionedPicture(tmp_path / "2.png", ('the "best" view , they say',))]


@pytest.mark.parametrize("header", ["", "caption\tfile\n", "Title\tfilepath\n"])
def test_paths_instead_of_urls_are_relative_to_the_file(tmp_path: Path, header: str) -> None:
    _files(tmp_path, {"a/1.jpg": "", "cc.tsv": f"{header}a bus\ta/1.jpg\n\ta/1.jpg\na tram\ta/2.jpg\n"})
    found, report = read_cc3m(tmp_path / "cc.tsv")
    first = 2 if header else 1
    assert found == [CaptionedPicture(tmp_path / "a" / "1.jpg", ("a bus",))]
    assert report.dropped == (
        Dropped(f"line {first + 1}", "empty caption"),
        Dropped(f"line {first + 2}", "no such file"),
    )


def test_a_header_may_name_the_columns_in_another_order(tmp_path: Path) -> None:
    _files(tmp_path, {"1.jpg": "", "cc.tsv": "filepath\ttitle\n1.jpg\ta bus\n"})
    assert read_cc3m(tmp_path / "cc.tsv")[0] == [CaptionedPicture(tmp_path / "1.jpg", ("a bus",))]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "cc.tsv").write_text(PUBLISHED + "no tab here\n")
    with pytest.raises(BadInput, match=r"cc\.tsv, line 3: caption and URL"):
        read_cc3m(tmp_path / "cc.tsv")


def test_a_folder_of_img2dataset_is_read_in_order(tmp_path: Path) -> None:
    key = "00000/00000000"
    fetched = {f"{key}1.jpg": "", f"{key}1.txt": "a bus\n", f"{key}1.json": json.dumps({"url": "http://x.org/1"})}
    _files(tmp_path, fetched | {f"{key}0.png": "", f"{key}0.txt": "a tram", f"{key}2.txt": "never fetched"})
    found, report = read_cc3m(tmp_path)
    assert found == [
        CaptionedPicture(tmp_path / f"{key}0.png", ("a tram",)),
        CaptionedPicture(tmp_path / f"{key}1.jpg", ("a bus",)),
    ]
    assert report == ReadReport(3, 2, (Dropped(f"{key}2.txt", "no such file"),))


def test_shards_are_to_be_unpacked_first(tmp_path: Path) -> None:
    (tmp_path / "00000.tar").write_bytes(b"")
    with pytest.raises(BadInput, match=r"unpack the \.tar shards first"):
        read_cc3m(tmp_path)


def test_a_folder_without_captions_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no captions \(\.txt\) with pictures here$"):
        read_cc3m(tmp_path)
