"""viewfinder.pictures.scan and .ignoring"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from viewfinder.errors import BadInput
from viewfinder.pictures import ignoring
from viewfinder.pictures.found_files import FoundFile, printable_path
from viewfinder.pictures.ignoring import Rule
from viewfinder.pictures.scan import Scan, scan, walk

WithoutRoot = Callable[[], AbstractContextManager[None]]


def put(place: Path, content: bytes = b"x") -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return place


def names(found: Scan, root: Path) -> list[str]:
    return [str(file.path.relative_to(root)) for file in found.files]


def complaints(found: Scan) -> dict[str, str]:
    return {item.path.name: item.reason for item in found.unreadable}


def test_pictures_are_found_by_extension_in_any_case_and_in_sorted_order(tmp_path: Path) -> None:
    for name in (
        "b.JPG",
        "a.jpeg",
        "sub/c.Png",
        "notes.txt",
        "sub/deep/d.cr2",
        "e.heic",
        "f.avif",
        "movie.mp4",
    ):
        put(tmp_path / name)
    assert names(scan([tmp_path]), tmp_path) == [
        "a.jpeg",
        "b.JPG",
        "e.heic",
        "f.avif",
        "sub/c.Png",
        "sub/deep/d.cr2",
    ]


def test_files_that_cameras_and_programs_call_otherwise_are_found(tmp_path: Path) -> None:
    endings = (
        "jfif", "jpe", "pjpeg", "HIF", "heics", "heifs", "avifs", "mpo", "apng", "jxl", "pef", "srw", "nrw", "3FR",
        "crw", "GPR", "rwl", "iiq", "erf", "kdc", "mrw", "x3f", "mos", "mef", "dcr", "sr2", "srf", "orf", "rw2",
    )  # fmt: skip
    for ending in endings:
        put(tmp_path / f"a.{ending}")
    assert names(scan([tmp_path]), tmp_path) == sorted(f"a.{ending}" for ending in endings)


def test_an_ending_that_cameras_share_with_others_is_judged_by_the_first_bytes(tmp_path: Path) -> None:
    put(tmp_path / "panasonic.raw", b"IIU\x00\x18\x00\x00\x00")
    put(tmp_path / "disk.raw", bytes(512))
    put(tmp_path / "hasselblad.fff", b"MM\x00*\x00\x00\x00\x08")
    assert names(scan([tmp_path]), tmp_path) == ["hasselblad.fff", "panasonic.raw"]


def test_pictures_come_with_their_sidecars_and_a_stamp_of_them(tmp_path: Path) -> None:
    for name in ("a.jpg", "b.jpg", "a.jpg.xmp", "a.xmp", "b.jpg.supplemental-metadata.json", "c.jpg", "sub/d.jpg"):
        put(tmp_path / name)
    put(tmp_path / "sub/d.jpg.xmp")
    found = {file.path.name: file for file in scan([tmp_path]).files}
    assert {name: file.sidecars for name, file in found.items()} == {
        "a.jpg": ("a.jpg.xmp", "a.xmp"),
        "b.jpg": ("b.jpg.supplemental-metadata.json",),
        "c.jpg": (),
        "d.jpg": ("d.jpg.xmp",),
    }
    assert [found[name].stamp == 0 for name in ("a.jpg", "b.jpg", "c.jpg", "d.jpg")] == [False, False, True, False]
    put(tmp_path / "a.xmp", b"changed")
    again = {file.path.name: file for file in scan([tmp_path]).files}
    assert [name for name in found if again[name].stamp != found[name].stamp] == ["a.jpg"]
    assert [file.sidecars for file in scan([tmp_path / "a.jpg", tmp_path / "b.jpg"]).files] == [
        found["a.jpg"].sidecars,
        found["b.jpg"].sidecars,
    ]
    assert list(walk([tmp_path / "a.jpg"])) == [again["a.jpg"]]


def test_the_signature_of_the_readers_goes_into_every_stamp(tmp_path: Path) -> None:
    for name in ("a.jpg", "a.jpg.xmp", "b.jpg"):
        put(tmp_path / name)
    stamps = [
        {file.path.name: file.stamp for file in walk([tmp_path], signature=it) if isinstance(file, FoundFile)}
        for it in (0, 7, 8)
    ]
    assert stamps[0]["b.jpg"] == 0
    assert len({of["a.jpg"] for of in stamps}) == len({of["b.jpg"] for of in stamps}) == 3


def test_sidecars_that_may_not_be_read_belong_to_no_picture(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    put(folder / "a.jpg")
    put(folder / "b.jpg")
    os.mkfifo(folder / "a.jpg.xmp")
    put(folder / "b.jpg.xmp")
    put(folder / "._b.xmp")
    put(folder / ".viewfinderignore", b"b.jpg.xmp\n")
    (folder / "a.xmp").symlink_to(put(tmp_path / "secret.xmp"))
    assert [file.sidecars for file in scan([folder]).files] == [("a.xmp",), ()]
    assert [file.sidecars for file in scan([folder], follow_links=False).files] == [(), ()]


def test_size_and_time_of_change_are_told(tmp_path: Path) -> None:
    file = put(tmp_path / "a.jpg", b"12345")
    os.utime(file, ns=(1, 1_234_567_890_123_456_789))
    (found,) = scan([tmp_path]).files
    assert (found.path, found.size, found.mtime_ns) == (file, 5, 1_234_567_890_123_456_789)


def test_a_time_of_change_that_no_table_holds_is_a_reason_to_leave_a_file_out(tmp_path: Path) -> None:
    far = 1 << 63
    os.utime(put(tmp_path / "a.jpg"), ns=(far, far))
    if (tmp_path / "a.jpg").stat().st_mtime_ns < far:
        pytest.skip("this file system has no such times")
    assert complaints(scan([tmp_path])) == {"a.jpg": "its time of change is after the year 2262: `touch` it"}


def test_size_and_time_of_change_are_told_extension_is_judged_by_its_first_bytes(tmp_path: Path) -> None:
    put(tmp_path / "IMG_0001", b"\xff\xd8\xff\xe0 and so on")
    put(tmp_path / "Makefile", b"all:\n")
    put(tmp_path / "empty", b"")
    assert names(scan([tmp_path]), tmp_path) == ["IMG_0001"]


def test_a_root_that_does_not_exist_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no such folder or file: .*holidays"):
        scan([tmp_path, tmp_path / "holidays"])


def test_a_file_named_as_a_root_is_taken_whatever_it_is_called(tmp_path: Path) -> None:
    file = put(tmp_path / ".hidden.dat")
    assert names(scan([file]), tmp_path) == [".hidden.dat"]


def test_roots_that_overlap_give_each_file_once(tmp_path: Path) -> None:
    put(tmp_path / "a.jpg")
    put(tmp_path / "sub/b.jpg")
    roots = [tmp_path / "sub", tmp_path, tmp_path / "a.jpg", tmp_path]
    assert names(scan(roots), tmp_path) == ["a.jpg", "sub/b.jpg"]


def test_a_relative_root_gives_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "sub/a.jpg")
    monkeypatch.chdir(tmp_path)
    assert scan([Path("sub")]).files[0].path == tmp_path / "sub/a.jpg"
    assert scan([Path("sub/../sub")]).files[0].path == tmp_path.resolve() / "sub/a.jpg"


def test_a_tilde_is_the_users_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    put(tmp_path / "Pictures/a.jpg")
    found = scan([Path("~/Pictures")])
    assert found.roots == (tmp_path / "Pictures",)
    assert names(found, tmp_path) == ["Pictures/a.jpg"]


def test_hidden_names_and_other_programs_litter_are_passed_over(tmp_path: Path) -> None:
    for name in (
        ".hidden.jpg",
        ".trash/a.jpg",
        "__MACOSX/a.jpg",
        "@eaDir/a.jpg",
        "sub/Thumbs.db",
        "sub/kept.jpg",
    ):
        put(tmp_path / name)
    assert names(scan([tmp_path]), tmp_path) == ["sub/kept.jpg"]


def test_libraries_of_ours_are_passed_over_and_reported_when_named(tmp_path: Path) -> None:
    put(tmp_path / "lib.vf/library.json")
    put(tmp_path / "lib.vf/tables/thumb.jpg")
    put(tmp_path / "shop/library.json")
    put(tmp_path / "shop/shelf.jpg")
    assert names(scan([tmp_path]), tmp_path) == ["shop/shelf.jpg"]
    named = scan([tmp_path / "lib.vf"])
    assert named.files == ()
    assert "viewfinder library" in complaints(named)["lib.vf"]


def test_ignore_files_speak_gitignore(tmp_path: Path) -> None:
    for name in (
        "a.jpg",
        "raw/b.jpg",
        "sub/raw/c.jpg",
        "sub/d.png",
        "sub/e.jpg",
        "top/f.jpg",
        "sub/top/g.jpg",
    ):
        put(tmp_path / name)
    (tmp_path / ".viewfinderignore").write_text("# comment\nraw/\n*.png\n/top\n")
    assert names(scan([tmp_path]), tmp_path) == ["a.jpg", "sub/e.jpg", "sub/top/g.jpg"]


def test_an_inner_ignore_file_overrules_an_outer_one(tmp_path: Path) -> None:
    for name in ("a.png", "sub/a.png", "sub/b.png", "sub/c.jpg", "c.jpg"):
        put(tmp_path / name)
    (tmp_path / ".viewfinderignore").write_text("*.png\n")
    (tmp_path / "sub/.viewfinderignore").write_text("!a.png\nc.jpg\n")
    assert names(scan([tmp_path]), tmp_path) == ["c.jpg", "sub/a.png"]


def test_an_ignore_file_that_makes_no_sense_is_reported_and_the_pictures_kept(tmp_path: Path) -> None:
    put(tmp_path / "a.jpg")
    (tmp_path / ".viewfinderignore").write_text("!\n")
    found = scan([tmp_path])
    assert names(found, tmp_path) == ["a.jpg"]
    assert "ignored" in complaints(found)[".viewfinderignore"]


def test_a_link_to_its_own_parent_ends(tmp_path: Path) -> None:
    put(tmp_path / "sub/a.jpg")
    (tmp_path / "sub/again").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to("self")
    found = scan([tmp_path])
    assert names(found, tmp_path) == ["sub/a.jpg"]
    assert "symbolic links" in complaints(found)["self"]


def test_a_linked_folder_is_entered_once_and_its_own_name_wins(tmp_path: Path) -> None:
    put(tmp_path / "photos/z/a.jpg")
    (tmp_path / "photos/alias").symlink_to(tmp_path / "photos/z")
    put(tmp_path / "elsewhere/b.jpg")
    (tmp_path / "photos/two").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "photos/one-more").symlink_to(tmp_path / "elsewhere")
    root = tmp_path / "photos"
    assert names(scan([root]), root) == ["two/b.jpg", "z/a.jpg"]


def test_links_to_files_are_files_and_dangling_ones_are_reported(tmp_path: Path) -> None:
    put(tmp_path / "a.jpg")
    (tmp_path / "b.jpg").symlink_to("a.jpg")
    (tmp_path / "c.jpg").symlink_to("gone.jpg")
    (tmp_path / "d.txt").symlink_to("gone.txt")
    found = scan([tmp_path])
    assert names(found, tmp_path) == ["a.jpg", "b.jpg"]
    assert complaints(found) == {"c.jpg": "the link leads nowhere"}


def test_an_unreadable_folder_is_reported_and_the_rest_is_found(open_folder: Path, without_root: WithoutRoot) -> None:
    put(open_folder / "a/a.jpg")
    put(open_folder / "locked/b.jpg")
    put(open_folder / "z/c.jpg")
    (open_folder / "locked").chmod(0o000)
    with without_root():
        found = scan([open_folder])
    assert names(found, open_folder) == ["a/a.jpg", "z/c.jpg"]
    assert complaints(found) == {"locked": "permission denied"}


def test_an_unreadable_file_without_extension_is_reported(open_folder: Path, without_root: WithoutRoot) -> None:
    put(open_folder / "IMG_1").chmod(0o000)
    with without_root():
        found = scan([open_folder])
    assert complaints(found) == {"IMG_1": "permission denied"}


def test_a_folder_that_may_be_listed_but_not_entered_reports_its_files(
    open_folder: Path, without_root: WithoutRoot
) -> None:
    put(open_folder / "listed/b.jpg")
    (open_folder / "listed").chmod(0o444)
    with without_root():
        found = scan([open_folder])
    assert found.files == ()
    assert set(complaints(found).values()) == {"permission denied"}


def test_pipes_and_sockets_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    os.mkfifo(tmp_path / "pipe")
    found = scan([tmp_path])
    assert found.files == ()
    assert complaints(found) == {"pipe.jpg": "not a regular file"}


def test_unicode_and_very_long_names_are_found(tmp_path: Path) -> None:
    expected = ["x" * 251 + ".jpg", "éa/日本 🐕.png", "ü" * 125 + "a.jpg", "new\nline.gif"]
    for name in expected:
        put(tmp_path / name)
    assert names(scan([tmp_path]), tmp_path) == sorted(expected)


def test_a_path_longer_than_the_system_takes_is_reported(tmp_path: Path) -> None:
    before = Path.cwd()
    try:
        os.chdir(tmp_path)
        for _ in range(20):  # 20 x 250 is over the 4096 of Linux: only reachable step by step
            Path("d" * 250).mkdir()
            os.chdir("d" * 250)
    finally:
        os.chdir(before)
    put(tmp_path / "a.jpg")
    found = scan([tmp_path])
    assert names(found, tmp_path) == ["a.jpg"]
    # Of the last folder that can be entered, the path of an ignore file may be too long already.
    assert found.unreadable[-1].reason == "file name too long"


def test_names_that_are_not_utf8_are_reported_in_a_printable_form(tmp_path: Path) -> None:
    root = os.fsencode(tmp_path)
    Path(os.fsdecode(root + b"/caf\xe9.jpg")).write_bytes(b"x")
    Path(os.fsdecode(root + b"/\xff")).mkdir()
    found = scan([tmp_path])
    assert found.files == ()
    assert sorted(complaints(found)) == ["\\xff", "caf\\xe9.jpg"]
    for item in found.unreadable:
        str(item.path).encode("utf-8")


def test_printable_leaves_good_names_alone() -> None:
    assert printable_path("/a/é 日本.jpg") == Path("/a/é 日本.jpg")


@pytest.mark.parametrize("kind", ["pipe", "endless", "large", "long", "deep"])
def test_an_ignore_file_that_could_be_read_for_ever_is_reported_and_the_pictures_kept(
    tmp_path: Path, kind: str
) -> None:
    put(tmp_path / "a.jpg")
    file = tmp_path / ".viewfinderignore"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "endless":
        file.symlink_to("/dev/zero")
    else:
        file.write_text({"large": "#" * 100_001, "long": "*.png\n" * 1_001, "deep": "**/a/**/b/**/c"}[kind])
    found = scan([tmp_path])
    assert names(found, tmp_path) == ["a.jpg"]
    said = {"pipe": "not a regular", "endless": "not a regular", "large": "over the limit", "long": "1,000 lines"}
    assert said.get(kind, "more than 2 times") in complaints(found)[".viewfinderignore"]


def test_an_ignore_file_behind_a_link_is_read(tmp_path: Path) -> None:
    put(tmp_path / "pictures/a.jpg")
    (tmp_path / "pictures/.viewfinderignore").symlink_to(put(tmp_path / "rules", b"*.jpg\n"))
    assert names(scan([tmp_path / "pictures"]), tmp_path) == []


def test_a_rule_of_many_stars_takes_no_time_on_a_long_name(tmp_path: Path) -> None:
    put(tmp_path / f"{'a' * 240}.jpg")
    put(tmp_path / f"{'a' * 230}b.png")
    (tmp_path / ".viewfinderignore").write_text(f"{'*a' * 20}*b\n{'*[(]' * 20}z\n{'*a' * 20}*b.png\n")
    started = time.process_time()
    found = scan([tmp_path])
    assert time.process_time() - started < 2
    assert names(found, tmp_path) == [f"{'a' * 240}.jpg"]
    assert not found.unreadable


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "*", "?", "/", "**/", "[ab]", "."]), min_size=1, max_size=7).map("".join),
    st.text("ab./", min_size=1, max_size=8),
)
def test_rules_mean_what_they_mean_to_pathspec(rule: str, name: str) -> None:
    if rule.count("**") > 2:
        return
    try:
        theirs = GitIgnoreSpec.from_lines([rule], backend="simple")
    except ValueError:
        return
    ours = GitIgnoreSpec.from_lines(Rule, [rule], backend="simple")
    assert ours.check_file(name).include == theirs.check_file(name).include


def test_rules_that_take_too_long_are_given_up_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ignoring, "MAX_RULES_S", -1.0)
    put(tmp_path / "a.jpg")
    (tmp_path / ".viewfinderignore").write_text("*.jpg\n")
    found = scan([tmp_path])
    assert names(found, tmp_path) == ["a.jpg"]
    assert "take too long" in complaints(found)[".viewfinderignore"]
