"""Libraries on disk: making, opening, refusing; spaces that are switched while others read.

This file is also the program of another process: `python test_library.py LIBRARY FOLDER` adds a folder.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import viewfinder
import viewfinder.library
from viewfinder.errors import (
    BadInput,
    EmptyQuery,
    EncoderMismatch,
    LibraryError,
    NewerLibrary,
    NotALibrary,
    PartFailed,
    UnknownName,
)
from viewfinder.library import Library
from viewfinder.search.hits import PicturePath
from viewfinder.store.spaces import build_space
from viewfinder.store.store import Store
from viewfinder.store.tables import FIRST_BATCH
from viewfinder.testing import ColourEncoder, TinyPicture, draw_halves, load_colour_encoder, tiny_pictures


@pytest.fixture(autouse=True)
def colours_for_an_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever encoder a library names, it is given the one that knows colours only."""
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "library"


def filled(home: Path, count: int = 6) -> tuple[Library, list[TinyPicture]]:
    """A library of tiny pictures, which lie beside it."""
    drawn = tiny_pictures(home.parent / "pictures", count)
    library = Library.open(home)
    library.add(home.parent / "pictures", workers=1)
    return library, drawn


def tune(library: Library, weights: list[float]) -> str:
    """What `tune` does at its end: a space from the raw vectors with another head, then the switch."""
    head = "heads/" + "-".join(map(str, weights)) + ".json"
    (library.folder / "heads").mkdir(exist_ok=True)
    (library.folder / head).write_text(json.dumps(weights), encoding="utf-8")
    tuned = load_colour_encoder("starter", head_file=library.folder / head)
    ids, raw_nr = library.store.read_vectors(tuned.raw_version)
    library.store.write_space(tuned.version, [(ids, tuned.project(raw_nr))])
    library.switch(tuned.version, head)
    return tuned.version


def test_a_library_of_an_earlier_head_is_searched_and_added_to_with_the_present_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, drawn = filled(home)
    made_with = old.settings.space
    later = ColourEncoder("starter", (3.0, 1.0, 0.5))
    monkeypatch.setattr(viewfinder.library, "load_encoder", lambda name, head_file=None: later)
    library = Library.open(home)
    hits = library.find(drawn[0].caption, n=len(drawn))
    assert library.settings.space == later.version != made_with
    assert library.settings.previous is None
    best = library.gallery().snapshot.matrix_nd @ later.words([drawn[0].caption])[0]
    assert [hit.id for hit in hits] == [library.gallery().snapshot.ids[row] for row in np.argsort(-best, kind="stable")]
    more = home.parent / "more"
    more.mkdir()
    Image.fromarray(draw_halves("red", "blue", size=(40, 40))).save(more / "new.png")
    library.add(more, workers=1)
    assert len(library.find("red", n=20)) == len(drawn) + 1
    assert library.verify() == []


def write_table(file: Path, *rows: str) -> Path:
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


# -- making and opening


def test_opening_makes_a_library_and_opening_again_finds_it(home: Path) -> None:
    library, drawn = filled(home)
    again = viewfinder.open(str(home))
    assert again.status() == library.status()
    assert again.find(drawn[0].caption)[0].path == str(drawn[0].path)


def test_a_home_folder_may_be_written_short(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home.parent))
    assert viewfinder.open("~/library").folder == home


def test_an_absent_library_is_not_made_unless_allowed(home: Path) -> None:
    with pytest.raises(
        NotALibrary, match=r"there is no library in .*: make one with `viewfinder add FOLDER --library .*"
    ):
        Library.open(home, create=False)
    assert not home.exists()


def test_a_folder_with_other_files_is_left_alone(home: Path) -> None:
    home.mkdir()
    (home / "diary.txt").write_text("dear diary", encoding="utf-8")
    with pytest.raises(NotALibrary, match="holds other files"):
        Library.open(home)
    assert [entry.name for entry in home.iterdir()] == ["diary.txt"]


def test_a_file_in_the_place_of_the_folder_is_refused(home: Path) -> None:
    home.write_text("not a folder", encoding="utf-8")
    with pytest.raises(NotALibrary, match="holds other files"):
        Library.open(home)


def test_a_library_whose_making_was_interrupted_is_completed(home: Path) -> None:
    Store.create(home)  # killed before library.json was written
    library = Library.open(home)
    library.add(tiny_pictures(home.parent / "pictures", 1)[0].path, workers=1)
    assert library.status()["pictures"] == 1


def test_a_library_of_a_later_viewfinder_is_not_touched(home: Path) -> None:
    Library.open(home)
    file = home / "library.json"
    newer = file.read_text(encoding="utf-8").replace('"format": 2', '"format": 4, "colour": "unheard of"')
    file.write_text(newer, encoding="utf-8")
    with pytest.raises(NewerLibrary, match=r"format 4, this one reads 3\): upgrade viewfinder"):
        Library.open(home)
    assert file.read_text(encoding="utf-8") == newer


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "viewfinder/library"}', "not json", '"x"', "null"])
def test_damaged_settings_are_said_with_their_file(home: Path, text: str) -> None:
    Library.open(home)
    (home / "library.json").write_text(text, encoding="utf-8")
    with pytest.raises(NotALibrary, match=r"library.json is not a library's settings"):
        Library.open(home)


def test_another_encoder_than_the_librarys_is_refused(home: Path) -> None:
    Library.open(home, encoder="one")
    with pytest.raises(EncoderMismatch, match="was made with the encoder 'one', not 'other'"):
        Library.open(home, encoder="other")
    assert Library.open(home).encoder.name == "one"


def test_a_library_without_pictures_says_how_to_add_some(home: Path) -> None:
    library = Library.open(home)
    with pytest.raises(BadInput, match=r"holds no pictures yet: add some with `viewfinder add FOLDER --library .*`"):
        library.find("red")
    assert library.status()["pictures"] == 0


def test_a_library_that_is_deleted_under_our_eyes_is_said(home: Path) -> None:
    library, _ = filled(home, 1)
    shutil.rmtree(home)
    with pytest.raises(NotALibrary):
        library.find("red")


# -- finding


def test_finding_takes_words_an_image_a_filter_and_what_to_leave_out(home: Path) -> None:
    library, drawn = filled(home, 40)
    rows = [f"{picture.path.name},{picture.top}" for picture in drawn]
    library.add(catalogue=write_table(home.parent / "catalogue.csv", "file,top", *rows))
    asked = next(picture for picture in drawn if picture.top != picture.bottom)
    assert library.find(asked.caption)[0].path == str(asked.path)
    Image.fromarray(draw_halves(asked.top, asked.bottom, size=(50, 40))).save(home.parent / "mine.png")
    assert library.find(like=home.parent / "mine.png")[0].path == str(asked.path)
    tops = [picture.top for picture in drawn]
    held = library.find("white", n=3, where={"top": tops[0].upper()})
    assert len(held) == min(3, tops.count(tops[0]))
    plain, without = library.find(asked.top, n=40), library.find(asked.top, n=40, without=asked.bottom)
    before, after = (next(hit for hit in hits if hit.path == str(asked.path)) for hits in (plain, without))
    assert after.score < before.score and after.rank >= before.rank


def test_filters_alone_list_pictures_by_date_the_newest_first(home: Path) -> None:
    """Two of 2018, one of 2019, one without a date."""
    folder = home.parent / "dated"
    folder.mkdir()
    days = {"june.jpg": "2018:06:01 10:00:00", "may.jpg": "2018:05:01 10:00:00", "later.jpg": "2019:01:01 00:00:00"}
    for at, (name, day) in enumerate([*days.items(), ("undated.jpg", "")]):
        exif = Image.Exif()
        if day:
            exif[306] = day
            exif.get_ifd(0x8769)[36867] = day
        Image.new("RGB", (40, 40), (at * 60, 0, 0)).save(folder / name, exif=exif)
    library = viewfinder.open(home)
    library.add(folder, workers=1)
    hits = library.find(where={"year": "2018"})
    assert [(hit.rank, hit.path.name, hit.match) for hit in hits] == [
        (1, "june.jpg", "likely"),
        (2, "may.jpg", "likely"),
    ]
    assert hits[0].why == {"captured": "2018-06-01T10:00:00"}
    everything = library.find(where={"format": "JPEG"}, n=4)
    assert [hit.path.name for hit in everything] == ["later.jpg", "june.jpg", "may.jpg", "undated.jpg"]
    assert [hit.path.name for hit in library.find(where={"format": "JPEG"}, n=1)] == ["later.jpg"]
    both = library.find(where={"year": "2018", "month": "January"})
    assert (len(both), both.verdict) == (0, "nothing")
    with pytest.raises(BadInput, match="0 results"):
        library.find(where={"year": "2018"}, n=0)
    with pytest.raises(UnknownName):
        library.find(where={"colour": "red"})


def test_finding_nothing_in_particular_is_refused(home: Path) -> None:
    library, _ = filled(home, 1)
    with pytest.raises(EmptyQuery, match="nothing to look for"):
        library.find("  ")
    with pytest.raises(BadInput, match="no such image"):
        library.find(like=home / "nothing.png")
    with pytest.raises(UnknownName, match="no retriever is called 'oracle'"):
        library.chat(retriever="oracle")


def test_one_picture_alone_can_be_found(home: Path) -> None:
    library, [drawn] = filled(home, 1)
    hits = library.find(drawn.caption)
    assert [(hit.rank, hit.path) for hit in hits] == [(1, PicturePath(drawn.path))]


def test_the_path_of_a_hit_is_one_that_exists(home: Path) -> None:
    library, [drawn] = filled(home, 1)
    copy = shutil.copy(drawn.path, home.parent / "pictures" / "zz copy.png")
    library.add(home.parent / "pictures", workers=1)
    drawn.path.unlink()
    assert library.find(drawn.caption)[0].path == str(copy)


def test_a_changed_file_is_found_by_what_it_shows_now(home: Path) -> None:
    library, [drawn] = filled(home, 1)
    Image.fromarray(draw_halves("purple", "white", size=(30, 30))).save(drawn.path)
    assert library.add(drawn.path, workers=1).changed == 1
    assert len(library.find("purple over white", n=5)) == 1
    assert library.status()["pictures"] == 1


# -- tables


def test_captions_and_catalogue_find_their_pictures(home: Path) -> None:
    drawn = tiny_pictures(home.parent / "pictures", 4)
    said = [f"{drawn[0].path.name},first words", f"{drawn[0].path.name},more", "elsewhere.png,lost"]
    captions = write_table(home.parent / "captions.csv", "image,caption", *said)
    stems = [picture.path.stem for picture in drawn]
    known = [f"{stems[1]},Summer,S", f"{stems[1]},Winter,S", f"{stems[2]},NA,L", "99999,Fall,M"]
    catalogue = write_table(home.parent / "catalogue.csv", "id,season,size", *known)
    library = Library.open(home)
    report = library.add(home.parent / "pictures", captions=captions, catalogue=catalogue, workers=1)
    assert report.described == 3
    assert report.notes == [
        "captions.csv: about no picture in the library: 1 (first: elsewhere.png)",
        "catalogue.csv: about no picture in the library: 1 (first: 99999)",
    ]
    rows = {Path(row.files[0].path): row for row in library.store.rows()}
    assert rows[drawn[0].path].captions == ("first words", "more")
    assert rows[drawn[1].path].attributes == {"season": ("Summer", "Winter"), "size": ("S",)}
    assert rows[drawn[2].path].attributes == {"size": ("L",)}
    assert {hit.path for hit in library.find("red", where={"season": "winter"})} == {str(drawn[1].path)}


def test_what_a_table_says_of_no_certain_picture_is_noted(home: Path) -> None:
    for folder in ("a", "b"):
        tiny_pictures(home.parent / "pictures" / folder, 1)
    [drawn] = tiny_pictures(home.parent / "pictures" / "c", 1)
    name = drawn.path.name
    known = [f"old/{name},Summer,", ",Winter,", f"c/{name},Fall,lost"]
    catalogue = write_table(home.parent / "catalogue.csv", "id,season,", *known)
    library = Library.open(home)
    report = library.add(home.parent / "pictures", catalogue=catalogue, workers=1)
    either = f"{home.parent}/pictures/a/{name} or {home.parent}/pictures/b/{name}"
    assert report.notes == [
        "catalogue.csv: left out: 2 (first: column 3: has no name; line 3: names no picture: its id is empty)",
        f"catalogue.csv: about one of several files: 1 (first: old/{name}, which may be {either}): "
        "write more of the path",
    ]


def test_a_damaged_table_is_said_before_anything_is_added(home: Path) -> None:
    tiny_pictures(home.parent / "pictures", 1)
    library = Library.open(home)
    table = write_table(home.parent / "catalogue.csv", "colour,size", "red,S")
    with pytest.raises(BadInput, match=r"catalogue\.csv"):
        library.add(home.parent / "pictures", catalogue=table)
    assert library.store.ids() == []


def test_a_dry_run_adds_nothing(home: Path) -> None:
    tiny_pictures(home.parent / "pictures", 3)
    library = Library.open(home)
    assert library.add(home.parent / "pictures", dry_run=True).added == 3
    assert library.store.ids() == []


# -- forgetting and checking


def test_prune_forgets_what_is_gone_and_only_that(home: Path) -> None:
    library, drawn = filled(home, 3)
    shutil.copy(drawn[1].path, home.parent / "pictures" / "copy.png")
    (home.parent / "pictures" / "bad.png").write_bytes(b"bad")
    library.add(home.parent / "pictures", workers=1)
    gone = library.find(drawn[0].caption)[0].id
    for path in (drawn[0].path, drawn[1].path, home.parent / "pictures" / "bad.png"):
        path.unlink()
    assert library.verify() == [f"gone: {drawn[0].path}", f"gone: {drawn[1].path}"]
    assert library.prune(dry_run=True) == [gone]
    assert library.status()["pictures"] == 3
    assert library.prune() == [gone]
    assert (library.status()["pictures"], library.status()["missing"], library.failures()) == (2, 0, [])
    assert library.verify() == []
    assert gone not in [hit.id for hit in library.find(drawn[0].caption)]


def test_prune_refuses_where_a_folder_that_was_added_or_most_of_all_is_gone(home: Path) -> None:
    library, drawn = filled(home, 4)
    tiny_pictures(home.parent / "drive", 1)
    Image.fromarray(draw_halves("red", "blue", size=(40, 40))).save(home.parent / "drive/new.png")
    (home.parent / "drive/0000-red-red.png").unlink(missing_ok=True)
    (home.parent / "pictures/sub").mkdir()
    library.add(home.parent / "drive", home.parent / "pictures/sub/..", workers=1)
    assert Library.open(home).settings.roots == (str(home.parent / "drive"), str(home.parent / "pictures"))
    (home.parent / "drive").rename(home.parent / "unplugged")
    (home.parent / "drive").mkdir()  # where it was mounted
    with pytest.raises(
        BadInput, match=r"nothing is left of .*/drive, where 1 pictures were: is a drive unplugged\?.*--force"
    ):
        library.prune()
    assert library.status()["pictures"] == 5
    promised = library.prune(dry_run=True)
    assert (len(promised), promised.refused is not None) == (1, True)
    assert library.prune(dry_run=True, force=True).refused is None
    (home.parent / "drive").rmdir()
    (home.parent / "unplugged").rename(home.parent / "drive")
    assert library.prune() == []
    for picture in drawn[:3]:
        picture.path.unlink()
    with pytest.raises(BadInput, match=r"3 of 5 pictures are gone: is a drive unplugged\?"):
        library.prune()
    assert len(library.prune(force=True)) == 3
    assert library.verify() == []


@pytest.mark.parametrize("shared", [False, True])
def test_a_library_is_its_owners_alone_unless_its_folder_is_opened(home: Path, shared: bool) -> None:
    before = os.umask(0o022)
    try:
        library = Library.open(home)
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        if shared:
            home.chmod(0o755)
        tiny_pictures(home.parent / "pictures", 3)
        library.add(home.parent / "pictures", workers=1)
        library.find("red", where={"format": "PNG"})
        places = [place for place in home.rglob("*") if shared or place.is_file()]
        later = [place for place in places if place.name not in ("writing.lock", "0")]
        open_to_others = [place for place in later if stat.S_IMODE(place.stat().st_mode) & 0o077]
        assert bool(open_to_others) is shared, open_to_others
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)


@pytest.mark.filterwarnings("error")
def test_a_library_whose_pictures_are_all_gone_answers_nothing(home: Path) -> None:
    library, drawn = filled(home, 2)
    for picture in drawn:
        picture.path.unlink()
    library.prune(force=True)
    hits = library.find("red")
    assert (list(hits), hits.verdict) == ([], "nothing")


def test_the_status_counts_what_there_is(home: Path) -> None:
    library, drawn = filled(home, 3)
    (home.parent / "pictures" / "bad.png").write_bytes(b"bad")
    library.add(home.parent / "pictures", workers=1)
    drawn[0].path.unlink()
    status = library.status()
    assert (status["pictures"], status["files"], status["missing"], status["failures"]) == (3, 3, 1, 1)
    assert status["space"] == library.encoder.version
    assert status["spaces"] == {library.encoder.version: 48, library.encoder.raw_version: 48}
    assert not status["tuned"]


# -- spaces


def test_a_space_is_switched_and_back_while_others_read(home: Path) -> None:
    library, drawn = filled(home)
    reader = Library.open(home)
    old, before = reader.gallery(), reader.find(drawn[0].caption)
    tuned = tune(library, [1.0, 0.25, 0.5])
    assert len(old.snapshot.matrix_nd @ old.encoder.words(["red"])[0]) == 6  # what is open stays whole
    assert old.encoder.version != tuned
    new = reader.gallery()
    assert new.encoder.version == new.snapshot.space == tuned
    assert not np.array_equal(new.snapshot.matrix_nd, old.snapshot.matrix_nd)
    assert reader.find(drawn[0].caption)[0].path == str(drawn[0].path)
    library.switch_back()
    again = reader.gallery()
    assert again.snapshot.space == old.snapshot.space
    assert again.encoder.version == old.encoder.version
    assert reader.find(drawn[0].caption).to_json()["results"] == before.to_json()["results"]


@pytest.mark.parametrize("weights", ["[NaN, 1, 1]", "[0, 0, 0]"])
def test_a_head_that_gives_no_vectors_is_refused_and_the_space_stays(home: Path, weights: str) -> None:
    library, drawn = filled(home)
    before = library.space
    tuned = load_colour_encoder("starter", head_file=write_table(home / "head.json", weights))
    with pytest.raises(PartFailed, match="of 6 pictures the encoder or its head gives vectors that cannot be used"):
        build_space(library.store, tuned)
    assert tuned.version not in library.store.spaces()
    assert library.space == before
    assert Library.open(home).find(drawn[0].caption)[0].path == str(drawn[0].path)
    assert library.verify() == []


def test_vectors_that_an_earlier_version_stored_and_cannot_be_used_stay_out_of_a_new_space(home: Path) -> None:
    library, _ = filled(home)
    ids, raw_nr = library.store.read_vectors(library.encoder.raw_version)
    raw_nr[0], raw_nr[1, 3] = 0, np.inf
    library.store.write_space(library.encoder.raw_version, [(ids, raw_nr)])
    assert [line.partition(": ")[2][:80] for line in library.verify()] == [
        f"{ids[0]}: all its numbers are zero there: `viewfinder remove` it and add its file"[:80],
        f"{ids[1]}: it holds an infinite number: `viewfinder remove` it and add its file"[:80],
    ]
    tuned = load_colour_encoder("starter", head_file=write_table(home / "head.json", "[1, 0.5, 0.5]"))
    build_space(library.store, tuned)
    library.switch(tuned.version, "head.json")
    assert set(library.gallery().snapshot.ids) == set(ids[2:])


@pytest.mark.parametrize("spoilt", ["words", "background"])
def test_a_text_of_which_the_encoder_gives_no_vector_is_one_clear_line(
    home: Path, monkeypatch: pytest.MonkeyPatch, spoilt: str
) -> None:
    library, _ = filled(home)
    given = getattr(ColourEncoder, spoilt)
    monkeypatch.setattr(ColourEncoder, spoilt, lambda self, asked: given(self, asked) * np.float32(np.inf))
    with pytest.raises(
        PartFailed, match=r"the encoder starter: it gave no usable vector of .*: not all its numbers are finite"
    ):
        library.find("red over blue")


def test_an_image_of_which_the_encoder_gives_no_vector_is_one_clear_line(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, drawn = filled(home)
    monkeypatch.setattr(ColourEncoder, "project", lambda self, raw_nd: raw_nd * np.float32(np.nan))
    with pytest.raises(PartFailed, match="the encoder starter: it gave no usable vector of this image"):
        library.find(like=drawn[0].path)


def test_a_switch_is_seen_that_comes_after_the_space_was_written(home: Path) -> None:
    # The reader looks between the two steps; the second changes no table.
    library, _ = filled(home)
    reader = Library.open(home)
    tuned = load_colour_encoder("starter", head_file=write_table(home / "head.json", "[1, 0.5, 0.5]"))
    ids, raw_nr = library.store.read_vectors(tuned.raw_version)
    library.store.write_space(tuned.version, [(ids, tuned.project(raw_nr))])
    assert reader.gallery().snapshot.space != tuned.version
    library.switch(tuned.version, "head.json")
    assert reader.gallery().snapshot.space == reader.encoder.version == tuned.version


def test_switching_back_and_forth_returns_to_where_it_was(home: Path) -> None:
    library, _ = filled(home)
    first = library.gallery().snapshot.space
    tuned = tune(library, [0.5, 1.0, 1.0])
    library.switch_back()
    assert library.gallery().snapshot.space == first
    library.switch_back()
    assert library.gallery().snapshot.space == tuned == library.encoder.version
    assert library.status()["tuned"]


def test_pictures_added_after_a_switch_are_there_after_switching_back(home: Path) -> None:
    library, _ = filled(home)
    tune(library, [0.5, 1.0, 1.0])
    Image.fromarray(draw_halves("purple", "white", size=(30, 30))).save(home.parent / "late.png")
    library.add(home.parent / "late.png", workers=1)
    library.switch_back()
    assert len(library.gallery()) == 7
    assert library.find("purple over white")[0].path == str(home.parent / "late.png")
    assert library.verify() == []


def test_a_writer_that_was_open_before_a_switch_adds_to_the_new_space(home: Path) -> None:
    library, _ = filled(home)
    writer = Library.open(home)
    writer.gallery()
    tuned = tune(library, [0.5, 1.0, 1.0])
    Image.fromarray(draw_halves("purple", "white", size=(30, 30))).save(home.parent / "late.png")
    writer.add(home.parent / "late.png", workers=1)
    assert library.gallery().snapshot.space == writer.gallery().snapshot.space == tuned
    assert library.find("purple over white")[0].path == str(home.parent / "late.png")


def test_a_library_that_was_never_tuned_has_nothing_to_go_back_to(home: Path) -> None:
    library, _ = filled(home, 1)
    with pytest.raises(BadInput, match="was never tuned: there is nothing to go back to"):
        library.switch_back()


# -- other processes


def test_what_another_process_adds_is_seen_at_the_next_turn(home: Path) -> None:
    library, _ = filled(home)
    chat = library.chat()
    chat.say("purple over white")
    tiny_pictures(home.parent / "more", 3)
    Image.fromarray(draw_halves("purple", "white", size=(30, 30))).save(home.parent / "more" / "wanted.png")
    command = [sys.executable, __file__, str(home), str(home.parent / "more")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # The other three are copies of the first three: other paths of pictures that are known.
    assert json.loads(done.stdout) == {"added": 1, "duplicates": 3}, done.stderr
    assert chat.say("purple")[0].path == str(home.parent / "more" / "wanted.png")
    assert len(chat.conversation) == 2


def test_two_processes_may_make_and_fill_one_library_at_once(home: Path) -> None:
    folders = []
    for colour in ("red", "green"):
        folders.append(home.parent / colour)
        folders[-1].mkdir()
        Image.fromarray(draw_halves(colour, "black")).save(folders[-1] / "one.png")
    commands = [[sys.executable, __file__, str(home), str(folder)] for folder in folders]
    writers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands]
    for writer in writers:
        _, complaints = writer.communicate(timeout=60)
        assert writer.returncode == 0, complaints
    library = Library.open(home, create=False)
    assert len(library.gallery()) == 2
    assert library.find("green over black")[0].path == str(folders[1] / "one.png")
    assert library.verify() == []


def test_the_gallery_stays_the_same_object_until_something_changes(home: Path) -> None:
    library, _ = filled(home, 2)
    first = library.gallery()
    assert library.gallery() is first
    library.add(tiny_pictures(home.parent / "more", 3)[2].path, workers=1)
    assert library.gallery() is not first


def test_a_turn_that_names_a_pruned_picture_says_so(home: Path) -> None:
    library, drawn = filled(home, 2)
    chat = library.chat()
    hits = chat.say(drawn[0].caption)
    drawn[0].path.unlink()
    library.prune()
    with pytest.raises(UnknownName, match="no picture in this library has the id"):
        chat.like(hits[0])
    assert [hit.path for hit in chat.say("red")] == [str(drawn[1].path)]


def test_a_conversation_goes_on_without_a_picture_that_was_pruned_and_says_so(home: Path) -> None:
    library, drawn = filled(home, 4)
    chat = library.chat()
    liked = chat.like(library.find(drawn[0].caption)[0])[0]
    assert list(chat.adapters) == []
    drawn[0].path.unlink()
    library.prune()
    hits = chat.say(drawn[1].caption)
    assert hits[0].path == str(drawn[1].path)
    assert liked.id not in [hit.id for hit in hits]
    [note] = list(chat.adapters)
    assert note.startswith("drop: turn 1: no picture in this library")
    chat.say("red")
    assert len(chat.adapters) == 1
    assert chat.back_to(0).verdict == "nothing"
    assert list(chat.adapters) == []


def test_what_a_first_add_has_acknowledged_is_found_while_it_runs(home: Path) -> None:
    tiny_pictures(home.parent / "pictures", FIRST_BATCH + 3)
    seen = []

    def look(done: int, total: int) -> None:
        other = Library.open(home, create=False)
        facts = other.status()
        seen.append((done, len(other.find("red", n=total)), facts["pictures"], facts["space"]))

    library = Library.open(home)
    library.add(home.parent / "pictures", workers=1, progress=look)
    version = library.encoder.version
    assert seen == [
        (FIRST_BATCH, FIRST_BATCH, FIRST_BATCH, version),
        (FIRST_BATCH + 3, FIRST_BATCH + 3, FIRST_BATCH + 3, version),
    ]


def test_what_a_first_add_has_acknowledged_is_found_after_it_was_killed(home: Path) -> None:
    tiny_pictures(home.parent / "pictures", FIRST_BATCH + 3)
    command = [sys.executable, __file__, str(home), str(home.parent / "pictures"), "killed"]
    assert subprocess.run(command, check=False, capture_output=True).returncode == -signal.SIGKILL
    library = Library.open(home, create=False)
    assert len(library.find("red", n=100)) == library.status()["pictures"] == FIRST_BATCH
    assert json.loads((home / "library.json").read_text("utf-8"))["space"] == library.encoder.version
    assert library.add(home.parent / "pictures", workers=1).added == 3


def test_pictures_are_found_where_add_was_killed_before_it_could_name_their_space(home: Path) -> None:
    library, drawn = filled(home, 3)
    (home / "library.json").write_text(json.dumps({"schema": "viewfinder/library", "encoder": "starter", "format": 1}))
    again = Library.open(home, create=False)
    assert again.status()["space"] == library.encoder.version
    assert len(again.find("red")) == len(drawn)


def main(home: str, folder: str, killed: str = "") -> None:
    loader: Any = viewfinder.library
    loader.load_encoder = load_colour_encoder
    progress = (lambda done, total: os.kill(os.getpid(), signal.SIGKILL)) if killed else None
    report = Library.open(Path(home)).add(folder, workers=1, progress=progress)
    print(json.dumps({"added": report.added, "duplicates": report.duplicates}))


if __name__ == "__main__":
    main(*sys.argv[1:])


def test_pictures_added_after_tuning_are_no_problem_for_the_space_that_waits(home: Path) -> None:
    library, _ = filled(home, 3)
    tune(library, [0.2, 1.0, 1.0])
    tiny_pictures(home.parent / "more", 6)
    library.add(home.parent / "more", workers=1)
    assert library.verify() == []  # the space before tuning lacks them until it is switched to
    library.switch_back()
    assert library.verify() == []


def test_verify_names_a_picture_that_lacks_its_vector_in_the_active_space(home: Path) -> None:
    library, _ = filled(home, 3)
    ids, shared_nd = library.store.read_vectors(library.encoder.version)
    library.store.write_space(library.encoder.version, [(ids[1:], shared_nd[1:])])
    assert library.verify() == [f"no vector in {library.encoder.version}: {ids[0]}"]


@pytest.mark.parametrize("snapshot", ["none", "without what is derived from it", "whole"])
def test_a_library_on_a_disk_that_may_only_be_read_is_searched_and_described(home: Path, snapshot: str) -> None:
    library, drawn = filled(home)
    before = library.find("red").to_json()["results"]
    if snapshot != "whole":
        shutil.rmtree(home / "snapshots")
    if snapshot == "without what is derived from it":
        Library.open(home).gallery()
    disk = home.parent / "disk"
    disk.mkdir()
    mount = ["mount", "--bind", str(home), str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this machine does not allow mounting")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(disk)], check=True)
        again = Library.open(disk, create=False)
        assert again.find("red").to_json()["results"] == before
        assert again.status()["pictures"] == len(drawn)
        assert again.verify() == []
        assert len(again.chat().say("blue")) > 0
        with pytest.raises(LibraryError, match="Read-only"):
            again.prune()
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=False)
