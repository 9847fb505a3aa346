"""Features of a data set: right, found again, kept up to date, and the same bytes whatever happened on the way."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock
from PIL import Image

from viewfinder.encoders import Encoded, Pixels
from viewfinder.encoders.features import Features, features
from viewfinder.encoders.features import compute as compute_module
from viewfinder.errors import BadInput, EncoderMismatch, LibraryBusy
from viewfinder.pictures import decode_one
from viewfinder.testing import ColourEncoder, draw_halves, tiny_pictures

ENCODER = ColourEncoder()


@dataclass(frozen=True)
class Counting(ColourEncoder):
    """Notes how many pictures it was given in each call."""

    calls: list[int] = field(default_factory=list, compare=False)

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        self.calls.append(len(batch))
        return ColourEncoder.pictures(self, batch, regions=regions)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """A folder of nine pictures."""
    tiny_pictures(tmp_path / "pictures", 9)
    return tmp_path / "pictures"


def compute(
    dataset: Path, encoder: ColourEncoder = ENCODER, *, regions: bool = True, out: Path | None = None
) -> Features:
    return features(dataset, encoder, regions=regions, out=out, workers=1)


def files(folder: Path) -> dict[str, bytes]:
    """Every file by name, but for the lock."""
    there = (file for file in folder.rglob("*") if file.is_file() and file.name != "writing.lock")
    return {str(file.relative_to(folder)): file.read_bytes() for file in there}


def assert_right(found: Features) -> None:
    """Each row is what the encoder says of that picture alone."""
    for row, key in enumerate(found.keys):
        alone = ENCODER.pictures([decode_one(found.dataset / key, ENCODER.fit).pixels], regions=True)
        np.testing.assert_array_equal(found.raw_nd[row], alone.global_bd[0])
        if found.regions_nre is not None and alone.regions_brd is not None:
            np.testing.assert_array_equal(found.regions_nre[row], alone.regions_brd[0].astype(np.float16))


def test_every_row_is_what_the_encoder_says_of_that_picture(pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute_module, "MAX_PICTURES", 4)
    found = compute(pictures)
    assert found.keys == tuple(sorted(file.name for file in pictures.glob("*.png")))
    assert found.regions_nre is not None
    assert (found.raw_nd.shape, found.regions_nre.shape) == ((9, 48), (9, 36, 3))
    assert isinstance(found.raw_nd, np.memmap) and isinstance(found.regions_nre, np.memmap)
    assert (found.raw_version, found.dropped) == ("colours-raw-1", ())
    assert_right(found)


def test_the_files_lie_in_the_data_set_and_are_not_made_twice(pictures: Path) -> None:
    encoder = Counting()
    first = compute(pictures, encoder)
    assert first.folder == pictures / ".viewfinder-features" / "colours-raw-1"
    assert sorted(name.partition("-")[0] for name in files(first.folder)) == ["global", "manifest.json", "regions"]
    before = files(first.folder)
    again = compute(pictures, encoder)
    assert (encoder.calls, again.keys, files(first.folder)) == ([9], first.keys, before)


def test_a_data_set_with_a_folder_of_images_has_those_only(tmp_path: Path) -> None:
    tiny_pictures(tmp_path / "images" / "a", 2)
    tiny_pictures(tmp_path, 3)  # a preview, say
    found = compute(tmp_path)
    assert [Path(key).parent.as_posix() for key in found.keys] == ["images/a", "images/a"]
    assert_right(found)


def test_changed_new_and_removed_pictures_are_all_that_is_done(pictures: Path, tmp_path: Path) -> None:
    compute(pictures)
    first, second, *others = sorted(pictures.glob("*.png"))
    first.unlink()
    Image.fromarray(draw_halves("white", "black")).save(second)
    Image.fromarray(draw_halves("red", "black")).save(pictures / "new.png")
    encoder = Counting()
    found = compute(pictures, encoder)
    assert encoder.calls == [2]
    assert found.keys == (second.name, *(file.name for file in others), "new.png")
    assert_right(found)
    assert files(found.folder) == files(compute(pictures, out=tmp_path / "fresh").folder)


def test_bad_pictures_are_reported_and_not_tried_again_until_they_change(pictures: Path) -> None:
    (pictures / "bad.png").write_bytes(b"not a picture")
    encoder = Counting()
    [bad] = compute(pictures, encoder).dropped
    assert bad.source.key == "bad.png" and bad.reason
    assert compute(pictures, encoder).dropped == (bad,)
    Image.fromarray(draw_halves("red", "blue")).save(pictures / "bad.png")
    mended = compute(pictures, encoder)
    assert (mended.dropped, "bad.png" in mended.keys, encoder.calls) == ((), True, [9, 1])


def test_a_chunk_of_bad_pictures_only_stops_nothing(pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute_module, "MAX_PICTURES", 3)
    for number in range(3):
        (pictures / f"!{number}.png").write_bytes(b"not a picture")  # sorts before the digits
    found = compute(pictures)
    assert (len(found), len(found.dropped)) == (9, 3)
    assert_right(found)


def test_regions_may_be_asked_for_later_and_are_kept_from_then_on(pictures: Path) -> None:
    assert compute(pictures, regions=False).regions_nre is None
    assert_right(compute(pictures, regions=True))
    Image.fromarray(draw_halves("red", "blue")).save(pictures / "new.png")
    assert compute(pictures, regions=False).regions_nre is None
    encoder = Counting()
    assert_right(compute(pictures, encoder))
    assert encoder.calls == []


KILLED = """
import os, signal, sys
from pathlib import Path
from viewfinder.encoders.features import compute, store
from viewfinder.testing import ColourEncoder

def die():
    os.kill(os.getpid(), signal.SIGKILL)

class Killed(ColourEncoder):
    calls = 0
    def pictures(self, batch, *, regions=False):
        Killed.calls += 1
        if when == "in the fourth chunk" and Killed.calls == 4:
            die()
        return ColourEncoder.pictures(self, batch, regions=regions)

def write(file, content, lasting):
    if when == "before the manifest" and file.name == "manifest.json":
        die()
    plain_write(file, content, lasting=lasting)

def progress(done, total):
    if when == "after the last chunk" and done == total:
        die()

pictures, out, when = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
compute.MAX_PICTURES, plain_write, store.write_file = 4, store.write_file, write
compute.features(pictures, Killed(), regions=True, out=out, workers=1, progress=progress)
"""


@pytest.mark.parametrize(
    ("when", "kept"),
    [
        ("in the fourth chunk", 12),
        pytest.param("after the last chunk", 23, marks=pytest.mark.long),
        ("before the manifest", 23),
    ],
)
def test_after_kill_9_the_next_call_goes_on_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, kept: int
) -> None:
    monkeypatch.setattr(compute_module, "MAX_PICTURES", 4)
    pictures, out = tmp_path / "pictures", tmp_path / "out"
    tiny_pictures(pictures, 22)
    (pictures / "0003-bad.png").write_bytes(b"not a picture")
    killed = subprocess.run([sys.executable, "-c", KILLED, pictures, out, when], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (out / "manifest.json").exists()

    encoder = Counting()
    found = compute(pictures, encoder, out=out)
    assert sum(encoder.calls) == 23 - kept  # the bad picture is in the first chunk
    assert [bad.source.key for bad in found.dropped] == ["0003-bad.png"]
    assert_right(found)
    compute(pictures, out=tmp_path / "whole")
    assert files(out) == files(tmp_path / "whole")


def test_a_chunk_that_the_journal_lost_is_made_again(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compute_module, "MAX_PICTURES", 4)

    def give_up(done: int, total: int) -> None:
        if done >= 8:
            raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        features(pictures, ENCODER, regions=True, out=out, workers=1, progress=give_up)
    journal = out / "work" / "journal.jsonl"
    journal.write_text(journal.read_text()[:-20])
    encoder = Counting()
    compute(pictures, encoder, out=out)
    assert encoder.calls == [4, 1]
    assert files(out) == files(compute(pictures, out=tmp_path / "fresh").folder)


@pytest.mark.parametrize("name", ["global", "regions"])
def test_a_truncated_or_missing_array_is_named_with_what_to_do(pictures: Path, name: str) -> None:
    folder = compute(pictures).folder
    [file] = folder.glob(f"{name}-*.npy")
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(BadInput, match=rf"{file.name}: missing or damaged .*; delete {folder} and repeat"):
        compute(pictures)
    file.unlink()
    with pytest.raises(BadInput, match=rf"{file.name}: missing or damaged"):
        compute(pictures)


def test_an_array_of_the_wrong_width_is_named(pictures: Path) -> None:
    folder = compute(pictures).folder
    [file] = folder.glob("global-*.npy")
    np.save(file, np.zeros((9, 47), np.float32))
    with pytest.raises(BadInput, match=r"holds float32 \(9, 47\), but manifest.json says float32 \(9, 48\); delete "):
        compute(pictures)


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 1, "raw_version": "colours-raw-1"}'])
def test_a_damaged_manifest_is_named(pictures: Path, text: str) -> None:
    folder = compute(pictures).folder
    (folder / "manifest.json").write_text(text)
    with pytest.raises(BadInput, match=r"manifest\.json: damaged .*; delete .* and repeat the command"):
        compute(pictures)


def test_features_of_another_encoder_are_not_mixed_in(pictures: Path, tmp_path: Path) -> None:
    compute(pictures, out=tmp_path / "out")
    with pytest.raises(EncoderMismatch, match="features of colours-raw-1, not colours-raw-2"):
        compute(pictures, ColourEncoder(raw_version="colours-raw-2"), out=tmp_path / "out")


def test_two_calls_at_once_do_not_get_in_each_others_way(pictures: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with FileLock(tmp_path / "out" / "writing.lock"), pytest.raises(LibraryBusy, match="another process"):
        compute(pictures, out=tmp_path / "out")
    assert len(compute(pictures, out=tmp_path / "out")) == 9


def test_where_the_data_set_cannot_be_written_the_cache_folder_serves(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (pictures / ".viewfinder-features").write_text("in the way")
    encoder = Counting()
    found = compute(pictures, encoder)
    assert found.folder.is_relative_to(tmp_path / "cache" / "viewfinder" / "features")
    assert compute(pictures, encoder).folder == found.folder
    assert encoder.calls == [9]


def test_what_cannot_be_computed_is_said_clearly(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such folder"):
        compute(tmp_path / "nowhere")
    (tmp_path / "images").mkdir()
    with pytest.raises(BadInput, match="images: no pictures in this folder"):
        compute(tmp_path)
    (tmp_path / "images" / "1.jpg").write_bytes(b"")
    with pytest.raises(BadInput, match=r"no picture here could be read; images/1\.jpg: "):
        compute(tmp_path)
    (tmp_path / "file").write_text("")
    tiny_pictures(tmp_path / "images", 1)
    with pytest.raises(BadInput, match=r"file: cannot be written .*--out"):
        compute(tmp_path, out=tmp_path / "file")


@pytest.mark.slow
def test_the_starter_gives_36_regions_and_the_vectors_it_gives_elsewhere(tmp_path: Path) -> None:
    from viewfinder.encoders import load_encoder

    tiny_pictures(tmp_path, 12, size=(240, 160))
    encoder = load_encoder("starter")
    found = features(tmp_path, encoder, regions=True, workers=1)
    assert found.regions_nre is not None
    assert (found.raw_nd.shape, found.regions_nre.shape) == ((12, 2560), (12, 36, 1280))
    alone = encoder.pictures([decode_one(tmp_path / found.keys[7], encoder.fit).pixels], regions=True)
    assert alone.regions_brd is not None
    np.testing.assert_allclose(found.raw_nd[7], alone.global_bd[0], atol=1e-4)
    np.testing.assert_allclose(found.regions_nre[7], alone.regions_brd[0], atol=5e-3)
    assert len({row.tobytes() for row in np.asarray(found.raw_nd)}) == 12
