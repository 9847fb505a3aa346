"""viewfinder.pictures.left_out"""

from __future__ import annotations

from pathlib import Path

import pytest

from viewfinder.errors import BadInput
from viewfinder.pictures.left_out import explain_file, explain_folder
from viewfinder.pictures.scan import Scan, scan
from viewfinder.pictures.walk_notes import WalkNotes


def put(place: Path, content: bytes = b"x") -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return place


def names(found: Scan, root: Path) -> list[str]:
    return [str(file.path.relative_to(root)) for file in found.files]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("D:/$RECYCLE.BIN", "trash"),
        ("D:/$Recycle.Bin", "trash"),
        ("nas/photo/#recycle", "trash"),
        ("nas/photo/@Recycle", "trash"),
        ("usb/.Trash-1000", "trash"),
        ("usb/.Trashes", "trash"),
        ("pictures/.dtrash", "trash"),
        ("data/anna/files_trashbin", "trash"),
        ("Takeout/Google Photos/Trash", "trash"),
        ("Takeout/Google Photos/Bin", "trash"),
        ("Takeout/Google Fotos/Papierkorb", "trash"),
        ("Takeout/Google Photos/Corbeille", "trash"),
        ("Takeout/Google Fotos/Papelera", "trash"),
        ("Takeout/Google Foto/Cestino", "trash"),
        ("Takeout/Google Foto's/Prullenbak", "trash"),
        ("Takeout/Google フォト/ごみ箱", "trash"),
        ("takeout-20240102/Photos/Trash", "trash"),
        ("nas/photo/#snapshot", "snapshots"),
        ("nas/photo/@Recently-Snapshot", "snapshots"),
        ("usb/System Volume Information", "system"),
        ("disk/lost+found", "system"),
        ("unpacked/__MACOSX", "system"),
        ("nas/photo/@eaDir", "previews"),
        ("nas/photo/.@__thumb", "previews"),
        ("home/.thumbnails", "previews"),
        ("Lightroom/Catalog Previews.lrdata", "previews"),
        ("Lightroom/Catalog.lrcat-data", "previews"),
        ("Photos Library.photoslibrary/resources/derivatives", "previews"),
        ("Photos Library.photoslibrary/resources/caches", "previews"),
        ("Photos Library.photoslibrary/database", "previews"),
        ("Library.photolibrary/Thumbnails", "previews"),
        ("Aperture Library.aplibrary/Previews", "previews"),
        ("photoprism/storage/cache", "previews"),
        ("nextcloud/appdata_oc1a2b/preview", "previews"),
        ("Plex Media Server/Metadata", "previews"),
        ("2019/CaptureOne/Cache", "previews"),
        ("Mine.cocatalog/Cache", "previews"),
    ],
)
def test_folders_of_other_programs_are_known(place: str, reason: str) -> None:
    parent, _, name = place.rpartition("/")
    assert explain_folder(parent, name) == reason


@pytest.mark.parametrize(
    "place",
    [
        "pictures/Trash",  # a person may call a folder so
        "pictures/Papierkorb",
        "pictures/cache",
        "pictures/thumbs",
        "pictures/Previews",
        "pictures/resources",
        "web/resources/derivatives",
        "Photos Library.photoslibrary/originals",
        "Photos Library.photoslibrary/Masters",
        "Photos Library.photoslibrary/resources",
        "Photos Library.photoslibrary/resources/renders",
        "Aperture Library.aplibrary/Masters",
        "photoprism/storage/users",
        "Takeout/Google Photos/Photos from 2019",
        "Takeout/Google Photos/Archive",
    ],
)
def test_folders_of_pictures_are_not_left_out(place: str) -> None:
    parent, _, name = place.rpartition("/")
    assert explain_folder(parent, name) is None


def test_what_immich_made_is_told_by_its_marks_and_by_what_lies_beside_it(tmp_path: Path) -> None:
    for name in ("library/a.jpg", "upload/b.jpg", "thumbs/c.webp", "encoded-video/d.jpg", "profile/e.jpg"):
        put(tmp_path / "old" / name)
    for name in ("library/a.jpg", "thumbs/c.webp"):
        put(tmp_path / "new" / name)
        put((tmp_path / "new" / name).parent / ".immich")
    put(tmp_path / "mine/thumbs/f.jpg")
    assert names(scan([tmp_path]), tmp_path) == [
        "mine/thumbs/f.jpg",
        "new/library/a.jpg",
        "old/library/a.jpg",
        "old/profile/e.jpg",
        "old/upload/b.jpg",
    ]


def test_files_of_systems_and_of_disk_stations_are_known() -> None:
    files = (
        ".DS_Store",
        "._a.jpg",
        "Thumbs.db",
        "desktop.ini",
        "SYNOPHOTO_THUMB_M.jpg",
        "SYNOD.jpg",
        ".a.jpg",
        "a.jpg",
    )
    assert [explain_file(name) for name in files] == ["system"] * 4 + ["previews", None, None, None]


def test_a_folder_marked_nomedia_is_left_out_with_all_below_unless_it_is_named(tmp_path: Path) -> None:
    put(tmp_path / "chat/.nomedia")
    put(tmp_path / "chat/a.jpg")
    put(tmp_path / "chat/deep/b.jpg")
    put(tmp_path / "c.jpg")
    notes = WalkNotes()
    assert names(scan([tmp_path], notes=notes), tmp_path) == ["c.jpg"]
    assert notes.left_out["nomedia"].examples == ["chat"]
    assert names(scan([tmp_path / "chat"]), tmp_path) == ["chat/a.jpg", "chat/deep/b.jpg"]


@pytest.mark.parametrize("include", [[], ["nothing"]])
def test_a_root_may_lie_in_what_another_root_leaves_out(tmp_path: Path, include: list[str]) -> None:
    for name in ("chat/.nomedia", "chat/a.jpg", ".hidden/b.jpg", "c.jpg"):
        put(tmp_path / name)
    roots = [tmp_path, tmp_path / "chat", tmp_path / ".hidden"]
    assert names(scan(roots, include=include), tmp_path) == [".hidden/b.jpg", "c.jpg", "chat/a.jpg"]


def test_what_is_left_out_is_taken_where_it_is_named_itself(tmp_path: Path) -> None:
    put(tmp_path / "$RECYCLE.BIN/a.jpg")
    assert names(scan([tmp_path]), tmp_path) == []
    assert names(scan([tmp_path / "$RECYCLE.BIN"]), tmp_path) == ["$RECYCLE.BIN/a.jpg"]


@pytest.mark.parametrize(
    ("pattern", "taken"),
    [
        ("$RECYCLE.BIN/", ["$RECYCLE.BIN/a.jpg", "$RECYCLE.BIN/b/.hidden.jpg", "$RECYCLE.BIN/b/c.jpg"]),
        ("$RECYCLE.BIN/**", ["$RECYCLE.BIN/a.jpg", "$RECYCLE.BIN/b/.hidden.jpg", "$RECYCLE.BIN/b/c.jpg"]),
        ("/$RECYCLE.BIN/*.jpg", ["$RECYCLE.BIN/a.jpg"]),
        ("#recycle", ["#recycle/g.jpg"]),  # no remark here
        ("b/c.jpg", []),  # a pattern with a slash counts from the folder on that was named
        ("**/b/c.jpg", ["$RECYCLE.BIN/b/c.jpg"]),
        ("chat", ["chat/d.jpg", "chat/inner/e.jpg"]),
        (".hidden.jpg", ["$RECYCLE.BIN/b/.hidden.jpg", ".hidden.jpg"]),
        ("*.photoslibrary/resources/derivatives", ["P.photoslibrary/resources/derivatives/masters/f.jpg"]),
    ],
)
def test_patterns_take_what_is_left_out_and_what_is_hidden(tmp_path: Path, pattern: str, taken: list[str]) -> None:
    for name in (
        "$RECYCLE.BIN/a.jpg",
        "$RECYCLE.BIN/._a.jpg",
        "$RECYCLE.BIN/b/c.jpg",
        "$RECYCLE.BIN/b/.hidden.jpg",
        "$RECYCLE.BIN/b/desktop.ini",
        "chat/.nomedia",
        "chat/d.jpg",
        "chat/inner/e.jpg",
        "P.photoslibrary/resources/derivatives/masters/f.jpg",
        "#recycle/g.jpg",
        ".hidden.jpg",
    ):
        put(tmp_path / name)
    notes = WalkNotes()
    assert names(scan([tmp_path], include=[pattern], notes=notes), tmp_path) == taken
    assert notes.included == len(taken)


def test_an_ignore_file_counts_more_than_a_pattern(tmp_path: Path) -> None:
    put(tmp_path / "$RECYCLE.BIN/a.jpg")
    put(tmp_path / "$RECYCLE.BIN/b.png")
    put(tmp_path / ".viewfinderignore", b"*.png\n")
    notes = WalkNotes()
    assert names(scan([tmp_path], include=["$RECYCLE.BIN"], notes=notes), tmp_path) == ["$RECYCLE.BIN/a.jpg"]
    assert notes.left_out["ignored"].examples == ["$RECYCLE.BIN/b.png"]


@pytest.mark.parametrize("pattern", ["", "  ", "!", "**/a/**/b/**/c"])
def test_a_pattern_that_makes_no_sense_is_bad_input(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(BadInput, match="include"):
        scan([tmp_path], include=[pattern])


def test_links_in_what_is_left_out_are_not_followed_for_a_pattern(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere/a.jpg")
    (tmp_path / "root/.hidden").mkdir(parents=True)
    (tmp_path / "root/.hidden/link").symlink_to(tmp_path / "elsewhere")
    assert names(scan([tmp_path / "root"], include=["*.jpg"]), tmp_path) == []
    assert names(scan([tmp_path / "root"], include=[".hidden"]), tmp_path) == ["root/.hidden/link/a.jpg"]
