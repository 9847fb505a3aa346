"""Beginning with BLIP-2's weights: a tiny one with drawn weights, saved as transformers saves it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from viewfinder.errors import BadInput
from viewfinder.retrievers.mai.network import MaiNetwork
from viewfinder.retrievers.mai.settings import Model
from viewfinder.retrievers.mai.texts import PieceTokenizer
from viewfinder.retrievers.mai.train import blip2_sizes, copy_blip2_weights, load_blip2, load_tokeniser

Blip2 = transformers.Blip2ForImageTextRetrieval


@pytest.fixture(scope="module")
def blip2(blip2_folder: Path) -> Any:
    """The stock model with these weights."""
    load: Callable[..., Any] = Blip2.from_pretrained
    return load(blip2_folder).eval()


@pytest.fixture(scope="module")
def model(blip2_folder: Path) -> Model:
    """Settings of its sizes."""
    config: Any = transformers.AutoConfig.from_pretrained(blip2_folder)
    known: dict[str, Any] = {
        "words": "pieces",
        "most_words": 8,
        "prompts": 2,
        "image": "regions",
        **blip2_sizes(config),
    }
    return Model(qformer=str(blip2_folder), tokeniser=str(blip2_folder), **known)


def begun(model: Model) -> MaiNetwork:
    """A network that begins with them."""
    torch.manual_seed(1)
    tokeniser = load_tokeniser(model.tokeniser)
    network = MaiNetwork(model, raw_width=5, region_width=3, words=tokeniser)
    copy_blip2_weights(network, load_blip2(model, tokeniser))
    return network.eval()


def refused(model: Model) -> str:
    with pytest.raises(BadInput) as raised:
        begun(model)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@torch.no_grad()
def test_texts_have_the_vectors_that_blip2_gives_them(model: Model, blip2: Any) -> None:
    network, pieces = begun(model), PieceTokenizer(load_tokeniser(model.tokeniser), model.most_words)
    texts = ["red shirt", "a shirt is red over a red shirt"]
    found_blh = network.qformer.read(*network.text(torch.from_numpy(pieces.numbers(texts))))
    given = transformers.AutoTokenizer.from_pretrained(model.tokeniser)(texts, return_tensors="pt", padding=True)
    pixels = torch.zeros(2, 3, 16, 16)
    known = {"input_ids": given["input_ids"], "attention_mask": given["attention_mask"]}
    stock = blip2(pixel_values=pixels, **known, use_image_text_matching_head=False)
    own_bd = torch.nn.functional.normalize(network.text_project(found_blh[:, 0]), dim=-1)
    torch.testing.assert_close(own_bd, stock.text_embeds, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_tokens_look_at_a_picture_as_those_of_blip2_do(model: Model, blip2: Any) -> None:
    network = begun(model)
    pixels = torch.rand(2, 3, 16, 16, generator=torch.Generator().manual_seed(2))
    image_bix = blip2.vision_model(pixel_values=pixels)[0]
    tokens_bth = network.learned.expand(2, -1, -1)
    there_bt = torch.ones(tokens_bth.shape[:2], dtype=torch.bool)
    found_bth = network.qformer.read(tokens_bth, there_bt, model.tokens, image_bix)
    stock = blip2.qformer(query_embeds=blip2.query_tokens.expand(2, -1, -1), encoder_hidden_states=image_bix)
    torch.testing.assert_close(found_bth, stock.last_hidden_state, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_the_norm_of_patches_is_kept_and_targets_are_projected_anew_but_by_sprc(model: Model, blip2: Any) -> None:
    two, sprc = begun(model), begun(replace(model, stages="sprc", captions=False))
    assert torch.equal(two.images.norm.weight, blip2.vision_model.post_layernorm.weight)
    assert torch.equal(sprc.target_project.weight, blip2.vision_projection.weight)
    assert not torch.equal(two.target_project.weight, blip2.vision_projection.weight)
    assert two.images.regions.weight.shape == (model.image_width, model.region_components)


@torch.no_grad()
def test_pieces_that_blip2_does_not_know_keep_the_vectors_that_were_drawn(
    model: Model, blip2: Any, tmp_path: Path
) -> None:
    tokeniser = transformers.AutoTokenizer.from_pretrained(model.tokeniser)
    tokeniser.add_special_tokens({"additional_special_tokens": ["<image>"]})
    tokeniser.save_pretrained(tmp_path)
    pieces_vh = begun(replace(model, tokeniser=str(tmp_path))).text.get_parameter("pieces.weight")
    known_vh = blip2.embeddings.word_embeddings.weight
    assert len(pieces_vh) == len(known_vh) + 1 == len(tokeniser)
    assert torch.equal(pieces_vh[:-1], known_vh) and 0 < float(pieces_vh[-1].norm()) < 1


# -- what is refused


def test_sizes_must_be_those_of_the_settings_and_are_told(model: Model) -> None:
    said = refused(replace(model, width=32, image_width=0, tokens=3))
    assert "is of other sizes than the settings say (width 32, image_width 32, tokens 3)" in said
    assert said.endswith("--set model.width=16 --set model.image_width=12 --set model.tokens=4")


def test_weights_that_are_missing_are_named(model: Model, blip2_folder: Path, tmp_path: Path) -> None:
    folder = copytree(blip2_folder, tmp_path / "less")
    tensors = load_file(folder / "model.safetensors")
    del tensors["embeddings.position_embeddings.weight"]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    said = refused(replace(model, qformer=str(folder)))
    assert "1 weights are missing (embeddings.position_embeddings.weight" in said
    (folder / "model.safetensors").unlink()
    assert "cannot load BLIP-2's Q-Former" in refused(replace(model, qformer=str(folder)))


def test_other_models_are_refused(model: Model, blip2_folder: Path, tmp_path: Path) -> None:
    folder = copytree(blip2_folder, tmp_path / "captions")
    config = json.loads((folder / "config.json").read_text())
    config["qformer_config"]["use_qformer_text_input"] = False
    (folder / "config.json").write_text(json.dumps(config))
    assert "a Q-Former that reads no text; give weights of BLIP-2 for image-text" in refused(
        replace(model, qformer=str(folder))
    )
    transformers.BertConfig().save_pretrained(tmp_path / "bert")
    assert "is 'bert'; give weights of BLIP-2" in refused(replace(model, qformer=str(tmp_path / "bert")))
    assert "no model folder (no config.json)" in refused(replace(model, qformer=str(tmp_path)))


def test_a_tokeniser_with_more_pieces_belongs_to_another_model(model: Model, tmp_path: Path) -> None:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{at}" for at in range(40))]
    transformers.BertTokenizer(vocab={word: at for at, word in enumerate(words)}).save_pretrained(tmp_path)
    assert f"tokeniser {tmp_path} has 45; give the one" in refused(replace(model, tokeniser=str(tmp_path)))
    (tmp_path / "tokenizer.json").unlink()
    assert "has no tokeniser (none of tokenizer.json" in refused(replace(model, tokeniser=str(tmp_path)))


def test_texts_longer_than_blip2_has_places_for_are_refused(model: Model) -> None:
    assert "texts have 16 places, and most_words with prompts are 17" in refused(replace(model, most_words=13))
    assert len(begun(replace(model, most_words=12)).text.get_parameter("positions")) == 16


def test_a_name_that_is_not_cached_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As where HF_HUB_OFFLINE is set when the hub's client is imported, which it is by now.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(BadInput) as raised:
        load_tokeniser("nobody/nothing")
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith("nobody/nothing: cannot load the tokeniser (")
    assert str(raised.value).endswith("check the name and the network (and HF_HUB_OFFLINE), or give a local folder")


# -- settings


def test_blip2_reads_pieces_of_a_tokeniser_that_is_named() -> None:
    with pytest.raises(BadInput, match=r"read pieces, and words is 'encoder'"):
        Model(qformer="somebody/blip2")
    with pytest.raises(BadInput, match="a tokeniser go together"):
        Model(words="pieces")
    assert Model().read_width == Model().width and Model(image_width=12).read_width == 12
