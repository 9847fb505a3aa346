from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from viewfinder.construction import SampleNotMade
from viewfinder.construction.galleries import EncodedGallery, NamedVectors, name_vectors
from viewfinder.encoders.features import features
from viewfinder.testing import ColourEncoder, draw_halves

ENCODER = ColourEncoder()
LOOKS = [("red", "red"), ("red", "orange"), ("red", "blue"), ("green", "green"), ("blue", "blue"), ("red", "red")]
NAMES = ("r", "ro", "rb", "g", "b", "copy")


def vectors(*at: int) -> NamedVectors:
    raw_nd = ENCODER.pictures([draw_halves(*LOOKS[one]) for one in at]).global_bd
    return NamedVectors(tuple(NAMES[one] for one in at), ENCODER.project(raw_nd).astype(np.float32))


ALL = vectors(*range(6))
GALLERY = EncodedGallery(ALL, ALL, ENCODER)


def test_the_nearest_are_those_of_the_highest_cosine() -> None:
    own_d = ALL.vectors_nd[0]
    slow = {name: sum(float(a) * float(b) for a, b in zip(own_d, other_d, strict=True)) for name, other_d in
            zip(NAMES, ALL.vectors_nd, strict=True)}  # fmt: skip
    found = GALLERY.nearest("r", 4)
    assert [one.image for one in found] == sorted(set(NAMES) - {"r"}, key=lambda name: -slow[name])[:4]
    assert [one.likeness for one in found] == pytest.approx([slow[one.image] for one in found], abs=1e-5)
    assert found[0].image == "copy" and found[0].likeness == pytest.approx(1.0)


def test_a_reference_need_not_be_in_the_gallery() -> None:
    other = EncodedGallery(vectors(1, 3), vectors(0), ENCODER)
    assert [one.image for one in other.nearest("r", 10)] == ["ro", "g"]
    assert other.nearest("nobody", 10) == []


def test_a_text_finds_the_picture_that_answers_it_more_than_anything_else() -> None:
    assert GALLERY.found("something green", without="r").image == "g"
    assert GALLERY.found("red over blue", without="r").image == "rb"
    assert GALLERY.found("red over blue", without="rb").image != "rb"
    background_n = ENCODER.background(ALL.vectors_nd)
    best = np.argmax(ALL.vectors_nd @ ENCODER.words(["orange"])[0] - background_n)
    assert GALLERY.found("orange", without="r").image == NAMES[best]


def test_a_gallery_of_the_target_alone_has_nothing_to_find() -> None:
    with pytest.raises(SampleNotMade, match="no other picture"):
        EncodedGallery(vectors(0), vectors(0), ENCODER).found("red", without="r")


def test_vectors_are_those_of_the_files_and_broken_ones_have_none(
    tmp_path: Path, coloured: Callable[[Path, int], Path]
) -> None:
    folder = coloured(tmp_path / "data", 5)
    (folder / "images" / "bad.png").write_bytes(b"no picture")
    found = features(folder, ENCODER, out=tmp_path / "vectors", workers=1)
    files = {file.stem[:4]: file for file in sorted((folder / "images").iterdir(), reverse=True)}
    known = name_vectors(files, found, ENCODER)
    assert known.names == ("0004", "0003", "0002", "0001", "0000")
    for name, vector_d in zip(known.names, known.vectors_nd, strict=True):
        top, bottom = files[name].stem.split("-")[1:]
        own_1d = ENCODER.project(ENCODER.pictures([draw_halves(top, bottom)]).global_bd)
        assert float(vector_d @ own_1d[0]) == pytest.approx(1.0, abs=1e-2)
