"""`viewfinder add`: reports, exit codes, and everything that can go wrong with it."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pillow_heif import register_heif_opener

from viewfinder.cli import output
from viewfinder.pictures import BadFile, Decoders, Outcome, formats

Run = Callable[..., Any]
Draw = Callable[[Path, int], Path]


def test_a_folder_is_taken_in_and_told(viewfinder: Run, drawn: Draw, tmp_path: Path) -> None:
    folder = drawn(tmp_path / "pictures", 3)
    outcome = viewfinder("add", folder, "--library", tmp_path / "library")
    assert outcome.code == 0
    assert outcome.out == "3 picture files found: 3 added\n"
    assert viewfinder("add", folder, "--library", tmp_path / "library", "--json").json["unchanged"] == 3


def test_bad_files_are_quarantined_and_named(viewfinder: Run, drawn: Draw, tmp_path: Path) -> None:
    folder = drawn(tmp_path / "pictures", 1)
    for number in range(12):
        (folder / f"bad{number:02d}.jpg").write_bytes(b"no picture")
    outcome = viewfinder("add", folder, "--library", tmp_path / "library")
    assert outcome.code == 3
    assert outcome.out.count("quarantined: ") == 10
    assert "and 2 more" in outcome.out
    assert "viewfinder failures" in outcome.out
    listed = viewfinder("failures", "--library", tmp_path / "library", "--json").json["failures"]
    assert len(listed) == 12
    assert all("not a picture" in failure["reason"] for failure in listed)


def test_a_dry_run_changes_nothing(viewfinder: Run, drawn: Draw, tmp_path: Path) -> None:
    folder = drawn(tmp_path / "pictures", 3)
    library = tmp_path / "library"
    assert viewfinder("add", folder, "--library", library, "--dry-run", "--json").json["added"] == 3
    assert not library.exists()
    viewfinder("add", folder / "0000.png", "--library", library)
    assert viewfinder("add", folder, "--library", library, "--dry-run", "--json").json["added"] == 2
    assert viewfinder("status", "--library", library, "--json").json["pictures"] == 1


def test_no_such_folder_makes_no_library(viewfinder: Run, tmp_path: Path) -> None:
    outcome = viewfinder("add", tmp_path / "none", "--library", tmp_path / "library")
    assert outcome.code == 2
    assert f"{tmp_path / 'none'}: no such file or folder" in outcome.err
    assert not (tmp_path / "library").exists()


def test_a_url_of_a_file_is_told_from_a_path(viewfinder: Run, tmp_path: Path) -> None:
    outcome = viewfinder("add", f"file://{tmp_path}", "--library", tmp_path / "library")
    assert outcome.code == 2
    assert "give the path itself, not its URL" in outcome.err


def test_an_empty_folder_is_said_so(viewfinder: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    outcome = viewfinder("add", tmp_path / "empty", "--library", tmp_path / "library")
    assert outcome.code == 2
    assert f"no pictures in {tmp_path / 'empty'}" in outcome.err


def test_a_first_add_that_fails_leaves_no_library(viewfinder: Run, drawn: Draw, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert viewfinder("add", tmp_path / "empty", "--library", tmp_path / "new").code == 2
    assert not (tmp_path / "new").exists()
    (tmp_path / "made").mkdir()
    damaged = tmp_path / "captions.csv"
    damaged.write_text("no column of pictures\n1\n")
    folder = drawn(tmp_path / "pictures", 2)
    outcome = viewfinder("add", folder, "--captions", damaged, "--library", tmp_path / "made")
    assert outcome.code == 2, outcome.err
    assert list((tmp_path / "made").iterdir()) == []
    assert viewfinder("add", folder, "--library", tmp_path / "made").code == 0


def test_an_add_that_fails_leaves_a_library_that_was_there(viewfinder: Run, library: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert viewfinder("add", tmp_path / "empty", "--library", library).code == 2
    assert viewfinder("status", "--library", library, "--json").json["pictures"] == 40


def test_what_was_found_is_the_sum_of_what_came_of_it(viewfinder: Run, drawn: Draw, tmp_path: Path) -> None:
    folder = drawn(tmp_path / "pictures", 5)
    (folder / "copy.png").write_bytes((folder / "0001.png").read_bytes())
    (folder / "bad.jpg").write_bytes(b"no picture")
    (folder / "nowhere.png").symlink_to(tmp_path / "gone.png")
    library = tmp_path / "library"
    outcome = viewfinder("add", folder, "--library", library)
    told = outcome.out.splitlines()[0]
    assert told == "8 picture files found: 5 added, 1 copy, 2 quarantined"
    (folder / "0002.png").write_bytes((folder / "bad.jpg").read_bytes())
    (folder / "0003.png").rename(folder / "moved.png")
    table = tmp_path / "captions.csv"
    table.write_text("image,caption\n0000.png,red\n")
    told = viewfinder("add", folder, "--captions", table, "--library", library).out.splitlines()[0]
    counts, _, described = told.partition(": ")[2].partition("; ")
    assert sum(int(part.split()[0]) for part in counts.split(", ")) == 8
    assert described == "1 described"


def save_pictures(folder: Path) -> dict[str, str]:
    """A picture in each format that can be written here: names, and the formats they hold."""
    written = {
        "a.jpg": "JPEG", "b.JPEG": "JPEG", "c.jpe": "JPEG", "d.jfif": "JPEG", "e.png": "PNG", "f.apng": "PNG",
        "g.webp": "WEBP", "h.gif": "GIF", "i.bmp": "BMP", "j.tif": "TIFF", "k.tiff": "TIFF", "l.avif": "AVIF",
        "m.heic": "HEIF", "n.HIF": "HEIF", "o.jxl": "JXL", "p": "JPEG",
    }  # fmt: skip
    register_heif_opener()
    importlib.import_module("pillow_jxl")
    for number, (name, format_name) in enumerate(written.items()):
        Image.new("RGB", (16, 16), (10 * number, 255 - 10 * number, 90)).save(folder / name, format_name)
    return written


def test_a_folder_of_forty_kinds_of_files_is_told_in_a_report_that_adds_up(viewfinder: Run, tmp_path: Path) -> None:
    folder, library = tmp_path / "all", tmp_path / "library"
    folder.mkdir()
    pictures = save_pictures(folder)
    others = (
        "clip.mp4", "clip.MOV", "clip.avi", "clip.3gp", "clip.mts", "sound.mp3", "notes.txt", "paper.pdf",
        "drawing.psd", "drawing.xcf", "vector.svg", "page.html", "table.csv", "archive.zip", "film.raw",
        "program.exe", "index.db",
        "catalogue.lrcat", "mail.eml", "Makefile",
    )  # fmt: skip
    beside = ("a.jpg.xmp", "e.png.supplemental-metadata.json", "clip.mp4.json", "alone.xmp")
    hidden = (".hidden.jpg", ".DS_Store", "Thumbs.db", ".viewfinderignore")
    for name in (*others, *beside, *hidden, "ignored.jpg"):
        (folder / name).write_text("ignored.jpg\n")
    for name in ("$RECYCLE.BIN", "@eaDir", ".Trash-1000", "P.photoslibrary/resources/derivatives"):
        (folder / name).mkdir(parents=True)
        (folder / name / "x.jpg").write_bytes(b"x")
    outcome = viewfinder("add", folder, "--library", library, "--json")
    assert outcome.code == 0
    told = outcome.json
    assert (told["found"], told["added"], told["quarantined"]) == (len(pictures), len(pictures), 0)
    assert told["sidecars"] == {"XMP": 1, "Takeout": 1}
    assert told["passed_over"]["videos"] == 5
    left = told["left_out"]
    assert {why: (it["folders"], it["files"]) for why, it in left.items()} == {
        "hidden": (0, 2),
        "system": (0, 2),
        "ignored": (0, 1),
        "trash": (2, 0),
        "previews": (2, 0),
    }
    counted = told["found"] + sum(told["passed_over"].values()) + sum(told["sidecars"].values())
    counted += sum(it["files"] for it in left.values())
    assert counted == sum(len(files) for _, _, files in os.walk(folder)) - 4  # those in the folders left out
    assert len({Path(name).suffix.lower() for name in (*pictures, *others, *beside)}) + len(left) >= 40
    lines = viewfinder("add", folder, "--library", library).out.splitlines()
    assert lines[0] == "16 picture files found: 0 added, 16 unchanged; 1 Takeout sidecar, 1 XMP sidecar read"
    assert lines[1].startswith("passed over: 5 videos, 1 .csv, ")
    assert lines[2].startswith("left out: 2 folders of other programs' previews (")
    assert ": --include GLOB takes them; 2 files of the system (" in lines[2]
    assert lines[2].endswith(", 1 file ignored by .viewfinderignore (ignored.jpg)")  # which no pattern takes
    assert len(lines) == 3


def test_what_is_left_out_is_taken_by_include_and_told_in_a_dry_run(
    viewfinder: Run, drawn: Draw, tmp_path: Path
) -> None:
    folder, library = drawn(tmp_path / "pictures", 2), tmp_path / "library"
    drawn(folder / "Photos.photoslibrary/resources/derivatives", 3)
    (folder / "clip.mp4").write_bytes(b"x")
    given = ("add", folder, "--library", library)
    assert viewfinder(*given, "--dry-run").out.splitlines() == [
        "2 picture files found: 2 would be read, 0 unchanged",
        "passed over: 1 video",
        "left out: 1 folder of other programs' previews (Photos.photoslibrary/resources/derivatives)"
        ": --include GLOB takes them",
    ]
    pattern = "Photos.photoslibrary/resources/derivatives"
    assert viewfinder(*given, "--include", pattern, "--dry-run").out.startswith(
        "5 picture files found: 5 would be read"
    )
    outcome = viewfinder(*given, "--include", "*.nothing", "--include", "nor/this")
    assert "note: include '*.nothing', 'nor/this': nothing that is otherwise left out matches" in outcome.out
    assert viewfinder(*given, "--include", pattern, "--json").json["included"] == 3
    assert viewfinder(*given, "--include", "!").code == 2


def test_pictures_that_need_an_extra_are_told_by_kind_with_the_line_that_mends_it(
    viewfinder: Run, drawn: Draw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, library = drawn(tmp_path / "pictures", 1), tmp_path / "library"
    for name in ("a.jxl", "b.JXL"):
        (folder / name).write_bytes(b"\xff\x0a\xfa\x1f")
    monkeypatch.setattr(formats, "find_spec", lambda name: None if name == "pillow_jxl" else find_spec(name))
    told = "not read: 2 .jxl: pip install 'viewfinder[jxl]', with the pip beside this viewfinder"
    assert told in viewfinder("add", folder, "--library", library, "--dry-run").out
    reason = formats.READER_EXTRAS["pillow_jxl"]
    read = Decoders.read

    def read_without_extra(self: Decoders, *given: Any, **more: Any) -> Iterator[Outcome]:
        for outcome in read(self, *given, **more):
            is_refused = outcome.path.suffix.lower() == ".jxl"
            yield BadFile(outcome.path, outcome.size, outcome.mtime_ns, reason) if is_refused else outcome

    monkeypatch.setattr(Decoders, "read", read_without_extra)
    outcome = viewfinder("add", folder, "--library", library)
    assert outcome.code == 3
    assert outcome.out.splitlines()[1] == told
    assert "quarantined: " not in outcome.out
    assert len(viewfinder("failures", "--library", library, "--json").json["failures"]) == 2


def test_a_long_preparation_is_told(viewfinder: Run, drawn: Draw, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(output, "REPORT_AFTER_S", 0.0)
    folder, library = drawn(tmp_path / "pictures", 1), tmp_path / "library"
    told = "viewfinder: getting ready to read words and pictures took "
    assert told in viewfinder("add", folder, "--library", library).err
    assert viewfinder("add", folder, "--library", library, "--json").err == ""
    script = tmp_path / "turns.jsonl"
    script.write_text('{"say": "red"}\n', encoding="utf-8")
    for verb in (("find", "red"), ("chat", "--script", script)):
        assert told in viewfinder(*verb, "--library", library).err
        assert viewfinder(*verb, "--library", library, "--json").err == ""


def test_nothing_to_add_is_wrong_use(viewfinder: Run, tmp_path: Path) -> None:
    outcome = viewfinder("add", "--library", tmp_path / "library")
    assert outcome.code == 2
    assert "nothing to add" in outcome.err


def test_tables_may_come_alone(viewfinder: Run, library: Path, world: Path) -> None:
    outcome = viewfinder("add", "--captions", world / "captions.csv", "--library", library, "--json")
    assert outcome.code == 0
    assert outcome.json["described"] == 40
    assert viewfinder("status", "--library", library, "--json").json["with_captions"] == 40


def test_a_key_column_is_named_and_a_dry_run_tells_what_would_be_described(
    viewfinder: Run, drawn: Draw, tmp_path: Path
) -> None:
    folder, library = drawn(tmp_path / "pictures", 3), tmp_path / "library"
    table = tmp_path / "table.csv"
    table.write_text("shown,next,colour\n0000.png,0001.png,red\n0001.png,nowhere.png,blue\n")
    named = ("add", folder, "--catalogue", table, "--key", "next", "--library", library)
    planned = viewfinder(*named, "--dry-run").out.splitlines()
    assert planned[0] == "3 picture files found: 3 would be read, 0 unchanged; 1 file would be described"
    assert planned[1] == "note: table.csv: about no picture in the library: 1 (first: nowhere.png)"
    assert not library.exists()
    assert viewfinder(*named, "--json").json["described"] == 1
    assert viewfinder("values", "colour", "--library", library, "--json").json["values"] == [
        {"value": "red", "count": 1}
    ]
    outcome = viewfinder("add", "--catalogue", table, "--key", "picture", "--library", library)
    assert outcome.code == 2
    assert "there is no column called 'picture'; this table has: shown, next, colour" in outcome.err


def test_a_table_about_no_picture_is_refused_and_makes_no_library(viewfinder: Run, drawn: Draw, tmp_path: Path) -> None:
    folder, table = drawn(tmp_path / "pictures", 3), tmp_path / "table.csv"
    table.write_text("photo,colour\na.png,red\nb.png,blue\n")
    outcome = viewfinder("add", folder, "--catalogue", table, "--library", tmp_path / "library")
    assert outcome.code == 2
    assert "its column 'photo' has 'a.png', 'b.png', but the files are '0000.png', '0001.png'" in outcome.err
    assert not (tmp_path / "library").exists()


def test_a_table_alone_makes_no_library(viewfinder: Run, tmp_path: Path, world: Path) -> None:
    outcome = viewfinder("add", "--captions", world / "captions.csv", "--library", tmp_path / "library")
    assert outcome.code == 1
    assert not (tmp_path / "library").exists()


def test_a_table_that_is_not_there_is_wrong_use(viewfinder: Run, library: Path, tmp_path: Path) -> None:
    outcome = viewfinder("add", "--catalogue", tmp_path / "none.csv", "--library", library)
    assert outcome.code == 2
    assert str(tmp_path / "none.csv") in outcome.err


def test_an_encoder_that_there_is_not_is_said_and_the_library_stays_as_it_was(
    viewfinder: Run, library: Path, world: Path
) -> None:
    before = (library / "library.json").read_bytes()
    outcome = viewfinder("add", world / "images", "--encoder", "nowhere:Encoder", "--library", library)
    assert outcome.code == 2
    assert "nowhere:Encoder" in outcome.err
    assert outcome.err.count("\n") == 1
    assert (library / "library.json").read_bytes() == before


@pytest.mark.parametrize("verb", [["add", "."], ["find", "x"], ["status"], ["chat", "--json"], ["verify"], ["prune"]])
def test_a_library_of_a_later_version_is_left_alone(verb: list[str], viewfinder: Run, library: Path) -> None:
    settings = json.loads((library / "library.json").read_text())
    (library / "library.json").write_text(json.dumps({**settings, "format": 99}))
    outcome = viewfinder(*verb, "--library", library)
    assert outcome.code == 1
    assert "later viewfinder (format 99" in outcome.err


def test_a_folder_of_other_things_does_not_become_a_library(viewfinder: Run, drawn: Draw, tmp_path: Path) -> None:
    folder = drawn(tmp_path / "pictures", 2)
    outcome = viewfinder("add", folder, "--library", folder)
    assert outcome.code == 1
    assert "holds other files" in outcome.err
    assert len(list(folder.iterdir())) == 2


@pytest.mark.long
def test_two_processes_may_make_the_library_at_once_and_their_adding_loses_nothing(
    viewfinder: Run, program: Callable[..., subprocess.Popen[str]], drawn: Draw, tmp_path: Path
) -> None:
    folders = [drawn(tmp_path / name, 70) for name in ("a", "bbb")]  # more than one batch
    given = ("--library", tmp_path / "library", "--workers", 1, "--json")
    both = [program("add", folder, *given) for folder in folders]
    ends = [(*process.communicate(timeout=120), process.returncode) for process in both]
    assert [(json.loads(told)["added"], err, code) for told, err, code in ends] == [(70, "", 0)] * 2
    assert viewfinder("status", "--library", tmp_path / "library", "--json").json["pictures"] == 140
    assert viewfinder("verify", "--library", tmp_path / "library").code == 0


@pytest.mark.slow
def test_ctrl_c_finishes_the_batch_and_adding_again_goes_on(
    viewfinder: Run, program: Callable[..., subprocess.Popen[str]], drawn: Draw, tmp_path: Path
) -> None:
    folder, library = drawn(tmp_path / "pictures", 300), tmp_path / "library"
    process = program("add", folder, "--library", library, "--workers", 1)
    _wait_for(lambda: len(list(library.glob("tables/pictures.lance/_versions/*.manifest"))) >= 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "finishing this batch" in err
    assert "the same command goes on from here" in err
    assert "Traceback" not in err
    known = viewfinder("status", "--library", library, "--json").json["pictures"]
    assert 16 <= known < 300
    assert f"{known} added" in out
    again = viewfinder("add", folder, "--library", library, "--json")
    assert (again.code, again.json["unchanged"], again.json["added"]) == (0, known, 300 - known)


def test_a_second_ctrl_c_ends_at_once(
    viewfinder: Run, program: Callable[..., subprocess.Popen[str]], drawn: Draw, tmp_path: Path
) -> None:
    folder, library = drawn(tmp_path / "pictures", 300), tmp_path / "library"
    process = program("add", folder, "--library", library, "--workers", 1)
    _wait_for(lambda: len(list(library.glob("tables/pictures.lance/_versions/*.manifest"))) >= 2)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "Traceback" not in err
    known = viewfinder("status", "--library", library, "--json").json["pictures"]
    assert 16 <= known < 300


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("a small disk can only be mounted as root")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.slow
@pytest.mark.long  # a smaller one is in tests/store/test_store.py
def test_a_full_disk_is_said_and_loses_nothing(
    viewfinder: Run, program: Callable[..., subprocess.Popen[str]], drawn: Draw, tmp_path: Path, small_disk: Path
) -> None:
    folder, library = drawn(tmp_path / "pictures", 256), small_disk / "library"
    process = program("add", folder, "--library", library, "--workers", 1)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "disk is full" in err
    assert err.count("\n") == 1
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    again = viewfinder("add", folder, "--library", library, "--workers", 1, "--json")
    assert again.code == 0
    assert again.json["unchanged"] + again.json["added"] == 256
    assert again.json["unchanged"] < 256
    assert viewfinder("verify", "--library", library).code == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_said_so(viewfinder: Run, drawn: Draw, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    outcome = viewfinder("add", drawn(tmp_path / "pictures", 1), "--library", tmp_path / "locked" / "library")
    assert outcome.code == 1
    assert str(tmp_path / "locked") in outcome.err


def _wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
