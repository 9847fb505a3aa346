from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers
from PIL import Image
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

from viewfinder.construction.galleries import (
    EncodedGallery,
    KnownCaptions,
    ModelCaptioner,
    NamedVectors,
    name_vectors,
)
from viewfinder.construction.pipelines import SampleNotMade
from viewfinder.construction.remembered import AnswerJournal
from viewfinder.encoders.features import features
from viewfinder.errors import PictureError
from viewfinder.testing import ColourEncoder, draw_halves
from viewfinder.users.vqa import load_captioner

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
    found = GALLERY.find_nearest("r", 4)
    assert [one.image for one in found] == sorted(set(NAMES) - {"r"}, key=lambda name: -slow[name])[:4]
    assert [one.likeness for one in found] == pytest.approx([slow[one.image] for one in found], abs=1e-5)
    assert found[0].image == "copy" and found[0].likeness == pytest.approx(1.0)


def test_a_reference_need_not_be_in_the_gallery() -> None:
    other = EncodedGallery(vectors(1, 3), vectors(0), ENCODER)
    assert [one.image for one in other.find_nearest("r", 10)] == ["ro", "g"]
    assert other.find_nearest("nobody", 10) == []


def test_a_text_finds_the_picture_that_answers_it_more_than_anything_else() -> None:
    assert GALLERY.find_best("something green", without="r").image == "g"
    assert GALLERY.find_best("red over blue", without="r").image == "rb"
    assert GALLERY.find_best("red over blue", without="rb").image != "rb"
    background_n = ENCODER.background(ALL.vectors_nd)
    best = np.argmax(ALL.vectors_nd @ ENCODER.words(["orange"])[0] - background_n)
    assert GALLERY.find_best("orange", without="r").image == NAMES[best]


def test_a_gallery_of_the_target_alone_has_nothing_to_find() -> None:
    with pytest.raises(SampleNotMade, match="no other picture"):
        EncodedGallery(vectors(0), vectors(0), ENCODER).find_best("red", without="r")


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


def captioner(folder: Path, look: Callable[[Path], str]) -> ModelCaptioner:
    """What looks at pictures below a folder, called as in samples, with a journal there."""
    files = {f"images/gallery/{file.name}": file for file in folder.glob("*.png")}
    return ModelCaptioner("blip", look, files, AnswerJournal.read(folder / "journal.jsonl"))


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


def test_what_a_model_sees_is_one_line(tmp_path: Path) -> None:
    def cut_short(file: Path) -> str:
        raise PictureError("cut short")

    (tmp_path / "a.png").touch()
    with pytest.raises(SampleNotMade, match="says nothing"):
        captioner(tmp_path, lambda file: " ").caption("images/gallery/a.png")
    with pytest.raises(SampleNotMade, match="cannot be read"):
        captioner(tmp_path, cut_short).caption("images/gallery/a.png")
    assert captioner(tmp_path, lambda file: "a dog \n runs").caption("images/gallery/a.png") == "a dog runs"


def test_a_picture_is_looked_at_again_only_if_its_file_changed(tmp_path: Path) -> None:
    (tmp_path / "x.png").touch()
    assert captioner(tmp_path, lambda file: "a dog").caption("images/gallery/x.png") == "a dog"
    assert captioner(tmp_path, lambda file: "a cat").caption("images/gallery/x.png") == "a dog"
    (tmp_path / "x.png").write_bytes(b"another")
    assert captioner(tmp_path, lambda file: "a cat").caption("images/gallery/x.png") == "a cat"


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
    model = load_captioner(str(tmp_path / "blip"))
    said = captioner(tmp_path, model.text).caption("images/gallery/1.png")
    assert said and said == model.text(tmp_path / "1.png")
