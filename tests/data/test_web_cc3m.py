"""Conceptual Captions: the published TSV, local pictures, folders and shards as img2dataset writes them."""

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from viewfinder.data.files import Dropped, ReadReport
from viewfinder.data.web import WebPicture, read_cc3m, unpack_shards
from viewfinder.errors import BadInput

PUBLISHED = 'a very typical bus station\thttp://x.org/1.jpg\nthe "best" view , they say\thttps://y.org/2.png\n'


def _files(folder: Path, contents: Mapping[str, str]) -> Path:
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def _shard(file: Path, contents: Mapping[str, str], links: Mapping[str, str] = {}) -> None:
    with tarfile.open(file, "w") as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content.encode()))
        for name, target in links.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)


def test_the_published_file_has_captions_and_urls_quotes_included(tmp_path: Path) -> None:
    file = tmp_path / "Train_GCC-training.tsv"
    file.write_text(PUBLISHED)
    found, report = read_cc3m(file, need_images=False)
    assert found == [
        WebPicture("a very typical bus station", "http://x.org/1.jpg", None),
        WebPicture('the "best" view , they say', "https://y.org/2.png", None),
    ]
    assert report == ReadReport(2, 2)
    assert read_cc3m(file)[1].dropped[0] == Dropped("line 1", "only its URL is known")


@pytest.mark.parametrize("header", ["", "caption\tfile\n", "Title\tfilepath\n"])
def test_paths_instead_of_urls_are_relative_to_the_file(tmp_path: Path, header: str) -> None:
    _files(tmp_path, {"a/1.jpg": "", "cc.tsv": f"{header}a bus\ta/1.jpg\n\ta/1.jpg\na tram\ta/2.jpg\n"})
    found, report = read_cc3m(tmp_path / "cc.tsv")
    first = 2 if header else 1
    assert found == [WebPicture("a bus", "", tmp_path / "a" / "1.jpg")]
    assert report.dropped == (
        Dropped(f"line {first + 1}", "empty caption"),
        Dropped(f"line {first + 2}", "no such file"),
    )


def test_a_header_may_name_the_columns_in_another_order(tmp_path: Path) -> None:
    _files(tmp_path, {"1.jpg": "", "cc.tsv": "filepath\ttitle\n1.jpg\ta bus\n"})
    assert read_cc3m(tmp_path / "cc.tsv")[0] == [WebPicture("a bus", "", tmp_path / "1.jpg")]


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
        WebPicture("a tram", "", tmp_path / f"{key}0.png"),
        WebPicture("a bus", "http://x.org/1", tmp_path / f"{key}1.jpg"),
    ]
    assert report == ReadReport(3, 2, (Dropped(f"{key}2.txt", "no such file"),))


def test_shards_are_unpacked_once_and_then_read(tmp_path: Path) -> None:
    _shard(tmp_path / "00000.tar", {"000000000.jpg": "pixels", "000000000.txt": "a bus", "000000000.json": "{}"})
    _shard(tmp_path / "00001.tar", {"000010000.jpg": "pixels", "000010000.txt": "a tram"})
    with pytest.raises(BadInput, match=r"unpack the \.tar shards first"):
        read_cc3m(tmp_path)
    assert (unpack_shards(tmp_path, tmp_path / "out"), unpack_shards(tmp_path, tmp_path / "out")) == (5, 0)
    assert [picture.caption for picture in read_cc3m(tmp_path / "out")[0]] == ["a bus", "a tram"]
    assert (tmp_path / "out" / "00000" / "000000000.jpg").read_text() == "pixels"


def test_a_hostile_shard_writes_nothing_outside_its_folder(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    _shard(tmp_path / "shards" / "0.tar", {"../../evil.txt": "x", "/tmp/run.sh": "x"}, {"link.txt": "/etc/passwd"})
    assert unpack_shards(tmp_path / "shards", tmp_path / "deep" / "out") == 1
    written = sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if not file.is_dir())
    assert written == ["deep/out/0/evil.txt", "shards/0.tar"]


def test_a_truncated_shard_is_named(tmp_path: Path) -> None:
    _shard(tmp_path / "00000.tar", {"1.txt": "x" * 2000})
    (tmp_path / "00000.tar").write_bytes((tmp_path / "00000.tar").read_bytes()[:1000])
    with pytest.raises(BadInput, match=r"00000\.tar: damaged shard"):
        unpack_shards(tmp_path, tmp_path / "out")


def test_a_folder_or_shards_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no captions \(\.txt\) with pictures here$"):
        read_cc3m(tmp_path)
    with pytest.raises(BadInput, match=r"no \.tar shards here"):
        unpack_shards(tmp_path, tmp_path / "out")
