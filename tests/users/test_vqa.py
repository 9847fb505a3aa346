"""BLIP and BLIP-2 as users, on tiny untrained checkpoints, against transformers alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

from viewfinder.conversation import Answer, Question
from viewfinder.errors import BadInput, EncoderMismatch, PictureError, UnknownName
from viewfinder.users import Answerer, Screen, load_user
from viewfinder.users.vqa import load_captioner, load_vqa

LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
WIDE = {"initializer_range": 0.5}  # larger than in life, so that pictures and questions differ visibly
QUESTIONS = [Question(text) for text in ("is it a dog?", "what colour is the cat on the left?", "how many?", "a?")]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    noise = np.random.default_rng(3)
    for name in "abcd":
        Image.fromarray(noise.integers(0, 256, (40, 60, 3), dtype=np.uint8)).save(folder / f"{name}.png")
    (folder / "bad.png").write_bytes(b"no picture")
    return folder


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    blip, caption, opt, t5 = (root / name for name in ("blip", "caption", "opt", "t5"))
    for folder, network in ((blip, "BlipForQuestionAnswering"), (caption, "BlipForConditionalGeneration")):
        getattr(transformers, network)(_blip_config()).save_pretrained(folder)
        _save_parts(folder, [])
    for folder, text in ((opt, _opt()), (t5, _t5())):
        transformers.Blip2ForConditionalGeneration(_blip2_config(text)).save_pretrained(folder)
        _save_parts(folder, ["<image>"])
    return {"blip": blip, "caption": caption, "opt": opt, "t5": t5}


def _save_parts(folder: Path, more: list[str]) -> None:
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *("##" + letter for letter in LETTERS), "?", ":"]
    vocabulary = {token: row for row, token in enumerate(tokens)}
    tokenizer: Any = transformers.BertTokenizer(vocab=vocabulary, model_max_length=64)
    tokenizer.add_tokens(more, special_tokens=True)
    tokenizer.save_pretrained(folder)
    BlipImageProcessorPil(size={"height": 48, "width": 48}).save_pretrained(folder)


def _blip_config() -> transformers.BlipConfig:
    ids = {"vocab_size": 59, "bos_token_id": 2, "eos_token_id": 3, "sep_token_id": 3, "pad_token_id": 0}
    text = {**SIZES, **WIDE, **ids, "encoder_hidden_size": 32, "max_position_embeddings": 64, "is_decoder": True}
    vision = {**SIZES, **WIDE, "patch_size": 8, "image_size": 48}
    return transformers.BlipConfig(text_config=text, vision_config=vision, projection_dim=16)


def _opt() -> dict[str, Any]:
    ids = {"vocab_size": 64, "bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 0}
    sizes = {"hidden_size": 32, "ffn_dim": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    return {**ids, **sizes, "model_type": "opt", "word_embed_proj_dim": 32, "init_std": 0.5, "dropout": 0.0}


def _t5() -> dict[str, Any]:
    ids = {"vocab_size": 64, "eos_token_id": 3, "pad_token_id": 0, "decoder_start_token_id": 0}
    return {**ids, "model_type": "t5", "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4,
            "initializer_factor": 5.0}  # fmt: skip


def _blip2_config(text: dict[str, Any]) -> transformers.Blip2Config:
    vision = {**SIZES, **WIDE, "patch_size": 8, "image_size": 48}
    qformer = {**SIZES, **WIDE, "vocab_size": 64, "encoder_hidden_size": 32}
    return transformers.Blip2Config(
        vision_config=vision, qformer_config=qformer, text_config=text, num_query_tokens=4, image_token_index=59
    )


@pytest.mark.parametrize("kind", ["blip", "opt", "t5"])
def test_every_kind_of_model_answers(checkpoints: dict[str, Path], pictures: Path, kind: str) -> None:
    answerer = load_vqa(str(checkpoints[kind]), lambda name: pictures / name)
    names = [f"{name}.png" for name in "abcd"]
    assert isinstance(answerer, Answerer)
    said = [answerer.answer(question, name) for question, name in zip(QUESTIONS, names, strict=True)]
    assert len(set(said)) > 1
    assert said[0] == answerer.answer(QUESTIONS[0], names[0])


def test_blip_is_asked_as_its_documentation_has_it(checkpoints: dict[str, Path], pictures: Path) -> None:
    load: Any = transformers.BlipForQuestionAnswering
    network = load.from_pretrained(checkpoints["blip"]).eval()
    tokenizer: Any = transformers.BertTokenizer.from_pretrained(checkpoints["blip"])
    processor: Any = BlipImageProcessorPil.from_pretrained(checkpoints["blip"])
    pixels = processor(images=Image.open(pictures / "a.png"), return_tensors="pt")
    words = tokenizer("is it a dog?", return_tensors="pt", return_token_type_ids=False)
    with torch.inference_mode():
        written = network.generate(**pixels, **words, max_new_tokens=20, do_sample=False)
    expected = tokenizer.decode(written[0], skip_special_tokens=True).strip()
    answerer = load_vqa(str(checkpoints["blip"]), lambda name: pictures / name)
    assert answerer.answer(QUESTIONS[0], "a.png") == expected


def test_blip2_does_not_repeat_the_question(checkpoints: dict[str, Path], pictures: Path) -> None:
    answerer = load_vqa(str(checkpoints["opt"]), lambda name: pictures / name)
    assert answerer.model.prompt.format("is it?") == "Question: is it? Answer:"
    assert not answerer.answer(QUESTIONS[0], "a.png").replace(" ", "").startswith("question")


def test_choices_are_kept_to(checkpoints: dict[str, Path], pictures: Path) -> None:
    answerer = load_vqa(str(checkpoints["blip"]), lambda name: pictures / name)
    said = answerer.answer(QUESTIONS[0], "a.png")
    choices = ("zzzz", said, "don't know")
    assert answerer.answer(Question("is it a dog?", choices), "a.png") == said
    assert answerer.answer(Question("is it a dog?", ("zzzz", "yyyy")), "a.png") == "don't know"


def test_a_captioner_says_what_it_sees_without_being_asked(checkpoints: dict[str, Path], pictures: Path) -> None:
    model = load_captioner(str(checkpoints["caption"]))
    said = [model.text(pictures / f"{name}.png") for name in "abab"]
    assert said[0] == said[2] and said[1] == said[3] and said[0] != said[1]


def test_what_is_wrong_is_said(checkpoints: dict[str, Path], pictures: Path, tmp_path: Path) -> None:
    answerer = load_vqa(str(checkpoints["blip"]), lambda name: pictures / name)
    with pytest.raises(UnknownName, match=r"zz\.png: no such picture"):
        answerer.answer(QUESTIONS[0], "zz.png")
    with pytest.raises(PictureError):
        answerer.answer(QUESTIONS[0], "bad.png")
    with pytest.raises(EncoderMismatch, match=r"is no BlipForQuestionAnswering: \d+ weights are missing"):
        load_vqa(str(checkpoints["caption"]), lambda name: pictures / name)
    transformers.BertConfig().save_pretrained(tmp_path)
    with pytest.raises(BadInput, match="of model type 'bert'; give one of type blip, blip-2"):
        load_vqa(str(tmp_path), lambda name: pictures / name)
    with pytest.raises(BadInput, match="there is no folder"):
        load_vqa("./nowhere", lambda name: pictures / name)


def test_a_user_looks_with_a_model(checkpoints: dict[str, Path], pictures: Path) -> None:
    (pictures / "captions.csv").write_text("image,caption\na.png,noise\n")
    user = load_user("vqa", pictures, model=str(checkpoints["blip"]), policy="answers")
    said = user.reply("a.png", Screen((), QUESTIONS[0], 0))
    answerer = load_vqa(str(checkpoints["blip"]), lambda name: pictures / name)
    assert said == Answer(QUESTIONS[0], answerer.answer(QUESTIONS[0], "a.png"))
