"""Cards say what the rows say."""

from __future__ import annotations

from pathlib import Path

from viewfinder.library import Library
from viewfinder.pictures import formats
from viewfinder.search.hits import Hit, PicturePath
from viewfinder.server.pictures.library import FORMATS, make_hits
from viewfinder.store.rows import FileRecord, PictureRow, pictures_to_arrow
from viewfinder.store.snapshot import Snapshot
from viewfinder.testing import tiny_snapshot


def test_every_card_is_what_the_snapshot_says_of_its_row(library: Library) -> None:
    snapshot = library.gallery().snapshot
    found = [
        Hit(row + 1, picture, PicturePath(snapshot.paths(row)[0]), 0.5, "maybe")
        for row, picture in enumerate(snapshot.ids)
    ]
    for row, hit in enumerate(make_hits(snapshot, found)):
        facts = snapshot.facts(row)
        assert (hit.rank, hit.id, hit.score, hit.match) == (row + 1, snapshot.ids[row], 0.5, "maybe")
        assert (hit.width, hit.height) == (facts["width"], facts["height"])
        assert hit.name == Path(snapshot.paths(row)[0]).name
        assert hit.caption == next(iter(snapshot.captions(row)), None)


def test_names_that_are_not_unicode_can_be_sent() -> None:
    broken = b"/pictures/caf\xe9.png".decode("utf-8", "surrogateescape")
    row = PictureRow("a", (FileRecord(broken, 1, 1),), 3, 2, "PNG", 1)
    table = pictures_to_arrow([row])
    known = tiny_snapshot([("red", "blue")])
    snapshot = Snapshot(known.matrix_nd, table, {}, space="x", generation="x", folder=None)
    assert make_hits(snapshot, [Hit(1, "a", PicturePath(broken), 0.0, "unlikely")])[0].name.encode() == b"caf?.png"


def test_every_format_that_is_read_has_an_ending_and_a_media_type() -> None:
    read = {name for _, name in formats._STARTS} | {"WEBP", "AVIF", "HEIF"}
    assert read == FORMATS.keys()
    assert {ending for ending, _ in FORMATS.values()} <= formats.EXTENSIONS
