"""TransformersEncoder against transformers' own processors and models, on tiny untrained checkpoints."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
from transformers.models.siglip2.image_processing_pil_siglip2 import Siglip2ImageProcessorPil

from tests.encoders.tiny_checkpoints import VISION, edit_json, save_blip, save_clip, save_siglip, save_siglip2
from viewfinder.encoders.base import Encoder, Pixels, grid_boxes
from viewfinder.encoders.families import pool_regions
from viewfinder.encoders.families.clip import CLIP
from viewfinder.encoders.scale import find_temperature
from viewfinder.encoders.transformers import TransformersEncoder, load_transformers_encoder
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.evaluation import Plan, evaluate
from viewfinder.testing import check_encoder, tiny_pictures

KINDS = ("clip", "siglip", "siglip2", "blip")
SIZES = [(60, 80), (3, 100), (1, 1), (200, 90), (3, 3), (48, 48), (52, 52), (90, 200), (49, 47), (64, 64)]
TEXTS = ["a dog", "a brown dog runs in the snow", "", "dog " * 300, "Ein Hund, 2 Katzen!"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("checkpoints")
    torch.manual_seed(0)
    for kind, save in {"clip": save_clip, "siglip": save_siglip, "siglip2": save_siglip2, "blip": save_blip}.items():
        save(root / kind)
    return {kind: root / kind for kind in KINDS}


@pytest.fixture(scope="module")
def encoders(folders: dict[str, Path]) -> dict[str, TransformersEncoder]:
    return {kind: load_transformers_encoder(str(folder)) for kind, folder in folders.items()}


@pytest.fixture
def copied(folders: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    def copy(kind: str) -> Path:
        return Path(shutil.copytree(folders[kind], tmp_path / kind))

    return copy


def _pictures(sizes: list[tuple[int, int]] = SIZES) -> list[Pixels]:
    noise = np.random.default_rng(7)
    return [noise.integers(0, 256, (height, width, 3), dtype=np.uint8) for height, width in sizes]


def _unit(rows: torch.Tensor) -> Float[np.ndarray, ...]:
    return np.asarray(torch.nn.functional.normalize(rows.detach(), dim=-1).numpy())


PARTS: dict[str, tuple[Any, Any, Any]] = {
    "clip": (transformers.CLIPModel, CLIPImageProcessorPil, transformers.CLIPTokenizer),
    "siglip": (transformers.SiglipModel, SiglipImageProcessorPil, transformers.PreTrainedTokenizerFast),
    "siglip2": (transformers.Siglip2Model, Siglip2ImageProcessorPil, transformers.Siglip2Tokenizer),
    "blip": (transformers.BlipForImageTextRetrieval, BlipImageProcessorPil, transformers.BertTokenizer),
}


class Reference:
    """transformers alone, one picture and one text at a time, as its documentation has it."""

    def __init__(self, kind: str, folder: Path) -> None:
        network, pixels, tokenizer = PARTS[kind]
        self.kind = kind
        self.model = network.from_pretrained(folder).eval()
        self.processor = pixels.from_pretrained(folder)
        self.tokenizer = tokenizer.from_pretrained(folder)

    def inputs(self, picture: Pixels) -> Any:
        return self.processor(images=Image.fromarray(picture), return_tensors="pt")

    def tokens(self, text: str) -> Any:
        length = 77 if self.kind == "clip" else 64
        padding: Any = {"padding": "max_length"} if "siglip" in self.kind else {}
        tokens = self.tokenizer(text, truncation=True, max_length=length, return_tensors="pt", **padding)
        tokens.pop("token_type_ids", None)
        return tokens

    def picture(self, picture: Pixels) -> Float[np.ndarray, " d"]:
        return np.asarray(_unit(self.model.get_image_features(**self.inputs(picture)).pooler_output)[0])

    def text(self, text: str) -> Float[np.ndarray, " d"]:
        return np.asarray(_unit(self.model.get_text_features(**self.tokens(text)).pooler_output)[0])


@pytest.mark.parametrize("kind", ["clip", "siglip", "siglip2"])
def test_pictures_get_the_vectors_that_transformers_gives_them(
    kind: str, folders: dict[str, Path], encoders: dict[str, TransformersEncoder]
) -> None:
    reference, pictures = Reference(kind, folders[kind]), _pictures()
    expected_bd = np.stack([reference.picture(picture) for picture in pictures])
    np.testing.assert_allclose(encoders[kind].pictures(pictures).global_bd, expected_bd, atol=1e-4)


@pytest.mark.parametrize("kind", ["clip", "siglip", "siglip2"])
def test_texts_get_the_vectors_that_transformers_gives_them(
    kind: str, folders: dict[str, Path], encoders: dict[str, TransformersEncoder]
) -> None:
    reference = Reference(kind, folders[kind])
    expected_nd = np.stack([reference.text(text) for text in TEXTS])
    np.testing.assert_allclose(encoders[kind].words(TEXTS), expected_nd, atol=1e-4)
    assert np.ptp(expected_nd, axis=0).max() > 0.1, (
        "texts of this checkpoint must differ for the test to mean something"
    )


def test_blip_scores_are_those_of_its_itc_head(
    folders: dict[str, Path], encoders: dict[str, TransformersEncoder]
) -> None:
    reference, pictures = Reference("blip", folders["blip"]), _pictures()
    similarity = [
        [
            reference.model(**reference.tokens(text), **reference.inputs(picture), use_itm_head=False).itm_score.item()
            for text in TEXTS
        ]
        for picture in pictures
    ]
    ours = encoders["blip"].pictures(pictures).global_bd @ encoders["blip"].words(TEXTS).T
    np.testing.assert_allclose(ours, similarity, atol=1e-4)
    assert np.ptp(similarity) > 0.1


def _slow_pool(tokens_hwc: torch.Tensor) -> torch.Tensor:
    """The mean over rows floor(i h / 6) to ceil((i + 1) h / 6), columns likewise, cell by cell."""
    h, w, _ = tokens_hwc.shape
    cells = [
        tokens_hwc[i * h // 6 : -(-(i + 1) * h // 6), j * w // 6 : -(-(j + 1) * w // 6)].mean(dim=(0, 1))
        for i in range(6)
        for j in range(6)
    ]
    return torch.stack(cells)


def _regions_by_hand(reference: Reference, picture: Pixels) -> Float[np.ndarray, "r d"]:
    inputs, model = reference.inputs(picture), reference.model
    tower = model.vision_model
    last = tower(**inputs, output_hidden_states=True).hidden_states[-1][0]
    if reference.kind == "clip":
        pooled = _slow_pool(last[1:].unflatten(0, (6, 6)))
        return _unit(model.visual_projection(tower.post_layernorm(pooled)))
    last = tower.post_layernorm(last)
    if reference.kind == "blip":
        return _unit(model.vision_proj(_slow_pool(last[1:].unflatten(0, (6, 6)))))
    shape = inputs["spatial_shapes"][0].tolist() if reference.kind == "siglip2" else [6, 6]
    pooled = _slow_pool(last[: shape[0] * shape[1]].unflatten(0, shape))
    head = tower.head
    values = pooled @ head.attention.in_proj_weight[64:].T + head.attention.in_proj_bias[64:]
    attended = head.attention.out_proj(values)  # attention over one token: its weight is 1
    return _unit(attended + head.mlp(head.layernorm(attended)))


@pytest.mark.parametrize("kind", KINDS)
def test_regions_are_pooled_patches_on_the_way_of_the_global_vector(
    kind: str, folders: dict[str, Path], encoders: dict[str, TransformersEncoder]
) -> None:
    reference, pictures = Reference(kind, folders[kind]), _pictures([(60, 80), (200, 90), (64, 64)])
    expected_brd = np.stack([_regions_by_hand(reference, picture) for picture in pictures])
    made = encoders[kind].pictures(pictures, regions=True).regions_brd
    assert made is not None
    assert made.shape == (3, 36, encoders[kind].width)
    np.testing.assert_allclose(made, expected_brd, atol=1e-4)


def test_pooled_regions_go_row_by_row() -> None:
    row_hw, column_hw = torch.meshgrid(torch.arange(12.0), torch.arange(24.0), indexing="ij")
    pooled_rc = pool_regions(torch.stack([row_hw, column_hw], dim=-1))
    # Cell (1, 2) covers rows 2 and 3 and columns 8 to 11.
    assert pooled_rc[1 * 6 + 2].tolist() == [(2 + 3) / 2, (8 + 9 + 10 + 11) / 4]


@settings(deadline=None)
@given(h=st.integers(1, 20), w=st.integers(1, 20))
def test_pooling_is_a_mean_over_cells_on_any_grid(h: int, w: int) -> None:
    tokens_hwc = torch.rand((h, w, 3), generator=torch.Generator().manual_seed(h * 100 + w))
    torch.testing.assert_close(pool_regions(tokens_hwc), _slow_pool(tokens_hwc))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_keeps_the_contract_of_an_encoder(kind: str, encoders: dict[str, TransformersEncoder]) -> None:
    check_encoder(encoders[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_batching_changes_no_result(kind: str, encoders: dict[str, TransformersEncoder]) -> None:
    encoder, pictures = encoders[kind], _pictures()
    together = encoder.pictures(pictures, regions=True)
    alone = [encoder.pictures([picture], regions=True) for picture in pictures]
    np.testing.assert_allclose(together.global_bd, [one.global_bd[0] for one in alone], atol=2e-6)
    assert together.regions_brd is not None
    expected_brd = [one.regions_brd[0] for one in alone if one.regions_brd is not None]
    np.testing.assert_allclose(together.regions_brd, expected_brd, atol=2e-6)
    words_nd = np.concatenate([encoder.words([text]) for text in TEXTS * 2])
    np.testing.assert_allclose(encoder.words(TEXTS * 2), words_nd, atol=2e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_every_vector_has_unit_length_and_the_width_that_is_said(
    kind: str, encoders: dict[str, TransformersEncoder]
) -> None:
    encoder = encoders[kind]
    made = encoder.pictures(_pictures(), regions=True)
    assert isinstance(encoder, Encoder)
    assert encoder.raw_version == encoder.version
    assert encoder.width == (32 if "siglip" in kind else 16)
    for vectors in (
        made.global_bd,
        made.regions_brd,
        encoder.words(TEXTS),
        encoder.project(made.global_bd * 3),
    ):
        assert vectors is not None
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=-1), 1, atol=1e-5)
    np.testing.assert_allclose(encoder.project(made.global_bd * 3), made.global_bd, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_no_pictures_and_no_texts_give_no_vectors(kind: str, encoders: dict[str, TransformersEncoder]) -> None:
    encoder = encoders[kind]
    made = encoder.pictures([], regions=True)
    assert made.regions_brd is not None
    assert (made.global_bd.shape, made.regions_brd.shape) == ((0, encoder.width), (0, 36, encoder.width))
    assert encoder.words([]).shape == (0, encoder.width)
    assert encoder.pictures(_pictures()[:1]).regions_brd is None


def test_models_that_learnt_a_temperature_bring_it_along(encoders: dict[str, TransformersEncoder]) -> None:
    for kind, encoder in encoders.items():
        learnt = getattr(encoder._checkpoint.network, "logit_scale", None)
        assert (learnt is None) == (kind == "blip")
        expected = None if learnt is None else pytest.approx(float(learnt.detach().exp()))
        assert encoder.logit_scale == expected == find_temperature(encoder)


def test_region_boxes_of_clip_divide_its_crop(encoders: dict[str, TransformersEncoder]) -> None:
    boxes_r4 = encoders["clip"].region_boxes(300, 200)
    # 300 x 200 becomes 72 x 48 (times 0.24); the crop starts at (72 - 48) / 2 = 12, which was 12 / 0.24 = 50.
    expected_r4 = grid_boxes(200, 200) + np.array([50, 0, 50, 0])
    np.testing.assert_allclose(boxes_r4, expected_r4, atol=1e-3)


def test_region_boxes_leave_out_what_no_patch_covers(encoders: dict[str, TransformersEncoder]) -> None:
    # SigLIP here sees 52 x 52, of which 6 patches of 8 cover 48: 48 / 52 of either side.
    np.testing.assert_allclose(encoders["siglip"].region_boxes(520, 260)[-1, 2:], [480, 240], rtol=1e-6)
    np.testing.assert_allclose(encoders["siglip2"].region_boxes(520, 260), grid_boxes(520, 260), rtol=1e-6)
    np.testing.assert_allclose(encoders["blip"].region_boxes(520, 260), grid_boxes(520, 260), rtol=1e-6)


@settings(max_examples=25, deadline=None)
@given(width=st.integers(48, 300), height=st.integers(48, 300))
def test_what_lies_under_the_boxes_is_what_the_image_processor_lets_through(width: int, height: int) -> None:
    processor = CLIPImageProcessorPil(
        size={"shortest_edge": 48}, crop_size={"height": 48, "width": 48}, do_normalize=False
    )
    x0, y0, x1, y1 = _clip_frame(processor, width, height)
    picture = np.zeros((height, width, 3), dtype=np.uint8)
    picture[round(y0) : round(y1), round(x0) : round(x1)] = 255
    made = np.asarray(processor(images=Image.fromarray(picture), return_tensors="np")["pixel_values"])
    # Inside all is white, up to the border pixels, which the resampling filter mixes with the black outside.
    assert made[0, :, 2:-2, 2:-2].min() > 0.95
    assert (x1 - x0, y1 - y0) == pytest.approx((min(width, height),) * 2, rel=0.05)


def _clip_frame(processor: Any, width: int, height: int) -> tuple[float, float, float, float]:
    """First and last corner of the boxes, by an encoder without a network: boxes need none."""
    encoder = object.__new__(TransformersEncoder)
    config = transformers.CLIPConfig(vision_config={**VISION, "image_size": 48})
    encoder._checkpoint = type("Parts", (), {"config": config, "pixels": processor, "family": CLIP})()
    boxes_r4 = encoder.region_boxes(width, height)
    x0, y0, x1, y1 = (float(v) for v in (*boxes_r4[0, :2], *boxes_r4[-1, 2:]))
    return x0, y0, x1, y1


def test_a_strip_is_cut_to_its_middle_before_it_is_scaled(encoders: dict[str, TransformersEncoder]) -> None:
    strip = _pictures([(2, 4000)])[0]
    middle = strip[:, 2000 - 32 : 2000 + 32]  # 32 times as long as it is high
    both_bd = encoders["clip"].pictures([strip, middle]).global_bd
    np.testing.assert_array_equal(both_bd[0], both_bd[1])


@pytest.mark.parametrize("kind", KINDS)
def test_name_and_version_stay_when_the_folder_moves(
    kind: str, encoders: dict[str, TransformersEncoder], copied: Callable[[str], Path]
) -> None:
    moved = load_transformers_encoder(str(copied(kind)))
    assert (moved.name, moved.version) == (f"{kind}:{kind}", encoders[kind].version)


def test_the_version_changes_with_one_weight(
    encoders: dict[str, TransformersEncoder], copied: Callable[[str], Path]
) -> None:
    folder = copied("clip")
    weights = load_file(folder / "model.safetensors")
    weights["visual_projection.weight"][0, 0] += 1e-3
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert load_transformers_encoder(str(folder)).version != encoders["clip"].version


def test_weights_in_shards_load_and_are_all_in_the_version(copied: Callable[[str], Path]) -> None:
    folder = copied("clip")
    model = transformers.CLIPModel.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="40KB")
    before = load_transformers_encoder(str(folder))
    last = sorted(folder.glob("model-*.safetensors"))[-1]
    weights = {name: tensor + 1e-3 for name, tensor in load_file(last).items()}
    save_file(weights, last, metadata={"format": "pt"})
    assert load_transformers_encoder(str(folder)).version != before.version


def test_half_precision_weights_are_computed_in_single(copied: Callable[[str], Path]) -> None:
    folder = copied("clip")
    transformers.CLIPModel.from_pretrained(folder, dtype=torch.float16).save_pretrained(folder)
    assert load_file(folder / "model.safetensors")["visual_projection.weight"].dtype == torch.float16
    reference = Reference("clip", folder)
    reference.model.float()
    expected_bd = np.stack([reference.picture(picture) for picture in _pictures()])
    np.testing.assert_allclose(
        load_transformers_encoder(str(folder)).pictures(_pictures()).global_bd, expected_bd, atol=1e-5
    )


def test_constant_buffers_of_older_versions_are_no_unexpected_weights(copied: Callable[[str], Path]) -> None:
    folder = copied("clip")
    weights = load_file(folder / "model.safetensors")
    weights["text_model.embeddings.position_ids"] = torch.arange(77)[None]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert load_transformers_encoder(str(folder)).width == 16


def _refused(name: str | Path, error: type[Exception] = BadInput) -> str:
    with pytest.raises(error) as caught:
        load_transformers_encoder(str(name))
    line = str(caught.value)
    assert "\n" not in line
    assert str(name) in line
    return line


def test_a_missing_weight_is_refused_by_name(copied: Callable[[str], Path]) -> None:
    folder = copied("siglip")
    weights = load_file(folder / "model.safetensors")
    del weights["vision_model.head.probe"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    line = _refused(folder, EncoderMismatch)
    assert "does not hold a whole SiglipModel: 1 missing weights (vision_model.head.probe)" in line


def test_a_weight_too_many_is_refused_by_name(copied: Callable[[str], Path]) -> None:
    folder = copied("clip")
    weights = load_file(folder / "model.safetensors")
    weights["adapter.weight"] = torch.zeros(2)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert "1 unknown weights (adapter.weight)" in _refused(folder, EncoderMismatch)


def test_a_weight_of_another_shape_is_refused_by_name(copied: Callable[[str], Path]) -> None:
    folder = copied("clip")
    edit_json(folder / "config.json", projection_dim=8)
    line = _refused(folder, EncoderMismatch)
    assert "2 weights of another shape (text_projection.weight, visual_projection.weight)" in line


def test_a_captioning_blip_is_refused_for_want_of_the_retrieval_head(
    copied: Callable[[str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    folder = copied("blip")
    config = transformers.BlipConfig.from_pretrained(folder)
    transformers.BlipForConditionalGeneration(config).save_pretrained(folder)
    capfd.readouterr()
    line = _refused(folder, EncoderMismatch)
    assert line.endswith("give a checkpoint that was saved from BlipForImageTextRetrieval")
    assert capfd.readouterr() == ("", ""), "transformers' own report must not reach the user beside our line"


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("config.json", "is no model folder (no config.json)"),
        ("model.safetensors", "cannot load the weights (Error no file named model.safetensors"),
        ("preprocessor_config.json", "cannot load the image processor (preprocessor_config.json)"),
        ("tokenizer.json", "has no tokenizer"),
    ],
)
def test_a_folder_without_one_of_its_files_is_refused(file: str, said: str, copied: Callable[[str], Path]) -> None:
    folder = copied("clip")
    (folder / file).unlink()
    assert said in _refused(folder)


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("config.json", "config.json"),
        ("model.safetensors", "the weights"),
        ("preprocessor_config.json", "the image processor"),
        ("tokenizer.json", "the tokenizer"),
    ],
)
def test_a_truncated_file_is_refused(file: str, part: str, copied: Callable[[str], Path]) -> None:
    folder = copied("clip")
    content = (folder / file).read_bytes()
    (folder / file).write_bytes(content[: len(content) // 2])
    line = _refused(folder)
    assert f"cannot load {part}" in line
    assert "give a complete folder" in line


def test_another_architecture_is_refused_with_those_that_can_be_used(copied: Callable[[str], Path]) -> None:
    folder = copied("clip")
    edit_json(folder / "config.json", model_type="bert")
    line = _refused(folder)
    assert line.endswith(
        "is of model type 'bert', which viewfinder cannot use: give one of type "
        "align, altclip, blip, chinese_clip, clip, metaclip_2, siglip, siglip2"
    )


def test_a_siglip_without_its_pooling_head_is_refused(copied: Callable[[str], Path]) -> None:
    folder = copied("siglip")
    config: Any = transformers.SiglipConfig.from_pretrained(folder)
    config.vision_config.vision_use_head = False
    transformers.SiglipModel(config).save_pretrained(folder)
    assert "has no pooling head" in _refused(folder)


def test_the_tokenizer_of_another_model_is_refused(copied: Callable[[str], Path], folders: dict[str, Path]) -> None:
    folder = copied("siglip")
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folders["blip"] / file, folder / file)
    assert "the tokenizer knows 57 tokens, the model only 29" in _refused(folder, EncoderMismatch)


def test_an_image_processor_of_another_size_is_refused(copied: Callable[[str], Path]) -> None:
    folder = copied("blip")
    edit_json(folder / "preprocessor_config.json", size={"height": 64, "width": 64})
    assert "makes inputs of (3, 64, 64), the model wants (3, 48, 48)" in _refused(folder, EncoderMismatch)


def test_a_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"")
    assert "is a file: give the model folder around it" in _refused(file)
    assert "there is no folder" in _refused(tmp_path / "absent")
    assert "there is no folder" in _refused("../absent")
    assert "name is empty" in _refused("")


OFFLINE = """
import sys, time
from viewfinder.encoders.transformers import load_transformers_encoder as load
from viewfinder.errors import ViewfinderError
encoder = load("tiny/clip")
print(encoder.name, encoder.version, encoder.words(["a dog"]).shape)
try:
    load("tiny/absent")
except ViewfinderError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.long
def test_a_hub_name_offline_is_taken_from_the_cache_or_refused_in_one_line(
    folders: dict[str, Path], encoders: dict[str, TransformersEncoder], tmp_path: Path
) -> None:
    commit, repository = "0123456789abcdef0123456789abcdef01234567", tmp_path / "hub" / "models--tiny--clip"
    shutil.copytree(folders["clip"], repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    environment = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    environment.pop("HF_HUB_CACHE", None)
    done = subprocess.run([sys.executable, "-c", OFFLINE], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    found, refused = done.stdout.splitlines()
    assert found == f"clip:tiny/clip {encoders['clip'].version} (1, 16)"
    assert refused.startswith("BadInput tiny/absent: cannot load config.json (")
    assert refused.endswith("check the name and the network (and HF_HUB_OFFLINE), or give a local folder")


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_a_pool_made_by_a_model_is_searched_without_its_pictures(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    drawn = tiny_pictures(tmp_path / "data" / "images", 8)
    dialogues = [{"img": f"images/{one.path.name}", "dialog": [one.caption, "is it big? no"]} for one in drawn]
    for place, content in {
        "dialogues/own_test.json": dialogues,
        "ChatIR_Protocol/Search_Space_test.json": [one["img"] for one in dialogues],
    }.items():
        (tmp_path / "data" / place).parent.mkdir()
        (tmp_path / "data" / place).write_text(json.dumps(content), encoding="utf-8")
    model, pool = str(folders["clip"]), tmp_path / f"pool{suffix}"
    monkeypatch.setattr(sys, "argv", ["make_vectors.py", str(tmp_path / "data"), str(pool), "--model", model])
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "make_vectors.py"), run_name="__main__")
    encoder = load_transformers_encoder(model)
    with_pictures = Plan(system="clip-t", data=tmp_path / "data", protocol="chatir")
    seen = evaluate(with_pictures, encoder, tmp_path / "seen").run
    shutil.rmtree(tmp_path / "data" / "images")
    brought = evaluate(replace(with_pictures, vectors=pool), encoder, tmp_path / "brought").run
    assert brought.tasks[0].ranks.gallery_size == 8
    np.testing.assert_array_equal(brought.tasks[0].ranks.best_st, seen.tasks[0].ranks.best_st)
