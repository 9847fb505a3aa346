from __future__ import annotations

import os
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from viewfinder.errors import PictureError, UnknownName
from viewfinder.pictures import picture_id
from viewfinder.server.access.tokens import LOCAL, Caller
from viewfinder.server.database import UploadRow, UploadRows
from viewfinder.server.pictures.uploads import ReceivedFile, Uploads
from viewfinder.server.problems import Problem
from viewfinder.server.settings import ServerSettings

ANNA, BEN = (Caller(token, frozenset({"read", "write"})) for token in ("anna", "ben"))
PNG = Callable[..., bytes]


def arrived(uploads: Uploads, content: bytes, name: str = ".arriving.part") -> ReceivedFile:
    """A file that has been received whole."""
    (uploads.folder / name).write_bytes(content)
    return ReceivedFile(uploads.folder / name, picture_id(content), len(content))


def sent(uploads: Uploads, content: bytes, caller: Caller = LOCAL) -> UploadRow:
    return uploads.accept(arrived(uploads, content), caller)


def files_of(uploads: Uploads) -> set[str]:
    return {item.name for item in uploads.folder.iterdir() if item.is_file() and item.name != ".lock"}


def test_an_upload_is_filed_under_the_hash_of_its_content(uploads: Uploads, png: PNG) -> None:
    content = png("red", (640, 480))
    row = sent(uploads, content)
    assert (row.picture, row.bytes, row.width, row.height) == (picture_id(content), len(content), 640, 480)
    assert uploads.find(row.id, LOCAL.may_see) == uploads.folder / row.picture
    assert uploads.find(row.id, LOCAL.may_see).read_bytes() == content
    assert files_of(uploads) == {row.picture}


def test_its_small_copies_are_there_at_once(uploads: Uploads, png: PNG) -> None:
    source = uploads.make_source(sent(uploads, png("red", (640, 480))))
    assert source.longest == 640
    assert {item.name.removeprefix(source.picture) for item in source.cache.rglob("*.*")} == {"-16.webp", "-320.jpg"}


def test_two_uploads_of_one_file_share_it_until_both_are_deleted(uploads: Uploads, png: PNG) -> None:
    one, two = sent(uploads, png()), sent(uploads, png())
    assert one.id != two.id and one.picture == two.picture
    uploads.delete(one.id, LOCAL)
    assert uploads.find(two.id, LOCAL.may_see).exists()
    uploads.delete(two.id, LOCAL)
    assert files_of(uploads) == set()
    assert [item for item in uploads.make_source(two).cache.rglob("*") if item.is_file()] == []
    with pytest.raises(UnknownName, match="send the image again"):
        uploads.find(two.id, LOCAL.may_see)


def test_an_upload_is_its_owners_alone(uploads: Uploads, png: PNG) -> None:
    row = sent(uploads, png(), ANNA)
    assert uploads.get(row.id, ANNA) == uploads.get(row.id, LOCAL) == row
    for refused in (lambda: uploads.get(row.id, BEN), lambda: uploads.delete(row.id, BEN)):
        with pytest.raises(Problem, match="there is no upload") as caught:
            refused()
        assert caught.value.status == 404
    with pytest.raises(UnknownName, match="there is no upload"):
        uploads.find(row.id, BEN.may_see)
    assert uploads.find(row.id, ANNA.may_see) == uploads.find(row.id, LOCAL.may_see)


def test_the_oldest_make_room_and_nobody_elses(uploads: Uploads, png: PNG) -> None:
    bens = sent(uploads, png("white"), BEN)
    rows = [sent(uploads, png("blue", (number, 9)), ANNA) for number in range(1, 6)]
    kept = {row.picture for row in rows[2:]} | {bens.picture}  # three a person
    assert files_of(uploads) == kept
    with pytest.raises(Problem):
        uploads.get(rows[0].id, ANNA)
    assert uploads.get(bens.id, BEN) == bens


def test_names_that_lead_elsewhere_are_no_uploads(uploads: Uploads, png: PNG) -> None:
    row = sent(uploads, png())
    for name in ("", ".lock", "../server.sqlite3", "/etc/passwd", row.picture, f"thumbnails/{row.picture}", "\0"):
        with pytest.raises(UnknownName):
            uploads.find(name, LOCAL.may_see)
        with pytest.raises(Problem):
            uploads.get(name, LOCAL)


def bomb(width: int, height: int) -> bytes:
    """A PNG that says how large it is and holds next to nothing."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0" * 1000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def zipped(content: bytes) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("photo.png", content)
    return file.getvalue()


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/><script>alert(1)</script></svg>'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty file"),
        (b"just words", "not a picture"),
        (SVG, "not a picture"),
        (b"<!doctype html><script>alert(1)</script>", "not a picture"),
        (zipped(b"\x89PNG\r\n\x1a\n"), "not a picture"),
        (b"%PDF-1.7\n", "not a picture"),
        (b"\xff\xd8\xff\xe0" + bytes(500), "JPEG"),
        (b"GIF89a" + bytes(3), "GIF"),
        (bomb(60_000, 60_000), "too many pixels: 60000 x 60000"),
        (bomb(1001, 1000), "too many pixels"),
        (bomb(999, 1000), "PNG"),
    ],
    ids=["empty", "words", "svg", "html", "zip", "pdf", "jpeg", "gif", "bomb", "just too large", "hollow"],
)
def test_what_is_no_picture_is_refused_and_leaves_nothing(
    uploads: Uploads, upload_rows: UploadRows, content: bytes, reason: str
) -> None:
    with pytest.raises(PictureError, match=reason):
        sent(uploads, content)
    assert files_of(uploads) == set()
    assert upload_rows.pictures() == set()


def test_a_truncated_photo_is_refused(uploads: Uploads) -> None:
    content = BytesIO()
    Image.effect_noise((300, 300), 80).convert("RGB").save(content, "JPEG")
    with pytest.raises(PictureError, match="truncated JPEG"):
        sent(uploads, content.getvalue()[: len(content.getvalue()) // 2])
    assert files_of(uploads) == set()


def test_an_animation_is_its_first_frame(uploads: Uploads) -> None:
    content = BytesIO()
    frames = [Image.new("RGB", (40, 30), colour) for colour in ("red", "blue", "green")]
    frames[0].save(content, "GIF", save_all=True, append_images=frames[1:])
    source = uploads.make_source(sent(uploads, content.getvalue()))
    with Image.open(next(source.cache.rglob("*-320.jpg"))) as copy:
        red, green, blue = np.asarray(copy.convert("RGB"))[15, 20].tolist()
    assert red > 200 and green < 50 and blue < 50


def test_a_file_that_is_exchanged_while_it_is_read_is_refused(uploads: Uploads, png: PNG) -> None:
    given = arrived(uploads, png("red"))
    given.path.write_bytes(png("blue"))
    with pytest.raises(PictureError, match="changed while it was read"):
        uploads.accept(given, LOCAL)
    assert files_of(uploads) == set()


def test_many_may_send_and_delete_the_same_file_at_once(uploads: Uploads, upload_rows: UploadRows, png: PNG) -> None:
    content = png()

    def come_and_go(number: int) -> UploadRow:
        caller = Caller(f"caller-{number}", frozenset({"read", "write"}))
        row = uploads.accept(arrived(uploads, content, f".{number}.part"), caller)
        assert uploads.find(row.id, caller.may_see).exists()
        if number % 2:
            uploads.delete(row.id, caller)
        return row

    with ThreadPoolExecutor(4) as threads:
        rows = list(threads.map(come_and_go, range(12)))
    assert files_of(uploads) == upload_rows.pictures() == {rows[0].picture}
    assert all(uploads.find(row.id, LOCAL.may_see).read_bytes() == content for row in rows[::2])


def test_what_a_killed_server_left_is_removed_and_what_arrives_now_is_not(
    uploads: Uploads, upload_rows: UploadRows, settings: ServerSettings
) -> None:
    old, new = uploads.folder / ".old.part", uploads.folder / ".new.part"
    for file in (old, new):
        file.write_bytes(b"half")
    os.utime(old, (time.time() - 100_000,) * 2)
    Uploads(uploads.folder, upload_rows, settings)
    assert files_of(uploads) == {".new.part"}


def test_sizes_are_limits_of_the_settings(uploads: Uploads, png: PNG, tmp_path: Path) -> None:
    with pytest.raises(PictureError, match="too large"):
        sent(uploads, png() + bytes(200_000))
    assert files_of(uploads) == set()
