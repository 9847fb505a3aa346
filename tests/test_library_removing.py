"""Pictures leave a library, and the files of its owner stay."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import viewfinder.library
from viewfinder.errors import BadInput, UnknownName
from viewfinder.library import Library
from viewfinder.pictures import picture_id
from viewfinder.pictures.thumbnails import THUMBNAILS, load_thumbnail
from viewfinder.store.removal import Selection
from viewfinder.testing import TinyPicture, load_colour_encoder, tiny_pictures


@pytest.fixture(autouse=True)
def colours_for_an_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever encoder a library names, it is given the one that knows colours only."""
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)


@pytest.fixture
def filled(tmp_path: Path) -> tuple[Library, list[TinyPicture]]:
    """A library of six pictures; the folder `old` has the last two, and a copy of the first."""
    drawn = tiny_pictures(tmp_path / "pictures", 6)
    (tmp_path / "pictures" / "old").mkdir()
    for picture in drawn[4:]:
        picture.path.rename(tmp_path / "pictures" / "old" / picture.path.name)
    shutil.copy(drawn[0].path, tmp_path / "pictures" / "old" / "copy.png")
    (tmp_path / "pictures" / "old" / "bad.jpg").write_bytes(b"no picture")
    library = Library.open(tmp_path / "library")
    library.add(tmp_path / "pictures", workers=1)
    return library, drawn


def names(library: Library) -> list[str]:
    """The last names of all files that the library knows."""
    return sorted(Path(file.path).name for row in library for file in row.files)


def test_a_result_a_row_an_id_and_a_file_are_removed_and_their_files_stay(
    filled: tuple[Library, list[TinyPicture]], tmp_path: Path
) -> None:
    library, drawn = filled
    hit = library.find(drawn[1].caption)[0]
    row = library[library.find(drawn[2].caption)[0]]
    other = library.find(drawn[4].caption)[0]
    gone = library.remove(hit, row, other.id, drawn[3].path)
    assert len(gone) == 4
    assert {hit.id, row.id, other.id} <= set(gone)
    assert len(library) == 2
    assert hit not in library
    assert hit.id not in [found.id for found in library.find(drawn[1].caption)]
    assert all(picture.path.exists() for picture in drawn[:4])
    assert library.verify() == []
    assert library.add(tmp_path / "pictures", workers=1).added == 4


def test_a_folder_is_removed_but_not_a_picture_that_also_lies_elsewhere(
    filled: tuple[Library, list[TinyPicture]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, drawn = filled
    old = tmp_path / "pictures" / "old"
    there = library.remove(old, dry_run=True)
    assert len(there) == 2
    assert len(library) == 6
    monkeypatch.chdir(tmp_path)
    assert library.remove("pictures/../pictures/old/") == there
    assert names(library) == sorted(picture.path.name for picture in drawn[:4])  # one of them without its copy
    assert library.failures() == []
    with pytest.raises(UnknownName, match=r"nothing in this library is, or lies below, .*old"):
        library.remove(old)


def test_a_folder_that_is_gone_from_disk_can_be_removed_and_is_no_root_any_more(
    filled: tuple[Library, list[TinyPicture]], tmp_path: Path
) -> None:
    library, _ = filled
    assert library.settings.roots == (str(tmp_path / "pictures"),)
    shutil.rmtree(tmp_path / "pictures")
    assert len(library.remove(tmp_path / "pictures")) == 6
    assert library.settings.roots == Library.open(tmp_path / "library").settings.roots == ()
    assert list(library.find("red")) == []


def test_nothing_is_removed_where_one_of_several_is_unknown(filled: tuple[Library, list[TinyPicture]]) -> None:
    library, drawn = filled
    with pytest.raises(UnknownName, match="nowhere"):
        library.remove(drawn[0].path, "nowhere")
    with pytest.raises(BadInput, match=r"picture: .* this is int"):
        library.remove(drawn[0].path, 1)  # type: ignore[arg-type]
    assert len(library) == 6
    assert library.remove() == []


def test_copies_that_the_library_keeps_go_with_a_picture(
    filled: tuple[Library, list[TinyPicture]], tmp_path: Path
) -> None:
    library, drawn = filled
    mine = tmp_path / "pictures" / "old" / drawn[5].path.name
    sent = library.folder / "pictures" / f"{picture_id(mine.read_bytes())}.png"  # as a server keeps it
    sent.parent.mkdir()
    shutil.copy(mine, sent)
    library.add(sent, workers=1)
    (row,) = [row for row in library if {file.path for file in row.files} == {str(mine), str(sent)}]
    load_thumbnail(sent, row.id, library.folder / THUMBNAILS)
    kept = [file for file in (library.folder / THUMBNAILS).rglob("*") if file.is_file()]
    assert len(kept) == 2  # a placeholder, too
    library.remove(row)
    assert not sent.exists()
    assert not any(file.exists() for file in kept)
    assert mine.exists()


def test_files_of_ones_own_stay_also_where_they_lie_in_the_librarys_folder(tmp_path: Path) -> None:
    library = Library.open(tmp_path / "library")
    drawn = tiny_pictures(library.folder / "pictures", 3)
    assert library.add(*(picture.path for picture in drawn), workers=1).added == 3
    assert len(library.remove(*(picture.path for picture in drawn))) == 3
    assert all(picture.path.exists() for picture in drawn)


def test_a_row_keeps_the_files_that_are_not_meant(filled: tuple[Library, list[TinyPicture]], tmp_path: Path) -> None:
    library, _ = filled
    old = str(tmp_path / "pictures" / "old")
    meant = Selection(frozenset(), frozenset({old}))
    assert [meant.covers(path) for path in (old, f"{old}/copy.png", f"{old}er/copy.png")] == [True, True, False]
    left = {row.id: meant.leave(row) for row in library}
    assert sorted(len(row.files) for row in left.values()) == [0, 0, 1, 1, 1, 1]


def test_a_place_whose_name_is_no_text_is_nowhere_in_the_library(
    filled: tuple[Library, list[TinyPicture]], tmp_path: Path
) -> None:
    library, _ = filled
    with pytest.raises(UnknownName, match="nothing in this library is"):
        library.remove(str(tmp_path / "m\udcfcller.jpg"))
    with pytest.raises(UnknownName, match="no such file"):
        library.show(str(tmp_path / "m\udcfcller.jpg"))


def test_a_picture_is_looked_up_by_what_one_has_of_it(filled: tuple[Library, list[TinyPicture]]) -> None:
    library, drawn = filled
    hit = library.find(drawn[1].caption)[0]
    row = library[hit.id]
    assert (row.id, row.path) == (hit.id, drawn[1].path)
    assert library[hit] == library[row] == row
    assert hit in library
    assert hit.id in library
    assert "nobody" not in library
    assert 3 not in library
    with pytest.raises(UnknownName, match="no picture in this library has the id 'nobody'"):
        library["nobody"]
