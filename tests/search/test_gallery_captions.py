"""What retrievers that make their own vectors are given: captions, and raw vectors of pictures that turns name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from jaxtyping import Float32

import viewfinder.library
from viewfinder.errors import EncoderMismatch, LibraryError
from viewfinder.evaluation.pictures import Pictures
from viewfinder.library import Library
from viewfinder.query import RawPictures, Reads, RegionSpace
from viewfinder.search.gallery import Gallery
from viewfinder.search.picture_reading import read_image, read_picture
from viewfinder.search.regions import find_block
from viewfinder.testing import (
    COLOURS,
    ColourEncoder,
    TinyRaw,
    draw_halves,
    load_colour_encoder,
    tiny_pictures,
    tiny_snapshot,
)

ENCODER = ColourEncoder()
LOOKS = [(top, "blue") for top in COLOURS]
KEYS = tuple(f"p{at:03}" for at in range(len(LOOKS)))
BATCH = 3
"""Pictures whose raw vectors pass by at a time; the last batch is smaller."""


def by_captions(raw: RawPictures) -> Float32[np.ndarray, "n 1 d"]:
    """A picture is what was written about it, and blank where that is nothing."""
    assert raw.regions_nre is None
    assert raw.sentences is not None
    assert raw.sentences.version == ENCODER.sentences_version
    written_n1 = np.array([[bool(caption)] for caption in raw.captions])
    return np.asarray((raw.sentences.encode(raw.captions) * written_n1)[:, None], np.float32)


WRITTEN = RegionSpace(
    "written", ENCODER.raw_version, by_captions, regions=1, width=48, reads_regions=False, reads_captions=True
)


def with_captions(captions: dict[str, str]) -> Gallery:
    vectors_nd = ENCODER.project(ENCODER.pictures([draw_halves(*look) for look in LOOKS]).global_bd)
    raw = TinyRaw(LOOKS, batch=BATCH)
    return Pictures(KEYS, np.asarray(vectors_nd, np.float32), ENCODER, raw=raw).gallery(captions=captions)


def test_every_picture_is_made_from_its_own_caption_batch_after_batch() -> None:
    captions = {key: top for key, (top, _) in zip(KEYS, LOOKS, strict=True) if key != "p004"}
    assert len(LOOKS) % BATCH
    found_nd = find_block(with_captions(captions), WRITTEN).vectors(np.arange(len(LOOKS)))[:, 0]
    for key, found_d in zip(KEYS, found_nd, strict=True):
        expected_d = ENCODER.sentences([captions[key]])[0] if key in captions else np.zeros(48)
        np.testing.assert_allclose(found_d, expected_d, atol=1e-6)


def test_a_space_that_reads_no_captions_is_given_none() -> None:
    seen: list[RawPictures] = []

    def project(raw: RawPictures) -> Float32[np.ndarray, "n 1 d"]:
        seen.append(raw)
        return np.asarray(raw.whole_ng[:, None], np.float32)

    find_block(with_captions({"p000": "red"}), replace(WRITTEN, name="plain", project=project, reads_captions=False))
    assert {(raw.captions, raw.sentences, raw.regions_nre) for raw in seen} == {((), None, None)}


def test_an_own_image_has_no_caption_and_is_made_without_one() -> None:
    shown = read_image(with_captions({"p000": "red"}), draw_halves(*LOOKS[0]), Reads(WRITTEN, "own"))
    assert shown.caption == ""
    np.testing.assert_array_equal(shown.vectors["own"], np.zeros((1, 48)))


def test_a_picture_brings_its_first_caption_and_none_where_nobody_wrote() -> None:
    gallery = with_captions({"p001": "green over blue"})
    assert [read_picture(gallery, key).caption for key in KEYS[:3]] == ["", "green over blue", ""]


def test_other_captions_are_another_state_of_the_pictures() -> None:
    marks = [with_captions(said).snapshot.generation for said in ({}, {"p000": "red"}, {"p001": "red"})]
    assert len(set(marks)) == 3
    assert marks[0] == with_captions({}).snapshot.generation


@pytest.mark.parametrize("regions", [False, True])
def test_raw_vectors_come_as_the_encoder_gave_them_and_regions_only_where_they_are_read(regions: bool) -> None:
    gallery = Gallery(tiny_snapshot(LOOKS), ENCODER, TinyRaw(LOOKS))
    reads = Reads(replace(WRITTEN, reads_regions=regions), "raw")
    expected = ENCODER.pictures([draw_halves(*LOOKS[2])], regions=True)
    assert expected.regions_brd is not None
    for picture in (read_picture(gallery, "p002", reads), read_image(gallery, draw_halves(*LOOKS[2]), reads)):
        np.testing.assert_allclose(picture.vectors["raw"], expected.global_bd[0], atol=1e-6)
        assert ("raw regions" in picture.vectors) == regions
        if regions:
            np.testing.assert_allclose(picture.vectors["raw regions"], expected.regions_brd[0], atol=1e-3)
        assert "own" not in picture.vectors


def test_raw_vectors_of_another_encoder_are_refused_and_it_is_said_where_there_are_none() -> None:
    reads = Reads(replace(WRITTEN, raw_version="another"), "raw")
    gallery = Gallery(tiny_snapshot(LOOKS), ENCODER, TinyRaw(LOOKS))
    with pytest.raises(EncoderMismatch, match="written was trained on another, and these pictures have"):
        read_picture(gallery, "p002", reads)
    with pytest.raises(EncoderMismatch, match="written was trained on another"):
        read_image(gallery, draw_halves("red", "blue"), reads)
    with pytest.raises(LibraryError, match=r"written reads raw vectors .*: there are none"):
        read_picture(Gallery(tiny_snapshot(LOOKS), ENCODER), "p002", Reads(WRITTEN, "raw"))


def test_when_a_library_learns_captions_what_was_made_from_them_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    drawn = tiny_pictures(tmp_path / "pictures", 3)
    library = Library.open(tmp_path / "library")
    library.add(tmp_path / "pictures", workers=1)
    assert not find_block(library.gallery(), WRITTEN).vectors(np.arange(3)).any()
    table = tmp_path / "captions.csv"
    table.write_text("image,caption\n" + "".join(f"{one.path.name},{one.caption}\n" for one in drawn))
    library.add(tmp_path / "pictures", captions=table, workers=1)
    gallery = library.gallery()
    for row, found_1d in enumerate(find_block(gallery, WRITTEN).vectors(np.arange(3))):
        assert gallery.caption(row) in {one.caption for one in drawn}
        np.testing.assert_allclose(found_1d, ENCODER.sentences([gallery.caption(row)]), atol=1e-6)
