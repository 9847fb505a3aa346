from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import transformers
from PIL import Image
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

from viewfinder.construction import SampleNotMade
from viewfinder.construction.captioners import KnownCaptions, ModelCaptioner, load_model_captioner
from viewfinder.errors import PictureError

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
