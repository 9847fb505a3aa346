"""The approximate index of a library: made beside conversations, read by the next process, grown, and made again."""

from __future__ import annotations

from pathlib import Path

import pytest

import viewfinder.library
from viewfinder.index import approximate, index_files
from viewfinder.index.index_files import index_file, renew_index
from viewfinder.library import Library
from viewfinder.testing import TinyPicture, load_colour_encoder, tiny_pictures

pytest.importorskip("faiss", reason="the extra `scale` is not installed")


@pytest.fixture(autouse=True)
def large_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty pictures are many, and ten new ones too; the encoder knows colours only."""
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    monkeypatch.setattr(index_files, "SMALLEST", 40)
    monkeypatch.setattr(index_files, "MOST_LACKING", 20)


def filled(folder: Path, count: int = 60) -> tuple[Library, list[TinyPicture]]:
    drawn = tiny_pictures(folder / "pictures", count)
    library = Library.open(folder / "library")
    library.add(folder / "pictures", workers=1)
    return library, drawn


def test_an_index_is_made_once_and_found_by_the_next_process(tmp_path: Path) -> None:
    library, _ = filled(tmp_path)
    before = [hit.id for hit in library.find("red over blue")]
    assert library.gallery().indexed is None
    assert library.status()["index"] is None
    told: list[str] = []
    assert library.build_index(told.append)
    assert told == ["an index of 60 pictures is made"]
    assert not library.build_index()
    assert [hit.id for hit in library.find("red over blue")] == before
    again = Library.open(tmp_path / "library")
    assert again.gallery().indexed is not None
    assert [hit.id for hit in again.find("red over blue")] == before
    told_of = again.status()["index"]
    assert (told_of["pictures"], told_of["measured_on"]) == (60, "30 pictures")
    assert 0.5 < told_of["recall"] <= 1


def test_new_pictures_are_found_before_the_index_has_them_and_then_it_grows(tmp_path: Path) -> None:
    library, _ = filled(tmp_path)
    library.build_index()
    tiny_pictures(tmp_path / "pictures", 75)
    library.add(tmp_path / "pictures", workers=1)
    indexed = library.gallery().indexed
    assert indexed is not None
    assert len(indexed.lacking_k) == 15
    ids = {hit.id for hit in library.find("red", n=75)}
    assert len(ids) == 75
    assert library.build_index()
    grown = library.gallery().indexed
    assert grown is not None
    assert not len(grown.lacking_k)
    assert (len(grown.index), grown.index.card.trained_on) == (75, 60)


def test_an_index_that_lacks_too_much_does_not_serve_and_is_made_anew_for_twice_the_pictures(tmp_path: Path) -> None:
    library, _ = filled(tmp_path)
    library.build_index()
    tiny_pictures(tmp_path / "pictures", 121)
    library.add(tmp_path / "pictures", workers=1)
    assert library.gallery().indexed is None
    assert library.build_index()
    indexed = library.gallery().indexed
    assert indexed is not None
    assert indexed.index.card.trained_on == 121


def test_pictures_that_went_are_not_found_and_when_many_went_the_index_is_made_anew(tmp_path: Path) -> None:
    library, drawn = filled(tmp_path)
    library.build_index()
    for picture in drawn[:4]:
        picture.path.unlink()
    library.prune()
    indexed = library.gallery().indexed
    assert indexed is not None
    assert indexed.gone == 4
    assert len(library.find("red", n=60)) == 56
    for picture in drawn[4:8]:
        picture.path.unlink()
    library.prune()
    assert library.gallery().indexed is None
    assert library.build_index()
    anew = library.gallery().indexed
    assert anew is not None
    assert (anew.gone, len(anew.index)) == (0, 52)


def test_a_damaged_index_is_passed_over_and_made_again(tmp_path: Path) -> None:
    library, _ = filled(tmp_path)
    library.build_index()
    file = index_file(library.folder, library.gallery().snapshot.space)
    content = bytearray(file.read_bytes())
    for at in range(200, len(content), 400):
        content[at] ^= 255
    file.write_bytes(content)
    again = Library.open(tmp_path / "library")
    assert again.gallery().indexed is None
    assert len(again.find("red")) == 10
    assert again.build_index()
    assert again.gallery().indexed is not None


def test_a_conversation_begins_to_make_it_and_does_not_wait(tmp_path: Path) -> None:
    library, _ = filled(tmp_path)
    chat = library.chat(questioner=None)
    first = [hit.id for hit in chat.say("red over blue")]
    assert library._indexer is not None
    library._indexer.join()
    assert library.gallery().indexed is not None
    assert [hit.id for hit in chat.back_to(1)] == first


def test_of_two_that_would_make_it_one_does(tmp_path: Path) -> None:
    from filelock import FileLock

    library, _ = filled(tmp_path)
    file = index_file(library.folder, library.gallery().snapshot.space)
    file.parent.mkdir()
    with FileLock(file.with_suffix(".lock")):
        assert renew_index(library.folder, library.gallery()) is None
    assert renew_index(library.folder, library.gallery()) is not None


def test_without_faiss_and_in_small_collections_everything_is_scanned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, _ = filled(tmp_path / "few", 30)
    assert not few.build_index()
    library, _ = filled(tmp_path / "many")
    library.build_index()
    monkeypatch.setattr(approximate, "find_spec", lambda name: None)
    bare = Library.open(tmp_path / "many" / "library")
    assert bare.gallery().indexed is None
    assert not bare.build_index()
    assert len(bare.find("red")) == 10


def test_a_library_that_is_mended_loses_the_index_and_nothing_else(tmp_path: Path) -> None:
    library, _ = filled(tmp_path)
    library.build_index()
    Library.repair(library.folder)
    assert not index_file(library.folder, library.encoder.version).exists()
    assert len(Library.open(library.folder).find("red")) == 10
