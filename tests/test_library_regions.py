"""Talks that look at regions: filled on first need, kept, and never in the way of others."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import viewfinder.library
from viewfinder.encoders import load_encoder
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.library import Library
from viewfinder.pictures import decode_one
from viewfinder.search.regions import find_block
from viewfinder.testing import ColourEncoder, draw_halves, load_colour_encoder, tiny_pictures

SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "data"
RAW = ColourEncoder.raw_version
Looks = Callable[[str, int], Any]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a library will be whose encoder knows colours only."""
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    return tmp_path / "library"


@pytest.fixture
def looks(looks_at_regions: Looks) -> Any:
    return looks_at_regions(RAW, 3)


def filled(home: Path, count: int = 6) -> tuple[Library, list[Path]]:
    """A library of tiny pictures, which lie beside it."""
    drawn = [picture.path for picture in tiny_pictures(home.parent / "pictures", count)]
    library = Library.open(home)
    library.add(home.parent / "pictures", workers=1)
    return library, drawn


def draw(path: Path, top: str, bottom: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(draw_halves(top, bottom, size=(30, 30))).save(path)
    return path


def test_the_first_conversation_makes_the_regions_and_finds_by_them(home: Path, looks: Any) -> None:
    library, drawn = filled(home)
    assert library.status()["with_regions"] == 0
    assert library.verify() == []
    told: list[tuple[int, int]] = []
    hits = library.chat(looks, None, progress=lambda *at: told.append(at)).say("red")
    assert told == [(0, 6), (6, 6)]
    assert len(hits) == 6
    named = {path: "red" in path.stem for path in drawn}
    assert [named[Path(hit.path)] for hit in hits] == sorted(named.values(), reverse=True)
    assert hits[0].why["regions"]["boxes"]
    status = library.status()
    assert (status["with_regions"], status["spaces"]) == (6, {library.encoder.version: 48, RAW: 48})
    assert library.verify() == []


@pytest.mark.afresh
def test_the_second_conversation_reads_no_picture_and_does_not_import_lance(home: Path, looks: Any) -> None:
    library, _ = filled(home)
    first = library.chat(looks, None).say("blue")
    code = (
        "import sys; from pathlib import Path; import viewfinder.library; from viewfinder.library import Library;"
        "from viewfinder.testing import ColourEncoder, load_colour_encoder;"
        "viewfinder.library.load_encoder = load_colour_encoder;"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r}); from conftest import LooksAtRegions;"
        "ColourEncoder.pictures = None;"
        f"chat = Library.open(Path({str(home)!r})).chat(LooksAtRegions({RAW!r}, 3), None, progress=print);"
        "print([hit.id for hit in chat.say('blue')], 'lancedb' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{[hit.id for hit in first]} False\n"


def test_pictures_that_another_process_adds_are_found_at_the_next_turn(home: Path, looks: Any) -> None:
    library, _ = filled(home)
    chat = library.chat(looks, None)
    chat.say("purple")
    late = draw(home.parent / "late.png", "purple", "purple")
    Library.open(home).add(late, workers=1)
    assert chat.say("purple")[0].path == str(late)
    assert library.status()["with_regions"] == 7


def test_a_gallery_that_nobody_prepared_makes_what_it_needs(home: Path, looks: Any) -> None:
    library, drawn = filled(home)
    block = find_block(library.gallery(), looks.space)
    assert len(block) == 6
    row = library.gallery().row(library.find(like=drawn[2])[0].id)
    [part_rd] = block.vectors(np.array([row]))
    pixels = decode_one(drawn[2], ColourEncoder().fit).pixels
    regions_1re = ColourEncoder().pictures([pixels], regions=True).regions_brd
    assert regions_1re is not None
    np.testing.assert_allclose(part_rd, looks.turned(regions_1re[0]), atol=0.01)


def test_weights_for_another_encoder_are_refused_before_anything_is_read(home: Path, looks_at_regions: Looks) -> None:
    library, _ = filled(home)
    with pytest.raises(EncoderMismatch, match=r"trained on starter-raw-1, .* have colours-raw-1: ") as raised:
        library.chat(looks_at_regions("starter-raw-1", 1280), None)
    assert "\n" not in str(raised.value)
    assert library.status()["with_regions"] == 0


def test_weights_for_a_retriever_that_has_none_are_refused(home: Path) -> None:
    library, _ = filled(home, 1)
    with pytest.raises(BadInput, match="composer has nothing to load"):
        library.chat("composer", checkpoint="mine.safetensors")


def test_a_picture_whose_file_is_gone_is_left_out_until_it_comes_back(home: Path, looks: Any) -> None:
    library, _ = filled(home)
    wanted = draw(home.parent / "more" / "wanted.png", "purple", "purple")
    library.add(wanted, workers=1)
    wanted.rename(home.parent / "away")
    hits = library.chat(looks, None).say("purple")
    assert [(bad.path, bad.reason) for bad in library.left_out] == [(wanted, "gone")]
    assert len(hits) == 7  # it is a picture still, but nothing is known of its regions
    assert str(wanted) != hits[0].path
    (home.parent / "away").rename(wanted)
    assert library.chat(looks, None).say("purple")[0].path == str(wanted)
    assert library.left_out == ()


def test_pruned_pictures_take_their_regions_along(home: Path, looks: Any) -> None:
    library, drawn = filled(home)
    chat = library.chat(looks, None)
    chat.say("red")
    drawn[0].unlink()
    library.prune()
    assert library.status()["with_regions"] == 5
    assert str(drawn[0]) not in [hit.path for hit in chat.say("blue")]
    assert library.verify() == []


def test_a_conversation_begins_while_another_process_adds_pictures(home: Path, looks: Any) -> None:
    library, _ = filled(home)
    with Library.open(home).store.writing():
        assert len(library.chat(looks, None).say("red")) == 6


def test_a_conversation_over_words_needs_no_regions(home: Path) -> None:
    library, _ = filled(home)
    library.chat().say("red")
    assert library.status()["with_regions"] == 0


def test_a_library_whose_pictures_are_all_gone_answers_nothing(home: Path, looks: Any) -> None:
    library, _ = filled(home, 2)
    shutil.rmtree(home.parent / "pictures")
    assert len(library.chat(looks, None).say("red")) == 2
    assert len(library.left_out) == 2
    library.prune(force=True)
    assert list(library.chat(looks, None).say("red")) == []


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "flickr8k").is_dir(), reason="../shared/data/flickr8k is not there")
def test_real_photos_are_found_by_one_of_their_regions(tmp_path: Path, looks_at_regions: Looks) -> None:
    photos = sorted((SHARED / "flickr8k" / "images").glob("*.jpg"))[:12]
    library = Library.open(tmp_path / "library")
    library.add(*photos, workers=2)
    encoder = load_encoder("starter")
    regions_nre = encoder.pictures([decode_one(path, encoder.fit).pixels for path in photos], regions=True).regions_brd
    assert regions_nre is not None
    looks = looks_at_regions(encoder.raw_version, regions_nre.shape[2])
    chat = library.chat(looks, None)
    for photo in (0, 7):
        looks._meant = lambda _, photo=photo: looks.turned(regions_nre[photo, 20])
        hits = chat.say(f"a corner of photo {photo}")
        assert hits[0].path == str(photos[photo])
        chat.back_to(0)
    assert library.status()["with_regions"] == 12
