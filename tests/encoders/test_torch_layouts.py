"""Layouts and architectures beside CLIP's and SigLIP's own: vectors equal to the documented processor and model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from jaxtyping import Float
from PIL import Image

from tests.encoders.tiny_checkpoints import (
    OPEN_CLIP_CONFIG,
    OpenClip,
    edit_json,
    save_align,
    save_altclip,
    save_chinese_clip,
    save_clip,
    save_metaclip_2,
    save_open_clip,
    save_sentence_transformers,
    save_siglip2_of_fixed_size,
)
from viewfinder.encoders.base import Encoder, Pixels
from viewfinder.encoders.transformers import TransformersEncoder, load_transformers_encoder
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.testing import check_encoder

SIZES = [(60, 80), (3, 100), (1, 1), (200, 90), (48, 48), (49, 47)]
TEXTS = ["a dog", "A Brown dog runs", "", "dog " * 300, "狗 in the snow"]
SAVERS: dict[str, Callable[[Path], None]] = {
    "chinese_clip": save_chinese_clip,
    "altclip": save_altclip,
    "metaclip_2": save_metaclip_2,
    "align": save_align,
}
NETWORKS: dict[str, Any] = {
    "chinese_clip": transformers.ChineseCLIPModel,
    "altclip": transformers.AltCLIPModel,
    "metaclip_2": transformers.MetaClip2Model,
    "align": transformers.AlignModel,
}
IMAGE_PROCESSOR: Any = transformers.AutoImageProcessor
LENGTHS = {"chinese_clip": 64, "altclip": 64, "metaclip_2": 77, "align": 64}
KINDS = tuple(SAVERS)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("layouts")
    torch.manual_seed(0)
    for kind, save in SAVERS.items():
        save(root / kind)
    save_siglip2_of_fixed_size(root / "siglip2-fixed")
    save_sentence_transformers(root / "sentence")
    return {folder.name: folder for folder in root.iterdir()}


@pytest.fixture(scope="module")
def encoders(folders: dict[str, Path]) -> dict[str, TransformersEncoder]:
    return {kind: load_transformers_encoder(str(folder)) for kind, folder in folders.items()}


def pictures() -> list[Pixels]:
    noise = np.random.default_rng(7)
    return [noise.integers(0, 256, (height, width, 3), dtype=np.uint8) for height, width in SIZES]


def unit(rows: torch.Tensor) -> Float[np.ndarray, "n d"]:
    return np.asarray(torch.nn.functional.normalize(rows.detach(), dim=-1).numpy())


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_get_the_vectors_of_the_documented_processor_and_model(
    kind: str, folders: dict[str, Path], encoders: dict[str, TransformersEncoder]
) -> None:
    model = NETWORKS[kind].from_pretrained(folders[kind]).eval()
    processor = IMAGE_PROCESSOR.from_pretrained(folders[kind], backend="pil")
    made = [processor(images=Image.fromarray(one), return_tensors="pt") for one in pictures()]
    expected_bd = np.concatenate([unit(model.get_image_features(**one).pooler_output) for one in made])
    np.testing.assert_allclose(encoders[kind].pictures(pictures()).global_bd, expected_bd, atol=1e-4)
    assert np.ptp(expected_bd, axis=0).max() > 0.05, "pictures must differ for the test to mean something"


@pytest.mark.parametrize("kind", KINDS)
def test_texts_get_the_vectors_of_the_documented_processor_and_model(
    kind: str, folders: dict[str, Path], encoders: dict[str, TransformersEncoder]
) -> None:
    model = NETWORKS[kind].from_pretrained(folders[kind]).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders[kind])
    padding: Any = "max_length" if kind == "align" else True
    tokens = [
        tokenizer(one, padding=padding, truncation=True, max_length=LENGTHS[kind], return_tensors="pt") for one in TEXTS
    ]
    expected_nd = np.concatenate([unit(model.get_text_features(**one).pooler_output) for one in tokens])
    np.testing.assert_allclose(encoders[kind].words(TEXTS), expected_nd, atol=1e-4)
    assert np.ptp(expected_nd, axis=0).max() > 0.05, "texts must differ for the test to mean something"


@pytest.mark.parametrize("kind", [*KINDS, "siglip2-fixed", "sentence"])
def test_each_keeps_the_contract_of_an_encoder(kind: str, encoders: dict[str, TransformersEncoder]) -> None:
    assert isinstance(encoders[kind], Encoder)
    check_encoder(encoders[kind])


def test_a_region_of_align_is_the_mean_of_the_places_under_it(
    folders: dict[str, Path], encoders: dict[str, TransformersEncoder]
) -> None:
    model = NETWORKS["align"].from_pretrained(folders["align"]).eval()
    processor = IMAGE_PROCESSOR.from_pretrained(folders["align"], backend="pil")
    picture = pictures()[0]
    last_chw = model.vision_model(**processor(images=Image.fromarray(picture), return_tensors="pt")).last_hidden_state[
        0
    ]
    assert last_chw.shape == (16, 12, 12)
    cells = [last_chw[:, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2].mean(dim=(1, 2)) for row in range(6)
             for column in range(6)]  # fmt: skip
    made = encoders["align"].pictures([picture], regions=True).regions_brd
    assert made is not None
    np.testing.assert_allclose(made[0], unit(torch.stack(cells)), atol=1e-4)


def test_region_boxes_of_align_divide_what_its_crop_lets_through(encoders: dict[str, TransformersEncoder]) -> None:
    boxes_r4 = encoders["align"].region_boxes(560, 112)
    # 560 x 112 becomes 56 x 56; of it 4 to 52 are seen: of the width 40 to 520, of the height 8 to 104.
    np.testing.assert_allclose([boxes_r4[0, 0], boxes_r4[0, 1]], [40, 8])
    np.testing.assert_allclose([boxes_r4[-1, 2], boxes_r4[-1, 3]], [520, 104])


# -- SigLIP 2 of fixed size


def test_capitals_are_nothing_to_siglip_2_of_fixed_size_as_in_its_training(
    folders: dict[str, Path], encoders: dict[str, TransformersEncoder]
) -> None:
    words = encoders["siglip2-fixed"].words(["A Red DOG", "a red dog"])
    np.testing.assert_array_equal(words[0], words[1])
    network: Any = transformers.SiglipModel
    model = network.from_pretrained(folders["siglip2-fixed"]).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders["siglip2-fixed"])

    def as_documented(text: str) -> Float[np.ndarray, "n d"]:
        ids = tokenizer(text, padding="max_length", truncation=True, max_length=64, return_tensors="pt")["input_ids"]
        return unit(model.get_text_features(input_ids=ids).pooler_output)

    np.testing.assert_allclose(words[:1], as_documented("a red dog"), atol=1e-4)
    assert np.abs(words[:1] - as_documented("A Red DOG")).max() > 0.01, "capitals change a vector where they stay"


# -- sentence-transformers

ST = "sentence_transformers.models"


def test_a_clip_of_sentence_transformers_is_the_clip_in_its_folder(
    folders: dict[str, Path], encoders: dict[str, TransformersEncoder]
) -> None:
    inner = load_transformers_encoder(str(folders["sentence"] / "0_CLIPModel"))
    assert encoders["sentence"].name == "clip:sentence"
    assert encoders["sentence"].version == inner.version
    np.testing.assert_array_equal(encoders["sentence"].words(TEXTS), inner.words(TEXTS))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (f'[{{"path": "", "type": "{ST}.Transformer"}}, {{"path": "1_Pooling", "type": "{ST}.Pooling"}}]',
         "is a model of sentence-transformers of Transformer, Pooling"),
        ("[", "modules.json cannot be read"),
        ("[3]", "modules.json cannot be read"),
        (f'[{{"path": "../elsewhere", "type": "{ST}.CLIPModel"}}]', "of CLIPModel"),
        (f'[{{"path": "0_CLIPModel", "type": "{ST}.CLIPModel"}}]', "0_CLIPModel/config.json is missing"),
    ],
)  # fmt: skip
def test_another_model_of_sentence_transformers_is_refused_by_its_parts(
    content: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "modules.json").write_text(content)
    assert said in refused(tmp_path)


# -- open_clip


class AsOpenClip:
    """What open_clip's own transform, tokenizer and model do, written from its documentation."""

    def __init__(self, model: OpenClip, folder: Path) -> None:
        self.model = model
        self.tokenizer = transformers.CLIPTokenizer.from_pretrained(folder)

    def picture(self, pixels: Pixels) -> Float[np.ndarray, " d"]:
        image = Image.fromarray(pixels)
        short, width, height = 48, *image.size
        size = (short, int(short * height / width)) if width <= height else (int(short * width / height), short)
        scaled = image.resize(size, Image.Resampling.BICUBIC)
        left, top = round((size[0] - 48) / 2), round((size[1] - 48) / 2)  # torchvision's CenterCrop
        values = np.asarray(scaled.crop((left, top, left + 48, top + 48)), np.float32) / 255
        cfg = OPEN_CLIP_CONFIG["preprocess_cfg"]
        values = (values - np.float32(cfg["mean"])) / np.float32(cfg["std"])
        vectors = unit(self.model.visual(torch.from_numpy(values).permute(2, 0, 1)[None].float()))
        return np.asarray(vectors[0])

    def text(self, text: str) -> Float[np.ndarray, " d"]:
        ids = self.tokenizer(text, truncation=True, max_length=77)["input_ids"]
        padded = torch.tensor([[*ids, *[0] * (77 - len(ids))]])  # open_clip pads with 0 to the full length
        return np.asarray(unit(self.model.encode_text(padded))[0])


@pytest.mark.parametrize("quick_gelu", [True, False])
@pytest.mark.parametrize("as_bin", [False, True])
def test_a_folder_of_open_clip_gives_the_vectors_of_its_own_model(
    tmp_path: Path, quick_gelu: bool, as_bin: bool
) -> None:
    torch.manual_seed(1)
    model = save_open_clip(tmp_path / "open", as_bin=as_bin, quick_gelu=quick_gelu)
    reference, encoder = AsOpenClip(model, tmp_path / "open"), load_transformers_encoder(str(tmp_path / "open"))
    assert encoder.name == "open_clip:open"
    odd = np.random.default_rng(8).integers(0, 256, (5, 7, 3), dtype=np.uint8)  # 48 x 67 when scaled: 9.5 to cut off
    some = [*pictures(), odd]
    expected_bd = np.stack([reference.picture(one) for one in some])
    np.testing.assert_allclose(encoder.pictures(some).global_bd, expected_bd, atol=1e-4)
    expected_nd = np.stack([reference.text(one) for one in TEXTS])
    np.testing.assert_allclose(encoder.words(TEXTS), expected_nd, atol=1e-4)
    assert min(np.ptp(expected_bd, axis=0).max(), np.ptp(expected_nd, axis=0).max()) > 0.05
    check_encoder(encoder)


def test_a_picture_may_be_squashed_where_open_clip_says_so(tmp_path: Path) -> None:
    model = save_open_clip(tmp_path / "open")
    edit_json(tmp_path / "open" / "open_clip_config.json", preprocess_cfg={"resize_mode": "squash"})
    encoder, [picture] = load_transformers_encoder(str(tmp_path / "open")), [pictures()[0]]
    squashed = np.asarray(Image.fromarray(picture).resize((48, 48), Image.Resampling.BICUBIC))
    expected = AsOpenClip(model, tmp_path / "open").picture(squashed)
    np.testing.assert_allclose(encoder.pictures([picture]).global_bd[0], expected, atol=1e-4)
    np.testing.assert_allclose(encoder.region_boxes(300, 200)[-1, 2:], [300, 200])


def test_the_version_of_an_open_clip_changes_with_its_settings_and_its_weights(tmp_path: Path) -> None:
    torch.manual_seed(2)
    save_open_clip(tmp_path / "open")
    before = load_transformers_encoder(str(tmp_path / "open")).version
    edit_json(tmp_path / "open" / "open_clip_config.json", preprocess_cfg={"interpolation": "bilinear"})
    scaled = load_transformers_encoder(str(tmp_path / "open")).version
    shutil.rmtree(tmp_path / "open")
    save_open_clip(tmp_path / "open")
    assert len({before, scaled, load_transformers_encoder(str(tmp_path / "open")).version}) == 3


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"vision_cfg": {"layers": [3, 4, 6, 3], "width": 64}}, "a network other than a ViT beside a text transformer"),
        ({"vision_cfg": {"timm_model_name": "vit_base", "image_size": 48, "layers": 2}}, "timm_model_name 'vit_base'"),
        ({"text_cfg": {"hf_model_name": "xlm-roberta-base"}}, "hf_model_name 'xlm-roberta-base'"),
        ({"multimodal_cfg": {"layers": 2}}, "multimodal_cfg"),
        ({"vision_cfg": {"layers": 2, "width": 32}}, "open_clip_config.json is damaged (KeyError: 'patch_size')"),
    ],
)
def test_another_network_of_open_clip_is_refused_by_what_it_has(
    changes: dict[str, Any], said: str, tmp_path: Path
) -> None:
    save_open_clip(tmp_path / "open")
    settings = {"model_cfg": {**OPEN_CLIP_CONFIG["model_cfg"], **changes}}
    (tmp_path / "open" / "open_clip_config.json").write_text(json.dumps(settings))
    assert said in refused(tmp_path / "open")


def test_a_folder_of_open_clip_without_a_part_says_which(tmp_path: Path) -> None:
    save_open_clip(tmp_path / "open")
    weights, settings = tmp_path / "open" / "open_clip_model.safetensors", tmp_path / "open" / "open_clip_config.json"
    kept = weights.read_bytes()
    weights.write_bytes(kept[:1000])
    assert "cannot load the weights" in refused(tmp_path / "open")
    weights.unlink()
    assert "has no weights (none of open_clip_model.safetensors, open_clip_pytorch_model.bin)" in refused(
        tmp_path / "open"
    )
    settings.unlink()
    weights.write_bytes(kept)
    assert "has weights of open_clip, and no open_clip_config.json" in refused(tmp_path / "open")


def test_weights_of_another_open_clip_are_refused_by_name(tmp_path: Path) -> None:
    save_open_clip(tmp_path / "open")
    edit_json(
        tmp_path / "open" / "open_clip_config.json",
        model_cfg={**OPEN_CLIP_CONFIG["model_cfg"], "embed_dim": 8},
    )
    line = refused(tmp_path / "open", EncoderMismatch)
    assert "2 weights of another shape (text_projection.weight, visual_projection.weight)" in line


# -- what names no type


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"embed_dim": 512}, "names no model_type, so it is none that transformers wrote"),
        ({"model_cfg": {"embed_dim": 512}}, "call that file open_clip_config.json"),
    ],
)
def test_a_config_without_a_type_says_what_it_seems_to_be(content: dict[str, Any], said: str, tmp_path: Path) -> None:
    save_clip(tmp_path / "clip")
    (tmp_path / "clip" / "config.json").write_text(json.dumps(content))
    line = refused(tmp_path / "clip")
    assert said in line
    assert "None" not in line


def refused(folder: Path, error: type[Exception] = BadInput) -> str:
    with pytest.raises(error) as caught:
        load_transformers_encoder(str(folder))
    line = str(caught.value)
    assert "\n" not in line
    assert str(folder) in line
    return line
