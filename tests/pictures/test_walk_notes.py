"""viewfinder.pictures.walk_notes, and what a walk counts in them"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.pictures import formats
from viewfinder.pictures.left_out import explain_folder
from viewfinder.pictures.scan import scan
from viewfinder.pictures.walk_notes import (
    MAX_EXAMPLES,
    MAX_KINDS,
    LeftOut,
    WalkNotes,
    describe_kinds,
    describe_lacking,
    describe_left_out,
    describe_sidecars,
    name_kind,
)


def put(place: Path, content: bytes = b"x") -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return place


def count_files(root: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(root))


def test_every_file_is_found_or_counted_once(tmp_path: Path) -> None:
    for name in (
        "a.jpg",
        "b.HEIC",
        "b.HEIC.xmp",
        "c.jpg",
        "c.jpg.supplemental-metadata.json",
        "alone.xmp",
        "package.json",
        "clip.mp4",
        "clip.mp4.json",
        "Clip.MOV",
        "notes.txt",
        "noending",
        "ends.",
        "drawing.psd",
        "film.raw",
        ".hidden.jpg",
        ".DS_Store",
        "Thumbs.db",
        "ignored.png",
        "sub/d.png",
        "sub/e.pdf",
    ):
        put(tmp_path / name)
    put(tmp_path / ".viewfinderignore", b"ignored.png\n")
    notes = WalkNotes()
    found = scan([tmp_path], notes=notes)
    left = sum(it.files for it in notes.left_out.values())
    assert len(found.files) == 4
    assert sum(notes.passed_over.values()) + sum(notes.sidecars.values()) + left + 4 == count_files(tmp_path)
    assert notes.sidecars == {"XMP": 1, "Takeout": 1}
    assert notes.passed_over == {
        ".xmp": 1, ".json": 2, "videos": 2, ".txt": 1, "no ending": 2, ".psd": 1, ".raw": 1, ".pdf": 1,
    }  # fmt: skip
    assert {reason: it.files for reason, it in notes.left_out.items()} == {"hidden": 2, "system": 2, "ignored": 1}


def test_a_folder_that_is_left_out_counts_once_and_is_not_entered(tmp_path: Path) -> None:
    for number in range(5):
        put(tmp_path / f"{number}/@eaDir/thumb.jpg")
    put(tmp_path / "lib.vf/library.json")
    put(tmp_path / "lib.vf/tables/x.jpg")
    notes = WalkNotes()
    assert scan([tmp_path], notes=notes).files == ()
    previews = notes.left_out["previews"]
    assert (previews.folders, previews.files, len(previews.examples)) == (5, 0, MAX_EXAMPLES)
    assert notes.left_out["libraries"].folders == 1
    assert notes.passed_over == {}


def test_the_same_folder_named_twice_is_counted_once(tmp_path: Path) -> None:
    put(tmp_path / "sub/a.txt")
    put(tmp_path / "sub/a.jpg")
    notes = WalkNotes()
    scan([tmp_path, tmp_path / "sub", tmp_path], notes=notes)
    assert notes.passed_over == {".txt": 1}


def test_pictures_that_need_an_extra_are_counted_by_their_endings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.jxl", "b.JXL", "c.heic", "d.jpg"):
        put(tmp_path / name)
    monkeypatch.setattr(formats, "find_spec", lambda name: None if name == "pillow_jxl" else find_spec(name))
    notes = WalkNotes()
    assert len(scan([tmp_path], notes=notes).files) == 4
    assert notes.lacking == {".jxl": 2}
    assert describe_lacking(notes.lacking) == [
        "2 .jxl: pip install 'viewfinder[jxl]', with the pip beside this viewfinder"
    ]


def test_a_million_kinds_of_files_are_a_bounded_tally() -> None:
    notes = WalkNotes()
    for number in range(10 * MAX_KINDS):
        notes.pass_over(f"v{number}")
        notes.leave_out("hidden", f".{number}", folder=False)
    assert len(notes.passed_over) == MAX_KINDS + 1
    assert sum(notes.passed_over.values()) == 10 * MAX_KINDS
    assert notes.left_out["hidden"].files == 10 * MAX_KINDS
    assert len(notes.left_out["hidden"].examples) == MAX_EXAMPLES


def test_kinds_are_videos_endings_or_others() -> None:
    kinds = [name_kind(ending) for ending in ("mov", "psd", "", "x" * 11, "a b", "1\n2")]
    assert kinds == ["videos", ".psd", "no ending", "others", "others", "others"]


@pytest.mark.parametrize(
    ("kinds", "line"),
    [
        ({}, ""),
        ({"videos": 1}, "1 video"),
        ({"videos": 1_412, ".txt": 2, "no ending": 3}, "1,412 videos, 3 without an ending, 2 .txt"),
        ({f".{letter}": 1 for letter in "abcdefg"}, "1 .a, 1 .b, 1 .c, 1 .d, 1 .e, 1 .f, 1 .g"),
        (
            {f".{letter}": 1 for letter in "abcdefghij"},
            "1 .a, 1 .b, 1 .c, 1 .d, 1 .e, 1 .f, 4 others (.g, .h, .i ...)",
        ),
        ({".a": 1, "others": 99}, "1 .a, 99 others"),
    ],
)
def test_kinds_in_one_line(kinds: dict[str, int], line: str) -> None:
    assert describe_kinds(kinds) == line


def test_what_is_left_out_in_one_line_with_the_way_to_take_it() -> None:
    left = {
        "ignored": LeftOut(files=2, examples=["a.png", "b.png"]),
        "previews": LeftOut(folders=4, examples=["a/@eaDir", "b/@eaDir", "c/@eaDir"]),
        "hidden": LeftOut(files=1, folders=2, examples=[".a", ".b", ".c"]),
    }
    assert describe_left_out(left) == (
        "4 folders of other programs' previews (a/@eaDir, b/@eaDir, c/@eaDir, ...), "
        "2 hidden folders and 1 hidden file (.a, .b, .c): --include GLOB takes them; "
        "2 files ignored by .viewfinderignore (a.png, b.png)"
    )
    assert describe_left_out({"ignored": left["ignored"]}, examples=False) == "2 files ignored by .viewfinderignore"
    assert describe_left_out({"system": LeftOut(1, 0, [".DS_Store"])}) == "1 file of the system (.DS_Store)"


def test_sidecars_are_told_with_their_kinds() -> None:
    assert describe_sidecars({"XMP": 2, "Takeout": 1}) == "1 Takeout sidecar, 2 XMP sidecars"


NAMES = st.sampled_from(
    ["a", "IMG_1", "日本", ".hidden", "Takeout", "Trash", "thumbs", "upload", "P.photoslibrary", "resources"]
)
ENDINGS = st.sampled_from(["", ".jpg", ".jpg.xmp", ".xmp", ".jpg.json", ".json", ".mp4", ".raw", ".nomedia", ".txt"])


def count_entered(folder: Path, *, is_root: bool = True) -> int:
    """The files in folders that a walk enters, counted in the obvious way."""
    entries = sorted(folder.iterdir())
    if not is_root and any(entry.name == ".nomedia" for entry in entries):
        return 0
    entered = [it for it in entries if it.is_dir() and it.name[0] != "." and not explain_folder(str(folder), it.name)]
    return sum(it.is_file() for it in entries) + sum(count_entered(it, is_root=False) for it in entered)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.lists(NAMES, max_size=3), NAMES, ENDINGS), max_size=25))
def test_whatever_lies_in_a_folder_the_counts_add_up(files: list[tuple[list[str], str, str]]) -> None:
    with TemporaryDirectory() as scratch:
        root = Path(scratch, "root")
        root.mkdir()
        for folders, name, ending in files:
            with suppress(OSError):  # a folder where a file is to be, or the other way round
                put(root.joinpath(*folders, ending if ending == ".nomedia" else name + ending))
        notes = WalkNotes()
        found = scan([root], notes=notes)
        counted = sum(notes.passed_over.values()) + sum(notes.sidecars.values())
        counted += sum(left.files for left in notes.left_out.values())
        assert len(found.files) + counted == count_entered(root)
        assert not found.unreadable
