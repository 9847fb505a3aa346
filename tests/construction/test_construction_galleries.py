from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers
from PIL import Image
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

from viewfinder.construction import SampleNotMade
from viewfinder.construction.galleries import (
    EncodedGallery,
    KnownCaptions,
    ModelCaptioner,
    NamedVectors,
    load_model_captioner,
    name_vectors,
)
from viewfinder.encoders.features import features
from viewfinder.errors import PictureError
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


SIZES = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


@dataclass(frozen=True)
class Said:
    """Says what it is told to."""

    text: str | None

    def describe(self, picture: str) -> str:
        if self.text is None:
            raise PictureError("cut short")
        return self.text


def test_a_known_caption_is_drawn_once_for_each_picture() -> None:
    captions = {str(number): ("one", "two", "three") for number in range(30)}
    known = KnownCaptions(captions)
    said = [known.caption(image) for image in captions]
    assert set(said) == {"one", "two", "three"}
    assert said == [known.caption(image) for image in captions]
    assert said != [KnownCaptions(captions, seed=1).caption(image) for image in captions]


def test_a_picture_without_a_caption_is_no_target() -> None:
    with pytest.raises(SampleNotMade, match="has no caption"):
        KnownCaptions({"a": ()}).caption("a")


def test_what_a_model_sees_is_one_line() -> None:
    assert ModelCaptioner(Said("a dog \n runs"), "blip").caption("a") == "a dog runs"
    with pytest.raises(SampleNotMade, match="says nothing"):
        ModelCaptioner(Said(" "), "blip").caption("a")
    with pytest.raises(SampleNotMade, match="cannot be read"):
        ModelCaptioner(Said(None), "blip").caption("a")


def test_blip_describes_pictures_by_their_names_in_samples(tmp_path: Path) -> None:
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
    tokenizer: Any = transformers.BertTokenizer(vocab={name: row for row, name in enumerate(names)})
    ids = {"vocab_size": len(names), "bos_token_id": 2, "eos_token_id": 3, "sep_token_id": 3, "pad_token_id": 0}
    text = {**SIZES, **ids, "encoder_hidden_size": 16, "max_position_embeddings": 64, "is_decoder": True}
    vision = {**SIZES, "patch_size": 8, "image_size": 16}
    transformers.set_seed(1)
    config = transformers.BlipConfig(text_config=text, vision_config=vision, projection_dim=8)
    for part in (transformers.BlipForConditionalGeneration(config), tokenizer):
        part.save_pretrained(tmp_path / "blip")
    BlipImageProcessorPil(size={"height": 16, "width": 16}).save_pretrained(tmp_path / "blip")
    Image.new("RGB", (30, 20), "red").save(tmp_path / "1.png")
    captioner = load_model_captioner(str(tmp_path / "blip"), {"images/gallery/1.png": tmp_path / "1.png"})
    said = captioner.caption("images/gallery/1.png")
    assert said and said == captioner.caption("images/gallery/1.png")  # no other opening the second time
