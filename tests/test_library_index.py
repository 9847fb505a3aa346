"""The approximate index of a library: made beside conversations, read by the next process, grown, and made again."""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import viewfinder.library
from viewfinder.cli.app import run
from viewfinder.library import Library
from viewfinder.search import approximate, index_files
from viewfinder.search.index_files import index_file, renew_index
from viewfinder.store import half_rows
from viewfinder.store.half_rows import HalfRows
from viewfinder.testing import TinyPicture, load_colour_encoder, tiny_pictures

pytest.importorskip("faiss", reason="the extra `scale` is not installed")


def make_large_small(patched: pytest.MonkeyPatch) -> None:
    """Forty pictures are many, and ten new ones too; the encoder knows colours only."""
    patched.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    patched.setattr(index_files, "MIN_INDEXED", 40)
    patched.setattr(index_files, "MAX_LACKING", 20)


@pytest.fixture(autouse=True)
def large_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    make_large_small(monkeypatch)


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


def test_an_index_of_vectors_in_half_precision_is_made_a_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, _ = filled(tmp_path)
    gallery = library.gallery()
    gallery.snapshot.matrix_nd = HalfRows(np.asarray(gallery.snapshot.matrix_nd).astype(np.float16))
    converted: list[int] = []

    def convert(half: np.ndarray) -> np.ndarray:
        converted.append(len(half))
        return half.astype(np.float32)

    monkeypatch.setattr(half_rows, "to_single", convert)
    for module, limit, few in (
        (approximate, "MAX_ADDED_AT_ONCE", 16), (approximate, "TRAINED_ON", 2), (index_files, "QUERIES", 12),
        (half_rows, "BLOCK", 16),
    ):  # fmt: skip
        monkeypatch.setattr(module, limit, few)
    assert renew_index(library.folder, gallery) is not None
    assert converted
    assert max(converted) <= 16  # all 60 of ten million would be 10 GB


def test_new_pictures_are_found_before_the_index_has_them_and_then_it_grows(tmp_path: Path) -> None:
    library, _ = filled(tmp_path)
    library.build_index()
    tiny_pictures(tmp_path / "pictures", 75)
    library.add(tmp_path / "pictures", workers=1)
    indexed = library.gallery().indexed
    assert indexed is not None
    assert len(indexed.lacking_k) == 15
    ids = {hit.id for hit in library.find("red", n=75, fold=False)}
    assert len(ids) == 75
    assert library.build_index()
    grown = library.gallery().indexed
    assert grown is not None
    assert not len(grown.lacking_k)
    assert (len(grown.index), grown.index.card.trained_on) == (75, 60)


def test_an_index_that_finds_too_little_of_what_it_took_in_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    library, _ = filled(tmp_path)
    library.build_index()
    assert library.status()["index"]["recall_added"] is None
    tiny_pictures(tmp_path / "pictures", 75)
    library.add(tmp_path / "pictures", workers=1)
    monkeypatch.setattr(index_files, "MIN_RECALL", 1.01)
    told: list[str] = []
    assert library.build_index(told.append)
    assert told[0] == "the index takes 15 more pictures"
    assert told[1].startswith("with them it finds only ")
    assert told[2] == "an index of 75 pictures is made"
    indexed = library.gallery().indexed
    assert indexed is not None
    assert (indexed.index.card.trained_on, indexed.lacking_k.tolist()) == (75, [])
    assert 0.5 < library.status()["index"]["recall_added"] <= 1
    assert run(["status", "--library", str(library.folder)]) == 0
    assert "of those added last" in capsys.readouterr().out


def test_an_index_that_cannot_be_made_does_not_spoil_what_was_added(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = tiny_pictures(tmp_path / "pictures", 45)
    Library.open(tmp_path / "library")
    (tmp_path / "library" / "approximate").write_text("in the way")
    assert run(["add", str(tmp_path / "pictures"), "--library", str(tmp_path / "library")]) == 0
    assert "without an index" in capsys.readouterr().err
    assert run(["find", "red", "--library", str(tmp_path / "library"), "-n", "3"]) == 0
    assert len(drawn) == 45


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


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A library of sixty pictures with an index, for tests that spoil the index."""
    with pytest.MonkeyPatch.context() as patched:
        make_large_small(patched)
        folder = tmp_path_factory.mktemp("known")
        filled(folder)[0].build_index()
        yield folder / "library"


def rewrite(file: Path, **changed: object) -> None:
    """Writes an index again with other parts; `card` is a change of the card, and None leaves a part out."""
    with np.load(file) as stored:
        parts: dict[str, Any] = dict(stored)
    if callable(change := changed.get("card")):
        changed["card"] = np.array(json.dumps(change(json.loads(str(parts["card"])))))
    parts |= changed
    np.savez(file, **{name: part for name, part in parts.items() if part is not None})


def without(card: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in card.items() if name not in names}


def of_width(width: int) -> np.ndarray[Any, Any]:
    """A whole faiss index of sixty vectors of another width."""
    import faiss

    made = faiss.IndexIVFScalarQuantizer(faiss.IndexFlatIP(width), width, 8, faiss.ScalarQuantizer.QT_8bit)
    vectors_nw = np.random.default_rng(0).normal(size=(60, width)).astype(np.float32)
    made.train(vectors_nw)
    made.add(vectors_nw)
    return np.asarray(faiss.serialize_index(made))


FAULTS: dict[str, Callable[[Path], object]] = {
    "empty": lambda file: file.write_bytes(b""),
    "of one byte": lambda file: file.write_bytes(b"P"),
    "cut in the middle": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "cut at the end": lambda file: file.write_bytes(file.read_bytes()[:-1]),
    "zeros": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "of text": lambda file: file.write_text("see the manual"),
    "of one array": lambda file: file.write_bytes(b"\x93NUMPY\x01\x00"),
    "a card with a field more": lambda file: rewrite(file, card=lambda card: card | {"more": 1}),
    "a card with a field less": lambda file: rewrite(file, card=lambda card: without(card, "probes_against")),
    "a card without what has a default": lambda file: rewrite(file, card=lambda card: without(card, "recall_added")),
    "a card that is a list": lambda file: rewrite(file, card=list),
    "a card of texts": lambda file: rewrite(file, card=lambda card: card | {"probes": "many"}),
    "a card of no recall": lambda file: rewrite(file, card=lambda card: card | {"recall": float("nan")}),
    "a card of more lists": lambda file: rewrite(file, card=lambda card: card | {"lists": 10**9}),
    "a card of no probes": lambda file: rewrite(file, card=lambda card: card | {"probes": 0}),
    "without a card": lambda file: rewrite(file, card=None),
    "without ids": lambda file: rewrite(file, ids=None),
    "of few ids": lambda file: rewrite(file, ids=np.array([b"a", b"b"])),
    "of ids that are numbers": lambda file: rewrite(file, ids=np.arange(60)),
    "of ids that are objects": lambda file: rewrite(file, ids=np.array([{}] * 60)),
    "of another count": lambda file: rewrite(file, pictures=61),
    "of another version": lambda file: rewrite(file, version=10**6),
    "of no version": lambda file: rewrite(file, version=None),
    "of another width": lambda file: rewrite(file, index=of_width(160)),
    "no index of faiss": lambda file: rewrite(file, index=np.frombuffer(b"not such a thing", np.uint8)),
}


OF_THE_INDEX_ALONE = {
    "a card of more lists",
    "without ids",
    "of few ids",
    "of ids that are numbers",
    "of ids that are objects",
    "of another count",
    "of another width",
    "no index of faiss",
}
"""Which a card cannot tell."""


@pytest.mark.parametrize("fault", FAULTS)
def test_an_index_with_any_fault_is_passed_over_and_made_anew(known: Path, tmp_path: Path, fault: str) -> None:
    library = Library.open(Path(shutil.copytree(known, tmp_path / "library")))
    assert library.gallery().indexed is not None
    expected = [hit.id for hit in library.find("red over blue")]
    file = index_file(library.folder, library.gallery().snapshot.space)
    FAULTS[fault](file)
    again = Library.open(tmp_path / "library")
    assert again.status()["index"] is None or fault in OF_THE_INDEX_ALONE
    assert again.gallery().indexed is None
    assert [hit.id for hit in again.find("red over blue")] == expected
    assert again.build_index()
    assert again.gallery().indexed is not None
    assert again.status()["index"]["pictures"] == 60


def test_a_status_beside_a_spoilt_index_is_a_status(
    known: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(known, tmp_path / "library"))
    next((folder / "approximate").glob("*.npz")).write_bytes(b"")
    assert run(["status", "--library", str(folder)]) == 0
    assert "index" in (said := capsys.readouterr()).out
    assert said.err == ""


def test_what_killed_builds_left_is_removed_by_the_next(known: Path, tmp_path: Path) -> None:
    library = Library.open(Path(shutil.copytree(known, tmp_path / "library")))
    folder, space = library.folder / "approximate", library.gallery().snapshot.space
    left = [folder / name for name in (f".building-{space}.npz", ".building-1234-0a1b2c3d.npz", ".building-other.npz")]
    for file in left:
        file.write_bytes(b"half")
    os.utime(left[1], (time.time() - 7200,) * 2)  # of an earlier version, which named it by its process
    assert renew_index(library.folder, library.gallery()) is not None
    assert [file.exists() for file in left] == [False, False, True]  # the last may be being written right now


def test_an_index_is_on_the_disk_before_it_has_its_name(
    known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library.open(Path(shutil.copytree(known, tmp_path / "library")))
    file = index_file(library.folder, library.gallery().snapshot.space)
    file.unlink()
    library = Library.open(library.folder)
    done: list[str] = []
    sync, replace = os.fsync, Path.replace

    def synced(handle: int) -> None:
        sync(handle)
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else f"{os.fstat(handle).st_size} bytes")

    def replaced(here: Path, there: Path) -> Path:
        if there == file:
            done.append("renamed")
        return replace(here, there)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    assert library.build_index()
    assert done == [f"{file.stat().st_size} bytes", "renamed", "folder"]


def test_a_conversation_begins_to_make_it_and_does_not_wait(tmp_path: Path) -> None:
    library, _ = filled(tmp_path)
    chat = library.chat(questioner=None)
    first = [hit.id for hit in chat.say("red over blue")]
    assert library._index._builder is not None
    library._index._builder.join()
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
