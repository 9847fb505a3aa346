"""`viewfinder export`: checkpoints of transformers as ONNX, against the encoders in torch that they were."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
import transformers
from onnx import TensorProto, helper, numpy_helper
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

from tests.encoders import onnx_folders as make
from viewfinder.cli import run
from viewfinder.encoders import load_encoder
from viewfinder.encoders.onnx_models import export
from viewfinder.encoders.onnx_models.export import (
    draw_pictures,
    export_checkpoint,
    quantize_file,
    separate_shared_weights,
)
from viewfinder.encoders.onnx_models.layouts import find_model_files
from viewfinder.encoders.transformers import load_transformers_encoder
from viewfinder.errors import BadInput
from viewfinder.testing import check_encoder, tiny_pictures

TEXTS = ["a dog", "a brown dog runs in the snow", "", "dog " * 300, "ein hund und zwei katzen"]


def _make_blip(folder: Path) -> None:
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *make.LETTERS, *("##" + letter for letter in make.LETTERS)]
    vocabulary = {token: row for row, token in enumerate(tokens)}
    transformers.BertTokenizer(vocab=vocabulary, model_max_length=512).save_pretrained(folder)
    text = {**make.TOWER, "vocab_size": len(tokens), "encoder_hidden_size": 32, "max_position_embeddings": 64}
    marks = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "sep_token_id": 3}
    vision = {**make.TOWER, "image_size": 48}
    config = transformers.BlipConfig(
        text_config={**text, **marks}, vision_config=vision, image_text_hidden_size=16, projection_dim=16
    )
    transformers.BlipForImageTextRetrieval(config).save_pretrained(folder)
    BlipImageProcessorPil(size={"height": 48, "width": 48}).save_pretrained(folder)


KINDS: dict[str, Callable[[Path], None]] = {
    "clip": make.make_clip_checkpoint,
    "siglip": make.make_siglip_checkpoint,
    "siglip2": make.make_siglip2_checkpoint,
    "blip": _make_blip,
}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("checkpoints")
    torch.manual_seed(0)
    for kind, write in KINDS.items():
        write(root / kind)
    return {kind: root / kind for kind in KINDS}


@pytest.fixture(scope="module")
def exported(checkpoints: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Any]]:
    root = tmp_path_factory.mktemp("exported")
    found = {kind: export_checkpoint(str(folder), root / kind, int8=True) for kind, folder in checkpoints.items()}
    return {kind: (root / kind, differences) for kind, differences in found.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_an_exported_model_computes_what_it_did_in_torch(
    kind: str, checkpoints: dict[str, Path], exported: dict[str, tuple[Path, Any]]
) -> None:
    torch_way, onnx_way = load_transformers_encoder(str(checkpoints[kind])), load_encoder(str(exported[kind][0]))
    pictures = [*draw_pictures(4), np.zeros((1, 1, 3), np.uint8)]
    before, after = torch_way.pictures(pictures, regions=True), onnx_way.pictures(pictures, regions=True)
    np.testing.assert_allclose(after.global_bd, before.global_bd, atol=3e-5)
    assert before.regions_brd is not None and after.regions_brd is not None
    np.testing.assert_allclose(after.regions_brd, before.regions_brd, atol=3e-5)
    np.testing.assert_allclose(onnx_way.words(TEXTS), torch_way.words(TEXTS), atol=3e-5)
    for size in ((300, 200), (120, 90), (7, 300)):
        np.testing.assert_allclose(onnx_way.region_boxes(*size), torch_way.region_boxes(*size), atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precision", ["fp32", "q8"])
def test_an_exported_model_keeps_the_contract_of_an_encoder(
    kind: str, precision: str, exported: dict[str, tuple[Path, Any]]
) -> None:
    encoder = load_encoder(f"{exported[kind][0]}?{precision}")
    check_encoder(encoder)
    pictures = draw_pictures(5)
    alone = [encoder.pictures([picture]).global_bd[0] for picture in pictures]
    np.testing.assert_array_equal(encoder.pictures(pictures).global_bd, np.stack(alone), "company matters")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_lost_in_8_bits_is_measured(kind: str, exported: dict[str, tuple[Path, Any]]) -> None:
    folder, (full, eight) = exported[kind]
    assert (full.precision, eight.precision) == ("fp32", "q8")
    assert full.largest < 3e-5 and full.least_cosine > 1 - 1e-5
    # Weights of a small random model are far from those of a trained one: it is known, not small.
    assert 1e-4 < eight.largest < 0.5 and 0.9 < eight.least_cosine < 1
    files = find_model_files(folder, "q8")
    assert eight.bytes == files.visual.stat().st_size + files.textual.stat().st_size


def test_the_verb_writes_a_model_that_the_next_verb_takes(
    checkpoints: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny_pictures(tmp_path / "pictures", 3)
    (tmp_path / "out").mkdir()  # an empty folder is as good as none
    given = [
        "export",
        str(checkpoints["clip"]),
        str(tmp_path / "out"),
        "--int8",
        "--pictures",
        str(tmp_path / "pictures"),
    ]
    assert run([*given, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [one["precision"] for one in said["precisions"]] == ["fp32", "q8"]
    library = ["--library", str(tmp_path / "library")]
    assert run(["add", str(tmp_path / "pictures"), "--encoder", f"{tmp_path / 'out'}?q8", *library]) == 0
    assert run(["find", "a dog", "--json", *library]) == 0
    assert run([*given, "--json"]) == 2
    assert "holds something already" in capsys.readouterr().out
    assert {entry.name for entry in tmp_path.iterdir()} == {"pictures", "out", "library"}, "nothing is left beside it"


def test_people_are_told_sizes_and_differences(
    checkpoints: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(checkpoints["siglip"]), str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("fp32: 0.4 MB; its vectors differ from those in torch by at most ")
    assert lines[1] == f"next: viewfinder add DIR --encoder {tmp_path / 'out'}"


def test_weights_that_one_file_cannot_hold_lie_beside_it(
    checkpoints: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MAX_FILE_BYTES", 10_000)
    whole = export_checkpoint(str(checkpoints["clip"]), tmp_path / "out", int8=True)
    names = {file.name for file in (tmp_path / "out" / "onnx").iterdir()}
    assert names >= {"vision_model.onnx", "vision_model.onnx_data", "text_model.onnx_data", "text_model_quantized.onnx"}
    assert whole[0].largest < 3e-5 and whole[0].bytes > 200_000


def test_a_model_of_patches_in_varying_number_is_refused(tmp_path: Path) -> None:
    from transformers.models.siglip2.image_processing_pil_siglip2 import Siglip2ImageProcessorPil

    make.make_siglip2_checkpoint(tmp_path / "naflex")
    text, vision = {**make.TOWER, "vocab_size": 100}, {**make.TOWER, "num_patches": 36}
    transformers.Siglip2Model(transformers.Siglip2Config(text_config=text, vision_config=vision)).save_pretrained(
        tmp_path / "naflex"
    )
    Siglip2ImageProcessorPil(patch_size=8, max_num_patches=36).save_pretrained(tmp_path / "naflex")
    with pytest.raises(BadInput, match="patches of varying number"):
        export_checkpoint(str(tmp_path / "naflex"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_over(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path):
        with pytest.raises(BadInput, match="holds something already"):
            export_checkpoint(str(checkpoints["clip"]), out)
    assert (tmp_path / "file").read_text() == "mine"


def test_weights_that_two_nodes_transpose_are_rounded_right(tmp_path: Path) -> None:
    weight = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)
    nodes = [helper.make_node("Gemm", [f"x{n}", "weight"], [f"y{n}"], transB=1) for n in (1, 2)]
    ends = [[helper.make_tensor_value_info(f"{end}{n}", TensorProto.FLOAT, ["n", 8]) for n in (1, 2)] for end in "xy"]
    graph = helper.make_graph(nodes, "twice", ends[0], ends[1], [numpy_helper.from_array(weight, "weight")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "full.onnx")
    feed = {name: np.eye(8, dtype=np.float32) for name in ("x1", "x2")}

    def compute(file: Path) -> list[np.ndarray]:
        made: Any = onnxruntime.InferenceSession(str(file))
        return list(made.run(None, feed))

    quantize_file(tmp_path / "full.onnx", tmp_path / "eight.onnx")
    for before, after in zip(compute(tmp_path / "full.onnx"), compute(tmp_path / "eight.onnx"), strict=True):
        np.testing.assert_allclose(after, before, atol=0.05)
    separate_shared_weights(model.graph)
    assert len({node.input[1] for node in model.graph.node}) == 2
