"""ONNX models of three layouts against transformers' own processors and models, on small untrained ones."""

from __future__ import annotations

import json
import re
import shutil
import string
import subprocess
import sys
from collections.abc import Callable
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
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

from tests.encoders import onnx_folders as make
from viewfinder.encoders import load_encoder
from viewfinder.encoders.base import Pixels, grid_boxes
from viewfinder.encoders.onnx_models import OnnxEncoder, find_onnx_folder, load_onnx_encoder
from viewfinder.encoders.onnx_models.layouts import ModelFiles, find_model_files
from viewfinder.encoders.onnx_models.pixels import PixelSettings, prepare_pixels, read_pixel_settings
from viewfinder.encoders.onnx_models.tokens import TextTokenizer, make_clip_tokenizer
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.testing import check_encoder, tiny_pictures

SIZES = [(60, 80), (3, 100), (1, 1), (200, 90), (3, 3), (48, 48), (52, 52), (90, 200), (49, 47), (64, 64), (101, 48)]
TEXTS = ["a dog", "A brown Dog runs in the snow", "", "dog " * 300, "Ein Hund, 2 Katzen!"]
CLOSE = 3e-5
"""How near a number of a unit vector must be."""

KINDS = {
    "clip of transformers.js": "clip",
    "siglip of transformers.js": "siglip",
    "siglip2 of transformers.js": "siglip2",
    "one graph of transformers.js": "clip",
    "clip of immich": "clip",
    "siglip2 of immich": "siglip2",
    "clip of rclip": "large clip",
}
"""Models in each layout, and the checkpoints that they come from."""


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("checkpoints")
    torch.manual_seed(0)
    make.make_clip_checkpoint(root / "clip")
    make.make_siglip_checkpoint(root / "siglip")
    make.make_siglip2_checkpoint(root / "siglip2")
    merges, vocabulary = make.draw_merges()
    make.make_clip_checkpoint(root / "large clip", vocabulary=vocabulary, merges=merges)
    return {folder.name: folder for folder in root.iterdir()}


@pytest.fixture(scope="module")
def folders(checkpoints: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("onnx")
    for kind in ("clip", "siglip", "siglip2"):
        make.make_transformers_js(checkpoints[kind], root / f"{kind} of transformers.js")
    make.make_one_graph(checkpoints["clip"], root / "one graph of transformers.js")
    for kind in ("clip", "siglip2"):
        make.make_immich(checkpoints[kind], root / f"{kind} of immich")
    make.make_rclip(checkpoints["large clip"], root / "clip of rclip", make.draw_merges()[0])
    return {name: root / name for name in KINDS}


@pytest.fixture(scope="module")
def encoders(folders: dict[str, Path]) -> dict[str, OnnxEncoder]:
    return {name: load_onnx_encoder(folder) for name, folder in folders.items()}


@pytest.fixture
def copied(folders: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """A model of its own for a test, with what lies beside it."""

    def copy(name: str) -> Path:
        if (beside := folders[name].parent / "tokenizer").is_dir() and "rclip" in name:
            shutil.copytree(beside, tmp_path / "tokenizer")
        return Path(shutil.copytree(folders[name], tmp_path / name))

    return copy


def _pictures() -> list[Pixels]:
    noise = np.random.default_rng(7)
    return [noise.integers(0, 256, (height, width, 3), dtype=np.uint8) for height, width in SIZES]


class Reference:
    """transformers alone, one picture and one text at a time, as its documentation has it."""

    def __init__(self, kind: str, checkpoint: Path) -> None:
        self.is_clip = "clip" in kind
        self.network = make.load_network(checkpoint)
        processor: Any = CLIPImageProcessorPil if self.is_clip else SiglipImageProcessorPil
        self.processor = processor.from_pretrained(checkpoint)
        tokenizer: Any = transformers.CLIPTokenizer if self.is_clip else transformers.PreTrainedTokenizerFast
        self.tokenizer = tokenizer.from_pretrained(checkpoint)

    def picture(self, picture: Pixels) -> Float[np.ndarray, " d"]:
        return self.seen(self.processor(images=Image.fromarray(picture), return_tensors="pt")["pixel_values"])

    def seen(self, pixels: torch.Tensor) -> Float[np.ndarray, " d"]:
        with torch.inference_mode():
            return _unit(self.network.get_image_features(pixels).pooler_output)

    def text(self, text: str) -> Float[np.ndarray, " d"]:
        full: Any = {} if self.is_clip else {"padding": "max_length"}
        length = 77 if self.is_clip else 64
        tokens = self.tokenizer(text, truncation=True, max_length=length, return_tensors="pt", **full)
        with torch.inference_mode():
            return _unit(self.network.get_text_features(input_ids=tokens["input_ids"]).pooler_output)


def _unit(rows: torch.Tensor) -> Float[np.ndarray, " d"]:
    return np.asarray(torch.nn.functional.normalize(rows[0], dim=-1).numpy())


def _prepare_as_rclip(picture: Pixels) -> torch.Tensor:
    """rclip 3's own steps: shorter side, the middle, whose corner is rounded; CLIP's mean and deviation."""
    image, side = Image.fromarray(picture), make.SIDE
    w, h = image.size
    new = (side, int(h * side / w)) if w < h else (int(w * side / h), side)
    left, top = (round((size - side) / 2.0) for size in new)
    cut = image.resize(new, Image.Resampling.BICUBIC).crop((left, top, left + side, top + side))
    mean, std = np.array([0.48145466, 0.4578275, 0.40821073]), np.array([0.26862954, 0.26130258, 0.27577711])
    return torch.tensor(((np.array(cut) / 255.0 - mean) / std).transpose(2, 0, 1)[None], dtype=torch.float32)


@pytest.mark.parametrize("name", KINDS)
def test_pictures_get_the_vectors_that_their_processor_and_model_give_them(
    name: str, checkpoints: dict[str, Path], encoders: dict[str, OnnxEncoder]
) -> None:
    reference, pictures = Reference(KINDS[name], checkpoints[KINDS[name]]), _pictures()
    if "rclip" in name:
        pictures = [picture for picture in pictures if picture.shape != (3, 100, 3)]  # a strip, whose ends are cut off
        expected = [reference.seen(_prepare_as_rclip(picture)) for picture in pictures]
    else:
        expected = [reference.picture(picture) for picture in pictures]
    made_bd = encoders[name].pictures(pictures).global_bd
    np.testing.assert_allclose(made_bd, np.stack(expected), atol=CLOSE)
    assert np.ptp(made_bd, axis=0).max() > 0.1, "pictures must differ for the test to mean something"


@pytest.mark.parametrize("name", KINDS)
def test_texts_get_the_vectors_that_their_tokenizer_and_model_give_them(
    name: str, checkpoints: dict[str, Path], encoders: dict[str, OnnxEncoder]
) -> None:
    reference = Reference(KINDS[name], checkpoints[KINDS[name]])
    said = TEXTS
    if "siglip2" in name:  # trained on small letters; by open_clip without punctuation too
        said = [text.lower() for text in TEXTS]
    if name == "siglip2 of immich":
        said = [" ".join(re.sub(f"[{re.escape(string.punctuation)}]", "", text).split()) for text in said]
    made_nd = encoders[name].words(TEXTS)
    np.testing.assert_allclose(made_nd, np.stack([reference.text(text) for text in said]), atol=CLOSE)
    assert np.ptp(made_nd, axis=0).max() > 0.1, "texts must differ for the test to mean something"


@pytest.mark.parametrize("name", KINDS)
def test_every_layout_keeps_the_contract_of_an_encoder(name: str, encoders: dict[str, OnnxEncoder]) -> None:
    check_encoder(encoders[name])


@pytest.mark.parametrize("name", ["clip of transformers.js", "siglip2 of immich"])
def test_where_a_graph_gives_no_regions_they_are_those_of_nine_crops(
    name: str, encoders: dict[str, OnnxEncoder]
) -> None:
    encoder = encoders[name]
    picture = np.random.default_rng(1).integers(0, 256, (90, 120, 3), dtype=np.uint8)
    regions_brd = encoder.pictures([picture], regions=True).regions_brd
    assert regions_brd is not None
    boxes_r4 = encoder.region_boxes(120, 90)
    # CLIP sees the middle 90 x 90; the crop that region (3, 0) lies in is the first of the second row.
    left, side = (15, 90) if "clip" in name.split() else (0, 120)
    np.testing.assert_allclose(boxes_r4, grid_boxes(side, 90) + np.array([left, 0, left, 0]), atol=1e-3)
    crop = picture[30:60, left : left + side // 3]
    np.testing.assert_allclose(regions_brd[0, 3 * 6], encoder.pictures([crop]).global_bd[0], atol=1e-6)
    np.testing.assert_array_equal(regions_brd[0, 2 * 6 + 1], regions_brd[0, 3 * 6])
    assert np.abs(regions_brd[0, 0] - regions_brd[0, 35]).max() > 0.01


@settings(max_examples=60, deadline=None)
@given(width=st.integers(1, 300), height=st.integers(1, 300), crops=st.booleans())
def test_pixels_are_prepared_as_transformers_does_it(width: int, height: int, crops: bool) -> None:
    if crops and max(width, height) > 32 * min(width, height):
        return
    picture = np.random.default_rng(width * 1000 + height).integers(0, 256, (height, width, 3), dtype=np.uint8)
    side = {"height": 48, "width": 48}
    processor = (
        CLIPImageProcessorPil(size={"shortest_edge": 48}, crop_size=side)
        if crops
        else SiglipImageProcessorPil(size=side)
    )
    expected = np.asarray(processor(images=Image.fromarray(picture), return_tensors="np")["pixel_values"])[0]
    crop = (48, 48) if crops else None
    said = PixelSettings(
        "shortest" if crops else "exact",
        (48, 48),
        crop,
        mean=tuple(processor.image_mean),
        std=tuple(processor.image_std),
    )
    np.testing.assert_allclose(prepare_pixels(picture, said), expected, atol=2e-6)


def test_a_strip_is_cut_to_its_middle_before_it_is_scaled(encoders: dict[str, OnnxEncoder]) -> None:
    strip = np.random.default_rng(0).integers(0, 256, (2, 4000, 3), dtype=np.uint8)
    both_bd = encoders["clip of transformers.js"].pictures([strip, strip[:, 2000 - 32 : 2000 + 32]]).global_bd
    np.testing.assert_array_equal(both_bd[0], both_bd[1])


def test_the_tokenizer_made_of_merges_is_the_one_of_transformers() -> None:
    merges, vocabulary = make.draw_merges()
    ours = make_clip_tokenizer([f"{left} {right}" for left, right in merges])
    pairs: Any = merges
    theirs = transformers.CLIPTokenizer(vocab=vocabulary, merges=pairs)
    for text in (*TEXTS, "don't  stop\tIT'S 1999!!", "日本語 café Ñ", "x" * 200, "<|endoftext|> a"):
        assert ours.encode(text).ids == theirs(text)["input_ids"]


def test_a_text_is_filled_up_where_its_model_was_trained_so(folders: dict[str, Path]) -> None:
    def tokens(name: str, text: str) -> list[int]:
        encoder = load_onnx_encoder(folders[name])
        return [int(token) for token in encoder._tokenizer(text)[0]]

    assert len(tokens("clip of transformers.js", "a dog")) == 5  # begin, a, do, g, end
    assert len(tokens("siglip of transformers.js", "a dog")) == 64
    assert tokens("clip of rclip", "a")[2:5] == [49407, 0, 0]
    assert len(tokens("clip of rclip", "a dog " * 90)) == 77


BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in ('torch', 'transformers', 'onnx'):
            raise ModuleNotFoundError(f'{name} is blocked', name=name)
sys.meta_path.insert(0, Blocked())
from viewfinder.cli import run
folder, pictures, library = sys.argv[1:]
assert run(['add', pictures, '--library', library, '--encoder', folder]) == 0
assert run(['find', 'a dog', '--library', library, '--json']) == 0
"""


@pytest.mark.afresh
@pytest.mark.parametrize(
    "name",
    [
        "clip of immich",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("siglip of transformers.js", "clip of rclip")),
    ],
)
def test_pictures_are_added_and_found_without_torch(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    tiny_pictures(tmp_path / "pictures", 5)
    given = [str(folders[name]), str(tmp_path / "pictures"), str(tmp_path / "library")]
    done = subprocess.run([sys.executable, "-c", BLOCKED, *given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout.splitlines()[-1])["results"]) == 5


# -- versions


@pytest.mark.parametrize("name", KINDS)
def test_a_model_that_was_moved_is_the_same(
    name: str, encoders: dict[str, OnnxEncoder], copied: Callable[[str], Path]
) -> None:
    moved = load_onnx_encoder(copied(name))
    assert (moved.name, moved.version) == (encoders[name].name, encoders[name].version)


def test_files_that_change_no_number_change_no_version(
    encoders: dict[str, OnnxEncoder], copied: Callable[[str], Path]
) -> None:
    name = "siglip of transformers.js"
    folder = copied(name)
    for file in ("config.json", "preprocessor_config.json", "tokenizer_config.json"):
        _edit(folder / file, added="yes")
    known = json.loads((folder / "tokenizer.json").read_text())
    cut = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    (folder / "tokenizer.json").write_text(json.dumps({**known, "truncation": cut}, indent=3))
    (folder / "README.md").write_text("new")
    (folder / "onnx" / "text_model_q4.onnx").write_bytes(b"another precision")
    assert load_onnx_encoder(folder).version == encoders[name].version


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("preprocessor_config.json", {"image_mean": [0.1, 0.2, 0.3]}),
        ("preprocessor_config.json", {"resample": 2}),
        ("tokenizer_config.json", {"model_max_length": 32}),
        ("tokenizer_config.json", {"pad_token": "<unk>"}),
        ("tokenizer.json", {"normalizer": None}),
    ],
)
def test_what_changes_numbers_changes_the_version(
    file: str, change: dict[str, Any], encoders: dict[str, OnnxEncoder], copied: Callable[[str], Path]
) -> None:
    name = "siglip of transformers.js"
    folder = copied(name)
    _edit(folder / file, **change)
    assert load_onnx_encoder(folder).version != encoders[name].version


@pytest.mark.parametrize("tower", ["visual", "textual"])
def test_other_weights_are_another_version(
    tower: str, encoders: dict[str, OnnxEncoder], copied: Callable[[str], Path]
) -> None:
    folder = copied("clip of rclip")
    content = bytearray((folder / f"{tower}.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / f"{tower}.onnx").write_bytes(content)
    assert load_onnx_encoder(folder).version != encoders["clip of rclip"].version


def test_weights_beside_a_graph_are_part_of_the_version(copied: Callable[[str], Path]) -> None:
    import onnx

    folder = copied("clip of transformers.js")
    file = folder / "onnx" / "vision_model.onnx"
    model = onnx.load(file)
    file.unlink()
    onnx.save(model, file, save_as_external_data=True, location="vision_model.onnx_data", size_threshold=64)
    assert load_onnx_encoder(folder).pictures(_pictures()[:1]).global_bd.shape == (1, 16)
    before = load_onnx_encoder(folder).version
    content = bytearray((folder / "onnx" / "vision_model.onnx_data").read_bytes())
    content[40] ^= 1
    (folder / "onnx" / "vision_model.onnx_data").write_bytes(content)
    assert load_onnx_encoder(folder).version != before


def _edit(file: Path, **values: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


# -- precisions


def test_the_best_precision_is_taken_that_is_whole(copied: Callable[[str], Path]) -> None:
    folder = copied("clip of transformers.js")
    home = folder / "onnx"
    for tower in ("vision_model", "text_model"):
        shutil.copy(home / f"{tower}.onnx", home / f"{tower}_quantized.onnx")
    assert load_encoder(str(folder)).name == "onnx:clip of transformers.js"
    assert load_encoder(f"{folder}?q8").name == "onnx:clip of transformers.js?q8"
    (home / "text_model.onnx").unlink()
    assert load_encoder(str(folder)).name == "onnx:clip of transformers.js?q8"
    assert "has no model in fp16: there is q8" in _refused(folder, "fp16")
    assert "the precisions are called fp32, fp16, q8" in _refused(folder, "float")


def test_a_folder_with_weights_of_torch_as_well_can_be_read_by_torch(
    checkpoints: dict[str, Path], folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "both"
    shutil.copytree(checkpoints["clip"], folder)
    shutil.copytree(folders["clip of transformers.js"] / "onnx", folder / "onnx")
    assert load_encoder(str(folder)).name == "onnx:both"
    assert load_encoder(f"{folder}?torch").name == "clip:both"


def test_a_folder_whose_name_has_a_question_mark_is_itself(copied: Callable[[str], Path]) -> None:
    folder = copied("clip of immich")
    odd = folder.rename(folder.with_name("what?q8"))
    assert find_onnx_folder(str(odd)) == (odd, None)
    assert find_onnx_folder("openai/clip-vit-base-patch32") is None
    assert find_onnx_folder(str(folder)) is None


# -- what cannot be used


def _refused(folder: Path, precision: str | None = None, error: type[Exception] = BadInput) -> str:
    """The line with which a model is refused, when it is loaded or first used."""
    with pytest.raises(error) as caught:
        encoder = load_onnx_encoder(folder, precision)
        assert encoder.version
        encoder.pictures([])
        encoder.pictures(_pictures()[:1])
        encoder.words(["a dog"])
    line = str(caught.value)
    assert "\n" not in line and str(folder) in line
    return line


ESSENTIAL = {
    "clip of transformers.js": (
        "config.json", "preprocessor_config.json", "tokenizer.json", "onnx/vision_model.onnx", "onnx/text_model.onnx",
    ),
    "one graph of transformers.js": ("tokenizer.json",),
    "clip of immich": (
        "config.json", "visual/preprocess_cfg.json", "visual/model.onnx", "textual/model.onnx",
        "textual/tokenizer.json",
    ),
    "clip of rclip": ("visual.onnx", "textual.onnx"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "file"), [(name, file) for name, files in ESSENTIAL.items() for file in files])
def test_a_model_without_one_of_its_files_is_refused(name: str, file: str, copied: Callable[[str], Path]) -> None:
    folder = copied(name)
    (folder / file).unlink()
    assert any(part in _refused(folder) for part in ("is missing", "has no pair of"))


def test_rclip_without_its_merges_is_refused(copied: Callable[[str], Path]) -> None:
    folder = copied("clip of rclip")
    merges = next((folder.parent / "tokenizer").iterdir())
    content = merges.read_bytes()
    merges.write_bytes(content[: len(content) // 2])
    with pytest.raises(BadInput, match=r"bpe_simple_vocab_16e6\.txt\.gz cannot be read"):
        load_onnx_encoder(folder).words(["a dog"])
    merges.unlink()
    assert "tokenizer.json is missing" in _refused(folder)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
@pytest.mark.parametrize(
    "file",
    [
        "clip of transformers.js/onnx/vision_model.onnx",
        "clip of immich/textual/model.onnx",
        "clip of rclip/visual.onnx",
    ],
)
def test_a_graph_that_is_cut_short_is_refused(file: str, share: float, copied: Callable[[str], Path]) -> None:
    name, _, inside = file.partition("/")
    folder = copied(name)
    content = (folder / inside).read_bytes()
    (folder / inside).write_bytes(content[: int(len(content) * share)])
    line = _refused(folder)
    assert line.startswith(str(folder / inside)) and ("cannot be loaded" in line or "takes" in line)


@pytest.mark.parametrize(
    ("name", "visual", "textual"),
    [
        ("clip of transformers.js", "onnx/vision_model.onnx", "onnx/text_model.onnx"),
        ("clip of immich", "visual/model.onnx", "textual/model.onnx"),
        ("clip of rclip", "visual.onnx", "textual.onnx"),
    ],
)
def test_a_graph_of_texts_in_the_place_of_one_of_pictures_is_refused(
    name: str, visual: str, textual: str, copied: Callable[[str], Path]
) -> None:
    folder = copied(name)
    shutil.copy(folder / textual, folder / visual)
    assert "none of which is a batch of pictures" in _refused(folder)


def test_a_graph_of_pictures_in_the_place_of_one_of_texts_is_refused(copied: Callable[[str], Path]) -> None:
    folder = copied("clip of rclip")
    shutil.copy(folder / "visual.onnx", folder / "textual.onnx")
    assert "textual.onnx takes input, none of which are tokens of a text" in _refused(folder)


def test_a_tower_without_its_projection_is_refused(checkpoints: dict[str, Path], copied: Callable[[str], Path]) -> None:
    folder = copied("clip of transformers.js")
    network = make.load_network(checkpoints["clip"])
    make.write_graph(
        folder / "onnx" / "vision_model.onnx",
        network,
        lambda network, pixels: tuple(network.vision_model(pixels)[:2]),
        {"pixel_values": torch.rand(2, 3, 48, 48)},
        ["last_hidden_state", "pooler_output"],
    )
    assert "before its projection" in _refused(folder)


def test_towers_of_two_models_are_refused(folders: dict[str, Path], copied: Callable[[str], Path]) -> None:
    folder = copied("clip of immich")
    shutil.copy(folders["siglip2 of immich"] / "textual" / "model.onnx", folder / "textual" / "model.onnx")
    assert "the two graphs belong to different models" in _refused(folder, error=EncoderMismatch)


def test_settings_of_another_size_are_refused(copied: Callable[[str], Path]) -> None:
    folder = copied("clip of immich")
    _edit(folder / "visual" / "preprocess_cfg.json", size=[64, 64])
    assert "make pictures of 64x64, the network takes 48x48" in _refused(folder, error=EncoderMismatch)


def test_a_tokenizer_with_more_tokens_than_the_network_is_refused(
    folders: dict[str, Path], copied: Callable[[str], Path]
) -> None:
    folder = copied("clip of transformers.js")
    known = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = {token: row + 5000 for token, row in known["model"]["vocab"].items()}
    known["model"]["vocab"] = vocabulary
    for token in known["added_tokens"]:
        token["id"] = vocabulary[token["content"]]
    known["post_processor"] = None
    (folder / "tokenizer.json").write_text(json.dumps(known))
    assert "text_model.onnx" in _refused(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"size": {"longest_edge": 48}}, "is not understood"),
        ({"size": {"shortest_edge": 0}}, "no height and width"),
        ({"size": {"shortest_edge": 10**9}}, "no height and width"),
        ({"do_resize": False}, "do_resize is false"),
        ({"max_num_patches": 256}, "max_num_patches"),
        ({"resample": 9}, "the filter '9' is not one of"),
        ({"image_std": [1, 0, 1]}, "no three numbers"),
        ({"image_mean": "red"}, "no three numbers"),
        ({"size": 48, "do_center_crop": False}, "do not make pictures of one shape"),
        ({"do_center_crop": False}, "do not make pictures of one shape"),
    ],
)
def test_settings_that_ask_for_what_is_not_done_here_are_refused(
    change: dict[str, Any], said: str, copied: Callable[[str], Path]
) -> None:
    folder = copied("clip of transformers.js")
    _edit(folder / "preprocessor_config.json", **change)
    assert said in _refused(folder)


@pytest.mark.parametrize(
    ("change", "made"),
    [
        ({"size": 48}, ("shortest", (48, 48))),  # as older versions of transformers wrote it
        ({"size": {"height": 48, "width": 48}}, ("exact", None)),
        ({"size": {"height": 48, "width": 48}, "do_center_crop": False}, ("exact", None)),
    ],
)
def test_sizes_are_read_as_transformers_reads_them(
    change: dict[str, Any], made: tuple[str, Any], copied: Callable[[str], Path]
) -> None:
    folder = copied("clip of transformers.js")
    _edit(folder / "preprocessor_config.json", **change)
    settings = read_pixel_settings(find_model_files(folder))
    assert (settings.resize, settings.crop) == made
    processor = CLIPImageProcessorPil.from_pretrained(folder)
    for picture in _pictures()[2:4]:
        expected = np.asarray(processor(images=Image.fromarray(picture), return_tensors="np")["pixel_values"])[0]
        np.testing.assert_allclose(prepare_pixels(picture, settings), expected, atol=2e-6)


@pytest.mark.parametrize("content", ["", "[]", "{", "[" * 100_000, "{}" + " " * 9_000_000])
def test_a_damaged_settings_file_is_refused(content: str, copied: Callable[[str], Path]) -> None:
    folder = copied("clip of immich")
    (folder / "visual" / "preprocess_cfg.json").write_text(content)
    assert "preprocess_cfg.json" in _refused(folder)


def test_a_padding_token_that_the_tokenizer_does_not_know_is_refused(copied: Callable[[str], Path]) -> None:
    folder = copied("siglip of transformers.js")
    _edit(folder / "tokenizer_config.json", pad_token="<nothing>")
    assert "does not know the padding token '<nothing>'" in _refused(folder, error=EncoderMismatch)


def test_a_graph_with_a_fixed_batch_gets_one(checkpoints: dict[str, Path], copied: Callable[[str], Path]) -> None:
    folder = copied("clip of rclip")
    network = make.load_network(checkpoints["large clip"])
    before = load_onnx_encoder(folder).pictures(_pictures()[:3]).global_bd
    make.write_graph(
        folder / "visual.onnx",
        network,
        lambda network, pixels: network.get_image_features(pixels).pooler_output,
        {"input": torch.rand(4, 3, 48, 48)},
        ["output"],
        free=False,
    )
    np.testing.assert_allclose(load_onnx_encoder(folder).pictures(_pictures()[:3]).global_bd, before, atol=1e-6)


def test_special_tokens_may_be_written_as_objects(folders: dict[str, Path], copied: Callable[[str], Path]) -> None:
    folder = copied("siglip of transformers.js")
    _edit(folder / "tokenizer_config.json", pad_token={"content": "</s>", "lstrip": False})
    assert load_onnx_encoder(folder).version == load_onnx_encoder(folders["siglip of transformers.js"]).version


def test_a_tokenizer_is_not_read_before_a_text_is(folders: dict[str, Path]) -> None:
    encoder = load_onnx_encoder(folders["clip of rclip"])
    assert isinstance(encoder._tokenizer, TextTokenizer) and isinstance(encoder._files, ModelFiles)
    assert "_tokenizer" not in encoder._tokenizer.__dict__
